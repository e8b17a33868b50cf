/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record --account: the events of the CPU's accounting (account_plan.h), fitted to the kernel's
 * limits. An event that it refuses is left out and named, but the cycles must be there.
 */
#include <string.h>

#include "collect/sysfs.h"
#include "measure/sampling/sampling_int.h"

/* ---- which events ----------------------------------------------------------------------- */

static int add_which(struct sampling *r, const struct account_event **which, size_t n, size_t from,
		     uint32_t plan, struct err *err)
{
	struct sampling_of *of = arena_alloc(r->arena, (from + n + 1) * sizeof(*of));

	if (!of)
		return err_nomem(err);
	if (from)
		memcpy(of, r->of, from * sizeof(*of));
	for (size_t i = 0; i < n; i++)
		of[from + i] = (struct sampling_of){ which[i], plan, false };
	r->of = of;
	return 0;
}

int sampling_account_more(struct sampling *r, struct err *err)
{
	static const struct account_event none = { .group = ACCOUNT_PINNED };
	const struct account_event *which[] = { &none };

	return add_which(r, which, 1, r->events.ev.n - 1, UINT32_MAX, err);
}

static int add_account_core(struct sampling *r, const char *pmu, struct err *err)
{
	struct account_plan *p = &r->account[r->n_accounts];
	const struct account_event **which;
	const char *missing;
	size_t from = r->events.ev.n;

	r->n_accounts++;
	if (account_plan_make(p, &r->opts, &r->k.machine, r->k.root, pmu, err))
		return -1;
	if (account_plan_events(p, &r->events, r->k.root, &which, &missing, err)) {
		/* the plan can be shown all the same */
		if (!r->opts.dry_run)
			return -1;
		err_clear(err);
		return 0;
	}
	if (*missing)
		measure_news(&r->opts, "left out, this machine does not know them: %s", missing);
	return add_which(r, which, r->events.ev.n - from, from, (uint32_t)r->n_accounts - 1, err);
}

/* A kind of core without an accounting of its own is left out, unless it is the only one. */
static int add_or_pass(struct sampling *r, const char *pmu, struct err *err)
{
	struct err why = ERR_INIT;

	if (!add_account_core(r, pmu, &why))
		return 0;
	if (why.code != ERR_NOT_FOUND || !r->n_accounts) {
		*err = why;
		return -1;
	}
	account_plan_free(&r->account[--r->n_accounts]);
	measure_news(&r->opts, "not on the cores of %s: %s", pmu, why.what);
	if (!r->passed.code)
		r->passed = why;
	return 0;
}

int sampling_account_events(struct sampling *r, struct err *err)
{
	const struct machine *m = &r->k.machine;
	size_t cores = 0;

	for (size_t i = 0; i < m->n_pmus; i++)
		cores += sys_core_pmu(r->k.root, m->pmu[i].name);
	if (cores <= 1) {
		const char *pmu = "cpu";

		for (size_t i = 0; i < m->n_pmus; i++)
			if (sys_core_pmu(r->k.root, m->pmu[i].name))
				pmu = m->pmu[i].name;
		return add_account_core(r, pmu, err);
	}
	for (size_t i = 0; i < m->n_pmus && r->n_accounts < SAMPLING_CORES; i++)
		if (sys_core_pmu(r->k.root, m->pmu[i].name) && add_or_pass(r, m->pmu[i].name, err))
			return -1;
	if (r->n_accounts)
		return 0;
	*err = r->passed;
	return -1;
}

/* ---- fitted to the kernel --------------------------------------------------------------- */

void sampling_account_wish(const struct sampling *r, size_t i, struct attr_opts *w)
{
	w->wish.branch |= r->of[i].event->branches && w->chain != CHAIN_LBR;
}

bool sampling_account_without(struct sampling *r, size_t i, const struct err *why)
{
	struct sampling_of *of = &r->of[i];

	if (!i || r->ev[i].attr.mmap || why->code == ERR_NOMEM)
		return false; /* the recording needs it */
	of->left_out = true;
	measure_news(&r->opts, "left out: %s: %s", r->ev[i].name, why->what);
	return true;
}

static bool is_led_by(const struct sampling *r, size_t i, size_t leader)
{
	const struct account_event *x = r->of[i].event, *l = r->of[leader].event;

	return r->of[i].plan == r->of[leader].plan && x->group == l->group &&
	       x->group != ACCOUNT_PINNED;
}

static void drop_left_out(struct sampling *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->events.ev.n; i++) {
		if (r->of[i].left_out)
			continue;
		r->of[kept] = r->of[i];
		r->ev[kept] = r->ev[i];
		r->events.ev.v[kept] = r->events.ev.v[i];
		kept++;
	}
	r->events.ev.n = kept;
	for (size_t i = 0; i < kept; i++)
		r->ev[i].group = r->events.ev.v[i].group = (int)i;
}

/* Members of the leader's group, as many as the kernel takes together; the others lead groups of
 * their own. */
static int lead(struct sampling *r, size_t leader, struct err *err)
{
	size_t n = 0, took;
	const struct perf_event_attr **attr =
		arena_alloc(r->arena, (r->events.ev.n + 1) * sizeof(*attr));
	size_t *at = arena_alloc(r->arena, (r->events.ev.n + 1) * sizeof(*at));
	bool whole = sampling_whole(r);

	if (!attr || !at)
		return err_nomem(err);
	for (size_t i = leader; i < r->events.ev.n; i++) {
		if (r->ev[i].group != (int)i || (i != leader && !is_led_by(r, i, leader)))
			continue;
		at[n] = i;
		attr[n++] = &r->ev[i].attr;
	}
	took = n < 2 ? n : attr_fit_group(attr, n, whole ? -1 : 0, sampling_try_cpu(r, leader));
	for (size_t i = 1; i < took; i++) {
		r->ev[at[i]].group = r->events.ev.v[at[i]].group = (int)leader;
		r->ev[at[i]].attr.disabled = r->ev[at[i]].attr.enable_on_exec = 0;
	}
	r->account_split += took < n;
	return 0;
}

int sampling_account_groups(struct sampling *r, struct err *err)
{
	drop_left_out(r);
	for (size_t i = 0; i < r->events.ev.n; i++)
		if (r->ev[i].group == (int)i && lead(r, i, err))
			return -1;
	if (r->account_split)
		measure_news(&r->opts,
			     "the kernel does not take all groups as they were planned: %zu "
			     "more take turns",
			     r->account_split);
	return 0;
}
