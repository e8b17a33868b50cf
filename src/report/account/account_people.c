/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An account of cycles as people read it: the rows by the branches that matter, then the tree of
 * all of the recording. Marks of a figure: ~ too few samples, > a lower bound, ? doubtful, ^ more
 * than its parent.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/account/account_int.h"

enum { WORDS = 3, WORD_MAX = 13, DOTS = 3, NODES_MAX = 120 };

/* ---- marks ----------------------------------------------------------------------------------- */

static const struct {
	char mark;
	const char *text;
} legend[] = {
	{ '~', "too few samples to distinguish it from zero" },
	{ '>', "a lower bound: parts of it were not recorded" },
	{ '?', "doubtful: another event contradicts it, its counter may not work, or failed "
	       "validation" },
	{ '^', "more than what holds it: penalties overlapped in time" },
	{ '-', "not measured; why: --format csv --table nodes" },
};

/* The marks before (or behind) the figure of a cell that has a value. */
static void put_marks(struct buf *b, const struct account_cell *x, bool before)
{
	if (before) {
		if (!x->significant && (x->v != 0 || x->samples))
			buf_putc(b, '~');
		if (x->why == ACCOUNT_PARTS)
			buf_putc(b, '>');
	} else {
		if (x->disagrees || x->failed != MODEL_NONE)
			buf_putc(b, '?');
		if (x->overlap)
			buf_putc(b, '^');
	}
}

static unsigned char face_no_value(const struct account_cell *x)
{
	return x->why == ACCOUNT_DEAD ? '?' : '-';
}

static void note_marks(bool used[128], const struct account_cell *x)
{
	struct buf b = BUF_INIT;

	if (isnan(x->v)) {
		used[face_no_value(x)] = true;
		return;
	}
	put_marks(&b, x, true);
	put_marks(&b, x, false);
	for (size_t i = 0; i < b.len; i++)
		used[(unsigned char)b.s[i]] = true;
	buf_free(&b);
}

/* ---- rows: r->p is the row ------------------------------------------------------------------- */

static struct account_view *face_view_of(const struct table *t)
{
	struct account_view *const *v = t->ctx;

	return *v;
}

static const struct account *face_acc_of(const struct account_view *v)
{
	return v->source.bound->acc;
}

TABLE_GET(face_cycles)
{
	struct account_view *v = face_view_of(t);
	double all = v->source.bound->whole[0].v;

	out->e.v = all > 0 ? account_view_cells(v, r->p)[0].v / all : NAN;
}

static void put_face_number(struct buf *b, const struct account_view *v,
			    const struct account_cell *x, bool counts, double cycles)
{
	char num[NUM_MAX];

	if (counts)
		buf_puts(b, num_count(num, x->v));
	else
		buf_printf(b, "%.1f", 100 * x->v / cycles);
	if (!v->opts.errors)
		return;
	if (isnan(x->half))
		buf_puts(b, "+-?");
	else if (counts)
		buf_printf(b, "+-%s", num_count(num, x->half));
	else
		buf_printf(b, "+-%.1f", 100 * x->half / cycles);
}

/* A node of a row, in the unit asked for. */
TABLE_GET(face_branch)
{
	struct account_view *v = face_view_of(t);
	const struct account_cell *all = account_view_cells(v, r->p), *x = &all[c->which];
	bool counts = !face_acc_of(v)->node[c->which].cycles || v->opts.unit == ACCOUNT_CYCLES;
	struct buf *b = out->scratch;

	out->kind = T_TEXT;
	out->dim = !x->significant;
	if (isnan(x->v)) {
		buf_putc(b, (char)face_no_value(x));
	} else if (x->v == 0 && !x->samples) {
		buf_puts(b, x->why == ACCOUNT_PARTS ? ">0" : "0");
	} else {
		put_marks(b, x, true);
		if (!counts && v->opts.unit == ACCOUNT_SAMPLES)
			buf_printf(b, "%llu", (unsigned long long)x->samples);
		else if (counts || all[0].v > 0)
			put_face_number(b, v, x, counts, all[0].v);
		else
			buf_putc(b, '?'); /* no cycles of its own to be a share of */
		put_marks(b, x, false);
	}
	out->text = buf_str(b);
}

TABLE_GET(face_insns)
{
	const struct account_ran *x = account_view_ran(face_view_of(t), r->p);
	char num[NUM_MAX];

	out->kind = T_TEXT;
	if (x && !isnan(x->insns.v))
		cell_printf(out, "%s%s", num_count(num, x->insns.v), x->insns.leans ? "~" : "");
	else
		out->says = "-";
}

