/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree for programs: "cyclade.tree/1". A node's value is a fraction of its unit (slots, clocks,
 * ...), the path its name; every node that was asked for is there, null with a "why" where it has
 * no value.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "report/counts_rows.h"
#include "report/tree/tree_int.h"

/* True where `metric` belongs into the output of programs. */
static bool take(const struct tree_source *s, uint32_t metric, struct tree_item *out)
{
	const struct model_metric *m = &s->tree->model->metric[metric];
	const struct tree_node *n = &s->tree->node[metric];
	bool named = s->named && s->named[metric];

	if ((s->wanted && !s->wanted[metric]) || (!m->level && !named) ||
	    (m->level && s->level && m->level > s->level && !named))
		return false;
	*out = (struct tree_item){ .s = s,
				   .metric = metric,
				   .m = m,
				   .n = n,
				   .value = m->level ? n->shown : n->shown * m->scale,
				   .error = m->level ? n->error : n->error * m->scale,
				   .unit = m->level ? m->domain_text : m->unit };
	if (n->value.why != VALUE_OK || n->doubt != DOUBT_NONE)
		out->value = out->error = NAN;
	return true;
}

size_t tree_items(const struct tree_source *s, struct tree_item *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->tree->n; i++)
		n += take(s, i, &out[n]);
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j && out[j].m->order < out[j - 1].m->order; j--) {
			struct tree_item t = out[j];

			out[j] = out[j - 1];
			out[j - 1] = t;
		}
	return n;
}

static void csv_row(struct buf *b, double time, const struct tree_item *it, char sep)
{
	struct buf why = BUF_INIT;

	tree_view_why(&why, it->s, it->metric);
	text_put_csv_real(b, time);
	buf_putc(b, sep);
	text_put_csv_safe(b, it->s->label, sep);
	buf_putc(b, sep);
	text_put_csv_safe(b, it->m->level ? it->m->path : it->m->name, sep);
	buf_printf(b, "%c%u%c", sep, it->m->level, sep);
	text_put_csv_real(b, it->value);
	buf_putc(b, sep);
	text_put_csv_safe(b, it->unit, sep);
	buf_putc(b, sep);
	text_put_csv_real(b, it->error);
	buf_putc(b, sep);
	text_put_csv_real(b, it->n->counted);
	buf_printf(b, "%c%d%c%d%c", sep, it->n->over, sep, it->n->path, sep);
	text_put_csv_safe(b, buf_str(&why), sep);
	buf_printf(b, "%c%c%c%c\r\n", sep, sep, sep, sep); /* samples: of latencies */
	buf_free(&why);
}

/* IPC and clock frequency: rows of their own, of level 0 as metrics are. */
static void csv_rate(struct buf *b, double time, const struct tree_source *s, const char *name,
		     const struct tree_rate *r, const char *unit, char sep)
{
	text_put_csv_real(b, time);
	buf_putc(b, sep);
	text_put_csv_safe(b, s->label, sep);
	buf_printf(b, "%c%s%c0%c", sep, name, sep, sep);
	text_put_csv_real(b, r->value);
	buf_printf(b, "%c%s%c", sep, unit, sep);
	text_put_csv_real(b, r->error);
	buf_putc(b, sep);
	text_put_csv_real(b, r->counted);
	buf_printf(b, "%c0%c0%c", sep, sep, sep);
	text_put_csv_safe(b, r->why, sep);
	buf_printf(b, "%c%c%c%c\r\n", sep, sep, sep, sep);
}

int tree_write_csv(struct buf *b, const struct tree_report *r, const struct counts_style *st)
{
	static const char *const columns[] = { "time", "where",	  "node",    "level", "value",
					       "unit", "error",	  "counted", "over",  "path",
					       "why",  "samples", "min",     "max",   "source" };
	char sep = st->separator ? st->separator : ',';

	for (size_t i = 0; st->first && i < sizeof(columns) / sizeof(*columns); i++)
		buf_printf(b, "%.*s%s", i ? 1 : 0, &sep, columns[i]);
	if (st->first)
		buf_puts(b, "\r\n");
	for (size_t v = 0; v < r->n_views; v++) {
		struct tree_item *it = calloc(r->view[v].source.tree->n + 1, sizeof(*it));
		size_t n;

		if (!it)
			return -1;
		n = tree_items(&r->view[v].source, it);
		for (size_t i = 0; i < n; i++)
			csv_row(b, r->head.time, &it[i], sep);
		free(it);
		if (r->view[v].source.rates) {
			const struct tree_source *s = &r->view[v].source;

			csv_rate(b, r->head.time, s, "ipc", &s->rates->ipc, "per cycle", sep);
			csv_rate(b, r->head.time, s, "frequency", &s->rates->frequency, "Hz", sep);
		}
	}
	for (size_t i = 0; i < r->n_latency; i++)
		tree_csv_latency(b, r->head.time, &r->latency[i], sep);
	return 0;
}

