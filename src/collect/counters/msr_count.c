/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The back-end: which counter an event has is settled when all are open, for each group and place
 * anew; groups that take turns use the same ones. Switching a group off leaves its counters running
 * until the next group's control values, or the old ones, are written: half the writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/invariant.h"
#include "collect/counters/counter_int.h"
#include "collect/counters/msr_int.h"

#define BITS_48	 ((UINT64_C(1) << 48) - 1)
#define ODD_MOST 3 /* readings in a row that cannot be */
#define NO_ROW	 UINT32_MAX
#define SHARP	 50000u /* ns that a reading may take, or it is taken again */
#define TRIES	 4

#define TAKEN "another program took its counter; it was left alone"

struct cell { /* an event on a target */
	uint8_t slot;
	bool here; /* it counts on this target */
	uint8_t odd;
	bool gone;
	const char *why;
	uint64_t last, since; /* as read, ns of the clock */
	uint64_t value, enabled, running;
};

struct event_at {
	unsigned unit;
	uint64_t control; /* of a clock: its register */
	bool pair;
	const char *refused;
	struct cell *cell; /* by target */
};

struct group_at {
	struct event_at *event;
	bool on;
};

struct msr_counters {
	struct msr *m;
	struct counter_setup setup;
	struct group_at *group;
	uint32_t *place_of[MSR_UNITS_MAX]; /* by target */
	uint32_t *row_of[MSR_UNITS_MAX];   /* by place * MSR_SLOTS + slot */
	uint32_t *global, *hwcr;	   /* rows, by target */
	VEC(struct msr_row) row;	   /* until the guard has them */
	VEC(uint64_t) ours;
};

static uint64_t clock_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A counter and the time that it is of: who lost the CPU in between looks again. */
static const char *read_sharp(int fd, uint32_t reg, uint64_t *v, uint64_t *now)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clock_now();
		const char *why = msr_read(fd, reg, v);

		if (why)
			return why;
		*now = clock_now();
		if (*now - before < SHARP)
			break;
		*now = before + (*now - before) / 2;
	}
	return NULL;
}

/* ---- opening ---- */

static int alloc_units(struct msr_counters *c, struct err *err)
{
	struct msr *m = c->m;

	for (unsigned u = 0; u < m->n_units; u++) {
		size_t slots = m->n_places[u] * MSR_SLOTS + 1;

		c->place_of[u] = malloc((m->n + 1) * sizeof(**c->place_of));
		c->row_of[u] = malloc(slots * sizeof(**c->row_of));
		if (!c->place_of[u] || !c->row_of[u])
			return err_nomem(err);
		for (size_t i = 0; i < m->n; i++)
			c->place_of[u][i] = NO_ROW;
		for (size_t i = 0; i < slots; i++)
			c->row_of[u][i] = NO_ROW;
		for (uint32_t i = 0; i < m->n_places[u]; i++)
			c->place_of[u][m->place[u][i].target] = i;
	}
	c->global = malloc((m->n + 1) * sizeof(*c->global));
	c->hwcr = malloc((m->n + 1) * sizeof(*c->hwcr));
	if (!c->global || !c->hwcr)
		return err_nomem(err);
	for (size_t i = 0; i < m->n; i++)
		c->global[i] = c->hwcr[i] = NO_ROW;
	return 0;
}

/* The register of a clock; 0: there is none. */
static uint32_t clock_register(uint64_t config)
{
	switch (config) {
	case 0:
		return 0x10; /* TSC */
	case 1:
		return 0xE8; /* APERF */
	case 2:
		return 0xE7; /* MPERF */
	case 6:
		return MSR_IRPERF;
	default:
		return 0;
	}
}

static void settle_event(struct msr_counters *c, const struct counter_event *ev,
			 struct event_at *at)
{
	const struct perf_event_attr *a = &ev->attr;

	at->unit = c->m->n_units;
	for (unsigned u = 0; u < c->m->n_units; u++)
		if (a->type == MSR_TYPE + u)
			at->unit = u;
	if (at->unit == c->m->n_units) {
		at->unit = 0;
		at->refused = "no register of --backend msr counts it; --backend perf may";
		return;
	}
	if (!c->m->n_places[at->unit])
		at->refused = "the kernel does not say which CPUs share one of its counters";
	at->control = at->unit == MSR_CLOCK ? clock_register(a->config)
					    : msr_control(c->m, at->unit, a->config);
	at->pair = msr_is_pair(at->unit, a->config);
	if (at->unit == MSR_CLOCK && !at->control)
		at->refused = "no register is known that counts it";
}

