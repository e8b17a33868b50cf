/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_trips_int - loops that are followed through stacks, one stack at a time.
 *
 *	trips_stack(t, worker, &stack)	for each stack; adds to w->seen
 *
 * Stacks are read oldest entry first; only functions with hot loops are looked at. A visit begins
 * when the head is entered from outside the loop and ends with the first block of the function that
 * is not of the loop, or when the function is left but for a call; functions called in between are
 * not looked at. A stack that begins within a loop, ends within it, or has a gap there, cuts the
 * visit. If a function calls itself, visits of the outer run are cut, too.
 *
 * Interrupts and faults may stop a function at any instruction; its visits go on when the kernel
 * comes back to that instruction. So an edge counts only if it leaves from the last instruction of
 * its block and has the target of that instruction. Stacks of user space alone have the way back
 * only: the code up to its target has then run.
 *
 * Time. An iteration lasts from one branch to a block of the loop to the next one to the same
 * block, if the head ran once in between; branches to the head are preferred. Functions called and
 * interrupts by the kernel are part of it. Iterations longer than a stack are not seen.
 */
#ifndef CYCLADE_ANALYSE_FLOW_BLOCKS_TRIPS_INT_H
#define CYCLADE_ANALYSE_FLOW_BLOCKS_TRIPS_INT_H

#include "analyse/flow/blocks_int.h"
#include "analyse/flow/flow_scan_int.h"

enum { LOOPS_MAX = 512, OF_FUNCTION_MAX = 64, ENTRIES_MAX = 2730 };

struct watched_loop {
	struct block_function *f;
	uint32_t loop;
};

struct watched {
	struct block_function *f;
	uint64_t start, len;
	uint32_t first, n; /* of the loops */
	uint64_t *in;	   /* by block: loops that it is in, a bit each; */
	uint64_t *head;	   /* that it is the head of */
	uint8_t *
		innermost; /* that it is in, by block, if paths of it are followed; NO_LOOP. NULL */
};
#define NO_LOOP 255
_Static_assert(OF_FUNCTION_MAX <= 64, "the loops of a function are a word");

/* A loop, from all visits of a worker. */
struct seen {
	uint64_t visits, cut;
	uint32_t trip[BLOCK_TRIPS];
	struct block_times iteration;
	uint64_t last_stack; /* that `iteration` has a time of */
};

/* Paths of an innermost loop. */
struct seen_paths {
	struct block_path path[BLOCK_PATHS];
	unsigned n;
	uint64_t iterations;
};

/* The present visit of a loop. */
struct visit {
	uint32_t trips; /* the head ran so often */
	uint32_t mark;	/* the block that iterations are timed by; CODE_NONE: none yet */
	uint32_t trips_then;
	uint64_t cycles_then, gaps_then; /* when it was last branched to */
	uint32_t n_path;		 /* blocks since the head; 0: it was not seen */
	uint32_t path[BLOCK_PATH_MAX];
	unsigned last_path; /* of the iteration before; BLOCK_PATHS: none that is kept */
};

/* The present state of a function: visits, and those of them with a known entry. */
struct going_on {
	uint64_t active, whole;
	uint64_t stopped; /* the instruction before which it was interrupted; 0: it was not */
	bool listed;
};

/* The place of an address; found once, since few addresses are most of all. */
struct spot {
	uint64_t addr, target; /* target: of a direct branch, else CODE_FAR */
	uint32_t image;
	uint32_t f;	/* 1 + index; 0: nothing is known yet; NOWHERE: in none that is watched */
	uint32_t block; /* CODE_NONE: none */
	uint8_t flow;	/* of the block */
	uint8_t before; /* of the block in front of it; INSN_OTHER if there is none */
	bool start;	/* of the block */
	bool last;	/* instruction of the block */
	bool kernel;	/* or hidden from this stack */
};
#define NOWHERE UINT32_MAX
#define SPOTS	8192u

/* An entry of a stack. */
struct trips_entry {
	struct spot from, to;
	uint16_t cycles;
	bool gap;     /* the next branch is not known */
	bool returns; /* by its type from an interrupt or an exception */
};

struct trips_worker {
	struct flow_map map;
	struct seen seen[LOOPS_MAX];
	struct seen_paths *paths; /* by loop; NULL: not followed */
	struct visit visit[LOOPS_MAX];
	struct going_on *on; /* by function */
	uint32_t touched[LOOPS_MAX];
	size_t n_touched;
	uint64_t stacks;	 /* so many */
	uint64_t cycles, gaps;	 /* of this stack so far; entries without cycles */
	struct spot spot[SPOTS]; /* direct-mapped */
	struct trips_entry entry[ENTRIES_MAX];
};

struct trips {
	struct flow_events events;
	struct watched_loop loop[LOOPS_MAX];
	uint32_t n_loops;
	bool follow;	   /* paths */
	struct watched *f; /* sorted by (image, start) */
	size_t n_f;
	bool *image; /* those that any is in */
	size_t n_images;
	struct trips_worker **worker;
	unsigned n_workers;
};

/* Returns the watched function at a place; NULL: none. */
const struct watched *trips_function_at(const struct trips *t, uint32_t image, uint64_t addr);
void trips_stack(const struct trips *t, struct trips_worker *w, const struct pd_branches *stack);

#endif