static void json_item(struct json *j, const struct tree_item *it)
{
	struct buf why = BUF_INIT;

	tree_view_why(&why, it->s, it->metric);
	json_object(j, NULL);
	json_str(j, it->m->level ? "node" : "metric", it->m->level ? it->m->path : it->m->name);
	if (it->m->level)
		json_u64(j, "level", it->m->level);
	json_real(j, "value", it->value);
	if (why.len)
		json_str(j, "why", buf_str(&why));
	json_str(j, "unit", it->unit);
	json_real(j, "error", it->error);
	if (it->n->no_error && isfinite(it->value))
		json_str(j, "no_error", it->n->no_error);
	json_real(j, "counted", it->n->counted);
	if (it->m->level && isfinite(it->n->open) && isfinite(it->value)) {
		json_real(j, "while_open", it->n->open);
		json_real(j, "while_open_error", it->n->open_error);
	}
	if (it->m->level) {
		json_bool(j, "over", it->n->over);
		json_bool(j, "path", it->n->path);
	}
	if (it->s->formula && it->s->formula[it->metric]) {
		json_str(j, "formula", it->s->formula[it->metric]);
		json_str(j, "file", it->m->file);
		json_u64(j, "line", it->m->line);
	}
	json_end_object(j);
	buf_free(&why);
}

static void json_items(struct json *j, const struct tree_item *it, size_t n, bool nodes)
{
	json_array(j, nodes ? "nodes" : "metrics");
	for (size_t i = 0; i < n; i++)
		if (nodes == (it[i].m->level > 0))
			json_item(j, &it[i]);
	json_end_array(j);
}