/* The old values of a control register and its counter become a row, once. */
static const char *claim_slot(struct msr_counters *c, unsigned u, uint32_t place, unsigned slot,
			      bool *nomem)
{
	uint32_t *at = &c->row_of[u][place * MSR_SLOTS + slot];
	uint32_t target = c->m->place[u][place].target;
	struct msr_row r = { .cpu = c->m->cpus[target],
			     .reg = msr_ctl(c->m, u, slot),
			     .ctr = msr_ctl(c->m, u, slot) + 1,
			     .fd = c->m->fd[target] };
	const char *why;

	if (*at != NO_ROW)
		return NULL;
	why = msr_read(r.fd, r.reg, &r.old);
	why = why ? why : msr_read(r.fd, r.ctr, &r.ctr_old);
	if (why)
		return why;
	*at = (uint32_t)c->row.n;
	*nomem |= vec_push(&c->row, r) != 0;
	return NULL;
}

/* Bits of a register that others use, too. */
static void claim_bits(struct msr_counters *c, uint32_t *at, uint32_t target, uint32_t reg,
		       uint64_t mask, bool *nomem)
{
	struct msr_row r = {
		.cpu = c->m->cpus[target], .reg = reg, .fd = c->m->fd[target], .mask = mask
	};

	if (*at != NO_ROW || msr_read(r.fd, reg, &r.old))
		return;
	*at = (uint32_t)c->row.n;
	*nomem |= vec_push(&c->row, r) != 0;
}

/* A counter for an event among those that are free at its place; a pair begins at an even one. */
static unsigned choose_slot(uint32_t free, bool pair)
{
	for (unsigned s = 0; s < MSR_SLOTS; s++) {
		uint32_t want = pair ? 3u << s : 1u << s;

		if ((free & want) == want && (!pair || s % 2 == 0))
			return s;
	}
	return MSR_NONE;
}

static void settle_cell(struct msr_counters *c, const struct event_at *at, struct cell *x,
			uint32_t target, uint32_t *used, bool *nomem)
{
	uint32_t place = c->place_of[at->unit][target];
	const struct msr_place *p = &c->m->place[at->unit][place];
	unsigned slot;

	if (at->unit == MSR_CLOCK) {
		uint64_t v;

		x->why = msr_read(c->m->fd[target], (uint32_t)at->control, &v);
		if (at->control == MSR_IRPERF)
			claim_bits(c, &c->hwcr[target], target, MSR_HWCR, MSR_HWCR_IRPERF, nomem);
		return;
	}
	slot = choose_slot(p->free & ~*used, at->pair);
	if (slot == MSR_NONE) {
		x->why = p->why ? p->why : "other programs, or the kernel, hold its counters";
		return;
	}
	x->slot = (uint8_t)slot;
	*used |= at->pair ? 3u << slot : 1u << slot;
	x->why = claim_slot(c, at->unit, place, slot, nomem);
	if (at->pair && !x->why)
		x->why = claim_slot(c, at->unit, place, slot + 1, nomem);
	if (at->unit == MSR_CORE && c->m->v2)
		claim_bits(c, &c->global[target], target, MSR_GLOBAL_CTL, p->free, nomem);
}

/* Pairs choose first. */
static int settle_group(struct msr_counters *c, size_t g, struct err *err)
{
	const struct counter_group *group = &c->setup.group[g];
	struct group_at *at = &c->group[g];
	bool nomem = false;

	for (uint32_t t = 0; t < c->m->n; t++) {
		uint32_t used[MSR_UNITS_MAX] = { 0 };

		for (int pairs = 1; pairs >= 0; pairs--)
			for (size_t e = 0; e < group->n; e++) {
				struct event_at *ev = &at->event[e];

				if (ev->refused || ev->pair != pairs ||
				    c->place_of[ev->unit][t] == NO_ROW)
					continue;
				ev->cell[t].here = true;
				settle_cell(c, ev, &ev->cell[t], t, &used[ev->unit], &nomem);
			}
	}
	for (size_t e = 0; e < group->n; e++) {
		struct event_at *ev = &at->event[e];

		if (!ev->refused && ev->unit != MSR_CLOCK)
			nomem |= vec_push(&c->ours, ev->control) != 0;
		if (ev->pair)
			nomem |= vec_push(&c->ours, MSR_MERGE) != 0;
	}
	return nomem ? err_nomem(err) : 0;
}

