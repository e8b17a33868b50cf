/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which event records mappings, names and forks. The first, on all CPUs that it counts on; on a
 * hybrid machine the first of each kind of core, since each is only on the CPUs of its own. A
 * program can begin on any CPU and be sampled on another later. So if some CPU of the machine has
 * none of these events (-C, another kind of core), an event that counts nothing (dummy:u) records
 * them on all CPUs, and it alone. The same if samples have to wait (--delay, --control): an event
 * that is off records nothing, and code that is mapped meanwhile is where the samples will be. The
 * same with -a: /proc is read while dummy:u is on, else a program that begins between that and the
 * first sample would have no name. The same if events take turns (sampling_ways.c).
 */
#include <string.h>

#include "collect/sysfs.h"
#include "measure/sampling/sampling_int.h"

/* `i` is the first of its kind of core. */
static bool first_of_kind(const struct event_list *l, size_t i)
{
	const struct event *e = l->ev.v;

	for (size_t k = 0; k < i; k++)
		if (!e[k].cpus || !e[i].cpus || !e[k].pmu || !e[i].pmu ||
		    !strcmp(e[k].pmu, e[i].pmu))
			return false;
	return true;
}

bool sampling_tracks(const struct sampling *r, size_t i)
{
	return r->tells_alone ? i + 1 == r->events.ev.n : first_of_kind(&r->events, i);
}

const struct perf_event_attr *sampling_tracker(const struct sampling *r)
{
	size_t i = 0;

	while (i + 1 < r->events.ev.n && !r->ev[i].attr.mmap)
		i++;
	return &r->ev[i].attr;
}

/* The CPUs where a program may begin, as far as known: all that are online. */
static void every_cpu(const struct sampling *r, const uint32_t **cpus, size_t *n)
{
	const struct machine *m = &r->k.machine;

	*cpus = m->cpus_online ? m->online : r->k.who.cpus.v;
	*n = m->cpus_online ? m->cpus_online : r->k.who.cpus.n;
}

/* Marks the CPUs, of all, where an event that would track is opened. */
static void mark_tracker(const struct sampling *r, const struct event *e, bool *told)
{
	const struct targets *who = &r->k.who;
	const uint32_t *on, *cpus;
	size_t n, n_cpus;

	event_cpus(&on, &n, e, r->arena);
	every_cpu(r, &cpus, &n_cpus);
	for (size_t i = 0; i < n_cpus; i++)
		told[i] |= cpu_list_has(who->cpus.v, who->cpus.n, cpus[i]) &&
			   (!on || cpu_list_has(on, n, cpus[i]));
}

/* Samples begin later than the event that records mappings. */
static bool begins_later(const struct sampling *r)
{
	return r->opts.delay || r->opts.control || sampling_whole(r);
}

/* Each CPU has an event that is on from the start. */
static bool all_told(const struct sampling *r, bool *told, size_t n_cpus)
{
	size_t n = 0;

	for (size_t i = 0; i < r->events.ev.n; i++)
		if (first_of_kind(&r->events, i))
			mark_tracker(r, &r->events.ev.v[i], told);
	while (n < n_cpus && told[n])
		n++;
	return n == n_cpus;
}

int sampling_track(struct sampling *r, struct err *err)
{
	size_t n = r->events.ev.n, n_cpus;
	const uint32_t *cpus;
	bool *told;

	every_cpu(r, &cpus, &n_cpus);
	told = arena_alloc(r->arena, n_cpus + 1);
	if (!told)
		return err_nomem(err);
	if (!n || (!begins_later(r) && !sampling_ways_change(r) && all_told(r, told, n_cpus)))
		return 0;
	if (event_parse(&r->events, r->k.root, "dummy/period=1/u", err))
		return -1;
	r->events.ev.v[n].name = arena_strdup(r->arena, "dummy:u"); /* as perf calls its own */
	if (!r->events.ev.v[n].name)
		return err_nomem(err);
	r->tells_alone = true;
	return r->of ? sampling_account_more(r, err) : 0;
}

void sampling_track_cpus(const struct sampling *r, struct recorder_event *e)
{
	every_cpu(r, &e->cpus, &e->n_cpus);
	e->beyond = true;
}

void sampling_track_wish(const struct sampling *r, struct attr_opts *w)
{
	const struct attr_opts all = *w;

	*w = (struct attr_opts){ .period = 1,
				 .wish = attr_wish_tracking(&all.wish),
				 .data_maps = all.data_maps,
				 .inherit = all.inherit,
				 .switches = all.switches,
				 .cpu = all.cpu,
				 .several = true,
				 .enable_on_exec = r->opts.program.n > 0,
				 .use_clockid = all.use_clockid,
				 .clockid = all.clockid };
}

/* A program's begins with it; others are on before anything is waited for. */
int sampling_track_begin(struct sampling *r, struct err *err)
{
	if (!begins_later(r) || (r->opts.program.n && !sampling_whole(r)))
		return 0;
	return recorder_switch(r->recorder, r->events.ev.n - 1, true, err);
}

static int switch_all(struct sampling *r, bool on, struct err *err)
{
	size_t n = r->events.ev.n;

	if (on)
		return recorder_enable(r->recorder, err);
	if (!begins_later(r))
		return recorder_disable(r->recorder, err);
	for (size_t i = 0; i < n + r->ways.n; i++)
		if (i + 1 != n && recorder_switch(r->recorder, i, false, err))
			return -1;
	return 0;
}

int sampling_switch(struct sampling *r, bool on, struct err *err)
{
	int rc;

	if (!on && sampling_wait_on(r, false, err))
		return -1;
	(void)pthread_mutex_lock(&r->ways.lock);
	r->ways.on = on;
	rc = switch_all(r, on, err);
	(void)pthread_mutex_unlock(&r->ways.lock);
	return rc || (on && sampling_wait_on(r, true, err)) ? -1 : 0;
}