TABLE_GET(face_neighbours)
{
	const struct account_ran *x = account_view_ran(face_view_of(t), r->p);

	out->none = !x || !x->has_calls;
	if (x)
		out->n = c->which ? x->callees : x->callers;
}

/* The text of a fold. */
static void put_face_fold(const struct account_row *row, struct table_cell *out)
{
	out->kind = T_TEXT;
	if (row->left_out)
		out->text = "(left out by --focus or --hide)";
	else
		cell_printf(out, "(%llu more)", (unsigned long long)row->folded);
}

/* A nested row has but its own key, since the others stand above. */
TABLE_GET(face_where)
{
	const struct account_view *v = face_view_of(t);
	const struct account_row *row = r->p;

	out->indent = row->depth;
	if (!row->row) {
		put_face_fold(row, out);
		return;
	}
	if (v->opts.nested) {
		struct table_column own = account_key_column(v, row->depth, 0, face_where);

		out->kind = own.kind;
		account_key(v, row, row->depth, out);
	} else {
		account_key(v, row, c->which, out);
	}
}

/* If rows are not nested, the last key, the most specific one, is the first. */
TABLE_CELL(other_key, account_key(face_view_of(t), r->p, c->which, out))

/* The parts of a name, one a line, the last ones together if there are more. Nesting is shown by
 * dots before the first. */
static const char *make_head(struct document *d, const char *name, unsigned indent)
{
	struct buf b = BUF_INIT;
	const char *out;

	for (unsigned i = 0; i < indent && i < DOTS; i++)
		buf_putc(&b, '.');
	for (unsigned line = 0; *name && line < WORDS; line++) {
		size_t len = strcspn(name, "_");

		buf_printf(&b, "%s%.*s", line ? "\n" : "", len < WORD_MAX ? (int)len : WORD_MAX,
			   name);
		name += len;
		name += *name == '_';
	}
	out = arena_xstrndup(&d->a, buf_str(&b), b.len);
	buf_free(&b);
	return out;
}

static const struct table_column cycles_column[] = {
	COLUMN("share", "cycles", T_SHARE, 0, "of all cycles", .get = face_cycles),
};
static const struct table_column ran_columns[] = {
	COLUMN("insns", "insns", T_AMOUNT, C_DROP, "instructions, by branch records",
	       .get = face_insns),
	COLUMN("callers", "callers", T_COUNT, C_DROP, "functions that call it",
	       .get = face_neighbours),
	COLUMN("callees", "callees", T_COUNT, C_DROP, "functions that it calls",
	       .get = face_neighbours, .which = 1),
};
const struct table_form account_branches_form = { "branches", NULL, TABLE_PEOPLE,
						  TABLE_COLUMNS(cycles_column) };

static void put_face_keys(struct account_view *v, struct table_column *c, struct table *t)
{
	size_t n = profile_options(v->source.profile)->n_keys;

	if (v->opts.nested) {
		c[t->n_columns++] = (struct table_column)COLUMN(
			"where", "where", T_TEXT, C_FLEX, "what the row is of", .get = face_where);
		return;
	}
	for (size_t k = n; k-- > 0;) {
		struct table_column *x = &c[t->n_columns++];

		*x = account_key_column(v, k, 0, k + 1 == n ? face_where : other_key);
		x->flags |= x->kind == T_TEXT ? C_FLEX : 0;
	}
}

static const char *face_title_of(struct document *d, const struct account_view *v, const char *text)
{
	return v->source.n_all > 1 ? arena_xprintf(&d->a, "%s: %s", v->source.pmu, text) : text;
}

