/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user's own penalties: `NODE PENALTY [ref|ns]` or `EVENT PENALTY [ref|ns]`, one a line.
 */
#include <string.h>

#include "model/core.h"
#include "model/load/account_int.h"

/* The nodes that a name stands for: the node of this name, else those whose event it is. An event
 * that is only shown (without a penalty) stays so even if another node of it costs. */
static size_t apply_penalty(struct account *acc, const struct line *l, double penalty,
			    bool reference, bool ns)
{
	uint32_t one = account_find(acc, l->key, l->key_len), event;
	size_t n = 0;
	bool costs = false;

	event = one == MODEL_NONE ? model_event_find(acc->model, l->key, l->key_len) : MODEL_NONE;
	if (one == MODEL_NONE && event == MODEL_NONE)
		return 0;
	for (size_t i = 0; i < acc->n; i++)
		costs = costs || (acc->node[i].event == event && acc->node[i].penalty > 0);
	for (uint32_t i = 0; i < acc->n; i++) {
		struct account_node *t = &acc->node[i];
		bool meant = one != MODEL_NONE ? i == one && t->event != MODEL_NONE
					       : t->event == event && (t->penalty > 0 || !costs);

		if (!meant)
			continue;
		t->penalty = penalty;
		t->reference = reference;
		t->ns = ns;
		if (penalty > 0) {
			t->cycles = true;
			t->unit = "";
		}
		n++;
	}
	return n;
}

int account_penalties(struct account *const *acc, size_t n, struct arena *a, const char *path,
		      const char *text, size_t len, struct err *err)
{
	struct source_text t = { .s = text, .len = len, .file = arena_strdup(a, path) };
	unsigned number = 0;
	struct line l;
	size_t at = 0;

	if (!t.file)
		return err_nomem(err);
	while (line_next(&t, &at, &number, &l)) {
		double penalty;
		bool reference, ns;
		size_t meant = 0;

		if (core_is_measured(l.key, l.key_len))
			continue; /* for blocks --chains */

		if (!account_cost(l.value, l.len, &penalty, &reference, &ns))
			return line_fail(
				&t, &l, l.value, err,
				"expected cycles up to %.0f, behind them `ref`, `ns` or nothing",
				PENALTY_MAX);
		for (size_t i = 0; i < n; i++)
			meant += apply_penalty(acc[i], &l, penalty, reference, ns);
		if (!meant)
			return line_fail(&t, &l, l.key, err,
					 "the account of %s has no node or event %.*s that costs",
					 acc[0]->model->id, l.key_len > 80 ? 80 : (int)l.key_len,
					 l.key);
	}
	return 0;
}
