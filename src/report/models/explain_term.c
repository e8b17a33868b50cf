/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explanations of names as a page for people: a paragraph for each, text behind labels.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "report/models/models_int.h"

enum { LABEL = 12, MEMBER = 36, NAME_MAX_WIDTH = 48 };

struct paper {
	struct buf *b;
	const struct style *st;
	bool quiet;
	const struct explain *x;
	const struct explained *e;
	struct buf text; /* scratch */
};

static void put_explain_page_safe(struct paper *p, const char *text)
{
	text_put_safe(p->b, text, p->st->ascii);
}

/* Text of several words, broken to the width behind `indent` blanks. */
static void put_wrapped(struct paper *p, const char *text, size_t indent)
{
	size_t width = p->st->width ? p->st->width : 80;
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, text, p->st->ascii);
	width = width > 100 ? 100 : width < indent + 30 ? indent + 30 : width;
	text_put_wrapped(p->b, buf_str(&safe), indent, width);
	buf_putc(p->b, '\n');
	buf_free(&safe);
}

static void put_explain_page_label(struct paper *p, const char *label)
{
	size_t n = strlen(label);

	style_ink(p->b, p->st, INK_DIM);
	buf_printf(p->b, "  %s", label);
	style_ink(p->b, p->st, INK_PLAIN);
	buf_fill(p->b, ' ', n + 2 < LABEL ? LABEL - n - 2 : 1);
}

/* Nothing if the text is empty, or NULL. */
static void put_explain_page_fact(struct paper *p, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	put_explain_page_label(p, label);
	put_wrapped(p, text, LABEL);
}

/* A fact whose text was put together in p->text, which is empty then. */
static void put_made(struct paper *p, const char *label)
{
	put_explain_page_fact(p, label, buf_str(&p->text));
	buf_reset(&p->text);
}

/* Words that the model's files part by semicolons. */
static void put_explain_page_list(struct paper *p, const char *label, const char *list)
{
	for (; *list; list++)
		buf_printf(&p->text, *list == ';' ? "%c " : "%c", *list);
	put_made(p, label);
}

static void put_explain_page_names(struct paper *p, const char *label,
				   const struct explain_names *v)
{
	for (size_t i = 0; i < v->n; i++)
		buf_printf(&p->text, "%s%s", i ? ", " : "", v->v[i]);
	put_made(p, label);
}

static void put_explain_page_place(struct paper *p, const char *file, unsigned line)
{
	put_explain_page_label(p, "");
	style_ink(p->b, p->st, INK_DIM);
	put_explain_page_safe(p, file);
	buf_printf(p->b, ":%u\n", line);
	style_ink(p->b, p->st, INK_PLAIN);
}

static void put_explain_page_title(struct paper *p, const char *what)
{
	const struct model *m = p->x->m;
	struct buf safe = BUF_INIT;

	style_ink(p->b, p->st, INK_BOLD);
	put_explain_page_safe(p, p->e->name);
	style_ink(p->b, p->st, INK_PLAIN);
	buf_puts(p->b, "  ");
	buf_printf(&p->text, "%s of %s, %s%s%s", what, m->id, m->title, *m->tma ? ", TMA " : "",
		   m->tma);
	text_put_safe(&safe, buf_str(&p->text), p->st->ascii);
	text_put_wrapped(p->b, buf_str(&safe), text_width(p->e->name) + 2, p->st->width);
	buf_reset(&p->text);
	buf_free(&safe);
	buf_putc(p->b, '\n');
	put_explain_page_fact(p, "caution", m->caution);
}

static void put_says(struct paper *p)
{
	if (!p->e->says)
		return;
	buf_puts(p->b, "  ");
	put_wrapped(p, p->e->says, 2);
}

/* ---- events ---------------------------------------------------------------------------------- */

static const struct model_event *needed(const struct paper *p, size_t i, bool *latency)
{
	const struct list *l = &p->x->part[LIST_EVENTS];

	*latency = l->need[p->e->need + i].latency;
	return &p->x->m->event[l->index[p->e->need + i]];
}

