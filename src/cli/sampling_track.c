/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which event tells of mappings, names and forks. The first, wherever it counts; of a hybrid's the
 * first of each kind of core, since each is only on the CPUs of its own. Where some CPUs have none
 * of these, programs would run there that nobody has heard of: then an event that counts nothing
 * tells, on all CPUs, and it alone. So where samples have to wait (--delay, --control): an event
 * that is off tells nothing, and what was mapped meanwhile is where the samples will be.
 */
#include <string.h>

#include "cli/sampling_int.h"
#include "collect/sysfs.h"

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

/* Marks the CPUs where an event that would track can count; false: that is everywhere. */
static bool mark(const struct sampling *r, const struct event *e, bool *told)
{
	const struct targets *who = &r->k.who;
	const uint32_t *on;
	size_t n;

	event_cpus(&on, &n, e, r->arena);
	for (size_t i = 0; on && i < who->cpus.n; i++)
		told[i] |= cpu_list_has(on, n, who->cpus.v[i]);
	return on;
}

bool sampling_waits(const struct sampling *r)
{
	return r->cli->opt.delay || r->cli->opt.control;
}

/* Each CPU has an event that is on from the start. */
static bool all_told(const struct sampling *r, bool *told)
{
	const struct targets *who = &r->k.who;
	size_t n = 0;

	for (size_t i = 0; i < r->events.ev.n; i++)
		if (first_of_kind(&r->events, i) && !mark(r, &r->events.ev.v[i], told))
			return true;
	while (n < who->cpus.n && told[n])
		n++;
	return n == who->cpus.n;
}

int sampling_track(struct sampling *r, struct err *err)
{
	bool *told = arena_alloc(r->arena, r->k.who.cpus.n + 1);
	size_t n = r->events.ev.n;

	if (!told)
		return err_nomem(err);
	if (!n || (!sampling_waits(r) && all_told(r, told)))
		return 0;
	if (event_parse(&r->events, r->k.root, "dummy/period=1/u", err))
		return -1;
	r->events.ev.v[n].name = arena_strdup(r->arena, "dummy:u"); /* as perf calls its own */
	if (!r->events.ev.v[n].name)
		return err_nomem(err);
	r->tells_alone = true;
	return r->of ? sampling_account_more(r, err) : 0;
}

void sampling_track_wish(const struct sampling *r, struct attr_opts *w)
{
	const struct attr_opts all = *w;

	*w = (struct attr_opts){ .period = 1,
				 .data = all.data,
				 .phys_data = all.phys_data,
				 .inherit = all.inherit,
				 .cpu = all.cpu,
				 .several = true,
				 .enable_on_exec = r->cli->args.n > 0,
				 .use_clockid = all.use_clockid,
				 .clockid = all.clockid };
}

/* A program's begins with it; others are on before anything is waited for. */
int sampling_track_begin(struct sampling *r, struct err *err)
{
	if (!sampling_waits(r) || (r->cli->args.n && !r->k.who.whole_cpus))
		return 0;
	return recorder_switch(r->recorder, r->events.ev.n - 1, true, err);
}

int sampling_switch(struct sampling *r, bool on, struct err *err)
{
	if (on)
		return recorder_enable(r->recorder, err);
	if (!sampling_waits(r))
		return recorder_disable(r->recorder, err);
	for (size_t i = 0; i + 1 < r->events.ev.n; i++)
		if (recorder_switch(r->recorder, i, false, err))
			return -1;
	return 0;
}
