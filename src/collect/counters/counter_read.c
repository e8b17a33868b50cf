/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/invariant.h"
#include "collect/counters/counter_int.h"

static size_t target_of_place(const struct perf_counters *c, size_t place)
{
	return c->setup.cpus && !counter_by_cgroup(c) ? place / c->n_tasks : place;
}

/* The members of a part that are open at a place, in the order of opening: the first leads. */
static int leader_of(const struct perf_counters *c, size_t g, uint32_t part, size_t place,
		     size_t *n)
{
	int leader = -1;

	*n = 0;
	for (size_t e = 0; e < c->setup.group[g].n; e++) {
		int fd = *counter_fd(c, g, e, place);

		if (c->group[g].event[e].part != part || fd < 0)
			continue;
		if (leader < 0)
			leader = fd;
		++*n;
	}
	return leader;
}

/*
 * If a CPU goes offline, its events are taken out of their context. Some kernels end them (a read
 * returns nothing), others leave them: their times stand still, also after the CPU is back. So if
 * the time of a place advanced less than that of another since the last reading, it is read again:
 * the events there are dead if the other's time advanced meanwhile and theirs did not.
 */
#define BEHIND 1000000ull /* ns; CPUs are not enabled and read at the same moment */

static uint64_t advanced(const struct counter_last *l)
{
	return l->enabled - l->before;
}

static int read_time_enabled(struct perf_counters *c, size_t g, uint32_t part, size_t place,
			     uint64_t *out)
{
	size_t n;
	int leader = leader_of(c, g, part, place, &n);
	ssize_t size = (ssize_t)((3 + n) * sizeof(*c->words));

	if (leader < 0 || read(leader, c->words, (size_t)size) != size)
		return -1;
	*out = c->words[1];
	return 0;
}

static void find_stopped(struct perf_counters *c, size_t g, uint32_t part)
{
	struct counter_last *first = NULL;
	size_t ahead = 0;
	uint64_t now;

	/* a cgroup's time is that of its tasks on a CPU */
	if (!c->setup.cpus || c->setup.cgroup_fd >= 0 || c->n_places < 2)
		return;
	for (size_t e = 0; e < c->setup.group[g].n && !first; e++)
		if (c->group[g].event[e].part == part)
			first = &c->group[g].last[e * c->n_places];
	for (size_t p = 0; first && p < c->n_places; p++)
		if (!first[p].gone && advanced(&first[p]) > advanced(&first[ahead]))
			ahead = p;
	for (size_t p = 0; first && p < c->n_places; p++) {
		if (first[p].gone || advanced(&first[p]) + BEHIND > advanced(&first[ahead]) ||
		    read_time_enabled(c, g, part, p, &now) || now != first[p].enabled ||
		    read_time_enabled(c, g, part, ahead, &now) || now == first[ahead].enabled)
			continue;
		for (size_t e = 0; e < c->setup.group[g].n; e++)
			if (c->group[g].event[e].part == part) {
				struct counter_last *l = &c->group[g].last[e * c->n_places + p];

				l->stopped = l->gone = true;
			}
	}
}

/* Takes one reading into `last`. */
static int read_part(struct perf_counters *c, size_t g, uint32_t part, size_t place,
		     struct err *err)
{
	size_t n, k = 0;
	int leader = leader_of(c, g, part, place, &n);
	ssize_t got;
	bool gone;

	if (leader < 0)
		return 0;
	do
		got = read(leader, c->words, (3 + n) * sizeof(*c->words));
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno != ENODEV)
		return err_sys(err, "reading %s", c->setup.group[g].event[0].name);
	/* a CPU that went away takes the group apart, or the counter with it */
	gone = got < (ssize_t)((3 + n) * sizeof(*c->words)) || c->words[0] < n;
	for (size_t e = 0; e < c->setup.group[g].n; e++) {
		struct counter_last *l = &c->group[g].last[e * c->n_places + place];

		if (c->group[g].event[e].part != part || *counter_fd(c, g, e, place) < 0)
			continue;
		l->gone = gone || l->stopped;
		if (!gone) {
			l->before = l->enabled;
			l->enabled = c->words[1];
			l->running = c->words[2];
			l->value = c->words[3 + k];
		}
		k++;
	}
	return 0;
}

