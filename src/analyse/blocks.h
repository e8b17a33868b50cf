/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks - how often each basic block ran, from the spans of flow.h and the code itself.
 *
 *	blocks_weigh(&flow, images, rec, spaces, &opts, &err)	once after flow_build()
 *	blocks_build(&b, flow, images, &opts, &err)	functions with spans, hottest first
 *	blocks_loops(b, rec, spaces, &err)		trip counts, by a second pass
 *	blocks_free(b)
 *
 * A span counts for every block between its ends. One is believed only if the code agrees: it must
 * begin and end at instructions, end with a branch, and hold no branch before its end that is
 * always taken. A span that fails this is dropped and counted by cause, never adjusted: enum
 * block_drop. A span that runs on into the next function counts in both, if the code falls through
 * there. One that begins inside a block, because an interrupt returned there, counts for that
 * block: the part before the interrupt ended with no branch, and is not counted. If stacks are of
 * user space alone, code up to a system call counts by the branch that came back from it.
 * Instructions retired are executions times instructions: no event counts them better.
 *
 * Ends of stacks. Edges and spans are each an estimate of their own, of all places in the stack
 * alike (flow_window.h). Fall-throughs are counted by the spans that run on, never by a difference:
 * it is never below 0.
 *
 * In = out: a block's executions are those of the edges into it, and those out of it, except at the
 * ends of stacks. `flow_in` and `flow_out` are counted apart from edges, so that the two can be
 * held against each other; blocks_balance() is how far they are apart in all.
 */
#ifndef CYCLADE_ANALYSE_BLOCKS_H
#define CYCLADE_ANALYSE_BLOCKS_H

#include "analyse/flow.h"
#include "symbol/code.h"

enum block_drop {
	BLOCK_NO_CODE,	    /* the file with the code is not there, or has no decoder here */
	BLOCK_NO_FUNCTION,  /* no symbol covers it */
	BLOCK_NOT_AN_INSN,  /* begins or ends inside an instruction: other code ran there */
	BLOCK_NOT_A_BRANCH, /* its end does not branch: an interrupt or fault took it away */
	BLOCK_ALWAYS_TAKEN, /* a jump, call or return stands before its end */
	BLOCK_OUTSIDE,	    /* leaves the function, and its code does not fall through */
	BLOCK_DROPS
};

struct block {
	/* Executions (see blocks.scaled). Without hits 0, and as error the weight of a stack: a
	 * block that runs as often at a time cannot be missed. */
	struct flow_value runs;
	double group[FLOW_SLOTS];
	double flow_in, flow_out; /* the same by edges into it and out of it; NAN: not known */
	uint64_t hits;		  /* spans seen that cover it */
	uint32_t loop;		  /* the innermost that it is in; CODE_NONE */
	/* Cycles of one execution, of spans that are this block alone. NAN, 0: none were timed. */
	uint64_t timed, time_stacks; /* times; stacks that have any */
	double cycles, cycles_sd;
	uint32_t times; /* flow_times() index, or FLOW_NO_TIMES */
};

#define BLOCK_TRIPS 33u /* 0 to 31, and more */

/* Times of something that was seen from beginning to end. */
struct block_times {
	uint64_t n, cycles;
	double cycles_sq;
	uint64_t stacks; /* that have any */
	struct flow_times times;
};

/* One way through an innermost loop, from its head to the next time there. */
#define BLOCK_PATH_MAX 64u /* blocks; longer ones are not kept */
#define BLOCK_PATHS    16u /* of a loop */
struct block_path {
	uint64_t seen;
	uint64_t timed, cycles; /* of branches to the head, one to the next */
	uint32_t n, block[BLOCK_PATH_MAX];
};

struct block_edge {	   /* between blocks of a function, or out of it and into it */
	uint32_t from, to; /* CODE_NONE: outside */
	struct flow_place other;
	bool fallthrough; /* not taken: spans that run on there */
	struct flow_value runs;
	uint64_t hits;
	double group[FLOW_SLOTS];
	struct branch_tally tally; /* of taken ones */
};

