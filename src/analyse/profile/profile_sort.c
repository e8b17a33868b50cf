/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains in the order of a walk through their tree.
 *
 * Splitters drawn from all chains cut them into parts, one after the other in order, which are
 * sorted on all cores. A part is sorted by two frames at a time (a quicksort of three ways whose
 * middle goes on with the next two), so that long common beginnings are read once; the two frames
 * at hand stand beside the pointer. Nothing here depends on the number of cores but the time.
 */
#include "analyse/profile/profile_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/task.h"

#define FEW	   24u /* to be sorted by insertion */
#define PARTS_MAX  256u
#define DRAWN	   16u /* per part */
#define SLICE	   16384u
#define SMALL_SORT 8192u

/* Returns the frame at `depth`; behind the innermost a 0, which sorts before all, and then the
 * event. */
static uint64_t digit(const struct walk_chain *c, size_t depth)
{
	if (depth < c->n_at)
		return c->at[depth] + 1ULL;
	return depth == (size_t)c->n_at + 1 ? c->event + 1ULL : 0;
}

static uint64_t key_at(const struct walk_chain *c, size_t depth)
{
	return digit(c, depth) << 32 | digit(c, depth + 1);
}

/* Both keys are of `depth`. */
static int compare(const struct chain_ref *a, const struct chain_ref *b, size_t depth)
{
	uint64_t x = a->key, y = b->key;

	for (; x == y; x = key_at(a->c, depth), y = key_at(b->c, depth)) {
		if (depth >= a->c->n_at)
			return 0;
		depth += 2;
	}
	return x < y ? -1 : 1;
}

static void sort_few(struct chain_ref *v, size_t n, size_t depth)
{
	for (size_t i = 1; i < n; i++) {
		struct chain_ref r = v[i];
		size_t k = i;

		for (; k && compare(&v[k - 1], &r, depth) > 0; k--)
			v[k] = v[k - 1];
		v[k] = r;
	}
}

static uint64_t middle(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

struct run {
	struct chain_ref *v;
	size_t n, depth;
};

/* Keys of r are of its depth. Cuts it into three; `mid` is of the next depth, or empty if nothing
 * is left to compare. */
static void split(struct run r, uint64_t *random, struct run *less, struct run *mid,
		  struct run *more)
{
	struct chain_ref *v = r.v;
	uint64_t pivot = middle(v[random_next(random) % r.n].key, v[random_next(random) % r.n].key,
				v[random_next(random) % r.n].key);
	size_t low = 0, high = r.n;

	for (size_t i = 0; i < high;) {
		struct chain_ref x = v[i];

		if (x.key < pivot) {
			v[i++] = v[low];
			v[low++] = x;
		} else if (x.key > pivot) {
			v[i] = v[--high];
			v[high] = x;
		} else {
			i++;
		}
	}
	*less = (struct run){ v, low, r.depth };
	*mid = (struct run){ v + low, high - low, r.depth + 2 };
	*more = (struct run){ v + high, r.n - high, r.depth };
	if (r.depth >= mid->v->c->n_at)
		mid->n = 0;
	for (size_t i = 0; i < mid->n && mid->n > 1; i++) {
		if (i + 8 < mid->n)
			__builtin_prefetch(mid->v[i + 8].c);
		mid->v[i].key = key_at(mid->v[i].c, mid->depth);
	}
}

static void swap_runs(struct run *a, struct run *b)
{
	struct run t = *a;

	*a = *b;
	*b = t;
}

/* The longest of three goes on here, so that no file can make this deep. */
static void sort_run(struct run r, uint64_t *random)
{
	while (r.n > FEW) {
		struct run a, b;

		split(r, random, &a, &r, &b);
		if (a.n > r.n)
			swap_runs(&a, &r);
		if (b.n > r.n)
			swap_runs(&b, &r);
		sort_run(a, random);
		sort_run(b, random);
	}
	sort_few(r.v, r.n, r.depth);
}

/* ---- parts -------------------------------------------------------------------------------------
 */

struct sorting {
	struct chain_ref *v, *to;
	size_t n, n_slices, n_parts;
	struct chain_ref splitter[PARTS_MAX];
	size_t first[PARTS_MAX + 1];
	uint8_t *part;	  /* by chain */
	uint32_t *counts; /* [slice][part], then the target of each */
};

static void slice_of(const struct sorting *s, size_t i, size_t *from, size_t *until)
{
	*from = i * SLICE;
	*until = *from + SLICE < s->n ? *from + SLICE : s->n;
}

static int choose_parts(void *ctx, unsigned worker, size_t slice, struct err *err)
{
	struct sorting *s = ctx;
	uint32_t *count = s->counts + slice * s->n_parts;
	size_t i, until;

	(void)worker;
	(void)err;
	for (slice_of(s, slice, &i, &until); i < until; i++) {
		size_t low = 0, high = s->n_parts - 1;

		if (i + 8 < until)
			__builtin_prefetch(s->v[i + 8].c);
		s->v[i].key = key_at(s->v[i].c, 0);
		while (low < high) {
			size_t mid = low + (high - low) / 2;

			if (compare(&s->splitter[mid], &s->v[i], 0) <= 0)
				low = mid + 1;
			else
				high = mid;
		}
		s->part[i] = (uint8_t)low;
		count[low]++;
	}
	return 0;
}

static int move_to_parts(void *ctx, unsigned worker, size_t slice, struct err *err)
{
	struct sorting *s = ctx;
	uint32_t *at = s->counts + slice * s->n_parts;
	size_t i, until;

	(void)worker;
	(void)err;
	for (slice_of(s, slice, &i, &until); i < until; i++)
		s->to[at[s->part[i]]++] = s->v[i];
	return 0;
}

static int sort_part(void *ctx, unsigned worker, size_t part, struct err *err)
{
	struct sorting *s = ctx;
	size_t first = s->first[part], n = s->first[part + 1] - first;
	uint64_t random = (uint64_t)(uintptr_t)s->to; /* no file can foresee it */

	(void)worker;
	(void)err;
	sort_run((struct run){ s->to + first, n, 0 }, &random);
	return 0;
}

static int by_frames(const void *a, const void *b)
{
	return compare(a, b, 0);
}

static int draw_splitters(struct sorting *s, struct err *err)
{
	size_t n = s->n_parts * DRAWN;
	struct chain_ref *v = malloc(n * sizeof(*v));

	if (!v)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		v[i].c = s->v[i * (s->n / n)].c;
		v[i].key = key_at(v[i].c, 0);
	}
	qsort(v, n, sizeof(*v), by_frames);
	for (size_t i = 0; i + 1 < s->n_parts; i++)
		s->splitter[i] = v[(i + 1) * DRAWN];
	free(v);
	return 0;
}

