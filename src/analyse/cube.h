/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cube - samples of one event by call chain, thread, CPU and time: for a viewer that filters
 * without the recording.
 *
 *	cube_begin(&c, pass, rec, spaces, &opts, event, &err)
 *	pass_run(pass, &err)
 *	cube_end(c, &err)	only then there are cells
 *	cube_free(c)
 *
 * A cell counts the samples of a chain in a thread, on a CPU, in a bin of time. So that a cube is
 * small whatever the recording, there are CUBE_BINS bins at most; if the cells would be more than
 * CUBE_CELLS, a quarter of them, then no CPUs, and functions with few samples are folded into one
 * node below their caller, before there are less than 100 bins. Sums are exact in any case. Very
 * many threads have more cells.
 *
 * With opts.chain_inline calls that were inlined are nodes, too; those with few samples are of the
 * function that they stand in.
 *
 * The same recording gives the same cube, on however many cores. Nodes come in the order of a walk
 * in depth; functions, and so the children of a node, in the order of their addresses.
 *
 * Costs: a sample is a look-up of its callers and one of its address; 24 bytes for each that does
 * not repeat another. So eight million with as many different chains take 3.6 s and 270 MB.
 */
#ifndef CYCLADE_ANALYSE_CUBE_H
#define CYCLADE_ANALYSE_CUBE_H

#include "analyse/profile_stacks.h"

enum { CUBE_BINS = 500, CUBE_CELLS = 160000, CUBE_NODES = 20000 };
#define CUBE_NONE UINT32_MAX

struct cube_frame {
	const char *function, *dso;
	const char *kind; /* of a cube of time: "thread", or the state of a reason; else NULL */
	bool inlined;	  /* its code stands in that of the node above: cube_owner() */
};
struct cube_node {
	uint32_t parent; /* smaller than its own number; CUBE_NONE: an outermost one */
	uint32_t frame;	 /* CUBE_NONE: functions that are folded */
};
struct cube_cell {
	uint32_t node, thread, cpu, bin; /* cpu: into cube.cpu; CUBE_NONE: not recorded */
	uint64_t samples, period;
};

struct cube {
	uint32_t event;
	uint64_t from, width; /* ns; width 0: no times, all are in bin 0 */
	uint32_t n_bins;
	uint64_t samples, period; /* of all cells */
	uint64_t folded;	  /* samples (of time: ns) in nodes without a frame */
	const struct cube_frame *frame;
	const struct stack_thread *thread;
	const uint32_t *cpu; /* numbers, ascending */
	const struct cube_node *node;
	const struct cube_cell *cell; /* by node, thread, cpu, bin */
	size_t n_frames, n_threads, n_cpus, n_nodes, n_cells;
	size_t n_chains; /* nodes before any were folded */
};

struct wall_tree;
struct wait;
struct images;

struct pass;
/* `opts`: selection (the pass's), mux, machine, max_stack and chain_inline are used. `event`: of
 * pd_events. If there is a selection, a walk of its own finds when samples were taken. */
int cube_begin(struct cube **out, struct pass *pass, const struct pd *rec, struct spaces *sp,
	       const struct profile_opts *opts, size_t event, struct err *err) MUST_USE;
int cube_end(struct cube *c, struct err *err) MUST_USE;
/*
 * The same of the time of all threads, on the CPU and off it: periods are ns, samples those on the
 * CPU. Outermost frames are names of threads; time off the CPU has a reason as its leaf. The tree's
 * cells are of bins of cube_wall_width(). The tree may be freed then; its source must stay.
 */
uint64_t cube_wall_width(const struct wait *w);
int cube_of_wall(struct cube **out, const struct wall_tree *t, const struct wait *w,
		 const struct images *images, struct err *err) MUST_USE;
void cube_free(struct cube *c); /* NULL is fine */

/* The node of the function that a node's code is in: itself, but for inlined calls. */
static inline uint32_t cube_owner(const struct cube *c, uint32_t node)
{
	while (c->node[node].frame != CUBE_NONE && c->frame[c->node[node].frame].inlined)
		node = c->node[node].parent;
	return node;
}

#endif
