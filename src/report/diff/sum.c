/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "report/sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "report/diff/diff_columns.h"
#include "report/recorded.h"

struct sum {
	struct diff x; /* of one side: all recordings */
	struct diff_side side;
};

/* ---- values and errors ----------------------------------------------------------------------- */

/* Returns a recording's amount of an item's whole: of the tree all slots, of a function its
 * event. */
static double sum_whole_of(const struct diff *x, const struct diff_item *it, bool function,
			   size_t run)
{
	const diff_items *totals = &x->table[DIFF_TOTALS];

	if (!function)
		return it->run[run].whole;
	for (size_t i = 0; i < totals->n; i++)
		if (!strcmp(totals->v[i].key[0], it->key[0]))
			return totals->v[i].run[run].v;
	return 0;
}

/* Returns its sum as a part of the sum of its whole (a ratio estimate); NAN: it has no whole. */
static struct estimate sum_share_of(const struct diff *x, const struct diff_item *it, bool function)
{
	struct estimate share = ESTIMATE_NONE("it is a part of nothing");
	double sum = 0, whole = 0, samples = 0, sampling = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < x->side->n; i++) {
		double w = sum_whole_of(x, it, function, i);

		n += w > 0;
		sum += it->run[i].v;
		whole += w;
		samples += it->run[i].samples;
		sampling += it->run[i].var;
	}
	if (!(whole > 0))
		return share;
	share = (struct estimate){ .v = sum / whole };
	for (size_t i = 0; i < x->side->n; i++) {
		double off = it->run[i].v - share.v * sum_whole_of(x, it, function, i);

		squares += off * off;
	}
	if (!(samples > 0))
		sampling = Z95 * sqrt(sampling) / whole;
	else if (share.v < 1)
		sampling = Z95 * share.v * sqrt((1 - share.v) / samples);
	else
		sampling = error_bar_share(samples, samples, samples).half;
	squares = n > 1 ? squares * (double)n / (double)(n - 1) / whole / whole : 0;
	share.half = fmax(sampling, n > 1 ? t95(n - 1) * sqrt(squares) : 0);
	return share;
}

/* Recordings that did not count a node are none of its own: those that did come first. */
static size_t counted_first(struct diff_item *it, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (it->run[i].counted)
			it->run[kept++] = it->run[i];
	for (size_t i = kept; i < n; i++)
		it->run[i] = (struct diff_amount){ 0 };
	return kept;
}

static void add_up_item(const struct diff *x, struct diff_item *it, enum diff_table table)
{
	size_t own = table == DIFF_TREE ? counted_first(it, x->side->n) : x->side->n;
	double n = (double)own;

	if (!own) {
		it->base = it->new = it->change = ESTIMATE_NONE("not counted");
		return;
	}
	it->base = diff_mean(it->run, own); /* a recording's */
	it->new = (struct estimate){ it->base.v * n, it->base.half * n, it->base.why };
	if (it->ratio && !it->seconds)
		it->new = ESTIMATE_NONE("a ratio has no sum");
	it->change = sum_share_of(x, it, table == DIFF_ROWS);
	it->side = 0; /* recordings that have it */
	for (size_t i = 0; i < x->side->n; i++) {
		it->side += it->counts ? it->run[i].counted : it->run[i].v != 0;
		it->base_samples += it->run[i].samples;
	}
}

/* Event by event, the largest sum first. */
static int sum_by_share(const void *a, const void *b)
{
	const struct diff_item *p = a, *q = b;
	int c = (p->event > q->event) - (p->event < q->event);

	if (!c)
		c = (p->new.v < q->new.v) - (p->new.v > q->new.v);
	return c ? c : diff_by_keys(p, q, DIFF_KEYS);
}

/* ---- tables ---------------------------------------------------------------------------------- */

TABLE_GET(sum_has_samples)
{
	const struct diff_item *it = r->p;

	out->e.v = it->base_samples;
	out->none = !(it->base_samples > 0);
}

/* clang-format off */
#define AMOUNTS(flags) \
	DIFF_AMOUNT("sum", "sum", "of all recordings", new, 0), \
	DIFF_AMOUNT("mean", "mean", "of a recording", base, flags), \
	COLUMN("unit", "unit", T_TEXT, C_DATA, "of sum and mean", DIFF_OF(unit)), \
	COLUMN("recordings", "in", T_COUNT, C_DATA, "recordings that have it", DIFF_OF(side)), \
	COLUMN("samples", "samples", T_REAL, C_DATA, "that the sum is worth", \
	       .get = sum_has_samples)
