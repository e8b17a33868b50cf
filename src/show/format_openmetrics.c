/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openmetrics, prometheus - tables as families of metrics: OpenMetrics 1.0 and the text format
 * 0.0.4 of Prometheus.
 *
 * A column of figures is a family: cyclade_TABLE_KEY, with its unit at the end and the C_KEY
 * columns as labels. A table without figures is one family cyclade_TABLE_info whose labels are its
 * texts. C_TOTAL columns are counters, all others gauges. A rate is left out: the database computes
 * it from counters. A cell without a value has no sample. An error is a family KEY_error, for
 * values that are not exact.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "show/document.h"

struct writer {
	struct buf *out;
	const struct document *d;
	bool open; /* OpenMetrics, not 0.0.4 */
	struct buf scratch, labels, text;
	/* Labels of the table's first rows, which all of its families have: texts one behind the
	 * other, and their offsets. */
	struct buf kept;
	VEC(size_t) at;
};

#define KEPT_MOST ((size_t)1 << 20)

enum part { PART_VALUE, PART_ERROR, PART_INFO };

static bool is_figure(const struct table_column *c)
{
	switch (c->kind) {
	case T_TEXT:
	case T_LIST:
	case T_ID:
	case T_ADDRESS:
		return false;
	default:
		return !(c->flags & C_KEY);
	}
}

static bool om_family_of(const struct table *t, size_t i)
{
	size_t n;
	const struct table_column *c = &table_columns(t, &n)[i];

	return table_has(t, i, C_PEOPLE | C_RATE) && is_figure(c);
}

static const char *om_unit_of(const struct table_column *c)
{
	const char *u = c->unit ? c->unit : "";

	if (c->kind == T_BYTES || !strcmp(u, "B"))
		return "bytes";
	if (c->kind == T_SECONDS)
		return "seconds";
	if (c->kind == T_SHARE)
		return "ratio";
	if (!strcmp(u, "Hz"))
		return "hertz";
	return u[strspn(u, "abcdefghijklmnopqrstuvwxyz")] ? "" : u;
}

/* Names are of [a-zA-Z0-9_]. */
static void put_om_name(struct buf *b, const char *s)
{
	for (; *s; s++)
		buf_putc(b, isalnum((unsigned char)*s) && (unsigned char)*s < 128 ? *s : '_');
}

/* Between quotes (`quoted`) or as a help text. Control characters of terminals, and bytes that are
 * not UTF-8, are written as \xNN by text_put_safe(), whose backslashes are doubled here. */
static void put_escaped(struct writer *w, const char *s, bool quoted)
{
	buf_reset(&w->text);
	text_put_safe(&w->text, s, false);
	for (const char *p = buf_str(&w->text); *p; p++) {
		if (*p == '\\' || (quoted && *p == '"'))
			buf_putc(w->out, '\\');
		buf_putc(w->out, *p);
	}
}

static void put_om_label(struct writer *w, const struct table_column *c, const struct table_cell *x)
{
	struct buf *to = w->out;
	struct buf word = BUF_INIT;

	if (!cell_has(x))
		return;
	w->out = &w->labels;
	if (w->labels.len)
		buf_putc(w->out, ',');
	put_om_name(w->out, c->key);
	buf_puts(w->out, "=\"");
	if (x->kind == T_TEXT)
		buf_printf(&word, "%s%s", x->text, x->tail ? x->tail : "");
	else if (x->kind == T_LIST)
		for (size_t i = 0; i < x->n_list; i++)
			buf_printf(&word, "%s%s", i ? "; " : "", x->list[i]);
	else if (x->kind == T_ADDRESS)
		buf_printf(&word, "0x%llx", (unsigned long long)x->n);
	else if (x->kind == T_SIGNED)
		buf_printf(&word, "%lld", (long long)x->i);
	else
		buf_put_decimal(&word, x->n);
	put_escaped(w, buf_str(&word), true);
	buf_putc(w->out, '"');
	w->labels.failed |= word.failed;
	buf_free(&word);
	w->out = to;
}

/* Puts the keys of a row, or with `all` all texts. Rows with equal keys have their number. */
static void put_labels(struct writer *w, const struct table *t, const struct table_row *r, bool all)
{
	static const struct table_column number = { .key = "row" };
	struct table_cell x;
	size_t n;
	const struct table_column *c = table_columns(t, &n);
	bool keys = t->form->flags & (TABLE_ONE | TABLE_HEAD);

	buf_reset(&w->labels);
	for (size_t i = 0; i < n; i++) {
		keys |= c[i].flags & C_KEY;
		if (!table_has(t, i, C_PEOPLE) || is_figure(&c[i]) || !(all || c[i].flags & C_KEY))
			continue;
		table_cell(&x, t, &c[i], r, &w->scratch);
		put_om_label(w, &c[i], &x);
	}
	if (keys)
		return;
	x = (struct table_cell){ .kind = T_COUNT, .n = r->i };
	put_om_label(w, &number, &x);
}

static void keep_labels(struct writer *w, const struct table *t)
{
	struct table_row r = { 0 };

	buf_reset(&w->kept);
	w->at.n = 0;
	while (w->kept.len < KEPT_MOST && table_next(t, &r)) {
		size_t at = w->kept.len;

		put_labels(w, t, &r, false);
		buf_puts(&w->kept, buf_str(&w->labels));
		buf_putc(&w->kept, '\0');
		w->kept.failed |= vec_push(&w->at, at) != 0;
	}
}

