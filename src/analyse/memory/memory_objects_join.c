/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_objects_join - objects of several workers, the same as those of one worker: objects in the
 * order of their first samples in the file, and that sample's.
 */
#include <stdlib.h>

#include "analyse/memory/memory_objects_int.h"
#include "base/invariant.h"

/* An object of a worker. */
struct joined {
	uint64_t first;
	uint32_t part, object;
};

static int by_first(const void *a, const void *b)
{
	const struct joined *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* The objects of all parts, earliest first; to[part][object] becomes their number in `out`. */
static int join_objects(struct memory_objects_work *w, struct objects_part *out, uint32_t **to)
{
	VEC(struct joined) v = VEC_INIT;
	int ret = 0;

	for (uint32_t i = 0; i < w->parts; i++)
		for (uint32_t k = 0; k < w->part[i].object.n && !ret; k++)
			ret = vec_push(&v, ((struct joined){ w->part[i].object.v[k].first, i, k }));
	vec_sort(&v, by_first);
	for (size_t i = 0; i < v.n && !ret; i++) {
		struct memory_object x = w->part[v.v[i].part].object.v[v.v[i].object], *o;
		uint32_t at;

		x.threads = 0;
		at = memory_object_of(out, &x);
		if (at == UINT32_MAX) {
			ret = -1;
			break;
		}
		to[v.v[i].part][v.v[i].object] = at;
		o = &out->object.v[at];
		o->least = x.least < o->least ? x.least : o->least;
		o->most = x.most > o->most ? x.most : o->most;
		assert(o->first <= x.first);
	}
	vec_free(&v);
	return ret;
}

static int join_part(struct objects_part *out, const struct objects_part *x, const uint32_t *to)
{
	vec_each (&x->met, const struct objects_met *, m)
		if (memory_object_meet(out, to[m->object], m->task))
			return -1;
	out->no_address += x->no_address;
	return memory_walks_join(&out->walks, &x->walks, to) ||
			       memory_locks_join(&out->locks, &x->locks, to) ||
			       memory_lines_join(&out->lines, &x->lines, to) ||
			       memory_places_join(&out->places, &x->places, to) ||
			       memory_nodes_join(&out->nodes, &x->nodes, to) ||
			       memory_map_join(&out->map, &x->map, to)
		       ? -1
		       : 0;
}

int memory_objects_join(struct memory_objects_work *w)
{
	struct objects_part out = { .nodes = { .nodes = &w->nodes } };
	uint32_t **to;
	int ret = 0;

	if (w->parts < 2)
		return 0;
	out.map = (struct memory_map_work){ .on = w->part->map.on,
					    .first = w->part->map.first,
					    .last = w->part->map.last };
	to = calloc(w->parts, sizeof(*to));
	ret = !to || memory_objects_begin_last(&out) ? -1 : 0;
	for (unsigned i = 0; i < w->parts && !ret; i++) {
		to[i] = calloc(w->part[i].object.n + 1, sizeof(**to));
		ret = to[i] ? 0 : -1;
	}
	ret = ret || join_objects(w, &out, to) ? -1 : 0;
	for (unsigned i = 0; i < w->parts && !ret; i++)
		ret = join_part(&out, &w->part[i], to[i]);
	for (unsigned i = 0; i < w->parts; i++) {
		if (to)
			free(to[i]);
		memory_objects_part_free(&w->part[i]);
	}
	free(to);
	w->part[0] = out;
	return ret;
}
