/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The retire latencies that a tree rests on, in the formats of tree_view.h: what was sampled, and
 * where the number that formulas took is from.
 */
#include <math.h>

#include "base/num.h"
#include "base/text.h"
#include "report/counts_rows.h"
#include "report/tree/tree_int.h"

#define NAME_WIDTH 38u

static const char *const sources[] = { [TREE_LATENCY_UNKNOWN] = "unknown",
				       [TREE_LATENCY_SAMPLED] = "sampled",
				       [TREE_LATENCY_STATIC] = "static" };

static void term_row(struct buf *b, const struct tree_latency *l, const struct style *st)
{
	char n[NUM_MAX];

	buf_putc(b, ' ');
	text_put_fit(b, l->event, NAME_WIDTH, TEXT_LEFT, false, st->ascii);
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

void tree_term_latencies(struct buf *b, const struct tree_report *r, const struct style *st)
{
	const char *where = NULL;

	if (!r->n_latency)
		return;
	buf_printf(b, "\n %-38s%9s %7s %9s%4s %5s\n", "retire latency, core cycles", "samples",
		   "mean", "", "min", "max");
	for (size_t i = 0; i < r->n_latency; i++) {
		if (r->latency[i].where && r->latency[i].where != where)
			buf_printf(b, " on %s\n", r->latency[i].where);
		where = r->latency[i].where;
		term_row(b, &r->latency[i], st);
	}
	for (size_t i = 0; i < r->n_latency; i++) {
		const struct tree_latency *l = &r->latency[i];
		bool told = !l->why;

		for (size_t k = 0; k < i && !told; k++)
			told = r->latency[k].why == l->why;
		if (!told)
			buf_printf(b, " not sampled: %s\n", l->why);
	}
}

/* A row like a metric's, named EVENT:retire_latency; its samples stand in columns of their own. */
void tree_csv_latency(struct buf *b, double time, const struct tree_latency *l, char sep)
{
	text_put_csv_real(b, time);
	buf_putc(b, sep);
	text_put_csv_safe(b, l->where, sep);
	buf_putc(b, sep);
	buf_printf(b, "%s:retire_latency%c0%c", l->event, sep, sep);
	text_put_csv_real(b, l->used);
	buf_printf(b, "%ccycles%c", sep, sep);
	text_put_csv_real(b, l->error);
	buf_printf(b, "%c%c0%c0%c", sep, sep, sep, sep);
	text_put_csv_safe(b, l->why, sep);
	buf_printf(b, "%c%llu%c", sep, (unsigned long long)l->samples, sep);
	if (l->samples)
		buf_printf(b, "%u%c%u", l->least, sep, l->most);
	else
		buf_putc(b, sep);
	buf_printf(b, "%c%s\r\n", sep, sources[l->source]);
}

void tree_json_latencies(struct json *j, const struct tree_report *r)
{
	if (!r->n_latency)
		return;
	json_array(j, "latencies");
	for (size_t i = 0; i < r->n_latency; i++) {
		const struct tree_latency *l = &r->latency[i];

		json_object(j, NULL);
		json_str(j, "where", l->where);
		json_str(j, "event", l->event);
		json_u64(j, "samples", l->samples);
		json_real(j, "min", l->samples ? (double)l->least : (double)NAN);
		json_real(j, "mean", l->mean);
		json_real(j, "max", l->samples ? (double)l->most : (double)NAN);
		json_real(j, "error", l->error);
		json_real(j, "used", l->used);
		json_str(j, "source", sources[l->source]);
		if (l->why)
			json_str(j, "why", l->why);
		json_end_object(j);
	}
	json_end_array(j);
}

void tree_markdown_latencies(struct buf *b, const struct tree_report *r)
{
	char n[NUM_MAX];

	if (!r->n_latency)
		return;
	buf_puts(b, "| retire latency | samples | min | mean | max | used | from |\n"
		    "|---|---:|---:|---:|---:|---:|---|\n");
	for (size_t i = 0; i < r->n_latency; i++) {
		const struct tree_latency *l = &r->latency[i];

		buf_puts(b, "| ");
		text_put_markdown(b, l->event);
		buf_printf(b, " | %s | ", num_exact(n, l->samples));
		if (l->samples)
			buf_printf(b, "%u", l->least);
		buf_puts(b, " | ");
		if (!isnan(l->mean))
			buf_printf(b, "%.1f +-%.1f", l->mean, l->error);
		buf_puts(b, " | ");
		if (l->samples)
			buf_printf(b, "%u", l->most);
		buf_puts(b, " | ");
		if (!isnan(l->used))
			buf_printf(b, "%.1f", l->used);
		buf_printf(b, " | %s", sources[l->source]);
		if (l->why) {
			buf_puts(b, ": ");
			text_put_markdown(b, l->why);
		}
		buf_puts(b, " |\n");
	}
	buf_putc(b, '\n');
}
