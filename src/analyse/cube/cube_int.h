/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cube_int - shared by the parts of the cube. The way of the samples:
 *
 *	cube.c		when they were taken; then a profile of cells
 *	cube_tree.c	chains of addresses -> a tree of functions; cells get its nodes
 *	cube_cells.c	... and are added up, in as much detail as fits
 *	cube_wall.c	instead of these two: the time of threads, on CPUs and off them
 *	cube_nodes.c	the nodes that are left get the numbers that are handed out
 *	cube_moments.c	and stand for fine bins of time, thread by thread and CPU by CPU
 *	cube_marks.c	what came at a time and is no sample
 *	timeline.c	these two, and waits, as fine as there is room for (timeline.h)
 */
#ifndef CYCLADE_ANALYSE_CUBE_CUBE_INT_H
#define CYCLADE_ANALYSE_CUBE_CUBE_INT_H

#include "analyse/chain.h"
#include "analyse/cube.h"
#include "analyse/itab.h"
#include "base/hash.h"
#include "base/vec.h"
#include "base/xalloc.h"

struct making {
	struct cube c; /* first: the caller's part */
	struct profile *p;
	const struct profile_stacks *s;
	struct chain_tree tree;	   /* of functions that call; node 0 is the root */
	struct u64map by_name;	   /* of time: name and dso -> frame */
	uint32_t *frame_of;	   /* by frame of the stacks */
	uint32_t *leaf_of;	   /* by site of the stacks: its innermost frame */
	uint32_t *node_of;	   /* by node of the stacks: of the tree */
	VEC(struct cube_node) all; /* the tree's nodes, then leaves */
	struct making_cells {
		struct cube_cell *v;
		size_t n, cap;
	} cell, best;	 /* .node: as in `to`, until number_nodes() */
	struct itab at;	 /* into `cell` */
	uint32_t *to;	 /* by node of `all`: the node that gets its samples */
	uint64_t *total; /* samples there and below, by node of `all` */
	bool by_time;	 /* a cube of time: of nodes, the period counts, not the samples */
	unsigned halved; /* so often two bins became one before there were cells */
	uint64_t weight; /* of all nodes */
	struct stack_thread *thread; /* the cube's own; NULL: the profile's */
	uint64_t least;		     /* nodes with fewer are folded; 0: `to` is not made yet */
	struct cube_frame *frame;
	struct cube_node *node;
	uint32_t *cpu;
	/* for the timeline */
	unsigned finer;	     /* cells of stacks have so often halved bins: 0 or TIMELINE_FINER's */
	uint64_t fine, last; /* ns of a fine bin, 0: there are none; of the last sample */
	uint32_t *number;    /* by node of `all`: as it is handed out */
	size_t n_all_cpus;   /* of `cpu`, also if the cube has none */
	struct {
		struct timeline_moment *v;
		size_t n, cap;
	} moment[2]; /* of threads, of CPUs: by track, then bin */
	struct moment_track {
		uint32_t id; /* of `s`: a thread; or into `cpu` */
		size_t first, n;
		uint64_t samples;
	} * moment_track[2];
	size_t n_moment_tracks[2];
	struct cube_marks *marks; /* NULL: none */
};
#define CUBE_BINS_LEAST 125	    /* so many stay until nothing but they can be given up */
#define FOLDED		0x80000000u /* of `to`: in the rest of small nodes */

/* From `s`: frame, tree, all. From then on cells have their node in `callers`. */
int cube_make_tree(struct making *m, struct err *err) MUST_USE;
/* Then: cpu, total, cell, least, and width and n_cpus of `c`. */
int cube_make_cells(struct making *m, struct err *err) MUST_USE;
/* Returns the number of nodes of `all` that have so many samples in them or below. */
size_t cube_count_nodes(const struct making *m, uint64_t least);
/* Then: node, and cells in order; node and frame of `c`. */
int cube_make_nodes(struct making *m, struct err *err) MUST_USE;
/* If there are fine bins: moment, moment_track. */
void cube_find_moments(struct making *m);
struct pass;
struct cube_marks *cube_marks_begin(struct pass *pass, const struct pd *rec) NEVER_NULL;
void cube_marks_free(struct cube_marks *k); /* NULL is fine */
struct timeline;
void timeline_marks(struct timeline *t, const struct making *m);
/* Then: all of `c`. */
void cube_hand_out(struct making *m);

#endif