static void add_reading(const struct perf_counters *c, size_t g, size_t e,
			struct counter_value *out)
{
	const struct counter_group_state *s = &c->group[g];
	size_t targets = perf_counters_targets(c);

	for (size_t t = 0; t < targets; t++)
		out[t] = (struct counter_value){ .refused = s->event[e].part == NO_PART,
						 .absent = true };
	for (size_t p = 0; p < c->n_places; p++) {
		const struct counter_last *l = &s->last[e * c->n_places + p];
		struct counter_value *v = &out[target_of_place(c, p)];

		if (*counter_fd(c, g, e, p) < 0 && *counter_fd(c, g, e, p) != ENDED)
			continue;
		assert(target_of_place(c, p) < targets);
		v->absent = false;
		v->gone |= l->gone;
		v->value += l->value;
		v->enabled += l->enabled;
		v->running += l->running;
	}
}

/* A reading of one group, without summing up. */
static int read_perf_group(struct perf_counters *c, size_t g, struct err *err)
{
	for (size_t p = 0; p < c->n_places; p++)
		for (uint32_t part = 0; part < c->group[g].n_parts; part++)
			if (read_part(c, g, part, p, err))
				return -1;
	for (uint32_t part = 0; part < c->group[g].n_parts; part++)
		find_stopped(c, g, part);
	return 0;
}

int perf_counters_read(void *own, size_t group, struct counter_value *out, struct err *err)
{
	struct perf_counters *c = own;
	size_t targets = perf_counters_targets(c);

	if (read_perf_group(c, group, err))
		return -1;
	for (size_t e = 0; e < c->setup.group[group].n; e++)
		add_reading(c, group, e, out + e * targets);
	return 0;
}

/* The kernel makes leaders of the members of a leader that goes (perf_group_detach), and does so in
 * every task that has inherited them. */
bool perf_counters_apart(void *own, size_t group)
{
	struct perf_counters *c = own;
	struct counter_group_state *s = &c->group[group];
	size_t n = c->setup.group[group].n, lead = 0;

	while (lead < n && s->event[lead].part)
		lead++;
	if (s->n_parts != 1 || lead == n)
		return false;
	for (size_t p = 0; p < c->n_places; p++) {
		int *fd = counter_fd(c, group, lead, p);

		if (*fd < 0)
			continue;
		(void)close(*fd);
		*fd = ENDED;
		c->files--;
	}
	for (size_t e = 0; e < n; e++)
		if (s->event[e].part != NO_PART)
			s->event[e].part = (uint32_t)e;
	s->n_parts = (uint32_t)n;
	s->apart = true;
	return true;
}

/* All leaders of a group; members follow. */
static int turn(struct perf_counters *c, size_t g, bool on, struct err *err)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (size_t p = 0; p < c->n_places; p++)
		for (uint32_t part = 0; part < c->group[g].n_parts; part++) {
			size_t n;
			int leader = leader_of(c, g, part, p, &n);

			if (leader >= 0 && ioctl(leader, request, 0) && errno != ENODEV)
				return err_sys(err, "%s %s", on ? "enabling" : "disabling",
					       c->setup.group[g].event[0].name);
		}
	return 0;
}

/* Once all are off no time advances: those that stopped before are found now. */
static int last_look(struct perf_counters *c, struct err *err)
{
	for (size_t g = 0; c->setup.cpus && g < c->setup.n_groups; g++)
		if (read_perf_group(c, g, err))
			return -1;
	return 0;
}

int perf_counters_enable(void *own, size_t group, bool on, struct err *err)
{
	struct perf_counters *c = own;
	size_t from = group == ALL_GROUPS ? 0 : group;
	size_t to = group == ALL_GROUPS ? c->setup.n_groups : group + 1;

	if (group == ALL_GROUPS && !on && last_look(c, err))
		return -1;
	for (size_t g = from; g < to; g++)
		if (turn(c, g, on, err))
			return -1;
	return 0;
}
