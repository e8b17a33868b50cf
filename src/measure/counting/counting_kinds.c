/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A task on a hybrid CPU: an event of one kind of core counts only while the task is there, but its
 * enabled time goes on everywhere. The time on a kind is at least what its longest-running group
 * saw; if those of all kinds add up to the enabled time, nothing took turns and each is exact. A
 * kind that no event is for is watched by an event of its own, which has that kind's counters to
 * itself.
 */
#include <math.h>
#include <string.h>

#include "collect/sysfs.h"
#include "measure/counting_events.h"

/* Groups are read one after another, not at the same moment. */
#define ALL    0.999
#define NEARLY 0.99

/* The PMU of a kind of core that counts on some CPUs only. */
static bool is_kind(struct counting_events *s, const struct counting *k, size_t event)
{
	const uint32_t *cpus;
	size_t n_cpus;

	event_cpus(&cpus, &n_cpus, &s->list.ev.v[event], &s->list.arena);
	return cpus && n_cpus < k->machine.cpus_online &&
	       sys_core_pmu(k->root, s->list.ev.v[event].pmu);
}

static int watch(struct counting_events *s, const struct counting *k, const char *pmu,
		 struct err *err)
{
	char *text;

	if (!sys_core_pmu(k->root, pmu))
		return 0;
	for (size_t i = 0; i < s->n_asked; i++)
		if (s->list.ev.v[i].pmu && !strcmp(s->list.ev.v[i].pmu, pmu))
			return 0;
	/* how long it runs depends on no privilege level: this is one that anybody may count */
	text = arena_printf(&s->list.arena, "%s/cycles/u", pmu);
	return text ? event_parse(&s->list, k->root, text, err) : err_nomem(err);
}

int counting_kinds_watch(struct counting_events *s, const struct counting *k, struct err *err)
{
	const char *const *name;
	bool any = false;
	size_t n = 0;

	for (size_t i = 0; i < s->n_asked && !k->who.whole_cpus; i++)
		any |= is_kind(s, k, i);
	if (!any || !sys_names(&s->list.arena, &name, &n, k->root, "sys/bus/event_source/devices"))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (watch(s, k, name[i], err))
			return -1;
	return 0;
}

bool counting_kinds_blind(const struct counting_events *s, const struct counting *k)
{
	bool blind = false;

	for (size_t i = s->n_asked; i < s->list.ev.n; i++)
		blind |= counters_refused(k->c, s->at[i].group, s->at[i].index, NULL) != NULL;
	return blind;
}

int counting_kinds_find(struct counting_events *s, const struct counting *k, struct err *err)
{
	size_t n = s->list.ev.n, n_kinds = 0;
	const char **name = arena_alloc(&s->list.arena, (n + 1) * sizeof(*name));
	uint32_t *kind = arena_alloc(&s->list.arena, (n + 1) * sizeof(*kind));

	if (!name || !kind)
		return err_nomem(err);
	for (size_t i = 0; i < n && !k->who.whole_cpus; i++) {
		const char *pmu = s->list.ev.v[i].pmu;
		size_t at = 0;

		if (!is_kind(s, k, i))
			continue;
		while (at < n_kinds && strcmp(name[at], pmu) != 0)
			at++;
		name[at] = pmu;
		n_kinds += at == n_kinds;
		kind[i] = (uint32_t)at + 1;
	}
	s->kind = kind;
	s->n_kinds = n_kinds;
	return 0;
}

/* The share of its enabled time that an event ran: one reading has both. */
static double share_of_kind(const struct counting_events *s, size_t event, size_t target,
			    bool marked)
{
	size_t cell = s->at[event].index * s->targets + target, g = s->at[event].group;
	const struct counter_value *now = &s->now[g][cell], *mark = &s->mark[g][cell];
	uint64_t running = now->running - (marked ? mark->running : 0);
	uint64_t enabled = now->enabled - (marked ? mark->enabled : 0);

	return now->refused || !enabled ? 0 : (double)running / (double)enabled;
}

/* Returns that share of a kind's event that ran longest. */
static double longest(const struct counting_events *s, uint32_t kind, size_t target, bool marked)
{
	double most = 0;

	for (size_t i = 0; i < s->list.ev.n; i++)
		if (s->kind[i] == kind)
			most = fmax(most, share_of_kind(s, i, target, marked));
	return most;
}

double counting_kinds_wanted(const struct counting_events *s, size_t event, size_t target,
			     double enabled, bool marked)
{
	double mine, all = 0, watched = 0;

	if (!s->kind[event])
		return enabled;
	mine = longest(s, s->kind[event], target, marked);
	for (uint32_t kind = 1; kind <= s->n_kinds; kind++)
		all += longest(s, kind, target, marked);
	for (size_t i = s->n_asked; i < s->list.ev.n; i++)
		watched += share_of_kind(s, i, target, marked);
	if (!(mine > 0))
		return all >= NEARLY ? 0 : enabled * (1 - all);
	if (all >= ALL)
		return share_of_kind(s, event, target, marked) >= ALL * mine
			       ? enabled * share_of_kind(s, event, target, marked)
			       : enabled * mine;
	/* groups took turns, alike on each kind that was asked for (an assumption); a watcher took
	 * none */
	return enabled * (1 - watched) * (mine / (all - watched));
}

bool counting_kinds_turns(const struct counting_events *s, size_t event, size_t target)
{
	const struct event_place at = s->at[event];
	const struct counter_value *v = &s->now[at.group][at.index * s->targets + target];
	double wanted = counting_kinds_wanted(s, event, target, (double)v->enabled, false);

	return (double)v->running < (s->kind[event] ? NEARLY * wanted : wanted);
}
