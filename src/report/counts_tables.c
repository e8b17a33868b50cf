/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counted events as a table: a row for each event in each place. People see "12,712,001" and
 * "1,204.31 ms", with their meaning beside them; programs see numbers in the event's unit.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "report/counts.h"

TABLE_ROW_AS(counts_table_row, struct counts_row)

static double count_time_of(const struct table *t)
{
	return ((const struct counts *)t->ctx)->head.time;
}

/* ---- for people ------------------------------------------------------------------------------ */

TABLE_CELL(shown_time, cell_printf(out, "%.3f", count_time_of(t)); out->kind = T_TEXT)

/* 1,204.31 ms, cut off behind the last digit */
static void put_ms(struct table_cell *out, double ns)
{
	char n[NUM_MAX];

	cell_printf(out, "%s.%02u ms", num_exact(n, (uint64_t)(ns / 1e6)),
		    (unsigned)((uint64_t)(ns / 1e4) % 100));
}

TABLE_GET(shown_value)
{
	const struct counts_row *x = counts_table_row(r);
	char n[NUM_MAX];

	out->kind = T_TEXT;
	if (isnan(x->value))
		cell_printf(out, "%s", x->supported ? "<not counted>" : "<not supported>");
	else if (!strcmp(x->unit, "ns"))
		put_ms(out, x->value);
	else if (*x->unit || (x->value < 100 && x->value > floor(x->value)))
		cell_printf(out, "%.3f%s%s", x->value, *x->unit ? " " : "", x->unit);
	else
		cell_printf(out, "%s", num_exact(n, (uint64_t)(x->value + 0.5)));
}

TABLE_GET(shown_error)
{
	const struct counts_row *x = counts_table_row(r);

	if (isnan(x->error) || isnan(x->value) || x->value <= 0)
		return;
	if (x->error / x->value < 0.0005)
		out->text = "+-<0.1 %";
	else
		cell_printf(out, "+-%.1f %%", 100 * x->error / x->value);
}

TABLE_GET(shown_counted)
{
	const struct counts_row *x = counts_table_row(r);

	if (!isnan(x->value) && !isnan(x->counted) && x->counted < 0.9995)
		cell_printf(out, "(counted %.1f %% of the time)", 100 * x->counted);
}

/* ---- for programs ---------------------------------------------------------------------------- */

TABLE_CELL(interval_end, out->e.v = count_time_of(t))

TABLE_GET(value)
{
	const struct counts_row *x = counts_table_row(r);

	out->e = (struct estimate){ x->value, x->error, isnan(x->value) ? x->why : NULL };
	if (!x->whole || !(x->value < 18e18))
		return;
	out->kind = T_COUNT; /* with all its digits */
	out->n = (uint64_t)x->value;
}

/* People see in its place why there is no value. */
TABLE_GET(note)
{
	const struct counts_row *x = counts_table_row(r);

	out->text = isnan(x->value) ? NULL : x->note;
	out->says = isnan(x->value) ? x->why : NULL;
}

TABLE_CELL(derived, if (counts_table_row(r)->derived_unit) out->e.v = counts_table_row(r)->derived)

/* ---- the table ------------------------------------------------------------------------------- */

#define SAYS	   C_PEOPLE | C_SPARSE
#define OF(member) TABLE_FIELD(struct counts_row, member)
static const struct table_column columns[] = {
	COLUMN("time", "time", T_SECONDS, C_DATA | C_KEY, "end of the interval, since the start",
	       .get = interval_end),
	COLUMN("shown_time", "time", T_REAL, C_PEOPLE, "", .get = shown_time, .least = 10),
	COLUMN("where", "where", T_TEXT, C_KEY | C_SPARSE,
	       "a CPU, core, thread, ...; null: all that was counted", OF(where)),
	COLUMN("cpus", "CPUs", T_COUNT, C_SPARSE | C_0_IS_NONE, "in this place", OF(n_cpus)),
	COLUMN("shown_value", "value", T_REAL, C_PEOPLE, "", .get = shown_value, .least = 18),
	COLUMN("shown_error", "+-", T_TEXT, SAYS, "", .get = shown_error),
	COLUMN("event", "event", T_TEXT, C_KEY, "as it was asked for", OF(event)),
	COLUMN("value", "value", T_AMOUNT, C_DATA | C_ERROR | C_WHY,
	       "the count, extrapolated where the event was counted part of the time",
	       .get = value),
	COLUMN("unit", "unit", T_TEXT, C_DATA, "of the value; empty: a number", OF(unit)),
	COLUMN("counted", "counted", T_SHARE, C_DATA, "share of the time on a counter",
	       OF(counted)),
	COLUMN("note", "", T_TEXT, C_SPARSE, "the value beside time or another event", .get = note),
	COLUMN("shown_counted", "", T_TEXT, SAYS, "", .get = shown_counted),
	COLUMN("derived", "derived", T_REAL, C_DATA, "the same as a number", .get = derived),
	COLUMN("derived_unit", "unit", T_TEXT, C_DATA, "of `derived`", OF(derived_unit)),
	COLUMN("runs", "runs", T_COUNT, C_DATA, "that have a value (-r)", OF(runs)),
	COLUMN("stddev", "stddev", T_REAL, C_DATA, "of the runs", OF(stddev)),
	COLUMN("supported", "supported", T_FLAG, C_DATA, "the event could be opened",
	       OF(supported)),
};
#undef OF
static const struct table_form counts_form = { "counts", NULL, TABLE_MAIN, TABLE_COLUMNS(columns),
					       .rest = "count" };
const struct table_form counts_beside_form = { "events", "events that are not the tree's", 0,
					       TABLE_COLUMNS(columns), .rest = "event" };

