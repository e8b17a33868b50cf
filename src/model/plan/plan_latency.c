/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_latency - which events' retire latencies the stages ask for, and which of them can be
 * sampled at once.
 *
 * Sampling takes counters as counting does, so events are packed into groups by the same rules;
 * each is in the group of the first stage that asks for it, so that a stage that is not open need
 * not sample.
 */
#include <string.h>

#include "model/plan/plan_int.h"

struct latencies {
	struct planning *k;
	struct plan *out;
	uint64_t *stage, *all, *placed; /* bits by event */
	struct plan_group *group;
};

static void merge_samplers(uint64_t *to, const uint64_t *from, size_t words)
{
	for (size_t w = 0; w < words; w++)
		to[w] |= from[w];
}

/* Latencies that a metric and its threshold need. */
static void ask_metric(struct latencies *x, uint32_t metric)
{
	const struct metric_needs *n = &x->k->needs[metric];

	merge_samplers(x->stage, n->latency, x->k->words);
	for (size_t i = 0; i < x->k->m->n_metrics; i++)
		if (x->k->w->thresholds && bit_test(n->threshold_metrics, i))
			merge_samplers(x->stage, x->k->needs[i].latency, x->k->words);
}

static int list_bits(struct latencies *x, const uint64_t *bits, const uint32_t **out, size_t *n,
		     struct err *err)
{
	uint32_t *list = arena_alloc(x->k->a, (bits_count(bits, x->k->words) + 1) * sizeof(*list));

	if (!list)
		return err_nomem(err);
	*n = 0;
	for (size_t i = 0; i < x->k->m->n_used; i++)
		if (bit_test(bits, i))
			list[(*n)++] = (uint32_t)i;
	*out = list;
	return 0;
}

/* Groups of the events that no earlier stage asked for. */
static int pack(struct latencies *x, const uint32_t *event, size_t n_events, struct err *err)
{
	struct planning *k = x->k;
	struct schedule_set *set = arena_alloc(&k->scratch, (n_events + 1) * sizeof(*set));
	struct schedule s;
	size_t n = 0;

	if (!set)
		return err_nomem(err);
	for (size_t i = 0; i < n_events; i++)
		if (!bit_test(x->placed, event[i])) {
			bit_set(x->placed, event[i]);
			set[n++] = (struct schedule_set){ .event = &event[i], .n = 1 };
		}
	if (!n)
		return 0;
	if (schedule_make(&s, k->a, k->m, &k->l, set, n, err))
		return -1;
	for (size_t g = 0; g < s.n_core; g++)
		x->group[x->out->n_samplers++] = (struct plan_group){ .event = s.group[g].event,
								      .n = s.group[g].n,
								      .core = true };
	return 0;
}

int plan_latencies(struct planning *k, struct plan *out, struct err *err)
{
	size_t bytes = k->words * sizeof(uint64_t);
	struct latencies x = { .k = k, .out = out };

	x.stage = arena_alloc(&k->scratch, bytes);
	x.all = arena_alloc(&k->scratch, bytes);
	x.placed = arena_alloc(&k->scratch, bytes);
	x.group = arena_alloc(k->a, (k->m->n_used + 1) * sizeof(*x.group));
	if (!x.stage || !x.all || !x.placed || !x.group)
		return err_nomem(err);
	for (size_t s = 0; s < k->n_stages; s++) {
		struct plan_stage *st = &k->stage[s];

		memset(x.stage, 0, bytes);
		for (size_t i = 0; i < st->n_metrics; i++)
			ask_metric(&x, st->metric[i]);
		merge_samplers(x.all, x.stage, k->words);
		if (list_bits(&x, x.stage, &st->latency, &st->n_latency, err) ||
		    pack(&x, st->latency, st->n_latency, err))
			return -1;
	}
	out->sampler = x.group;
	return list_bits(&x, x.all, &out->latency, &out->n_latency, err);
}
