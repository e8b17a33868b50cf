/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expr_of - compiles and evaluates formulas from its standard input, for test_expr.py.
 *
 *	F dialect <tab> subject or - <tab> formula	answers "ok" or "no" and the error
 *	V lps <tab> name=v,v,... <tab> ...		the last formula: a value, or why not,
 *						or "none" where it was not compiled
 *
 * Every name is an event, but for those that begin with tma_ or metric_ (metrics), and those that
 * the language knows by itself. A metric's value is v, an event's is v on each logical processor, a
 * latency's name is the event's with ":R", a system fact's is "#number of it". In a query
 * (has_event and its like) the answer is whether the name's length is odd.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/expr.h"

enum { MAX_NAMES = 512, MAX_LPS = 8 };

struct world {
	char *name[MAX_NAMES];
	uint32_t n;
	double count[MAX_NAMES * MAX_LPS], latency[MAX_NAMES], system[SYSTEM_COUNT];
	struct value metric[MAX_NAMES], passes[MAX_NAMES];
};

static uint32_t name_of(struct world *w, const char *s, size_t len)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (strlen(w->name[i]) == len && !memcmp(w->name[i], s, len))
			return i;
	if (w->n == MAX_NAMES)
		abort();
	w->name[w->n] = strndup(s, len);
	return w->n++;
}

static bool begins(const char *s, size_t len, const char *with)
{
	return len >= strlen(with) && !memcmp(s, with, strlen(with));
}

static bool ends(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && !memcmp(s + len - n, with, n);
}

static bool find(void *ctx, enum expr_ask ask, const char *s, size_t len, struct expr_ref *out)
{
	static const char *const own[] = {
		"#core_wide",	    "#has_pmem",       "#num_",		"#slots",    "#smt_on",
		"#SMT_on",	    "#DurationTime",   "duration_time", "#EBS_Mode", "#NA",
		"#system_tsc_freq", "#SYSTEM_TSC_FREQ"
	};
	struct world *w = ctx;

	if (ask != ASK_NAME) {
		*out = (struct expr_ref){ .kind = EXPR_CONSTANT, .value = (double)(len & 1) };
		return true;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (begins(s, len, own[i]))
			return false;
	if (ends(s, len, ":R") || ends(s, len, "/R") || ends(s, len, ":retire_latency"))
		return false;
	out->kind = begins(s, len, "tma_") || begins(s, len, "metric_") ? EXPR_METRIC : EXPR_EVENT;
	out->index = name_of(w, s, len);
	return true;
}

static void clear(struct world *w)
{
	for (uint32_t i = 0; i < MAX_NAMES; i++) {
		w->metric[i] = w->passes[i] = (struct value){ NAN, VALUE_ABSENT, 0 };
		w->latency[i] = NAN;
	}
	for (size_t i = 0; i < MAX_NAMES * MAX_LPS; i++)
		w->count[i] = NAN;
	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		w->system[i] = NAN;
}

static void set(struct world *w, char *field, size_t lps)
{
	char *v = strrchr(field, '='), *end;
	size_t len;
	uint32_t i;

	if (!v)
		abort();
	len = (size_t)(v++ - field);
	if (*field == '#' && field[1] >= '0' && field[1] <= '9') {
		w->system[atoi(field + 1)] = strtod(v, NULL);
		return;
	}
	if (ends(field, len, ":R")) {
		w->latency[name_of(w, field, len - 2)] = strtod(v, NULL);
		return;
	}
	i = name_of(w, field, len);
	for (size_t lp = 0; lp < lps; lp++, v = end + 1)
		w->count[i * lps + lp] = strtod(v, &end);
	if (!isnan(w->count[i * lps]))
		w->metric[i] = (struct value){ w->count[i * lps], VALUE_OK, 0 };
}

int main(void)
{
	static struct world w;
	struct arena arena = ARENA_INIT;
	struct expr *e = NULL;
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, stdin) > 0) {
		struct expr_env env = { w.count, 1, w.metric, w.latency, w.system, w.passes };
		char *save = NULL, *kind = strtok_r(line, "\t\n", &save);

		if (*kind == 'F') {
			char *subject = strtok_r(NULL, "\t\n", &save);
			char *text = strtok_r(NULL, "\n", &save);
			struct expr_text t = { text ? text : "",
					       text ? strlen(text) : 0,
					       kind[2] == 'P' ? EXPR_PERF : EXPR_SHEET,
					       strcmp(subject, "-") ? subject : NULL,
					       "test",
					       1 };
			struct expr_scope scope = { find, NULL, &w };
			struct err err = ERR_INIT;

			while (w.n)
				free(w.name[--w.n]);
			arena_free(&arena);
			e = NULL;
			if (expr_compile(&e, &arena, &t, &scope, &err))
				printf("no %s\n", err.what);
			else
				printf("ok\n");
		} else if (*kind == 'V' && !e) {
			printf("none\n");
		} else if (*kind == 'V') {
			struct value v;
			char *field;

			clear(&w);
			env.n_lps = (size_t)atoi(kind + 2);
			while ((field = strtok_r(NULL, "\t\n", &save)))
				set(&w, field, env.n_lps);
			v = expr_eval(e, &env);
			if (v.why)
				printf("why %d\n", (int)v.why);
			else
				printf("%.17g\n", v.v);
		}
	}
	while (w.n)
		free(w.name[--w.n]);
	arena_free(&arena);
	free(line);
	return 0;
}
