/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of the tree of slots: what they were lost to, and the function with most of it.
 */
#include <math.h>
#include <stdlib.h>

#include "analyse/findings/findings_int.h"
#include "analyse/topdown.h"
#include "base/xalloc.h"

#define LOST   0.15 /* of the slots */
#define CAUSES 2    /* that are findings */

struct lost_slots {
	struct topdown t;
	enum topdown_part part;
};

/* Slots; half of their 95 % interval. */
static struct measured slots_lost(const void *ctx, const struct tally *by_event)
{
	const struct lost_slots *l = ctx;
	struct tally *tally =
		(struct tally *)(uintptr_t)by_event; /* rows are not const: only read */
	const struct profile_row row = { .tally = tally };
	struct topdown_value v = topdown_share(&l->t, &row, l->part);
	double slots = (double)by_event[l->t.slots].period;

	return (struct measured){ v.share * slots, v.half * slots };
}

/* FINDING_KINDS: nothing is lost there. */
static enum finding_kind kind_of(enum topdown_part part)
{
	switch (part) {
	case TOPDOWN_BAD_SPECULATION:
	case TOPDOWN_BRANCH_MISPREDICTS:
		return FINDING_MISPREDICTS;
	case TOPDOWN_FRONTEND_BOUND:
	case TOPDOWN_FETCH_LATENCY:
	case TOPDOWN_FETCH_BANDWIDTH:
		return FINDING_FRONTEND;
	case TOPDOWN_MEMORY_BOUND:
		return FINDING_MEMORY;
	case TOPDOWN_BACKEND_BOUND:
	case TOPDOWN_CORE_BOUND:
	case TOPDOWN_MACHINE_CLEARS:
		return FINDING_STALLS;
	case TOPDOWN_RETIRING:
	case TOPDOWN_HEAVY_OPERATIONS:
	case TOPDOWN_LIGHT_OPERATIONS:
	case TOPDOWN_PARTS:
		break;
	}
	return FINDING_KINDS;
}

void findings_topdown(struct finding_work *w, const struct spots *s)
{
	struct lost_slots l = { .part = TOPDOWN_PARTS };
	bool found[TOPDOWN_PARTS] = { false };
	struct tally *whole;
	size_t n, n_sums;
	const struct pd_event *ev = pd_events(w->in->rec, &n);
	const struct profile_sum *sum = profile_sums(w->in->profile, &n_sums);

	topdown_find(&l.t, ev, n);
	if (!l.t.levels || n_sums < n)
		return;
	whole = xcalloc(n, sizeof(*whole));
	for (size_t i = 0; i < n; i++)
		whole[i] = sum[i].selected;
	for (unsigned k = 0; k < CAUSES; k++) {
		const struct profile_row row = { .tally = whole };
		struct finding f = { .of = FINDING_OF_SLOTS };
		struct topdown_value most = { 0, NAN };

		/* the deepest level: the other has the same slots */
		l.part = TOPDOWN_PARTS;
		for (unsigned p = l.t.levels == 2 ? TOPDOWN_HEAVY_OPERATIONS : TOPDOWN_RETIRING;
		     p <= (l.t.levels == 2 ? TOPDOWN_CORE_BOUND : TOPDOWN_BACKEND_BOUND); p++) {
			struct topdown_value v = topdown_share(&l.t, &row, (enum topdown_part)p);

			if (found[p] || kind_of((enum topdown_part)p) == FINDING_KINDS ||
			    !(v.share > most.share))
				continue;
			most = v;
			l.part = (enum topdown_part)p;
		}
		if (l.part == TOPDOWN_PARTS)
			break;
		found[l.part] = true;
		f.kind = kind_of(l.part);
		f.share = most.share;
		f.half = most.half;
		f.stake = f.share * finding_kinds[f.kind].gain;
		f.object = topdown_names[l.part];
		finding_hottest_place(&f, w, s, slots_lost, &l, (double)whole[l.t.slots].period);
		finding_add(w, &f, LOST);
	}
	free(whole);
}
