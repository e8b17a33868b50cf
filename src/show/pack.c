/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/pack.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "base/vec.h"
#include "show/cell_json.h"
#include "show/fold.h"

#define WIDE 40

void pack_open(struct pack *p, struct buf *out)
{
	*p = (struct pack){ .scratch = BUF_INIT, .start = out->gone + out->len };
	json_init(&p->j, out, false);
	p->j.in_page = true;
	pack_object(p, NULL);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Notes that the text is one of the column's names. */
static void note_name(struct pack *p, const struct table_column *c, const char *text)
{
	uint32_t id = text && table_names_things(c) ? strtab_find(&p->texts, text) : STR_NONE;
	unsigned char *grown;
	size_t n;

	if (id == STR_NONE)
		return;
	if (id >= p->n_names) {
		n = (size_t)id + 1 + p->n_names;
		grown = realloc(p->name, n);
		if (!grown) {
			p->failed = true;
			return;
		}
		memset(grown + p->n_names, 0, n - p->n_names);
		p->name = grown;
		p->n_names = n;
	}
	p->name[id] = 1;
}

static const char *safe_pack_name(struct pack *p, size_t id)
{
	buf_reset(&p->text);
	text_put_safe(&p->text, strtab_get(&p->texts, (uint32_t)id), false);
	return buf_str(&p->text);
}

static void put_pack_short(struct pack *p)
{
	struct folds folds = { .v = NULL };
	const size_t n = p->n_names < p->texts.n ? p->n_names : p->texts.n;

	for (size_t i = 0; i < n; i++)
		if (p->name[i])
			folds_add(&folds, safe_pack_name(p, i), 0);
	folds_settle_page(&folds);
	pack_array(p, "short");
	for (size_t i = 0; i < n; i++) {
		const char *whole = p->name[i] ? safe_pack_name(p, i) : "";
		const char *text = folds_get(&folds, whole, 0);

		if (!strcmp(text, whole))
			continue;
		pack_array(p, NULL);
		json_u64(&p->j, NULL, i);
		pack_text(p, NULL, text);
		pack_end(p);
	}
	pack_end(p);
	folds_free(&folds, p->j.out);
}

void pack_close(struct pack *p)
{
	put_pack_short(p);
	pack_array(p, "strings");
	for (uint32_t i = 0; i < p->texts.n; i++)
		json_str(&p->j, NULL, strtab_get(&p->texts, i));
	pack_end(p);
	pack_end(p);
	assert(!p->depth);
	p->j.out->failed |= p->failed | p->rows.failed | p->scratch.failed | p->text.failed;
	pack_rows_free(&p->rows);
	buf_free(&p->scratch);
	buf_free(&p->text);
	free(p->name);
	strtab_free(&p->texts);
}

static void pack_down(struct pack *p, bool array)
{
	assert(p->depth < sizeof(p->array) / sizeof(*p->array));
	p->array[p->depth++] = array;
}

void pack_object(struct pack *p, const char *key)
{
	pack_down(p, false);
	json_object(&p->j, key);
}

void pack_array(struct pack *p, const char *key)
{
	pack_down(p, true);
	json_array(&p->j, key);
}

void pack_end(struct pack *p)
{
	assert(p->depth);
	if (p->array[--p->depth])
		json_end_array(&p->j);
	else
		json_end_object(&p->j);
}

void pack_word(struct pack *p, const char *key, const char *text)
{
	json_str(&p->j, key, text);
}

void pack_text(struct pack *p, const char *key, const char *text)
{
	const size_t before = p->texts.n;
	uint32_t id = text ? strtab_adds(&p->texts, text) : STR_NONE;

	if (id != STR_NONE) {
		p->listed += id == before ? strlen(text) + 3 : 0; /* quotes, a comma */
		json_u64(&p->j, key, id);
		return;
	}
	p->failed |= text != NULL;
	json_null(&p->j, key);
}

void pack_count(struct pack *p, const char *key, uint64_t n)
{
	json_u64(&p->j, key, n);
}

void pack_flag(struct pack *p, const char *key, bool yes)
{
	json_bool(&p->j, key, yes);
}

/* ---- columns --------------------------------------------------------------------------------- */

static const char *const kinds[] = {
	[T_TEXT] = "text",   [T_LIST] = "list",	    [T_ID] = "id",
	[T_COUNT] = "count", [T_SIGNED] = "signed", [T_ADDRESS] = "address",
	[T_BYTES] = "bytes", [T_FLAG] = "flag",	    [T_AMOUNT] = "amount",
	[T_REAL] = "real",   [T_SHARE] = "share",   [T_SECONDS] = "seconds",
};

static void put_pack_flags(struct pack *p, unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *word;
	} words[] = {
		{ C_KEY, "key" },   { C_ERROR, "error" },	{ C_WHY, "why" },
		{ C_FLEX, "flex" }, { C_KEEP_END, "keep_end" }, { C_HEAT, "heat" },
		{ C_DATA, "data" }, { C_SPARSE, "sparse" },	{ C_GROUP, "group" },
		{ C_LOSS, "loss" }, { C_DROP, "drop" },
	};

	pack_array(p, "flags");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (flags & words[i].flag)
			pack_word(p, NULL, words[i].word);
	pack_end(p);
}

