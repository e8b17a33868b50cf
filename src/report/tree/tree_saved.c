/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/tree_saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "report/tree/tree_parts.h"

#define MAGIC	 "cyclade.tree.rows 1"
#define ROWS_MAX 4096u
#define FIELDS	 9u
#define TEXT_MAX (64u << 10) /* of reasons, of notes */
#define DEPTH	 100u
#define SLACK	 1e-6 /* of a share of 1, in nine digits */

/* ---- writing ---------------------------------------------------------------------------- */

static void put_saved_text(struct buf *b, const char *s)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s ? s : "", false); /* a tab or a line's end is none any more */
	buf_puts(b, buf_str(&safe));
	b->failed |= safe.failed;
	buf_free(&safe);
}

/* All digits: a figure that is rounded twice may be another one. */
static void put_saved_number(struct buf *b, double v)
{
	if (isfinite(v))
		buf_printf(b, "%.17g\t", v);
	else
		buf_puts(b, "-\t");
}

static void put_saved_row(struct buf *b, const struct tree_view_row *r)
{
	char flag[8];
	size_t n = 0;

	if (r->last)
		flag[n++] = 'l';
	if (r->path)
		flag[n++] = 'p';
	if (r->tie)
		flag[n++] = 't';
	if (r->over)
		flag[n++] = 'o';
	if (r->doubtful)
		flag[n++] = 'd';
	if (r->bound)
		flag[n++] = 'b';
	if (r->metric == MODEL_NONE)
		flag[n++] = 's';
	if (!n)
		flag[n++] = '-';
	flag[n] = '\0';
	buf_printf(b, "row\t%u\t%s\t", r->depth, flag);
	put_saved_number(b, r->share);
	put_saved_number(b, r->error);
	put_saved_number(b, r->counted);
	put_saved_text(b, r->name);
	buf_putc(b, '\t');
	put_saved_text(b, r->unit);
	buf_putc(b, '\t');
	put_saved_text(b, r->no_error);
	buf_putc(b, '\n');
}

static void put_saved_why(struct buf *b, const struct tree_view *v, const struct tree_view_row *r)
{
	struct buf why = BUF_INIT;

	if (r->metric != MODEL_NONE)
		tree_view_why(&why, &v->source, r->metric);
	if (why.len) {
		buf_puts(b, "why\t");
		put_saved_text(b, r->name);
		buf_putc(b, '\t');
		put_saved_text(b, buf_str(&why));
		buf_putc(b, '\n');
	}
	b->failed |= why.failed;
	buf_free(&why);
}

void tree_saved_write(struct buf *out, const struct tree_report *r)
{
	buf_puts(out, MAGIC "\ncpu\t");
	put_saved_text(out, r->cpu);
	buf_putc(out, '\n');
	for (size_t i = 0; i < r->n_views; i++) {
		const struct tree_view *v = &r->view[i];

		buf_puts(out, "view\t");
		put_saved_number(out, v->source.whole);
		put_saved_text(out, v->source.label);
		buf_putc(out, '\n');
		for (size_t k = 0; k < v->n; k++)
			put_saved_row(out, &v->row[k]);
		for (size_t k = 0; k < v->n; k++)
			put_saved_why(out, v, &v->row[k]);
	}
	for (size_t i = 0; i < r->head.n_notes; i++) {
		buf_puts(out, "note\t");
		put_saved_text(out, r->head.notes[i]);
		buf_putc(out, '\n');
	}
}

/* ---- reading ---------------------------------------------------------------------------- */

struct reading {
	struct arena *a;
	VEC(struct tree_saved_view) view;
	VEC(struct tree_view_row) row; /* of the view that is being read */
	VEC(struct tree_saved_why) why;
	VEC(const char *) note;
	const char *cpu;
	bool failed;
};

struct line {
	char *field[FIELDS];
	size_t n;
};

