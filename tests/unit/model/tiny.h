/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tiny - models made by hand in a test: rows of text, compiled as perf's formulas.
 *
 * Metrics begin with a capital letter and a colon is no part of them; every other name in a formula
 * is an event, in order of first use. A row refers to rows before it only, but for its threshold.
 */
#ifndef TESTS_UNIT_MODEL_TINY_H
#define TESTS_UNIT_MODEL_TINY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "model/tree.h"

struct tiny_row {
	const char *name, *parent; /* parent NULL: none */
	unsigned level;
	const char *expr, *threshold;
	enum model_domain domain;
	bool overlap;
};

enum { TINY_EVENTS = 48, TINY_METRICS = 48 };

struct tiny {
	struct model m;
	struct model_event event[TINY_EVENTS];
	struct model_metric metric[TINY_METRICS];
	char names[TINY_EVENTS][80];
};

static inline uint32_t tiny_metric(const struct tiny *t, const char *s)
{
	for (uint32_t i = 0; i < t->m.n_metrics; i++)
		if (!strcmp(t->metric[i].name, s))
			return i;
	return MODEL_NONE;
}

static inline uint32_t tiny_event_n(struct tiny *t, const char *s, size_t len)
{
	for (uint32_t i = 0; i < t->m.n_events; i++)
		if (strlen(t->names[i]) == len && !memcmp(t->names[i], s, len))
			return i;
	assert_true(t->m.n_events < TINY_EVENTS && len < sizeof(t->names[0]));
	memcpy(t->names[t->m.n_events], s, len);
	t->event[t->m.n_events].name = t->names[t->m.n_events];
	return (uint32_t)t->m.n_events++;
}

static inline uint32_t tiny_event(struct tiny *t, const char *s)
{
	return tiny_event_n(t, s, strlen(s));
}

static inline bool tiny_find(void *ctx, enum expr_ask ask, const char *s, size_t len,
			     struct expr_ref *out)
{
	struct tiny *t = ctx;

	if (ask != ASK_NAME || *s == '#' || *s == '$' || s[len - 1] == 'R')
		return false;
	for (uint32_t i = 0; i < t->m.n_metrics; i++) {
		if (strlen(t->metric[i].name) != len || memcmp(t->metric[i].name, s, len))
			continue;
		*out = (struct expr_ref){ EXPR_METRIC, i, 0, t->metric[i].expr };
		return true;
	}
	*out = (struct expr_ref){ EXPR_EVENT, tiny_event_n(t, s, len), 0, NULL };
	return true;
}

static inline const struct expr *tiny_compile(struct tiny *t, const char *s, const char *subject)
{
	struct expr_text text = { s, strlen(s), EXPR_SHEET, subject, "tiny", 1 };
	struct expr_scope scope = { tiny_find, NULL, t };
	struct err err = ERR_INIT;
	struct expr *e = NULL;

	if (expr_compile(&e, &t->m.arena, &text, &scope, &err))
		fail_msg("%s\n%s", err.what, err.hint);
	return e;
}

static inline void tiny_make(struct tiny *t, const struct tiny_row *row, size_t n)
{
	memset(t, 0, sizeof(*t));
	t->m.metric = t->metric;
	t->m.event = t->event;
	for (size_t i = 0; i < n; i++) {
		struct model_metric *m = &t->metric[i];

		assert_true(i < TINY_METRICS);
		*m = (struct model_metric){ .name = row[i].name,
					    .level = row[i].level,
					    .parent = row[i].parent ? tiny_metric(t, row[i].parent)
								    : MODEL_NONE,
					    .domain = row[i].domain,
					    .max = NAN,
					    .overlap = row[i].overlap };
		m->expr = tiny_compile(t, row[i].expr, NULL);
		t->m.n_metrics++;
	}
	for (size_t i = 0; i < n; i++)
		if (row[i].threshold)
			t->metric[i].threshold = tiny_compile(t, row[i].threshold, row[i].name);
	t->m.n_used = t->m.n_events;
}

#endif
