/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/model_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."

static const struct {
	unsigned flag;
	const char *text;
} flag_texts[] = {
	{ EVENT_SLOTS, "slots" },
	{ EVENT_METRIC, "metric" },
	{ EVENT_TAKEN_ALONE, "alone" },
	{ EVENT_OFFCORE, "offcore" },
	{ EVENT_FRONTEND, "frontend" },
	{ EVENT_LDLAT, "ldlat" },
	{ EVENT_PAIR, "pair" },
	{ EVENT_SOFTWARE, "software" },
	{ EVENT_UNCORE, "uncore" },
	{ EVENT_SMT_EXCLUSIVE, "smt_exclusive" },
	{ EVENT_ANY_THREAD, "any_thread" },
	{ EVENT_PRECISE, "precise" },
	{ EVENT_DEPRECATED, "deprecated" },
	{ EVENT_PER_CORE, "per_core" },
};

const char *counter_spans(uint32_t bits, char out[64])
{
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < 32 && n < 56; i++) {
		unsigned from = i;

		if (!(bits >> i & 1))
			continue;
		while (i + 1 < 32 && (bits >> (i + 1) & 1))
			i++;
		n += (size_t)snprintf(out + n, 64 - n, from == i ? "%s%u" : "%s%u-%u", n ? "," : "",
				      from, i);
	}
	return out;
}

void put_counters(struct buf *b, const struct model_event *e)
{
	char text[64];

	if (e->flags & (EVENT_METRIC | EVENT_UNCORE | EVENT_SOFTWARE)) {
		buf_puts(b, e->flags & EVENT_METRIC ? "of PERF_METRICS, behind slots"
			    : *e->pmu		    ? "not of the core's counters"
						    : "needs no counter");
		return;
	}
	if (e->counters)
		buf_printf(b, "counters %s", counter_spans(e->counters, text));
	if (e->counters_alone != e->counters)
		buf_printf(b, " (%s with SMT off)", counter_spans(e->counters_alone, text));
	if (e->fixed)
		buf_printf(b, "%sfixed %s", e->counters ? ", " : "", counter_spans(e->fixed, text));
}

void put_event_option(struct buf *b, const struct model_event *e, const char *pmu)
{
	bool precise = e->flags & EVENT_PRECISE;

	if (e->name[strspn(e->name, NAME_CHARS)])
		buf_printf(b, "%s/%s/%s", *e->pmu ? e->pmu : pmu, e->code, precise ? "pp" : "");
	else
		buf_printf(b, "%s%s", e->name, precise ? ":pp" : "");
}

void put_flags(struct buf *b, unsigned flags)
{
	const char *sep = "";

	for (size_t i = 0; i < sizeof(flag_texts) / sizeof(flag_texts[0]); i++) {
		if (!(flags & flag_texts[i].flag))
			continue;
		buf_printf(b, "%s%s", sep, flag_texts[i].text);
		sep = ",";
	}
}

struct latency_search {
	const struct model *m;
	bool *seen; /* by metric */
};

static int find_latency(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct latency_search *s = ctx;

	if (kind == EXPR_LATENCY)
		return 1;
	if (kind != EXPR_METRIC || s->seen[index])
		return 0;
	s->seen[index] = true;
	return expr_needs(s->m->metric[index].expr, NULL, find_latency, s);
}

bool metric_asks_latency(const struct model *m, uint32_t metric)
{
	struct latency_search s = { m, calloc(m->n_metrics + 1, sizeof(*s.seen)) };
	bool asks = s.seen && m->metric[metric].expr &&
		    expr_needs(m->metric[metric].expr, NULL, find_latency, &s);

	free(s.seen);
	return asks;
}

size_t metric_facts(const struct model *m, uint32_t metric, struct fact *out)
{
	const struct model_metric *t = &m->metric[metric];
	const char *parent = t->parent == MODEL_NONE ? "" : m->metric[t->parent].name;
	const struct fact facts[] = {
		{ "name", FACT_TEXT, t->name, 0 },
		{ "path", FACT_TEXT, t->path, 0 },
		{ "level", FACT_NUMBER, NULL, t->level },
		{ "parent", FACT_TEXT, parent, 0 },
		{ "area", FACT_TEXT, t->area, 0 },
		{ "formula", FACT_TEXT, t->text, 0 },
		{ "threshold", FACT_TEXT, t->threshold_text, 0 },
		{ "count", FACT_TEXT, t->domain_text, 0 },
		{ "unit", FACT_TEXT, t->unit, 0 },
		{ "scale", FACT_NUMBER, NULL, t->scale },
		{ "max", FACT_NUMBER, NULL, t->max },
		{ "overlap", FACT_BOOL, NULL, t->overlap },
		{ "approximate", FACT_BOOL, NULL, t->approximate },
		{ "retire_latency", FACT_BOOL, NULL, metric_asks_latency(m, metric) },
		{ "groups", FACT_TEXT, t->groups, 0 },
		{ "issues", FACT_TEXT, t->issues, 0 },
		{ "locate", FACT_TEXT, t->locate_all, 0 },
		{ "says", FACT_TEXT, t->says, 0 },
		{ "try", FACT_TEXT, t->try_, 0 },
		{ "file", FACT_TEXT, t->file, 0 },
		{ "line", FACT_NUMBER, NULL, t->line },
	};

	memcpy(out, facts, sizeof(facts));
	return sizeof(facts) / sizeof(facts[0]);
}

size_t event_facts(const struct model *m, uint32_t event, struct fact *out)
{
	static char spans[3][64], flags[160]; /* until the next call */
	const struct model_event *e = &m->event[event];
	struct buf b = BUF_INIT;

	put_flags(&b, e->flags);
	(void)snprintf(flags, sizeof(flags), "%s", buf_str(&b));
	buf_free(&b);
	{
		const struct fact facts[] = {
			{ "name", FACT_TEXT, e->name, 0 },
			{ "pmu", FACT_TEXT, e->pmu, 0 },
			{ "code", FACT_TEXT, e->code, 0 },
			{ "modifiers", FACT_TEXT, e->modifiers, 0 },
			{ "counters", FACT_TEXT, counter_spans(e->counters, spans[0]), 0 },
			{ "counters_alone", FACT_TEXT, counter_spans(e->counters_alone, spans[1]),
			  0 },
			{ "fixed", FACT_TEXT, counter_spans(e->fixed, spans[2]), 0 },
			{ "period", FACT_NUMBER, NULL, (double)e->period },
			{ "flags", FACT_TEXT, flags, 0 },
			{ "errata", FACT_TEXT, e->errata, 0 },
			{ "latency", FACT_NUMBER, NULL, e->latency },
			{ "used", FACT_BOOL, NULL, event < m->n_used },
		};

		memcpy(out, facts, sizeof(facts));
		return sizeof(facts) / sizeof(facts[0]);
	}
}
