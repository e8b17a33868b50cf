/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/cgroup.h"
#include "collect/counters/counter_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 2 /* of a group whose leader's context may have moved */

enum outcome { OPENED, FAILED, AGAIN }; /* AGAIN: from the start, as a rule in other parts */

static void close_place(struct perf_counters *c, size_t g, size_t place)
{
	for (size_t e = 0; e < c->setup.group[g].n; e++) {
		int *fd = counter_fd(c, g, e, place);

		if (*fd < 0)
			continue;
		(void)close(*fd);
		*fd = -1;
		c->files--;
	}
}

static void close_perf_group(struct perf_counters *c, size_t g)
{
	for (size_t p = 0; p < c->n_places; p++)
		close_place(c, g, p);
}

/* The leader and the events that need it stay together in the first half. */
static void split_part(struct perf_counters *c, size_t g, uint32_t part)
{
	const struct counter_group *group = &c->setup.group[g];
	struct counter_group_state *s = &c->group[g];
	size_t n = 0, i = 0;

	for (size_t e = 0; e < group->n; e++)
		n += s->event[e].part == part;
	for (size_t e = 0; e < group->n; e++) {
		if (s->event[e].part != part)
			continue;
		if (i >= (n + 1) / 2 && !group->event[e].with_leader)
			s->event[e].part = s->n_parts;
		i++;
	}
	s->n_parts++;
}

/* Members that could be moved out of a part. */
static bool can_split(const struct perf_counters *c, size_t g, uint32_t part)
{
	const struct counter_group *group = &c->setup.group[g];
	size_t n = 0, last_half = 0;

	for (size_t e = 0; e < group->n; e++)
		n += c->group[g].event[e].part == part;
	for (size_t e = 0, i = 0; e < group->n; e++) {
		if (c->group[g].event[e].part != part)
			continue;
		last_half += i >= (n + 1) / 2 && !group->event[e].with_leader;
		i++;
	}
	return last_half;
}

static bool opens_alone(struct perf_counters *c, size_t g, size_t e, size_t place, int *number)
{
	int fd = counter_open_one(c, g, e, place, -1);

	if (fd < 0) {
		*number = -fd;
		return false;
	}
	(void)close(fd);
	return true;
}

/* The next step for an event that could not be opened. */
static enum outcome on_refusal(struct perf_counters *c, size_t g, size_t e, size_t place, bool led,
			       int number, struct err *err)
{
	const struct counter_event *ev = &c->setup.group[g].event[e];
	struct counter_event_state *s = &c->group[g].event[e];

	if (number == EMFILE || number == ENFILE || number == ENOMEM) {
		errno = number;
		(void)err_sys(err, "%s: perf_event_open", ev->name);
		(void)err_hint(err, "too many counters at once: raise `ulimit -n`, or count fewer "
				    "events, tasks or CPUs");
		return FAILED;
	}
	if (cgroup_refused(ev->name, number,
			   counter_by_cgroup(c) ? c->setup.cgroups[place % c->n_tasks]
						: c->setup.cgroup_fd,
			   counter_cpu(c, place), err))
		return FAILED;
	/* a task that ended, a CPU that went: that place is empty, the others count */
	if (number == ESRCH || (number == ENODEV && place && counter_cpu(c, place) >= 0)) {
		c->place_gone[place] = true;
		for (size_t i = 0; i <= g; i++)
			close_place(c, i, place);
		return OPENED;
	}
	/* If a task and one that inherited its counters follow each other on a CPU, the kernel
	 * swaps their contexts instead of switching counters. A leader opened before is in another
	 * context then than its members, which are refused like a group that is too big. Opened
	 * again they get into one. */
	if (led && number == EINVAL && c->setup.tasks && c->setup.inherit &&
	    !c->setup.enable_on_exec && c->group[g].tries < TRIES) {
		c->group[g].tries++;
		return AGAIN;
	}
	if (led && !ev->with_leader && opens_alone(c, g, e, place, &number) &&
	    can_split(c, g, s->part)) {
		split_part(c, g, s->part);
		return AGAIN;
	}
	if (led && ev->with_leader && can_split(c, g, s->part)) {
		split_part(c, g, s->part);
		return AGAIN;
	}
	s->part = NO_PART;
	s->refused = number;
	return AGAIN;
}

static enum outcome open_part(struct perf_counters *c, size_t g, uint32_t part, size_t place,
			      struct err *err)
{
	const struct counter_group *group = &c->setup.group[g];
	int leader = -1;

	for (size_t e = 0; e < group->n && !c->place_gone[place]; e++) {
		int fd;

		if (c->group[g].event[e].part != part ||
		    !counter_counts_on(&group->event[e], c, place))
			continue;
		fd = counter_open_one(c, g, e, place, leader);
		if (fd < 0) {
			enum outcome o = on_refusal(c, g, e, place, leader >= 0, -fd, err);

			if (o != OPENED)
				return o;
			continue;
		}
		*counter_fd(c, g, e, place) = fd;
		c->files++;
		if (leader < 0)
			leader = fd;
	}
	return OPENED;
}

