/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions split into several, or several made one, by code alone: the whole is sampled on one
 * side, on the other there are parts whose names the whole's side does not have. A part is called
 * by the rest of the whole (which has its name), or nothing is left.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/diff/diff_match_int.h"

enum { LEAST_PART = 8, LEAST_SURE = 16 };

static const double HELD = 0.6, ALIKE = 0.75, PERHAPS = 0.5;

struct splitting {
	struct matching *m;
	int s; /* of the whole */
	struct match_func *whole, *rest;
	const struct shape *whole_shape, *rest_shape;
	VEC(struct match_func *) part;
};

static void add_code_part(struct splitting *p, struct match_func *part)
{
	const struct shape *shape = match_shape(p->m, !p->s, part);

	if (shape->insns >= LEAST_PART && shape->insns <= 2 * p->whole_shape->insns &&
	    (!p->rest || shape_calls(p->rest_shape, part->name)) &&
	    shape_holds(p->whole_shape, p->rest_shape, shape) >= HELD)
		vec_xpush(&p->part, part);
}

/* Returns how much the whole is like all of its parts together. */
static double alike(const struct splitting *p)
{
	size_t n = p->rest ? p->rest_shape->n_pairs : 0, held;
	VEC(uint64_t) pair = VEC_INIT;
	struct shape left = { 0 };

	for (size_t i = 0; i < p->part.n; i++)
		n += p->part.v[i]->shape->n_pairs;
	vec_xreserve(&pair, n + 1);
	for (size_t i = 0; i < p->part.n + 1; i++) {
		const struct shape *s = i < p->part.n ? p->part.v[i]->shape : p->rest_shape;

		for (size_t k = 0; s && k < s->n_pairs; k++)
			pair.v[pair.n++] = s->pair[k];
	}
	shape_sort(pair.v, pair.n);
	left = (struct shape){ .pair = pair.v, .n_pairs = pair.n };
	held = (size_t)lround(shape_holds(&left, NULL, p->whole_shape) *
			      (double)p->whole_shape->n_pairs);
	vec_free(&pair);
	return 2 * (double)held / (double)(n + p->whole_shape->n_pairs);
}

static enum diff_match_kind part_kind_of(const struct splitting *p)
{
	return p->s == BASE ? DIFF_SPLIT : p->rest ? DIFF_INLINED : DIFF_MERGED;
}

static bool has_short_part(const struct splitting *p)
{
	for (size_t i = 0; i < p->part.n; i++)
		if (p->part.v[i]->shape->insns < LEAST_SURE)
			return true;
	return false;
}

static bool may_be_part(const struct match_func *f)
{
	return f->symbol && !f->twin && !f->match && f->samples > 0;
}

static void match_whole(struct splitting *p, bool certain)
{
	const struct match_file *parts = &p->m->of[!p->s];
	double like;

	p->whole_shape = match_shape(p->m, p->s, p->whole);
	p->rest_shape = p->rest ? match_shape(p->m, !p->s, p->rest) : NULL;
	if (p->rest && shape_alike(p->whole_shape, p->rest_shape) == 1)
		return;
	for (size_t i = 0; i < parts->n; i++)
		if (may_be_part(&parts->f[i]))
			add_code_part(p, &parts->f[i]);
	if (p->part.n < (p->rest ? 1 : 2))
		return;
	like = alike(p);
	if (like >= PERHAPS && (like >= ALIKE && !has_short_part(p)) == certain) {
		struct diff_match *match;
		struct arena *a = &p->m->x->a;

		match = match_new(p->m, part_kind_of(p), certain);
		match->alike = like;
		match->why = arena_xprintf(a, "%.0f %% of its code is in the parts%s", 100 * like,
					   certain	       ? "; their sum is compared"
					   : has_short_part(p) ? "; a part is too short to be sure"
							       : "; the code differs much");
		match_add(p->m, match, p->s, p->whole);
		if (p->rest)
			match_add(p->m, match, !p->s, p->rest);
		for (size_t i = 0; i < p->part.n; i++)
			match_add(p->m, match, !p->s, p->part.v[i]);
	}
}

static bool any_part(const struct match_file *file)
{
	for (size_t i = 0; i < file->n; i++)
		if (may_be_part(&file->f[i]))
			return true;
	return false;
}

void match_parts(struct matching *m, bool certain)
{
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; any_part(&m->of[!s]) && i < m->of[s].n; i++) {
			struct match_func *f = &m->of[s].f[i];
			struct splitting p = { .m = m, .s = s, .whole = f, .rest = f->twin };

			if (f->symbol && !f->match && f->samples > 0)
				match_whole(&p, certain);
			vec_free(&p.part);
		}
}
