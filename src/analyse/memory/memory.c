/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - from the recording to the result: the events of memory operations, one pass that counts,
 * groups in their order.
 */
#include "analyse/memory/memory_int.h"

#include <stdlib.h>

#include "analyse/again.h"
#include "analyse/memory/memory_operand_int.h"
#include "analyse/memory/memory_places_int.h"
#include "analyse/memory/memory_scan_int.h"
#include "analyse/memory/memory_types.h"
#include "analyse/pass.h"
#include "base/invariant.h"
#include "base/sort.h"
#include "base/text.h"

/* By kind of group, then most samples first. */
static uint64_t rank_of(const struct memory_group *g)
{
	assert(g->samples >> 56 == 0);
	return (uint64_t)g->by << 56 | ((UINT64_C(1) << 56) - 1 - g->samples);
}

/* The places of groups in their order. Each sort keeps the order of the one before among equals. */
static void find_order(const struct memory_group *g, struct keyed *at, struct keyed *scratch,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (struct keyed){ g[i].key[0], (uint32_t)i, 0 };
	keyed_sort(at, scratch, n);
	for (size_t i = 0; i < n; i++)
		at[i].key = g[at[i].a].key[1];
	keyed_sort(at, scratch, n);
	for (size_t i = 0; i < n; i++)
		at[i].key = rank_of(&g[at[i].a]);
	keyed_sort(at, scratch, n);
}

/* Each group is moved once: there is no room for all of them again. */
static void put_in_order(struct memory_group *g, struct keyed *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct memory_group first = g[i];
		size_t to = i;

		while (at[to].a != i) {
			size_t from = at[to].a;

			g[to] = g[from];
			at[to].a = (uint32_t)to;
			to = from;
		}
		at[to].a = (uint32_t)to;
		g[to] = first;
	}
}

static int order_groups(struct memory *m, struct memory_work *w)
{
	size_t n = w->group.n;
	struct keyed *at = malloc((2 * n + 1) * sizeof(*at));

	if (!at)
		return -1;
	find_order(w->group.v, at, at + n, n);
	put_in_order(w->group.v, at, n);
	free(at);
	m->group = w->group.v;
	for (size_t i = 0; i < n; i++)
		m->first[m->group[i].by + 1] = i + 1;
	for (size_t i = 1; i <= MEMORY_BYS; i++)
		if (m->first[i] < m->first[i - 1])
			m->first[i] = m->first[i - 1];
	return 0;
}

static int make_result(struct memory *m, struct memory_work *w, struct err *err)
{
	if (memory_sum(w) || order_groups(m, w) || memory_make_spreads(m, w) ||
	    memory_layouts(m, &w->layout, &m->n_layouts))
		return err_nomem(err);
	m->how = w->how;
	m->layout = w->layout;
	m->samples = w->c.samples;
	m->without = w->c.without;
	m->no_access = w->c.no_access;
	m->period_varies = w->c.period_varies;
	m->raw = w->c.raw;
	for (unsigned i = 0; i < MEMORY_OPERANDS; i++) {
		m->computed[m->n_computed].why = (enum memory_operand_why)i;
		m->computed[m->n_computed].samples = w->c.operand[i];
		m->n_computed += w->c.operand[i] != 0;
	}
	for (size_t i = m->first[MEMORY_ACCESS]; i < m->first[MEMORY_ACCESS + 1]; i++)
		m->fetches += memory_is_fetch(&m->group[i]) ? m->group[i].samples : 0;
	return 0;
}

bool memory_told(const struct pd *rec)
{
	size_t n;
	const struct pd_event *e = pd_events(rec, &n);

	while (n && memop_how(rec, &e[n - 1]).from == MEMOP_FROM_NOTHING)
		n--;
	return n;
}

static bool wants_event(const struct memory_opts *o, const struct pd_event *e)
{
	if (o->only)
		return e == o->only;
	if (!o->n_events)
		return text_means(o->select.event, e->name);
	for (size_t i = 0; i < o->n_events; i++)
		if (text_means(o->events[i], e->name))
			return true;
	return false;
}

/* Returns a name that means none of the events; NULL: there is none. */
static const char *unknown_event(const struct memory_opts *o, const struct pd_event *e,
				 const bool *events, size_t n)
{
	const char *const single[] = { o->select.event };
	const char *const *name = o->n_events ? o->events : single;

	for (size_t i = 0; i < (o->n_events ? o->n_events : 1); i++) {
		size_t k = 0;

		while (k < n && !(events[k] && text_means(name[i], e[k].name)))
			k++;
		if (k == n)
			return name[i];
	}
	return NULL;
}

/* Returns true if bare latencies and registers are not used: they were not asked for, and there are
 * other events of memory. */
static bool bare_unwanted(const struct memory_work *w, const struct memory_opts *o, size_t n)
{
	bool unwanted = !o->n_events && !o->select.event && !o->only;

	for (size_t i = 0; i < n && unwanted; i++)
		if (w->how[i].from > MEMOP_FROM_WEIGHTS)
			return true;
	return false;
}

