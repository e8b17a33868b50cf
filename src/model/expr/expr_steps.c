/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formulas over counts: one by one, as a walk of the tree (expr_eval), and many of them as a list
 * of steps (expr_steps.h). Both do the same arithmetic in the same order. If min and max work on
 * counts, they are worked out once per logical processor.
 */
#include "model/expr_steps.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "model/expr/expr_int.h"

#define ALL_LPS SIZE_MAX
#define ANY	UINT32_MAX /* whichever slot is next */

enum {
	STEP_COPY = OP_COUNT,
	STEP_SUM, /* of a count on each logical processor, from slot kid[0] on */
};

/* ---- arithmetic ------------------------------------------------------------------------- */

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

static struct value truth(struct value v)
{
	return v.why ? v : expr_value(v.v != 0);
}

/* 0 & x is 0 and 1 | x is 1, whatever x is. */
static struct value logic(bool is_or, struct value a, struct value b)
{
	double decides = is_or;

	a = truth(a);
	b = truth(b);
	if (!a.why && a.v == decides)
		return a;
	if (!b.why && b.v == decides)
		return b;
	return a.why ? a : b;
}

/* Compares two known values. */
static struct value compared(enum expr_op op, struct value a, struct value b)
{
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

/* In line, as a value that a call returns goes through memory. */
static inline __attribute__((always_inline)) struct value
apply_op(uint32_t op, const struct value *a, const struct value *b)
{
	if (op == OP_NEG)
		return a->why ? *a : expr_value(-a->v);
	if (op == OP_AND || op == OP_OR)
		return logic(op == OP_OR, *a, *b);
	if (a->why | b->why)
		return a->why ? *a : *b;
	switch (op) {
	case OP_ADD:
		return checked(a->v + b->v);
	case OP_SUB:
		return checked(a->v - b->v);
	case OP_MUL:
		return checked(a->v * b->v);
	case OP_DIV:
		return b->v == 0 ? none(VALUE_DIVIDED_BY_0, 0) : checked(a->v / b->v);
	default:
		return compared((enum expr_op)op, *a, *b);
	}
}

/* Over logical processors. If a value is not counted on some of them, it is left out; any other
 * trouble is that of the sum. */
struct lps_sum {
	struct value first_bad;
	double sum;
	bool any;
};

/* False: *v is the sum. */
static bool add_lp(struct lps_sum *s, const struct value *v)
{
	if (!v->why) {
		s->sum += v->v;
		s->any = true;
	} else if (v->why != VALUE_NOT_COUNTED) {
		return false;
	} else if (!s->first_bad.why) {
		s->first_bad = *v;
	}
	return true;
}

static struct value lps_sum_value(const struct lps_sum *s)
{
	return s->any ? checked(s->sum) : s->first_bad;
}

static struct value sum_of_counts(const double *count, size_t n_lps, uint32_t event)
{
	double sum = 0;
	bool any = false;

	for (size_t i = 0; i < n_lps; i++) {
		if (isnan(count[i]))
			continue;
		sum += count[i];
		any = true;
	}
	return any ? checked(sum) : none(VALUE_NOT_COUNTED, event);
}

static struct value fact_of(const double *system, uint32_t index)
{
	double v = system ? system[index] : NAN;

	return isnan(v) ? none(VALUE_NO_SYSTEM, index) : checked(v);
}

static struct value latency_of(double v, uint32_t event)
{
	return isnan(v) ? none(VALUE_NO_LATENCY, event) : checked(v);
}

/* ---- one formula ------------------------------------------------------------------------ */

struct run {
	const struct expr *e;
	const struct expr_env *env;
};

static struct value eval(const struct run *r, uint32_t at, size_t lp);

static struct value eval_leaf(const struct run *r, const struct expr_node *n, size_t lp)
{
	const struct expr_env *env = r->env;
	const struct run own = { n->program, env };

