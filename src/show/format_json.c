/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json - one object: "schema", the members of the head, then each table by its name: an array of
 * objects (a row is a line), an object if it has one row, an array of texts if it has one column of
 * them. Each object of a table has the same members. A cell without a value is null.
 */
#include <stdio.h>

#include "base/json.h"
#include "show/cell_json.h"
#include "show/document.h"

struct writer {
	struct json j;
	struct buf scratch, text;
};

static void put_json_list(struct json *j, const char *key, const struct table_cell *x)
{
	json_strings(j, key, x->list, x->n_list);
}

static void put_json_text(struct writer *w, const char *key, const struct table_cell *x)
{
	if (!x->tail || !*x->tail) {
		json_str(&w->j, key, x->text);
		return;
	}
	buf_reset(&w->text);
	buf_puts(&w->text, x->text);
	buf_puts(&w->text, x->tail);
	json_str(&w->j, key, buf_str(&w->text));
}

static void put_json_value(struct writer *w, const char *key, const struct table_cell *x)
{
	struct json *j = &w->j;

	if (!cell_has(x)) {
		json_null(j, key);
		return;
	}
	switch (x->kind) {
	case T_TEXT:
		put_json_text(w, key, x);
		break;
	case T_LIST:
		put_json_list(j, key, x);
		break;
	default:
		cell_json(j, key, x);
		break;
	}
}

static void put_json_cells(struct writer *w, const struct table *t, const struct table_row *r)
{
	size_t n;
	const struct table_column *col = table_columns(t, &n);
	struct table_cell x;
	char key[200];

	for (size_t i = 0; i < n; i++) {
		if (!table_has(t, i, C_PEOPLE))
			continue;
		table_cell(&x, t, &col[i], r, &w->scratch);
		put_json_value(w, col[i].key, &x);
		if (col[i].flags & C_ERROR) {
			(void)snprintf(key, sizeof(key), "%s_error", col[i].key);
			json_real(&w->j, key, cell_has(&x) ? x.e.half : NAN);
		}
		if (col[i].flags & C_WHY) {
			(void)snprintf(key, sizeof(key), "%s_why", col[i].key);
			json_str(&w->j, key, x.e.why);
		}
	}
}

static void put_json_rows(struct writer *w, const struct table *t)
{
	struct table_row r = { 0 };
	struct table_cell x;

	json_array(&w->j, t->form->name);
	while (!w->j.out->failed && table_next(t, &r)) {
		bool pretty;

		if (t->form->flags & TABLE_LINES) {
			table_cell(&x, t, t->form->column, &r, &w->scratch);
			put_json_value(w, NULL, &x);
			continue;
		}
		json_object(&w->j, NULL);
		pretty = json_pretty(&w->j, false);
		put_json_cells(w, t, &r);
		json_end_object(&w->j);
		(void)json_pretty(&w->j, pretty);
	}
	json_end_array(&w->j);
}

static void put_json_table(struct writer *w, const struct table *t)
{
	struct table_row r = { 0 };
	bool one = t->form->flags & TABLE_ONE && table_next(t, &r);

	if (one && t->form->flags & TABLE_HEAD) {
		put_json_cells(w, t, &r);
	} else if (one) {
		json_object(&w->j, t->form->name);
		put_json_cells(w, t, &r);
		json_end_object(&w->j);
	} else {
		put_json_rows(w, t);
	}
}

int format_json(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	struct writer w = { .scratch = BUF_INIT };
	const struct table *t;
	char schema[64];
	size_t at = 0;

	(void)err;
	json_init(&w.j, out, !s->line);
	json_object(&w.j, NULL);
	(void)snprintf(schema, sizeof(schema), "cyclade.%s/%u", d->form->name, d->form->version);
	json_str(&w.j, "schema", schema);
	while ((t = document_next_table(d, s, TABLE_PEOPLE, &at)))
		put_json_table(&w, t);
	json_end_object(&w.j);
	out->failed |= w.scratch.failed | w.text.failed;
	buf_free(&w.scratch);
	buf_free(&w.text);
	return 0;
}
