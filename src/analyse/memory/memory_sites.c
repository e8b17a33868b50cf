/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_sites_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/vec.h"

/* An allocation or its end. */
struct change {
	uint32_t site;
	bool end;
	uint64_t time, bytes;
};

struct sites {
	VEC(struct memory_site) v; /* by id, until they are sorted */
	VEC(struct change) change;
};

static int take(void *ctx, const struct heap_object *o, const struct heap_site *site)
{
	struct sites *w = ctx;
	struct memory_site *s;

	while (w->v.n <= site->id)
		if (vec_push(&w->v, ((struct memory_site){ .site = NULL })))
			return -1;
	s = &w->v.v[site->id];
	s->site = site;
	s->allocations++;
	s->bytes += o->size;
	if (o->until == UINT64_MAX) {
		s->left++;
		s->left_bytes += o->size;
	}
	return vec_push(&w->change, ((struct change){ site->id, false, o->from, o->size })) ||
			       (o->until != UINT64_MAX &&
				vec_push(&w->change,
					 ((struct change){ site->id, true, o->until, o->size })))
		       ? -1
		       : 0;
}

/* An allocation that ends at a time is gone before one that begins then. */
static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return y->end - x->end;
}

/* Objects that begin and end at one time would be gone before they are there: they count nothing.
 */
static void find_most(struct sites *w)
{
	uint64_t now = 0;

	vec_sort(&w->change, by_time);
	for (size_t i = 0; i < w->change.n; i++) {
		const struct change *c = &w->change.v[i];
		struct memory_site *s = &w->v.v[c->site];

		if (!i || c[-1].site != c->site)
			now = 0;
		if (c->end)
			now -= c->bytes < now ? c->bytes : now;
		else
			now += c->bytes;
		s->most_bytes = now > s->most_bytes ? now : s->most_bytes;
	}
}

static int by_most(const void *a, const void *b)
{
	const struct memory_site *x = a, *y = b;

	if (x->most_bytes != y->most_bytes)
		return x->most_bytes > y->most_bytes ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->site->id > y->site->id) - (x->site->id < y->site->id);
}

int memory_sites_fold(struct memory_objects *o, const struct spaces *sp, struct err *err)
{
	struct sites w = { .v = VEC_INIT, .change = VEC_INIT };
	size_t n = 0;

	if (data_each_allocation(sp, take, &w, err)) {
		vec_free(&w.v);
		vec_free(&w.change);
		return -1;
	}
	find_most(&w);
	vec_free(&w.change);
	for (size_t i = 0; i < w.v.n; i++)
		if (w.v.v[i].site)
			w.v.v[n++] = w.v.v[i];
	w.v.n = n;
	vec_sort(&w.v, by_most);
	assert(all_hold(n, i, w.v.v[i].left_bytes <= w.v.v[i].bytes));
	o->site = w.v.v;
	o->n_sites = n;
	return 0;
}
