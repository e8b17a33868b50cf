/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model's texts: the input is cut at lines "===" into model, tree, metrics, events, words and
 * cpus.tab. What loads must be whole: indices in range, each formula behind those it needs.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const uint32_t *limit = ctx;

	if (index >= limit[kind != EXPR_METRIC])
		abort();
	return 0;
}

static void check(const struct model *m)
{
	struct value *value = calloc(m->n_metrics + 1, sizeof(*value));
	double *count = calloc(m->n_events + 1, sizeof(*count));
	double system[SYSTEM_COUNT];
	struct expr_env env = { .count = count, .n_lps = 1, .metric = value, .system = system };

	if (!value || !count)
		abort();
	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = i;
	for (size_t i = 0; i < m->n_events; i++)
		count[i] = (double)i;
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		const struct model_metric *t = &m->metric[i];
		uint32_t limit[2] = { i, (uint32_t)m->n_used };

		if (expr_needs(t->expr, NULL, need, limit))
			abort();
		if (t->parent != MODEL_NONE && t->parent >= m->n_metrics)
			abort();
		value[i] = expr_eval(t->expr, &env);
		if (value[i].why == VALUE_OK && !isfinite(value[i].v))
			abort();
	}
	(void)model_check(m, NULL, NULL);
	free(value);
	free(count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { "x/y/model",  "x/y/tree", "x/y/metrics",
					     "x/y/events", "words",    "cpus.tab" };
	struct model_text text[7];
	struct model_sources s = { .text = text, .n_texts = 7 };
	struct model_cpu cpu = { "GenuineIntel", 6, 0x3a, 9, "cpu" };
	const char *at = (const char *)data, *end = at + size;
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	const char *id;
	struct model *m;

	for (size_t i = 0; i < 6; i++) {
		const char *cut = NULL;

		if (i < 5)
			cut = memmem(at, (size_t)(end - at), "\n===\n", 5);
		text[i] = (struct model_text){ paths[i], at, (size_t)((cut ? cut + 1 : end) - at) };
		at = cut ? cut + 5 : end;
	}
	text[6] = (struct model_text){ "names.tab", text[5].s, text[5].len };
	if (!model_load(&m, &s, "y", NULL, &err)) {
		check(m);
		model_free(m);
	} else if (err.code == ERR_NONE || !err.what[0]) {
		abort();
	}
	err_clear(&err);
	if (!model_select(&id, &a, &s, &cpu, &err) && !id)
		abort();
	if (!model_named(&id, &a, &s, "x-86", "cpu_core", NULL) && !id)
		abort();
	arena_free(&a);
	return 0;
}
