/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/view.h"

#include <assert.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "report/profile/view_parts.h"
#include "report/view_latency.h"

/* ---- which events, which columns ---------------------------------------------------------------
 */

static bool event_wanted(const struct view *v, size_t e)
{
	const char *name = v->source.event[e].name;

	for (size_t i = 0; i < v->opts.n_events; i++)
		if (text_means(v->opts.events[i], name))
			return true;
	return !v->opts.n_events;
}

static int no_such_event(const struct view *v, struct err *err)
{
	const char **names = xcalloc(v->source.n_events + 1, sizeof(*names));

	for (size_t i = 0; i < v->source.n_events; i++)
		names[i] = v->source.event[i].name;
	(void)err_set(err, ERR_USAGE, "no event of the recording is called '%.60s'",
		      v->opts.events[0]);
	(void)text_suggest(err, v->opts.events[0], names, "cyclade info lists its %zu events",
			   v->source.n_events);
	free(names);
	return -1;
}

/* For people, slots and the fields of PERF_METRICS are columns, unless they are asked for. */
static bool is_view_column(const struct view *v, size_t e)
{
	return !v->opts.machine && !v->opts.n_events && v->opts.shape == VIEW_TABLE &&
	       topdown_is_part(&v->topdown, e);
}

/* Returns true for an event that only records mappings: without samples it is not shown. */
static bool only_tells(const struct view *v, size_t e)
{
	const struct perf_event_attr *a = &v->source.event[e].attr;

	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY &&
	       v->source.n_events > 1 && !v->opts.n_events;
}

static void put_first(uint32_t *index, const struct profile_sum **sums, size_t at)
{
	uint32_t event = index[at];
	const struct profile_sum *sum = sums[at];

	memmove(index + 1, index, at * sizeof(*index));
	memmove(sums + 1, sums, at * sizeof(*sums));
	index[0] = event;
	sums[0] = sum;
}

/* A table per event with samples; all of them if none has any. For people the one that leads comes
 * first. */
static int make_view_tables(struct view *v, struct err *err)
{
	size_t n_sums, n = 0, n_seen = 0;
	const struct profile_sum *sum = profile_sums(v->profile, &n_sums);
	size_t n_events = v->source.n_events < n_sums ? v->source.n_events : n_sums;
	uint32_t *index = arena_xalloc(&v->arena, (n_events + 1) * sizeof(*index));
	const struct profile_sum **sums = arena_xalloc(&v->arena, (n_events + 1) * sizeof(*sums));

	for (size_t e = 0; e < n_events; e++)
		n_seen += event_wanted(v, e) && !is_view_column(v, e) && sum[e].selected.samples;
	for (size_t e = 0; e < n_events; e++) {
		if (!event_wanted(v, e) ||
		    (n_seen && (is_view_column(v, e) || !sum[e].selected.samples)) ||
		    (!n_seen && only_tells(v, e)))
			continue;
		sums[n] = &sum[e];
		index[n++] = (uint32_t)e;
	}
	for (size_t i = 1; i < n && !v->opts.machine; i++)
		if (index[i] == v->source.lead)
			put_first(index, sums, i);
	if (!n && v->opts.n_events)
		return no_such_event(v, err);
	v->opts.side_by_side &= v->opts.shape == VIEW_TABLE && n > 1;
	v->n_tables = v->opts.side_by_side ? 1 : n;
	v->table = arena_xalloc(&v->arena, (n + 1) * sizeof(*v->table));
	for (size_t i = 0; i < v->n_tables; i++) {
		struct view_table *t = &v->table[i];

		t->event = index + i;
		t->sum = sums + i;
		t->n_events = v->opts.side_by_side ? n : 1;
		t->unlisted = arena_xalloc(&v->arena, t->n_events * sizeof(*t->unlisted));
	}
	return 0;
}

static void list_put(struct column_list *l, enum column_id id)
{
	l->id[l->n++] = id;
}