static void put_face_rows(struct document *d, struct account_view *const *of)
{
	struct account_view *v = *of;
	static const char *const units[] = {
		"per cent of each row's cycles; branches overlap and need not add up to 100",
		"in cycles; branches overlap",
		"in samples",
	};
	size_t n = v->n_columns < NODES_MAX ? v->n_columns : NODES_MAX;
	size_t n_keys = profile_options(v->source.profile)->n_keys;
	struct table_column *c = arena_xalloc(&d->a, (1 + n + 3 + n_keys) * sizeof(*c));
	struct table t = TABLE_OF(account_branches_form, of, v->row, v->n_rows, .column = c,
				  .title = face_title_of(d, v, units[v->opts.unit]));

	c[t.n_columns++] = cycles_column[0];
	for (size_t i = 0; i < n; i++) {
		const struct account_node *node = &face_acc_of(v)->node[v->column[i]];

		c[t.n_columns++] = (struct table_column)COLUMN(
			node->name, make_head(d, node->name, v->indent[i]), T_REAL, C_DROP,
			node->says ? node->says : "", .get = face_branch, .which = v->column[i]);
	}
	if (v->source.rans && v->source.rans->n) {
		memcpy(c + t.n_columns, ran_columns, sizeof(ran_columns));
		t.n_columns += sizeof(ran_columns) / sizeof(*ran_columns);
	}
	put_face_keys(v, c, &t);
	document_table(d, &t);
}

/* ---- the tree: rows are nodes, or headings --------------------------------------------------- */

struct line {
	const char *heading; /* NULL: it is a node */
	uint32_t node;
	unsigned indent;
};

static const struct account_cell *face_cell_of(const struct table *t, const struct table_row *r)
{
	const struct line *l = r->p;

	return l->heading ? NULL : &face_view_of(t)->source.bound->whole[l->node];
}

TABLE_GET(face_node_name)
{
	const struct line *l = r->p;
	const struct account_cell *x = face_cell_of(t, r);

	out->text = l->heading ? l->heading : face_acc_of(face_view_of(t))->node[l->node].name;
	out->indent = l->indent;
	out->dim = x && (isnan(x->v) || !x->significant);
}

TABLE_GET(face_node_share)
{
	const struct account_cell *x = face_cell_of(t, r);
	const struct account_view *v = face_view_of(t);

	out->kind = T_TEXT;
	if (!x)
		return;
	out->dim = !x->significant;
	if (isnan(x->v)) {
		cell_printf(out, "%c", face_no_value(x));
		return;
	}
	if (!face_acc_of(v)->node[((const struct line *)r->p)->node].cycles)
		return;
	put_marks(out->scratch, x, true);
	buf_printf(out->scratch, "%.1f %%", 100 * x->v / v->source.bound->whole[0].v);
	put_marks(out->scratch, x, false);
	out->text = buf_str(out->scratch);
}

TABLE_GET(node_error)
{
	const struct account_cell *x = face_cell_of(t, r);
	const struct account_view *v = face_view_of(t);

	if (!x || isnan(x->v) || !face_acc_of(v)->node[((const struct line *)r->p)->node].cycles)
		return;
	if (isnan(x->half))
		out->text = "+-?";
	else
		cell_printf(out, "+-%.1f", 100 * x->half / v->source.bound->whole[0].v);
}

TABLE_GET(node_value)
{
	const struct account_cell *x = face_cell_of(t, r);
	char num[NUM_MAX];

	out->kind = T_TEXT;
	if (!x || isnan(x->v))
		return;
	out->dim = !x->significant;
	if (fabs(x->v) < 1000 && x->v != floor(x->v))
		cell_printf(out, "%.3g", x->v);
	else
		cell_printf(out, "%s", num_count(num, x->v));
}

/* Its unit, how good it is, or why it has no value: in few words, csv and json have more. */
TABLE_GET(face_remark)
{
	static const char *const cover[] = {
		[COVER_PROFILE] = "poor by line",
		[COVER_PARTIAL] = "partly or roughly",
		[COVER_NONE] = NULL,
	};
	static const char *const why[] = {
		[ACCOUNT_NOT_RECORDED] = "not recorded",
		[ACCOUNT_NOT_COVERED] = "no event for it",
		[ACCOUNT_NO_CLOCK] = "no reference clock",
		[ACCOUNT_NO_TIME] = "unknown frequency",
		[ACCOUNT_DIVIDED_BY_0] = "divided by 0",
		[ACCOUNT_NO_RUNNING] = "had no counter",
		[ACCOUNT_DEAD] = "dead counter?",
		[ACCOUNT_ONE_THREAD] = "one thread a core",
		[ACCOUNT_UNKNOWN] = "not in a recording",
	};
	const struct account_cell *x = face_cell_of(t, r);
	const struct account_node *n;

	if (!x)
		return;
	n = &face_acc_of(face_view_of(t))->node[((const struct line *)r->p)->node];
	out->dim = !x->significant;
	if (!isnan(x->v))
		out->text = n->cycles ? cover[n->cover] : n->unit;
	else if (n->part == PART_HALTED && x->why == ACCOUNT_UNKNOWN)
		out->text = "needs record -a";
	else
		out->text = why[x->why];
}

