/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/models/account_facts.h"

#include <string.h>

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

static const char *other(const struct account *acc, uint32_t node)
{
	return node == MODEL_NONE ? "" : acc->node[node].name;
}

size_t account_facts(const struct account *acc, uint32_t node, struct fact *out)
{
	const struct account_node *t = &acc->node[node];
	const struct model_event *e = t->event == MODEL_NONE ? NULL : &acc->model->event[t->event];
	const struct fact facts[] = {
		{ "name", FACT_TEXT, t->name, 0 },
		{ "parent", FACT_TEXT, other(acc, t->parent), 0 },
		{ "depth", FACT_NUMBER, NULL, t->depth },
		{ "part", FACT_TEXT, account_part_word(t->part), 0 },
		{ "cover", FACT_TEXT, account_cover_word(t->cover), 0 },
		{ "event", FACT_TEXT, e ? e->name : "", 0 },
		{ "code", FACT_TEXT, e ? e->code : "", 0 },
		{ "penalty", FACT_NUMBER, NULL, t->penalty },
		{ "reference", FACT_BOOL, NULL, t->reference },
		{ "ns", FACT_BOOL, NULL, t->ns },
		{ "adds", FACT_BOOL, NULL, t->adds },
		{ "formula", FACT_TEXT, t->text, 0 },
		{ "whole", FACT_BOOL, NULL, t->whole },
		{ "unit", FACT_TEXT, t->cycles ? "cycles" : t->unit, 0 },
		{ "within", FACT_TEXT, other(acc, t->within), 0 },
		{ "same", FACT_TEXT, other(acc, t->same), 0 },
		{ "tolerance", FACT_NUMBER, NULL, t->tolerance },
		{ "period", FACT_NUMBER, NULL, (double)t->period },
		{ "precise", FACT_NUMBER, NULL, t->precise },
		{ "note", FACT_TEXT, t->note, 0 },
		{ "says", FACT_TEXT, t->says, 0 },
		{ "try", FACT_TEXT, t->try_, 0 },
		{ "file", FACT_TEXT, t->file, 0 },
		{ "line", FACT_NUMBER, NULL, t->line },
	};

	_Static_assert(sizeof(facts) / sizeof(facts[0]) <= FACTS_MAX, "room of the caller's");
	memcpy(out, facts, sizeof(facts));
	return sizeof(facts) / sizeof(facts[0]);
}