static void topdown_columns(struct view *v)
{
	for (int id = 0; id < COL_COUNT; id++) {
		enum column_of of = column_table[id].of;

		if ((of == COLUMN_OF_TOPDOWN && (v->opts.machine || id <= COL_MOSTLY_ERROR)) ||
		    (of == COLUMN_OF_TOPDOWN_2 && v->opts.machine && v->topdown.levels == 2))
			list_put(&v->columns, (enum column_id)id);
	}
}

/* No error bars: the branches of a stack follow one another, and are no samples by themselves. */
static void branch_columns(struct view *v)
{
	static const enum column_id machine[] = { COL_EVENT,	    COL_BRANCHES,    COL_SHARE,
						  COL_MISPREDICTED, COL_MISPREDICTS, COL_PREDICTS,
						  COL_IN_TX,	    COL_ABORTS,	     COL_CYCLES },
				    people[] = { COL_SHARE, COL_BRANCHES, COL_MISPREDICTED,
						 COL_CYCLES };
	const enum column_id *id = v->opts.machine ? machine : people;
	size_t n = v->opts.machine ? sizeof(machine) / sizeof(*machine)
				   : sizeof(people) / sizeof(*people);

	for (size_t i = 0; i < n; i++)
		list_put(&v->columns, id[i]);
}

static void default_columns(struct view *v)
{
	static const enum column_id machine[] = { COL_EVENT, COL_SAMPLES, COL_PERIOD, COL_SHARE,
						  COL_ERROR },
				    totals[] = { COL_TOTAL_SAMPLES, COL_TOTAL_PERIOD, COL_TOTAL,
						 COL_TOTAL_ERROR },
				    tree[] = { COL_ID, COL_PARENT, COL_DEPTH };
	const struct profile_opts *o = profile_options(v->profile);
	struct column_list *l = &v->columns;
	bool tab = v->opts.shape == VIEW_TABLE, is_tree = v->opts.shape >= VIEW_CALLEES;

	if (o->branches) {
		branch_columns(v);
	} else if (v->opts.machine) {
		for (size_t i = 0; i < sizeof(machine) / sizeof(*machine); i++)
			list_put(l, machine[i]);
		for (size_t i = 0; !tab && i < sizeof(totals) / sizeof(*totals); i++)
			list_put(l, totals[i]);
		for (size_t i = 0; is_tree && i < sizeof(tree) / sizeof(*tree); i++)
			list_put(l, tree[i]);
	} else {
		list_put(l, tab ? COL_SHARE : COL_TOTAL);
		list_put(l, tab ? COL_ERROR : COL_TOTAL_ERROR);
		if (!tab && v->opts.shape != VIEW_CALLERS)
			list_put(l, COL_SELF);
	}
	if (!tab) {
		if (!is_tree || v->opts.machine)
			list_put(l, COL_DSO);
		list_put(l, is_tree && !v->opts.machine ? COL_FRAME : COL_SYM);
		if (is_tree && v->opts.machine)
			list_put(l, COL_INLINE);
		if (o->chain_lines)
			list_put(l, COL_SRCLINE);
	}
	for (size_t i = 0; tab && i < o->n_keys; i++)
		list_put(l, column_of_key(o->key[i]));
	if (tab && v->topdown.levels)
		topdown_columns(v);
}

static bool is_key(const struct profile_opts *o, enum column_id id)
{
	for (size_t i = 0; i < o->n_keys; i++)
		if (column_of_key(o->key[i]) == id)
			return true;
	return id == COL_EVENT;
}

