/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain - all that is known of a node (of the tree, or the cycle accounting), a metric or an
 * event: what it means, how it is made, which events that takes, when to look at it, where to go
 * next.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "cli/model_choice.h"
#include "cli/model_facts.h"
#include "cli/models/explain_int.h"

/* ---- words in lines ---- */

void explain_wrapped(struct explain *x, const char *text, size_t indent)
{
	size_t width = x->st.width ? x->st.width : 80;
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, text, x->st.ascii);
	width = width > 100 ? 100 : width < indent + 30 ? indent + 30 : width;
	text_put_wrapped(&x->b, buf_str(&safe), indent, width);
	buf_putc(&x->b, '\n');
	buf_free(&safe);
}

void explain_label(struct explain *x, const char *label)
{
	size_t n = strlen(label);

	style_ink(&x->b, &x->st, INK_DIM);
	buf_printf(&x->b, "  %s", label);
	style_ink(&x->b, &x->st, INK_PLAIN);
	buf_fill(&x->b, ' ', n + 2 < EXPLAIN_LABEL ? EXPLAIN_LABEL - n - 2 : 1);
}

void explain_fact(struct explain *x, const char *label, const char *text)
{
	if (!*text)
		return;
	explain_label(x, label);
	explain_wrapped(x, text, EXPLAIN_LABEL);
}

/* Words that the model's files part by semicolons. */
static void list_fact(struct explain *x, const char *label, const char *list)
{
	struct buf text = BUF_INIT;

	for (; *list; list++)
		buf_printf(&text, *list == ';' ? "%c " : "%c", *list);
	explain_fact(x, label, buf_str(&text));
	buf_free(&text);
}

void explain_title(struct explain *x, const char *name, const char *what)
{
	struct buf text = BUF_INIT;

	style_ink(&x->b, &x->st, INK_BOLD);
	text_put_safe(&x->b, name, x->st.ascii);
	style_ink(&x->b, &x->st, INK_PLAIN);
	buf_puts(&x->b, "  ");
	buf_printf(&text, "%s of %s, %s%s%s", what, x->m->id, x->m->title,
		   *x->m->tma ? ", TMA " : "", x->m->tma);
	text_put_wrapped(&x->b, buf_str(&text), text_width(name) + 2, x->st.width);
	buf_putc(&x->b, '\n');
	buf_free(&text);
	explain_fact(x, "caution", x->m->caution);
}

/* ---- what is needed ---- */

static int need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct explain *x = ctx;

	if (kind == EXPR_LATENCY)
		x->latency[index] = true;
	if (kind != EXPR_METRIC) {
		x->needed[index] = true;
	} else if (!x->seen[index]) {
		x->seen[index] = true;
		return expr_needs(x->m->metric[index].expr, x->system, need, x);
	}
	return 0;
}

static void find_needs(struct explain *x, uint32_t metric)
{
	memset(x->seen, 0, x->m->n_metrics * sizeof(*x->seen));
	memset(x->needed, 0, x->m->n_events * sizeof(*x->needed));
	memset(x->latency, 0, x->m->n_events * sizeof(*x->latency));
	x->seen[metric] = true;
	(void)expr_needs(x->m->metric[metric].expr, x->system, need, x);
}

/* How it is encoded, and on which counters it is. */
static void event_code(struct buf *b, const struct model_event *e)
{
	if (*e->pmu)
		buf_printf(b, "%s/%s/", e->pmu, e->code);
	else
		buf_puts(b, e->code);
	buf_puts(b, *e->modifiers ? ":" : "");
	buf_printf(b, "%s  ", e->modifiers);
	put_counters(b, e);
}

