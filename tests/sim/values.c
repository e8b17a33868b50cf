/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * values - what read() says: the kernel's answer, in the layout that read_format asked for, with
 * the simulated counts and times in the places of the real ones. And PERF_METRICS, whose fields are
 * eighths of a byte of all slots since the register was last reset.
 */
#include "context.h"
#include "paper.h"

#include <errno.h>
#include <string.h>

static const struct sim_counter *slots_of(const struct sim_counter *k)
{
	const struct sim_counter *leader = k->leader;

	return leader->event.flags & SIM_SLOTS ? leader : NULL;
}

/* The register's field: 255 is all slots. */
static double field(const struct sim *sim, const struct sim_counter *k, double slots)
{
	double share = slots > 0 ? k->since / slots : 0;

	if (share > 1)
		share = 1;
	if (sim->scenario.set.exact_metrics)
		return share;
	return (double)(unsigned)(share * 255 + 0.5) / 255;
}

uint64_t sim_counter_value(const struct sim *sim, const struct sim_counter *k)
{
	const struct sim_counter *slots = slots_of(k);
	double v = k->count;

	if (k->event.flags & SIM_METRIC && slots)
		v += slots->slots_since * field(sim, k, slots->slots_since);
	return (uint64_t)v;
}

void sim_metrics_reset(const struct sim *sim, struct sim_counter *leader)
{
	if (!(leader->event.flags & SIM_SLOTS))
		return;
	for (struct sim_counter *k = leader->context->first; k; k = k->next) {
		if (k->leader != leader || !(k->event.flags & SIM_METRIC))
			continue;
		k->count += leader->slots_since * field(sim, k, leader->slots_since);
		k->since = 0;
	}
	leader->slots_since = 0;
}

/* What a software event of a group counted while the group was on. */
static uint64_t software_value(const struct sim_counter *k, uint64_t real)
{
	if (sim_paper() && (k->attr.config == PERF_COUNT_SW_TASK_CLOCK ||
			    k->attr.config == PERF_COUNT_SW_CPU_CLOCK))
		return k->ran;
	return k->enabled ? (uint64_t)((double)real * ((double)k->ran / (double)k->enabled)) : real;
}

static uint64_t value(const struct sim *sim, const struct sim_counter *k, uint64_t real)
{
	return k->pmu ? sim_counter_value(sim, k) : software_value(k, real);
}

static void put(void *buf, size_t word, uint64_t v)
{
	memcpy((char *)buf + word * sizeof(v), &v, sizeof(v));
}

static uint64_t get(const void *buf, size_t word)
{
	uint64_t v;

	memcpy(&v, (const char *)buf + word * sizeof(v), sizeof(v));
	return v;
}

static size_t put_times(const struct sim_counter *k, uint64_t format, void *buf, size_t at,
			size_t words)
{
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED && at < words)
		put(buf, at++, k->enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING && at < words)
		put(buf, at++, k->ran);
	return at;
}

/* The kernel lists the leader, then the others in the order of opening. */
static const struct sim_counter *next_of(const struct sim_counter *leader,
					 const struct sim_counter *k)
{
	k = k == leader ? leader->context->first : k->next;
	while (k && (k == leader || k->leader != leader))
		k = k->next;
	return k;
}

static void rewrite_group(const struct sim *sim, const struct sim_counter *leader, uint64_t format,
			  void *buf, size_t words)
{
	uint64_t n = get(buf, 0);
	size_t step = (size_t)1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	size_t at = put_times(leader, format, buf, 1, words);
	const struct sim_counter *k = leader;

	for (uint64_t i = 0; i < n && k && at < words; i++, at += step) {
		put(buf, at, value(sim, k, get(buf, at)));
		k = next_of(leader, k);
	}
}

/* A CPU went offline, or a driver was unloaded: reads are empty from then on. */
static bool is_gone(const struct sim *sim, const struct sim_context *c)
{
	const struct sim_settings *set = &sim->scenario.set;

	return set->gone && c->now >= set->gone && (set->gone_cpu < 0 || set->gone_cpu == c->cpu);
}

ssize_t sim_values_make(const struct sim_counter *k, void *buf, size_t n)
{
	uint64_t format = k->attr.read_format;
	size_t times = (size_t) !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	size_t step = (size_t)1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	bool group = format & PERF_FORMAT_GROUP;
	size_t members = 0, at = group ? 1 + times : 0, words;

	for (const struct sim_counter *o = k->context->first; o; o = o->next)
		members += group ? o->leader == k->leader : o == k;
	words = group ? at + members * step : times + step;
	if (n < words * sizeof(uint64_t)) {
		errno = ENOSPC;
		return -1;
	}
	memset(buf, 0, words * sizeof(uint64_t));
	if (!group) {
		if (format & PERF_FORMAT_ID)
			put(buf, 1 + times, k->id);
		return (ssize_t)(words * sizeof(uint64_t));
	}
	put(buf, 0, members);
	for (const struct sim_counter *o = k->leader; o && at < words; at += step) {
		if (format & PERF_FORMAT_ID)
			put(buf, at + 1, o->id);
		o = next_of(k->leader, o);
	}
	return (ssize_t)(words * sizeof(uint64_t));
}

ssize_t sim_values_rewrite(const struct sim *sim, struct sim_counter *k, void *buf, size_t n)
{
	size_t words = n / sizeof(uint64_t);

	if (k->state == SIM_ERROR || k->leader->state == SIM_ERROR || is_gone(sim, k->context))
		return 0;
	if (!words)
		return (ssize_t)n;
	if (k->attr.read_format & PERF_FORMAT_GROUP) { /* of a sibling, too, the whole group */
		rewrite_group(sim, k->leader, k->attr.read_format, buf, words);
	} else {
		put(buf, 0, value(sim, k, get(buf, 0)));
		put_times(k, k->attr.read_format, buf, 1, words);
	}
	sim_metrics_reset(sim, k->leader);
	return (ssize_t)n;
}
