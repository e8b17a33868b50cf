/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formulas over counts. A walk of the tree; where min and max work on counts, once per logical
 * processor.
 */
#include <limits.h>
#include <math.h>

#include "model/expr/expr_int.h"

#define ALL_LPS SIZE_MAX

struct run {
	const struct expr *e;
	const struct expr_env *env;
};

static struct value none(enum value_why why, uint32_t which)
{
	return (struct value){ NAN, why, which };
}

static struct value checked(double v)
{
	return isfinite(v) ? expr_value(v) : none(VALUE_NOT_FINITE, 0);
}

static struct value modulo(double a, double b)
{
	long n, d;

	/* as perf: of whole numbers, and a divisor below 1 is 0 */
	if (!(fabs(a) < 9e18) || !(fabs(b) < 9e18))
		return none(VALUE_NOT_FINITE, 0);
	n = (long)a;
	d = (long)b;
	if (!d)
		return none(VALUE_DIVIDED_BY_0, 0);
	return expr_value(d == -1 ? 0 : (double)(n % d));
}

struct value expr_apply(enum expr_op op, struct value a, struct value b)
{
	if (a.why)
		return a;
	if (b.why)
		return b;
	switch (op) {
	case OP_LT:
		return expr_value(a.v < b.v);
	case OP_GT:
		return expr_value(a.v > b.v);
	case OP_LE:
		return expr_value(a.v <= b.v);
	case OP_GE:
		return expr_value(a.v >= b.v);
	case OP_EQ:
		return expr_value(a.v == b.v);
	case OP_XOR:
		return expr_value((a.v != 0) != (b.v != 0));
	case OP_ADD:
		return checked(a.v + b.v);
	case OP_SUB:
		return checked(a.v - b.v);
	case OP_MUL:
		return checked(a.v * b.v);
	case OP_DIV:
		return b.v == 0 ? none(VALUE_DIVIDED_BY_0, 0) : checked(a.v / b.v);
	case OP_RATIO:
		return b.v == 0 ? expr_value(0) : checked(a.v / b.v);
	case OP_MOD:
		return modulo(a.v, b.v);
	case OP_MIN:
		return a.v < b.v ? a : b;
	case OP_MAX:
		return a.v > b.v ? a : b;
	default:
		return none(VALUE_ABSENT, 0);
	}
}

static struct value eval(const struct run *r, uint32_t at, size_t lp);

/* Sum of what was counted; not counted anywhere is not 0. */
static struct value count(const struct expr_env *env, uint32_t event, size_t lp)
{
	const double *c = env->count ? env->count + (size_t)event * env->n_lps : NULL;
	double sum = 0;
	bool any = false;

	if (!c)
		return none(VALUE_NOT_COUNTED, event);
	if (lp != ALL_LPS)
		return isnan(c[lp]) ? none(VALUE_NOT_COUNTED, event) : checked(c[lp]);
	for (size_t i = 0; i < env->n_lps; i++) {
		if (isnan(c[i]))
			continue;
		sum += c[i];
		any = true;
	}
	return any ? checked(sum) : none(VALUE_NOT_COUNTED, event);
}

/* Per logical processor, then summed over those that could be taken. */
static struct value over_lps(const struct run *r, uint32_t at)
{
	struct value first_bad = expr_value(0);
	double sum = 0;
	bool any = false;

	for (size_t lp = 0; lp < r->env->n_lps; lp++) {
		struct value v = eval(r, at, lp);

		if (!v.why) {
			sum += v.v;
			any = true;
		} else if (v.why != VALUE_NOT_COUNTED) {
			return v;
		} else if (!first_bad.why) {
			first_bad = v;
		}
	}
	return any ? checked(sum) : first_bad;
}

static struct value truth(struct value v)
{
	return v.why ? v : expr_value(v.v != 0);
}

/* 0 & x is 0 and 1 | x is 1, whatever x is. */
static struct value logic(const struct run *r, const struct expr_node *n)
{
	double decides = n->op == OP_OR;
	struct value a = truth(eval(r, n->kid[0], ALL_LPS)), b;

	if (!a.why && a.v == decides)
		return a;
	b = truth(eval(r, n->kid[1], ALL_LPS));
	if (!b.why && b.v == decides)
		return b;
	return a.why ? a : b;
}

static struct value leaf(const struct run *r, const struct expr_node *n, size_t lp)
{
	const struct expr_env *env = r->env;
	double v;

	switch (n->op) {
	case OP_NUMBER:
		return checked(n->value);
	case OP_EVENT:
		return count(env, n->index, lp);
	case OP_METRIC:
		if (lp != ALL_LPS && n->program) {
			struct run own = { n->program, env };

			return eval(&own, expr_root(n->program), lp);
		}
		return env->metric ? env->metric[n->index] : none(VALUE_ABSENT, n->index);
	case OP_PASSES:
		return env->passes ? env->passes[n->index] : none(VALUE_NO_PASS, n->index);
	case OP_LATENCY:
		v = env->latency ? env->latency[n->index] : NAN;
		return isnan(v) ? none(VALUE_NO_LATENCY, n->index) : checked(v);
	case OP_SYSTEM:
		v = env->system ? env->system[n->index] : NAN;
		return isnan(v) ? none(VALUE_NO_SYSTEM, n->index) : checked(v);
	default:
		return none(VALUE_ABSENT, 0);
	}
}

static struct value eval(const struct run *r, uint32_t at, size_t lp)
{
	const struct expr_node *n = &r->e->node[at];
	struct value a;

	switch (n->op) {
	case OP_NUMBER:
	case OP_EVENT:
	case OP_METRIC:
	case OP_PASSES:
	case OP_LATENCY:
	case OP_SYSTEM:
	case OP_ABSENT:
		return leaf(r, n, lp);
	case OP_AND:
	case OP_OR:
		return logic(r, n);
	case OP_IF:
		a = eval(r, n->kid[1], ALL_LPS);
		if (a.why)
			return a;
		return eval(r, n->kid[a.v != 0 ? 0 : 2], lp);
	case OP_NEG:
		a = eval(r, n->kid[0], lp);
		return a.why ? a : expr_value(-a.v);
	case OP_MIN:
	case OP_MAX:
		if (lp == ALL_LPS && n->extensive && r->env->n_lps > 1)
			return over_lps(r, at);
		break;
	default:
		break;
	}
	return expr_apply((enum expr_op)n->op, eval(r, n->kid[0], lp), eval(r, n->kid[1], lp));
}

struct value expr_eval(const struct expr *e, const struct expr_env *env)
{
	struct run r = { e, env };

	return eval(&r, expr_root(e), ALL_LPS);
}