/* Converts counts to places. */
static void place_parts(struct sorting *s)
{
	size_t at = 0;

	for (size_t p = 0; p < s->n_parts; p++) {
		s->first[p] = at;
		for (size_t i = 0; i < s->n_slices; i++) {
			uint32_t *c = &s->counts[i * s->n_parts + p];
			uint32_t n = *c;

			*c = (uint32_t)at;
			at += n;
		}
	}
	s->first[s->n_parts] = at;
}

static int count_common(void *ctx, unsigned worker, size_t slice, struct err *err)
{
	struct sorting *s = ctx;
	size_t i, until;

	(void)worker;
	(void)err;
	for (slice_of(s, slice, &i, &until); i < until; i++) {
		const struct walk_chain *c = s->v[i].c, *last = i ? s->v[i - 1].c : NULL;
		size_t common = 0;

		if (i + 8 < until)
			__builtin_prefetch(s->v[i + 8].c);
		if (i + 4 < until)
			__builtin_prefetch(s->v[i + 4].c->at);
		while (last && common < c->n_at && common < last->n_at &&
		       c->at[common] == last->at[common])
			common++;
		s->v[i].key = common;
	}
	return 0;
}

static int sort_parts(struct sorting *s, unsigned threads, struct err *err)
{
	int ret = -1;

	s->to = malloc(s->n * sizeof(*s->to));
	s->part = malloc(s->n);
	s->counts = calloc(s->n_slices * s->n_parts, sizeof(*s->counts));
	if (!s->to || !s->part || !s->counts) {
		(void)err_nomem(err);
		goto out;
	}
	if (draw_splitters(s, err) || task_for(s->n_slices, threads, choose_parts, s, err))
		goto out;
	place_parts(s);
	if (task_for(s->n_slices, threads, move_to_parts, s, err) ||
	    task_for(s->n_parts, threads, sort_part, s, err))
		goto out;
	memcpy(s->v, s->to, s->n * sizeof(*s->v));
	ret = 0;
out:
	free(s->to);
	free(s->part);
	free(s->counts);
	return ret;
}

int chains_sort(struct chain_ref *v, size_t n, unsigned threads, struct err *err)
{
	struct sorting s = { .v = v, .n = n, .n_slices = (n + SLICE - 1) / SLICE };

	if (!threads)
		threads = task_threads();
	if (n < SMALL_SORT || threads < 2) {
		uint64_t random = (uint64_t)(uintptr_t)v;

		for (size_t i = 0; i < n; i++)
			v[i].key = key_at(v[i].c, 0);
		sort_run((struct run){ v, n, 0 }, &random);
	} else {
		s.n_parts = threads * 8 < PARTS_MAX ? threads * 8 : PARTS_MAX;
		if (sort_parts(&s, threads, err))
			return -1;
	}
	return task_for(s.n_slices, threads, count_common, &s, err);
}