static int alloc_msr_group(struct msr_counters *c, size_t g, struct err *err)
{
	const struct counter_group *group = &c->setup.group[g];

	c->group[g].event = calloc(group->n + 1, sizeof(*c->group[g].event));
	if (!c->group[g].event)
		return err_nomem(err);
	for (size_t e = 0; e < group->n; e++) {
		struct event_at *at = &c->group[g].event[e];

		at->cell = calloc(c->m->n + 1, sizeof(*at->cell));
		if (!at->cell)
			return err_nomem(err);
		for (size_t t = 0; t < c->m->n; t++)
			at->cell[t].slot = MSR_NONE;
		settle_event(c, &group->event[e], at);
	}
	return 0;
}

static void msr_counters_close(void *own)
{
	struct msr_counters *c = own;

	msr_guard_close(c->m);
	for (size_t g = 0; c->group && g < c->setup.n_groups; g++) {
		for (size_t e = 0; c->group[g].event && e < c->setup.group[g].n; e++)
			free(c->group[g].event[e].cell);
		free(c->group[g].event);
	}
	for (int u = 0; u < MSR_UNITS_MAX; u++) {
		free(c->place_of[u]);
		free(c->row_of[u]);
	}
	free(c->group);
	free(c->global);
	free(c->hwcr);
	vec_free(&c->row);
	vec_free(&c->ours);
	free(c);
}

static int msr_counters_open(void *ctx, void **own, const struct counter_setup *setup,
			     struct err *err)
{
	struct msr_counters *c = calloc(1, sizeof(*c));

	if (!c)
		return err_nomem(err);
	c->m = ctx;
	c->setup = *setup;
	c->group = calloc(setup->n_groups + 1, sizeof(*c->group));
	if (!c->group) {
		(void)err_nomem(err);
		goto fail;
	}
	if (alloc_units(c, err))
		goto fail;
	for (size_t g = 0; g < setup->n_groups; g++)
		if (alloc_msr_group(c, g, err) || settle_group(c, g, err))
			goto fail;
	if (msr_guard_open(c->m, c->row.v, c->row.n, c->ours.v, c->ours.n, err))
		goto fail;
	*own = c;
	return 0;
fail:
	msr_counters_close(c);
	return -1;
}

/* ---- registers ---- */

/* NULL, or why the register is not ours (any more). */
static const char *take_register(struct msr_counters *c, struct msr_row *r, uint64_t v)
{
	uint64_t now;
	const char *why;

	if (r->state == MSR_LEFT)
		return TAKEN;
	if (r->state == MSR_UNTOUCHED) {
		why = msr_read(r->fd, r->reg, &now);
		if (why)
			return why;
		if (now & msr_enable(r->reg)) {
			r->state = MSR_LEFT;
			c->m->held++;
			return TAKEN;
		}
		__atomic_store_n(&r->state, MSR_OURS, __ATOMIC_SEQ_CST);
	}
	return msr_write(r->fd, r->reg, v);
}

static void set_bits(struct msr_row *r)
{
	uint64_t now;

	if (msr_read(r->fd, r->reg, &now) || (now & r->mask) == r->mask)
		return;
	__atomic_store_n(&r->state, MSR_OURS, __ATOMIC_SEQ_CST);
	(void)msr_write(r->fd, r->reg, now | r->mask);
}

static struct msr_row *guard_row_at(struct msr_counters *c, const struct event_at *at,
				    uint32_t target, unsigned slot)
{
	uint32_t i = c->row_of[at->unit][c->place_of[at->unit][target] * MSR_SLOTS + slot];

	assert(i != NO_ROW);
	return msr_guard_row(c->m->guard, i);
}

