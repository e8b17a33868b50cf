/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A diff as a document: its sides, totals, the tree, and functions, those that changed first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/diff/diff_columns.h"
#include "report/recorded.h"

enum {
	LEAST_ROWS = 5, /* that people are shown, noise as well */
	LEAST_MATCHES = 3,
	MOST_MATCHES = 10,
};

const char *const diff_verdicts[DIFF_VERDICTS] = { "noise", "moved",	      "new",
						   "gone",  "not comparable", "same" };

TABLE_ROW_AS(diff_item_of, struct diff_item)

TABLE_CELL(side, const struct diff *x = t->ctx; out->text = x->side[diff_item_of(r)->side].name)
TABLE_CELL(change_diff, cell_estimate(out, diff_item_of(r)->change); out->sign = true)

TABLE_GET(diff_samples_cell)
{
	out->e = (struct estimate){ *(const double *)(const void *)((const char *)r->p + c->which),
				    0, NULL };
	out->none = out->e.v == 0 && diff_item_of(r)->ratio;
}

TABLE_GET(diff_match_cell)
{
	const struct diff_match *m = diff_item_of(r)->match;

	if (m)
		cell_printf(out, "%s%s", diff_match_kinds[m->kind], m->certain ? "" : "?");
}

/* Names of the match on side c->which. */
TABLE_GET(matched)
{
	const struct diff_match *m = diff_item_of(r)->match;

	if (!m)
		return;
	out->list = m->of[c->which];
	out->n_list = m->n[c->which];
}

TABLE_GET(function_shown)
{
	struct arena a = ARENA_INIT;
	const char *name = diff_function_name(&a, diff_item_of(r));

	if (name)
		cell_printf(out, "%s", name);
	arena_free(&a);
}

/* clang-format off */
#define SIDE \
	COLUMN("side", "", T_TEXT, C_KEY | C_DATA, "the new side", .get = side)
#define SAMPLES(key, means, member) \
	COLUMN(key, "samples", T_REAL, C_DATA, means, .get = diff_samples_cell, DIFF_AT(member))
#define VALUES \
	COLUMN("unit", "unit", T_TEXT, C_DATA, "of base, new and difference", DIFF_OF(unit)), \
	DIFF_AMOUNT("base", "base", "of the base, a recording's mean", base, 0), \
	DIFF_AMOUNT("new", "new", "of the new side", new, 0), \
	COLUMN("difference", "difference", T_AMOUNT, C_DATA, "new less base", \
	       DIFF_OF(difference)), \
	COLUMN("change", "change", T_SHARE, C_ERROR | C_WHY, "difference, as a part of base", \
	       .get = change_diff), \
	COLUMN("verdict", "", T_TEXT, 0, "noise, moved, new, gone, same, not comparable", \
	       TABLE_FIELD(struct diff_item, verdict), TABLE_NAMES(diff_verdicts)), \
	COLUMN("why", "why", T_TEXT, C_SPARSE | C_FLEX | C_CUT, \
	       "it is not comparable, or bar and verdict differ", \
	       DIFF_OF(why)), \
	COLUMN("chance", "chance", T_REAL, C_DATA, "of such a difference where nothing changed", \
	       DIFF_OF(chance)), \
	SAMPLES("base_samples", "that base is worth; 0: not of samples", base_samples), \
	SAMPLES("new_samples", "that new is worth", new_samples)
/* clang-format on */

static const struct table_column total_columns[] = { SIDE, DIFF_TOTAL_KEYS, VALUES };
static const struct table_column tree_columns[] = { SIDE, DIFF_NODE_KEYS, VALUES };
static const struct table_column row_columns[] = {
	SIDE,
	DIFF_ROW_KEYS(C_DATA),
	COLUMN("function_shown", "function", T_TEXT, C_PEOPLE | C_FLEX, "", .get = function_shown),
	VALUES,
	COLUMN("match", "", T_TEXT, C_SPARSE | C_DROP,
	       "renamed, inlined, split, ...; with ?: only perhaps", .get = diff_match_cell),
	COLUMN("base_functions", "base", T_LIST, C_DATA, "what was matched, in the base",
	       .get = matched, .which = 0),
	COLUMN("new_functions", "new", T_LIST, C_DATA, "and on the new side", .get = matched,
	       .which = 1),
};