/* KEY_error and KEY_why, which follow KEY. */
static void put_pack_beside(struct pack *p, const struct table_column *c, const char *what)
{
	char key[200];

	(void)snprintf(key, sizeof(key), "%s_%s", c->key, what);
	pack_object(p, NULL);
	pack_word(p, "key", key);
	pack_word(p, "kind", what);
	pack_word(p, "of", c->key);
	pack_end(p);
}

/* Returns true if people have it as a text: shown_KEY or KEY_shown. */
static bool is_pack_shown(const struct table *t, const struct table_column *c)
{
	size_t n, len = strlen(c->key);
	const struct table_column *v = table_columns(t, &n);

	for (size_t i = 0; i < n; i++) {
		const char *k = v[i].key;

		if (!(v[i].flags & C_PEOPLE))
			continue;
		if ((!strncmp(k, "shown_", 6) && !strcmp(k + 6, c->key)) ||
		    (!strncmp(k, c->key, len) && !strcmp(k + len, "_shown")))
			return true;
	}
	return false;
}

static void put_column(struct pack *p, const struct table *t, const struct table_column *c)
{
	buf_reset(&p->text);
	table_put_head(&p->text, c);
	pack_object(p, NULL);
	pack_word(p, "key", c->key);
	pack_word(p, "head", buf_str(&p->text));
	pack_word(p, "kind", kinds[c->kind]);
	pack_word(p, "unit", c->unit);
	pack_word(p, "means", c->means);
	put_pack_flags(p, c->flags & C_DATA && is_pack_shown(t, c) ? c->flags & ~(unsigned)C_DATA
								   : c->flags);
	pack_end(p);
	if (c->flags & C_ERROR)
		put_pack_beside(p, c, "error");
	if (c->flags & C_WHY)
		put_pack_beside(p, c, "why");
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void put_pack_text(struct pack *p, const char *key, const struct table_column *c,
			  const struct table_cell *x)
{
	buf_reset(&p->text);
	buf_puts(&p->text, x->text);
	buf_puts(&p->text, x->tail ? x->tail : "");
	pack_text(p, key, buf_str(&p->text));
	note_name(p, c, buf_str(&p->text));
}

static void put_pack_value(struct pack *p, const char *key, const struct table_column *c,
			   const struct table_cell *x)
{
	struct json *j = &p->j;

	switch (x->kind) {
	case T_TEXT:
		put_pack_text(p, key, c, x);
		break;
	case T_LIST:
		pack_array(p, key);
		for (size_t i = 0; i < x->n_list; i++) {
			pack_text(p, NULL, x->list[i]);
			note_name(p, c, x->list[i]);
		}
		pack_end(p);
		break;
	default:
		cell_json(j, key, x);
		break;
	}
}

/* A table of many columns, as one of a model's nodes has, has only those with a value. */
static void find_empty(struct pack *p, const struct table *t)
{
	struct table_row r = { 0 };
	struct table_cell x;
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < PACK_COLUMNS; i++)
		p->empty[i] = n > WIDE && i < n && !(c[i].flags & C_KEY);
	while (n > WIDE && table_next(t, &r))
		for (size_t i = 0; i < n && i < PACK_COLUMNS; i++) {
			if (!p->empty[i])
				continue;
			table_cell(&x, t, &c[i], &r, &p->scratch);
			p->empty[i] = !cell_has(&x);
		}
}