/* As short as gives the same double again. */
static void put_real(struct buf *out, double v)
{
	char s[40];
	double back;

	if (v >= 0 && v < 1e15 && v <= floor(v)) {
		buf_put_decimal(out, (uint64_t)v);
		return;
	}
	(void)snprintf(s, sizeof(s), "%.15g", v);
	back = strtod(s, NULL);
	if (back < v || back > v)
		(void)snprintf(s, sizeof(s), "%.17g", v);
	buf_puts(out, s);
}

static void put_om_value(struct buf *out, const struct table_cell *x, enum part part)
{
	if (part == PART_INFO)
		buf_putc(out, '1');
	else if (part == PART_ERROR)
		put_real(out, x->e.half);
	else if (x->kind == T_SIGNED)
		buf_printf(out, "%lld", (long long)x->i);
	else if (x->kind == T_COUNT || x->kind == T_BYTES || x->kind == T_FLAG)
		buf_put_decimal(out, x->n);
	else
		put_real(out, x->e.v);
}

static void put_family_name(struct buf *b, const struct writer *w, const struct table *t,
			    const struct table_column *c, enum part part)
{
	const char *unit = c ? om_unit_of(c) : "";
	size_t n = strlen(unit), from = b->len;

	buf_puts(b, "cyclade_");
	put_om_name(b, t->form->flags & TABLE_HEAD ? w->d->form->name : t->form->name);
	if (!c) /* OpenMetrics' own suffix comes with the sample */
		return;
	buf_putc(b, '_');
	put_om_name(b, c->key);
	if (part == PART_ERROR)
		buf_puts(b, "_error");
	if (n && (b->len - from <= n || strcmp(buf_str(b) + b->len - n, unit) != 0 ||
		  buf_str(b)[b->len - n - 1] != '_'))
		buf_printf(b, "_%s", unit);
}

static void put_om_head(struct writer *w, const struct table *t, const struct table_column *c,
			const char *name, const char *suffix, enum part part)
{
	const char *family = w->open ? "" : suffix;
	const char *type = part == PART_INFO && w->open		      ? "info"
			   : part == PART_VALUE && c->flags & C_TOTAL ? "counter"
								      : "gauge";
	const char *unit = c ? om_unit_of(c) : "";

	buf_printf(w->out, "# HELP %s%s ", name, family);
	buf_puts(w->out, part == PART_ERROR ? "half of the 95 % interval of: " : "");
	put_escaped(w,
		    c && c->means    ? c->means
		    : t->form->title ? t->form->title
				     : t->form->name,
		    w->open);
	buf_printf(w->out, "\n# TYPE %s%s %s\n", name, family, type);
	if (w->open && *unit)
		buf_printf(w->out, "# UNIT %s %s\n", name, unit);
}

/* All samples of a column (NULL: of the table's texts), with the head that belongs to them. */
static void put_family(struct writer *w, const struct table *t, const struct table_column *c,
		       enum part part)
{
	const char *suffix = part == PART_INFO				? "_info"
			     : part == PART_VALUE && c->flags & C_TOTAL ? "_total"
									: "";
	struct buf name = BUF_INIT;
	struct table_row r = { 0 };
	struct table_cell x = { 0 };
	bool begun = false;
	size_t row = 0;

	put_family_name(&name, w, t, c, part);
	for (; !w->out->failed && table_next(t, &r); row++) {
		const char *labels;

		if (part == PART_INFO || row >= w->at.n)
			put_labels(w, t, &r, part == PART_INFO);
		if (c) /* after the labels, which use the same scratch */
			table_cell(&x, t, c, &r, &w->scratch);
		if (c && (!cell_has(&x) || (part == PART_ERROR && !(x.e.half > 0))))
			continue;
		if (!begun)
			put_om_head(w, t, c, buf_str(&name), suffix, part);
		begun = true;
		labels = part == PART_INFO || row >= w->at.n ? buf_str(&w->labels)
							     : buf_str(&w->kept) + w->at.v[row];
		buf_puts(w->out, buf_str(&name));
		buf_puts(w->out, suffix);
		buf_puts(w->out, *labels ? "{" : "");
		buf_puts(w->out, labels);
		buf_puts(w->out, *labels ? "} " : " ");
		put_om_value(w->out, &x, part);
		buf_putc(w->out, '\n');
		buf_spill(w->out);
	}
	w->out->failed |= name.failed;
	buf_free(&name);
}

static void put_om_table(struct writer *w, const struct table *t)
{
	bool figures = false;
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	keep_labels(w, t);
	for (size_t i = 0; i < n; i++) {
		if (!om_family_of(t, i))
			continue;
		figures = true;
		put_family(w, t, &c[i], PART_VALUE);
		if (c[i].flags & C_ERROR)
			put_family(w, t, &c[i], PART_ERROR);
	}
	if (!figures)
		put_family(w, t, NULL, PART_INFO);
}

static void put_om_document(struct buf *out, const struct document *d, const struct show *s,
			    bool open)
{
	struct writer w = { .out = out, .d = d, .open = open };
	const struct table *t;
	size_t at = 0;

	while ((t = document_next_table(d, s, TABLE_PEOPLE, &at)))
		put_om_table(&w, t);
	if (open)
		buf_puts(out, "# EOF\n");
	out->failed |= w.scratch.failed | w.labels.failed | w.text.failed | w.kept.failed;
	buf_free(&w.scratch);
	buf_free(&w.labels);
	buf_free(&w.text);
	buf_free(&w.kept);
	vec_free(&w.at);
}

int format_openmetrics(struct buf *out, const struct document *d, const struct show *s,
		       struct err *err)
{
	(void)err;
	put_om_document(out, d, s, true);
	return 0;
}

int format_prometheus(struct buf *out, const struct document *d, const struct show *s,
		      struct err *err)
{
	(void)err;
	put_om_document(out, d, s, false);
	return 0;
}
