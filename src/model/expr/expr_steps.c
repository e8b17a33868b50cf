/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/expr_steps.h"

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

static struct value none(enum value_why why, uint32_t which)
{
	return (struct value){ NAN, why, which };
}

static struct value checked(double v)
{
	return isfinite(v) ? expr_value(v) : none(VALUE_NOT_FINITE, 0);
}

/* ---- working out ------------------------------------------------------------------------ */

static struct value truth(struct value v)
{
	return v.why ? v : expr_value(v.v != 0);
}

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

/* What is not counted on one of them is left out; any other trouble is that of the sum. */
static struct value sum_lps(const struct value *v, size_t n)
{
	struct value first_bad = expr_value(0);
	double sum = 0;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!v[i].why) {
			sum += v[i].v;
			any = true;
		} else if (v[i].why != VALUE_NOT_COUNTED) {
			return v[i];
		} else if (!first_bad.why) {
			first_bad = v[i];
		}
	}
	return any ? checked(sum) : first_bad;
}

/* Both are known. */
static inline bool known(const struct value *a, const struct value *b)
{
	return !(a->why | b->why);
}

/* In line, as a value that is given back by a call goes through memory. */
static inline __attribute__((always_inline)) struct value
result(const struct value *slot, size_t n_lps, const struct expr_step *p)
{
	const struct value *a = &slot[p->kid[0]], *b = &slot[p->kid[1]];

	switch (p->op) {
	case OP_ADD:
		return known(a, b) ? checked(a->v + b->v) : a->why ? *a : *b;
	case OP_SUB:
		return known(a, b) ? checked(a->v - b->v) : a->why ? *a : *b;
	case OP_MUL:
		return known(a, b) ? checked(a->v * b->v) : a->why ? *a : *b;
	case OP_DIV:
		if (known(a, b) && b->v != 0)
			return checked(a->v / b->v);
		break;
	case OP_IF:
		if (b->why)
			return *b;
		return b->v != 0 ? *a : slot[p->kid[2]];
	case OP_AND:
	case OP_OR:
		return logic(p->op == OP_OR, *a, *b);
	case OP_NEG:
		return a->why ? *a : expr_value(-a->v);
	case STEP_COPY:
		return *a;
	case STEP_SUM:
		return sum_lps(a, n_lps);
	default:
		break;
	}
	return expr_apply((enum expr_op)p->op, *a, *b);
}

static void run(struct expr_steps *s, const struct expr_step *p, const struct expr_step *end)
{
	struct value *slot = s->slot.v;

	for (; p < end; p++)
		slot[p->out] = result(slot, s->n_lps, p);
}

void expr_steps_run(struct expr_steps *s, struct expr_range range)
{
	assert(range.to <= s->steps.n);
	if (range.from < range.to)
		run(s, s->steps.v + range.from, s->steps.v + range.to);
}

void expr_steps_again(struct expr_steps *s, const struct expr_reach *r)
{
	run(s, r->step, r->step + r->n);
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
	double sum = 0;
	bool any = false;

	for (size_t i = 0; i < s->n_lps; i++) {
		bool told = !isnan(count[i]);

		if (lps_slot)
			s->slot.v[lps_slot + i] =
				told ? checked(count[i]) : none(VALUE_NOT_COUNTED, event);
		if (!told)
			continue;
		sum += count[i];
		any = true;
	}
	if (sum_slot)
		s->slot.v[sum_slot] = any ? checked(sum) : none(VALUE_NOT_COUNTED, event);
}

void expr_steps_latency(struct expr_steps *s, uint32_t event, double latency)
{
	if (s->latency_slot[event])
		s->slot.v[s->latency_slot[event]] =
			isnan(latency) ? none(VALUE_NO_LATENCY, event) : checked(latency);
}

static struct value fact(const double *system, uint32_t index)
{
	double v = system ? system[index] : NAN;

	return isnan(v) ? none(VALUE_NO_SYSTEM, index) : checked(v);
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
			s->slot.v[s->fact_slot[i]] = fact(system, i);
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
		return constant(s, fact(s->system, index));
	if (!s->fact_slot[index])
		s->fact_slot[index] = new_slots(s, 1);
	return s->fact_slot[index];
}

static uint32_t lower(struct expr_steps *s, const struct expr *e, uint32_t at, size_t lp,
		      uint32_t out);

/* A metric that is a count, on one logical processor. Whoever asks for one asks for all of them,
 * ascending. */
static uint32_t metric_lp(struct expr_steps *s, const struct expr_node *n, size_t lp)
{
	uint32_t slot = s->lps_of[n->index];

	if (!slot)
		slot = s->lps_of[n->index] = new_slots(s, s->n_lps);
	if (s->failed || s->lps_done[n->index] > lp)
		return slot + (uint32_t)lp;
	(void)lower(s, n->program, expr_root(n->program), lp, slot + (uint32_t)lp);
	s->lps_done[n->index] = (uint32_t)lp + 1;
	return slot + (uint32_t)lp;
}

static uint32_t leaf(struct expr_steps *s, const struct expr_node *n, size_t lp)
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
	uint32_t what, when = lower(s, e, n->kid[1], ALL_LPS, ANY), other;

	if (is_constant(s, when)) {
		struct value v = s->slot.v[when];

		return v.why ? when : lower(s, e, n->kid[v.v != 0 ? 0 : 2], lp, ANY);
	}
	what = lower(s, e, n->kid[0], lp, ANY);
	other = lower(s, e, n->kid[2], lp, ANY);
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
	uint32_t b, a = lower(s, e, n->kid[0], ALL_LPS, ANY);

	if (decides(s, n, a))
		return constant(s, expr_value(n->op == OP_OR));
	b = lower(s, e, n->kid[1], ALL_LPS, ANY);
	if (decides(s, n, b))
		return constant(s, expr_value(n->op == OP_OR));
	return put(s, n->op, a, b, 0, ANY);
}

/* Once per logical processor, then their sum. */
static uint32_t over_lps(struct expr_steps *s, const struct expr *e, uint32_t at)
{
	uint32_t first = new_slots(s, s->n_lps);

	for (size_t lp = 0; lp < s->n_lps && !s->failed; lp++)
		(void)lower(s, e, at, lp, first + (uint32_t)lp);
	return put(s, STEP_SUM, first, 0, 0, ANY);
}

static uint32_t lower_plain(struct expr_steps *s, const struct expr *e, const struct expr_node *n,
			    size_t lp, uint32_t out)
{
	bool two = expr_op_facts[n->op].kids == 2;
	uint32_t a = lower(s, e, n->kid[0], lp, ANY);
	uint32_t b = two ? lower(s, e, n->kid[1], lp, ANY) : 0;
	struct expr_step p = { n->op, 0, { a, b, 0 } };

	if (is_constant(s, a) && (!two || is_constant(s, b)))
		return constant(s, result(s->slot.v, s->n_lps, &p));
	return put(s, n->op, a, b, 0, out);
}

/* The slot of a node's value: `out`, or wherever it is. */
static uint32_t lower(struct expr_steps *s, const struct expr *e, uint32_t at, size_t lp,
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
		slot = leaf(s, n, lp);
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
	(void)lower(s, e, expr_root(e), ALL_LPS, out);
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

/* ---- what changes ----------------------------------------------------------------------- */

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
