/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/browse/view.h"

#include <stdlib.h>
#include <string.h>

#include "cli/browse/browse_pages.h"

enum { HEAVIEST_ROWS = 200000 }; /* are looked through for the one to begin at */

/* ---- tables ---------------------------------------------------------------------------------- */

static struct browse_tab *add_tab(struct browse_view *v, const char *name, const struct table *t)
{
	struct browse_tab *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->name = name;
	x->table = *t;
	x->sort = PAGER_UNSORTED;
	if (!vec_push(&v->tab, x))
		return x;
	free(x);
	return NULL;
}

/* One that only has rows of another table in another order is left to sorting. */
static bool is_shown(const struct table *t)
{
	struct table_row r = { 0 };

	return !(t->form->flags & TABLE_PEOPLE) && table_next(t, &r);
}

static int add_table(struct browse_view *v, const struct table *t, struct err *err)
{
	struct table record = page_record(t);
	struct browse_tab *x;

	if (!is_shown(t))
		return 0;
	x = add_tab(v, t->form->name, t->form->flags & TABLE_ONE ? &record : t);
	return x ? 0 : err_nomem(err);
}

/* The main one, what people are shown, what is beside the tables, the others. */
static unsigned rank(const struct table *t)
{
	if (t->form->flags & TABLE_MAIN)
		return 0;
	return t->form->flags & TABLE_DATA || t->data_only ? 2 : 1;
}

static int add_tables(struct browse_view *v, struct err *err)
{
	const struct table none = page_nothing();
	struct browse_tab *about;

	for (unsigned k = 0; k < 3; k++) {
		for (size_t i = 0; i < v->d->table.n; i++)
			if (rank(&v->d->table.v[i]) == k && add_table(v, &v->d->table.v[i], err))
				return -1;
		if (k != 1)
			continue;
		about = add_tab(v, "about", &none);
		if (!about)
			return err_nomem(err);
		about->about = true;
	}
	return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct browse_view *new_view(const char *title, const char *of)
{
	struct browse_view *v = calloc(1, sizeof(*v));
	size_t room = strlen(title) + strlen(of) + 2;

	if (!v)
		return NULL;
	v->title = malloc(room);
	if (v->title) {
		(void)snprintf(v->title, room, "%s%s%s", title, *of ? " " : "", of);
		return v;
	}
	free(v);
	return NULL;
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
	if (!v)
		return err_nomem(err);
	v->source = source;
	v->id = id;
	v->d = d;
	if (d->failed || add_tables(v, err)) {
		(void)err_nomem(err);
		browse_view_close(v);
		return -1;
	}
	*out = v;
	return 0;
}

int browse_view_keys(struct browse_view **out, struct err *err)
{
	const struct table keys = page_keys();
	struct browse_view *v = new_view("keys", "");

	*out = v;
	if (v && add_tab(v, "keys", &keys))
		return 0;
	browse_view_close(v);
	*out = NULL;
	return err_nomem(err);
}

void browse_view_close(struct browse_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->tab.n; i++) {
		pager_close(v->tab.v[i]->pager);
		free(v->tab.v[i]);
	}
	vec_free(&v->tab);
	arena_free(&v->a);
	free(v->title);
	free(v);
}

/* Code is in the order of addresses: it begins at its heaviest row. */
static int go_to_heaviest(struct browse_tab *x, struct err *err)
{
	size_t n, heat = SIZE_MAX;
	const struct table_column *c = table_columns(&x->table, &n);
	struct buf scratch = BUF_INIT;
	struct table_row r = { 0 };
	struct table_cell cell;
	double most = 0;
	bool done;

	for (size_t i = n; i-- > 0;)
		heat = c[i].flags & C_HEAT ? i : heat;
	if (heat == SIZE_MAX)
		return 0;
	if (pager_index(x->pager, HEAVIEST_ROWS, &done, err))
		return -1;
	for (size_t i = 0; i < HEAVIEST_ROWS && pager_row(x->pager, i, &r, err) > 0; i++) {
		table_cell(&cell, &x->table, &c[heat], &r, &scratch);
		if (cell_has(&cell) && cell.e.v > most) {
			most = cell.e.v;
			x->line = i;
		}
	}
	buf_free(&scratch);
	return 0;
}

struct browse_tab *browse_view_tab(struct browse_view *v, unsigned width, bool ascii,
				   struct err *err)
{
	struct browse_tab *x = v->tab.v[v->at];

	x->sheet.ascii = ascii;
	if (x->pager)
		return x;
	if (x->about && page_about(&x->table, v->d, width, &v->a, err))
		return NULL;
	if (pager_open(&x->pager, &x->table, err))
		return NULL;
	if (v->d && v->id == RESULT_ANNOTATE && x->table.form->flags & TABLE_MAIN &&
	    go_to_heaviest(x, err))
		return NULL;
	return x;
}