#define SHARE(means) \
	COLUMN("share", "share", T_SHARE, C_ERROR | C_WHY, means, DIFF_OF(change))
/* clang-format on */

static const struct table_column total_columns[] = { DIFF_TOTAL_KEYS, AMOUNTS(0) };
static const struct table_column tree_columns[] = { DIFF_NODE_KEYS, SHARE("of all slots"),
						    AMOUNTS(C_DATA) };
static const struct table_column row_columns[] = { DIFF_ROW_KEYS(0),
						   SHARE("of the event in all recordings"),
						   AMOUNTS(C_DATA) };

static const struct table_form table_forms[DIFF_SUMMED] = {
	{ "totals", NULL, 0, TABLE_COLUMNS(total_columns) },
	{ "tree", NULL, 0, TABLE_COLUMNS(tree_columns) },
	{ "rows", "where", TABLE_MAIN, TABLE_COLUMNS(row_columns), .rest = "function" },
};

static const struct table_column recording_columns[] = {
	COLUMN("input", "input", T_TEXT, C_KEY, "a recording that was added", DIFF_SIDE_OF(inputs)),
	COLUMN("seconds", "seconds", T_SECONDS, C_WHY, "first to last sample",
	       DIFF_SIDE_OF(seconds)),
	DIFF_MACHINE,
};
static const struct table_form recordings_form = { "recordings", NULL, TABLE_DATA,
						   TABLE_COLUMNS(recording_columns) };

static const struct table_form *const forms[] = { &recordings_form, &table_forms[DIFF_TOTALS],
						  &table_forms[DIFF_TREE], &table_forms[DIFF_ROWS],
						  &recorded_losses_form };
const struct document_form sum_document = {
	.name = "sum", .version = 1, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

/* ---- the document ---------------------------------------------------------------------------- */

enum { LEAST_ROWS = 5 };

static size_t sum_rows_for_people(const diff_items *rows)
{
	size_t n = 0;

	while (n < rows->n && (n < LEAST_ROWS || rows->v[n].change.v >= 0.01))
		n++;
	return n;
}

void sum_put(struct document *d, const struct sum *s, size_t limit)
{
	const struct diff *x = &s->x;
	const struct table recordings = TABLE_OF(recordings_form, NULL, x->sum, x->side->n);

	document_table(d, &recordings);
	document_head(d, "sum", "%zu recording%s  %s", x->side->n, x->side->n == 1 ? "" : "s",
		      x->sum[0].command ? x->sum[0].command : "");
	for (int k = 0; k < DIFF_SUMMED; k++) {
		const diff_items *rows = &x->table[k];
		const struct table t = { .form = &table_forms[k],
					 .array = rows->v,
					 .stride = sizeof(struct diff_item),
					 .n = rows->n,
					 .people = k != DIFF_ROWS ? 0
						   : limit	  ? limit
								  : sum_rows_for_people(rows) };

		document_table(d, &t);
	}
	for (size_t i = 0; i < x->note.n; i++)
		document_note(d, x->note.v[i]);
	document_table(
		d, &(struct table){ .form = &recorded_losses_form, .array = &x->losses, .n = 1 });
}

/* An event that some recordings lack counts there as nothing: the reader has to know. */
static void note_lacking(struct diff *x)
{
	const diff_items *totals = &x->table[DIFF_TOTALS];

	for (size_t i = 0; i < totals->n; i++) {
		const char *text =
			arena_xprintf(&x->a, "%s: only %zu of %zu recordings have it",
				      totals->v[i].key[0], totals->v[i].side, x->side->n);

		if (totals->v[i].side < x->side->n)
			vec_xpush(&x->note, text);
	}
}

int sum_build(struct sum **out, const struct diff_run *run, size_t n, struct err *err)
{
	struct sum *s = xcalloc(1, sizeof(*s));
	struct diff *x;

	*out = s;
	x = &s->x;
	s->side = (struct diff_side){ "all", run, n };
	x->side = &s->side;
	x->n_sides = 1;
	diff_read_totals(x);
	diff_recordings(x);
	if (diff_join(x, err))
		return -1;
	for (int k = 0; k < DIFF_SUMMED; k++)
		for (size_t i = 0; i < x->table[k].n; i++)
			add_up_item(x, &x->table[k].v[i], (enum diff_table)k);
	diff_number_events(x, DIFF_ROWS);
	vec_sort(&x->table[DIFF_ROWS], sum_by_share);
	note_lacking(x);
	return 0;
}

void sum_free(struct sum *s)
{
	if (s)
		diff_clear(&s->x);
	free(s);
}
