/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_topdown - slots and the metrics of PERF_METRICS (Intel, Ice Lake on) in a list of events.
 *
 * The kernel takes a metric only in a group that slots lead. So, as perf does, slots and metrics
 * without a group become a group, and slots go to the front of theirs.
 */
#include "collect/events/event_int.h"

#include <string.h>

#define SLOTS	     0x0400u
#define FIRST_METRIC 0x8000u
#define LAST_METRIC  0x8700u
#define CODE(config) ((config)&0xffffu)

static enum event_topdown topdown_kind_of(const struct event *ev, const struct pmu_set *pmus)
{
	uint64_t code = CODE(ev->attr.config);
	const struct word slots = { "slots", 5 };
	const struct pmu *pmu;

	if (ev->attr.type != PERF_TYPE_RAW || !ev->pmu ||
	    !(code == SLOTS || (code >= FIRST_METRIC && code <= LAST_METRIC && !(code & 0xff))))
		return TOPDOWN_NONE;
	pmu = pmu_find(pmus, word_of(ev->pmu, ev->pmu + strlen(ev->pmu)));
	if (!pmu || !pmu_may_have(pmus, pmu, slots))
		return TOPDOWN_NONE;
	return code == SLOTS ? TOPDOWN_SLOTS : TOPDOWN_METRIC;
}

static bool is_alone(const struct event_list *l, size_t i)
{
	for (size_t k = 0; k < l->ev.n; k++)
		if (k != i && l->ev.v[k].group == (int)i)
			return false;
	return l->ev.v[i].group == (int)i;
}

static void change_leader(struct event_list *l, size_t from, int was, int to)
{
	struct event *old = &l->ev.v[was], *leader = &l->ev.v[to];

	for (size_t i = from; i < l->ev.n; i++)
		if (l->ev.v[i].group == was)
			l->ev.v[i].group = to;
	leader->attr.pinned = old->attr.pinned;
	leader->attr.exclusive = old->attr.exclusive;
	old->attr.pinned = old->attr.exclusive = 0;
}

/* Slots and metrics of one PMU without a group. */
static bool group_loose(struct event_list *l, size_t from)
{
	bool any = false;

	for (size_t s = from; s < l->ev.n; s++) {
		const struct event *slots = &l->ev.v[s];

		if (slots->topdown != TOPDOWN_SLOTS || !is_alone(l, s))
			continue;
		for (size_t i = from; i < l->ev.n; i++) {
			struct event *ev = &l->ev.v[i];

			if (ev->topdown != TOPDOWN_METRIC || !is_alone(l, i) ||
			    strcmp(ev->pmu, slots->pmu) != 0)
				continue;
			ev->group = (int)s;
			ev->attr.pinned = ev->attr.exclusive = 0;
			any = true;
		}
	}
	return any;
}

/* A group's events stand together, its leader first: in a recording's header, and where they are
 * opened. */
static int stand_together(struct event_list *l, size_t from, struct err *err)
{
	size_t n = l->ev.n, put = from;
	struct event *old = arena_alloc(&l->arena, n * sizeof(*old));
	int *now = arena_alloc(&l->arena, n * sizeof(*now));

	if (!old || !now)
		return err_nomem(err);
	memcpy(old, l->ev.v, n * sizeof(*old));
	for (size_t i = 0; i < n; i++)
		now[i] = i < from ? (int)i : -1;
	for (size_t i = from; i < n; i++) {
		int leader = old[i].group;

		if (now[leader] < 0)
			now[leader] = (int)put++;
		else if (now[i] >= 0)
			continue;
		for (size_t k = from; k < n; k++)
			if (old[k].group == leader && now[k] < 0)
				now[k] = (int)put++;
	}
	for (size_t i = from; i < n; i++) {
		struct event *ev = &l->ev.v[now[i]];

		*ev = old[i];
		ev->group = now[old[i].group];
		ev->box_of = now[old[i].box_of];
	}
	return 0;
}

int event_topdown_groups(struct event_list *l, const struct pmu_set *pmus, size_t from,
			 struct err *err)
{
	bool moved;
	bool any = false;

	for (size_t i = from; i < l->ev.n; i++)
		l->ev.v[i].topdown = topdown_kind_of(&l->ev.v[i], pmus);
	/* Slots lead the group in which they are with a metric. */
	for (size_t i = from; i < l->ev.n; i++) {
		int was = l->ev.v[i].group;

		if (l->ev.v[i].topdown != TOPDOWN_METRIC || l->ev.v[was].topdown == TOPDOWN_SLOTS)
			continue;
		for (size_t k = from; k < l->ev.n; k++)
			if (l->ev.v[k].topdown == TOPDOWN_SLOTS && l->ev.v[k].group == was) {
				change_leader(l, from, was, (int)k);
				any = true;
				break;
			}
	}
	moved = any;
	moved |= group_loose(l, from);
	return moved ? stand_together(l, from, err) : 0;
}

int event_topdown_check(const struct event_list *l, struct err *err)
{
	for (size_t i = 0; i < l->ev.n; i++) {
		const struct event *ev = &l->ev.v[i];

		if (ev->topdown != TOPDOWN_METRIC || l->ev.v[ev->group].topdown == TOPDOWN_SLOTS)
			continue;
		(void)err_set(err, ERR_USAGE, "%.100s counts only in a group that slots lead",
			      ev->name);
		return err_hint(err, "-e '{slots,%.100s}'", ev->name);
	}
	return 0;
}

bool event_topdown_led(const struct event_list *l, size_t leader)
{
	for (size_t i = leader; i < l->ev.n; i++)
		if (l->ev.v[i].group == (int)leader && l->ev.v[i].topdown == TOPDOWN_METRIC)
			return true;
	return false;
}
