/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/account.h"

#include <math.h>
#include <string.h>

#include "analyse/account/account_int.h"
#include "base/estimate.h"
#include "base/invariant.h"
#include "base/xalloc.h"

#define OF_NODE	 1000u /* `which` of a value that is missing because that node's is */
#define NO_COUNT 3.0   /* samples that none may stand for, at 95 % */

static const char *const why_texts[] = {
	[ACCOUNT_OK] = "",
	[ACCOUNT_NOT_RECORDED] = "its event was not recorded",
	[ACCOUNT_NOT_COVERED] = "this CPU cannot measure it",
	[ACCOUNT_PARTS] = "some of what adds to it was not recorded: a lower bound",
	[ACCOUNT_NO_CLOCK] =
		"it costs reference cycles, and no event that counts them was recorded",
	[ACCOUNT_NO_TIME] = "it costs nanoseconds, and nothing tells the clock's frequency",
	[ACCOUNT_DIVIDED_BY_0] = "its formula divides by 0",
	[ACCOUNT_NO_RUNNING] = "its event never had a counter",
	[ACCOUNT_DEAD] = ("its event has no sample, though any program has it: its counter may not "
			  "work here"),
	[ACCOUNT_ONE_THREAD] = "cores ran one thread (no SMT)",
	[ACCOUNT_UNKNOWN] = "its formula asks for what a recording does not tell",
};

const char *account_why_text(enum account_why why)
{
	return (size_t)why < sizeof(why_texts) / sizeof(why_texts[0]) ? why_texts[why] : "";
}

struct eval {
	const struct account_bound *b;
	const struct account *acc;
	struct account_work *w;
	struct account_cell *cell;
	bool row; /* not the whole recording */
};

static double *gradient_of(const struct account_work *w, uint32_t node)
{
	return w->gradient + (size_t)node * w->n_sources;
}

static double variance_of(const struct account_work *w, const double *g)
{
	double sum = 0;

	for (size_t i = 0; i < w->n_sources; i++)
		if (w->variance[i] > 0)
			sum += g[i] * g[i] * w->variance[i];
	return sum;
}

/* ---- values ---- */

static void no_estimate(struct account_cell *c, enum account_why why, uint32_t which)
{
	c->v = c->half = NAN;
	c->why = why;
	c->which = which;
}

static enum account_why why_no_event(const struct account_use *u)
{
	return u->never		 ? ACCOUNT_NO_RUNNING
	       : u->dead	 ? ACCOUNT_DEAD
	       : u->recorded < 0 ? ACCOUNT_NOT_RECORDED
				 : ACCOUNT_OK;
}

/* Returns true if the event's occurrences are known; else sets the cell's reason. */
static bool account_has_event(const struct eval *x, uint32_t use, struct account_cell *c)
{
	const struct account_use *u = &x->w->use[use];

	if (!why_no_event(u))
		return true;
	no_estimate(c, why_no_event(u), u->event);
	return false;
}

/* How a cost in reference cycles hangs on the clocks: of all of the recording on both events, whose
 * ratio it is; of a row on that ratio, whose error is that of the whole recording. */
static void add_clocks(const struct eval *x, double *g, double v)
{
	const struct account_work *w = x->w;
	uint32_t core = w->use_of[0], ref = w->use_reference;

	if (isnan(x->b->clock_ratio))
		return;
	if (x->row) {
		g[w->n_use] += v / x->b->clock_ratio;
	} else if (w->tally[core].period && w->tally[ref].period) {
		g[core] += v / (double)w->tally[core].period;
		g[ref] -= v / (double)w->tally[ref].period;
	}
}

static void eval_event(struct eval *x, uint32_t node, struct account_cell *c)
{
	const struct account_node *t = &x->acc->node[node];
	uint32_t use = x->w->use_of[node];
	double *g = gradient_of(x->w, node);
	double cost = t->cycles || t->penalty > 0 ? t->penalty : 1;

	if (!account_has_event(x, use, c))
		return;
	if (t->reference)
		cost *= x->b->clock_ratio;
	if (t->ns)
		cost *= x->b->ghz;
	if (isnan(cost)) {
		no_estimate(c, t->ns ? ACCOUNT_NO_TIME : ACCOUNT_NO_CLOCK, x->acc->reference);
		return;
	}
	c->v = (double)x->w->tally[use].period * cost;
	c->samples = x->w->tally[use].samples;
	g[use] = cost;
	if (t->reference || t->ns)
		add_clocks(x, g, c->v);
	/* an event without a sample may still have happened */
	c->half = c->samples ? Z95 * sqrt(variance_of(x->w, g))
			     : NO_COUNT * x->w->use[use].weight * cost;
}