struct block_loop {
	uint32_t head;			  /* block */
	uint32_t blocks, depth;		  /* how many it holds; 1: outermost */
	uint32_t parent;		  /* loop; CODE_NONE */
	struct flow_value entries, trips; /* times entered; executions of its head by entry */
	/* Whole visits that lay within a stack, by how often the head ran (blocks_loops); the last
	 * bucket is "or more". Visits that a stack cut off are `cut`: long ones are cut more often,
	 * so that these favour short ones. */
	uint64_t visits, cut;
	uint32_t trip[BLOCK_TRIPS];
	/* Cycles of one iteration (blocks_loops), as long as a stack at most. NULL: none was timed.
	 * Its function's. */
	struct block_times *iteration;
	/* With blocks.follow_paths, of innermost loops: most seen first. Its function's. */
	struct block_path *path;
	size_t n_paths;
	uint64_t iterations; /* that were seen from head to head, of any path */
};

struct block_function {
	uint32_t image;
	const struct symbol *symbol;
	uint8_t kind; /* enum space_kind */
	struct code *code;
	struct block *block; /* as code->block */
	struct block_edge *edge;
	struct block_loop *loop;
	size_t n_edges, n_loops;
	/* Jumps backwards into the middle of a loop, as no `for` makes them: such loops are not
	 * reported. CODE_NONE: there are too many blocks to look for any. */
	uint32_t irreducible;
	/* Instructions retired in it; times its start was entered by calls, jumps of others, or
	 * from the function in front. NAN: its code is not there. */
	struct flow_value insns, calls;
	double group_insns[FLOW_SLOTS], group_calls[FLOW_SLOTS];
	uint64_t hits;
	uint64_t dropped[BLOCK_DROPS]; /* hits of spans that begin in it */
};

struct blocks {
	struct block_function *f; /* by instructions retired, most first */
	size_t n;
	const struct flow *flow;
	bool scaled;	/* figures are executions; else only to be compared with each other */
	const char *by; /* the source of the scale: "taken branches", "instructions", NULL */
	double scale;	/* the factor of all weights */
	struct flow_value insns;
	uint64_t used, dropped[BLOCK_DROPS]; /* hits of spans */
	uint64_t system;		     /* of those used: up to a system call (flow_stops) */
	size_t left_out;		     /* functions, by blocks_opts */
	bool follow_paths;		     /* set for blocks_loops() */
	char undecoded[200];		     /* why code that is there was not decoded; "" */
};

struct blocks_opts {
	const char *function; /* only those whose name matches (exact, else glob); NULL: all */
	size_t most;	      /* functions to take apart; 0: all */
};

/* If the event of a flow counts branches, instructions or cycles (the code or the stacks have these
 * of each span), turns weights into executions (flow_weigh). Else does nothing. A second pass over
 * the recording. */
int blocks_weigh(struct flow **f, struct images *images, const struct pd *rec, struct spaces *sp,
		 const struct flow_opts *opts, struct err *err) MUST_USE;
/* Takes the spans out of a flow that the code contradicts: BLOCK_NOT_AN_INSN and the causes behind
 * it. Spans whose code or function is not known stay. Adds their hits to `hits`. */
int blocks_reject(struct flow *f, struct images *images, uint64_t *hits, struct err *err) MUST_USE;
int blocks_build(struct blocks *out, const struct flow *f, struct images *images,
		 const struct blocks_opts *opts, struct err *err) MUST_USE;
int blocks_loops(struct blocks *b, const struct pd *rec, struct spaces *sp,
		 const struct flow_opts *opts, struct err *err) MUST_USE;
/* Sum of |in - out| over the sum of runs, of blocks with BLOCKS_BALANCE_HITS. */
#define BLOCKS_BALANCE_HITS 100u
struct flow_balance blocks_balance(const struct blocks *b);
void blocks_free(struct blocks *b);

/* Returns true if it holds no other loop. */
bool block_is_innermost(const struct block_function *f, uint32_t loop);
bool block_in_loop(const struct block_function *f, uint32_t block, uint32_t loop);

#endif
