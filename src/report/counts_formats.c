/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts for programs. CSV: RFC 4180, the same columns always, a header row; times in seconds,
 * values in their unit, `counted` a fraction, what is not known is empty. JSON: "cyclade.counts/1";
 * null with a "why".
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "report/counts_rows.h"

static void csv_row(struct buf *b, const struct counts *c, const struct counts_row *r, char sep)
{
	text_put_csv_real(b, c->head.time);
	buf_putc(b, sep);
	text_put_csv_safe(b, r->where, sep);
	buf_putc(b, sep);
	if (r->n_cpus)
		buf_printf(b, "%zu", r->n_cpus);
	buf_putc(b, sep);
	text_put_csv_safe(b, r->event, sep);
	buf_putc(b, sep);
	if (r->whole && isfinite(r->value))
		buf_printf(b, "%.0f", r->value);
	else
		text_put_csv_real(b, r->value);
	buf_putc(b, sep);
	text_put_csv_safe(b, r->unit, sep);
	buf_putc(b, sep);
	text_put_csv_real(b, r->error);
	buf_putc(b, sep);
	text_put_csv_real(b, r->stddev);
	buf_printf(b, "%c%zu%c", sep, r->runs, sep);
	text_put_csv_real(b, r->counted);
	buf_putc(b, sep);
	text_put_csv_safe(b, isnan(r->value) ? r->why : "", sep);
	buf_putc(b, sep);
	text_put_csv_real(b, r->derived_unit ? r->derived : (double)NAN);
	buf_putc(b, sep);
	text_put_csv_safe(b, r->derived_unit, sep);
	buf_puts(b, "\r\n");
}

int counts_write_csv(struct buf *b, const struct counts *c, const struct counts_style *st)
{
	static const char *const columns[] = { "time", "where",	  "cpus",	 "event", "value",
					       "unit", "error",	  "stddev",	 "runs",  "counted",
					       "why",  "derived", "derived_unit" };
	char sep = st->separator ? st->separator : ',';

	for (size_t i = 0; st->first && i < sizeof(columns) / sizeof(*columns); i++) {
		if (i)
			buf_putc(b, sep);
		buf_puts(b, columns[i]);
	}
	if (st->first)
		buf_puts(b, "\r\n");
	for (size_t i = 0; i < c->n; i++)
		csv_row(b, c, &c->row[i], sep);
	return 0;
}

static void json_row(struct json *j, const struct counts_row *r)
{
	json_object(j, NULL);
	if (r->where)
		json_str(j, "where", r->where);
	if (r->n_cpus)
		json_u64(j, "cpus", r->n_cpus);
	json_str(j, "event", r->event);
	if (isnan(r->value)) {
		json_null(j, "value");
		json_str(j, "why", r->why);
		json_bool(j, "supported", r->supported);
	} else if (r->whole && r->value < 18e18) {
		json_u64(j, "value", (uint64_t)r->value);
	} else {
		json_real(j, "value", r->value);
	}
	json_str(j, "unit", r->unit);
	json_real(j, "counted", r->counted);
	if (!isnan(r->value) && r->note)
		json_str(j, "note", r->note);
	if (r->derived_unit) {
		json_real(j, "derived", r->derived);
		json_str(j, "derived_unit", r->derived_unit);
	}
	if (r->runs > 1) {
		json_u64(j, "runs", r->runs);
		json_real(j, "stddev", r->stddev);
		json_real(j, "error", r->error);
	}
	json_end_object(j);
}

void counts_json_status(struct json *j, const struct count_head *c)
{
	json_u64(j, "tool_status", 0);
	if (c->status >= 0)
		json_u64(j, "workload_status", (uint64_t)c->status);
	else
		json_null(j, "workload_status");
}

void counts_json_end(struct json *j, const struct count_head *c)
{
	counts_json_status(j, c);
	json_bool(j, "interrupted", c->interrupted);
}

int counts_write_json(struct buf *b, const struct counts *c, const struct counts_style *st)
{
	bool interval = !isnan(c->head.time);
	struct json j;

	(void)st;
	json_init(&j, b, !interval);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.counts/1");
	if (interval) {
		json_real(&j, "time", c->head.time);
	} else {
		json_strings(&j, "command", c->head.command, c->head.n_command);
		json_str(&j, "target", c->head.n_command ? NULL : c->head.target);
		counts_json_end(&j, &c->head);
		json_u64(&j, "runs", c->head.runs);
		json_real(&j, "user_seconds", c->head.user_s);
		json_real(&j, "system_seconds", c->head.sys_s);
		json_real(&j, "seconds_error", c->head.seconds_error);
	}
	json_real(&j, "seconds", c->head.seconds);
	json_array(&j, "counts");
	for (size_t i = 0; i < c->n; i++)
		json_row(&j, &c->row[i]);
	json_end_array(&j);
	json_strings(&j, "notes", c->head.notes, c->head.n_notes);
	json_end_object(&j);
	return 0;
}

void counts_write_end(struct buf *out, const struct count_head *c, const char *format)
{
	struct json j;

	if (strcmp(format, "json") != 0)
		return;
	json_init(&j, out, false);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.counts/1");
	json_bool(&j, "end", true);
	json_real(&j, "seconds", c->seconds);
	counts_json_end(&j, c);
	json_end_object(&j);
}

void counts_markdown_head(struct buf *b, const struct count_head *c)
{
	const struct style plain = { .ascii = true };
	struct buf head = BUF_INIT;

	counts_put_head(&head, c, &plain);
	for (char *line = head.s, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		text_put_markdown(b, line + strspn(line, " "));
		buf_puts(b, "\n\n");
	}
	b->failed |= head.failed;
	buf_free(&head);
}

void counts_markdown_notes(struct buf *b, const struct count_head *c)
{
	for (size_t i = 0; i < c->n_notes; i++) {
		buf_puts(b, "- ");
		text_put_markdown(b, c->notes[i]);
		buf_putc(b, '\n');
	}
}

int counts_write_markdown(struct buf *b, const struct counts *c, const struct counts_style *st)
{
	char n[NUM_MAX];

	(void)st;
	counts_markdown_head(b, &c->head);
	buf_puts(b, "| where | event | value | unit | +- | counted | |\n"
		    "|---|---|---:|---|---:|---:|---|\n");
	for (size_t i = 0; i < c->n; i++) {
		const struct counts_row *r = &c->row[i];

		buf_puts(b, "| ");
		text_put_markdown(b, r->where);
		buf_puts(b, " | ");
		text_put_markdown(b, r->event);
		buf_puts(b, " | ");
		if (isnan(r->value))
			buf_puts(b, r->supported ? "not counted" : "not supported");
		else if (r->whole)
			buf_printf(b, "%.0f", r->value);
		else
			text_put_csv_real(b, r->value);
		buf_puts(b, " | ");
		text_put_markdown(b, r->unit);
		buf_puts(b, " | ");
		text_put_csv_real(b, r->error);
		buf_printf(b, " | %s | ", isnan(r->counted) ? "" : num_percent(n, r->counted));
		text_put_markdown(b, isnan(r->value) ? r->why : r->note);
		buf_puts(b, " |\n");
	}
	if (c->head.n_notes)
		buf_putc(b, '\n');
	counts_markdown_notes(b, &c->head);
	return 0;
}