/* clang-format off */
#define PLACE \
	COLUMN("dso", "dso", T_TEXT, C_KEY | C_DROP, "the file of the code", DIFF_OF(key[1])), \
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name", DIFF_OF(key[2]))
/* clang-format on */
static const struct table_column line_columns[] = {
	SIDE,
	DIFF_EVENT,
	PLACE,
	COLUMN("place", "place", T_TEXT, C_KEY | C_DATA,
	       "of the line: from the function's first one on, or as it is", DIFF_OF(key[3])),
	COLUMN("srcline", "line", T_TEXT, C_FLEX | C_KEEP_END, "FILE:LINE, the new side's",
	       DIFF_OF(shown)),
	VALUES,
};
static const struct table_column block_columns[] = {
	SIDE,
	PLACE,
	COLUMN("block", "block", T_TEXT, C_KEY, "its number, and how many there are",
	       DIFF_OF(key[3])),
	VALUES,
};
static const struct table_column memory_columns[] = {
	SIDE,
	COLUMN("by", "by", T_TEXT, C_KEY, "the table of mem: sources, types, fields",
	       DIFF_OF(key[0])),
	COLUMN("what", "what", T_TEXT, C_KEY | C_FLEX, "its row", DIFF_OF(key[1])),
	COLUMN("figure", "figure", T_TEXT, C_KEY, "samples, latency (the mean)", DIFF_OF(key[2])),
	VALUES,
};

static const struct table_form table_forms[DIFF_TABLES] = {
	{ "totals", NULL, 0, TABLE_COLUMNS(total_columns) },
	{ "tree", NULL, 0, TABLE_COLUMNS(tree_columns) },
	{ "rows", "where", TABLE_MAIN, TABLE_COLUMNS(row_columns), .rest = "function" },
	{ "lines", "lines", 0, TABLE_COLUMNS(line_columns), .rest = "line" },
	{ "blocks", "blocks", 0, TABLE_COLUMNS(block_columns), .rest = "block" },
	{ "memory", "memory", 0, TABLE_COLUMNS(memory_columns), .rest = "row" },
};

/* ---- sides, limits, common facts ------------------------------------------------------------- */

static const struct table_column side_columns[] = {
	COLUMN("side", "side", T_TEXT, C_KEY, "base, or what it is compared with",
	       DIFF_SIDE_OF(name)),
	COLUMN("input", "input", T_TEXT, 0, "its recordings", DIFF_SIDE_OF(inputs)),
	COLUMN("recordings", "recordings", T_COUNT, 0, "how many", DIFF_SIDE_OF(recordings)),
	COLUMN("seconds", "seconds", T_SECONDS, C_ERROR | C_WHY, "first to last sample, on average",
	       DIFF_SIDE_OF(seconds)),
	DIFF_MACHINE,
};
static const struct table_form sides_form = { "sides", NULL, TABLE_DATA,
					      TABLE_COLUMNS(side_columns) };

TABLE_CELL(signed_share, out->sign = true)

#define OF(member) TABLE_FIELD(struct diff_limit, member)
static const struct table_column limit_columns[] = {
	COLUMN("limit", "limit", T_TEXT, C_KEY, "as --fail-if says", OF(expr)),
	COLUMN("side", "side", T_TEXT, C_KEY | C_DATA, "the new side", OF(side)),
	COLUMN("change", "change", T_SHARE, C_ERROR | C_WHY, "what it is of", OF(change),
	       .get = signed_share),
	COLUMN("exceeded", "exceeded", T_FLAG, 0, "by a change that is more than chance",
	       OF(exceeded)),
	COLUMN("result", "", T_TEXT, 0, "in words", OF(what)),
};
#undef OF
static const struct table_form limits_form = { "limits", NULL, 0, TABLE_COLUMNS(limit_columns) };

