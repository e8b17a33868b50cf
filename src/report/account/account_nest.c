/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_nest - rows as a tree: each process with its sum, its modules with theirs, their
 * functions.
 *
 * A level is a key. The profile's rows are in the order of their keys, so that rows of one parent
 * are neighbours. Rows that are too small to be shown are summed under their parent.
 */
#include <stdlib.h>

#include "base/invariant.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "report/account/account_int.h"

struct piece { /* rows that share their keys up to a level */
	size_t from, to;
	uint64_t cycles;
};

struct nesting {
	struct account_view *v;
	const struct profile_row *rows;
	const bool *kept;
	size_t cycles, levels;
	double least;
};

/* Cycles of those that are kept; returns false if none is. */
static bool weigh_pieces(const struct nesting *k, struct piece *p)
{
	bool any = false;

	p->cycles = 0;
	for (size_t i = p->from; i < p->to; i++) {
		if (!k->kept[i])
			continue;
		p->cycles += profile_tally(&k->rows[i], k->cycles)->period;
		any = true;
	}
	return any;
}

static void add_nest_piece(const struct nesting *k, struct account_row *to, const struct piece *p)
{
	for (size_t i = p->from; i < p->to; i++) {
		if (!k->kept[i])
			continue;
		profile_tallies(&k->rows[i], k->v->n_events, to->tally);
		to->folded++;
	}
	to->cycles += p->cycles;
}

static int nest_by_cycles(const void *va, const void *vb)
{
	const struct piece *a = va, *b = vb;

	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static void put_nest_level(const struct nesting *k, size_t level, size_t from, size_t to);

static void put_nest_piece(const struct nesting *k, size_t level, const struct piece *p)
{
	struct account_row r = { .row = &k->rows[p->from], .depth = (unsigned)level };

	if (level + 1 == k->levels) {
		r.cycles = p->cycles;
		account_view_push(k->v, &r);
		return;
	}
	r.sum = true;
	r.tally = arena_xalloc(&k->v->arena, (k->v->n_events + 1) * sizeof(*r.tally));
	add_nest_piece(k, &r, p);
	account_view_push(k->v, &r);
	put_nest_level(k, level + 1, p->from, p->to);
}

static void put_nest_level(const struct nesting *k, size_t level, size_t from, size_t to)
{
	size_t limit = level + 1 == k->levels ? k->v->opts.limit : 0;
	struct account_row rest = { .depth = (unsigned)level };
	VEC(struct piece) large = VEC_INIT;

	rest.tally = arena_xalloc(&k->v->arena, (k->v->n_events + 1) * sizeof(*rest.tally));
	for (struct piece p = { from, from, 0 }; p.from < to; p.from = p.to) {
		size_t end = p.from + 1;

		while (level + 1 < k->levels && end < to &&
		       k->rows[end].key[level] == k->rows[p.from].key[level])
			end++;
		p.to = end;
		if (!weigh_pieces(k, &p))
			continue;
		if ((double)p.cycles < k->least)
			add_nest_piece(k, &rest, &p);
		else
			vec_xpush(&large, p);
	}
	if (large.n > 1)
		qsort(large.v, large.n, sizeof(*large.v), nest_by_cycles);
	assert(pairs_hold(large.n, i, nest_by_cycles(&large.v[i], &large.v[i + 1]) <= 0));
	for (size_t i = 0; i < large.n; i++) {
		if (limit && i >= limit)
			add_nest_piece(k, &rest, &large.v[i]);
		else
			put_nest_piece(k, level, &large.v[i]);
	}
	if (rest.folded)
		account_view_push(k->v, &rest);
	vec_free(&large);
}

void account_view_nest(struct account_view *v, size_t cycles, double least, const bool *kept)
{
	struct nesting k = { .v = v,
			     .kept = kept,
			     .cycles = cycles,
			     .levels = profile_options(v->source.profile)->n_keys,
			     .least = least };
	size_t n;

	k.rows = profile_rows(v->source.profile, &n);
	if (n && k.levels)
		put_nest_level(&k, 0, 0, n);
}