	switch (n->op) {
	case OP_NUMBER:
		return checked(n->value);
	case OP_EVENT:
		if (!env->count)
			return none(VALUE_NOT_COUNTED, n->index);
		return lp == ALL_LPS
			       ? sum_of_counts(env->count + (size_t)n->index * env->n_lps,
					       env->n_lps, n->index)
			       : sum_of_counts(env->count + (size_t)n->index * env->n_lps + lp, 1,
					       n->index);
	case OP_METRIC:
		if (lp != ALL_LPS && n->program)
			return eval(&own, expr_root(n->program), lp);
		return env->metric ? env->metric[n->index] : none(VALUE_ABSENT, n->index);
	case OP_PASSES:
		return env->passes ? env->passes[n->index] : none(VALUE_NO_PASS, n->index);
	case OP_LATENCY:
		return latency_of(env->latency ? env->latency[n->index] : NAN, n->index);
	case OP_SYSTEM:
		return fact_of(env->system, n->index);
	default:
		return none(VALUE_ABSENT, 0);
	}
}

static struct value eval_over_lps(const struct run *r, uint32_t at)
{
	struct lps_sum s = { .first_bad = expr_value(0) };

	for (size_t lp = 0; lp < r->env->n_lps; lp++) {
		struct value v = eval(r, at, lp);

		if (!add_lp(&s, &v))
			return v;
	}
	return lps_sum_value(&s);
}

static struct value eval(const struct run *r, uint32_t at, size_t lp)
{
	const struct expr_node *n = &r->e->node[at];
	unsigned kids = expr_op_facts[n->op].kids;
	struct value a, b = expr_value(0);

	if (!kids)
		return eval_leaf(r, n, lp);
	if (n->op == OP_IF) {
		a = eval(r, n->kid[1], ALL_LPS);
		return a.why ? a : eval(r, n->kid[a.v != 0 ? 0 : 2], lp);
	}
	if ((n->op == OP_MIN || n->op == OP_MAX) && lp == ALL_LPS && n->extensive &&
	    r->env->n_lps > 1)
		return eval_over_lps(r, at);
	if (n->op == OP_AND || n->op == OP_OR)
		lp = ALL_LPS;
	a = eval(r, n->kid[0], lp);
	if (kids > 1)
		b = eval(r, n->kid[1], lp);
	return apply_op(n->op, &a, &b);
}

struct value expr_eval(const struct expr *e, const struct expr_env *env)
{
	struct run r = { e, env };

	return eval(&r, expr_root(e), ALL_LPS);
}

/* ---- steps ------------------------------------------------------------------------------ */

static struct value sum_slots(const struct value *v, size_t n)
{
	struct lps_sum s = { .first_bad = expr_value(0) };

