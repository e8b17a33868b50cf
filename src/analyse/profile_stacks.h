/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile_stacks - samples with their chains as addresses, not as functions: what is handed to
 * other programs.
 *
 *	opts.chains = true, opts.stacks = STACKS_EACH or STACKS_MERGED
 *	profile_build(&p, ...)
 *	profile_stacks(p)	belongs to the profile
 *
 * Chains are one prefix tree of sites, outermost first. A sample without a chain has its own
 * address for one. All numbers (of sites, nodes, threads) are the same for the same recording, on
 * however many cores it is read.
 */
#ifndef CYCLADE_ANALYSE_PROFILE_STACKS_H
#define CYCLADE_ANALYSE_PROFILE_STACKS_H

#include "analyse/profile.h"

struct stack_site {
	uint64_t addr;		     /* image address; the ip itself where nothing was mapped */
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
	/* As feed_time(); 0 with STACKS_MERGED; with STACKS_BINNED what stack_cpu() and
	 * stack_bin() read. */
	uint64_t time;
	uint64_t n, period;
	uint32_t event, node, thread;
};

static inline uint32_t stack_cpu(const struct stack_sample *s) /* UINT32_MAX: not recorded */
{
	return (uint32_t)(s->time >> 32);
}

static inline uint32_t stack_bin(const struct stack_sample *s)
{
	return (uint32_t)s->time;
}

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
	/* EACH: by thread, then time; else by node, then thread, then event, then CPU and bin */
	struct stack_sample *sample;
	size_t n_samples;
};

const struct profile_stacks *profile_stacks(const struct profile *p); /* NULL: not asked for */

#endif