static bool has_pack(const struct pack *p, const struct table *t, size_t column)
{
	return table_has(t, column, C_PEOPLE) && (column >= PACK_COLUMNS || !p->empty[column]);
}

/* Without what stands beside it. With `keyed` as a member of the object at hand. */
static void put_pack_cell(struct pack *p, const struct table_column *c, const struct table_cell *x,
			  bool keyed)
{
	const char *key = keyed ? c->key : NULL;

	if (!cell_has(x)) {
		json_null(&p->j, key);
	} else if (p->words && c->flags & C_DATA && x->kind == T_TEXT) {
		pack_word(p, key, x->text);
	} else if (x->kind == c->kind) {
		put_pack_value(p, key, c, x);
	} else {
		pack_object(p, key);
		put_pack_value(p, kinds[x->kind], c, x);
		pack_end(p);
	}
}

static void put_pack_error(struct pack *p, const struct table_cell *x)
{
	json_real(&p->j, NULL, cell_has(x) ? x->e.half : NAN);
}

static void put_pack_members(struct pack *p, const struct table *t, const struct table_row *r)
{
	struct table_cell x;
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++) {
		if (!has_pack(p, t, i))
			continue;
		table_cell(&x, t, &c[i], r, &p->scratch);
		put_pack_cell(p, &c[i], &x, true);
	}
}

static size_t count_columns(const struct pack *p, const struct table *t)
{
	size_t n, count = 0;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (has_pack(p, t, i))
			count += 1u + (c[i].flags & C_ERROR ? 1u : 0) +
				 (c[i].flags & C_WHY ? 1u : 0);
	return count;
}

/* What is written until the next turn goes into the next column of p->rows. */
static void turn_to(struct pack *p, struct json *column)
{
	struct json whole = p->j;

	p->j = *column;
	*column = whole;
}

static void put_pack_row(struct pack *p, const struct table *t, const struct table_row *r)
{
	struct table_cell x;
	size_t n, at = 0;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++) {
		struct json *column;

		if (!has_pack(p, t, i))
			continue;
		table_cell(&x, t, &c[i], r, &p->scratch);
		column = pack_rows_cell(&p->rows, at++);
		turn_to(p, column);
		put_pack_cell(p, &c[i], &x, false);
		turn_to(p, column);
		if (c[i].flags & C_ERROR) {
			column = pack_rows_cell(&p->rows, at++);
			turn_to(p, column);
			put_pack_error(p, &x);
			turn_to(p, column);
		}
		if (c[i].flags & C_WHY) {
			column = pack_rows_cell(&p->rows, at++);
			turn_to(p, column);
			pack_text(p, NULL, x.e.why);
			turn_to(p, column);
		}
	}
	pack_rows_next(&p->rows);
}

static bool is_full(const struct pack *p)
{
	uint64_t held = pack_rows_bytes(&p->rows);

	return (p->cap && held > p->cap) || (p->most && pack_bytes(p) + held > p->most);
}

