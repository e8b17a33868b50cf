/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The retire latencies of a tree: sampled ones, and the source of the number in formulas.
 */
#include <math.h>

#include "base/num.h"
#include "base/text.h"
#include "report/tree/tree_parts.h"

#define NAME_WIDTH 38u

static const char *const sources[] = { [TREE_LATENCY_UNKNOWN] = "unknown",
				       [TREE_LATENCY_SAMPLED] = "sampled",
				       [TREE_LATENCY_STATIC] = "static" };

static void term_row(struct buf *b, const struct tree_latency *l, const struct style *st)
{
	char n[NUM_MAX];

	buf_putc(b, ' ');
	text_put_safe_fit(b, l->event, NAME_WIDTH, st->ascii);
	buf_printf(b, "%9s ", num_exact(n, l->samples));
	if (isnan(l->used))
		buf_printf(b, "%7s", "-");
	else
		buf_printf(b, "%7.1f", l->used);
	if (l->source == TREE_LATENCY_SAMPLED)
		buf_printf(b, " +-%-6.1f%4u %5u", l->error, l->least, l->most);
	else
		buf_puts(b,
			 l->source == TREE_LATENCY_STATIC ? "  the model's table" : "  not known");
	buf_putc(b, '\n');
}

static void put_latency_text(struct buf *b, const char *lead, const char *text,
			     const struct style *st)
{
	buf_puts(b, lead);
	text_put_safe(b, text, st->ascii);
	buf_putc(b, '\n');
}

void tree_term_latencies(struct buf *b, const struct tree_report *r, const struct style *st)
{
	const char *where = NULL;

	if (!r->n_latency)
		return;
	buf_printf(b, "\n %-38s%9s %7s %9s%4s %5s\n", "retire latency, core cycles", "samples",
		   "mean", "", "min", "max");
	for (size_t i = 0; i < r->n_latency; i++) {
		if (r->latency[i].where && r->latency[i].where != where)
			put_latency_text(b, " on ", r->latency[i].where, st);
		where = r->latency[i].where;
		term_row(b, &r->latency[i], st);
	}
	for (size_t i = 0; i < r->n_latency; i++) {
		const struct tree_latency *l = &r->latency[i];
		bool told = !l->why;

		for (size_t k = 0; k < i && !told; k++)
			told = r->latency[k].why == l->why;
		if (!told)
			put_latency_text(b, " not sampled: ", l->why, st);
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

TABLE_ROW_AS(latency_row_at, struct tree_latency)

TABLE_CELL(sampled, out->none = !latency_row_at(r)->samples)

#define OF(member) TABLE_FIELD(struct tree_latency, member)
static const struct table_column columns[] = {
	TREE_PLACE(OF(where)),
	COLUMN("event", "retire latency", T_TEXT, C_KEY, "whose instructions wait to retire",
	       OF(event)),
	COLUMN("samples", "samples", T_COUNT, 0, "of the latency", OF(samples)),
	COLUMN("min", "min", T_COUNT, 0, "of the samples", OF(least), .get = sampled,
	       .unit = "cycles"),
	COLUMN("mean", "mean", T_REAL, C_ERROR, "of the samples",
	       TABLE_PAIR(struct tree_latency, mean, error), .unit = "cycles"),
	COLUMN("max", "max", T_COUNT, 0, "of the samples", OF(most), .get = sampled,
	       .unit = "cycles"),
	COLUMN("used", "used", T_REAL, 0, "what formulas took", OF(used), .unit = "cycles"),
	COLUMN("source", "from", T_TEXT, 0, "sampled, static (the model's table) or unknown",
	       OF(source), TABLE_NAMES(sources)),
	COLUMN("why", "", T_TEXT, C_SPARSE, "why it was not sampled", OF(why)),
};
#undef OF
const struct table_form tree_latencies_form = { "latencies", NULL, 0, TABLE_COLUMNS(columns),
						.rest = "latency" };

void tree_put_latencies(struct document *d, const struct tree_report *r)
{
	tree_put_table(d, r, &tree_latencies_form,
		       (struct table){ .array = r->latency,
				       .stride = sizeof(*r->latency),
				       .n = r->n_latency });
}
