/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/browse/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/browse/browse_pages.h"

enum { HEAVIEST_ROWS = 200000 }; /* are looked through for the one to begin at */

/* ---- tables ---------------------------------------------------------------------------------- */

static struct browse_tab *add_tab(struct browse_view *v, const char *name, const struct table *t)
{
	struct browse_tab *x = xcalloc(1, sizeof(*x));

	x->name = name;
	x->s.table = *t;
	x->s.sort = PAGER_UNSORTED;
	vec_xpush(&v->tab, x);
	return x;
}

/* One that only has rows of another table in another order is left to sorting. */
static bool is_tab_shown(const struct table *t)
{
	struct table_row r = { 0 };

	return !(t->form->flags & TABLE_PEOPLE) && table_next(t, &r);
}

/* Order of tables: the main one, those for people, those for programs. */
static unsigned tab_rank(const struct table *t)
{
	if (t->form->flags & TABLE_MAIN)
		return 0;
	return t->form->flags & TABLE_DATA || t->data_only ? 2 : 1;
}

static void add_tab_tables(struct browse_view *v)
{
	const struct table none = page_nothing();

	for (unsigned k = 0; k < 3; k++) {
		for (size_t i = 0; i < v->d->table.n; i++) {
			const struct table *t = &v->d->table.v[i];
			struct table record = page_record(t);

			if (tab_rank(t) == k && is_tab_shown(t))
				(void)add_tab(v, t->form->name,
					      t->form->flags & TABLE_ONE ? &record : t);
		}
		if (k == 1)
			add_tab(v, "about", &none)->about = true;
	}
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct browse_view *new_view(const char *title, const char *of)
{
	struct browse_view *v = xcalloc(1, sizeof(*v));

	v->title = arena_xprintf(&v->a, "%s%s%s", title, *of ? " " : "", of);
	return v;
}

int browse_view_open(struct browse_view **out, struct source *source, enum result_id id,
		     const char *function, struct err *err)
{
	struct document *d;
	const char *of = function ? strrchr(function, ':') : NULL;
	struct browse_view *v;

	*out = NULL;
	if (results_get(&d, source->all, id, function, err))
		return -1;
	for (const char *s = function; s && (s = strchr(s, ':')); s++)
		if (s[1] != ':' && (s == function || s[-1] != ':')) {
			of = s;
			break; /* a name may have "::" */
		}
	v = new_view(source->by_thread ? "threads" : result_kinds[id].name, of	       ? of + 1
									    : function ? function
										       : "");
	v->source = source;
	v->id = id;
	v->d = d;
	add_tab_tables(v);
	*out = v;
	return 0;
}

struct browse_view *browse_view_keys(void)
{
	const struct table keys = page_keys();
	struct browse_view *v = new_view("keys", "");

	(void)add_tab(v, "keys", &keys);
	return v;
}

void browse_view_close(struct browse_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->tab.n; i++) {
		sheet_close(&v->tab.v[i]->s);
		free(v->tab.v[i]);
	}
	vec_free(&v->tab);
	arena_free(&v->a);
	free(v);
}

/* Code is in the order of addresses: it begins at its heaviest row. */
static void go_to_heaviest(struct browse_tab *x)
{
	size_t n, heat = SIZE_MAX;
	const struct table_column *c = table_columns(&x->s.table, &n);
	struct buf scratch = BUF_INIT;
	struct table_row r = { 0 };
	struct table_cell cell;
	double most = 0;

	for (size_t i = n; i-- > 0;)
		heat = c[i].flags & C_HEAT ? i : heat;
	if (heat == SIZE_MAX)
		return;
	for (size_t i = 0; i < HEAVIEST_ROWS && pager_row(x->s.pager, i, &r); i++) {
		table_cell(&cell, &x->s.table, &c[heat], &r, &scratch);
		if (cell_has(&cell) && cell.e.v > most) {
			most = cell.e.v;
			x->s.line = i;
		}
	}
	buf_free(&scratch);
}

struct browse_tab *browse_view_tab(struct browse_view *v, unsigned width, bool ascii)
{
	struct browse_tab *x = v->tab.v[v->at];

	x->s.l.ascii = ascii;
	if (x->s.pager)
		return x;
	if (x->about)
		x->s.table = page_about(v->d, width, &v->a);
	sheet_open(&x->s);
	if (v->d && v->id == RESULT_ANNOTATE && x->s.table.form->flags & TABLE_MAIN)
		go_to_heaviest(x);
	return x;
}

void browse_view_resized(struct browse_view *v)
{
	for (size_t i = 0; i < v->tab.n; i++) {
		struct browse_tab *x = v->tab.v[i];

		if (!x->about)
			continue;
		sheet_close(&x->s);
		x->s.top = x->s.line = 0;
	}
}

/* ---- cells of the row at hand ---------------------------------------------------------------- */