static enum outcome open_everywhere(struct perf_counters *c, size_t g, struct err *err)
{
	for (size_t place = 0; place < c->n_places; place++)
		for (uint32_t part = 0; part < c->group[g].n_parts; part++) {
			enum outcome o = open_part(c, g, part, place, err);

			if (o != OPENED)
				return o;
		}
	return OPENED;
}

/* Every round that does not end it has refused an event, split a part or taken a try: it does
 * end. */
static int open_perf_group(struct perf_counters *c, size_t g, struct err *err)
{
	enum outcome o;

	do {
		close_perf_group(c, g);
		o = open_everywhere(c, g, err);
	} while (o == AGAIN);
	return o == OPENED ? 0 : -1;
}

static int alloc_perf_group(struct perf_counters *c, size_t g, struct err *err)
{
	struct counter_group_state *s = &c->group[g];
	size_t n = c->setup.group[g].n, cells = n * c->n_places;

	s->event = calloc(n ? n : 1, sizeof(*s->event));
	s->fd = malloc((cells ? cells : 1) * sizeof(*s->fd));
	s->last = calloc(cells ? cells : 1, sizeof(*s->last));
	if (s->fd)
		for (size_t i = 0; i < cells; i++)
			s->fd[i] = -1;
	s->n_parts = 1;
	return s->event && s->fd && s->last ? 0 : err_nomem(err);
}

static int alloc_all(struct perf_counters *c, struct err *err)
{
	size_t most = 0;

	c->group = calloc(c->setup.n_groups ? c->setup.n_groups : 1, sizeof(*c->group));
	c->place_gone = calloc(c->n_places, sizeof(*c->place_gone));
	if (!c->group || !c->place_gone)
		return err_nomem(err);
	for (size_t g = 0; g < c->setup.n_groups; g++) {
		if (alloc_perf_group(c, g, err))
			return -1;
		if (c->setup.group[g].n > most)
			most = c->setup.group[g].n;
	}
	c->words = malloc((3 + most) * sizeof(*c->words));
	return c->words ? 0 : err_nomem(err);
}

static void perf_close(void *own);

static int perf_open(void *ctx, void **out, const struct counter_setup *setup, struct err *err)
{
	struct perf_counters *c = calloc(1, sizeof(*c));
	size_t events = 0, gone = 0;

	(void)ctx;
	if (!c)
		return err_nomem(err);
	c->setup = *setup;
	c->n_cpus = setup->cpus && setup->n_cpus ? setup->n_cpus : 1;
	c->n_tasks = setup->tasks && setup->n_tasks ? setup->n_tasks : 1;
	if (counter_by_cgroup(c))
		c->n_tasks = setup->n_cgroups;
	c->n_places = c->n_cpus * c->n_tasks;
	for (size_t g = 0; g < setup->n_groups; g++)
		events += setup->group[g].n;
	counter_raise_files(events * c->n_places + 64);
	if (alloc_all(c, err))
		goto fail;
	for (size_t g = 0; g < setup->n_groups; g++)
		if (open_perf_group(c, g, err))
			goto fail;
	for (size_t p = 0; p < c->n_places; p++)
		gone += c->place_gone[p];
	if (gone == c->n_places) {
		(void)err_set(err, ERR_NOT_FOUND, "nothing to count: every task has ended already");
		goto fail;
	}
	*out = c;
	return 0;
fail:
	perf_close(c);
	return -1;
}

size_t perf_counters_targets(const void *own)
{
	const struct perf_counters *c = own;

	if (counter_by_cgroup(c))
		return c->n_places;
	return c->setup.cpus ? c->n_cpus : c->n_tasks;
}

static size_t perf_split(const void *own, size_t group)
{
	const struct perf_counters *c = own;

	return c->group[group].apart ? 1 : c->group[group].n_parts;
}

static const char *perf_refused(const void *own, size_t group, size_t event, int *number)
{
	const struct perf_counters *c = own;
	const struct counter_event_state *s = &c->group[group].event[event];

	if (s->part != NO_PART)
		return NULL;
	if (number)
		*number = s->refused;
	return counter_reason(c, &c->setup.group[group].event[event], s->refused);
}

static bool perf_without_kernel(const void *own)
{
	return ((const struct perf_counters *)own)->without_kernel;
}

static size_t perf_counters_files(const void *own)
{
	return ((const struct perf_counters *)own)->files;
}

static void perf_close(void *own)
{
	struct perf_counters *c = own;

	for (size_t g = 0; c->group && g < c->setup.n_groups; g++) {
		if (c->group[g].fd)
			close_perf_group(c, g);
		free(c->group[g].event);
		free(c->group[g].fd);
		free(c->group[g].last);
	}
	free(c->group);
	free(c->place_gone);
	free(c->words);
	free(c);
}

const struct counter_backend counter_perf = {
	.open = perf_open,
	.targets = perf_counters_targets,
	.split = perf_split,
	.refused = perf_refused,
	.without_kernel = perf_without_kernel,
	.files = perf_counters_files,
	.enable = perf_counters_enable,
	.apart = perf_counters_apart,
	.read = perf_counters_read,
	.close = perf_close,
};