/* `bare`: cells, not rows of them. Returns how many there are. */
static size_t put_pack_rows(struct pack *p, const char *key, const struct table *t, bool bare,
			    bool capped)
{
	struct table_row r = { 0 };
	size_t n = 0;

	pack_rows_open(&p->rows, count_columns(p, t));
	for (; !p->j.out->failed && !p->rows.failed; n++) {
		if ((capped && n >= PACK_LEAST && is_full(p)) || !table_next(t, &r))
			break;
		put_pack_row(p, t, &r);
	}
	pack_rows_put(&p->rows, &p->j, key, bare);
	return n;
}

void pack_members(struct pack *p, const struct document *d)
{
	p->failed |= d->failed;
	p->words = true;
	for (size_t i = 0; i < d->table.n; i++) {
		const struct table *t = &d->table.v[i];
		struct table_row r = { 0 };

		find_empty(p, t);
		if (!(t->form->flags & TABLE_HEAD))
			(void)put_pack_rows(p, t->form->name, t, t->form->n_columns == 1, false);
		else if (table_next(t, &r))
			put_pack_members(p, t, &r);
	}
	p->words = false;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Returns how many rows are in the page. */
static size_t put_pack_table(struct pack *p, const struct table *t)
{
	const struct table_form *f = t->form;
	size_t n, rows;
	const struct table_column *c = table_columns(t, &n);

	find_empty(p, t);
	pack_object(p, NULL);
	pack_word(p, "name", f->name);
	pack_text(p, "title", table_title(t));
	pack_flag(p, "main", f->flags & TABLE_MAIN && !t->aside);
	pack_flag(p, "one", f->flags & TABLE_ONE);
	pack_flag(p, "data", f->flags & TABLE_DATA || t->data_only);
	pack_count(p, "people", t->people);
	pack_word(p, "rest", f->rest);
	pack_array(p, "columns");
	for (size_t i = 0; i < n; i++)
		if (has_pack(p, t, i))
			put_column(p, t, &c[i]);
	pack_end(p);
	rows = put_pack_rows(p, "rows", t, false, true);
	pack_end(p);
	return rows;
}

static void put_pack_lines(struct pack *p, const char *key, const struct document_line *v, size_t n,
			   enum ink marked)
{
	pack_array(p, key);
	for (size_t i = 0; i < n; i++) {
		pack_array(p, NULL);
		pack_text(p, NULL, v[i].label);
		pack_text(p, NULL, v[i].text);
		pack_flag(p, NULL, v[i].ink == marked);
		pack_end(p);
	}
	pack_end(p);
}

/* Notes are no table there, unless they are all that is asked for. */
static bool is_packed(const struct pack *p, const struct table_form *f)
{
	return p->only ? !strcmp(f->name, p->only)
		       : !(f->flags & TABLE_PEOPLE) && strcmp(f->name, "notes") != 0;
}

uint64_t pack_bytes(const struct pack *p)
{
	return p->j.out->gone + p->j.out->len - p->start + p->listed;
}

/* Returns the bytes that the rows of a table take, from its first ones. */
static double estimate_rows(const struct pack *like, const struct table *t)
{
	struct buf text = BUF_INIT;
	struct table_row r = { 0 };
	struct table_cell x;
	struct pack p;
	size_t n, rows = 0;
	double size = 0;
	const struct table_column *c = table_columns(t, &n);

	pack_open(&p, &text);
	p.only = like->only;
	pack_array(&p, "rows");
	for (; rows < PACK_LEAST && table_next(t, &r); rows++)
		for (size_t i = 0; i < n; i++) {
			if (!table_has(t, i, C_PEOPLE))
				continue;
			table_cell(&x, t, &c[i], &r, &p.scratch);
			if (n > WIDE && !cell_has(&x)) /* the column may be left out */
				continue;
			put_pack_cell(&p, &c[i], &x, false);
			if (c[i].flags & C_ERROR)
				put_pack_error(&p, &x);
			if (c[i].flags & C_WHY)
				pack_text(&p, NULL, x.e.why);
		}
	if (rows == PACK_LEAST)
		size = (double)pack_bytes(&p) / PACK_LEAST * (double)table_rows(t);
	pack_end(&p);
	pack_close(&p);
	buf_free(&text);
	return size;
}

/* Returns the cap of each table's bytes with which all fit into `most`: large tables share the room
 * that small ones leave. */
static double pack_cap_of(const double *size, size_t n, double most)
{
	double cap = most / (double)(n ? n : 1), before = 0;

	while (cap - before > most / 1e4) {
		double left = most;
		size_t larger = 0;

		for (size_t i = 0; i < n; i++) {
			left -= size[i] < cap ? size[i] : 0;
			larger += size[i] >= cap;
		}
		before = cap;
		cap = larger ? left / (double)larger : cap;
	}
	return cap;
}

uint64_t pack_cap(const struct pack *p, const struct document *const *d, size_t n, uint64_t most)
{
	VEC(double) size = { 0 };
	double all = 0, cap = 1;
	bool failed = false;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < d[i]->table.n; k++)
			if (is_packed(p, d[i]->table.v[k].form))
				failed |= vec_push(&size, estimate_rows(p, &d[i]->table.v[k])) != 0;
	vec_each (&size, const double *, x)
		all += *x;
	if (!failed && all <= (double)most)
		cap = 0;
	else if (!failed)
		cap = pack_cap_of(size.v, size.n, (double)most);
	vec_free(&size);
	return (uint64_t)cap;
}

