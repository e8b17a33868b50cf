/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drill_latency_open - samplers: on whom, when they are on, and on tasks that come later.
 */
#include <string.h>

#include "collect/family.h"
#include "measure/drill/drill_latency_int.h"

#define INHERITED_MAX 128u		/* CPUs times events */
#define FIRST_LOOK    (20ull * 1000000) /* then in steps that grow by a half */

static bool stage_asks(const struct plan_stage *st, const struct plan_group *pg)
{
	for (size_t i = 0; i < st->n_latency; i++)
		for (size_t e = 0; e < pg->n; e++)
			if (st->latency[i] == pg->event[e])
				return true;
	return false;
}

static bool is_latency_wanted(const struct drill *d, size_t group)
{
	const struct latency_group *g = &d->latency->group[group];
	const struct drill_core *c = &d->core[g->core];

	for (size_t s = 0; s < c->plan.n_stages; s++)
		if (stages_is_open(&c->stages, s) && stage_asks(&c->plan.stage[s], g->plan))
			return d->mode != DRILL_EACH || d->latency->each == group;
	return false;
}

void drill_latency_read(struct drill_latency *l, bool stop)
{
	if (!l->n_l || l->stopped)
		return;
	for (size_t i = 0; i < l->n_l && stop; i++)
		if (latency_stop(l->l[i], NULL))
			l->failed = "the thread that reads the samples failed";
	l->stopped = stop;
	latency_read(l->l[0], l->now);
	for (size_t i = 1; i < l->n_l; i++) {
		latency_read(l->l[i], l->room);
		for (size_t e = 0; e < l->n; e++)
			latency_add(&l->now[e], &l->room[e]);
	}
}

int drill_latency_refused(const struct drill_latency *l, size_t event)
{
	return l->n_l ? latency_refused(l->l[0], event) : 0;
}

/* The run that ended stays in the sums of all. */
static void end_latency_run(struct drill_latency *l)
{
	drill_latency_read(l, true);
	for (size_t i = 0; i < l->n_l; i++)
		latency_close(l->l[i]);
	l->n_l = 0;
	for (size_t i = 0; i < l->n; i++)
		latency_add(&l->ended[i], &l->now[i]);
	memset(l->now, 0, l->n * sizeof(*l->now));
	memset(l->mark, 0, l->n * sizeof(*l->mark));
	l->marked = 0;
	l->stopped = false;
}

/* Inherited counters need a ring on each CPU, and each costs whatever forks some microseconds. If
 * that would be many, tasks are sampled one by one. */
static void whom(struct latency_setup *s, struct drill_latency *l, const struct counting *k)
{
	const struct counter_setup *c = k->setup;

	s->cpus = c->cpus;
	s->n_cpus = c->n_cpus;
	s->tasks = c->tasks;
	s->n_tasks = c->n_tasks;
	s->cgroup_fd = c->cgroup_fd;
	s->inherit = c->inherit && c->tasks;
	s->enable_on_exec = c->enable_on_exec;
	l->n_tasks = 0;
	l->follows = false;
	if (!s->tasks || (s->inherit && s->cpus))
		return;
	if (s->inherit && k->who.cpus.n * l->n <= INHERITED_MAX) {
		s->cpus = k->who.cpus.v;
		s->n_cpus = k->who.cpus.n;
		return;
	}
	l->n_tasks = s->n_tasks < TASKS_MAX ? s->n_tasks : TASKS_MAX;
	memcpy(l->task, s->tasks, l->n_tasks * sizeof(*l->task));
	s->tasks = l->task;
	s->n_tasks = l->n_tasks;
	l->follows = s->inherit && !k->opts->tid.n;
	s->inherit = false;
	l->look_step = l->next_look = FIRST_LOOK;
}

static void exclude(struct latency_event *e, const struct counting *k)
{
	if (k->setup->user_only || (k->c && counters_without_kernel(k->c)))
		e->attr.exclude_kernel = e->attr.exclude_hv = 1;
	if (k->setup->kernel_only)
		e->attr.exclude_user = 1;
}

int drill_latency_begin(struct drill *d, const struct counting *k, struct err *err)
{
	struct drill_latency *l = d->latency;
	struct latency_setup s = { .event = l->event, .n_events = l->n };
	struct err why = ERR_INIT;

	end_latency_run(l);
	if (!l->n || (d->mode == DRILL_EACH && l->each == SIZE_MAX))
		return 0;
	whom(&s, l, k);
	for (size_t g = 0; g < l->n_groups; g++) {
		l->group[g].on = is_latency_wanted(d, g);
		for (size_t i = 0; i < l->group[g].n; i++) {
			l->event[l->group[g].first + i].on = l->group[g].on;
			exclude(&l->event[l->group[g].first + i], k);
		}
	}
	l->failed = NULL;
	if (!latency_open(&l->l[0], &s, &why)) {
		l->n_l = 1;
		return 0;
	}
	if (why.code == ERR_NOMEM)
		return err_nomem(err);
	l->failed = arena_strdup(d->a, why.what);
	return l->failed ? 0 : err_nomem(err);
}