/* How it is encoded, and on which counters it is. */
static const char *explain_page_code_of(struct paper *p, const struct model_event *e)
{
	buf_reset(&p->text);
	put_event_code(&p->text, e);
	return buf_str(&p->text);
}

/* Returns the width of the widest name, and 0 if there is no room for columns. */
static size_t event_columns(struct paper *p)
{
	size_t wide = 0, most = 0;
	bool latency;

	for (size_t i = 0; i < p->e->n_needs; i++) {
		const struct model_event *e = needed(p, i, &latency);
		size_t n = strlen(e->name);

		(void)explain_page_code_of(p, e);
		most = p->text.len > most ? p->text.len : most;
		wide = n > wide ? n : wide;
	}
	if (p->st->width && LABEL + wide + 2 + most > p->st->width)
		return 0;
	return wide < NAME_MAX_WIDTH ? wide : NAME_MAX_WIDTH;
}

/* Name and code in columns, or with wide 0 the code in a line of its own. */
static void put_explain_page_event(struct paper *p, const struct model_event *e, size_t wide)
{
	const char *code = explain_page_code_of(p, e);
	size_t n = strlen(e->name);

	put_explain_page_safe(p, e->name);
	if (wide) {
		buf_fill(p->b, ' ', n < wide ? wide - n + 2 : 2);
		put_explain_page_safe(p, code);
		buf_putc(p->b, '\n');
	} else {
		buf_putc(p->b, '\n');
		buf_fill(p->b, ' ', LABEL + 4);
		put_wrapped(p, code, LABEL + 4);
	}
	buf_reset(&p->text);
}

static void put_explain_page_events(struct paper *p)
{
	size_t wide = event_columns(p);
	bool latency;

	for (size_t i = 0; i < p->e->n_needs; i++) {
		put_explain_page_label(p, i ? "" : "events");
		put_explain_page_event(p, needed(p, i, &latency), wide);
	}
}

static const char *measured(const struct paper *p)
{
	return *p->x->m->latency_from ? p->x->m->latency_from : "by the vendor";
}

/* The events whose retire latency stat samples, and the substitutes if it cannot. */
static void put_explain_page_latencies(struct paper *p)
{
	const char *label = "latency";
	bool latency;

	for (size_t i = 0; i < p->e->n_needs; i++) {
		const struct model_event *e = needed(p, i, &latency);

		if (!latency)
			continue;
		buf_printf(&p->text, "%s: sampled, ", e->name);
		if (isnan(e->latency))
			buf_puts(&p->text, "or not known");
		else
			buf_printf(&p->text, "else %g cycles, measured %s", e->latency,
				   measured(p));
		put_made(p, label);
		label = "";
	}
}

