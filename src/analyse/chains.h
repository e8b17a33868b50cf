/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chains - lower bounds of an iteration of hot innermost loops: the dependency chain that each
 * iteration hands to the next, the ports, or the front end; beside the cycles that were measured.
 *
 *	b.follow_paths = true; blocks_loops(&b, ...)	paths of iterations
 *	loop_chains_build(&c, &b, images, core, &err)
 *	loop_chains_free(c)
 *
 * A path is the blocks of one iteration in the order of execution, from branch stacks. Its
 * instructions wait for registers, flags and memory (symbol/operands.h); their latencies are those
 * of the model (model/core.h). The path is run over and over, each instruction as soon as its
 * inputs are there: the time of an iteration is then the chain's bound. A load waits for a store if
 * both addresses are known to be the same: one register plus constants, which is followed through
 * copies, additions of constants, the stack pointer, and iterations. Other stores are taken to be
 * elsewhere. Branches are predicted and caches hit: costs of misses are not in a bound.
 *
 * Latencies may be ranges; then so are bounds. If one is not known, the upper end is NAN. The
 * ports' bound is the largest load of any set of ports by uops that can go nowhere else, divided by
 * the number of its ports; that of the front end slots by width, or taken branches. With several
 * paths the chain's is that of a sequence in which they come at random, as often as they were seen;
 * those of ports and front end are of all of them together.
 *
 * Costs: some 50 ns for each instruction of a path and iteration run, at most 5 ms a path.
 */
#ifndef CYCLADE_ANALYSE_CHAINS_H
#define CYCLADE_ANALYSE_CHAINS_H

#include "analyse/blocks.h"
#include "base/arena.h"
#include "base/vec.h"
#include "model/core.h"
#include "symbol/insn_op.h"

enum chain_verdict {
	CHAIN_UNKNOWN, /* see why */
	CHAIN_SERIAL,  /* the chain's bound explains the time, and no other does */
	CHAIN_PORTS,
	CHAIN_ISSUE,   /* the front end: slots, taken branches */
	CHAIN_SEVERAL, /* the chain and another one are the same */
	CHAIN_OTHER,   /* all bounds are lower: misses, mispredictions, effects that are not
		        * modelled */
};

enum chain_via { /* the input for which an instruction of the chain waits */
		 VIA_NOTHING,
		 VIA_REGISTER,
		 VIA_FLAGS,
		 VIA_ADDRESS, /* of a load */
		 VIA_MEMORY,  /* a value that a store wrote */
};

struct chain_range {
	double low, high; /* cycles an iteration; NAN: not known */
};

struct chain_insn {
	uint64_t vaddr;
	const char *text, *file; /* file NULL: not known */
	uint32_t line, block;
	enum insn_op op;
	bool load, store;	    /* apart from op */
	bool fused;		    /* one with the branch behind it */
	struct chain_range latency; /* of its operation, without its load */
	bool measured;		    /* the latency is this machine's own */
	char ports[64];		    /* "1*0156 1*23" */
	/* On the chain: when it comes, from 1; 0: it is not. Cycles of an iteration. */
	uint32_t step;
	double cycles;
	enum chain_via via;
};

struct chain_bounds {
	struct chain_range chain;
	double ports, issue;	 /* NAN: nothing is known */
	bool at_least;		 /* uops of some operations are not known */
	double taken, slots;	 /* taken branches, slots of the front end */
	uint32_t fullest;	 /* ports that make the ports' bound */
	double load[CORE_PORTS]; /* uops for each port if they are dealt evenly; of units: cycles */
};

struct chain_path {
	const struct block_path *path;
	double share; /* of iterations seen */
	struct chain_insn *insn;
	size_t n;
	struct chain_bounds bound;
	const char *unknown; /* an operation whose latency is in the way; NULL */
	double cycles;	     /* measured, in the mean; NAN: not timed */
};

struct chain_loop {
	const struct block_function *f;
	uint32_t loop;
	uint64_t iterations, left_out; /* seen; those of paths that are not kept */
	struct chain_path *path;       /* most seen first */
	size_t n_paths;
	struct chain_bounds bound;
	struct flow_value cycles; /* of an iteration; without its slowest 5 % if `trimmed` */
	bool trimmed;
	enum chain_verdict verdict;
	const char *why; /* of CHAIN_UNKNOWN, or a remark; NULL */
};

struct chains {
	struct arena a;
	const struct core *core;
	VEC(struct chain_loop) loop; /* most instructions first */
	size_t more;		     /* innermost loops that were not looked at */
};

#define CHAINS_LOOPS 128u
#define CHAINS_INSNS 2048u /* of a path */

/* `core` NULL: verdicts are unknown, because of `no_core`. */
int loop_chains_build(struct chains **out, const struct blocks *b, struct images *images,
		      const struct core *core, const char *no_core, struct err *err) MUST_USE;
void loop_chains_free(struct chains *c); /* NULL is fine */

const char *chain_verdict_name(enum chain_verdict v);
const char *chain_via_name(enum chain_via v);

#endif