	for (size_t i = 0; i < n; i++)
		if (!add_lp(&s, &v[i]))
			return v[i];
	return lps_sum_value(&s);
}

static inline __attribute__((always_inline)) struct value
result(const struct value *slot, size_t n_lps, const struct expr_step *p)
{
	const struct value *a = &slot[p->kid[0]], *b = &slot[p->kid[1]];

	switch (p->op) {
	case OP_IF:
		return b->why ? *b : b->v != 0 ? *a : slot[p->kid[2]];
	case STEP_COPY:
		return *a;
	case STEP_SUM:
		return sum_slots(a, n_lps);
	default:
		return apply_op(p->op, a, b);
	}
}

static void run_steps(struct expr_steps *s, const struct expr_step *p, const struct expr_step *end)
{
	struct value *slot = s->slot.v;

	for (; p < end; p++)
		slot[p->out] = result(slot, s->n_lps, p);
}

void expr_steps_run(struct expr_steps *s, struct expr_range range)
{
	assert(range.to <= s->steps.n);
	if (range.from < range.to)
		run_steps(s, s->steps.v + range.from, s->steps.v + range.to);
}

void expr_steps_again(struct expr_steps *s, const struct expr_reach *r)
{
	run_steps(s, r->step, r->step + r->n);
}

void expr_steps_keep(const struct expr_steps *s, const struct expr_reach *r, struct value *room)
{
	for (size_t i = 0; i < r->n; i++)
		room[i] = s->slot.v[r->step[i].out];
}

void expr_steps_bring(struct expr_steps *s, const struct expr_reach *r, const struct value *room)
{
	for (size_t i = 0; i < r->n; i++)
		s->slot.v[r->step[i].out] = room[i];
}

/* ---- leaves ----------------------------------------------------------------------------- */

void expr_steps_event(struct expr_steps *s, uint32_t event, const double *count)
{
	uint32_t sum_slot = s->sum_slot[event], lps_slot = s->lps_slot[event];

	for (size_t i = 0; lps_slot && i < s->n_lps; i++)
		s->slot.v[lps_slot + i] = sum_of_counts(&count[i], 1, event);
	if (sum_slot)
		s->slot.v[sum_slot] = sum_of_counts(count, s->n_lps, event);
}

void expr_steps_latency(struct expr_steps *s, uint32_t event, double latency)
{
	if (s->latency_slot[event])
		s->slot.v[s->latency_slot[event]] = latency_of(latency, event);
}

void expr_steps_take(struct expr_steps *s, const double *count, const double *latency,
		     const double *system)
{
	for (size_t i = 0; i < s->event.n; i++)
		expr_steps_event(s, s->event.v[i], count + (size_t)s->event.v[i] * s->n_lps);
	for (size_t i = 0; i < s->latency.n; i++)
		expr_steps_latency(s, s->latency.v[i], latency ? latency[s->latency.v[i]] : NAN);
	for (uint32_t i = 0; i < SYSTEM_COUNT; i++)
		if (s->fact_slot[i])
			s->slot.v[s->fact_slot[i]] = fact_of(system, i);
}

/* ---- making steps ----------------------------------------------------------------------- */

/* The first of `n` new ones; 0 is a metric's, and stands for the failure. */
static uint32_t new_slots(struct expr_steps *s, size_t n)
{
	size_t first = s->slot.n;

	if (first + n > UINT32_MAX || vec_reserve(&s->slot, first + n) ||
	    vec_reserve(&s->constant, first + n)) {
		s->failed = true;
		return 0;
	}
	for (size_t i = first; i < first + n; i++) {
		s->slot.v[i] = none(VALUE_ABSENT, 0);
		s->constant.v[i] = false;
	}
	s->slot.n = s->constant.n = first + n;
	return (uint32_t)first;
}

static uint32_t constant(struct expr_steps *s, struct value v)
{
	uint32_t slot = new_slots(s, 1);

	if (!s->failed) {
		s->slot.v[slot] = v;
		s->constant.v[slot] = true;
	}
	return slot;
}

static uint32_t put(struct expr_steps *s, uint32_t op, uint32_t a, uint32_t b, uint32_t c,
		    uint32_t out)
{
	struct expr_step p = { op, out == ANY && !s->failed ? new_slots(s, 1) : out, { a, b, c } };

	if (s->failed || vec_push(&s->steps, p)) {
		s->failed = true;
		return 0;
	}
	return p.out;
}

static uint32_t event_leaf(struct expr_steps *s, uint32_t event, size_t lp)
{
	uint32_t *slot = lp == ALL_LPS ? &s->sum_slot[event] : &s->lps_slot[event];

	if (!s->sum_slot[event] && !s->lps_slot[event] && vec_push(&s->event, event))
		s->failed = true;
	if (!*slot && !s->failed)
		*slot = new_slots(s, lp == ALL_LPS ? 1 : s->n_lps);
	return *slot + (lp == ALL_LPS ? 0 : (uint32_t)lp);
}

static uint32_t latency_leaf(struct expr_steps *s, uint32_t event)
{
	if (s->latency_slot[event])
		return s->latency_slot[event];
	if (vec_push(&s->latency, event))
		s->failed = true;
	else
		s->latency_slot[event] = new_slots(s, 1);
	return s->latency_slot[event];
}

static uint32_t fact_leaf(struct expr_steps *s, uint32_t index)
{
	if (!s->varies[index])
		return constant(s, fact_of(s->system, index));
	if (!s->fact_slot[index])
		s->fact_slot[index] = new_slots(s, 1);
	return s->fact_slot[index];
}

static uint32_t lower_node(struct expr_steps *s, const struct expr *e, uint32_t at, size_t lp,
			   uint32_t out);

/* A metric that is a count, on one logical processor. Callers ask for all processors, ascending. */
static uint32_t metric_lp(struct expr_steps *s, const struct expr_node *n, size_t lp)
{
	uint32_t slot = s->lps_of[n->index];

	if (!slot)
		slot = s->lps_of[n->index] = new_slots(s, s->n_lps);
	if (s->failed || s->lps_done[n->index] > lp)
		return slot + (uint32_t)lp;
	(void)lower_node(s, n->program, expr_root(n->program), lp, slot + (uint32_t)lp);
	s->lps_done[n->index] = (uint32_t)lp + 1;
	return slot + (uint32_t)lp;
}

static uint32_t leaf_slot(struct expr_steps *s, const struct expr_node *n, size_t lp)
{
	switch (n->op) {
	case OP_NUMBER:
		return constant(s, checked(n->value));
	case OP_EVENT:
		return event_leaf(s, n->index, lp);
	case OP_METRIC:
		return lp != ALL_LPS && n->program ? metric_lp(s, n, lp) : n->index;
	case OP_PASSES:
		return (uint32_t)s->n_metrics + n->index;
	case OP_LATENCY:
		return latency_leaf(s, n->index);
	case OP_SYSTEM:
		return fact_leaf(s, n->index);
	default:
		return constant(s, none(VALUE_ABSENT, 0));
	}
}

static bool is_constant(const struct expr_steps *s, uint32_t slot)
{
	return !s->failed && s->constant.v[slot];
}

static uint32_t lower_if(struct expr_steps *s, const struct expr *e, const struct expr_node *n,
			 size_t lp)
{
	uint32_t what, when = lower_node(s, e, n->kid[1], ALL_LPS, ANY), other;

	if (is_constant(s, when)) {
		struct value v = s->slot.v[when];

		return v.why ? when : lower_node(s, e, n->kid[v.v != 0 ? 0 : 2], lp, ANY);
	}
	what = lower_node(s, e, n->kid[0], lp, ANY);
	other = lower_node(s, e, n->kid[2], lp, ANY);
	return put(s, OP_IF, what, when, other, ANY);
}

/* Is it decided by this one alone? */
static bool decides(const struct expr_steps *s, const struct expr_node *n, uint32_t slot)
{
	return is_constant(s, slot) && !s->slot.v[slot].why &&
	       (s->slot.v[slot].v != 0) == (n->op == OP_OR);
}

static uint32_t lower_logic(struct expr_steps *s, const struct expr *e, const struct expr_node *n)
{
	uint32_t b, a = lower_node(s, e, n->kid[0], ALL_LPS, ANY);

	if (decides(s, n, a))
		return constant(s, expr_value(n->op == OP_OR));
	b = lower_node(s, e, n->kid[1], ALL_LPS, ANY);
	if (decides(s, n, b))
		return constant(s, expr_value(n->op == OP_OR));
	return put(s, n->op, a, b, 0, ANY);
}

/* Once per logical processor, then their sum. */
static uint32_t over_lps(struct expr_steps *s, const struct expr *e, uint32_t at)
{
	uint32_t first = new_slots(s, s->n_lps);

	for (size_t lp = 0; lp < s->n_lps && !s->failed; lp++)
		(void)lower_node(s, e, at, lp, first + (uint32_t)lp);
	return put(s, STEP_SUM, first, 0, 0, ANY);
}

static uint32_t lower_plain(struct expr_steps *s, const struct expr *e, const struct expr_node *n,
			    size_t lp, uint32_t out)
{
	bool two = expr_op_facts[n->op].kids == 2;
	uint32_t a = lower_node(s, e, n->kid[0], lp, ANY);
	uint32_t b = two ? lower_node(s, e, n->kid[1], lp, ANY) : 0;
	struct expr_step p = { n->op, 0, { a, b, 0 } };

	if (is_constant(s, a) && (!two || is_constant(s, b)))
		return constant(s, result(s->slot.v, s->n_lps, &p));
	return put(s, n->op, a, b, 0, out);
}

/* The slot of a node's value: `out`, or wherever it is. */
static uint32_t lower_node(struct expr_steps *s, const struct expr *e, uint32_t at, size_t lp,
			   uint32_t out)
{
	const struct expr_node *n = &e->node[at];
	uint32_t slot;

	if (s->failed)
		return 0;
	switch (n->op) {
	case OP_NUMBER:
	case OP_EVENT:
	case OP_METRIC:
	case OP_PASSES:
	case OP_LATENCY:
	case OP_SYSTEM:
	case OP_ABSENT:
		slot = leaf_slot(s, n, lp);
		break;
	case OP_IF:
		slot = lower_if(s, e, n, lp);
		break;
	case OP_AND:
	case OP_OR:
		slot = lower_logic(s, e, n);
		break;
	case OP_MIN:
	case OP_MAX:
		if (lp == ALL_LPS && n->extensive && s->n_lps > 1)
			slot = over_lps(s, e, at);
		else
			slot = lower_plain(s, e, n, lp, out);
		break;
	default:
		slot = lower_plain(s, e, n, lp, out);
		break;
	}
	return out == ANY || slot == out ? slot : put(s, STEP_COPY, slot, 0, 0, out);
}

int expr_steps_add(struct expr_steps *s, const struct expr *e, uint32_t out,
		   struct expr_range *range, struct err *err)
{
	(void)lower_node(s, e, expr_root(e), ALL_LPS, out);
	if (s->failed)
		return err_nomem(err);
	range->to = (uint32_t)s->steps.n;
	return 0;
}

static uint32_t *numbers(struct expr_steps *s, size_t n)
{
	uint32_t *v = arena_alloc(s->a, (n + 1) * sizeof(*v));

	s->failed |= !v;
	return v;
}

int expr_steps_new(struct expr_steps *s, struct arena *a, const struct expr_steps_setup *setup,
		   struct err *err)
{
	memset(s, 0, sizeof(*s));
	s->a = a;
	s->n_metrics = setup->n_metrics;
	s->n_lps = setup->n_lps;
	memcpy(s->system, setup->system, sizeof(s->system));
	memcpy(s->varies, setup->varies, sizeof(s->varies));
	s->sum_slot = numbers(s, setup->n_events);
	s->lps_slot = numbers(s, setup->n_events);
	s->latency_slot = numbers(s, setup->n_events);
	s->lps_of = numbers(s, setup->n_metrics);
	s->lps_done = numbers(s, setup->n_metrics);
	/* one at least, so that no other is slot 0 */
	(void)new_slots(s, 2 * setup->n_metrics + 1);
	return s->failed ? err_nomem(err) : 0;
}

void expr_steps_free(struct expr_steps *s)
{
	vec_free(&s->steps);
	vec_free(&s->slot);
	vec_free(&s->constant);
	vec_free(&s->event);
	vec_free(&s->latency);
}

/* ---- changes ---------------------------------------------------------------------------- */

static bool changes(const struct expr_step *p, const bool *changed)
{
	bool is = changed[p->kid[0]];

	/* of a sum all or none: steps are the same for each logical processor */
	if (p->op < OP_COUNT && expr_op_facts[p->op].kids > 1)
		is |= changed[p->kid[1]];
	if (p->op == OP_IF)
		is |= changed[p->kid[2]];
	return is;
}

bool expr_steps_asks(const struct expr_steps *s, struct expr_range range)
{
	for (uint32_t i = range.from; i < range.to; i++)
		for (unsigned k = 0; k < 3; k++)
			if (s->steps.v[i].kid[k] >= s->n_metrics &&
			    s->steps.v[i].kid[k] < 2 * s->n_metrics)
				return true;
	return false;
}

static void mark_leaf(const struct expr_steps *s, enum expr_ref_kind kind, uint32_t index,
		      bool *changed)
{
	if (kind == EXPR_LATENCY) {
		changed[s->latency_slot[index]] = s->latency_slot[index];
		return;
	}
	changed[s->sum_slot[index]] = s->sum_slot[index];
	for (size_t i = 0; s->lps_slot[index] && i < s->n_lps; i++)
		changed[s->lps_slot[index] + i] = true;
}

int expr_steps_reach(struct expr_steps *s, struct expr_range range, enum expr_ref_kind kind,
		     uint32_t index, struct expr_reach *out)
{
	bool *changed = calloc(s->slot.n, sizeof(*changed));
	struct expr_step *step = malloc((range.to - range.from + 1) * sizeof(*step));
	size_t n = 0, n_metrics = 0;

	*out = (struct expr_reach){ 0 };
	if (!changed || !step)
		goto out;
	mark_leaf(s, kind, index, changed);
	for (uint32_t i = range.from; i < range.to; i++) {
		const struct expr_step *p = &s->steps.v[i];

		if (!changes(p, changed))
			continue;
		changed[p->out] = true;
		step[n++] = *p;
		n_metrics += p->out < s->n_metrics;
	}
	out->step = arena_memdup(s->a, step, n * sizeof(*step));
	out->metric = numbers(s, n_metrics);
	if (!out->step || !out->metric)
		goto out;
	out->n = n;
	for (size_t i = 0; i < n; i++)
		if (step[i].out < s->n_metrics)
			out->metric[out->n_metrics++] = step[i].out;
out:
	free(changed);
	free(step);
	return out->step && out->metric ? 0 : -1;
}
