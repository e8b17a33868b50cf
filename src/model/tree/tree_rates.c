/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/event_same.h"
#include "model/tree_rates.h"

#include <math.h>
#include <string.h>

#include "base/estimate.h"
#include "model/schedule.h"
#include "model/tree/tree_int.h"

/* As event_cycle_names[]. */
static const char *const instruction_names[] = { "INST_RETIRED.ANY", "INST_RETIRED.ANY_P",
						 "ex_ret_instr",     "INST_RETIRED",
						 "instructions",     NULL };
/* These run at the rate of the time-stamp counter while the CPU is not halted. */
static const char *const reference_names[] = { "CPU_CLK_UNHALTED.REF_TSC",
					       "CPU_CLK_UNHALTED.REF_TSC_P",
					       "ls_not_halted_p0_cyc.p0_freq_cyc", NULL };

struct operand {
	uint32_t event, group, pos; /* event MODEL_NONE: not counted; group MODEL_NONE: exact */
	double sum;
	double unseen; /* share of the time for which all groups that have it were off */
};

static void place_rate(struct operand *o, const struct tree_counts *c)
{
	for (uint32_t g = 0; g < c->n_groups; g++)
		for (uint32_t i = c->first[g]; i < c->first[g + 1]; i++)
			if (c->member[i] == o->event) {
				o->group = g;
				o->pos = i - c->first[g];
			}
}

static bool has_rate_event(const struct plan_group *g, uint32_t event)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->event[i] == event)
			return true;
	return false;
}

/* The group that was on for longest, if they were on at different times. */
static double unseen(const struct tree_rates_ask *ask, uint32_t event)
{
	double least = 1;

	for (uint32_t g = 0; g < ask->plan->n_groups; g++) {
		struct slices_seen seen;

		if (!has_rate_event(&ask->plan->group[g], event))
			continue;
		slices_when_seen(ask->slices, &g, 1, ask->from, ask->to, &seen);
		if (seen.all > 0)
			least = fmin(least, 1 - seen.time / seen.all);
	}
	return least;
}

static struct operand find_rate_event(const struct model *m, const struct tree_counts *c,
				      const struct tree_rates_ask *ask, const char *const *names)
{
	struct operand o = { MODEL_NONE, MODEL_NONE, 0, NAN, 0 };

	for (; *names; names++) {
		uint32_t e = model_event_find(m, *names, strlen(*names));

		if (e == MODEL_NONE || e >= m->n_used || isnan(tree_sum(c, e)) ||
		    (c->counted && !(c->counted[e] > 0)))
			continue;
		o.event = e;
		o.sum = tree_sum(c, e);
		o.unseen = unseen(ask, e);
		place_rate(&o, c);
		break;
	}
	return o;
}

static double cov(const struct tree_counts *c, const struct operand *a, const struct operand *b)
{
	size_t k;

	if (a->group == MODEL_NONE || a->group != b->group || !c->cov || !c->cov[a->group])
		return 0;
	k = c->first[a->group + 1] - c->first[a->group];
	return c->cov[a->group][a->pos * k + b->pos];
}

static void take_operand(struct tree_rate *out, const struct tree_counts *c,
			 const struct operand *o)
{
	if (c->counted)
		out->counted = fmin(out->counted, c->counted[o->event]);
	if (o->group != MODEL_NONE && c->no_error && c->no_error[o->group])
		out->no_error = c->no_error[o->group];
}

static struct tree_rate no_rate(const char *why)
{
	return (struct tree_rate){ .value = NAN, .error = NAN, .counted = NAN, .why = why };
}

struct quotient {
	const struct operand *a, *b; /* b NULL: 1 */
	double times;
	double most; /* of the value, if it was not seen; 0: not known */
};

static struct tree_rate rate_of_events(const struct tree_counts *c, const struct quotient *q)
{
	const struct operand *a = q->a, *b = q->b;
	const double by_a = q->times / (b ? b->sum : 1);
	const double by_b = b ? -q->times * a->sum / (b->sum * b->sum) : 0;
	const double off = fmax(a->unseen, b ? b->unseen : 0);
	struct tree_rate out = { .value = by_a * a->sum, .counted = 1 };
	double var = by_a * by_a * cov(c, a, a);

	if (off > (q->most > 0 ? TREE_RATES_UNSEEN : 0))
		return no_rate("its events were counted for a part of the run");
	take_operand(&out, c, a);
	if (b) {
		var += by_b * by_b * cov(c, b, b) + 2 * by_a * by_b * cov(c, a, b);
		take_operand(&out, c, b);
	}
	out.unseen = off * q->most;
	out.error = out.no_error ? (double)NAN : Z95 * sqrt(fmax(var, 0)) + out.unseen;
	return out;
}

static struct tree_rate frequency(const struct tree_counts *c, const struct tree_rates_ask *ask,
				  const struct operand *cycles, const struct operand *reference)
{
	const double tsc = c->system ? c->system[SYSTEM_TSC_FREQ] : (double)NAN;
	struct quotient q = { cycles, NULL, 0, 0 };
	struct slices_seen seen;

	slices_when_seen(ask->slices, NULL, 0, ask->from, ask->to, &seen);
	if (ask->timed && seen.all > 0) {
		q.times = 1e9 / seen.all;
		q.most = 2 * q.times * cycles->sum;
	} else if (reference->sum > 0 && tsc > 0) {
		q.b = reference;
		q.times = tsc;
		q.most = 2 * q.times * cycles->sum / reference->sum;
	} else {
		return no_rate("neither the time on CPUs nor reference cycles were counted");
	}
	return rate_of_events(c, &q);
}

void tree_rates(struct tree_rates *out, const struct model *m, const struct tree_counts *c,
		const struct tree_rates_ask *ask)
{
	const struct operand cycles = find_rate_event(m, c, ask, event_cycle_names);
	const struct operand instructions = find_rate_event(m, c, ask, instruction_names);
	const struct operand reference = find_rate_event(m, c, ask, reference_names);

	if (!(cycles.sum > 0)) {
		out->ipc = out->frequency = no_rate(isnan(cycles.sum) ? "cycles were not counted"
								      : "no cycle was counted");
		return;
	}
	out->frequency = frequency(c, ask, &cycles, &reference);
	if (instructions.sum > 0)
		out->ipc = rate_of_events(
			c, &(struct quotient){ &instructions, &cycles, 1, m->width });
	else
		out->ipc = no_rate(isnan(instructions.sum) ? "instructions were not counted"
							   : "no instruction was counted");
}