TABLE_CELL(per, const struct diff *x = r->p; out->text = x->opts.per ? x->opts.per : "run")

static size_t count_same(const struct diff *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->table[DIFF_ROWS].n; i++)
		n += x->table[DIFF_ROWS].v[i].verdict == DIFF_SAME;
	return n;
}

TABLE_CELL(unchanged, out->n = count_same(r->p))
TABLE_CELL(diff_level, out->e.v = DIFF_LEVEL_PER_MILLE / 1000.0)

static const struct table_column head_columns[] = {
	COLUMN("normalized_by", "by", T_TEXT, 0, "run, time, samples or an event", .get = per),
	COLUMN("same", "same", T_COUNT, 0, "functions all of whose figures are alike",
	       .get = unchanged),
	COLUMN("level", "level", T_REAL, 0, "of diffs without a change, those that report one",
	       .get = diff_level),
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

#define OF(member) TABLE_FIELD(struct diff_family, member)
static const struct table_column family_columns[] = {
	COLUMN("family", "family", T_TEXT, C_KEY, "of figures that are corrected together",
	       OF(name)),
	COLUMN("figures", "figures", T_COUNT, 0, "that could be compared", OF(n)),
	COLUMN("changed", "changed", T_COUNT, 0, "that changed by more than chance", OF(changed)),
	COLUMN("level", "level", T_REAL, 0, "of families without a change, those that report one",
	       OF(level)),
	COLUMN("needed", "needed", T_REAL, 0, "chance below which one more is reported",
	       OF(needed)),
};
#undef OF
static const struct table_form families_form = { "families", NULL, TABLE_DATA,
						 TABLE_COLUMNS(family_columns) };

static const struct table_form *const forms[] = { &head_form,
						  &sides_form,
						  &families_form,
						  &table_forms[DIFF_TOTALS],
						  &table_forms[DIFF_TREE],
						  &table_forms[DIFF_ROWS],
						  &table_forms[DIFF_LINES],
						  &table_forms[DIFF_BLOCKS],
						  &table_forms[DIFF_MEMORY],
						  &diff_matches_form,
						  &limits_form,
						  &recorded_losses_form };
const struct document_form diff_document = {
	.name = "diff", .version = 1, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

/* ---- for people ------------------------------------------------------------------------------ */

/* "cycles", "function:parse" */
static const char *name_in_limits(struct document *d, const struct diff_item *it, int table)
{
	if (table == DIFF_ROWS)
		return arena_xprintf(&d->a, LIMIT_FUNCTION "%s", it->key[2] ? it->key[2] : "?");
	return it->key[table == DIFF_TREE];
}

struct verdict_tally { /* of all tables */
	size_t compared, changed, outside, same, not_comparable;
	const char *why; /* the first that is not comparable */
};

static struct verdict_tally count_verdicts(const struct diff *x)
{
	struct verdict_tally n = { 0 };

	for (int t = 0; t < DIFF_TABLES; t++)
		for (size_t i = 0; i < x->table[t].n; i++) {
			const struct diff_item *it = &x->table[t].v[i];

			n.compared += isnan(it->chance) ? 0 : 1;
			n.changed += diff_reported(it);
			n.outside += it->verdict == DIFF_NOISE && diff_outside(it);
			n.same += it->verdict == DIFF_SAME;
			if (it->verdict == DIFF_NOT_COMPARABLE && !n.not_comparable++)
				n.why = it->why;
		}
	return n;
}

static void put_diff_verdict(struct document *d, const struct diff *x)
{
	struct verdict_tally n = count_verdicts(x);
	struct buf line = BUF_INIT;
	char a[NUM_MAX], b[NUM_MAX];

	/* Totals, and items that limits name: "cycles +2.1 % (+-0.4), instructions +5.0 %
	 * (+-0.1)". */
	for (int t = 0; t < DIFF_SUMMED; t++)
		for (size_t i = 0; i < x->table[t].n; i++) {
			const struct diff_item *it = &x->table[t].v[i];
			const char *name;

			if (!diff_reported(it) || !(t == DIFF_TOTALS || it->named))
				continue;
			name = name_in_limits(d, it, t);
			buf_printf(&line, "%s%s ", line.len ? ", " : "", name ? name : "?");
			if (isnan(it->change.v))
				buf_puts(&line, "is new");
			else
				buf_printf(&line, "%+.1f %% (+-%.1f)", 100 * it->change.v,
					   100 * it->change.half);
		}
	if (line.len)
		;
	else if (n.changed)
		buf_printf(&line, "no total changed by more than chance; %s of %s figures did",
			   num_exact(a, n.changed), num_exact(b, n.compared));
	else if (n.compared) {
		buf_printf(&line, "no change beyond chance in %s figures",
			   num_exact(a, n.compared));
		if (n.outside)
			buf_printf(&line, " (%s outside the error bar: 1 in 20 is)",
				   num_exact(b, n.outside));
	} else if (n.not_comparable && diff_partial(x))
		buf_puts(&line, "no verdict: a recording is incomplete (notes below); "
				"--allow-partial compares what there is");
	else if (n.not_comparable)
		buf_printf(&line, "no verdict: %s", n.why);
	else
		buf_puts(&line, "no change: all figures are the same");
	document_title(d, INK_BOLD, "%s", buf_str(&line));
	buf_free(&line);
}

/* The cost of many comparisons, by family. */
static void put_families(struct document *d, const struct diff *x)
{
	struct buf line = BUF_INIT;
	char a[NUM_MAX], b[NUM_MAX];

	for (int k = 0; k < DIFF_FAMILIES; k++) {
		const struct diff_family *f = &x->family[k];

		if (f->n)
			buf_printf(&line, "%s1 in %s (%s %s)", line.len ? ", " : "",
				   num_exact(b, (uint64_t)lround(1 / f->needed)),
				   num_exact(a, f->n), f->name);
	}
	if (line.len)
		document_fact(d, "corrected", false,
			      "for many figures (Holm): a change takes a chance below %s; without "
			      "a change 1 diff in %d reports one",
			      buf_str(&line), 1000 / DIFF_LEVEL_PER_MILLE);
	buf_free(&line);
}

static void put_diff_heads(struct document *d, const struct diff *x)
{
	char s[NUM_MAX];

	for (size_t k = 0; k < x->n_sides; k++) {
		const struct diff_side_sum *sum = &x->sum[k];

		const char *names = sum->recordings > 1 ? sum->name : sum->inputs;
		struct buf runs = BUF_INIT;

		if (sum->recordings > 1)
			buf_printf(&runs, "  mean of %llu runs",
				   (unsigned long long)sum->recordings);
		document_head(d, k ? "new" : "base", "%s%s%s%s%s%s", names,
			      isnan(sum->seconds.v) ? "" : "  ",
			      isnan(sum->seconds.v) ? "" : num_seconds(s, sum->seconds.v),
			      buf_str(&runs), sum->command ? "  " : "",
			      sum->command ? sum->command : "");
		buf_free(&runs);
	}
}

/* Returns the node whose slots changed most, below `above` (NULL: of all); NULL: none is
 * reported. */
static const struct diff_item *most_moved(const struct diff *x, const struct diff_item *above)
{
	const struct diff_item *most = NULL;
	size_t len = above ? strlen(above->key[1]) : 0;

	for (size_t i = 0; i < x->table[DIFF_TREE].n; i++) {
		const struct diff_item *it = &x->table[DIFF_TREE].v[i];
		bool below = !above ||
			     (it->side == above->side && it->depth > above->depth &&
			      !strncmp(it->key[1], above->key[1], len) && it->key[1][len] == '.');

		if (below && diff_reported(it) && !it->ratio &&
		    (!most || fabs(it->difference) > fabs(most->difference)))
			most = it;
	}
	return most;
}

/* "backend.memory: -2.94 G slots": down to the node that has half of the change. */
static void put_moved_node(struct document *d, const struct diff *x)
{
	const struct diff_item *most = most_moved(x, NULL), *below = most;
	char a[NUM_MAX];

	while (below && fabs(below->difference) >= fabs(most->difference) / 2) {
		most = below;
		below = most_moved(x, most);
	}
	if (most)
		document_fact(d, "what moved", false, "%s: %s%s slots", most->key[1],
			      most->difference < 0 ? "-" : "+",
			      num_count(a, fabs(most->difference)));
}

/* "-2.94 G", "+16.2 ms" */
static void put_difference(struct buf *b, double v, bool seconds)
{
	char n[NUM_MAX];

	buf_printf(b, "%s%s", v < 0 ? "-" : "+",
		   seconds ? num_seconds(n, fabs(v)) : num_count(n, fabs(v)));
}

/* "hash_probe, parse_row: -2.94 G of -2.84 G cycles" */
static void put_moved(struct document *d, const struct diff *x)
{
	const diff_items *rows = &x->table[DIFF_ROWS], *totals = &x->table[DIFF_TOTALS];
	struct buf names = BUF_INIT;
	double sum = 0, whole = NAN;
	size_t named = 0;
	const char *name;
	bool seconds;

	if (!rows->n || !diff_reported(&rows->v[0]))
		return;
	for (size_t i = 0; i < totals->n; i++)
		if (totals->v[i].side == rows->v[0].side &&
		    !strcmp(totals->v[i].key[0], rows->v[0].key[0]))
			whole = totals->v[i].difference;
	for (size_t i = 0; i < rows->n && named < 3 && diff_reported(&rows->v[i]); i++) {
		if (rows->v[i].side != rows->v[0].side ||
		    strcmp(rows->v[i].key[0], rows->v[0].key[0]))
			continue;
		name = diff_function_name(&d->a, &rows->v[i]);
		buf_printf(&names, "%s%s", named++ ? ", " : "", name ? name : "?");
		sum += rows->v[i].difference;
	}
	seconds = rows->v[0].seconds;
	buf_puts(&names, ": ");
	put_difference(&names, sum, seconds);
	buf_puts(&names, " of ");
	put_difference(&names, whole, seconds);
	document_fact(d, "what moved", false, "%s%s%s", buf_str(&names), seconds ? "" : " ",
		      seconds ? "" : rows->v[0].unit);
	buf_free(&names);
}

static void put_diff_counts(struct document *d, const struct diff *x)
{
	const diff_items *rows = &x->table[DIFF_ROWS];
	size_t n = 0, same = count_same(x);
	char a[NUM_MAX], b[NUM_MAX];

	for (size_t i = 0; i < rows->n; i++)
		n += rows->v[i].verdict == DIFF_NOISE;
	if (n || same)
		document_fact(d, "no change", false,
			      "%s functions by no more than chance, %s exactly the same",
			      num_exact(a, n), num_exact(b, same));
}

static void put_diff_next(struct document *d, const struct diff *x)
{
	const struct diff_item *it = x->table[DIFF_ROWS].v;
	struct next_list l = { .v = d->next, .a = &d->a };

	if (!x->table[DIFF_ROWS].n || !diff_reported(it) || !it->key[2] ||
	    it->verdict == DIFF_GONE || x->sum[it->side].unknown) /* a saved result has no code */
		return;
	l.input = x->side[it->side].run[0].input;
	next_add(&l, "annotate", "", it->key[2], "its lines now");
	d->n_next = l.n;
}

static size_t diff_rows_for_people(const struct diff *x, int table)
{
	const diff_items *rows = &x->table[table];
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		n += diff_reported(&rows->v[i]);
	if (x->opts.limit)
		return x->opts.limit;
	return n > LEAST_ROWS ? n : LEAST_ROWS;
}

static size_t matches_for_people(const struct diff *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->match.n; i++)
		n += x->match.v[i]->reported;
	return n < LEAST_MATCHES ? LEAST_MATCHES : n < MOST_MATCHES ? n : MOST_MATCHES;
}

void diff_put(struct document *d, const struct diff *x)
{
	const struct table limits = TABLE_OF(limits_form, NULL, x->limit.v, x->limit.n);
	const struct table losses = { .form = &recorded_losses_form, .array = &x->losses, .n = 1 };

	if (x->n_sides == 2)
		put_diff_verdict(d, x);
	document_table(d, &(struct table){ .form = &head_form, .array = x, .n = 1 });
	document_table(d, &TABLE_OF(sides_form, NULL, x->sum, x->n_sides));
	document_table(d, &TABLE_OF(families_form, NULL, x->family, DIFF_FAMILIES));
	put_diff_heads(d, x);
	for (int k = 0; k < DIFF_TABLES; k++) {
		const struct table t = { .form = &table_forms[k],
					 .ctx = x,
					 .array = x->table[k].v,
					 .stride = sizeof(struct diff_item),
					 .n = x->table[k].n,
					 .people =
						 k >= DIFF_ROWS ? diff_rows_for_people(x, k) : 0 };

		document_table(d, &t);
	}
	document_table(d, &TABLE_OF(diff_matches_form, x, x->match.v, x->match.n,
				    .people = matches_for_people(x)));
	document_table(d, &limits);
	put_moved_node(d, x);
	put_moved(d, x);
	put_diff_counts(d, x);
	put_families(d, x);
	put_diff_next(d, x);
	for (size_t i = 0; i < x->note.n; i++)
		document_note(d, x->note.v[i]);
	document_table(d, &losses);
}

size_t diff_changed(const struct diff *x, struct diff_changed **out)
{
	const diff_items *rows = &x->table[DIFF_ROWS];
	size_t n = 0;

	*out = xcalloc(rows->n + 1, sizeof(**out));
	for (size_t i = 0; i < rows->n; i++) {
		const struct diff_item *it = &rows->v[i];

		if (diff_reported(it) && it->verdict != DIFF_GONE && it->key[1] && it->key[2])
			(*out)[n++] = (struct diff_changed){ it->key[1], it->key[2], it->side };
	}
	return n;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int diff_build(struct diff **out, const struct diff_side *side, size_t n_sides,
	       const struct diff_opts *opts, struct err *err)
{
	struct diff *x = xcalloc(1, sizeof(*x));

	x->side = side;
	x->n_sides = n_sides;
	x->opts = *opts;
	diff_read_totals(x);
	diff_sides(x);
	if (diff_join(x, err) || diff_mark_named(x, err))
		goto fail;
	diff_judge(x);
	if (diff_gates(x, err))
		goto fail;
	*out = x;
	return 0;
fail:
	diff_free(x);
	return -1;
}

void diff_clear(struct diff *x)
{
	for (int t = 0; t < DIFF_TABLES; t++)
		vec_free(&x->table[t]);
	vec_free(&x->note);
	vec_free(&x->limit);
	vec_free(&x->match);
	vec_free(&x->file);
	strtab_free(&x->event);
	u64map_free(&x->total_at);
	u64map_free(&x->kind);
	vec_free(&x->total);
	arena_free(&x->a);
}

void diff_free(struct diff *x)
{
	if (x)
		diff_clear(x);
	free(x);
}
