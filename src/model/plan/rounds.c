/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/rounds.h"
#include "base/hash.h"

#define TOGETHER 4 /* groups at most */

enum { UNKNOWN, FIT, DO_NOT_FIT };

double rounds_draw(uint64_t *chance)
{
	return (double)(random_next(chance) >> 11) / 9007199254740992.0;
}

uint64_t rounds_length(uint64_t *chance, uint64_t step)
{
	return step / 4 + (uint64_t)(1.5 * (double)step * rounds_draw(chance));
}

int rounds_new(struct rounds *r, struct arena *a, const struct plan *p, uint64_t seed,
	       struct err *err)
{
	size_t events = 0;

	for (size_t g = 0; g < p->n_groups; g++)
		events += p->group[g].n;
	*r = (struct rounds){ .groups = p->n_groups, .chance = seed };
	r->pair = arena_alloc(a, p->n_groups * p->n_groups + 1);
	r->turn = arena_alloc(a, (p->n_groups + 1) * sizeof(*r->turn));
	r->who = arena_alloc(a, (p->n_groups + 1) * sizeof(*r->who));
	r->event = arena_alloc(a, (events + 1) * sizeof(*r->event));
	return r->pair && r->turn && r->who && r->event ? 0 : err_nomem(err);
}

static size_t shuffle(struct rounds *r, const bool *wants)
{
	size_t n = 0;

	for (size_t g = 0; g < r->groups; g++) {
		r->turn[g] = ROUNDS_NONE;
		if (wants[g])
			r->who[n++] = (uint32_t)g;
	}
	for (size_t i = n; i > 1; i--) {
		size_t at = (size_t)(rounds_draw(&r->chance) * (double)i);
		uint32_t last = r->who[i - 1];

		r->who[i - 1] = r->who[at];
		r->who[at] = last;
	}
	return n;
}

/* Adds a group's events to those of a turn, n so far; events that are there already are counters
 * more all the same, for which *twice of the general ones are set aside. */
static size_t add_events(uint32_t *to, size_t n, const struct plan_group *g, unsigned *twice)
{
	size_t before = n;

	for (size_t e = 0; e < g->n; e++) {
		bool there = false;

		for (size_t i = 0; i < before && !there; i++)
			there = to[i] == g->event[e];
		if (there)
			++*twice;
		else
			to[n++] = g->event[e];
	}
	return n;
}

struct fitting {
	const struct plan *p;
	const struct model *m;
	const struct schedule_limits *l;
};

static bool fit_together(const struct rounds *r, const struct fitting *f, const size_t *group,
			 size_t n)
{
	struct schedule_limits fewer = *f->l;
	size_t n_events = 0;
	unsigned twice = 0;
	const char *why;

	for (size_t i = 0; i < n; i++)
		n_events = add_events(r->event, n_events, &f->p->group[group[i]], &twice);
	fewer.reserved += twice;
	return fewer.reserved < fewer.counters &&
	       schedule_fits(f->m, &fewer, r->event, n_events, &why);
}

static bool pair_fits(struct rounds *r, const struct fitting *f, size_t a, size_t b)
{
	uint8_t *known = &r->pair[(a < b ? a : b) * r->groups + (a < b ? b : a)];

	if (*known == UNKNOWN)
		*known = fit_together(r, f, (size_t[]){ a, b }, 2) ? FIT : DO_NOT_FIT;
	return *known == FIT;
}

/* A third group fits to two if it fits to both, and all of them together. */
static bool fits_turn(struct rounds *r, const struct fitting *f, size_t turn, size_t group)
{
	size_t with[TOGETHER], n = 0;

	for (size_t g = 0; g < r->groups; g++) {
		if (r->turn[g] != turn)
			continue;
		if (n + 1 == TOGETHER || !pair_fits(r, f, g, group))
			return false;
		with[n++] = g;
	}
	with[n++] = group;
	return n == 2 || fit_together(r, f, with, n);
}

void rounds_begin(struct rounds *r, const struct plan *p, const struct model *m,
		  const struct schedule_limits *l, const bool *wants)
{
	const struct fitting f = { p, m, l };
	size_t n = shuffle(r, wants);

	r->n = r->now = 0;
	for (size_t i = 0; i < n; i++) {
		size_t turn = 0;

		while (turn < r->n && !fits_turn(r, &f, turn, r->who[i]))
			turn++;
		r->turn[r->who[i]] = turn;
		r->n += turn == r->n;
	}
}

bool rounds_on(const struct rounds *r, size_t group)
{
	return r->turn[group] == r->now;
}

bool rounds_next(struct rounds *r)
{
	if (r->now + 1 >= r->n)
		return false;
	r->now++;
	return true;
}