/* Name and code in columns, or with wide 0 the code in a line of its own. */
static void put_event(struct explain *x, const struct model_event *e, size_t wide)
{
	size_t n = strlen(e->name);
	struct buf code = BUF_INIT;

	event_code(&code, e);
	text_put_safe(&x->b, e->name, x->st.ascii);
	if (wide) {
		buf_fill(&x->b, ' ', n < wide ? wide - n + 2 : 2);
		text_put_safe(&x->b, buf_str(&code), x->st.ascii);
		buf_putc(&x->b, '\n');
	} else {
		buf_putc(&x->b, '\n');
		buf_fill(&x->b, ' ', EXPLAIN_LABEL + 4);
		explain_wrapped(x, buf_str(&code), EXPLAIN_LABEL + 4);
	}
	buf_free(&code);
}

/* The widest name, and whether there is room for columns. */
static size_t event_columns(const struct explain *x)
{
	struct buf code = BUF_INIT;
	size_t wide = 0, most = 0;

	for (size_t i = 0; i < x->m->n_events; i++) {
		size_t n = x->needed[i] ? strlen(x->m->event[i].name) : 0;

		if (!n)
			continue;
		buf_reset(&code);
		event_code(&code, &x->m->event[i]);
		most = code.len > most ? code.len : most;
		wide = n > wide ? n : wide;
	}
	buf_free(&code);
	if (x->st.width && EXPLAIN_LABEL + wide + 2 + most > x->st.width)
		return 0;
	return wide < 48 ? wide : 48;
}

void explain_events(struct explain *x)
{
	const char *label = "events";
	size_t wide = event_columns(x);

	for (size_t i = 0; i < x->m->n_events; i++) {
		if (!x->needed[i])
			continue;
		explain_label(x, label);
		put_event(x, &x->m->event[i], wide);
		label = "";
	}
}

/* Of which events stat samples the retire latency, and what stands in where it cannot. */
static void put_latencies(struct explain *x)
{
	const char *label = "latency";
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < x->m->n_events; i++) {
		const struct model_event *e = &x->m->event[i];

		if (!x->latency[i])
			continue;
		buf_reset(&text);
		buf_printf(&text, "%s: sampled, ", e->name);
		if (isnan(e->latency))
			buf_puts(&text, "or not known");
		else
			buf_printf(&text, "else %g cycles, measured %s", e->latency,
				   *x->m->latency_from ? x->m->latency_from : "by the vendor");
		explain_label(x, label);
		explain_wrapped(x, buf_str(&text), EXPLAIN_LABEL);
		label = "";
	}
	buf_free(&text);
}

/* ---- metrics ---- */

/* Is `word` one of the words of `list`? */
static bool has_word(const char *list, const char *word, size_t len)
{
	while (*list) {
		size_t n = strcspn(list, " ");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n;
		list += strspn(list, " ");
	}
	return false;
}

static bool one_issue_shared(const char *a, const char *b)
{
	while (*a) {
		size_t n = strcspn(a, " ");

		if (n && has_word(b, a, n))
			return true;
		a += n;
		a += strspn(a, " ");
	}
	return false;
}

struct named {
	uint32_t order;
	const char *name;
};

