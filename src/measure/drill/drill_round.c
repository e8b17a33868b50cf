/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of the groups that share the core's counters: one turn's groups are switched on at a time,
 * by chance (model/rounds.h), so that the kernel has nothing to rotate. A group that waits for its
 * turn is enabled as far as slices are concerned, just as if the kernel let it wait: a task-clock
 * that is always on counts the time.
 */
#include <string.h>
#include <time.h>

#include "measure/drill.h"

#define SWITCH_SHARE 20 /* switching may take a 20th of the time */

uint64_t drill_own_time(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return counting_clock();
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t most_turns(const struct drill *d)
{
	size_t most = 1;

	for (size_t c = 0; c < d->n_cores; c++)
		most = d->core[c].rounds.n > most ? d->core[c].rounds.n : most;
	return most;
}

bool drill_in_rounds(const struct drill *d)
{
	return d->clock != DRILL_NO_CLOCK && d->turns > 1;
}

/* Groups that are on in a round, by core. */
static void begin_round(struct drill *d)
{
	for (size_t i = 0; i < d->n_cores; i++) {
		struct drill_core *c = &d->core[i];

		for (size_t g = 0; g < c->plan.n_groups; g++)
			c->wants_turn[g] = c->group[g].on && drill_takes_turns(&c->group[g]);
		rounds_begin(&c->rounds, &c->plan, c->m, &c->limits, c->wants_turn);
	}
	d->turns = most_turns(d);
	d->turn = 0;
}

bool drill_counts_now(const struct drill *d, size_t core, size_t group)
{
	const struct drill_core *c = &d->core[core];
	const struct drill_group *g = &c->group[group];

	if (!g->on || !drill_in_rounds(d) || !drill_takes_turns(g) || c->rounds.n < 2)
		return g->on;
	return rounds_on(&c->rounds, group);
}

/* Groups go off first: those that go on find their counters free. */
static int switch_groups(struct drill *d, struct counting *k, bool on, struct err *err)
{
	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t g = 0; g < d->core[c].plan.n_groups; g++) {
			const struct drill_group *dg = &d->core[c].group[g];
			bool now = drill_counts_now(d, c, g);

			for (size_t i = 0; i < dg->n_counter_groups; i++)
				if ((now && drill_in_use(dg, i)) == on &&
				    counting_switch(k, dg->counter_group[i], on, err))
					return -1;
		}
	return 0;
}

static int switch_turn(struct drill *d, struct counting *k, struct err *err)
{
	uint64_t before = drill_own_time(), took;

	if (switch_groups(d, k, false, err) || switch_groups(d, k, true, err))
		return -1;
	took = drill_own_time() - before;
	d->switch_ns = took > d->switch_ns ? took : d->switch_ns - d->switch_ns / 8 + took / 8;
	return 0;
}

/* A core with fewer turns than the longest round gives some of its own more time. */
static void set_turn(struct drill *d)
{
	uint64_t step = drill_slice(d, d->turns) / d->turns, least = SWITCH_SHARE * d->switch_ns;

	for (size_t c = 0; c < d->n_cores; c++)
		d->core[c].rounds.now = d->turn * d->core[c].rounds.n / d->turns;
	d->turn_ns = rounds_length(&d->core[0].rounds.chance, step > least ? step : least);
}

/* Groups that count take turns from now on, or are alone. */
static void mark_turns(struct drill *d)
{
	for (size_t i = 0; i < d->n_cores; i++) {
		struct drill_core *c = &d->core[i];

		for (size_t g = 0; g < c->plan.n_groups; g++)
			c->group[g].in_round =
				drill_in_rounds(d) && c->wants_turn[g] && c->rounds.n > 1;
	}
}

void drill_round_prepare(struct drill *d)
{
	begin_round(d);
	set_turn(d);
	mark_turns(d);
}

int drill_round(struct drill *d, struct counting *k, struct err *err)
{
	begin_round(d);
	set_turn(d);
	mark_turns(d);
	return switch_turn(d, k, err);
}

bool drill_last_turn(const struct drill *d)
{
	return !drill_in_rounds(d) || d->turn + 1 >= d->turns;
}

int drill_next_turn(struct drill *d, struct counting *k, struct err *err)
{
	d->turn++;
	set_turn(d);
	return switch_turn(d, k, err);
}

/* ---- how long groups were enabled ------------------------------------------------------- */

int drill_part_times(struct drill *d, struct drill_part *p, size_t lps, struct err *err)
{
	const struct drill_core *c = &d->core[p->core];
	size_t n = 0;

	p->time_at = arena_alloc(d->a, (c->plan.n_groups + 1) * sizeof(*p->time_at));
	p->ran = arena_alloc(d->a, (2 * lps + 1) * sizeof(*p->ran));
	if (!p->time_at || !p->ran)
		return err_nomem(err);
	for (size_t g = 0; g < c->plan.n_groups; g++) {
		p->time_at[g] = n;
		n += c->plan.group[g].n * lps;
	}
	p->n_times = n;
	p->time = arena_alloc(d->a, (n + 1) * sizeof(*p->time));
	return p->time ? 0 : err_nomem(err);
}

void drill_part_begin(struct drill_part *p, size_t lps)
{
	memset(p->time, 0, p->n_times * sizeof(*p->time));
	memset(p->ran, 0, 2 * lps * sizeof(*p->ran));
}

/* ran[lps + lp]: until the reading before. */
void drill_part_ran(const struct drill *d, struct drill_part *p, size_t lps)
{
	const struct counter_value *v;

	if (d->clock == DRILL_NO_CLOCK)
		return;
	v = d->value[d->clock];
	memcpy(p->ran + lps, p->ran, lps * sizeof(*p->ran));
	memset(p->ran, 0, lps * sizeof(*p->ran));
	for (size_t t = 0; t < p->n; t++)
		p->ran[lps > 1 ? t : 0] += v[p->target[t]].enabled;
}

void drill_part_enabled(const struct drill *d, struct drill_part *p, size_t group, size_t lps)
{
	const struct drill_core *c = &d->core[p->core];
	size_t n = c->plan.group[group].n * lps;

	for (size_t i = 0; i < n && d->clock != DRILL_NO_CLOCK; i++) {
		struct drill_time *t = &p->time[p->time_at[group] + i];
		uint64_t own = p->r[i].enabled - t->raw,
			 all = p->ran[i % lps] - p->ran[lps + i % lps];

		t->raw = p->r[i].enabled;
		t->shown += c->group[group].in_round && all > own ? all : own;
		p->r[i].enabled = t->shown;
	}
}