void browse_view_resized(struct browse_view *v)
{
	for (size_t i = 0; i < v->tab.n; i++) {
		struct browse_tab *x = v->tab.v[i];

		if (!x->about)
			continue;
		pager_close(x->pager);
		x->pager = NULL;
		x->top = x->line = 0;
	}
}

int browse_tab_reset(struct browse_tab *x, struct err *err)
{
	if (x->sort != PAGER_UNSORTED && pager_sort(x->pager, PAGER_UNSORTED, false, err))
		return -1;
	x->sort = PAGER_UNSORTED;
	x->reverse = false;
	x->sheet = (struct sheet){ .ascii = x->sheet.ascii };
	x->top = x->line = 0;
	return 0;
}

/* ---- cells of the row at hand ---------------------------------------------------------------- */

static bool cell_of(struct browse_tab *x, const char *key, struct table_cell *cell,
		    struct buf *scratch)
{
	size_t n, column = sheet_find(&x->table, key);
	const struct table_column *c = table_columns(&x->table, &n);
	struct table_row r = { 0 };

	if (column == SIZE_MAX || pager_row(x->pager, x->line, &r, NULL) <= 0)
		return false;
	table_cell(cell, &x->table, &c[column], &r, scratch);
	return cell_has(cell);
}

bool browse_tab_text(struct browse_tab *x, const char *key, struct buf *out)
{
	struct buf scratch = BUF_INIT;
	struct table_cell cell;
	bool has = cell_of(x, key, &cell, &scratch) && cell.kind == T_TEXT && *cell.text;

	if (has)
		buf_puts(out, cell.text); /* without what stands behind a name */
	buf_free(&scratch);
	return has;
}

bool browse_tab_number(struct browse_tab *x, const char *key, uint64_t *out)
{
	struct buf scratch = BUF_INIT;
	struct table_cell cell;
	bool has = cell_of(x, key, &cell, &scratch) && cell.kind == T_ID;

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

/* ---- what there is no room for --------------------------------------------------------------- */

/* The source line of an instruction: of another table, by the columns that name it. */
static bool put_source(struct browse_view *v, struct browse_tab *x, struct buf *out)
{
	const struct browse_tab *lines = NULL;
	struct browse_tab at;
	struct table_row r = { 0 };
	struct buf file = BUF_INIT, here = BUF_INIT;
	uint64_t line, there;
	bool found = false, known;

	for (size_t i = 0; i < v->tab.n; i++)
		if (v->tab.v[i] != x && sheet_find(&v->tab.v[i]->table, "source") != SIZE_MAX)
			lines = v->tab.v[i];
	known = lines && browse_tab_number(x, "line", &line) && browse_tab_text(x, "file", &file);
	at = known ? *lines : *x;
	at.pager = NULL;
	if (known && !pager_open(&at.pager, &at.table, NULL))
		for (at.line = 0; !found && pager_row(at.pager, at.line, &r, NULL) > 0; at.line++) {
			buf_reset(&here);
			found = browse_tab_number(&at, "line", &there) && there == line &&
				browse_tab_text(&at, "file", &here) &&
				!strcmp(buf_str(&here), buf_str(&file)) &&
				browse_tab_text(&at, "source", out);
		}
	if (at.pager)
		pager_close(at.pager);
	buf_free(&file);
	buf_free(&here);
	return found;
}

/* Texts that the row has no room for, but for the lead, each behind its column's name. */
static void put_cut(const struct browse_tab *x, size_t lead, struct buf *out)
{
	size_t n;
	const struct table_column *c = table_columns(&x->table, &n);
	struct table_row r = { 0 };
	struct buf scratch = BUF_INIT;
	struct table_cell cell;

	if (pager_row(x->pager, x->line, &r, NULL) <= 0)
		return;
	for (size_t i = 0; i < n; i++) {
		table_cell(&cell, &x->table, &c[i], &r, &scratch);
		if (i != lead && cell_has(&cell) && cell.kind == T_TEXT && *cell.text &&
		    sheet_cuts(&x->sheet, &x->table, i, cell.text))
			buf_printf(out, "%s%s: %s", out->len ? "  " : "", c[i].key, cell.text);
	}
	buf_free(&scratch);
}

void browse_view_detail(struct browse_view *v, struct buf *out)
{
	struct browse_tab *x = v->tab.v[v->at];
	size_t n, lead = x->pager ? sheet_lead(&x->table) : SIZE_MAX;
	const struct table_column *c = table_columns(&x->table, &n);

	if (!x->pager || x->about || !v->d)
		return;
	if (put_source(v, x, out) || lead == SIZE_MAX)
		return;
	(void)browse_tab_text(x, c[lead].key, out);
	put_cut(x, lead, out);
}