/* A sum misses parts that were not recorded; parts that the CPU cannot count are in its `cover`. */
static void eval_sum(struct eval *x, uint32_t node, struct account_cell *c)
{
	double *g = gradient_of(x->w, node);
	const struct account_cell *lacks = NULL, *part = NULL;
	size_t known = 0;

	c->v = 0;
	for (uint32_t k = x->w->child[node]; k != MODEL_NONE; k = x->w->sibling[k]) {
		const struct account_cell *o = &x->cell[k];
		const double *more = gradient_of(x->w, k);

		if (o->why == ACCOUNT_PARTS && !part)
			part = o;
		if (isnan(o->v)) {
			if (!lacks || (lacks->why == ACCOUNT_NOT_COVERED && o->why != lacks->why))
				lacks = o;
			continue;
		}
		known++;
		c->v += o->v;
		c->samples += o->samples;
		x->w->vague[node] |= x->w->vague[k];
		for (size_t i = 0; i < x->w->n_sources; i++)
			g[i] += more[i];
	}
	if (!known) {
		no_estimate(c, lacks ? lacks->why : ACCOUNT_NOT_COVERED,
			    lacks ? lacks->which : MODEL_NONE);
		return;
	}
	if (lacks && lacks->why != ACCOUNT_NOT_COVERED)
		part = lacks;
	if (part) {
		c->why = ACCOUNT_PARTS;
		c->which = part->which;
	}
}

static struct value run_formula(const struct eval *x, const struct expr *e)
{
	const struct expr_env env = {
		.count = x->w->count, .n_lps = 1, .metric = x->w->value, .system = x->w->system
	};

	return expr_eval(e, &env);
}

/* How a formula changes with its input, by one standard error each way. */
static bool slope_of_event(const struct eval *x, const struct expr *e, double *input, double sd,
			   double mid, double *out)
{
	double was = *input;
	struct value up, down;

	*input = was + sd;
	up = run_formula(x, e);
	*input = was - sd;
	down = run_formula(x, e);
	*input = was;
	if (up.why && down.why)
		return false;
	*out = up.why	  ? (mid - down.v) / sd
	       : down.why ? (up.v - mid) / sd
			  : (up.v - down.v) / (2 * sd);
	return isfinite(*out);
}

static bool differentiate(struct eval *x, uint32_t node, double mid)
{
	struct account_work *w = x->w;
	const struct expr *e = x->acc->node[node].expr;
	double *g = gradient_of(w, node), s;

	for (uint32_t i = w->need_from[node]; i < w->need_from[node + 1]; i++) {
		const struct account_need *n = &w->need[i];
		const double *from;
		double sd;

		if (n->kind == EXPR_EVENT) {
			sd = sqrt(w->variance[n->index]);
			if (!(sd > 0))
				continue;
			if (!slope_of_event(x, e, &w->count[n->event], sd, mid, &s))
				return false;
			g[n->index] += s;
			continue;
		}
		if (w->vague[n->index])
			return false;
		from = gradient_of(w, n->index);
		sd = sqrt(variance_of(w, from));
		if (!(sd > 0))
			continue;
		if (!slope_of_event(x, e, &w->value[n->index].v, sd, mid, &s))
			return false;
		for (size_t k = 0; k < w->n_sources; k++)
			g[k] += s * from[k];
	}
	return true;
}