static void put_one_event(struct paper *p)
{
	const struct model_event *e = &p->x->m->event[p->e->index];
	char number[NUM_MAX];

	put_explain_page_title(p, "event");
	put_explain_page_fact(p, p->e->vendors ? "Intel" : "says",
			      p->e->says ? p->e->says : "no description");
	put_explain_page_fact(p, "but", p->e->wrong);
	put_explain_page_fact(p, "code", p->e->formula);
	put_counters(&p->text, e);
	put_made(p, "counted on");
	put_flags(&p->text, e->flags);
	put_made(p, "marks");
	if (e->period)
		put_explain_page_fact(p, "sample by", num_exact(number, e->period));
	put_explain_page_fact(p, "here", p->e->verdict);
	put_explain_page_fact(p, "errata", e->errata);
	if (!isnan(e->latency)) {
		buf_printf(&p->text, "%g cycles to retire on average, measured %s", e->latency,
			   measured(p));
		put_made(p, "latency");
	}
	put_explain_page_names(p, "used by", &p->e->users);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void put_threshold(struct paper *p, const struct model_metric *t)
{
	if (!t->threshold)
		return;
	buf_puts(&p->text, t->threshold_text);
	if (expr_wants_parent(t->threshold))
		buf_puts(&p->text, "   (P: its parent must be over its own, too)");
	put_made(p, "look if");
}

static void put_locate(struct paper *p, const struct model_metric *t)
{
	uint32_t i;

	put_explain_page_list(p, "locate", t->locate_all);
	if (!*t->locate || p->quiet)
		return;
	i = model_event_find(p->x->m, t->locate, strlen(t->locate));
	if (i == MODEL_NONE)
		return;
	put_explain_page_label(p, "next");
	buf_puts(p->b, "cyclade record ");
	put_explain_page_safe(p, p->x->models);
	buf_puts(p->b, "-e ");
	put_event_option(&p->text, &p->x->m->event[i], "cpu");
	put_explain_page_safe(p, buf_str(&p->text));
	buf_reset(&p->text);
	buf_puts(p->b, " -- ./prog\n");
}

static void put_explain_page_metric(struct paper *p)
{
	const struct model_metric *t = &p->x->m->metric[p->e->index];
	char level[32];

	(void)snprintf(level, sizeof(level), "node of level %u", t->level);
	put_explain_page_title(p, t->level ? level : "metric");
	put_says(p);
	if (t->approximate)
		put_explain_page_fact(p, "note",
				      "an approximation: this CPU does not count slots by reason");
	put_explain_page_fact(p, "formula", t->text);
	put_explain_page_place(p, t->file, t->line);
	put_threshold(p, t);
	if (!strcmp(t->domain_text, "Stalls"))
		put_explain_page_fact(p, "share of",
				      "clocks: of all cycles those that were stalled so");
	else if (t->level)
		put_explain_page_fact(p, "share of", model_share_of(t));
	else
		put_explain_page_fact(p, "counts", t->domain_text);
	if (t->overlap)
		put_explain_page_fact(p, "", "may count what siblings count, too");
	if (t->parent != MODEL_NONE)
		put_explain_page_fact(p, "parent", p->x->m->metric[t->parent].name);
	put_explain_page_names(p, "children", &p->e->children);
	put_explain_page_names(p, "related", &p->e->related);
	put_explain_page_list(p, "groups", t->groups);
	put_explain_page_events(p);
	put_explain_page_latencies(p);
	put_locate(p, t);
	put_explain_page_fact(p, "try", p->e->advice);
}

/* ---- the cycle accounting -------------------------------------------------------------------- */

static const char *const parts[] = {
	[PART_CYCLES] = "the whole",
	[PART_HALTED] = "time in which the CPU had nothing to do",
	[PART_STALLED] = "stalled cycles",
	[PART_UNSTALLED] = "cycles that are not stalled",
	[PART_INFO] = "none: it is told beside the others",
};
static const char *const covers[] = {
	[COVER_FULL] = "measured",
	[COVER_PROFILE] = "right as a count; as a profile its places are rough",
	[COVER_PARTIAL] = "in part, or roughly",
	[COVER_NONE] = "not measured on this CPU",
};

static void put_explain_page_node(struct paper *p)
{
	const struct account *acc = p->x->account;
	const struct account_node *t = &acc->node[p->e->index];
	char number[NUM_MAX];

	put_explain_page_title(p, "node of the cycle accounting");
	put_says(p);
	put_explain_page_fact(p, "part", parts[t->part]);
	put_explain_page_fact(p, "cover", covers[t->cover]);
	put_explain_page_fact(p, "note", t->note);
	put_explain_page_fact(p, t->cycles ? "cycles" : "is", p->e->formula);
	put_explain_page_place(p, t->file, t->line);
	if (t->penalty > 0 && t->penalty != 1.0)
		put_explain_page_fact(p, "from", acc->from);
	put_explain_page_fact(p, "unit", t->unit);
	if (t->parent != MODEL_NONE)
		put_explain_page_fact(p, t->adds ? "adds to" : "parent", acc->node[t->parent].name);
	put_explain_page_names(p, "children", &p->e->children);
	if (t->within != MODEL_NONE)
		put_explain_page_fact(p, "within", acc->node[t->within].name);
	if (t->same != MODEL_NONE)
		put_explain_page_fact(p, "same as", acc->node[t->same].name);
	if (t->event != MODEL_NONE) {
		buf_printf(&p->text, "%s%s", num_exact(number, t->period),
			   t->precise > 1 ? ", precise, without skid"
			   : t->precise	  ? ", precise"
					  : "");
		put_made(p, "sample by");
	}
	put_explain_page_events(p);
	put_explain_page_fact(p, "try", p->e->advice);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* One line of a member: its name, and its text. */
static void put_member(struct paper *p, const char *name)
{
	const struct model *m = p->x->m;
	const struct model_metric *t = &m->metric[model_metric_find(m, name, strlen(name))];
	size_t n = strlen(name);

	buf_puts(p->b, "  ");
	put_explain_page_safe(p, name);
	buf_fill(p->b, ' ', n < MEMBER ? MEMBER - n : 1);
	put_wrapped(p, *t->says ? t->says : t->text, n < MEMBER ? MEMBER + 2 : n + 3);
}

static void put_explain_page_group(struct paper *p)
{
	put_explain_page_title(p, "group");
	put_explain_page_fact(p, "says", p->e->says);
	for (size_t i = 0; i < p->e->children.n; i++)
		put_member(p, p->e->children.v[i]);
	if (!p->quiet) {
		put_explain_page_label(p, "next");
		buf_puts(p->b, "cyclade stat ");
		put_explain_page_safe(p, p->x->models);
		buf_puts(p->b, "-M ");
		put_explain_page_safe(p, p->e->name);
		buf_puts(p->b, " -- ./prog\n");
	}
}

/* ---- rows of monitor ------------------------------------------------------------------------- */

static void put_explain_page_row(struct paper *p)
{
	const struct set_row *row = &p->x->monitor->row[p->e->index];

	put_explain_page_title(p, row->counter ? "counter of monitor" : "metric of monitor");
	put_says(p);
	put_explain_page_fact(p, "formula", row->formula);
	put_explain_page_place(p, row->file, row->line);
	put_explain_page_fact(p, "unit", row->unit);
	for (size_t i = 0; i < row->n_alias; i++)
		buf_printf(&p->text, "%s%s", i ? ", " : "", row->alias[i]);
	put_made(p, "elsewhere");
	put_explain_page_names(p, "related", &p->e->related);
	put_explain_page_events(p);
	if (!p->quiet) {
		put_explain_page_label(p, "next");
		buf_puts(p->b, "cyclade monitor ");
		put_explain_page_safe(p, p->x->models);
		buf_printf(p->b, "%s--metrics ",
			   !strcmp(row->place, "cgroup") ? "--cgroup '*' " : "");
		put_explain_page_safe(p, p->e->name);
		buf_putc(p->b, '\n');
	}
}

/* ---- the page -------------------------------------------------------------------------------- */

int explain_write_term(struct buf *out, const struct document *d, const struct show *s,
		       struct err *err)
{
	static void (*const put[])(struct paper * p) = {
		[EXPLAIN_NODE] = put_explain_page_metric,
		[EXPLAIN_METRIC] = put_explain_page_metric,
		[EXPLAIN_ACCOUNT] = put_explain_page_node,
		[EXPLAIN_EVENT] = put_one_event,
		[EXPLAIN_GROUP] = put_explain_page_group,
		[EXPLAIN_MONITOR] = put_explain_page_row,
	};
	struct paper p = { .b = out, .st = &s->style, .quiet = s->quiet, .x = d->ctx };

	if (s->table)
		return format_term(out, d, s, err);
	for (size_t i = 0; i < p.x->n; i++) {
		p.e = &p.x->name[i];
		if (i)
			buf_putc(out, '\n');
		put[p.e->kind](&p);
	}
	out->failed |= p.text.failed;
	buf_free(&p.text);
	return 0;
}