static void json_counts(struct json *j, const struct tree_source *s)
{
	json_array(j, "counts");
	for (uint32_t i = 0; s->count && i < s->tree->model->n_used; i++) {
		if (!isfinite(s->count[i]))
			continue;
		json_object(j, NULL);
		json_str(j, "event", s->tree->model->event[i].name);
		json_real(j, "value", s->count[i]);
		json_real(j, "counted", s->share ? s->share[i] : NAN);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_rate(struct json *j, const char *name, const struct tree_rate *r, const char *unit)
{
	json_object(j, name);
	json_real(j, "value", r->value);
	if (r->why)
		json_str(j, "why", r->why);
	json_str(j, "unit", unit);
	json_real(j, "error", r->error);
	if (r->no_error)
		json_str(j, "no_error", r->no_error);
	json_real(j, "counted", r->counted);
	json_end_object(j);
}

static int json_view(struct json *j, const struct tree_view *v)
{
	const struct model *m = v->source.tree->model;
	struct tree_item *it = calloc(v->source.tree->n + 1, sizeof(*it));
	size_t n;

	if (!it)
		return -1;
	n = tree_items(&v->source, it);
	json_object(j, NULL);
	json_str(j, "where", v->source.label);
	json_object(j, "model");
	json_str(j, "id", m->id);
	json_str(j, "title", m->title);
	json_str(j, "from", m->from);
	json_str(j, "tma", *m->tma ? m->tma : NULL);
	json_u64(j, "revision", m->revision);
	json_end_object(j);
	json_real(j, "slots", v->source.whole);
	if (v->source.rates) {
		json_rate(j, "ipc", &v->source.rates->ipc, "per cycle");
		json_rate(j, "frequency", &v->source.rates->frequency, "Hz");
	}
	json_items(j, it, n, true);
	json_items(j, it, n, false);
	json_counts(j, &v->source);
	json_end_object(j);
	free(it);
	return 0;
}

int tree_json_trees(struct json *j, const struct tree_report *r)
{
	json_array(j, "trees");
	for (size_t i = 0; i < r->n_views; i++)
		if (json_view(j, &r->view[i]))
			return -1;
	json_end_array(j);
	tree_json_latencies(j, r);
	return 0;
}

int tree_write_json(struct buf *b, const struct tree_report *r, const struct counts_style *st)
{
	bool interval = !isnan(r->head.time);
	struct json j;

	(void)st;
	json_init(&j, b, !interval);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.tree/1");
	if (interval) {
		json_real(&j, "time", r->head.time);
	} else {
		json_strings(&j, "command", r->head.command, r->head.n_command);
		json_str(&j, "target", r->head.n_command ? NULL : r->head.target);
		json_str(&j, "cpu", r->cpu);
		counts_json_end(&j, &r->head);
		json_u64(&j, "runs", r->head.runs);
		json_real(&j, "user_seconds", r->head.user_s);
		json_real(&j, "system_seconds", r->head.sys_s);
	}
	json_real(&j, "seconds", r->head.seconds);
	if (tree_json_trees(&j, r))
		return -1;
	json_strings(&j, "notes", r->head.notes, r->head.n_notes);
	json_end_object(&j);
	return 0;
}

void tree_report_end(struct buf *out, const struct tree_report *r, const char *format)
{
	struct json j;

	if (strcmp(format, "json") != 0)
		return;
	json_init(&j, out, false);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.tree/1");
	json_bool(&j, "end", true);
	json_real(&j, "seconds", r->head.seconds);
	counts_json_end(&j, &r->head);
	tree_json_latencies(&j, r);
	json_strings(&j, "notes", r->head.notes, r->head.n_notes);
	json_end_object(&j);
}

/* ---- markdown --------------------------------------------------------------------------- */

static void markdown_row(struct buf *b, const struct tree_view_row *r, const struct tree_source *s)
{
	char n[NUM_MAX];

	buf_puts(b, "| ");
	for (unsigned d = 0; d < r->depth && d < 16; d++)
		buf_puts(b, "&nbsp;&nbsp;");
	text_put_markdown(b, r->name);
	buf_printf(b, " | %s | ",
		   r->doubtful	     ? "?"
		   : isnan(r->share) ? ""
				     : num_percent(n, r->share));
	if (r->metric != MODEL_NONE && !r->doubtful)
		tree_put_error(b, r->share, r->error);
	buf_printf(b, " | %s | %s | %s", isnan(r->counted) ? "" : num_percent(n, r->counted),
		   r->unit, r->path ? "&lt;==" : "");
	if (r->metric != MODEL_NONE) {
		struct buf why = BUF_INIT;

		tree_view_why(&why, s, r->metric);
		text_put_markdown(b, buf_str(&why));
		buf_free(&why);
	}
	buf_puts(b, " |\n");
}

void tree_markdown_trees(struct buf *b, const struct tree_report *r)
{
	for (size_t v = 0; v < r->n_views; v++) {
		const struct tree_source *s = &r->view[v].source;

		if (s->label) {
			text_put_markdown(b, s->label);
			buf_puts(b, "\n\n");
		}
		buf_puts(b,
			 "| node | share | +- | counted | of | |\n|---|---:|---:|---:|---|---|\n");
		for (size_t i = 0; i < r->view[v].n; i++)
			markdown_row(b, &r->view[v].row[i], s);
		for (size_t i = 0; i < r->view[v].n_metrics; i++) {
			uint32_t m = r->view[v].metric[i];
			struct buf why = BUF_INIT;

			buf_puts(b, "| ");
			text_put_markdown(b, s->tree->model->metric[m].name);
			buf_puts(b, " | ");
			if (s->tree->node[m].doubt)
				buf_putc(b, '?');
			else if (s->tree->node[m].value.why == VALUE_OK)
				tree_put_metric(b, &s->tree->model->metric[m], &s->tree->node[m]);
			buf_puts(b, " | | | | ");
			tree_view_why(&why, s, m);
			text_put_markdown(b, buf_str(&why));
			buf_puts(b, " |\n");
			b->failed |= why.failed;
			buf_free(&why);
		}
		buf_putc(b, '\n');
	}
	tree_markdown_latencies(b, r);
}

int tree_write_markdown(struct buf *b, const struct tree_report *r, const struct counts_style *st)
{
	(void)st;
	counts_markdown_head(b, &r->head);
	tree_markdown_trees(b, r);
	counts_markdown_notes(b, &r->head);
	return 0;
}

int tree_report_write(struct buf *out, const struct tree_report *r, const char *format,
		      const struct counts_style *st, struct err *err)
{
	static const struct {
		const char *name;
		int (*write)(struct buf *b, const struct tree_report *r,
			     const struct counts_style *st);
	} formats[] = { { "term", tree_write_term },
			{ "csv", tree_write_csv },
			{ "json", tree_write_json },
			{ "markdown", tree_write_markdown } };

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(formats[i].name, format) != 0)
			continue;
		if (formats[i].write(out, r, st) || out->failed)
			return err_nomem(err);
		return 0;
	}
	return err_set(err, ERR_USAGE,
		       "a tree can be written as term, csv, json and markdown, not %s", format);
}