static uint32_t counter_register(const struct msr_counters *c, const struct event_at *at,
				 const struct cell *x)
{
	return at->unit == MSR_CLOCK ? (uint32_t)at->control : msr_ctl(c->m, at->unit, x->slot) + 1;
}

/* The counter of a memory controller stops at its end (bit 48) and does not wrap: past half of the
 * way it begins anew. */
static const char *renew(const struct msr_counters *c, const struct event_at *at, struct cell *x,
			 uint32_t target)
{
	if (msr_kind(at->unit) != MSR_UMC || !(x->last >> 47))
		return NULL;
	x->last = 0;
	return msr_write(c->m->fd[target], counter_register(c, at, x), 0);
}

static void begin_cell(struct msr_counters *c, const struct event_at *at, struct cell *x,
		       uint32_t target)
{
	const char *why = NULL;

	if (!x->here || x->why)
		return;
	errno = 0;
	if (at->pair)
		why = take_register(c, guard_row_at(c, at, target, x->slot + 1u), MSR_MERGE);
	if (at->unit != MSR_CLOCK && !why)
		why = take_register(c, guard_row_at(c, at, target, x->slot), at->control);
	if (!why)
		why = read_sharp(c->m->fd[target], counter_register(c, at, x), &x->last, &x->since);
	if (!why)
		why = renew(c, at, x, target);
	x->gone = why && errno == ENXIO;
	x->why = x->gone ? NULL : why;
	if (why)
		x->since = clock_now();
}

/* ---- reading ---- */

enum kept { KEPT, CLEARED, LOST };

/* Whether a control register still has our value. One that is 0 was reset, by sleep as a rule: it
 * gets our value again. */
static enum kept still(struct msr_counters *c, struct msr_row *r, uint64_t v, const char **why)
{
	uint64_t now;

	*why = msr_read(r->fd, r->reg, &now);
	if (*why)
		return LOST;
	if (now == v)
		return KEPT;
	if (!(now & msr_enable(r->reg))) {
		*why = msr_write(r->fd, r->reg, v);
		return *why ? LOST : CLEARED;
	}
	r->state = MSR_LEFT;
	c->m->held++;
	*why = TAKEN;
	return LOST;
}

static enum kept check_cell(struct msr_counters *c, const struct event_at *at, const struct cell *x,
			    uint32_t target, const char **why)
{
	enum kept k;

	*why = NULL;
	if (at->unit == MSR_CLOCK)
		return KEPT;
	k = still(c, guard_row_at(c, at, target, x->slot), at->control, why);
	if (k == KEPT && at->pair)
		k = still(c, guard_row_at(c, at, target, x->slot + 1u), MSR_MERGE, why);
	if (k == KEPT && at->unit == MSR_CORE && c->global[target] != NO_ROW) {
		struct msr_row *r = msr_guard_row(c->m->guard, c->global[target]);
		uint64_t now;

		if (!msr_read(r->fd, r->reg, &now) && !(now >> x->slot & 1)) {
			set_bits(r);
			return CLEARED;
		}
	}
	return k;
}

/* The counter comes first: if the control register is ours after it, it was ours before. */
static void read_msr_cell(struct msr_counters *c, const struct event_at *at, struct cell *x,
			  uint32_t target)
{
	const char *why;
	uint64_t v, now, ns, by;
	enum kept k;

	if (!x->here || x->why)
		return;
	errno = 0;
	why = read_sharp(c->m->fd[target], counter_register(c, at, x), &v, &now);
	if (why)
		now = clock_now();
	k = why ? LOST : check_cell(c, at, x, target, &why);
	x->gone = k == LOST && errno == ENXIO;
	ns = now - x->since;
	x->since = now;
	x->enabled += ns;
	if (k == LOST) {
		x->why = x->gone ? NULL : why;
		return;
	}
	by = v - x->last;
	if (at->unit != MSR_CLOCK)
		by &= BITS_48;
	x->last = v;
	if (v >> 48 && msr_kind(at->unit) == MSR_UMC) /* it stood still for an unknown time */
		k = CLEARED;
	x->why = renew(c, at, x, target);
	if (k == CLEARED) { /* it counts again only now */
		if (!read_sharp(c->m->fd[target], counter_register(c, at, x), &x->last, &x->since))
			x->enabled += x->since - now;
		return;
	}
	/* a count that went backwards is too much, too, modulo 2^48 or 2^64 */
	if ((double)by > c->m->form[at->unit].most * ((double)ns / 1e9 + 0.001)) {
		if (++x->odd >= ODD_MOST)
			x->why = "its counter jumps: somebody else writes to it";
		return;
	}
	x->odd = 0;
	x->value += by;
	x->running += ns;
}

