/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readings, turns, and the values of an interval.
 */
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "monitor/monitor_int.h"

#define TICK_LEAST 2000000u /* ns */
#define ROUNDS	   4	    /* turns that each group has in an interval */
#define ROUNDS_BIG 2	    /* if they are of more counters than */
#define BIG	   1000
#define ROUNDS_FEW 16 /* if they are of no more counters than */
#define FEW	   100
#define SHORT	   10000000u /* ns that those turns take at least */
#define WHOLE	   0.9999    /* share of the time from which nothing is extrapolated */

/* ---- readings ---- */

static void take_slot(struct monitor *m, struct slot *s, const struct counter_value *v,
		      double scale)
{
	s->absent = v->absent || v->refused || v->why;
	s->why = v->absent || v->refused ? NULL : v->why;
	if (s->absent)
		return;
	m->gone += v->gone;
	s->gone = v->gone;
	if (v->running > s->running)
		seen_add(&s->seen, (double)(v->value - s->count) * scale,
			 (double)(v->running - s->running));
	s->wanted += (double)(v->enabled - s->enabled);
	s->count = v->value;
	s->enabled = v->enabled;
	s->running = v->running;
}

static int read_group(struct monitor *m, size_t group, struct err *err)
{
	if (counters_read(m->k.c, group, m->value, err))
		return -1;
	for (size_t i = 0; i < m->source.n; i++) {
		struct source *s = &m->source.v[i];

		for (size_t t = 0; s->event != NO_COUNTER && !s->of_cgroups && s->group == group &&
				   t < m->targets;
		     t++)
			take_slot(m, &s->at[t], &m->value[s->index * m->targets + t], s->scale);
	}
	return 0;
}

/* Its turn is over. The kernel reads counters that are off without an interrupt of their CPU, so
 * they are read behind that; registers are as long as they count. */
static int give_way(struct monitor *m, struct rotation *t, struct err *err)
{
	size_t was = t->first + t->now;

	if ((m->msr && t->read != m->k.now && read_group(m, was, err)) ||
	    counting_switch(&m->k, was, false, err) || (!m->msr && read_group(m, was, err)))
		return -1;
	t->read = m->k.now;
	t->due = m->k.now + rotation_length(t);
	t->now = rotation_next(t, m->k.now);
	return counting_switch(&m->k, t->first + t->now, true, err);
}

int monitor_read(struct monitor *m, enum reading why, struct err *err)
{
	for (size_t i = 0; m->k.c && i < m->turns.n; i++) {
		struct rotation *t = &m->turns.v[i];
		uint64_t early = why == READING_TURN ? m->early : t->step / 2;

		if (t->n > 1 && t->read != m->k.now && m->k.now + early >= t->due) {
			if (give_way(m, t, err))
				return -1;
			continue;
		}
		/* at the end of an interval all are read, but only whose time it is change */
		if (why == READING_TURN || t->read == m->k.now)
			continue;
		if (read_group(m, t->first + t->now, err))
			return -1;
		t->read = m->k.now;
	}
	return 0;
}

uint64_t monitor_tick(const struct monitor *m)
{
	uint64_t now = counting_clock(), next = 0;

	for (size_t i = 0; i < m->turns.n; i++) {
		const struct rotation *t = &m->turns.v[i];
		uint64_t wait = t->due > now + TICK_LEAST ? t->due - now : TICK_LEAST;

		if (t->n > 1 && (!next || wait < next))
			next = wait;
	}
	return next;
}

/* Going to many counters costs: there turns are longer. */
static uint64_t turn_step_of(const struct monitor *m, const struct rotation *t)
{
	size_t counters = 0;
	uint64_t step;

	for (size_t g = t->first; g < t->first + t->n; g++)
		for (size_t e = 0; e < m->group.v[g].n; e++) {
			const struct counter_event *ev = &m->group.v[g].event[e];

			counters += ev->cpus ? ev->n_cpus : m->targets;
		}
	step = m->opts->opts->interval / ((counters > BIG ? ROUNDS_BIG : ROUNDS) * t->n);
	if (counters <= FEW && step > SHORT) {
		step = m->opts->opts->interval / (ROUNDS_FEW * t->n);
		step = step > SHORT ? step : SHORT;
	}
	return step > TICK_LEAST ? step : TICK_LEAST;
}