static bool column_allowed(void *ctx, enum column_id id)
{
	const struct view *v = ctx;
	const struct profile_opts *o = profile_options(v->profile);
	bool tab = v->opts.shape == VIEW_TABLE;

	if (column_table[id].flags & C_KEY && (tab || id == COL_EVENT))
		return is_key(o, id);
	if (column_table[id].flags & C_KEY)
		return column_table[id].flags & COLUMN_FRAME &&
		       (id != COL_SRCLINE || o->chain_lines);
	switch (column_table[id].of) {
	case COLUMN_OF_ALL:
		return true;
	case COLUMN_OF_SAMPLES:
		return !o->branches;
	case COLUMN_OF_BRANCHES:
		return o->branches;
	case COLUMN_OF_TOPDOWN:
	case COLUMN_OF_TOPDOWN_2:
		return tab && v->topdown.levels;
	case COLUMN_OF_MEMORY:
		return tab && v->opts.memory && view_latency_by(o) != MEMORY_BYS;
	case COLUMN_OF_CALLS:
		return !tab;
	case COLUMN_OF_TREE:
		return v->opts.shape >= VIEW_CALLEES;
	}
	return false;
}

/* ---- rows of a table ---------------------------------------------------------------------------
 */

unsigned view_row_bits(const struct view *v, const struct profile_row *r, struct filter *f)
{
	const struct profile_opts *o = profile_options(v->profile);
	unsigned bits = 0;

	for (size_t i = 0; i < o->n_keys; i++) {
		char text[32];

		switch (profile_key_kind(o->key[i])) {
		case KEY_IS_NUMBER:
			(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)r->key[i]);
			bits |= filter_text(f, text);
			break;
		case KEY_IS_ADDRESS:
			(void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)r->key[i]);
			bits |= filter_text(f, text);
			break;
		case KEY_IS_TEXT:
			bits |= filter_string(f, (uint32_t)r->key[i]);
		}
	}
	return bits;
}

/* So that not each table of one event looks at all rows. */
static void sort_by_event(struct view *v)
{
	size_t n, n_events, n_cells = 0;
	const struct profile_row *rows = profile_rows(v->profile, &n);
	size_t *next;

	(void)profile_sums(v->profile, &n_events);
	if (v->opts.shape != VIEW_TABLE || v->opts.side_by_side || v->n_tables < 2)
		return;
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].event)
			return; /* it has all events */
		n_cells += rows[i].n_cells;
	}
	next = arena_xalloc(&v->arena, (n_events + 2) * sizeof(*next));
	v->by_event = arena_xalloc(&v->arena, (n_cells + 1) * sizeof(*v->by_event));
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < rows[i].n_cells; k++)
			next[rows[i].event[k] + 2]++;
	for (size_t e = 2; e < n_events + 2; e++)
		next[e] += next[e - 1];
	v->first = next;
	next++; /* of an event: the place of its next row, and at last the begin of the next event's
		 * rows */
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < rows[i].n_cells; k++)
			v->by_event[next[rows[i].event[k]]++] = (uint32_t)i;
}

/* Appends a row to *rows, or adds it to `out` if the filter leaves it out. */
static void add_view_row(struct view *v, const struct view_table *t, struct filter *f,
			 const struct profile_row *r, row_vec *rows, struct tally *out,
			 size_t *n_out)
{
	bool any = false;
	struct tally *w;

	for (size_t e = 0; e < t->n_events; e++)
		any |= profile_tally(r, t->event[e])->samples != 0;
	if (!any)
		return;
	if (!filter_keeps(f, view_row_bits(v, r, f))) {
		++*n_out;
		for (size_t e = 0; e < t->n_events; e++)
			tally_add(&out[e], profile_tally(r, t->event[e]));
		return;
	}
	w = arena_xalloc(&v->arena, t->n_events * sizeof(*w));
	*vec_xadd(rows) = (struct view_row){
		.row = r, .frame = UINT32_MAX, .levels = 1, .self = w, .total = w
	};
	for (size_t e = 0; e < t->n_events; e++)
		w[e] = *profile_tally(r, t->event[e]);
}

