/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "report/account_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "report/account/account_int.h"
#include "report/profile/view_parts.h"

#define SMALL 0.005 /* of all cycles: branches below are not columns */

static const struct account *account_view_acc_of(const struct account_view *v)
{
	return v->source.bound->acc;
}

static size_t account_view_cycles_event(const struct account_view *v)
{
	const struct account *acc = account_view_acc_of(v);

	return (size_t)v->source.bound->event[acc->node[0].event];
}

/* ---- columns ---- */

static double account_view_share_of(const struct account_view *v, uint32_t node)
{
	const struct account_cell *c = &v->source.bound->whole[node];
	double all = v->source.bound->whole[0].v;

	return account_view_acc_of(v)->node[node].cycles && all > 0 ? c->v / all : NAN;
}

bool account_shows(const struct account_view *v, uint32_t node)
{
	const struct account_cell *c = &v->source.bound->whole[node];
	const struct account_node *t = &account_view_acc_of(v)->node[node];

	if (v->opts.all || t->parent == MODEL_NONE)
		return true;
	if (isnan(c->v))
		return false;
	return t->cycles ? fabs(account_view_share_of(v, node)) >= SMALL : c->significant;
}

static bool is_branch(const struct account *acc, uint32_t node)
{
	const struct account_node *t = &acc->node[node];

	/* "not stalled" is the rest of the stalled one: no column of its own */
	return node && t->parent == MODEL_NONE && t->cycles && strcmp(t->name, "Unstalled") != 0 &&
	       (t->part == PART_STALLED || t->part == PART_UNSTALLED);
}

static bool is_opened(const struct account_view *v, uint32_t node)
{
	const char *name = account_view_acc_of(v)->node[node].name;

	for (size_t i = 0; i < v->opts.n_expand; i++)
		if (!strcasecmp(v->opts.expand[i], name) || !strcasecmp(v->opts.expand[i], "all"))
			return true;
	return false;
}

/* Returns true for an opened branch, or one above an opened one. */
static bool leads_to_opened(const struct account_view *v, uint32_t node)
{
	const struct account *acc = account_view_acc_of(v);

	for (uint32_t i = node; i < acc->n; i++) {
		uint32_t up = i;

		if (!is_opened(v, i))
			continue;
		while (up != MODEL_NONE && up != node)
			up = acc->node[up].parent;
		if (up == node)
			return true;
	}
	return false;
}

static void add_open(struct account_view *v, uint32_t node, unsigned indent)
{
	const struct account *acc = account_view_acc_of(v);

	v->indent[v->n_columns] = (uint8_t)indent;
	v->column[v->n_columns++] = node;
	if (!leads_to_opened(v, node))
		return;
	for (uint32_t i = node + 1; i < acc->n; i++) {
		bool told = v->opts.all || !isnan(v->source.bound->whole[i].v);

		if (acc->node[i].parent == node &&
		    ((is_opened(v, node) && told) || leads_to_opened(v, i)))
			add_open(v, i, indent + 1);
	}
}

