/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/tree_saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "report/tree_int.h"

#define MAGIC	 "cyclade.tree.rows 1"
#define ROWS_MAX 4096u
#define FIELDS	 9u

/* ---- writing ---------------------------------------------------------------------------- */

static void put_text(struct buf *b, const char *s)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s ? s : "", false); /* a tab or a line's end is none any more */
	buf_puts(b, buf_str(&safe));
	b->failed |= safe.failed;
	buf_free(&safe);
}

static void put_number(struct buf *b, double v)
{
	if (isfinite(v))
		buf_printf(b, "%.9g\t", v);
	else
		buf_puts(b, "-\t");
}

static void put_row(struct buf *b, const struct tree_view_row *r)
{
	buf_printf(b, "row\t%u\t%s%s%s%s%s%s\t", r->depth, r->last ? "l" : "", r->path ? "p" : "",
		   r->over ? "o" : "", r->doubtful ? "d" : "", r->metric == MODEL_NONE ? "s" : "",
		   r->last || r->path || r->over || r->doubtful || r->metric == MODEL_NONE ? ""
											   : "-");
	put_number(b, r->share);
	put_number(b, r->error);
	put_number(b, r->counted);
	put_text(b, r->name);
	buf_putc(b, '\t');
	put_text(b, r->unit);
	buf_putc(b, '\t');
	put_text(b, r->no_error);
	buf_putc(b, '\n');
}

static void put_why(struct buf *b, const struct tree_view *v, const struct tree_view_row *r)
{
	struct buf why = BUF_INIT;

	if (r->metric != MODEL_NONE)
		tree_view_why(&why, &v->source, r->metric);
	if (why.len) {
		buf_puts(b, "why\t");
		put_text(b, r->name);
		buf_putc(b, '\t');
		put_text(b, buf_str(&why));
		buf_putc(b, '\n');
	}
	b->failed |= why.failed;
	buf_free(&why);
}

void tree_saved_write(struct buf *out, const struct tree_report *r)
{
	buf_puts(out, MAGIC "\ncpu\t");
	put_text(out, r->cpu);
	buf_putc(out, '\n');
	for (size_t i = 0; i < r->n_views; i++) {
		const struct tree_view *v = &r->view[i];

		buf_puts(out, "view\t");
		put_number(out, v->source.whole);
		put_text(out, v->source.label);
		buf_putc(out, '\n');
		for (size_t k = 0; k < v->n; k++)
			put_row(out, &v->row[k]);
		for (size_t k = 0; k < v->n; k++)
			put_why(out, v, &v->row[k]);
	}
	for (size_t i = 0; i < r->head.n_notes; i++) {
		buf_puts(out, "note\t");
		put_text(out, r->head.notes[i]);
		buf_putc(out, '\n');
	}
}

/* ---- reading ---------------------------------------------------------------------------- */

struct reading {
	struct arena a;
	struct buf *out;
	const struct style *st;
	VEC(struct tree_view_row) row; /* of the view that is being read */
	const char *label;
	double whole;
	bool first, view, failed;
	struct buf why, notes; /* lines that stand behind the rows, behind the views */
};

struct line {
	const char *field[FIELDS];
	size_t n;
};

static double number_of(const char *s)
{
	char *end;
	double v;

	if (!strcmp(s, "-"))
		return NAN;
	v = strtod(s, &end);
	return end == s || *end || !isfinite(v) ? NAN : v;
}

/* Text as a terminal may have it, whoever wrote it. */
static const char *safe_text(struct reading *k, const char *s)
{
	struct buf safe = BUF_INIT;
	char *copy;

	text_put_safe(&safe, s, k->st->ascii);
	copy = safe.failed ? NULL : arena_strdup(&k->a, buf_str(&safe));
	buf_free(&safe);
	k->failed |= !copy;
	return copy ? copy : "";
}

