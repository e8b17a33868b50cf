/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of cycle accounting: what the cycles went into, and the function with most of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

#define CAUSE	  0.05 /* of the cycles */
#define CAUSES	  2    /* that are findings */
#define FUNCTIONS 20   /* with most samples: one of them has most of a cause */

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

	for (; node != MODEL_NONE; node = acc->node[node].parent) {
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

static void sum_function(struct tally *by_event, size_t n_events, const struct profile *p,
			 const struct spot *x)
{
	const struct profile_opts *o = profile_options(p);
	int sym = profile_key_at(o, KEY_SYM), dso = profile_key_at(o, KEY_DSO);
	size_t n;
	const struct profile_row *r = profile_rows(p, &n);

	memset(by_event, 0, n_events * sizeof(*by_event));
	for (size_t i = 0; i < n; i++)
		if (r[i].key[sym] == x->row->key[sym] && r[i].key[dso] == x->row->key[dso])
			profile_tallies(&r[i], n_events, by_event);
}

/* The function with most of the node. */
static void set_function(struct finding *f, const struct finding_work *w, const struct spots *s,
			 uint32_t node)
{
	const struct account_bound *b = w->in->account;
	struct account_cell *cells = xcalloc(b->acc->n, sizeof(*cells));
	struct tally *by_event;
	double most = 0;
	size_t n;

	(void)pd_events(w->in->rec, &n);
	by_event = xcalloc(n + 1, sizeof(*by_event));
	for (size_t i = 0; i < s->n && i < FUNCTIONS; i++) {
		sum_function(by_event, n, w->in->profile, &s->v[i]);
		account_row(b, by_event, cells);
		if (cells[node].why != ACCOUNT_OK || !(cells[node].v > most))
			continue;
		most = cells[node].v;
		f->at = (struct finding_place){ s->v[i].function, s->v[i].dso,
						most / b->whole[0].v };
	}
	free(by_event);
	free(cells);
}

void findings_account(struct finding_work *w, const struct spots *s)
{
	const struct account_bound *b = w->in->account;
	uint32_t last = MODEL_NONE;

	if (!b || !b->acc->n || !(b->whole[0].v > 0))
		return;
	for (unsigned k = 0; k < CAUSES; k++) {
		struct finding f = { .of = FINDING_OF_CYCLES };
		uint32_t most = MODEL_NONE;

		for (uint32_t i = 1; i < b->acc->n; i++)
			if (i != last && is_cause(b, i) &&
			    (most == MODEL_NONE || b->whole[i].v > b->whole[most].v))
				most = i;
		if (most == MODEL_NONE)
			return;
		f.kind = kind_of(b->acc, most);
		f.share = b->whole[most].v / b->whole[0].v;
		f.half = b->whole[most].half / b->whole[0].v;
		f.stake = f.share * finding_kinds[f.kind].gain;
		f.object = b->acc->node[most].name;
		set_function(&f, w, s, most);
		finding_add(w, &f, CAUSE);
		last = most;
	}
}
