/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/run_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "report/counts_rows.h"
#include "report/json_more.h"
#include "report/tree/tree_int.h"

/* ---- json ------------------------------------------------------------------------------- */

static void json_function(struct json *j, const struct where_row *r)
{
	json_object(j, NULL);
	json_str(j, "sym", r->folded ? NULL : r->sym);
	json_str(j, "dso", r->folded ? NULL : r->dso);
	json_str(j, "srcline", r->srcline);
	json_u64(j, "samples", r->w.samples);
	json_u64(j, "period", r->w.period);
	json_real(j, "share", r->share.share);
	json_real(j, "error", r->share.half);
	if (r->folded)
		json_u64(j, "folded", r->folded);
	json_end_object(j);
}

static void json_table(struct json *j, const struct run_table *t)
{
	json_object(j, NULL);
	json_str(j, "event", t->event);
	json_tally(j, "total", &t->where.sum->selected);
	json_tally(j, "no_mapping", &t->where.sum->no_map);
	json_tally(j, "no_symbol", &t->where.sum->no_symbol);
	json_tally(j, "no_name", &t->where.sum->nameless);
	json_u64(j, "not_readable", t->where.sum->bad);
	json_array(j, "functions");
	for (size_t i = 0; i < t->where.n; i++)
		json_function(j, &t->where.row[i]);
	json_end_array(j);
	json_end_object(j);
}

static void json_head(struct json *j, const struct run_report *r)
{
	const struct count_head *h = &r->tree->head;

	json_strings(j, "command", h->command, h->n_command);
	json_str(j, "cpu", r->tree->n_views ? r->tree->cpu : NULL);
	if (!r->tree->n_views && r->tree->cpu) /* cycles and instructions, where no model is */
		json_str(j, "counted_beside", r->tree->cpu);
	counts_json_status(j, h);
	json_real(j, "seconds", h->seconds);
	json_real(j, "user_seconds", h->user_s);
	json_real(j, "system_seconds", h->sys_s);
	json_u64(j, "tasks", h->tasks);
}

static void json_recording(struct json *j, const struct run_report *r)
{
	json_object(j, "recording");
	json_str(j, "file", r->file);
	json_u64(j, "bytes", r->bytes);
	json_str(j, "sampled", r->sampled);
	if (r->no_cycles)
		json_str(j, "no_cycles", r->no_cycles);
	json_bool(j, "user_only", r->user_only);
	json_u64(j, "samples", r->samples);
	json_u64(j, "lost", r->lost);
	json_u64(j, "throttles", r->throttled);
	json_u64(j, "counters", r->counters);
	json_u64(j, "counters_ousted", r->ousted);
	json_end_object(j);
}

static int write_json(struct buf *b, const struct run_report *r, char sep)
{
	struct json j;

	(void)sep;
	json_init(&j, b, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.run/1");
	json_head(&j, r);
	if (tree_json_trees(&j, r->tree))
		return -1;
	if (r->no_tree)
		json_str(&j, "no_tree", r->no_tree);
	json_array(&j, "tables");
	for (size_t i = 0; i < r->n_tables; i++)
		json_table(&j, &r->table[i]);
	json_end_array(&j);
	json_recording(&j, r);
	json_strings(&j, "notes", r->tree->head.notes, r->tree->head.n_notes);
	json_end_object(&j);
	buf_putc(b, '\n');
	return 0;
}

/* ---- csv -------------------------------------------------------------------------------- */

static const char *const columns[] = { "kind", "where", "name",	   "level",   "value",
				       "unit", "error", "counted", "over",    "path",
				       "why",  "dso",	"srcline", "samples", "period" };

/* The first seven columns; NULL is nothing. */
static void csv_start(struct buf *b, const char *kind, const char *where, const char *name,
		      unsigned level, double value, const char *unit, double error, char sep)
{
	buf_printf(b, "%s%c", kind, sep);
	text_put_csv_safe(b, where, sep);
	buf_putc(b, sep);
	text_put_csv_safe(b, name, sep);
	buf_putc(b, sep);
	if (level)
		buf_printf(b, "%u", level);
	buf_putc(b, sep);
	text_put_csv_real(b, value);
	buf_putc(b, sep);
	text_put_csv_safe(b, unit, sep);
	buf_putc(b, sep);
	text_put_csv_real(b, error);
	buf_putc(b, sep);
}

static void csv_item(struct buf *b, const struct tree_item *it, char sep)
{
	struct buf why = BUF_INIT;

	tree_view_why(&why, it->s, it->metric);
	csv_start(b, it->m->level ? "node" : "metric", it->s->label,
		  it->m->level ? it->m->path : it->m->name, it->m->level, it->value, it->unit,
		  it->error, sep);
	text_put_csv_real(b, it->n->counted);
	buf_printf(b, "%c%d%c%d%c", sep, it->n->over, sep, it->n->path, sep);
	text_put_csv_safe(b, buf_str(&why), sep);
	buf_printf(b, "%c%c%c%c\r\n", sep, sep, sep, sep);
	b->failed |= why.failed;
	buf_free(&why);
}

static void csv_latency(struct buf *b, const struct tree_latency *l, char sep)
{
	csv_start(b, "latency", l->where, l->event, 0, l->used, "cycles", l->error, sep);
	buf_printf(b, "%c%c%c", sep, sep, sep);
	text_put_csv_safe(b, l->why, sep);
	buf_printf(b, "%c%c%c%llu%c\r\n", sep, sep, sep, (unsigned long long)l->samples, sep);
}

static void csv_function(struct buf *b, const struct run_table *t, const struct where_row *r,
			 char sep)
{
	struct buf rest = BUF_INIT;
	char n[NUM_MAX];

	if (r->folded)
		buf_printf(&rest, "(%s more functions)", num_exact(n, r->folded));
	csv_start(b, "function", NULL, r->folded ? buf_str(&rest) : r->sym, 0, r->share.share,
		  t->event, r->share.half, sep);
	buf_printf(b, "%c%c%c%c", sep, sep, sep, sep);
	text_put_csv_safe(b, r->dso, sep);
	buf_putc(b, sep);
	text_put_csv_safe(b, r->srcline, sep);
	buf_printf(b, "%c%llu%c%llu\r\n", sep, (unsigned long long)r->w.samples, sep,
		   (unsigned long long)r->w.period);
	b->failed |= rest.failed;
	buf_free(&rest);
}

static int csv_tree(struct buf *b, const struct tree_source *s, char sep)
{
	struct tree_item *it = calloc(s->tree->n + 1, sizeof(*it));
	size_t n;

	if (!it)
		return -1;
	n = tree_items(s, it);
	for (size_t i = 0; i < n; i++)
		csv_item(b, &it[i], sep);
	free(it);
	return 0;
}

static int write_csv(struct buf *b, const struct run_report *r, char sep)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		buf_printf(b, "%.*s%s", i ? 1 : 0, &sep, columns[i]);
	buf_puts(b, "\r\n");
	for (size_t v = 0; v < r->tree->n_views; v++)
		if (csv_tree(b, &r->tree->view[v].source, sep))
			return -1;
	for (size_t i = 0; i < r->tree->n_latency; i++)
		csv_latency(b, &r->tree->latency[i], sep);
	for (size_t t = 0; t < r->n_tables; t++)
		for (size_t i = 0; i < r->table[t].where.n; i++)
			csv_function(b, &r->table[t], &r->table[t].where.row[i], sep);
	return 0;
}