static void end_view(struct reading *k)
{
	const struct tree_rows rows = {
		.label = k->label, .whole = k->whole, .row = k->row.v, .n = k->row.n
	};

	if (!k->view)
		return;
	tree_put_rows(k->out, &rows, buf_str(&k->why), k->st, k->first);
	k->first = k->view = false;
	k->row.n = 0;
	buf_reset(&k->why);
}

static void on_row(struct reading *k, const struct line *l)
{
	double depth = number_of(l->field[1]);
	const char *flags = l->field[2];
	struct tree_view_row r = {
		.metric = strchr(flags, 's') ? MODEL_NONE : 0,
		.parent = TREE_NO_ROW,
		.depth = depth > 0 && depth < 100 ? (unsigned)depth : 0,
		.last = strchr(flags, 'l'),
		.path = strchr(flags, 'p'),
		.over = strchr(flags, 'o'),
		.doubtful = strchr(flags, 'd'),
		.share = number_of(l->field[3]),
		.error = number_of(l->field[4]),
		.counted = number_of(l->field[5]),
	};

	if (!k->view || k->row.n == ROWS_MAX)
		return;
	r.name = safe_text(k, l->field[6]);
	r.unit = safe_text(k, l->field[7]);
	if (*l->field[8])
		r.no_error = safe_text(k, l->field[8]);
	k->failed |= vec_push(&k->row, r);
}

static void on_line(struct reading *k, const struct line *l)
{
	const char *word = l->field[0];

	if (!strcmp(word, "cpu") && l->n == 2) {
		buf_printf(k->out, " %s\n", safe_text(k, l->field[1]));
	} else if (!strcmp(word, "view") && l->n == 3) {
		end_view(k);
		k->view = true;
		k->whole = number_of(l->field[1]);
		k->label = *l->field[2] ? safe_text(k, l->field[2]) : NULL;
	} else if (!strcmp(word, "row") && l->n == FIELDS) {
		on_row(k, l);
	} else if (!strcmp(word, "why") && l->n == 3 && k->why.len < (64u << 10)) {
		buf_printf(&k->why, " - %s: ", safe_text(k, l->field[1]));
		buf_printf(&k->why, "%s\n", safe_text(k, l->field[2]));
	} else if (!strcmp(word, "note") && l->n == 2 && k->notes.len < (64u << 10)) {
		buf_printf(&k->notes, " %s\n", safe_text(k, l->field[1]));
	}
}

/* Parts a line, in place, at its tabs; one with more of them than fit is nobody's. */
static void split(struct line *l, char *text)
{
	l->n = 0;
	for (char *next = text; next; l->n++) {
		char *tab = strchr(next, '\t');

		if (l->n < FIELDS)
			l->field[l->n] = next;
		if (tab)
			*tab = '\0';
		next = tab ? tab + 1 : NULL;
	}
}

int tree_saved_put(struct buf *out, const char *text, size_t len, const struct style *st,
		   struct err *err)
{
	struct reading k = {
		.a = ARENA_INIT, .out = out, .st = st, .row = VEC_INIT, .first = true
	};
	const size_t magic = strlen(MAGIC);
	char *copy;
	struct line l;

	if (len <= magic || memcmp(text, MAGIC "\n", magic + 1) != 0)
		return err_set(err, ERR_FORMAT, "no tree as this version of cyclade writes it");
	copy = arena_strndup(&k.a, text + magic + 1, len - magic - 1);
	k.failed = !copy;
	for (char *line = copy; line && *line;) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		split(&l, line);
		on_line(&k, &l);
		line = end ? end + 1 : NULL;
	}
	end_view(&k);
	buf_puts(out, buf_str(&k.notes));
	k.failed |= out->failed | k.why.failed | k.notes.failed;
	buf_free(&k.why);
	buf_free(&k.notes);
	vec_free(&k.row);
	arena_free(&k.a);
	return k.failed ? err_nomem(err) : 0;
}