/* A note about rows that are left out of the page. */
static void note_rows(struct pack *p, const struct table *t, size_t rows)
{
	size_t all = rows < PACK_LEAST ? rows : table_rows(t);
	char has[NUM_MAX], of[NUM_MAX];

	if (rows == all || p->j.out->failed)
		return;
	buf_reset(&p->text);
	buf_printf(&p->text,
		   "table %s: the first %s of %s rows, as the page would be too large; --format "
		   "json has all",
		   t->form->name, num_exact(has, rows), num_exact(of, all));
	pack_text(p, NULL, buf_str(&p->text));
}

void pack_document(struct pack *p, const char *key, const char *view, const struct document *d)
{
	size_t *rows = calloc(d->table.n + 1, sizeof(*rows)); /* in the page, by table */
	bool all = !p->only;
	char schema[64];

	p->failed |= d->failed || !rows;
	(void)snprintf(schema, sizeof(schema), "cyclade.%s/%u", d->form->name, d->form->version);
	pack_object(p, key);
	pack_word(p, "view", view);
	pack_word(p, "schema", schema);
	put_pack_lines(p, "titles", d->title.v, all && !p->later ? d->title.n : 0, INK_BOLD);
	put_pack_lines(p, "facts", d->fact.v, all ? d->fact.n : 0, INK_WARM);
	pack_array(p, "next");
	for (size_t i = 0; i < d->n_next; i++) {
		pack_array(p, NULL);
		pack_text(p, NULL, d->next[i].command);
		pack_text(p, NULL, d->next[i].why);
		pack_end(p);
	}
	pack_end(p);
	pack_array(p, "tables");
	for (size_t i = 0; i < d->table.n && rows; i++)
		rows[i] = is_packed(p, d->table.v[i].form) ? put_pack_table(p, &d->table.v[i]) : 0;
	pack_end(p);
	pack_array(p, "notes");
	for (size_t i = 0; i < d->note.n && all; i++)
		pack_text(p, NULL, d->note.v[i]);
	for (size_t i = 0; i < d->table.n && rows; i++)
		if (is_packed(p, d->table.v[i].form))
			note_rows(p, &d->table.v[i], rows[i]);
	if (p->note)
		pack_text(p, NULL, p->note);
	p->note = NULL;
	pack_end(p);
	pack_end(p);
	free(rows);
}