static bool tab_cell_of(struct browse_tab *x, const char *key, struct table_cell *cell,
			struct buf *scratch)
{
	size_t n, column = sheet_find(&x->s.table, key);
	const struct table_column *c = table_columns(&x->s.table, &n);
	struct table_row r = { 0 };

	if (column == SIZE_MAX || !pager_row(x->s.pager, x->s.line, &r))
		return false;
	table_cell(cell, &x->s.table, &c[column], &r, scratch);
	return cell_has(cell);
}

bool browse_tab_text(struct browse_tab *x, const char *key, struct buf *out)
{
	struct buf scratch = BUF_INIT;
	struct table_cell cell;
	bool has = tab_cell_of(x, key, &cell, &scratch) && cell.kind == T_TEXT && *cell.text;

	if (has)
		buf_puts(out, cell.text); /* without the text behind a name */
	buf_free(&scratch);
	return has;
}

bool browse_tab_number(struct browse_tab *x, const char *key, uint64_t *out)
{
	struct buf scratch = BUF_INIT;
	struct table_cell cell;
	bool has = tab_cell_of(x, key, &cell, &scratch) && cell.kind == T_ID;

	if (has)
		*out = cell.n;
	buf_free(&scratch);
	return has;
}

/* Columns that name a function, and its file's. */
static const char *const functions[][2] = {
	{ "function", "dso" },	     { "callee", "callee_dso" }, { "caller", "caller_dso" },
	{ "function_to", "dso_to" }, { "frame", "dso" },	 { "function_from", "dso_from" },
};

bool browse_tab_name(struct browse_tab *x, struct buf *out)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (browse_tab_text(x, functions[i][0], out))
			return true;
	return false;
}

bool browse_tab_function(struct browse_tab *x, struct buf *out)
{
	struct buf name = BUF_INIT;
	bool has = false;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && !has; i++) {
		buf_reset(&name);
		has = browse_tab_text(x, functions[i][0], &name);
		if (has && browse_tab_text(x, functions[i][1], out))
			buf_putc(out, ':');
	}
	buf_puts(out, buf_str(&name));
	buf_free(&name);
	return has;
}

/* ---- cut texts ------------------------------------------------------------------------------- */

/* The source line of an instruction: of another table, by the columns that name it. */
static bool put_tab_source(struct browse_view *v, struct browse_tab *x, struct buf *out)
{
	const struct browse_tab *lines = NULL;
	struct browse_tab at;
	struct table_row r = { 0 };
	struct buf file = BUF_INIT, here = BUF_INIT;
	uint64_t line, there;
	bool found = false, known;

	for (size_t i = 0; i < v->tab.n; i++)
		if (v->tab.v[i] != x && sheet_find(&v->tab.v[i]->s.table, "source") != SIZE_MAX)
			lines = v->tab.v[i];
	known = lines && browse_tab_number(x, "line", &line) && browse_tab_text(x, "file", &file);
	at = known ? *lines : *x;
	at.s.pager = NULL;
	if (known) {
		at.s.pager = pager_open(&at.s.table);
		for (at.s.line = 0; !found && pager_row(at.s.pager, at.s.line, &r); at.s.line++) {
			buf_reset(&here);
			found = browse_tab_number(&at, "line", &there) && there == line &&
				browse_tab_text(&at, "file", &here) &&
				!strcmp(buf_str(&here), buf_str(&file)) &&
				browse_tab_text(&at, "source", out);
		}
		sheet_close(&at.s);
	}
	buf_free(&file);
	buf_free(&here);
	return found;
}

/* Texts that the row has no room for, except the lead, each behind its column's name. */
static void put_tab_cut(const struct browse_tab *x, size_t lead, struct buf *out)
{
	size_t n;
	const struct table_column *c = table_columns(&x->s.table, &n);
	struct table_row r = { 0 };
	struct buf scratch = BUF_INIT;
	struct table_cell cell;

	if (!pager_row(x->s.pager, x->s.line, &r))
		return;
	for (size_t i = 0; i < n; i++) {
		table_cell(&cell, &x->s.table, &c[i], &r, &scratch);
		if (i != lead && cell_has(&cell) && cell.kind == T_TEXT && *cell.text && x->s.l.t &&
		    layout_cuts(&x->s.l, i, cell.text))
			buf_printf(out, "%s%s: %s", out->len ? "  " : "", c[i].key, cell.text);
	}
	buf_free(&scratch);
}

void browse_view_detail(struct browse_view *v, struct buf *out)
{
	struct browse_tab *x = v->tab.v[v->at];
	size_t n, lead = x->s.pager ? layout_lead(&x->s.table) : SIZE_MAX;
	const struct table_column *c = table_columns(&x->s.table, &n);

	if (!x->s.pager || x->about || !v->d)
		return;
	if (put_tab_source(v, x, out) || lead == SIZE_MAX)
		return;
	(void)browse_tab_text(x, c[lead].key, out);
	put_tab_cut(x, lead, out);
}