/* Returns how an event has memory operations; with registers, these may give addresses. */
static struct memop_how how_of(const struct pd *rec, const struct pd_event *e, bool registers)
{
	struct memop_how how = memop_how(rec, e);

	if (registers && how.from == MEMOP_FROM_NOTHING &&
	    !(e->attr.sample_type & PERF_SAMPLE_ADDR) &&
	    memory_operand_event(rec, e, &how) == MEMORY_OPERAND_COMPUTED)
		how.from = MEMOP_FROM_REGISTERS;
	return how;
}

/* Chooses the events of memory operations that are in the selection. */
static int choose_events(struct memory_work *w, const struct pd *rec, const struct memory_opts *o,
			 bool registers, bool **events, struct err *err)
{
	size_t n, usable = 0;
	const struct pd_event *e = pd_events(rec, &n);
	enum memop_from least;
	const char *unknown;

	w->how = calloc(n + 1, sizeof(*w->how));
	*events = calloc(n + 1, sizeof(**events));
	if (!w->how || !*events)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		w->how[i] = how_of(rec, &e[i], registers);
	least = bare_unwanted(w, o, n) ? MEMOP_FROM_FIELDS : MEMOP_FROM_REGISTERS;
	for (size_t i = 0; i < n; i++) {
		(*events)[i] = w->how[i].from >= least && wants_event(o, &e[i]);
		usable += (*events)[i];
		if (!(*events)[i]) /* left out of messages */
			w->how[i] = (struct memop_how){ .from = MEMOP_FROM_NOTHING };
	}
	if (o->or_none && !memory_told(rec))
		return 0;
	unknown = unknown_event(o, e, *events, n);
	if (usable && !unknown)
		return 0;
	if (memory_told(rec))
		return err_set(err, ERR_NOT_FOUND, "no event '%.100s' tells of memory operations",
			       unknown);
	(void)err_set(err, ERR_NOT_FOUND, "no event of the recording tells of memory operations");
	return again_hint(err, pd_info(rec), "record some:", "--mem");
}

int memory_begin(struct memory **out, struct memory_objects **objects, struct pass *pass,
		 const struct pd *rec, struct spaces *sp, const struct memory_opts *opts,
		 struct err *err)
{
	struct memory *m = calloc(1, sizeof(*m));
	struct memory_work *w = calloc(1, sizeof(*w));
	struct memory_objects *o = NULL;

	*out = NULL;
	if (objects)
		*objects = NULL;
	if (!m || !w) {
		free(m);
		free(w);
		return err_nomem(err);
	}
	*w = (struct memory_work){
		.spaces = sp, .files_too = opts->files, .files = STRTAB_INIT, .rows = STRTAB_INIT
	};
	m->work = w;
	if (objects)
		data_begin(sp);
	if (choose_events(w, rec, opts, objects != NULL, &w->events, err) ||
	    memory_scan_begin(&w->scan, pass, objects ? &o : NULL, rec, sp, w->how, w->events, opts,
			      err)) {
		memory_free(m);
		memory_objects_free(o);
		return -1;
	}
	w->objects = o;
	*out = m;
	if (objects)
		*objects = o;
	return 0;
}

static void drop_memory_scan(struct memory_work *w)
{
	memory_scan_free(w->scan);
	free(w->events);
	w->scan = NULL;
	w->events = NULL;
}

int memory_end(struct memory *m, struct err *err)
{
	struct memory_work *w = m->work;
	int ret = memory_scan_end(&w->c, w->scan, err);

	drop_memory_scan(w);
	if (ret || memory_fold(w, err) || make_result(m, w, err) ||
	    (w->objects && memory_objects_type(w->objects, m, err)))
		return -1;
	assert(m->first[1] == 0 || m->group[0].samples == m->samples - m->without);
	return 0;
}

int memory_build(struct memory **out, struct memory_objects **objects, const struct pd *rec,
		 struct spaces *sp, const struct memory_opts *opts, struct err *err)
{
	const struct pass_opts po = { .progress = opts->progress,
				      .progress_ctx = opts->progress_ctx };
	struct pass *p = NULL;
	int ret;

	*out = NULL;
	if (objects)
		*objects = NULL;
	if (pass_new(&p, rec, sp, &opts->select, &po, err))
		return -1;
	ret = memory_begin(out, objects, p, rec, sp, opts, err) || pass_run(p, err) ||
			      memory_end(*out, err)
		      ? -1
		      : 0;
	pass_free(p);
	if (ret) {
		memory_free(*out);
		*out = NULL;
		if (objects) {
			memory_objects_free(*objects);
			*objects = NULL;
		}
	}
	return ret;
}

void memory_free(struct memory *m)
{
	struct memory_work *w = m ? m->work : NULL;

	if (w) {
		drop_memory_scan(w);
		memory_tallies_free(&w->c);
		vec_free(&w->group);
		vec_free(&w->first);
		vec_free(&w->part);
		itab_free(&w->group_at);
		vec_free(&w->spread);
		memory_bins_free(w->bins);
		free(w->sums);
		free(w->how);
		free(w->layout);
		strtab_free(&w->files);
		strtab_free(&w->rows);
	}
	free(w);
	free(m);
}