int monitor_opened(struct monitor *m, struct err *err)
{
	for (size_t i = 0; i < m->source.n; i++) {
		struct source *s = &m->source.v[i];
		const char *why;

		if (s->event == NO_COUNTER || s->of_cgroups)
			continue;
		why = counters_refused(m->k.c, s->group, s->index, NULL);
		s->why = why ? arena_strdup(m->a, why) : NULL;
		if (why && !s->why)
			return err_nomem(err);
	}
	monitor_proc_read(m);
	m->began = counting_clock();
	m->early = UINT64_MAX / 2;
	for (size_t i = 0; i < m->turns.n; i++) {
		struct rotation *t = &m->turns.v[i];

		t->since = m->began;
		t->step = turn_step_of(m, t);
		t->due = m->began + rotation_length(t);
		if (t->n > 1 && t->step / 4 < m->early)
			m->early = t->step / 4;
	}
	return 0;
}

/* ---- an interval ---- */

/* How much the load changes, by the slices of all groups; of one alone: not known. */
static struct pool pool_of(const struct monitor *m, const struct rotation *t, size_t target)
{
	struct pool p = { 0 };

	for (size_t g = t->first; t->n > 1 && g < t->first + t->n; g++) {
		double least = INFINITY;
		size_t n = 0;

		for (size_t i = 0; i < m->source.n; i++) {
			const struct source *s = &m->source.v[i];
			const struct slot *at = s->at ? &s->at[target] : NULL;

			if (s->event == NO_COUNTER || s->of_cgroups || s->group != g || s->why ||
			    at->absent || at->seen.n < 2 || at->seen.sum <= 0 ||
			    seen_spread(&at->seen) >= least)
				continue;
			least = seen_spread(&at->seen);
			n = at->seen.n;
		}
		if (n)
			pool_add(&p, least, n);
	}
	return p;
}

static void end_slot(struct monitor *m, struct slot *s, const struct rotation *t, struct pool pool)
{
	double wanted = t->n > 1 ? m->seconds * 1e9 : s->wanted, sum = s->seen.sum;

	s->share = wanted > 0 ? fmin(s->seen.ns / wanted, 1) : 0;
	s->now = s->half = NAN;
	if (s->seen.ns > 0) {
		/* readings of CPUs are not quite of the same moments: a rate is by its own time */
		s->now = sum * (m->seconds * 1e9 / s->seen.ns);
		s->half = s->share >= WHOLE
				  ? 0
				  : seen_half(&s->seen, &pool, s->share) * m->seconds * 1e9;
		s->total += s->share >= WHOLE && s->owed <= 0
				    ? sum
				    : sum * ((wanted + s->owed) / s->seen.ns);
		s->owed = 0;
	} else {
		m->never += s->wanted > 0; /* else its turn did not come: nobody holds it */
		s->owed += wanted;
	}
	assert(isnan(s->now) || s->now >= 0);
	s->wanted = 0;
	s->seen = (struct seen){ 0 };
}

static bool is_in(const struct source *s, const struct rotation *t)
{
	return s->event != NO_COUNTER && !s->of_cgroups && s->group >= t->first &&
	       s->group < t->first + t->n;
}

static void end_turns(struct monitor *m, const struct rotation *t)
{
	for (size_t target = 0; target < m->targets; target++) {
		struct pool pool = pool_of(m, t, target);

		for (size_t i = 0; i < m->source.n; i++) {
			struct source *s = &m->source.v[i];

			if (is_in(s, t) && !s->why && !s->at[target].absent)
				end_slot(m, &s->at[target], t, pool);
		}
	}
}

static double mean_share(const struct monitor *m, const struct source *s)
{
	double sum = 0;
	size_t n = 0;

	for (size_t t = 0; s->event != NO_COUNTER && !s->why && t < m->targets; t++) {
		if (s->at[t].absent)
			continue;
		sum += s->at[t].share;
		n++;
	}
	return n ? sum / (double)n : NAN;
}

static void end_slots(struct monitor *m)
{
	m->never = 0;
	for (size_t i = 0; i < m->turns.n; i++)
		end_turns(m, &m->turns.v[i]);
	for (size_t i = 0; i < m->source.n; i++)
		m->source.v[i].share = mean_share(m, &m->source.v[i]);
}

/* ---- cells ---- */