/* ---- markdown --------------------------------------------------------------------------- */

static void markdown_row(struct buf *b, const struct where_row *r)
{
	char n[NUM_MAX];

	buf_puts(b, "| ");
	if (r->folded)
		buf_printf(b, "(%s more functions)", num_exact(n, r->folded));
	else
		text_put_markdown(b, r->sym);
	buf_puts(b, " | ");
	text_put_markdown(b, r->srcline ? r->srcline : r->dso);
	buf_printf(b, " | %s | ", isnan(r->share.share) ? "" : num_percent(n, r->share.share));
	tree_put_error(b, r->share.share, r->share.half);
	buf_puts(b, " |\n");
}

static void markdown_table(struct buf *b, const struct run_table *t)
{
	buf_puts(b, "| function of ");
	text_put_markdown(b, t->event);
	buf_puts(b, " | where | share | +- |\n|---|---|---:|---:|\n");
	for (size_t i = 0; i < t->where.n; i++)
		markdown_row(b, &t->where.row[i]);
	buf_putc(b, '\n');
}

static int write_markdown(struct buf *b, const struct run_report *r, char sep)
{
	char n[NUM_MAX], lost[NUM_MAX];

	(void)sep;
	counts_markdown_head(b, &r->tree->head);
	if (r->tree->cpu) {
		text_put_markdown(b, r->tree->cpu);
		buf_puts(b, "\n\n");
	}
	tree_markdown_trees(b, r->tree);
	for (size_t i = 0; i < r->n_tables; i++)
		markdown_table(b, &r->table[i]);
	if (r->no_tree) {
		buf_puts(b, "- no tree: ");
		text_put_markdown(b, r->no_tree);
		buf_putc(b, '\n');
	}
	if (r->no_cycles) {
		buf_puts(b, "- time was sampled, not cycles: ");
		text_put_markdown(b, r->no_cycles);
		buf_putc(b, '\n');
	}
	counts_markdown_notes(b, &r->tree->head);
	buf_printf(b, "- %s samples, %s lost", num_exact(n, r->samples), num_exact(lost, r->lost));
	if (r->throttled)
		buf_printf(b, ", throttled %s times", num_exact(n, r->throttled));
	if (r->ousted)
		buf_printf(b, ", %zu of %zu counters lost their place to others", r->ousted,
			   r->counters);
	buf_puts(b, r->user_only ? "; the kernel was not looked at\n" : "\n");
	return 0;
}

/* ---- which ------------------------------------------------------------------------------ */

static const struct run_format formats[] = { { "json", write_json },
					     { "csv", write_csv },
					     { "markdown", write_markdown } };

const struct run_format *run_format_find(const char *name, struct err *err)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	(void)err_set(err, ERR_USAGE, "run writes term, csv, json and markdown, not %.40s", name);
	return NULL;
}