static void eval_formula(struct eval *x, uint32_t node, struct account_cell *c)
{
	struct account_work *w = x->w;
	struct value v = run_formula(x, x->acc->node[node].expr);

	if (v.why) {
		switch (v.why) {
		case VALUE_NOT_COUNTED:
			no_estimate(c, ACCOUNT_NOT_RECORDED, v.which);
			for (size_t i = 0; i < x->w->n_use; i++)
				if (x->w->use[i].event == v.which && why_no_event(&x->w->use[i]))
					c->why = why_no_event(&x->w->use[i]);
			break;
		case VALUE_DIVIDED_BY_0:
		case VALUE_NOT_FINITE:
			no_estimate(c, ACCOUNT_DIVIDED_BY_0, MODEL_NONE);
			break;
		case VALUE_ABSENT:
			no_estimate(c, ACCOUNT_NOT_COVERED, MODEL_NONE);
			break;
		case VALUE_NO_SYSTEM:
			if (v.which >= OF_NODE && v.which - OF_NODE < x->acc->n) {
				const struct account_cell *o = &x->cell[v.which - OF_NODE];

				no_estimate(c, o->why, o->which);
				break;
			}
			no_estimate(c, ACCOUNT_UNKNOWN, MODEL_NONE);
			break;
		default:
			no_estimate(c, ACCOUNT_UNKNOWN, MODEL_NONE);
		}
		return;
	}
	c->v = v.v;
	for (uint32_t i = w->need_from[node]; i < w->need_from[node + 1]; i++) {
		const struct account_need *n = &w->need[i];

		if (n->kind == EXPR_EVENT)
			c->samples += w->tally[n->index].samples;
		else if (!x->row || !x->acc->node[n->index].whole)
			c->samples += x->cell[n->index].samples;
		if (n->kind == EXPR_METRIC && x->cell[n->index].why == ACCOUNT_PARTS && !c->why) {
			c->why = ACCOUNT_PARTS;
			c->which = x->cell[n->index].which;
		}
	}
	w->vague[node] = !differentiate(x, node, v.v);
}

static void eval_node(struct eval *x, uint32_t node)
{
	const struct account_node *t = &x->acc->node[node];
	struct account_cell *c = &x->cell[node];
	struct account_work *w = x->w;

	*c = (struct account_cell){ .v = NAN, .half = NAN, .which = MODEL_NONE };
	memset(gradient_of(w, node), 0, w->n_sources * sizeof(double));
	w->vague[node] = false;
	if (t->smt && x->b->one_thread) {
		no_estimate(c, ACCOUNT_ONE_THREAD, MODEL_NONE);
	} else if (x->row && t->whole) {
		*c = x->b->whole[node];
		gradient_of(w, node)[w->source_of[node]] = 1;
		w->vague[node] = isnan(c->half);
	} else if (t->event != MODEL_NONE) {
		eval_event(x, node, c);
	} else if (t->expr) {
		eval_formula(x, node, c);
	} else if (t->cover == COVER_NONE || w->child[node] == MODEL_NONE) {
		no_estimate(c, ACCOUNT_NOT_COVERED, MODEL_NONE);
	} else {
		eval_sum(x, node, c);
	}
	w->value[node] = isnan(c->v) ? (struct value){ NAN, VALUE_NO_SYSTEM, OF_NODE + node }
				     : (struct value){ c->v, VALUE_OK, 0 };
	if (isnan(c->v) || t->event != MODEL_NONE || (x->row && t->whole))
		return;
	c->half = w->vague[node] ? NAN : Z95 * sqrt(variance_of(w, gradient_of(w, node)));
	/* a sum of nothing met is as sure as the least sure of its parts */
	for (uint32_t k = t->expr || c->samples ? MODEL_NONE : w->child[node]; k != MODEL_NONE;
	     k = w->sibling[k])
		if (x->cell[k].half > c->half)
			c->half = x->cell[k].half;
}

/* ---- significance ---- */

/* Returns half of the 95 % interval of the difference of two nodes; NAN: not known. */
static double half_between(const struct eval *x, uint32_t a, uint32_t b)
{
	const struct account_work *w = x->w;
	const double *g = gradient_of(w, a), *h = gradient_of(w, b);
	const uint32_t both[] = { a, b };
	double sum = 0;

	if (w->vague[a] || w->vague[b])
		return NAN;
	for (size_t i = 0; i < w->n_sources; i++)
		if (w->variance[i] > 0)
			sum += (g[i] - h[i]) * (g[i] - h[i]) * w->variance[i];
	for (size_t i = 0; i < 2; i++) { /* an event without a sample has no variance */
		const struct account_cell *c = &x->cell[both[i]];

		if (!c->samples && c->half > 0)
			sum += c->half / Z95 * (c->half / Z95);
	}
	return Z95 * sqrt(sum);
}