/* Sums an input over the place's targets; NULL, or why it has no value there. */
static const char *gather_inputs(struct monitor *m, uint32_t input, const struct place *p)
{
	const struct input *in = &m->input.v[input];
	const char *why = in->why, *lost = NULL;
	double now = 0, total = 0, half = 0;
	size_t found = 0;
	bool gone = false, behind = false;

	for (size_t b = 0; b < in->n_sources; b++) {
		const struct source *s = &m->source.v[in->source + b];

		if (p->box != SIZE_MAX && p->box != b)
			continue;
		why = s->why ? s->why : why;
		for (size_t i = 0; !s->why && i < p->n_targets; i++) {
			const struct slot *at = &s->at[p->target[i]];

			lost = at->why ? at->why : lost;
			if (at->absent)
				continue;
			total += at->total;
			gone |= at->gone;
			if (at->gone && isnan(at->now)) /* nothing runs there */
				continue;
			found++;
			behind |= !at->gone && at->owed > 0;
			now += at->now;
			half += at->half * at->half;
		}
	}
	m->now[input] = found ? now : NAN;
	m->total[input] = (found || gone) && !behind ? total : NAN;
	m->half[input] = sqrt(half);
	if (lost) { /* a part is no sum */
		m->now[input] = m->total[input] = NAN;
		return lost;
	}
	if (!found && gone)
		return "its CPU went offline";
	if (!found)
		return why ? why : "no CPU of this place counts it";
	return isnan(now) ? "it had no counter in this interval" : NULL;
}

static const char *reason(const struct value *v, const char *why)
{
	switch (v->why) {
	case VALUE_OK:
		return NULL;
	case VALUE_NOT_COUNTED:
		return why ? why : "not counted";
	case VALUE_DIVIDED_BY_0:
		return "the divisor counted 0";
	case VALUE_ABSENT:
		return "the CPU's model does not have it";
	default:
		return "its formula asks for what is not known here";
	}
}

static struct value evaluate_metric(struct monitor *m, const struct metric *x,
				    const struct expr_env *env)
{
	if (x->n_nodes)
		monitor_nodes(m, x, env->system);
	return expr_eval(x->expr, env);
}

static void fill_cell(struct monitor *m, const struct metric *x, const struct place *p,
		      struct cell *c)
{
	double system[SYSTEM_COUNT], square = 0;
	const double *facts = m->rows->kind[x->model].system;
	struct expr_env env = {
		.count = m->now, .n_lps = 1, .system = system, .metric = m->model[x->model].node
	};
	const char *why = NULL;
	struct value v;

	memcpy(system, facts, sizeof(system));
	system[SYSTEM_DURATION] = m->seconds;
	system[SYSTEM_TSC] = facts[SYSTEM_TSC_FREQ] * m->seconds * (double)p->n_targets;
	for (size_t i = 0; i < x->n_inputs; i++) {
		const char *w = gather_inputs(m, x->input[i], p);

		why = why ? why : w;
	}
	v = evaluate_metric(m, x, &env);
	c->now = (struct estimate){ v.v, 0, reason(&v, why) };
	for (size_t i = 0; v.why == VALUE_OK && i < x->n_inputs; i++) {
		double *at = &m->now[x->input[i]], was = *at;

		if (m->half[x->input[i]] <= 0)
			continue;
		*at += m->half[x->input[i]];
		square += pow(evaluate_metric(m, x, &env).v - v.v, 2);
		*at = was;
	}
	c->now.half = v.why == VALUE_OK ? sqrt(square) : NAN;
	if (v.why == VALUE_OK && isnan(c->now.half))
		c->now.why = "one slice of time has no spread";
	if (!x->row->counter)
		return;
	env.count = m->total;
	v = expr_eval(x->expr, &env);
	c->total = (struct estimate){ v.v, NAN, reason(&v, why) };
}

/* A channel's metric is of one instance, or of all that are boxes; one of a kind of cores is of
 * these alone. */
static bool is_source_at(const struct metric *x, const struct place *p)
{
	if (!x->any_kind && p->of_kind != ANY_KIND && p->of_kind != x->model)
		return false;
	if (!strcmp(x->row->instance, "*"))
		return p->box != SIZE_MAX;
	return !strcmp(x->row->instance, p->instance);
}

int monitor_interval(struct monitor *m, struct err *err)
{
	m->gone = 0;
	if (monitor_read(m, READING_END, err))
		return -1;
	m->seconds = (double)(m->k.now - m->began) / 1e9;
	m->began = m->k.now;
	monitor_proc_read(m);
	end_slots(m);
	for (size_t i = 0; i < m->metric.n; i++) {
		struct metric *x = &m->metric.v[i];
		struct places *of = &m->of[x->kind];
		const char *why = "this machine has no such place, or does not say so";
		bool any = false;

		for (size_t k = 0; k < x->n_inputs && !of->place.n; k++)
			why = m->input.v[x->input[k]].why ? m->input.v[x->input[k]].why : why;

		for (size_t p = 0; p < of->place.n; p++) {
			struct cell *c = &of->cell[p * of->column.n + x->column];

			if (!is_source_at(x, &of->place.v[p]))
				continue;
			fill_cell(m, x, &of->place.v[p], c);
			any |= !isnan(c->now.v);
			why = c->now.why ? c->now.why : why;
		}
		x->why = any ? NULL : why;
	}
	return 0;
}