static double saved_number_of(const char *s)
{
	char *end;
	double v;

	if (!strcmp(s, "-"))
		return NAN;
	v = strtod(s, &end);
	return end == s || *end || !isfinite(v) ? NAN : v;
}

/* Nothing that was written is below 0. */
static double amount_of(const char *s)
{
	double v = saved_number_of(s);

	return v < 0 ? NAN : v;
}

static void end_view(struct reading *k)
{
	struct tree_saved_view *v = k->view.n ? &k->view.v[k->view.n - 1] : NULL;

	if (!v)
		return;
	v->n = k->row.n;
	v->n_why = k->why.n;
	v->row = arena_memdup(k->a, k->row.v, k->row.n * sizeof(*k->row.v));
	v->why = arena_memdup(k->a, k->why.v, k->why.n * sizeof(*k->why.v));
	k->failed |= (v->n && !v->row) || (v->n_why && !v->why);
	k->row.n = k->why.n = 0;
}

static void on_view(struct reading *k, const struct line *l)
{
	const struct tree_saved_view v = { .label = *l->field[2] ? l->field[2] : NULL,
					   .whole = amount_of(l->field[1]) };

	end_view(k);
	k->failed |= vec_push(&k->view, v);
}

static void on_row(struct reading *k, const struct line *l)
{
	double depth = saved_number_of(l->field[1]);
	const char *flags = l->field[2];
	struct tree_view_row r = {
		.metric = strchr(flags, 's') ? MODEL_NONE : 0,
		.parent = TREE_NO_ROW,
		.depth = depth > 0 && depth < 100 ? (unsigned)depth : 0,
		.last = strchr(flags, 'l'),
		.path = strchr(flags, 'p'),
		.tie = strchr(flags, 't'),
		.over = strchr(flags, 'o'),
		.doubtful = strchr(flags, 'd'),
		.share = saved_number_of(l->field[3]),
		.error = amount_of(l->field[4]),
		.counted = amount_of(l->field[5]),
		.open = NAN,
		.name = l->field[6],
		.unit = l->field[7],
		.no_error = *l->field[8] ? l->field[8] : NULL,
	};

	if (!k->view.n || k->row.n == ROWS_MAX)
		return;
	if (r.share < 0 || r.share > 1 + SLACK) {
		r.share = r.error = NAN;
		r.doubtful = true;
	}
	if (strchr(flags, 'b') && !isnan(r.share) && !isnan(r.error)) { /* as tree_bound() has it */
		r.bound = true;
		r.low = fmax(0, r.share - r.error);
		r.high = fmin(1, r.share + r.error);
	}
	if (r.counted > 1)
		r.counted = r.counted > 1 + SLACK ? (double)NAN : 1;
	k->failed |= vec_push(&k->row, r);
}

static void on_saved_line(struct reading *k, const struct line *l)
{
	const char *word = l->field[0];

	if (!strcmp(word, "cpu") && l->n == 2) {
		k->cpu = l->field[1];
	} else if (!strcmp(word, "view") && l->n == 3) {
		on_view(k, l);
	} else if (!strcmp(word, "row") && l->n == FIELDS) {
		on_row(k, l);
	} else if (!strcmp(word, "why") && l->n == 3 && k->view.n && k->why.n < ROWS_MAX) {
		const struct tree_saved_why w = { l->field[1], l->field[2] };

		k->failed |= vec_push(&k->why, w);
	} else if (!strcmp(word, "note") && l->n == 2 && k->note.n < ROWS_MAX) {
		k->failed |= vec_push(&k->note, l->field[1]);
	}
}

/* Parts a line, in place, at its tabs; one with more of them than fit is invalid. */
static void split_saved_line(struct line *l, char *text)
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

