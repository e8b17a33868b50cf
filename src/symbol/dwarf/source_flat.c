/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_flat - intervals that overlap or nest, made disjoint.
 *
 * One sweep over the sorted starts with a heap of the open intervals, deepest on top: n log n for
 * any input, however it nests.
 */
#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/dwarf/source_tables.h"

static int interval_by_lo(const void *a, const void *b)
{
	const struct src_interval *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Returns true if interval `a` hides `b` (indices into the sorted array). */
static bool hides(const struct src_interval *v, uint32_t a, uint32_t b)
{
	return v[a].depth != v[b].depth ? v[a].depth > v[b].depth : a > b;
}

typedef VEC(uint32_t) open_intervals;

static void open_interval(open_intervals *h, const struct src_interval *v, uint32_t x)
{
	size_t i = h->n;

	vec_xpush(h, x);
	while (i && hides(v, h->v[i], h->v[(i - 1) / 2])) {
		uint32_t t = h->v[i];

		h->v[i] = h->v[(i - 1) / 2];
		h->v[(i - 1) / 2] = t;
		i = (i - 1) / 2;
	}
}

static void close_interval(open_intervals *h, const struct src_interval *v)
{
	size_t i = 0;

	h->v[0] = h->v[--h->n];
	for (;;) {
		size_t c = 2 * i + 1;
		uint32_t t;

		if (c >= h->n)
			return;
		if (c + 1 < h->n && hides(v, h->v[c + 1], h->v[c]))
			c++;
		if (!hides(v, h->v[c], h->v[i]))
			return;
		t = h->v[i];
		h->v[i] = h->v[c];
		h->v[c] = t;
		i = c;
	}
}

static void put_segment(src_segments *out, uint64_t lo, uint32_t id)
{
	struct src_segment seg = { lo, id };

	if (out->n && vec_last(out)->lo == lo) {
		vec_last(out)->id = id;
		return;
	}
	if (out->n ? vec_last(out)->id == id : id == SRC_NONE)
		return;
	vec_xpush(out, seg);
}

/* Closes the intervals that end at or before `until`, and puts a segment for each end. */
static void close_until(open_intervals *h, const struct src_interval *v, uint64_t until, bool all,
			src_segments *out)
{
	while (h->n && (all || v[h->v[0]].hi <= until)) {
		uint64_t end = v[h->v[0]].hi;

		do
			close_interval(h, v);
		while (h->n && v[h->v[0]].hi <= end);
		put_segment(out, end, h->n ? v[h->v[0]].id : SRC_NONE);
	}
}

void src_flatten(src_intervals *in, src_segments *out)
{
	open_intervals open = VEC_INIT;

	vec_sort(in, interval_by_lo);
	for (size_t i = 0; i < in->n; i++) {
		if (in->v[i].lo >= in->v[i].hi)
			continue;
		close_until(&open, in->v, in->v[i].lo, false, out);
		open_interval(&open, in->v, (uint32_t)i);
		put_segment(out, in->v[i].lo, in->v[open.v[0]].id);
	}
	close_until(&open, in->v, 0, true, out);
	assert(!open.n);
	assert(pairs_hold(out->n, i, out->v[i].lo < out->v[i + 1].lo));
	vec_free(&open);
}

uint32_t src_segment_at(const struct src_segment *v, size_t n, uint64_t addr)
{
	const struct src_segment *base = v;

	if (!n || addr < v[0].lo)
		return SRC_NONE;
	/* the last segment that begins at or before addr; no branch to mispredict */
	while (n > 1) {
		size_t half = n / 2;

		base += base[half].lo <= addr ? half : 0;
		n -= half;
	}
	return base->id;
}
