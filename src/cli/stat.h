/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat - the ways of `stat`: events that were asked for (stat_events.c) and the tree
 * (stat_tree.c). Each returns the exit code.
 */
#ifndef CYCLADE_CLI_STAT_H
#define CYCLADE_CLI_STAT_H

#include "base/vec.h"
#include "cli/asking.h"
#include "cli/counting_out.h"
#include "measure/counting.h"
#include "report/counts.h"

int stat_events(struct cli *cli);
int stat_tree(struct cli *cli);
int stat_import(struct cli *cli); /* --import: counts taken before (stat_import.c) */

/* Runs to make: -r, 1. */
static inline uint64_t stat_runs(const struct cli *cli)
{
	return cli->opt.measure.repeat ? cli->opt.measure.repeat : 1;
}

/* Exit code of a stat that counted, or `failed`: for want of a PMU, if `no_pmu` has a text. */
int stat_end(struct cli *cli, const struct counting *k, bool failed, const char *no_pmu,
	     const struct err *err);

/* Who was counted, in words, in the arena `a`. */
const char *stat_target(const struct counting *k, struct arena *a);
/* A finished text to `out`, or to `fd` if that is not -1. If the reader has gone away, counting
 * ends. */
int stat_put(struct counting *k, struct counting_out *out, const struct buf *b, int fd,
	     struct err *err) MUST_USE;
/* The same of a document; `last`: and the notes that its format has no place for. */
int stat_document(struct counting *k, struct counting_out *out, struct document *d, int fd,
		  bool last, struct err *err) MUST_USE;
/* The head of every measurement; the rest is not known yet. Texts are in the arena `a`, which ends
 * with the interval: memory from the cli's arena would never be freed. */
struct count_head stat_head(const struct counting *k, struct arena *a);

#endif