static uint32_t account_bound_of(const struct account *acc, uint32_t node)
{
	const struct account_node *t = &acc->node[node];

	if (t->within != MODEL_NONE)
		return t->within;
	return node && t->cycles && t->part != PART_INFO && t->part != PART_HALTED ? 0 : MODEL_NONE;
}

/* Returns the first event by which its value changes that is known to count wrong. */
static uint32_t why_failed(const struct eval *x, uint32_t node)
{
	const struct account_work *w = x->w;

	if (x->row && x->acc->node[node].whole)
		return x->b->whole[node].failed;
	for (size_t i = 0; x->b->wrong && i < w->n_use; i++)
		if (x->b->wrong[w->use[i].event] && gradient_of(w, node)[i] != 0)
			return w->use[i].event;
	return MODEL_NONE;
}

static void judge_node(struct eval *x, uint32_t node)
{
	const struct account_node *t = &x->acc->node[node];
	struct account_cell *c = &x->cell[node];
	uint32_t bound = account_bound_of(x->acc, node);

	c->failed = MODEL_NONE;
	if (isnan(c->v))
		return;
	c->failed = why_failed(x, node);
	c->significant = c->samples >= ACCOUNT_FEW && !isnan(c->half) && fabs(c->v) > c->half;
	if (x->row && t->whole)
		return;
	if (bound != MODEL_NONE && !isnan(x->cell[bound].v))
		c->overlap =
			c->significant && c->v - x->cell[bound].v > half_between(x, node, bound);
	if (t->same != MODEL_NONE && !isnan(x->cell[t->same].v)) {
		double o = x->cell[t->same].v;
		double most = fabs(o) > fabs(c->v) ? fabs(o) : fabs(c->v);

		c->disagrees =
			fabs(c->v - o) > half_between(x, node, t->same) + t->tolerance * most;
	}
}

/* ---- */

static double square(double v)
{
	return v * v;
}

static void evaluate_all(struct eval *x, const struct tally *by_event)
{
	for (size_t i = 0; i < x->w->n_use; i++) {
		const struct account_use *u = &x->w->use[i];
		bool there = !why_no_event(u);

		x->w->tally[i] = there ? by_event[u->recorded] : (struct tally){ 0 };
		x->w->variance[i] = x->w->tally[i].period_sq +
				    square(u->made_up / Z95 * (double)x->w->tally[i].period);
		assert(x->w->variance[i] >= 0);
		x->w->count[u->event] = there ? (double)x->w->tally[i].period : NAN;
	}
	for (size_t i = 0; i < x->acc->n; i++)
		eval_node(x, x->acc->order[i]);
	for (size_t i = 0; i < x->acc->n; i++)
		judge_node(x, (uint32_t)i);
}

/* Values that rows take from the whole recording keep the errors that they have there. */
static void keep_errors(struct account_bound *b, const struct tally *by_event)
{
	const struct account *acc = b->acc;
	struct account_work *w = b->work;
	int32_t core = b->event[acc->node[0].event];
	int32_t ref = acc->reference == MODEL_NONE ? -1 : b->event[acc->reference];

	if (core >= 0 && ref >= 0 && !isnan(b->clock_ratio)) {
		double n = (double)by_event[core].period, m = (double)by_event[ref].period;

		w->variance[w->n_use] =
			b->clock_ratio * b->clock_ratio *
			(by_event[core].period_sq / (n * n) + by_event[ref].period_sq / (m * m));
	}
	for (size_t i = 0; i < acc->n; i++)
		if (acc->node[i].whole && b->whole[i].half > 0)
			w->variance[w->source_of[i]] =
				b->whole[i].half / Z95 * (b->whole[i].half / Z95);
}

/* Returns core cycles in a cycle of the reference clock. */
static double clock_ratio(const struct account_bound *b, const struct tally *by_event)
{
	const struct account *acc = b->acc;
	int32_t core = b->event[acc->node[0].event];
	int32_t ref = acc->reference == MODEL_NONE ? -1 : b->event[acc->reference];

	if (core < 0 || ref < 0 || !by_event[ref].period || !by_event[core].period)
		return NAN;
	return (double)by_event[core].period / (double)by_event[ref].period;
}

