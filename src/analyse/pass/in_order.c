/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/in_order.h"

#include "base/xalloc.h"

static bool is_before(const struct in_order_record *a, const struct in_order_record *b)
{
	return a->time != b->time ? a->time < b->time : a->r.seq < b->r.seq;
}

void in_order_put(struct in_order *o, const struct in_order_record *r)
{
	size_t at = o->heap.n;

	vec_xpush(&o->heap, *r);
	for (size_t up; at && is_before(r, &o->heap.v[up = (at - 1) / 2]); at = up)
		o->heap.v[at] = o->heap.v[up];
	o->heap.v[at] = *r;
	if (r->time > o->newest)
		o->newest = r->time;
}

void in_order_round(struct in_order *o)
{
	o->due = o->before;
	o->before = o->newest;
}

void in_order_finish(struct in_order *o)
{
	o->due = UINT64_MAX;
}

bool in_order_next(struct in_order *o, struct in_order_record *out)
{
	const struct in_order_record *last;
	size_t at = 0, n;

	if (!o->heap.n || o->heap.v[0].time > o->due)
		return false;
	*out = o->heap.v[0];
	n = --o->heap.n;
	last = &o->heap.v[n];
	for (size_t down; (down = 2 * at + 1) < n; at = down) {
		down += down + 1 < n && is_before(&o->heap.v[down + 1], &o->heap.v[down]);
		if (!is_before(&o->heap.v[down], last))
			break;
		o->heap.v[at] = o->heap.v[down];
	}
	o->heap.v[at] = *last;
	return true;
}

void in_order_free(struct in_order *o)
{
	vec_free(&o->heap);
}
