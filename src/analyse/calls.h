/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls - callers, callees and counts of calls, from the edges of flow.h.
 *
 *	calls_build(&c, flow, images, &err)
 *	calls_find(&c, images, "name", &found, &err)	the functions that a name may mean
 *	calls_free(c)
 *
 * Stacks of returns are best: a return leads from the callee right behind the caller's call, past
 * any trampoline. If the code is there, the instruction in front of that place has to be a call; if
 * it names another function than the one that returned, that one was called, and went on to the
 * other by a jump: a tail call. Stacks of calls, or of any branch, have the calls themselves; one
 * that lands in a PLT is followed through the jump that leaves it, if that was seen to go to one
 * place, else to the only function of that name. If both kinds are in a recording of any branch,
 * calls are counted by calls and checked by returns. Tail calls are jumps from one function to the
 * start of another, and counted apart. So are entries and exits of the kernel, which are no calls.
 * Code that compilers split off (f.cold) is part of f. Call-stack mode holds unfinished calls and
 * no history: ERR_USAGE names the filter to record instead.
 *
 * Whether a branch is a call depends on the instruction it left from; if the code is not there, on
 * the recording's kind of branch, then on its filter, and last on its target: to the first
 * instruction of another function (`guessed`).
 *
 * Costs: the code of all functions with edges is taken apart once; some 100 bytes an edge.
 */
#ifndef CYCLADE_ANALYSE_CALLS_H
#define CYCLADE_ANALYSE_CALLS_H

#include "analyse/flow.h"
#include "base/vec.h"

struct call_function {
	uint32_t image;		     /* IMAGE_NONE: in no mapping */
	const struct symbol *symbol; /* NULL: no symbol; then the image as a whole */
	uint8_t kind;		     /* enum space_kind */
	/* Times called, by itself too; of these by itself; entered by tail calls; calls it made. */
	struct flow_value called, recursive, tailed, calls;
	uint32_t first_caller, n_callers; /* into calls.by_callee */
	uint32_t first_callee, n_callees; /* into calls.edge */
};

struct call_edge {
	uint32_t caller, callee; /* functions */
	struct flow_value runs;
	double group[FLOW_SLOTS];
	uint64_t hits;
	uint32_t sites;		   /* distinct call instructions */
	bool tail;		   /* jumps, not calls */
	bool plt;		   /* through a trampoline */
	uint64_t indirect;	   /* hits that went through a register or memory */
	struct branch_tally tally; /* of the calls, or of the returns if these were recorded */
};

struct calls {
	struct call_function *f; /* most called first, tail calls included */
	struct call_edge *edge;	 /* by caller, most first */
	uint32_t *by_callee;	 /* edges by callee, most first */
	size_t n, n_edges;
	bool by_returns, scaled;
	double scale;
	struct flow_value runs; /* calls in all, no tail calls */
	double group[FLOW_SLOTS];
	uint64_t hits; /* of these */
	/* Hits of calls without caller or callee: no symbol at one end (they count for the image as
	 * a whole), a PLT that leads nowhere known (they count for the PLT); returns to no place
	 * behind a call (signals, longjmp, context switches), which are not counted. */
	uint64_t no_symbol, lost_plt, strange;
	uint64_t guessed; /* hits taken for calls by their target alone */
	uint64_t no_code; /* hits of returns to code that could not be read */
	uint64_t kernel;  /* hits of entries into the kernel and returns from it: no calls */
	uint64_t unknown; /* hits of branches of unknown kind */
	uint64_t other;	  /* hits of other branches */
	/* Any branch: hits by calls and by returns, which should agree. */
	uint64_t hits_calls, hits_returns;
};

int calls_build(struct calls *out, const struct flow *f, struct images *images,
		struct err *err) MUST_USE;
void calls_free(struct calls *c);

/* Numbers of functions that `name` may mean (symbol/named.h), most called first. None is
 * ERR_NOT_FOUND. */
struct calls_found {
	VEC(uint32_t) v;
};
int calls_find(const struct calls *c, struct images *images, const char *name,
	       struct calls_found *out, struct err *err) MUST_USE;

#endif
