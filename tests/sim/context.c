/* SPDX-License-Identifier: BSD-3-Clause */
#include "context.h"
#include "kernels.h"

/* Counts while its leader does; the kernel says the same of its enabled time. */
static bool counts(const struct sim_counter *k)
{
	return k->state == SIM_ON && k->leader->state == SIM_ON;
}

static bool leads(const struct sim_counter *k)
{
	return k->leader == k;
}

/* The PMU of a group: a software leader goes with its hardware siblings. */
static const struct sim_pmu *group_pmu(const struct sim_context *c,
				       const struct sim_counter *leader)
{
	if (leader->pmu)
		return leader->pmu;
	for (const struct sim_counter *k = c->first; k; k = k->next)
		if (k->leader == leader && k->pmu)
			return k->pmu;
	return NULL;
}

/* A task's program runs on one kind of core at a time; CPUs are of the kind they are. */
static bool reachable(const struct sim *sim, const struct sim_context *c, const struct sim_pmu *pmu)
{
	if (c->pid < 0 || !pmu->core)
		return true;
	if (c->cursor.phase->on >= 0)
		return pmu == &sim->machine.pmu[c->cursor.phase->on];
	if (c->cpu >= 0)
		return sim_cpus_have(&pmu->cpus, c->cpu);
	for (uint32_t i = 0; i < sim->machine.n_pmus; i++)
		if (sim->machine.pmu[i].core)
			return pmu == &sim->machine.pmu[i];
	return true;
}

struct placing { /* what is on one PMU so far */
	const struct sim *sim;
	const struct sim_pmu *pmu;
	const struct sim_event *on[SIM_EVENTS_MAX];
	size_t n;
	bool alone, full; /* an exclusive group is on; a group did not fit */
	uint64_t held;	  /* counters that somebody else has */
};

static bool group_on(struct placing *p, struct sim_context *c, struct sim_counter *leader)
{
	size_t before = p->n;
	bool exclusive = leader->attr.exclusive;

	if (p->full || p->alone || (exclusive && p->n))
		return false;
	for (struct sim_counter *k = c->first; k; k = k->next)
		if (k->leader == leader && k->pmu && counts(k) && p->n < SIM_EVENTS_MAX)
			p->on[p->n++] = &k->event;
	if (!sim_fit(p->pmu, p->on, p->n, p->sim->scenario.set.watchdog, p->held)) {
		p->n = before;
		return false;
	}
	p->alone = exclusive;
	for (struct sim_counter *k = c->first; k; k = k->next)
		if (k->leader == leader)
			k->running = counts(k);
	return true;
}

/* The next leader of the row after `turn`. */
static struct sim_counter *next_in_row(const struct sim_context *c, const struct sim_pmu *pmu,
				       uint64_t turn, bool pinned)
{
	struct sim_counter *best = NULL;

	for (struct sim_counter *k = c->first; k; k = k->next) {
		if (!leads(k) || k->state != SIM_ON || k->turn <= turn || group_pmu(c, k) != pmu)
			continue;
		if ((bool)k->attr.pinned == pinned && (!best || k->turn < best->turn))
			best = k;
	}
	return best;
}

/* A task's events for one CPU and those for any are on the same counters. What is pinned of the
 * others comes first, if it has a counter; of CPUs one stands for all, the task is on one at a
 * time. */
static void others_on(struct placing *p, const struct sim_context *c)
{
	for (const struct sim_context *o = sim_contexts; o && c->pid >= 0; o = o->next) {
		size_t before = p->n;

		if (o->pid != c->pid || o->cgroup != c->cgroup || (o->cpu < 0) == (c->cpu < 0))
			continue;
		for (const struct sim_counter *k = o->first; k; k = k->next)
			if (k->pmu == p->pmu && k->leader->attr.pinned && p->n < SIM_EVENTS_MAX &&
			    (k->leader->state == SIM_ON || k->leader->wait_exec)) {
				p->on[p->n++] = &k->event;
				p->n -= !sim_fit(p->pmu, p->on, p->n, p->sim->scenario.set.watchdog,
						 p->held);
			}
		if (o->cpu >= 0 && p->n > before)
			return;
	}
}

/* Puts groups on a PMU, pinned ones first; true where some had to stay away. */
static bool fill(const struct sim *sim, struct sim_context *c, const struct sim_pmu *pmu)
{
	static struct placing p; /* large; callers hold the lock */
	struct sim_counter *k;

	/* `on` as far as n says: the rest of it is not worth the time */
	p.sim = sim;
	p.pmu = pmu;
	p.n = 0;
	p.alone = p.full = false;
	if (pmu->core && c->now >= sim->scenario.set.held_from)
		p.held = sim->scenario.set.held;
	if (!reachable(sim, c, pmu))
		return false;
	others_on(&p, c);
	for (uint64_t turn = 0; (k = next_in_row(c, pmu, turn, true)); turn = k->turn)
		if (!group_on(&p, c, k))
			k->state = SIM_ERROR; /* read() gives 0 bytes from now on */
	for (uint64_t turn = 0; !p.full && (k = next_in_row(c, pmu, turn, false)); turn = k->turn)
		if (!group_on(&p, c, k))
			p.full = true; /* for all groups behind it, too */
	return p.full;
}