static const struct table_column tree_columns[] = {
	COLUMN("node", "node", T_TEXT, 0, "its name", .get = face_node_name),
	COLUMN("share", "share", T_REAL, 0, "of all cycles", .get = face_node_share),
	COLUMN("error", "+-", T_TEXT, 0, "of the share", .get = node_error),
	COLUMN("value", "value", T_REAL, 0, "cycles, or its unit", .get = node_value),
	COLUMN("remark", "", T_TEXT, C_FLEX, "its unit, or why it has no value",
	       .get = face_remark),
};
const struct table_form account_tree_form = { "tree", NULL, TABLE_PEOPLE,
					      TABLE_COLUMNS(tree_columns) };

/* The tree of the paper's figure: the whole, halted and not, stalled and not; each with its
 * branches. */
static void put_face_tree(struct document *d, struct account_view *const *of)
{
	struct account_view *v = *of;
	static const struct {
		enum account_part part;
		const char *heading;
	} parts[] = { { PART_CYCLES, NULL },
		      { PART_HALTED, NULL },
		      { PART_STALLED, "stalled: cycles without progress" },
		      { PART_UNSTALLED, "unstalled: cycles with progress" },
		      { PART_INFO, "other counts" } };
	const struct account *acc = face_acc_of(v);
	size_t most = acc->n + sizeof(parts) / sizeof(*parts);
	struct line *line = arena_xalloc(&d->a, most * sizeof(*line));
	struct table t = { .form = &account_tree_form,
			   .ctx = of,
			   .array = line,
			   .stride = sizeof(*line),
			   .title = face_title_of(d, v, "all of the recording") };

	for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
		unsigned heading = parts[k].heading != NULL, above = heading;
		uint32_t root = 0;

		for (uint32_t i = 0; i < acc->n; i++) {
			if (acc->node[i].parent == MODEL_NONE)
				root = i;
			if (acc->node[root].part != parts[k].part || !account_shows(v, i) ||
			    (parts[k].part == PART_INFO && !v->opts.all))
				continue;
			if (above)
				line[t.n++] = (struct line){ .heading = parts[k].heading };
			above = 0;
			line[t.n++] =
				(struct line){ .node = i, .indent = heading + acc->node[i].depth };
		}
	}
	document_table(d, &t);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void note_all_marks(bool used[128], struct account_view *v)
{
	for (size_t r = 0; r < v->n_rows; r++) {
		const struct account_cell *x = account_view_cells(v, &v->row[r]);

		for (size_t i = 0; i < v->n_columns; i++)
			note_marks(used, &x[v->column[i]]);
	}
	for (uint32_t i = 0; i < face_acc_of(v)->n; i++)
		if (account_shows(v, i))
			note_marks(used, &v->source.bound->whole[i]);
}

void account_put_legend(struct document *d, struct account_view *const *v, size_t n)
{
	bool used[128] = { false };

	for (size_t i = 0; i < n; i++)
		if (v[i]->source.bound->whole[0].v > 0)
			note_all_marks(used, v[i]);
	for (size_t i = 0; i < sizeof(legend) / sizeof(*legend); i++) {
		const char label[] = { legend[i].mark, '\0' };

		if (used[(unsigned char)legend[i].mark])
			document_fact(d, label, false, "%s", legend[i].text);
	}
	if (v[0]->source.rans && v[0]->source.rans->late)
		document_fact(d, "insns~", false,
			      "no error bar: samples of the branch records' event come late by an "
			      "unknown number of cycles");
}

void account_put_people(struct document *d, struct account_view *const *of)
{
	struct account_view *v = *of;
	const struct account_cell *all = &v->source.bound->whole[0];
	char cycles[NUM_MAX], samples[NUM_MAX];

	document_title(d, INK_PLAIN, "%s cycles, %s samples; account of %s%s%s%s",
		       num_count(cycles, all->v), num_exact(samples, all->samples),
		       face_acc_of(v)->model->title, v->source.pmu ? " (" : "",
		       v->source.pmu ? v->source.pmu : "", v->source.pmu ? ")" : "");
	if (!(all->v > 0)) {
		document_fact(d, "no cycles", true,
			      "nothing to account for: a branch is a share of the cycles");
		return;
	}
	put_face_rows(d, of);
	put_face_tree(d, of);
}