/* The tree that was read, moved into the arena. */
static void give_saved(struct tree_saved *out, struct reading *k)
{
	end_view(k);
	*out = (struct tree_saved){ .cpu = k->cpu, .n_views = k->view.n, .n_notes = k->note.n };
	out->view = arena_memdup(k->a, k->view.v, k->view.n * sizeof(*k->view.v));
	out->note = arena_memdup(k->a, k->note.v, k->note.n * sizeof(*k->note.v));
	k->failed |= (out->n_views && !out->view) || (out->n_notes && !out->note);
}

int tree_saved_read(struct tree_saved *out, struct arena *a, const char *text, size_t len,
		    struct err *err)
{
	struct reading k = {
		.a = a, .view = VEC_INIT, .row = VEC_INIT, .why = VEC_INIT, .note = VEC_INIT
	};
	const size_t magic = strlen(MAGIC);
	char *copy;
	struct line l;

	if (len <= magic || memcmp(text, MAGIC "\n", magic + 1) != 0)
		return err_set(err, ERR_FORMAT, "no tree as this version of cyclade writes it");
	copy = arena_strndup(a, text + magic + 1, len - magic - 1);
	k.failed = !copy;
	for (char *line = copy; line && *line;) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		split_saved_line(&l, line);
		on_saved_line(&k, &l);
		line = end ? end + 1 : NULL;
	}
	give_saved(out, &k);
	vec_free(&k.view);
	vec_free(&k.row);
	vec_free(&k.why);
	vec_free(&k.note);
	return k.failed ? err_nomem(err) : 0;
}

/* ---- for people ------------------------------------------------------------------------- */

/* A line, in as many as the terminal needs for it. */
static void put_saved_line(struct buf *b, const char *mark, const char *name, const char *s,
			   const struct style *st)
{
	struct buf line = BUF_INIT;

	if (name) {
		text_put_safe(&line, name, st->ascii);
		buf_puts(&line, ": ");
	}
	text_put_safe(&line, s, st->ascii);
	buf_puts(b, mark);
	text_put_wrapped(b, buf_str(&line), strlen(mark), st->width);
	buf_putc(b, '\n');
	b->failed |= line.failed;
	buf_free(&line);
}

static void put_saved_view(struct buf *out, const struct tree_saved_view *v, const struct style *st,
			   bool first)
{
	struct buf why = BUF_INIT, label = BUF_INIT;
	struct tree_rows rows = { .whole = v->whole, .row = v->row, .n = v->n };

	if (v->label) {
		text_put_safe(&label, v->label, st->ascii);
		rows.label = buf_str(&label);
	}
	for (size_t i = 0; i < v->n_why && why.len < TEXT_MAX; i++)
		put_saved_line(&why, " - ", v->why[i].name, v->why[i].reason, st);
	tree_put_rows(out, &rows, buf_str(&why), st, first);
	out->failed |= why.failed | label.failed;
	buf_free(&why);
	buf_free(&label);
}

void tree_saved_put(struct buf *out, const struct tree_saved *t, const struct style *st)
{
	size_t from;

	if (t->cpu)
		put_saved_line(out, " ", NULL, t->cpu, st);
	for (size_t i = 0; i < t->n_views; i++)
		put_saved_view(out, &t->view[i], st, !i);
	from = out->len;
	for (size_t i = 0; i < t->n_notes && out->len - from < TEXT_MAX; i++)
		put_saved_line(out, " ", NULL, t->note[i], st);
}

/* ---- for programs: at[0] counts trees, at[1] rows, at[2] the reasons of rows passed ---------- */

static const struct tree_saved_view *tree_of(const struct table *t, const struct table_row *r)
{
	return &((const struct tree_saved *)t->ctx)->view[r->at[0]];
}

/* Reasons stand in the order of the rows that they are of. */
static const char *saved_reason_of(const struct table *t, const struct table_row *r)
{
	const struct tree_saved_view *v = tree_of(t, r);
	const struct tree_view_row *row = r->p;

	if (row->metric == MODEL_NONE || r->at[2] >= v->n_why ||
	    strcmp(v->why[r->at[2]].name, row->name) != 0)
		return NULL;
	return v->why[r->at[2]].reason;
}