/* A bit for each PMU that has a group here: of a server's dozens most have none, at every tick. */
static uint64_t pmus_of(const struct sim *sim, const struct sim_context *c)
{
	uint64_t here = 0;

	for (struct sim_counter *k = c->first; k; k = k->next) {
		const struct sim_pmu *pmu = leads(k) ? group_pmu(c, k) : NULL;

		if (pmu)
			here |= 1ULL << (pmu - sim->machine.pmu);
	}
	return here;
}

static void place_all(const struct sim *sim, struct sim_context *c)
{
	uint64_t here = pmus_of(sim, c);

	/* a clock without counters behind it needs no place */
	for (struct sim_counter *k = c->first; k; k = k->next)
		k->running = counts(k) && !group_pmu(c, k->leader);
	for (uint32_t i = 0; i < sim->machine.n_pmus; i++)
		if (here >> i & 1)
			fill(sim, c, &sim->machine.pmu[i]);
	c->stale = false;
}

/* The first group of each row goes to its end, where the row is too long for the counters. */
static void rotate(const struct sim *sim, struct sim_context *c)
{
	uint64_t here = pmus_of(sim, c);

	for (uint32_t i = 0; i < sim->machine.n_pmus; i++) {
		const struct sim_pmu *pmu = &sim->machine.pmu[i];
		struct sim_counter *first;
		bool waiting = false;

		if (!(here >> i & 1))
			continue;
		first = next_in_row(c, pmu, 0, false);
		for (struct sim_counter *k = c->first; k; k = k->next)
			if (counts(k) && leads(k) && !k->running && group_pmu(c, k) == pmu)
				waiting = true;
		if (waiting && first && reachable(sim, c, pmu)) {
			first->turn = ++c->turns;
			c->stale = true;
		}
	}
}

static void account(const struct sim *sim, struct sim_context *c, uint64_t ns)
{
	for (struct sim_counter *k = c->first; k; k = k->next) {
		double n = 0;

		if (k->pmu && !sim_kernels && reachable(sim, c, k->pmu))
			n = sim_rate(&sim->scenario, &sim->machine, &k->event, c->cursor.phase,
				     c->pid < 0 ? c->cpu : -1, k->side) *
			    (double)ns;
		k->whole += n;
		if (!counts(k))
			continue;
		k->enabled += ns;
		if (k->running)
			k->ran += ns;
		if (!k->pmu)
			continue;
		k->true_count += n;
		if (!k->running)
			continue;
		if (k->event.flags & SIM_METRIC)
			k->since += n;
		else
			k->count += n;
		if (k->event.flags & SIM_SLOTS)
			k->slots_since += n;
	}
}

void sim_context_advance(const struct sim *sim, struct sim_context *c, uint64_t now)
{
	uint64_t interval = sim->scenario.set.interval;

	sim_cursor_at(&sim->scenario, &c->cursor, c->now);
	while (c->now < now) {
		uint64_t end = now;

		if (!c->tick)
			c->tick = c->now + interval;
		if (c->stale)
			place_all(sim, c);
		if (c->tick < end)
			end = c->tick;
		if (sim->scenario.set.held_from > c->now && sim->scenario.set.held_from < end)
			end = sim->scenario.set.held_from;
		if (c->cursor.end && c->cursor.end < end)
			end = c->cursor.end;
		account(sim, c, end - c->now);
		c->now = end;
		if (end == sim->scenario.set.held_from)
			c->stale = true;
		if (end == c->tick) {
			rotate(sim, c);
			c->tick += interval;
		}
		if (c->cursor.end && end == c->cursor.end) {
			sim_cursor_at(&sim->scenario, &c->cursor, end);
			c->stale = true; /* the next phase may run on other cores */
		}
	}
}

void sim_counter_enable(struct sim_context *c, struct sim_counter *k, bool on)
{
	/* to be switched off does not mend what lost its counter; to be switched on does */
	if (on || k->state != SIM_ERROR)
		k->state = on ? SIM_ON : SIM_OFF;
	k->wait_exec = false;
	c->stale = true;
}

void sim_counter_reset(struct sim_counter *k)
{
	k->count = 0;
	k->since = 0;
	k->slots_since = 0;
}

void sim_context_exec(struct sim_context *c)
{
	for (struct sim_counter *k = c->first; k; k = k->next)
		if (k->wait_exec)
			sim_counter_enable(c, k, true);
}

void sim_context_add(struct sim_context *c, struct sim_counter *k)
{
	struct sim_counter **end = &c->first;

	while (*end)
		end = &(*end)->next;
	*end = k;
	if (!k->pmu || k->attr.sample_period)
		k->of_kernel = k->leader->of_kernel = true;
	k->turn = ++c->turns;
	c->stale = true;
	c->turns_known = false;
}

void sim_context_remove(struct sim_context *c, struct sim_counter *k)
{
	for (struct sim_counter **at = &c->first; *at; at = &(*at)->next) {
		if (*at == k) {
			*at = k->next;
			break;
		}
	}
	for (struct sim_counter *other = c->first; other; other = other->next)
		if (other->leader == k)
			other->leader = other;
	c->stale = true;
	c->turns_known = false;
}
