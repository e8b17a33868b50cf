/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events that metrics of cgroups name: one group of counters for each cgroup, on every CPU, which
 * counts while a task of the cgroup is there. They are opened as the cgroup is seen and closed as
 * it goes. If they do not fit, the kernel multiplexes them; a count is then extrapolated, without a
 * bar.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "monitor/monitor_int.h"

#define FILES_MOST 16384 /* counters of all cgroups and CPUs */

/* Metrics of cgroups need it, and of other places. */
static void look_for(const struct monitor *m, const struct source *s, bool *here, bool *elsewhere)
{
	*here = *elsewhere = false;
	for (size_t i = 0; i < m->metric.n; i++) {
		const struct metric *x = &m->metric.v[i];

		for (size_t k = 0; k < x->n_inputs; k++) {
			const struct input *in = &m->input.v[x->input[k]];
			const struct source *first = &m->source.v[in->source];

			if (s < first || s >= first + in->n_sources)
				continue;
			if (x->kind == PLACE_CGROUP)
				*here = true;
			else
				*elsewhere = true;
		}
	}
}

static void add_cgroup_event(struct monitor *m, struct cgroup_setup *to, struct source *s)
{
	struct counter_event *ev = &to->event[to->n];
	const struct event *e = &m->list.ev.v[s->event];

	*ev = (struct counter_event){ .attr = e->attr, .name = e->name, .typed = e->name };
	event_cpus(&ev->cpus, &ev->n_cpus, e, m->a);
	to->source[to->n++] = (size_t)(s - m->source.v);
}

int monitor_cgroup_events(struct monitor *m, struct err *err)
{
	struct cgroup_setup *to = &m->cgroup_setup;

	if (!m->cgroups)
		return 0;
	to->event = arena_alloc(m->a, (m->source.n + 1) * sizeof(*to->event));
	to->source = arena_alloc(m->a, (m->source.n + 1) * sizeof(*to->source));
	to->value = arena_alloc(m->a, (m->source.n + 1) * m->targets * sizeof(*to->value));
	to->own = arena_alloc(m->a, CGROUPS * sizeof(*to->own));
	if (!to->event || !to->source || !to->value || !to->own)
		return err_nomem(err);
	for (size_t i = 0; i < CGROUPS; i++)
		to->own[i] = (struct cgroup_counters){ 0 };
	for (size_t i = 0; i < m->source.n; i++) {
		struct source *s = &m->source.v[i];
		bool here, elsewhere;

		if (s->event == NO_COUNTER)
			continue;
		look_for(m, s, &here, &elsewhere);
		if (!here)
			continue;
		add_cgroup_event(m, to, s);
		s->of_cgroups = !elsewhere;
		for (size_t t = 0; s->of_cgroups && t < m->targets; t++)
			s->at[t].absent = true;
	}
	to->group = (struct counter_group){ .event = to->event, .n = to->n };
	return 0;
}

static bool no_room(struct monitor *m, struct cgroup_counters *own)
{
	struct cgroup_setup *s = &m->cgroup_setup;

	if (s->files + s->n * m->targets <= FILES_MOST)
		return false;
	(void)snprintf(own->why, sizeof(own->why),
		       "%zu counters of cgroups are open, which is enough: name fewer cgroups",
		       s->files);
	return true;
}

void monitor_cgroup_open(struct monitor *m, size_t slot, const char *dir)
{
	struct cgroup_setup *s = &m->cgroup_setup;
	struct cgroup_counters *own = &s->own[slot];
	struct counter_setup setup = { .group = &s->group,
				       .n_groups = 1,
				       .cpus = m->k.who.cpus.v,
				       .n_cpus = m->k.who.cpus.n };
	struct err err = ERR_INIT;

	if (!s->n || no_room(m, own))
		return;
	if (m->msr) {
		(void)snprintf(own->why, sizeof(own->why), "--backend msr counts whole CPUs");
		return;
	}
	setup.cgroup_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (setup.cgroup_fd < 0)
		(void)err_sys(&err, "opening the cgroup");
	else if (!counters_open(&own->c, &setup, &err) &&
		 counters_enable(own->c, ALL_GROUPS, true, &err))
		monitor_cgroup_close(m, slot);
	if (setup.cgroup_fd >= 0)
		(void)close(setup.cgroup_fd);
	if (own->c)
		s->files += own->files = counters_files(own->c);
	else
		(void)snprintf(own->why, sizeof(own->why), "%s", err.what);
}

void monitor_cgroup_close(struct monitor *m, size_t slot)
{
	struct cgroup_setup *s = &m->cgroup_setup;

	s->files -= s->own[slot].files;
	counters_close(s->own[slot].c);
	s->own[slot] = (struct cgroup_counters){ 0 };
}

void monitor_cgroup_end(struct monitor *m)
{
	for (size_t i = 0; m->cgroup_setup.own && i < CGROUPS; i++)
		monitor_cgroup_close(m, i);
}

/* The counts of all CPUs since the last time. Without a task there all stands still. */
static void take_cgroup_counts(struct slot *at, const struct counter_value *v, size_t n,
			       double scale)
{
	uint64_t count = 0, enabled = 0, running = 0;
	double wanted, ran;

	at->absent = true;
	for (size_t i = 0; i < n; i++) {
		at->absent &= v[i].absent;
		count += v[i].value;
		enabled += v[i].enabled;
		running += v[i].running;
	}
	wanted = (double)(enabled - at->enabled);
	ran = (double)(running - at->running);
	at->now = (double)(count - at->count) * scale;
	at->half = 0;
	if (ran <= 0 && wanted > 0) {
		at->now = NAN;
		at->owed += wanted;
	} else if (wanted > ran * 1.0001) {
		at->now *= wanted / ran;
		at->half = NAN;
	}
	if (!isnan(at->now)) {
		at->total += at->now * (1 + (wanted > 0 ? at->owed / wanted : 0));
		at->owed = wanted > 0 ? 0 : at->owed;
	}
	at->count = count;
	at->enabled = enabled;
	at->running = running;
}

void monitor_cgroup_count(struct monitor *m, size_t slot)
{
	struct cgroup_setup *s = &m->cgroup_setup;
	struct cgroup_counters *own = &s->own[slot];
	struct err err = ERR_INIT;
	bool failed = !own->c || counters_read(own->c, 0, s->value, &err);

	for (size_t e = 0; e < s->n; e++) {
		const struct source *of = &m->source.v[s->source[e]];
		struct slot *at = &of->at[m->targets + slot];

		at->why = failed && own->c ? "it cannot be read any more"
			  : failed	   ? own->why
					   : counters_refused(own->c, 0, e, NULL);
		at->absent = at->why != NULL;
		if (!at->why)
			take_cgroup_counts(at, &s->value[e * m->targets], m->targets, of->scale);
		if (!own->counted)
			at->now = NAN;
	}
	own->counted = true;
}
