/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile_stacks - samples with their chains as addresses, not as functions: for other programs.
 *
 *	opts.chains = true, opts.stacks = STACKS_EACH, STACKS_MERGED or STACKS_CELLS
 *	profile_build(&p, ...)
 *	profile_stacks(p)	belongs to the profile
 *
 * Chains are one prefix tree of sites, outermost first. A sample without a chain has its own
 * address for one. All numbers (of sites, nodes, threads) are the same for the same recording, on
 * however many cores it is read.
 *
 * With STACKS_CELLS chains are those of the callers alone, of which there are few, and the
 * innermost frame is a site beside them. The cells of a part (the samples of one worker) differ
 * from run to run; their sums do not.
 */
#ifndef CYCLADE_ANALYSE_PROFILE_STACKS_H
#define CYCLADE_ANALYSE_PROFILE_STACKS_H

#include "analyse/profile.h"

struct stack_site {
	uint64_t addr;		     /* image address; the ip itself if nothing was mapped */
	uint32_t image;		     /* IMAGE_NONE: nothing was mapped */
	uint8_t kind;		     /* enum space_kind */
	bool caller;		     /* a return address: the call is before it */
	const struct symbol *symbol; /* or NULL */
	uint32_t first, n;	     /* its frames in frame_id, outermost first; at least one */
};

struct stack_node {
	uint32_t parent,
		site; /* node 0 is the root and has no site; a parent's number is smaller */
};

struct stack_thread {
	const char *comm;
	uint32_t pid, tid; /* UINT32_MAX: not recorded */
};

struct stack_sample {
	uint64_t time; /* as feed_time(); 0 with STACKS_MERGED */
	uint64_t n, period;
	uint32_t event, node, thread;
	uint32_t cpu; /* UINT32_MAX: not recorded, or STACKS_MERGED */
};

/* With STACKS_CELLS: samples of a chain at a place in a bin. There may be several of the same. */
struct stack_cell {
	uint32_t callers, leaf, place; /* a chain, a site, and a place of its part */
	uint16_t bin, n;
	uint64_t period; /* their sum */
};
enum { STACK_BINS_MAX = UINT16_MAX };
struct stack_place {
	uint32_t thread, cpu; /* cpu: UINT32_MAX: not recorded */
};
struct stack_part {
	struct stack_cell *cell;
	struct stack_place *place;
	uint32_t *node; /* by chain; 0: no callers */
	uint32_t *site; /* by the part's sites: into `site` of all */
	size_t n_cells, n_places, n_chains, n_sites;
};

struct profile_stacks {
	struct stack_site *site; /* by image and address */
	size_t n_sites;
	uint32_t *frame_id; /* into `frame` */
	const struct profile_frame *frame;
	size_t n_frames;
	struct stack_node *node; /* in the order of a walk in depth */
	size_t n_nodes;
	struct stack_thread *thread; /* by pid, tid, name */
	size_t n_threads;
	/* EACH: by thread, then time; MERGED: by node, then thread, then event */
	struct stack_sample *sample;
	size_t n_samples;
	struct stack_part *part; /* with STACKS_CELLS; then there is no `sample` */
	size_t n_parts;
};

const struct profile_stacks *profile_stacks(const struct profile *p); /* NULL: not asked for */

#endif