static void fill_view_rows(struct view *v, struct view_table *t, struct filter *f)
{
	size_t n, n_out = 0, at = 0;
	const struct profile_row *rows = profile_rows(v->profile, &n);
	struct tally *out = arena_xalloc(&v->arena, t->n_events * sizeof(*out));
	row_vec vec = VEC_INIT;

	if (v->first) {
		at = v->first[t->event[0]];
		n = v->first[t->event[0] + 1];
	}
	for (; at < n; at++)
		add_view_row(v, t, f, &rows[v->first ? v->by_event[at] : at], &vec, out, &n_out);
	view_fold(v, t, &vec, out, n_out);
}

struct by_weight {
	const struct profile *profile;
	const struct view_table *t;
};

static int by_view_weight(const void *va, const void *vb, void *ctx)
{
	const struct view_row *a = va, *b = vb;
	const struct by_weight *by = ctx;
	const struct view_table *t = by->t;

	for (size_t e = 0; e < t->n_events; e++) {
		if (a->total[e].period != b->total[e].period)
			return a->total[e].period < b->total[e].period ? 1 : -1;
		if (a->self[e].period != b->self[e].period)
			return a->self[e].period < b->self[e].period ? 1 : -1;
		if (a->total[e].samples != b->total[e].samples)
			return a->total[e].samples < b->total[e].samples ? 1 : -1;
	}
	if (a->row && b->row && a->row != b->row)
		return profile_row_order(by->profile, a->row, b->row); /* which is fixed */
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* Returns true if a row is below --min in every event of the table. */
static bool too_small(const struct view *v, const struct view_table *t, const struct view_row *r)
{
	for (size_t e = 0; e < t->n_events; e++)
		if ((double)r->total[e].period >= v->opts.min * (double)t->sum[e]->selected.period)
			return false;
	return true;
}

static void push_fold(struct view *v, struct view_table *t, row_vec *rows, const struct tally *w,
		      uint64_t n, bool left_out)
{
	struct tally *copy = arena_xmemdup(&v->arena, w, t->n_events * sizeof(*w));

	*vec_xadd(rows) = (struct view_row){ .frame = UINT32_MAX,
					     .levels = 1,
					     .folded = n,
					     .left_out = left_out,
					     .self = copy,
					     .total = copy };
}

void view_keep(struct view *v, struct view_table *t, const row_vec *rows)
{
	t->n_rows = rows->n;
	t->row = arena_xmemdup(&v->arena, rows->v, rows->n * sizeof(*rows->v));
}

/* Takes `rows` over. With --min and --limit the tail of the sorted rows becomes one. Functions'
 * totals overlap, so only their self weights are summed. */
void view_fold(struct view *v, struct view_table *t, row_vec *rows, const struct tally *left_out,
	       uint64_t n_left_out)
{
	struct tally *rest = arena_xalloc(&v->arena, t->n_events * sizeof(*rest));
	struct view_row only = { 0 };
	size_t keep = 0;
	uint64_t n_rest;

	/* of tens of thousands of rows a few are shown: the others need no order */
	for (size_t i = 0; i < rows->n; i++) {
		struct view_row r = rows->v[i];

		if (v->opts.min > 0 && too_small(v, t, &r)) {
			for (size_t e = 0; e < t->n_events; e++)
				tally_add(&rest[e], &r.self[e]);
			only = r;
			continue;
		}
		rows->v[keep++] = r;
	}
	n_rest = rows->n - keep;
	if (keep > 1)
		qsort_r(rows->v, keep, sizeof(*rows->v), by_view_weight,
			&(struct by_weight){ v->profile, t });
	for (; v->opts.limit && keep > v->opts.limit; n_rest++) {
		only = rows->v[--keep];
		for (size_t e = 0; e < t->n_events; e++)
			tally_add(&rest[e], &only.self[e]);
	}
	if (n_rest == 1 && (!v->opts.limit || keep < v->opts.limit)) {
		rows->v[keep++] = only; /* a fold of one would only hide its name */
		n_rest = 0;
	}
	rows->n = keep;
	if (n_rest)
		push_fold(v, t, rows, rest, n_rest, false);
	if (n_left_out)
		push_fold(v, t, rows, left_out, n_left_out, true);
	view_keep(v, t, rows);
	vec_free(rows);
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

#ifndef NDEBUG
static bool view_closes(const struct view *v, const struct view_table *t)
{
	if (v->opts.shape >= VIEW_CALLEES)
		return true; /* asserted by the code that makes the tree */
	for (size_t e = 0; e < t->n_events; e++) {
		struct tally all = { 0 };

		for (size_t i = 0; i < t->n_rows; i++)
			tally_add(&all, &t->row[i].self[e]);
		if (all.samples != t->sum[e]->selected.samples ||
		    all.period != t->sum[e]->selected.period)
			return false;
	}
	return true;
}
#endif

static void fill_tables(struct view *v, struct filter *f)
{
	for (size_t i = 0; i < v->n_tables; i++) {
		struct view_table *t = &v->table[i];

		if (v->opts.shape == VIEW_TABLE)
			fill_view_rows(v, t, f);
		else if (v->opts.shape == VIEW_FUNCTIONS)
			view_functions_fill(v, t, f);
		else
			view_tree_fill(v, t, f);
		assert(view_closes(v, t));
	}
}

int view_build(struct view **out, const struct profile *p, const struct view_source *source,
	       const struct view_opts *opts, struct err *err)
{
	struct view *v = xcalloc(1, sizeof(*v));
	struct filter f = { 0 };
	int ret = -1;

	*out = NULL;
	v->profile = p;
	v->source = *source;
	v->opts = *opts;
	if (opts->shape != VIEW_TABLE && !profile_chains(p)) {
		(void)err_set(err, ERR_USAGE, "a call tree needs chains, and none were built");
		goto out;
	}
	if (!profile_options(p)->branches)
		topdown_find(&v->topdown, v->source.event, v->source.n_events);
	default_columns(v);
	if ((columns_want_latency(opts->fields) && view_latency_check(v, err)) ||
	    columns_parse(&v->columns, opts->fields, column_allowed, v, err) ||
	    filter_init(&f, v, err) || make_view_tables(v, err))
		goto out;
	sort_by_event(v);
	fill_tables(v, &f);
	*out = v;
	v = NULL;
	ret = 0;
out:
	filter_free(&f);
	view_free(v);
	return ret;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	view_latency_free(v);
	arena_free(&v->arena);
	free(v);
}

unsigned view_width_side_by_side(size_t n)
{
	/* share and error of each event, and the least width of names */
	return n > 20 ? 1000 : (unsigned)(15 * n + 44);
}

const char *view_function(const struct view *v, const struct view_row *r)
{
	const struct profile_opts *o = profile_options(v->profile);

	if (r->frame != UINT32_MAX) {
		const struct profile_frame *f = &profile_chains(v->profile)->frame[r->frame];

		return f->symbol ? profile_text(v->profile, f->name) : NULL;
	}
	for (size_t i = 0; r->row && r->row->symbol && i < o->n_keys; i++)
		if (o->key[i] == KEY_SYM)
			return profile_text(v->profile, (uint32_t)r->row->key[i]);
	return NULL;
}

static uint64_t view_weight(const struct view_row *r, bool callers)
{
	return callers ? r->total->period : r->self->period;
}

const struct view_row *view_hottest(const struct view *v)
{
	bool callers = v->opts.shape == VIEW_CALLERS; /* whose first level are the functions */
	const struct view_row *best = NULL;

	for (size_t i = 0; v->n_tables && i < v->table->n_rows; i++) {
		const struct view_row *r = &v->table->row[i];

		if (callers && r->depth > 1)
			continue;
		/* not by itself: its code stands in the function it was inlined into */
		if (r->frame != UINT32_MAX && profile_chains(v->profile)->frame[r->frame].inlined)
			continue;
		if (view_function(v, r) &&
		    (!best || view_weight(r, callers) > view_weight(best, callers)))
			best = r;
	}
	return best;
}