static double ghz_of(struct account_bound *b, const struct account_time *t)
{
	double hz = b->acc->reference_hz > 0 ? b->acc->reference_hz : t ? t->reference : 0;

	if (hz > 0 && !isnan(b->clock_ratio))
		return hz / 1e9 * b->clock_ratio;
	if (t && t->ghz > 0)
		return t->ghz;
	b->nominal = t && t->nominal > 0;
	return b->nominal ? t->nominal / 1e9 : NAN;
}

/* Returns the cycles of the reference clock in all CPUs' time. */
static double reference_cycles(const struct account *acc, const struct account_time *t)
{
	double hz = acc->reference_hz > 0 ? acc->reference_hz : t ? t->reference : 0;

	return t && hz > 0 && t->seconds > 0 && t->cpus ? hz * t->seconds * t->cpus : NAN;
}

/* Returns the share of that time in which the clocks stood still. */
static double halted(const struct account_bound *b, const struct tally *by_event, double all)
{
	const struct account *acc = b->acc;
	int32_t ref = acc->reference == MODEL_NONE ? -1 : b->event[acc->reference];
	double share = ref < 0 || b->dead[ref] ? NAN : 1 - (double)by_event[ref].period / all;

	return share < 0 ? 0 : share;
}

/* ---- events that do not work ---- */

/* So many samples were due of an event that has none: it is dead. */
static bool suspect_event(struct account_bound *b, uint32_t use, double rate, double turns)
{
	struct account_use *u = &b->work->use[use];
	double due = b->whole[0].v * rate / (u->weight * (turns > 1 ? turns : 1));

	if (u->recorded < 0 || u->never || !u->empty || !(due >= ACCOUNT_SURE))
		return false;
	u->dead = b->dead[u->recorded] = true;
	return true;
}

/* Marks the dead events of nodes that any program has: the node's event, or all those of a formula
 * that is 0. */
static bool find_dead(struct account_bound *b, const struct account_time *time)
{
	const struct account_work *w = b->work;
	double turns = time ? time->turns : 0;
	bool found = false;

	for (size_t i = 0; i < b->acc->n; i++) {
		const struct account_node *t = &b->acc->node[i];

		if (!(t->always > 0))
			continue;
		if (t->event != MODEL_NONE)
			found |= suspect_event(b, w->use_of[i], t->always, turns);
		for (uint32_t k = w->need_from[i]; b->whole[i].v == 0 && k < w->need_from[i + 1];
		     k++)
			if (w->need[k].kind == EXPR_EVENT)
				found |= suspect_event(b, w->need[k].index, t->always, turns);
	}
	return found;
}

void account_whole(struct account_bound *b, struct arena *a, const struct tally *by_event,
		   const struct account_time *time)
{
	struct eval x = { .b = b, .acc = b->acc, .w = b->work };

	b->whole = arena_xalloc(a, (b->acc->n + 1) * sizeof(*b->whole));
	for (size_t i = 0; i < b->work->n_use; i++) {
		struct account_use *u = &b->work->use[i];
		const struct tally *t = u->recorded < 0 ? NULL : &by_event[u->recorded];

		u->never = t && time && time->never && time->never[u->recorded];
		u->made_up = t && time && time->made_up ? time->made_up[u->recorded] : 0;
		if (t && t->samples)
			u->weight = (double)t->period / (double)t->samples;
	}
	b->clock_ratio = clock_ratio(b, by_event);
	b->ghz = ghz_of(b, time);
	b->one_thread = time && time->one_thread;
	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		b->work->system[i] = NAN;
	b->work->system[SYSTEM_TSC] = reference_cycles(b->acc, time);
	assert(!(b->clock_ratio < 0));
	x.cell = b->whole;
	for (size_t i = b->work->n_use; i < b->work->n_sources; i++)
		b->work->variance[i] = 0;
	evaluate_all(&x, by_event);
	if (find_dead(b, time))
		evaluate_all(&x, by_event);
	b->halted = halted(b, by_event, b->work->system[SYSTEM_TSC]);
	assert(is_share_or_unknown(b->halted));
	keep_errors(b, by_event);
}

void account_row(const struct account_bound *b, const struct tally *by_event,
		 struct account_cell *cells)
{
	struct eval x = { b, b->acc, b->work, cells, true };

	evaluate_all(&x, by_event);
}
