/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/nomem.h"
#include "base/xalloc.h"
#include "report/models/models_int.h"

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

void put_event_code(struct buf *b, const struct model_event *e)
{
	if (*e->pmu)
		buf_printf(b, "%s/%s/", e->pmu, e->code);
	else
		buf_puts(b, e->code);
	if (*e->modifiers)
		buf_printf(b, ":%s", e->modifiers);
	buf_puts(b, "  ");
	put_counters(b, e);
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
	struct latency_search s = { m, xcalloc(m->n_metrics + 1, sizeof(*s.seen)) };
	bool asks = s.seen && m->metric[metric].expr &&
		    expr_needs(m->metric[metric].expr, NULL, find_latency, &s);

	if (!s.seen)
		nomem_note();
	free(s.seen);
	return asks;
}

const char *account_part_word(enum account_part part)
{
	static const char *const words[] = {
		[PART_CYCLES] = "cycles",   [PART_HALTED] = "halted",
		[PART_STALLED] = "stalled", [PART_UNSTALLED] = "unstalled",
		[PART_INFO] = "info",
	};

	return words[part];
}

const char *account_cover_word(enum account_cover cover)
{
	static const char *const words[] = {
		[COVER_FULL] = "full",
		[COVER_PROFILE] = "profile",
		[COVER_PARTIAL] = "partial",
		[COVER_NONE] = "none",
	};

	return words[cover];
}

static void put_sum(struct buf *b, const struct account *acc, uint32_t node)
{
	const char *sep = "";

	for (uint32_t i = 0; i < acc->n; i++) {
		if (acc->node[i].parent != node || !acc->node[i].adds)
			continue;
		buf_printf(b, "%s%s", sep, acc->node[i].name);
		sep = " + ";
	}
}

void put_account_cost(struct buf *b, const struct account *acc, uint32_t node)
{
	const struct account_node *t = &acc->node[node];

	if (t->expr) {
		buf_puts(b, t->text);
	} else if (t->event != MODEL_NONE) {
		buf_puts(b, acc->model->event[t->event].name);
		if (t->penalty != 1.0 && t->cycles)
			buf_printf(b, " x %g%s", t->penalty,
				   t->reference ? " of the reference clock"
				   : t->ns	? " ns"
						: "");
	} else if (t->cover == COVER_NONE) {
		buf_puts(b, "not measured");
	} else {
		put_sum(b, acc, node);
	}
}
