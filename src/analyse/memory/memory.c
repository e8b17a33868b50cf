/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - from the recording to the result: which events tell of memory, one pass that counts,
 * groups in their order.
 */
#include "analyse/memory/memory_int.h"

#include <stdlib.h>

#include "analyse/memory/memory_scan_int.h"
#include "analyse/memory/memory_types.h"
#include "base/invariant.h"
#include "base/text.h"

static int by_samples(const void *a, const void *b)
{
	const struct memory_group *x = *(struct memory_group *const *)a,
				  *y = *(struct memory_group *const *)b;

	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->key[1] != y->key[1])
		return x->key[1] < y->key[1] ? -1 : 1;
	return (x->key[0] > y->key[0]) - (x->key[0] < y->key[0]);
}

static int order_groups(struct memory *m, struct memory_work *w)
{
	size_t n = w->group.n;
	struct memory_group **at = malloc((n + 1) * sizeof(*at));
	struct memory_group *group = malloc((n + 1) * sizeof(*group));

	if (!at || !group) {
		free(at);
		free(group);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		at[i] = &w->group.v[i];
	if (n > 1)
		qsort(at, n, sizeof(*at), by_samples);
	for (size_t i = 0; i < n; i++) {
		group[i] = *at[i];
		m->first[group[i].by + 1] = i + 1;
	}
	for (size_t i = 1; i <= MEMORY_BYS; i++)
		if (m->first[i] < m->first[i - 1])
			m->first[i] = m->first[i - 1];
	free(at);
	free(w->group.v);
	w->group.v = m->group = group;
	w->group.cap = n + 1;
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

static bool wants_event(const struct memory_opts *o, const char *name)
{
	if (!o->n_events)
		return text_means(o->select.event, name);
	for (size_t i = 0; i < o->n_events; i++)
		if (text_means(o->events[i], name))
			return true;
	return false;
}

/* A name that means none of the events; NULL: there is none. */
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

/* Events with bare latencies are left to who asks for them, where others tell of memory. */
static bool bare_unwanted(const struct memory_work *w, const struct memory_opts *o, size_t n)
{
	bool unwanted = !o->n_events && !o->select.event;

	for (size_t i = 0; i < n && unwanted; i++)
		if (w->how[i].from > MEMOP_FROM_WEIGHTS)
			return true;
	return false;
}

/* The events that tell of memory, of those that the selection means. */
static int choose_events(struct memory_work *w, const struct pd *rec, const struct memory_opts *o,
			 bool **events, struct err *err)
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
		w->how[i] = memop_how(rec, &e[i]);
	least = bare_unwanted(w, o, n) ? MEMOP_FROM_FIELDS : MEMOP_FROM_WEIGHTS;
	for (size_t i = 0; i < n; i++) {
		(*events)[i] = w->how[i].from >= least && wants_event(o, e[i].name);
		usable += (*events)[i];
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
	return err_hint(err, "record some: cyclade record --mem -- PROGRAM");
}

int memory_build(struct memory **out, struct memory_objects **objects, const struct pd *rec,
		 struct spaces *sp, const struct memory_opts *opts, struct err *err)
{
	struct memory *m = calloc(1, sizeof(*m));
	struct memory_work *w = calloc(1, sizeof(*w));
	bool *events = NULL;
	int ret;

	*out = NULL;
	if (objects)
		*objects = NULL;
	if (!m || !w) {
		free(m);
		free(w);
		return err_nomem(err);
	}
	*w = (struct memory_work){ .spaces = sp, .files = STRTAB_INIT, .rows = STRTAB_INIT };
	m->work = w;
	ret = choose_events(w, rec, opts, &events, err) || (objects && data_begin(sp, err)) ||
	      memory_scan(&w->c, objects, rec, sp, w->how, events, opts, err) ||
	      memory_fold(w, err) || make_result(m, w, err);
	free(events);
	assert(ret || m->first[1] == 0 || m->group[0].samples == m->samples - m->without);
	if (ret) {
		memory_free(m);
		memory_objects_free(objects ? *objects : NULL);
		if (objects)
			*objects = NULL;
	} else {
		*out = m;
	}
	return ret ? -1 : 0;
}

void memory_free(struct memory *m)
{
	struct memory_work *w = m ? m->work : NULL;

	if (w) {
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