static int switch_group(struct drill_latency *l, size_t group, bool on, struct err *err)
{
	for (size_t i = 0; i < l->n_l; i++)
		if (latency_switch(l->l[i], l->group[group].first, on, err))
			return -1;
	return 0;
}

int drill_latency_apply(struct drill *d, const struct counting *k, struct err *err)
{
	struct drill_latency *l = d->latency;

	for (size_t g = 0; l && l->n_l && g < l->n_groups; g++) {
		struct latency_group *x = &l->group[g];
		bool on = is_latency_wanted(d, g);

		if (on != x->on && k->counting && switch_group(l, g, on, err))
			return -1;
		x->on = on;
	}
	return 0;
}

int drill_latency_switched(struct drill *d, bool on, struct err *err)
{
	struct drill_latency *l = d->latency;

	if (!l || !l->n_l)
		return 0;
	for (size_t i = 0; i < l->n_l && !on; i++)
		if (latency_enable(l->l[i], false, err))
			return -1;
	for (size_t g = 0; g < l->n_groups && on; g++)
		if (l->group[g].on && switch_group(l, g, true, err))
			return -1;
	return 0;
}

bool drill_latency_next(struct drill *d)
{
	struct drill_latency *l = d->latency;

	for (size_t g = 0; g < l->n_groups; g++) {
		l->each = g;
		if (l->group[g].done || !is_latency_wanted(d, g))
			continue;
		l->group[g].done = true;
		return true;
	}
	l->each = SIZE_MAX;
	return false;
}

/* ---- tasks that came later -------------------------------------------------------------- */

static bool is_latency_known(const pid_t *known, size_t n, pid_t task)
{
	for (size_t i = 0; i < n; i++)
		if (known[i] == task)
			return true;
	return false;
}

/* Puts tasks that are not sampled yet behind those that are; returns how many there are then. */
static size_t look_at_tasks(const struct drill_latency *l, const struct counting *k, pid_t *task)
{
	pid_t found[TASKS_MAX];
	size_t n = l->n_tasks, roots = k->has_program ? 1 : k->setup->n_tasks;

	memcpy(task, l->task, n * sizeof(*task));
	for (size_t r = 0; r < roots && n < TASKS_MAX; r++) {
		size_t some = family_tasks(k->has_program ? k->work.pid : k->setup->tasks[r], found,
					   TASKS_MAX);

		for (size_t i = 0; i < some && n < TASKS_MAX; i++)
			if (!is_latency_known(task, n, found[i]))
				task[n++] = found[i];
	}
	return n;
}

/* Samplers for these; tasks that have ended are skipped. */
static int add_batch(struct drill_latency *l, const pid_t *task, size_t n, struct err *err)
{
	const struct latency_setup s = {
		.event = l->event, .n_events = l->n, .tasks = task, .n_tasks = n, .cgroup_fd = -1
	};
	struct latency *more;

	if (latency_open(&more, &s, NULL))
		return 0;
	l->l[l->n_l++] = more;
	for (size_t g = 0; g < l->n_groups; g++)
		if (l->group[g].on && latency_switch(more, l->group[g].first, true, err))
			return -1;
	return 0;
}

int drill_latency_follow(struct drill *d, const struct counting *k, struct err *err)
{
	struct drill_latency *l = d->latency;
	uint64_t now = k->now - k->start;
	pid_t task[TASKS_MAX];
	size_t n, from;

	if (!l || !l->follows || !k->counting || !l->n_l || l->n_l > BATCHES_MAX ||
	    now < l->next_look)
		return 0;
	l->look_step += l->look_step / 2;
	l->next_look = now + l->look_step;
	n = look_at_tasks(l, k, task);
	if (n == l->n_tasks)
		return 0;
	from = l->n_tasks;
	memcpy(l->task, task, n * sizeof(*task));
	l->n_tasks = n;
	return add_batch(l, l->task + from, n - from, err);
}

void drill_latency_free(struct drill *d)
{
	if (!d->latency)
		return;
	for (size_t i = 0; i < d->latency->n_l; i++)
		latency_close(d->latency->l[i]);
	event_list_free(&d->latency->list);
}
