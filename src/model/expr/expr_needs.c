/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names that a formula can need, without the branches that the machine rules out.
 *
 * Whether a condition is known without counting is found by evaluating it with no counts at all:
 * there is a value only if counts do not matter.
 */
#include <stdlib.h>

#include "model/expr/expr_int.h"

struct seek {
	const struct expr *e;
	struct expr_env known;
};

static bool is_part_known(const struct seek *s, uint32_t at, double *out)
{
	/* the subtree under `at` ends in it */
	struct expr part = { s->e->node, at + 1, false };
	struct value v;

	if (!s->known.system)
		return false;
	v = expr_eval(&part, &s->known);
	*out = v.v;
	return !v.why;
}

static enum expr_ref_kind ref_kind_of(const struct expr_node *n)
{
	switch (n->op) {
	case OP_EVENT:
		return EXPR_EVENT;
	case OP_LATENCY:
		return EXPR_LATENCY;
	case OP_METRIC:
	case OP_PASSES:
		return EXPR_METRIC;
	default:
		return EXPR_CONSTANT;
	}
}

/* Marks the nodes that can be reached. */
static void reach(const struct seek *s, uint32_t at, bool *reached)
{
	const struct expr_node *n = &s->e->node[at];
	double v;

	reached[at] = true;
	switch (n->op) {
	case OP_IF:
		if (is_part_known(s, n->kid[1], &v)) {
			reach(s, n->kid[v != 0 ? 0 : 2], reached);
			return;
		}
		break;
	case OP_AND:
	case OP_OR:
		if (is_part_known(s, at, &v))
			return;
		break;
	default:
		break;
	}
	for (unsigned i = 0; i < expr_op_facts[n->op].kids; i++)
		reach(s, n->kid[i], reached);
}

static bool told(const struct expr *e, const bool *reached, uint32_t at)
{
	enum expr_ref_kind kind = ref_kind_of(&e->node[at]);

	for (uint32_t i = 0; i < at; i++)
		if (reached[i] && ref_kind_of(&e->node[i]) == kind &&
		    e->node[i].index == e->node[at].index)
			return true;
	return false;
}

int expr_needs(const struct expr *e, const double *system,
	       int (*each)(void *ctx, enum expr_ref_kind kind, uint32_t index), void *ctx)
{
	struct seek s = { .e = e, .known = { .n_lps = 1, .system = system } };
	bool few[256] = { false }, *reached = few;
	int rc = 0;

	if (e->n > sizeof(few) / sizeof(few[0])) {
		reached = calloc(e->n, sizeof(*reached));
		if (!reached)
			return -1;
	}
	reach(&s, expr_root(e), reached);
	for (uint32_t i = 0; i < e->n && !rc; i++)
		if (reached[i] && ref_kind_of(&e->node[i]) != EXPR_CONSTANT && !told(e, reached, i))
			rc = each(ctx, ref_kind_of(&e->node[i]), e->node[i].index);
	if (reached != few)
		free(reached);
	return rc;
}

bool expr_wants_parent(const struct expr *e)
{
	return e->wants_parent;
}

bool expr_extensive(const struct expr *e)
{
	return e->node[expr_root(e)].extensive;
}
