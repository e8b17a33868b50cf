/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of cycle accounting: what the cycles went into, and the function with most of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

#define CAUSE  0.05 /* of the cycles */
#define CAUSES 2    /* that are findings */

static bool has_word(const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}
#define HAS_WORD(name, words) has_word(name, words, sizeof(words) / sizeof(*(words)))

/* By the names of the node and of those that it is in. */
static enum finding_kind kind_of(const struct account *acc, uint32_t node)
{
	static const char *const memory[] = { "Load",  "Store",	 "DRAM", "TLB",
					      "Cache", "Memory", "L2",	 "L3" };
	static const char *const branch[] = { "Mispredict", "Wrong_Path", "Bad_Speculation" };

	static const char *const front[] = { "Starv", "Front_End", "Frontend", "Fetch",
					     "ITLB",  "Code_",	   "Op_Queue" };

	for (; node != MODEL_NONE; node = acc->node[node].parent) {
		if (HAS_WORD(acc->node[node].name, front))
			return FINDING_FRONTEND;
		if (HAS_WORD(acc->node[node].name, branch))
			return FINDING_MISPREDICTS;
		if (HAS_WORD(acc->node[node].name, memory))
			return FINDING_MEMORY;
	}
	return FINDING_STALLS;
}

static bool has_value(const struct account_cell *c)
{
	return c->why == ACCOUNT_OK && c->significant && !c->overlap && !c->disagrees &&
	       !isnan(c->v) && !isnan(c->half);
}

/* Returns true for a cause of lost cycles that has no parts of its own, with a value to rely on.
 * Nodes that do not add to their parents measure the same in another way, or only that cycles are
 * lost. */
static bool is_cause(const struct account_bound *b, uint32_t node)
{
	const struct account_node *n = b->acc->node;

	if (!node || n[node].part != PART_STALLED || !n[node].adds || !n[node].cycles ||
	    !has_value(&b->whole[node]))
		return false;
	for (uint32_t i = node + 1; i < b->acc->n; i++)
		if (n[i].parent == node && n[i].adds)
			return false;
	return true;
}

struct of_node {
	const struct account_bound *b;
	struct account_cell *cells; /* room for those of a row */
	uint32_t node;
};

static struct measured node_value(const void *ctx, const struct tally *by_event)
{
	const struct of_node *of = ctx;
	const struct account_cell *c = &of->cells[of->node];

	account_row(of->b, by_event, of->cells);
	if (c->why != ACCOUNT_OK)
		return (struct measured){ NAN, NAN };
	return (struct measured){ c->v, c->half };
}

void findings_account(struct finding_work *w, const struct spots *s)
{
	const struct account_bound *b = w->in->account;
	struct of_node of = { .b = b };
	uint32_t last = MODEL_NONE;

	if (!b || !b->acc->n || !(b->whole[0].v > 0))
		return;
	of.cells = xcalloc(b->acc->n, sizeof(*of.cells));
	for (unsigned k = 0; k < CAUSES; k++) {
		struct finding f = { .of = FINDING_OF_CYCLES };
		uint32_t most = MODEL_NONE;

		for (uint32_t i = 1; i < b->acc->n; i++)
			if (i != last && is_cause(b, i) &&
			    (most == MODEL_NONE || b->whole[i].v > b->whole[most].v))
				most = i;
		if (most == MODEL_NONE)
			break;
		f.kind = kind_of(b->acc, most);
		f.share = b->whole[most].v / b->whole[0].v;
		f.half = b->whole[most].half / b->whole[0].v;
		f.stake = f.share * finding_kinds[f.kind].gain;
		f.object = b->acc->node[most].name;
		of.node = most;
		finding_hottest_place(&f, w, s, node_value, &of, b->whole[0].v);
		finding_add(w, &f, CAUSE);
		last = most;
	}
	free(of.cells);
}
