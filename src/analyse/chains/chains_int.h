/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chains_int - a path of a loop while its bounds are found.
 *
 *	chains_run(&run, paths, n, weights, end)	the chain, by running it
 *	chains_ports(&bounds, core, paths, n, weights)	ports and front end
 *	chains_judge(loop, shape)			the verdict
 */
#ifndef CYCLADE_ANALYSE_CHAINS_CHAINS_INT_H
#define CYCLADE_ANALYSE_CHAINS_CHAINS_INT_H

#include "analyse/chains.h"
#include "symbol/operands.h"

struct chain_step { /* an instruction of a path, made ready to run */
	struct operands o;
	const struct core_op *cost, *load, *store, *forward, *blocked; /* NULL: not known, none */
	const struct core_op *sum, *step; /* NULL: none; of the sum, of the address moved on */
	bool fused;
};

struct chain_code {
	struct chain_step *step;
	size_t n;
	unsigned taken; /* branches */
};

/* Returns true for nothing but a load or a store. */
static inline bool chain_is_copy(const struct operands *o)
{
	return o->op == OP_LOAD || o->op == OP_LOAD_VECTOR || o->op == OP_LOAD_PAIR ||
	       o->op == OP_STORE;
}

enum chain_end { CHAIN_LOW, CHAIN_HIGH, CHAIN_WORST }; /* WORST: unknown latencies are long */

/* The part of an instruction of the first path in the chain. */
struct chain_link {
	double cycles; /* an iteration */
	uint32_t order;
	enum chain_via via;
};

struct chain_run {
	double cycles;		 /* an iteration; 0: nothing is handed on */
	struct chain_link *link; /* by instruction of the first path, n of them; may be NULL */
};

/* One path, or several at random by weight. */
void chains_run(struct chain_run *out, const struct chain_code *code, size_t n,
		const double *weight, enum chain_end end);
void chains_ports(struct chain_bounds *out, const struct core *core, const struct chain_code *code,
		  size_t n, const double *weight);
void chains_judge(struct chain_loop *l);

/* Returns the latency of an operation that was not found or is not known. */
double chain_latency(const struct core_op *op, enum chain_end end);
#define CHAIN_LONG 1e4 /* of CHAIN_WORST */

#endif