static void read_target(struct msr_counters *c, size_t g, uint32_t t)
{
	for (size_t e = 0; e < c->setup.group[g].n; e++) {
		const struct event_at *at = &c->group[g].event[e];

		if (c->group[g].on && !at->refused)
			read_msr_cell(c, at, &at->cell[t], t);
	}
}

/* Bits that events have in common come first: their times begin when they count. */
static void begin_target(struct msr_counters *c, size_t g, uint32_t t)
{
	const struct group_at *group = &c->group[g];
	size_t n = c->setup.group[g].n;
	bool core = false, irperf = false;

	for (size_t e = 0; e < n; e++) {
		const struct event_at *at = &group->event[e];

		core |= !at->refused && at->unit == MSR_CORE && at->cell[t].here;
		irperf |= !at->refused && at->control == MSR_IRPERF;
	}
	if (core && c->global[t] != NO_ROW)
		set_bits(msr_guard_row(c->m->guard, c->global[t]));
	if (irperf && c->hwcr[t] != NO_ROW)
		set_bits(msr_guard_row(c->m->guard, c->hwcr[t]));
	for (size_t e = 0; e < n; e++)
		if (!group->event[e].refused)
			begin_cell(c, &group->event[e], &group->event[e].cell[t], t);
}

/* The caller reads a single group just before it switches it off. */
static int msr_counters_enable(void *own, size_t group, bool on, struct err *err)
{
	struct msr_counters *c = own;
	size_t from = group == ALL_GROUPS ? 0 : group;
	size_t to = group == ALL_GROUPS ? c->setup.n_groups : group + 1;

	if (on && msr_guard_check(c->m, err))
		return -1;
	for (size_t g = from; g < to; g++) {
		if (c->group[g].on == on)
			continue;
		for (uint32_t t = 0; t < c->m->n; t++)
			if (on)
				begin_target(c, g, t);
			else if (group == ALL_GROUPS)
				read_target(c, g, t);
		c->group[g].on = on;
	}
	return 0;
}

static int msr_counters_read(void *own, size_t group, struct counter_value *out, struct err *err)
{
	struct msr_counters *c = own;
	size_t n = c->setup.group[group].n;

	(void)err;
	for (uint32_t t = 0; t < c->m->n; t++) {
		read_target(c, group, t);
		for (size_t e = 0; e < n; e++) {
			const struct event_at *at = &c->group[group].event[e];
			const struct cell *x = &at->cell[t];

			out[e * c->m->n + t] = (struct counter_value){ .value = x->value,
								       .enabled = x->enabled,
								       .running = x->running,
								       .refused = at->refused,
								       .gone = x->gone,
								       .absent = !x->here,
								       .why = x->why };
		}
	}
	return 0;
}

/* ---- the rest ---- */

static size_t msr_counters_targets(const void *own)
{
	return ((const struct msr_counters *)own)->m->n;
}

static size_t msr_counters_split(const void *own, size_t group)
{
	(void)own;
	(void)group;
	return 1;
}

static const char *msr_counters_refused(const void *own, size_t group, size_t event, int *number)
{
	const struct msr_counters *c = own;

	if (number)
		*number = ENOENT;
	return c->group[group].event[event].refused;
}

static bool msr_counters_without_kernel(const void *own)
{
	(void)own;
	return false;
}

static size_t msr_counters_files(const void *own)
{
	return ((const struct msr_counters *)own)->m->n;
}

const struct counter_backend counter_msr = {
	.open = msr_counters_open,
	.targets = msr_counters_targets,
	.split = msr_counters_split,
	.refused = msr_counters_refused,
	.without_kernel = msr_counters_without_kernel,
	.files = msr_counters_files,
	.enable = msr_counters_enable,
	.read = msr_counters_read,
	.close = msr_counters_close,
};
