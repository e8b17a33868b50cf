/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An account of cycles, and penalties for it: the input is cut at a line "===". What loads must be
 * whole: indices in range, each node behind those it needs.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/account.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char facts[] = "title T\nvendor x\nlanguage sheet\ncounters 4 8\nfixed 3\nwidth 4\n";
static const char events[] = "CYC event=0x3c 0-3:0-7,f1 1000\n"
			     "REF event=0x00,umask=0x03 f2 1000\n"
			     "UOPS event=0xc2,umask=0x02 0-3:0-7 2000003 precise\n"
			     "MISS event=0xd1,umask=0x02 0-3:0-7 100003 precise\n"
			     "UNC uncore_imc/event=0x04,umask=0x03/ - 0\n";
static const char words[] = "name Cycles\nsays W.\ntry W.\n";

static int need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const bool *done = ctx;

	if (kind == EXPR_METRIC && !done[index])
		abort();
	return 0;
}

static void check(const struct account *acc)
{
	bool *done = calloc(acc->n + 1, sizeof(*done));

	if (!done)
		abort();
	for (size_t k = 0; k < acc->n; k++) {
		uint32_t i = acc->order[k];
		const struct account_node *t = &acc->node[i];

		if (i >= acc->n || done[i] || (t->parent != MODEL_NONE && t->parent >= i) ||
		    (t->event != MODEL_NONE && t->event >= acc->model->n_events) ||
		    (t->within != MODEL_NONE && t->within >= acc->n) ||
		    (t->same != MODEL_NONE && t->same >= acc->n) || !(t->penalty >= 0) ||
		    !isfinite(t->penalty) || t->cycles != !*t->unit)
			abort();
		if (t->expr && expr_needs(t->expr, NULL, need, done))
			abort();
		for (uint32_t c = 0; c < acc->n; c++)
			if (acc->node[c].parent == i && acc->node[c].adds && !done[c])
				abort();
		done[i] = true;
	}
	(void)account_check(acc, NULL, NULL);
	free(done);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data, *cut = memmem(s, size, "\n===\n", 5);
	size_t len = cut ? (size_t)(cut - s) + 1 : size;
	const struct model_text text[] = { { "x/y/model", facts, strlen(facts) },
					   { "x/y/events", events, strlen(events) },
					   { "x/y/account", s, len },
					   { "words", words, strlen(words) } };
	struct model_sources sources = { .text = text, .n_texts = 4 };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct account *acc;
	struct model *m;

	if (size > 65536)
		return 0;
	if (model_load(&m, &sources, "y", NULL, &err))
		abort(); /* an account never makes a model unusable */
	if (!account_load(&acc, &a, m, &sources, &err)) {
		check(acc);
		if (cut && account_penalties(&acc, 1, &a, "mine", cut + 5, size - len - 4, &err) &&
		    (err.code == ERR_NONE || !err.what[0]))
			abort();
		check(acc);
	} else if (err.code == ERR_NONE || !err.what[0]) {
		abort();
	}
	err_clear(&err);
	model_free(m);
	arena_free(&a);
	return 0;
}
