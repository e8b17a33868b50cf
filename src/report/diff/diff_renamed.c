/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions whose name only one side has, and the function that is most like them among those whose
 * name only the other side has. A pair is certain if each is the other's best by a clear margin,
 * the code is long enough, and all of it is the same or other evidence supports the pair.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/diff/diff_match_int.h"

enum { MOST_WANTED = 500, LEAST_SAME = 10, LEAST_LIKE = 16, LEAST_TOLD = 8 };

static const double MARGIN = 0.15, ALIKE = 0.9, ALIKE_WITH_MORE = 0.7, PERHAPS = 0.6;

struct best {
	struct match_func *f;
	double alike, second;
};

static bool is_candidate(const struct match_func *f)
{
	return f->symbol && !f->twin && !f->match;
}

static bool sizes_fit(const struct match_func *a, const struct match_func *b)
{
	return a->symbol->size <= 2 * b->symbol->size && b->symbol->size <= 2 * a->symbol->size;
}

/* The function of the other side that is most like `f` of side `s`. */
static void find_best(struct matching *m, int s, struct match_func *f, struct best *out)
{
	const struct shape *mine = match_shape(m, s, f);
	struct match_file *other = &m->of[!s];

	*out = (struct best){ 0 };
	for (size_t i = 0; mine->insns && i < other->n; i++) {
		struct match_func *g = &other->f[i];
		double alike;

		if (!is_candidate(g) || !sizes_fit(f, g))
			continue;
		alike = shape_alike(mine, match_shape(m, !s, g));
		if (alike > out->alike) {
			out->second = out->alike;
			out->f = g;
			out->alike = alike;
		} else if (alike > out->second) {
			out->second = alike;
		}
	}
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* Returns true if both call functions of the same names, half of them at least. */
static bool calls_alike(const struct shape *a, const struct shape *b)
{
	size_t both = 0;

	for (size_t i = 0; i < a->n_callees; i++)
		both += shape_calls(b, a->callee[i]);
	return both && 2 * both >= a->n_callees && 2 * both >= b->n_callees;
}

static bool renamed_same_file(const struct shape *a, const struct shape *b)
{
	return a->file && b->file && !strcmp(a->file, b->file);
}

static bool same_plain_name(const struct match_func *f, const struct match_func *g)
{
	size_t n = symbol_plain_len(f->symbol);

	return (f->symbol->apart || g->symbol->apart) && n == symbol_plain_len(g->symbol) &&
	       !memcmp(f->name, g->name, n);
}

struct evidence {
	double alike, second;
	size_t insns; /* of the shorter one */
	bool file, calls, name;
};

/* Returns NULL if it is certain, else the reason against it. */
static const char *doubt_rename(const struct evidence *e)
{
	bool more = e->name || (e->file && e->calls);

	if (e->insns < (e->alike < 1 ? LEAST_LIKE : LEAST_SAME))
		return "too short to be sure";
	if (e->second >= e->alike - (e->alike < 1 ? MARGIN : 0.01))
		return "another function is about as much like it";
	if (e->alike >= ALIKE || (more && e->alike >= ALIKE_WITH_MORE))
		return NULL;
	return "its code differs much";
}

static const char *put_renamed_why(struct arena *a, const struct evidence *e, const char *but)
{
	const char *and = e->name ? ", same name" : e->file ? ", same source file" : "";
	const char *calls = e->calls ? ", same callees" : "";

	if (e->alike < 1)
		return arena_xprintf(a, "%.0f %% of %zu instructions alike%s%s%s%s", 100 * e->alike,
				     e->insns, and, calls, but ? "; " : "", but ? but : "");
	return arena_xprintf(a, "all %zu instructions are the same%s%s%s%s", e->insns, and, calls,
			     but ? "; " : "", but ? but : "");
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static void match_one(struct matching *m, int s, struct match_func *f, bool certain)
{
	struct best there, back;
	struct evidence e;

	find_best(m, s, f, &there);
	if (!there.f || there.alike < PERHAPS)
		return;
	find_best(m, !s, there.f, &back);
	if (back.alike > there.alike)
		return;
	e = (struct evidence){
		.alike = there.alike,
		.second = fmax(there.second, back.second),
		.insns = f->shape->insns < there.f->shape->insns ? f->shape->insns
								 : there.f->shape->insns,
		.file = renamed_same_file(f->shape, there.f->shape),
		.calls = calls_alike(f->shape, there.f->shape),
		.name = same_plain_name(f, there.f),
	};
	if (e.insns >= LEAST_TOLD && (doubt_rename(&e) == NULL) == certain) {
		const char *but = doubt_rename(&e);
		struct diff_match *match = match_new(m, DIFF_RENAMED, !but);

		match->why = put_renamed_why(&m->x->a, &e, but);
		match->alike = e.alike;
		match_add(m, match, s, f);
		match_add(m, match, !s, there.f);
	}
}

static int renamed_by_samples(const void *a, const void *b)
{
	const struct match_func *const *p = a, *const *q = b;

	return ((*p)->samples < (*q)->samples) - ((*p)->samples > (*q)->samples);
}

void match_renamed(struct matching *m, bool certain)
{
	for (int s = 0; s < BOTH; s++) {
		VEC(struct match_func *) wanted = VEC_INIT;

		for (size_t i = 0; i < m->of[s].n; i++)
			if (is_candidate(&m->of[s].f[i]) && m->of[s].f[i].samples > 0)
				vec_xpush(&wanted, &m->of[s].f[i]);
		vec_sort(&wanted, renamed_by_samples);
		for (size_t i = 0; i < wanted.n && i < MOST_WANTED; i++)
			if (!wanted.v[i]->match)
				match_one(m, s, wanted.v[i], certain);
		vec_free(&wanted);
	}
}