static bool next_saved_row(const struct table *t, struct table_row *r)
{
	const struct tree_saved *s = t->ctx;

	if (r->p) {
		r->at[2] += saved_reason_of(t, r) != NULL;
		r->at[1]++;
	}
	while (r->at[0] < s->n_views && r->at[1] >= s->view[r->at[0]].n) {
		r->at[0]++;
		r->at[1] = r->at[2] = 0;
	}
	if (r->at[0] >= s->n_views)
		return false;
	r->p = &s->view[r->at[0]].row[r->at[1]];
	return true;
}

static bool has_no_sum(const struct tree_view_row *r)
{
	return r->metric == MODEL_NONE && isnan(r->share);
}

TABLE_CELL(where, out->text = tree_of(t, r)->label)
TABLE_CELL(slots, out->e.v = tree_of(t, r)->whole)
TABLE_CELL(id, out->n = r->at[1] + 1)
TABLE_CELL(is_sum, out->n = ((const struct tree_view_row *)r->p)->metric == MODEL_NONE)

TABLE_GET(parent)
{
	const struct tree_view_row *row = r->p;
	size_t i = r->at[1];

	while (row->depth && i && tree_of(t, r)->row[i].depth >= row->depth)
		i--;
	out->n = row->depth ? i + 1 : 0;
}

TABLE_GET(value)
{
	const struct tree_view_row *row = r->p;
	const char *why = saved_reason_of(t, r);

	if (has_no_sum(row) && !why)
		why = "stalls that overlap have no sum";
	if ((isnan(row->share) || row->doubtful) && !why)
		why = row->doubtful ? "what was counted contradicts it" : "not measured";
	if (!row->doubtful)
		out->e = (struct estimate){ row->share, row->error, NULL };
	out->e.why = why ? why : row->no_error;
}

TABLE_GET(unit)
{
	const struct tree_view_row *row = r->p;

	out->text = has_no_sum(row) ? NULL : *row->unit ? row->unit : "slots";
}

#define OF(member) TABLE_FIELD(struct tree_view_row, member)
static const struct table_column tree_columns[] = {
	COLUMN("where", "where", T_TEXT, C_KEY, "the kind of core, where there are several",
	       .get = where),
	COLUMN("slots", "slots", T_AMOUNT, 0, "that all of its tree is of", .get = slots),
	COLUMN("id", "id", T_ID, 0, "of the row in its tree, from 1", .get = id),
	COLUMN("parent", "parent", T_ID, 0, "the row above; 0: none", .get = parent),
	COLUMN("node", "node", T_TEXT, C_KEY, "its name", OF(name)),
	COLUMN("value", "share", T_SHARE, C_HEAT | C_ERROR | C_WHY, "of its unit", .get = value),
	COLUMN("unit", "of", T_TEXT, 0, "what it is a share of", .get = unit),
	COLUMN("counted", "counted", T_SHARE, 0, "share of the time that its events were",
	       OF(counted)),
	COLUMN("sum", "sum", T_FLAG, 0, "small nodes added up", .get = is_sum),
	COLUMN("over", "over", T_FLAG, 0, "over its threshold", OF(over)),
	COLUMN("path", "<==", T_FLAG, 0, "on the path to follow", OF(path)),
};
#undef OF
const struct table_form tree_saved_form = { "tree", NULL, TABLE_DATA, TABLE_COLUMNS(tree_columns),
					    .next = next_saved_row };

TABLE_CELL(note_text, out->text = *(const char *const *)r->p)

static const struct table_column note_columns[] = {
	COLUMN("note", "note", T_TEXT, C_KEY, "what to know of the tree", .get = note_text),
};
const struct table_form tree_saved_notes_form = { "tree_notes", NULL, TABLE_LINES | TABLE_DATA,
						  TABLE_COLUMNS(note_columns) };