/* ---- printed by the tool itself -------------------------------------------------------------- */

TABLE_CELL(pieces, out->none = out->n < 2)

#define OF(member) TABLE_FIELD(struct counts_printed, member)
/* clang-format off */
#define PRINTED(value_kind, node_flags) \
	COLUMN("time", "time", T_SECONDS, C_DATA | C_KEY, "end of the interval, since the start", \
	       .get = interval_end), \
	COLUMN("shown_time", "time", T_REAL, C_PEOPLE, "", .get = shown_time, .least = 10), \
	COLUMN("where", "where", T_TEXT, C_KEY | C_SPARSE, \
	       "a CPU, core, thread, ...; null: all that was counted", OF(where)), \
	COLUMN("figure", "figure", T_TEXT, C_KEY, "as it was printed", OF(name)), \
	COLUMN("value", "value", value_kind, 0, "as it was printed", OF(value)), \
	COLUMN("unit", "unit", T_TEXT, C_SPARSE, "of the value", OF(unit)), \
	COLUMN("error", "+-", T_REAL, C_SPARSE, "as it was printed, in the unit", OF(error)), \
	COLUMN("event", "beside", T_TEXT, C_KEY | C_SPARSE, "the event that it stood beside", \
	       OF(event)), \
	COLUMN("pieces", "mean of", T_COUNT, C_SPARSE, "so many intervals or places", \
	       OF(pieces), .get = pieces), \
	COLUMN("node", "node", T_TEXT, node_flags, "of the tree, by its path", OF(node))
/* clang-format on */
static const struct table_column printed_columns[] = { PRINTED(T_REAL, C_DATA) };
const struct table_form counts_printed_form = { "printed", NULL, TABLE_DATA,
						TABLE_COLUMNS(printed_columns), .rest = "figure" };

/* For people those that the tree does not have. */
static bool next_shown_count(const struct table *t, struct table_row *r)
{
	const struct counts *c = t->ctx;
	size_t i = r->p ? r->at[0] + 1 : 0;

	while (i < c->n_printed && (c->printed[i].node || !strcmp(c->printed[i].name, "+-")))
		i++;
	if (i >= c->n_printed)
		return false;
	r->at[0] = i;
	r->p = &c->printed[i];
	return true;
}

const struct table_form counts_shown_form = { "printed_shown",
					      "figures that the tool printed",
					      TABLE_PEOPLE,
					      TABLE_COLUMNS(printed_columns),
					      .next = next_shown_count,
					      .rest = "figure" };
#undef OF
#define TIMES 3 /* table.hidden: the first two columns are those of intervals */

static const struct table_form *const forms[] = { &count_head_form,   &count_interval_form,
						  &counts_form,	      &counts_printed_form,
						  &counts_shown_form, &count_runs_form,
						  &count_events_form, &count_losses_form };
const struct document_form counts_document = {
	.name = "counts", .version = 2, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

static struct count_losses losses(const struct counts *c)
{
	struct count_losses l = { .counts = c->n };

	for (size_t i = 0; i < c->n; i++) {
		const struct counts_row *r = &c->row[i];

		l.refused += !r->supported;
		l.not_counted += r->supported && isnan(r->value);
		l.multiplexed += !isnan(r->value) && r->counted < 1;
	}
	return l;
}

/* Both tables of figures. */
static void put_printed(struct document *d, const struct counts *c)
{
	struct table t = TABLE_OF(counts_printed_form, c, c->printed, c->n_printed,
				  .hidden = isnan(c->head.time) ? TIMES : 0);

	if (!c->n_printed)
		return;
	document_table(d, &t);
	t.form = &counts_shown_form;
	t.array = NULL;
	t.n = 0;
	if (counts_beside_shown(c, false))
		document_table(d, &t);
}

bool counts_beside_shown(const struct counts *c, bool events)
{
	const struct table t = { .form = &counts_shown_form, .ctx = c };
	struct table_row r = { .p = NULL };

	return events ? c->n > 0 : c->n_printed && next_shown_count(&t, &r);
}

void counts_beside_put(struct document *d, const struct counts *c)
{
	const struct table t = TABLE_OF(counts_beside_form, c, c->row, c->n, .aside = true,
					.hidden = isnan(c->head.time) ? TIMES : 0);

	if (c->n)
		document_table(d, &t);
	put_printed(d, c);
}

void counts_put(struct document *d, struct counts *c)
{
	const struct table t =
		TABLE_OF(counts_form, c, c->row, c->n, .hidden = isnan(c->head.time) ? TIMES : 0);

	c->head.lost = losses(c);
	count_head_put(d, &c->head);
	if (!c->head.end) {
		document_table(d, &t);
		put_printed(d, c);
	}
	count_tail_put(d, &c->head);
}

/* ---- several runs ----------------------------------------------------------------------- */

int count_runs_begin(struct count_runs *s, const struct counting_result *r, struct err *err)
{
	const struct count_run run = { r->wall_s, r->user_s, r->sys_s, r->status };

	return vec_push(&s->run, run) ? err_nomem(err) : 0;
}

int count_runs_add(struct count_runs *s, const struct count_repeat *x, struct err *err)
{
	struct count_repeat *to = vec_add(&s->repeat);

	if (!to)
		return err_nomem(err);
	*to = *x;
	to->run = (uint32_t)s->run.n;
	return 0;
}

void count_runs_put(const struct count_runs *s, struct count_head *h)
{
	h->run = s->run.v;
	h->n_run = s->run.n;
	h->repeat = s->repeat.v;
	h->n_repeat = s->repeat.n;
}

void count_runs_free(struct count_runs *s)
{
	vec_free(&s->run);
	vec_free(&s->repeat);
}
