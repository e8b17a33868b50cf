/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls - who calls whom and how often, from the edges of flow.h.
 *
 *	calls_build(&c, flow, images, &err)
 *	calls_free(c)
 *
 * Stacks of returns say it best: a return leads from the callee right behind the caller's call, past
 * any trampoline. Stacks of calls, or of any branch, have the calls themselves; one that lands in a
 * PLT is followed through the jump that leaves it, where that was seen to go to one place. Where
 * both kinds are in a recording of any branch, calls are counted by calls and checked by returns.
 * Tail calls are jumps from one function to the start of another, and counted apart.
 * Call-stack mode holds unfinished calls and no history: ERR_USAGE says what to record instead.
 */
#ifndef CYCLADE_ANALYSE_CALLS_H
#define CYCLADE_ANALYSE_CALLS_H

#include "analyse/flow.h"

struct call_function {
	uint32_t image;
	const struct symbol *symbol;	  /* NULL: no symbol; then the image as a whole */
	struct flow_value called, calls;  /* times: by others, and of others */
	uint32_t first_caller, n_callers; /* into calls.by_callee */
	uint32_t first_callee, n_callees; /* into calls.edge */
};

struct call_edge {
	uint32_t caller, callee; /* functions */
	struct flow_value runs;
	double group[FLOW_GROUPS];
	uint64_t hits;
	uint32_t sites;	   /* distinct call instructions */
	bool tail;	   /* jumps, not calls */
	bool plt;	   /* through a trampoline */
	uint64_t indirect; /* hits that went through a register or memory */
	struct branch_tally tally;
};

struct calls {
	struct call_function *f; /* most called first */
	struct call_edge *edge;	 /* by caller, most first */
	uint32_t *by_callee;	 /* edges by callee, most first */
	size_t n, n_edges;
	bool by_returns, scaled;
	double scale;
	/* Hits of calls that could not be told: no symbol at one end, a PLT that leads nowhere
	 * known, returns to no place behind a call (signals, longjmp, context switches). */
	uint64_t no_symbol, lost_plt, strange;
	/* Any branch: hits by calls and by returns, which should agree. */
	uint64_t hits_calls, hits_returns;
};

int calls_build(struct calls *out, const struct flow *f, struct images *images,
		struct err *err) MUST_USE;
void calls_free(struct calls *c);

#endif
