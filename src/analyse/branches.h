/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * branches - the branch stacks (LBR, BRBE) of a recording in bulk.
 *
 *	branches_walk(rec, threads, fn, ctx, &seen, &err)
 *
 * Every sample with a branch stack is handed to `fn` once, as a span: where its entries stand in
 * the recording, newest first, not copied; pd_branch_decode() takes one apart. Chunks are read on
 * all cores: fn(ctx, worker, ...) is called by several threads at a time, each with a number of its
 * own below branches_workers(), samples of a chunk in the order of the file. A return of -1 ends
 * it.
 *
 * Entries say less than one would like, and what they do not say is not 0: neither `mispred` nor
 * `predicted` set means that the processor does not tell; 0 cycles that they were not counted.
 * Costs: some 5 ns a sample and what `fn` does with the entries.
 */
#ifndef CYCLADE_ANALYSE_BRANCHES_H
#define CYCLADE_ANALYSE_BRANCHES_H

#include "base/err.h"
#include "perfdata/perfdata.h"

struct branch_span {
	const struct pd_record *record;
	uint32_t event; /* index into pd_events */
	struct pd_branches stack;
};

struct branches_seen {
	uint64_t samples;  /* all */
	uint64_t stacks;   /* handed out; of at least one entry */
	uint64_t empty;	   /* with a stack of no entries */
	uint64_t none;	   /* of events that record none */
	uint64_t bad;	   /* that fit no event, or whose stack does not fit them */
	uint64_t branches; /* entries handed out */
};

typedef int (*branches_fn)(void *ctx, unsigned worker, const struct branch_span *span,
			   struct err *err);

unsigned branches_workers(const struct pd *rec, unsigned threads); /* 0: all cores */
int branches_walk(const struct pd *rec, unsigned threads, branches_fn fn, void *ctx,
		  struct branches_seen *seen, struct err *err) MUST_USE;

#endif
