/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns - who is on the counters when a sample is taken: the kernel's turn-taking again
 * (context.c), but of any time, and without a context that has got there.
 */
#include <stdlib.h>

#include "context.h"

struct row { /* leaders of one PMU that share its counters: pinned ones first */
	struct sim_counter **leader;
	size_t n, n_pinned;
};

static bool in_row(const struct sim_counter *leader, const struct sim_pmu *pmu, bool pinned)
{
	return leader->leader == leader && leader->pmu == pmu &&
	       (bool)leader->attr.pinned == pinned &&
	       (leader->state == SIM_ON || leader->wait_exec);
}

static void put_row(struct row *row, const struct sim_context *c, const struct sim_pmu *pmu,
		    bool pinned)
{
	for (struct sim_counter *k = c->first; k; k = k->next)
		if (in_row(k, pmu, pinned))
			row->leader[row->n++] = k;
}

/* Adds a group to what is on; false (and nothing added) where it does not fit. */
static bool put_on(const struct sim *sim, const struct sim_pmu *pmu, struct sim_counter *leader,
		   const struct sim_event **on, size_t *n)
{
	uint64_t held = pmu->core ? sim->scenario.set.held : 0;
	size_t before = *n;

	for (const struct sim_counter *k = leader->context->first; k; k = k->next)
		if (k->leader == leader && k->pmu && *n < SIM_EVENTS_MAX)
			on[(*n)++] = &k->event;
	if (sim_fit(pmu, on, *n, sim->scenario.set.watchdog, held))
		return true;
	*n = before;
	return false;
}

/* Every leader's turns: after as many as there are groups that take turns, it begins anew. */
static void fill_turns(const struct sim *sim, const struct row *row, const struct sim_pmu *pmu)
{
	static const struct sim_event *on[SIM_EVENTS_MAX]; /* callers hold the lock */
	size_t rotating = row->n - row->n_pinned;

	for (size_t t = 0; t < row->leader[0]->n_turns; t++) {
		bool full = false;
		size_t n = 0;

		for (size_t i = 0; i < row->n; i++) {
			size_t at = i < row->n_pinned
					    ? i
					    : row->n_pinned + (i - row->n_pinned + t) % rotating;
			struct sim_counter *k = row->leader[at];
			bool fits = !full && put_on(sim, pmu, k, on, &n);

			full |= !fits && i >= row->n_pinned;
			k->turns_on[t + 1] = k->turns_on[t] + fits;
		}
	}
}

static void turns_of_pmu(const struct sim *sim, struct sim_context *c, const struct sim_pmu *pmu)
{
	struct row row = { calloc(SIM_EVENTS_MAX, sizeof(*row.leader)), 0, 0 };

	if (!row.leader)
		return;
	put_row(&row, c, pmu, true);
	row.n_pinned = row.n;
	put_row(&row, c, pmu, false);
	for (size_t i = 0; i < row.n; i++) {
		struct sim_counter *k = row.leader[i];

		k->n_turns = (uint32_t)(row.n - row.n_pinned ? row.n - row.n_pinned : 1);
		free(k->turns_on);
		k->turns_on = calloc(k->n_turns + 1, sizeof(*k->turns_on));
		if (!k->turns_on)
			abort();
	}
	if (row.n)
		fill_turns(sim, &row, pmu);
	free(row.leader);
}

bool sim_turns_on(const struct sim *sim, struct sim_counter *k, uint64_t wanted, uint64_t *running)
{
	uint64_t interval = sim->scenario.set.interval, turn = wanted / interval, in_cycle, whole;
	const struct sim_counter *leader = k->leader;
	bool on;

	if (!k->context->turns_known)
		for (uint32_t i = 0; i < sim->machine.n_pmus; i++)
			turns_of_pmu(sim, k->context, &sim->machine.pmu[i]);
	k->context->turns_known = true;
	if (!leader->turns_on) { /* a software leader, or one that is off: not looked at */
		*running = wanted;
		return true;
	}
	in_cycle = turn % leader->n_turns;
	whole = turn / leader->n_turns * leader->turns_on[leader->n_turns] +
		leader->turns_on[in_cycle];
	on = leader->turns_on[in_cycle + 1] > leader->turns_on[in_cycle];
	*running = whole * interval + (on ? wanted % interval : 0);
	return on;
}