static int by_order(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* Names of the metrics for which `fits` holds, comma after comma, in reading order. */
static void put_names(struct explain *x, const char *label, uint32_t self,
		      bool (*fits)(const struct model_metric *self, uint32_t self_index,
				   const struct model_metric *other))
{
	struct named *v = arena_alloc(&x->cli->arena, (x->m->n_metrics + 1) * sizeof(*v));
	struct buf names = BUF_INIT;
	size_t n = 0;

	for (uint32_t i = 0; v && i < x->m->n_metrics; i++)
		if (i != self && fits(&x->m->metric[self], self, &x->m->metric[i]))
			v[n++] = (struct named){ x->m->metric[i].order, x->m->metric[i].name };
	if (n)
		qsort(v, n, sizeof(*v), by_order);
	for (size_t i = 0; i < n; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", v[i].name);
	explain_fact(x, label, buf_str(&names));
	buf_free(&names);
}

static bool is_child(const struct model_metric *self, uint32_t index,
		     const struct model_metric *other)
{
	(void)self;
	return other->parent == index;
}

static bool is_related(const struct model_metric *self, uint32_t index,
		       const struct model_metric *other)
{
	(void)index;
	return one_issue_shared(self->issues, other->issues);
}

static void put_threshold(struct explain *x, const struct model_metric *t)
{
	struct buf text = BUF_INIT;

	if (!t->threshold)
		return;
	buf_puts(&text, t->threshold_text);
	if (expr_wants_parent(t->threshold))
		buf_puts(&text, "   (P: its parent must be over its own, too)");
	explain_fact(x, "look if", buf_str(&text));
	buf_free(&text);
}

static void put_locate(struct explain *x, const struct model_metric *t)
{
	const struct model_event *e;
	uint32_t i;

	list_fact(x, "locate", t->locate_all);
	if (!*t->locate || x->cli->opt.quiet)
		return;
	i = model_event_find(x->m, t->locate, strlen(t->locate));
	if (i == MODEL_NONE)
		return;
	e = &x->m->event[i];
	explain_label(x, "next");
	buf_puts(&x->b, "cyclade record -e ");
	put_event_option(&x->b, e, "cpu");
	buf_puts(&x->b, " -- ./prog\n");
}

static void put_metric(struct explain *x, uint32_t i)
{
	const struct model_metric *t = &x->m->metric[i];
	char level[32];

	(void)snprintf(level, sizeof(level), "node of level %u", t->level);
	explain_title(x, t->name, t->level ? level : "metric");
	if (*t->says) {
		buf_puts(&x->b, "  ");
		explain_wrapped(x, t->says, 2);
	}
	if (t->approximate)
		explain_fact(x, "note",
			     "an approximation: this CPU does not count slots by reason");
	explain_fact(x, "formula", t->text);
	explain_label(x, "");
	style_ink(&x->b, &x->st, INK_DIM);
	buf_printf(&x->b, "%s:%u\n", t->file, t->line);
	style_ink(&x->b, &x->st, INK_PLAIN);
	put_threshold(x, t);
	explain_fact(x, "counts", t->domain_text);
	if (t->overlap)
		explain_fact(x, "", "may count what siblings count, too");
	if (t->parent != MODEL_NONE)
		explain_fact(x, "parent", x->m->metric[t->parent].name);
	put_names(x, "children", i, is_child);
	put_names(x, "related", i, is_related);
	list_fact(x, "groups", t->groups);
	find_needs(x, i);
	explain_events(x);
	put_latencies(x);
	put_locate(x, t);
	explain_fact(x, "try", t->try_);
}

/* ---- events ---- */

static int uses(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const uint32_t *event = ctx;

	return kind != EXPR_METRIC && index == *event;
}

/* What the event counts, by the vendor or in our words. */
static struct model_words words_of(struct explain *x, uint32_t event)
{
	struct model_words w;

	if (model_describe(&w, &x->cli->arena, x->m, x->m->event[event].name, NULL))
		return (struct model_words){ NULL, NULL, false };
	return w;
}

static void put_words(struct explain *x, uint32_t event)
{
	struct model_words w = words_of(x, event);

	explain_fact(x, w.vendors ? "Intel" : "says", w.text ? w.text : "no description");
	if (w.wrong)
		explain_fact(x, "but", w.wrong);
}

static void json_words(struct explain *x, struct json *j, uint32_t event)
{
	struct model_words w = words_of(x, event);

	json_str(j, "description", w.text);
	json_bool(j, "description_by_vendor", w.vendors);
	json_str(j, "description_wrong", w.wrong);
}

static void put_one_event(struct explain *x, uint32_t i)
{
	const struct model_event *e = &x->m->event[i];
	struct buf text = BUF_INIT;
	char number[NUM_MAX];
	uint32_t event = i;

	explain_title(x, e->name, "event");
	put_words(x, i);
	buf_printf(&text, "%s/%s/%s", *e->pmu ? e->pmu : "cpu", e->code, e->modifiers);
	explain_fact(x, "code", buf_str(&text));
	buf_reset(&text);
	put_counters(&text, e);
	explain_fact(x, "counted on", buf_str(&text));
	buf_reset(&text);
	put_flags(&text, e->flags);
	explain_fact(x, "marks", buf_str(&text));
	buf_reset(&text);
	if (e->period)
		explain_fact(x, "sample by", num_exact(number, e->period));
	explain_fact(x, "errata", e->errata);
	if (!isnan(e->latency)) {
		buf_printf(&text, "%g cycles to retire on average, measured %s", e->latency,
			   *x->m->latency_from ? x->m->latency_from : "by the vendor");
		explain_fact(x, "latency", buf_str(&text));
		buf_reset(&text);
	}
	for (uint32_t k = 0; k < x->m->n_metrics; k++)
		if (expr_needs(x->m->metric[k].expr, x->system, uses, &event))
			buf_printf(&text, "%s%s", text.len ? ", " : "", x->m->metric[k].name);
	explain_account_users(x, i, &text);
	explain_fact(x, "used by", buf_str(&text));
	buf_free(&text);
}

/* ---- json ---- */

void explain_json_events(struct explain *x, struct json *j)
{
	struct fact f[FACTS_MAX];

	json_array(j, "events");
	for (uint32_t i = 0; i < x->m->n_events; i++) {
		if (!x->needed[i])
			continue;
		json_object(j, NULL);
		facts_json(j, f, event_facts(x->m, i, f));
		json_end_object(j);
	}
	json_end_array(j);
}

/* What a name stands for; MODEL_NONE where it does not. */
struct meant {
	uint32_t metric, event, account;
	const char *group; /* its name; looked at if it is nothing else */
};

static struct meant meant_by(const struct explain *x, const char *name)
{
	size_t n = strlen(name);

	return (struct meant){ model_metric_named(x->m, name, n), model_event_find(x->m, name, n),
			       x->acc ? account_find(x->acc, name, n) : MODEL_NONE,
			       explain_is_group(x, name) ? name : NULL };
}

static bool means_nothing(const struct meant *w)
{
	return w->metric == MODEL_NONE && w->event == MODEL_NONE && w->account == MODEL_NONE &&
	       !w->group;
}

static void put_json(struct explain *x, struct json *j, const struct meant *w)
{
	uint32_t metric = w->metric, event = w->event;
	struct fact f[FACTS_MAX];

	json_object(j, NULL);
	json_str(j, "kind",
		 metric != MODEL_NONE && x->m->metric[metric].level ? "node"
		 : metric != MODEL_NONE				    ? "metric"
		 : w->account != MODEL_NONE			    ? "account"
		 : event != MODEL_NONE				    ? "event"
								    : "group");
	json_str(j, "model", x->m->id);
	json_str(j, "tma", *x->m->tma ? x->m->tma : NULL);
	if (metric == MODEL_NONE && w->account != MODEL_NONE) {
		explain_account_json(x, j, w->account);
	} else if (metric != MODEL_NONE) {
		facts_json(j, f, metric_facts(x->m, metric, f));
		find_needs(x, metric);
		explain_json_events(x, j);
		json_array(j, "retire_latencies");
		for (size_t i = 0; i < x->m->n_events; i++)
			if (x->latency[i])
				json_str(j, NULL, x->m->event[i].name);
		json_end_array(j);
	} else if (event != MODEL_NONE) {
		facts_json(j, f, event_facts(x->m, event, f));
		json_words(x, j, event);
	} else {
		explain_group_json(x, j, w->group);
	}
	json_end_object(j);
}

/* ---- names ---- */

static int unknown(struct explain *x, const char *name)
{
	size_t n = x->m->n_metrics + x->m->n_events + (x->acc ? x->acc->n : 0), k = 0;
	const char **words = arena_alloc(&x->cli->arena, (n + 1) * sizeof(*words));
	struct err err = ERR_INIT;
	const char *near = NULL;

	for (size_t i = 0; words && i < x->m->n_metrics; i++)
		words[k++] = x->m->metric[i].name;
	for (size_t i = 0; words && x->acc && i < x->acc->n; i++)
		words[k++] = x->acc->node[i].name;
	for (size_t i = 0; words && i < x->m->n_events; i++)
		words[k++] = x->m->event[i].name;
	if (words && strlen(name) < 100)
		near = text_nearest(name, words);
	(void)err_set(&err, ERR_NOT_FOUND, "%s has no node, metric, group or event '%.100s'",
		      x->m->id, name);
	if (near)
		(void)err_hint(&err, "did you mean %s?", near);
	else
		(void)err_hint(
			&err,
			"cyclade list nodes, account, metrics, groups or events show the names");
	return cli_fail(&err);
}

static int explain_all(struct explain *x)
{
	const struct options *o = &x->cli->opt;
	bool json = o->json || (o->format && !strcmp(o->format, "json"));
	struct json j;
	int code = EXIT_OK;

	json_init(&j, &x->b, true);
	if (json) {
		json_object(&j, NULL);
		json_str(&j, "schema", "cyclade.explain/1");
		json_array(&j, "names");
	}
	for (size_t i = 0; i < x->cli->args.n && code == EXIT_OK; i++) {
		const char *name = x->cli->args.v[i];
		struct meant w = meant_by(x, name);

		if (means_nothing(&w))
			code = unknown(x, name);
		else if (json)
			put_json(x, &j, &w);
		else if (w.metric != MODEL_NONE)
			put_metric(x, w.metric);
		else if (w.account != MODEL_NONE)
			explain_account_node(x, w.account);
		else if (w.event != MODEL_NONE)
			put_one_event(x, w.event);
		else
			explain_group(x, w.group);
		if (!json && i + 1 < x->cli->args.n)
			buf_putc(&x->b, '\n');
	}
	if (json) {
		json_end_array(&j);
		json_end_object(&j);
		buf_putc(&x->b, '\n');
	}
	return code != EXIT_OK ? code : cli_put(x->cli, &x->b, !json);
}

/* Loads the account, where there is one; what is wrong with it `models check` tells. */
static void find_account(struct explain *x)
{
	struct model_sources s = cli_model_sources(x->cli);
	struct account *acc;

	x->acc = account_load(&acc, &x->cli->arena, x->m, &s, NULL) ? NULL : acc;
}

/* Where this machine's CPU has no model, the first model that knows the name stands in. */
static int stand_in(struct explain *x, const char *name, struct model **out)
{
	struct cli *cli = x->cli;
	struct model_sources s = cli_model_sources(cli);
	const struct model_row *row;
	size_t n;

	if (model_list(&cli->arena, &s, &row, &n, NULL))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct meant w;

		if (model_load(out, &s, row[i].id, NULL, NULL))
			continue;
		x->m = *out;
		find_account(x);
		w = meant_by(x, name);
		if (!means_nothing(&w)) {
			cli_note(cli,
				 "no model for this machine's CPU: as %s has it (--model "
				 "takes another)",
				 row[i].id);
			return 0;
		}
		model_free(*out);
		*out = NULL;
	}
	return -1;
}

int cmd_explain(struct cli *cli)
{
	struct explain x = { .cli = cli, .b = BUF_INIT };
	struct err err = ERR_INIT;
	struct model *m = NULL;
	int code;

	if (!cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "explain needs a name");
		(void)err_hint(&err, "cyclade list nodes shows some");
		return cli_fail(&err);
	}
	if (cli_model(cli, NULL, NULL, &m, &err) &&
	    (cli->opt.model || err.code != ERR_NOT_FOUND || stand_in(&x, cli->args.v[0], &m)))
		return cli_fail(&err);
	x.m = m;
	find_account(&x);
	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		x.system[i] = NAN;
	x.st = cli_style(cli, 1);
	x.seen = arena_alloc(&cli->arena, m->n_metrics + 1);
	x.needed = arena_alloc(&cli->arena, m->n_events + 1);
	x.latency = arena_alloc(&cli->arena, m->n_events + 1);
	if (!x.seen || !x.needed || !x.latency) {
		(void)err_nomem(&err);
		code = cli_fail(&err);
	} else {
		code = explain_all(&x);
	}
	buf_free(&x.b);
	model_free(m);
	return code;
}