static int account_view_by_share(const void *va, const void *vb, void *ctx)
{
	const struct account_view *v = ctx;
	const uint32_t *a = va, *b = vb;
	bool open_a = leads_to_opened(v, *a), open_b = leads_to_opened(v, *b);
	double x = account_view_share_of(v, *a), y = account_view_share_of(v, *b);

	if (open_a != open_b)
		return open_a ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

/* Returns true if a node of that name is in one of the trees. */
static bool account_view_is_node(const struct account_view *v, const char *s)
{
	for (size_t i = 0; i < v->source.n_all; i++)
		if (account_find(v->source.all[i]->acc, s, strlen(s)) != MODEL_NONE)
			return true;
	return account_find(account_view_acc_of(v), s, strlen(s)) != MODEL_NONE;
}

static int check_expand(const struct account_view *v, struct err *err)
{
	const struct account *acc = account_view_acc_of(v);
	const char **names;

	for (size_t i = 0; i < v->opts.n_expand; i++) {
		const char *s = v->opts.expand[i];

		if (!strcasecmp(s, "all") || account_view_is_node(v, s))
			continue;
		(void)err_set(err, ERR_USAGE, "the account of %s has no node '%.60s'",
			      acc->model->title, s);
		names = xcalloc(acc->n + 1, sizeof(*names));
		for (size_t k = 0; k < acc->n; k++)
			names[k] = acc->node[k].name;
		(void)text_suggest(err, s, names, "cyclade report --account -v lists them");
		free(names);
		return -1;
	}
	return 0;
}

/* The branches that are large enough somewhere to be shown, largest first; opened ones before. */
static int choose_account_view_columns(struct account_view *v, struct err *err)
{
	const struct account *acc = account_view_acc_of(v);
	uint32_t *branch = arena_xalloc(&v->arena, (acc->n + 1) * sizeof(*branch));
	size_t n = 0;

	v->column = arena_xalloc(&v->arena, (acc->n + 1) * sizeof(*v->column));
	v->indent = arena_xalloc(&v->arena, acc->n + 1);
	if (check_expand(v, err))
		return -1;
	for (uint32_t i = 0; i < acc->n; i++) {
		bool large = account_view_share_of(v, i) >= SMALL;

		if (leads_to_opened(v, i) ? acc->node[i].parent == MODEL_NONE
					  : is_branch(acc, i) && large)
			branch[n++] = i;
	}
	qsort_r(branch, n, sizeof(*branch), account_view_by_share, v);
	for (size_t i = 0; i < n; i++)
		add_open(v, branch[i], 0);
	return 0;
}

/* ---- rows ---- */

static void add_tallies(struct account_view *v, struct account_row *to,
			const struct account_row *from)
{
	profile_tallies(from->row, v->n_events, to->tally);
	to->cycles += from->cycles;
	to->folded++;
}

static void new_fold(struct account_view *v, struct account_row *r, bool left_out)
{
	*r = (struct account_row){ .left_out = left_out };
	r->tally = arena_xalloc(&v->arena, (v->n_events + 1) * sizeof(*r->tally));
}

static int account_view_by_cycles(const void *va, const void *vb)
{
	const struct account_row *a = va, *b = vb;

	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	if (a->row->all.samples != b->row->all.samples)
		return a->row->all.samples > b->row->all.samples ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* Makes room for one more behind `n`. Usually a few of a million rows are kept. */
static void account_view_room(struct account_view *v, size_t n)
{
	size_t cap = v->cap_rows ? v->cap_rows * 2 : 256;

	if (n < v->cap_rows)
		return;
	v->row = xreallocarray(v->row, cap, sizeof(*v->row));
	v->cap_rows = cap;
}

void account_view_push(struct account_view *v, const struct account_row *r)
{
	account_view_room(v, v->n_rows);
	v->row[v->n_rows++] = *r;
}

/* On a hybrid, each kind of cores has only some of the rows. */
static bool account_view_has_samples(const struct account_view *v, const struct profile_row *r)
{
	if (v->source.n_all < 2)
		return true;
	for (size_t e = 0; e < v->n_events; e++)
		if (account_uses(v->source.bound, e) && profile_tally(r, e)->samples)
			return true;
	return false;
}

static void nest_rows(struct account_view *v, struct filter *f, const struct view *fake)
{
	const struct profile_row *rows;
	struct account_row hidden;
	size_t n, cycles = account_view_cycles_event(v);
	bool *kept;

	rows = profile_rows(v->source.profile, &n);
	kept = xcalloc(n + 1, sizeof(*kept));
	new_fold(v, &hidden, true);
	for (size_t i = 0; i < n; i++) {
		const struct account_row r = { .row = &rows[i],
					       .cycles = profile_tally(&rows[i], cycles)->period };

		if (!account_view_has_samples(v, &rows[i]))
			continue;
		kept[i] = filter_keeps(f, view_row_bits(fake, &rows[i], f));
		if (!kept[i])
			add_tallies(v, &hidden, &r);
	}
	account_view_nest(v, cycles, v->opts.min * (double)v->whole[cycles].period, kept);
	if (hidden.folded)
		account_view_push(v, &hidden);
	free(kept);
}

static void fill_account_view_rows(struct account_view *v, struct filter *f,
				   const struct view *fake)
{
	const struct profile_row *rows;
	struct account_row rest, out;
	size_t n, cycles = account_view_cycles_event(v), keep = 0;
	double least = v->opts.min * (double)v->whole[cycles].period;

	rows = profile_rows(v->source.profile, &n);
	new_fold(v, &rest, false);
	new_fold(v, &out, true);
	for (size_t i = 0; i < n; i++) {
		struct account_row r = { .row = &rows[i],
					 .cycles = profile_tally(&rows[i], cycles)->period };

		if (!account_view_has_samples(v, &rows[i]))
			continue;
		if (!filter_keeps(f, view_row_bits(fake, &rows[i], f)))
			add_tallies(v, &out, &r);
		else if (v->opts.min > 0 && (double)r.cycles < least)
			add_tallies(v, &rest, &r);
		else {
			account_view_room(v, keep);
			v->row[keep++] = r;
		}
	}
	if (keep > 1)
		qsort(v->row, keep, sizeof(*v->row), account_view_by_cycles);
	while (v->opts.limit && keep > v->opts.limit)
		add_tallies(v, &rest, &v->row[--keep]);
	account_view_room(v, keep + 1);
	v->n_rows = keep;
	if (rest.folded)
		v->row[v->n_rows++] = rest;
	if (out.folded)
		v->row[v->n_rows++] = out;
}

static int make_rows(struct account_view *v, struct err *err)
{
	const struct view fake = { .profile = v->source.profile,
				   .opts = { .focus = v->opts.focus, .hide = v->opts.hide } };
	struct filter f;
	int ret = filter_init(&f, &fake, err);

	if (!ret && v->opts.nested)
		nest_rows(v, &f, &fake);
	else if (!ret)
		fill_account_view_rows(v, &f, &fake);
	filter_free(&f);
	return ret;
}

int account_view_make(struct account_view **out, const struct account_source *source,
		      const struct account_opts *opts, struct err *err)
{
	struct account_view *v = xcalloc(1, sizeof(*v));
	const struct profile_sum *sum;
	struct tally *whole;

	*out = NULL;
	v->source = *source;
	v->opts = *opts;
	sum = profile_sums(source->profile, &v->n_events);
	whole = arena_xalloc(&v->arena, (v->n_events + 1) * sizeof(*whole));
	v->tally = arena_xalloc(&v->arena, (v->n_events + 1) * sizeof(*v->tally));
	v->cell = arena_xalloc(&v->arena, (account_view_acc_of(v)->n + 1) * sizeof(*v->cell));
	for (size_t e = 0; e < v->n_events; e++)
		whole[e] = sum[e].selected;
	v->whole = whole;
	if (choose_account_view_columns(v, err) || make_rows(v, err))
		goto fail;
	*out = v;
	return 0;
fail:
	account_view_free(v);
	return -1;
}

void account_view_free(struct account_view *v)
{
	if (!v)
		return;
	free(v->row);
	arena_free(&v->arena);
	free(v);
}

/* ---- cells ---- */

const struct account_cell *account_view_cells(struct account_view *v, const struct account_row *r)
{
	if (v->at == r)
		return v->cell;
	v->at = r;
	if (!r->tally) {
		memset(v->tally, 0, v->n_events * sizeof(*v->tally));
		profile_tallies(r->row, v->n_events, v->tally);
	}
	account_row(v->source.bound, r->tally ? r->tally : v->tally, v->cell);
	return v->cell;
}

const char *account_event_name(const struct account_view *v, uint32_t event)
{
	return event == MODEL_NONE ? NULL : account_view_acc_of(v)->model->event[event].name;
}

bool account_wants(const struct account_view *v, uint32_t event)
{
	const struct account *acc = account_view_acc_of(v);

	for (size_t i = 0; i < acc->n; i++)
		if (acc->node[i].event == event && acc->node[i].cover != COVER_NONE)
			return true;
	return event == acc->reference;
}

/* ---- branch records ---- */

const struct account_ran *account_view_ran(const struct account_view *v,
					   const struct account_row *r)
{
	const struct profile_opts *o = profile_options(v->source.profile);
	bool function = false;

	for (size_t k = 0; k < o->n_keys; k++) {
		if (o->key[k] == KEY_SRCLINE || o->key[k] == KEY_INLINE || o->key[k] == KEY_ADDR)
			return NULL;
		function |= o->key[k] == KEY_SYM;
	}
	return function && r->row && !r->sum ? account_ran_of(v->source.rans, r->row) : NULL;
}
