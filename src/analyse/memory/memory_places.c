/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_places_int.h"

#include "analyse/memory/memory_counts_int.h"
#include "analyse/memory/memory_types.h"
#include "base/hash.h"

/* ---- objects --------------------------------------------------------------------------------- */

/* Finds the size of a variable's elements; 0: its type is not known. */
static int find_stride(const struct data_place *d, struct images *set, uint64_t *stride,
		       struct err *err)
{
	struct err why = ERR_INIT; /* no types then */
	struct types *t = types_of(set, d->image, &why);
	struct types_access a;

	*stride = 0;
	if (!t)
		return why.code == ERR_NOMEM ? err_nomem(err) : 0;
	types_static(t, d->variable->start, 0, &a);
	if (a.why == TYPES_KNOWN)
		*stride = a.type_size;
	return 0;
}

static int reach(struct memory_places *w, uint32_t object)
{
	while (w->of.n <= object)
		if (vec_push(&w->of, ((struct places_of){ .object = (uint32_t)w->of.n })))
			return -1;
	return 0;
}

int memory_places_meet(struct memory_places *w, uint32_t object, const struct memory_object *o,
		       struct images *set, struct err *err)
{
	struct places_of *p;

	if (reach(w, object))
		return err_nomem(err);
	p = &w->of.v[object];
	if (o->data.kind == DATA_VARIABLE && o->data.variable && o->data.image != IMAGE_NONE) {
		if (find_stride(&o->data, set, &p->stride, err))
			return -1;
		p->wanted = p->stride != 0;
	} else {
		p->wanted = !o->why && o->data.site;
	}
	return 0;
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool same_place(const struct memory_place *x, const struct memory_place *y)
{
	return x->access[0] == y->access[0] && x->access[1] == y->access[1] && x->off == y->off &&
	       x->size == y->size && x->object == y->object && x->width == y->width;
}

static uint64_t hash_of(const struct memory_place *x)
{
	return hash_pair(hash_pair(x->access[0], x->access[1] << 8 | x->width),
			 hash_pair(x->off, hash_pair(x->size, x->object)));
}

static bool stays(const struct places_of *of, uint64_t hash)
{
	return !(hash & ((UINT64_C(1) << of->level) - 1)); /* itab goes by the upper half */
}

/* Drops the object's places that do not stay at this level. */
static void raise_level(struct memory_places *w, uint32_t object, uint8_t level)
{
	struct places_of *of = &w->of.v[object];
	uint32_t at = of->last;

	if (level <= of->level)
		return;
	of->level = level;
	of->last = 0;
	while (at) {
		struct memory_place *x = &w->v.v[at - 1];
		uint32_t before = x->before;

		if (stays(of, hash_of(x))) {
			x->before = of->last;
			of->last = at;
		} else {
			of->left_out += x->n.samples;
			x->n.samples = 0;
			of->n--;
		}
		at = before;
	}
}

/* NULL: it is one of those that are left out, and *out, or no memory. */
static struct memory_place *place_of(struct memory_places *w, const struct memory_place *key,
				     bool *out)
{
	struct places_of *of = &w->of.v[key->object];
	uint64_t h = hash_of(key);
	struct memory_place *x;
	uint32_t idx;

	*out = !stays(of, h);
	if (*out)
		return NULL;
	for (size_t i = itab_first(&w->at, h); itab_at(&w->at, &i, h, &idx);)
		if (same_place(&w->v.v[idx], key))
			return &w->v.v[idx];
	while (of->n >= PLACES_MOST && of->level < 32)
		raise_level(w, key->object, (uint8_t)(of->level + 1));
	*out = !stays(of, h);
	if (*out || w->v.n >= UINT32_MAX - 1 || itab_put(&w->at, h, w->v.n))
		return NULL;
	x = vec_add(&w->v);
	if (!x)
		return NULL;
	*x = *key;
	x->n = (struct memory_counts){ .samples = 0 };
	x->before = of->last;
	of->last = (uint32_t)w->v.n;
	of->n++;
	return x;
}

int memory_places_add_wanted(struct memory_places *w, uint32_t object, const struct memop *op,
			     const uint64_t access[2], uint64_t off, uint64_t size)
{
	struct places_of *of = &w->of.v[object];
	struct memory_place key = { .access = { access[0], access[1] },
				    .off = of->stride ? off % of->stride : off,
				    .size = of->stride ? 0 : size,
				    .object = object,
				    .width = op->width };
	struct memory_place *x;
	bool out;

	if (!(op->has & MEMOP_HAS_ADDRESS) || access[1] >> 32 > MEMORY_OTHER)
		return 0;
	x = place_of(w, &key, &out);
	if (!x) {
		of->left_out += out;
		return out ? 0 : -1;
	}
	memory_counts_take(&x->n, op);
	return 0;
}

/* ---- joining --------------------------------------------------------------------------------- */

int memory_places_join(struct memory_places *w, const struct memory_places *x, const uint32_t *to)
{
	for (uint32_t i = 0; i < x->of.n; i++) {
		if (reach(w, to[i]))
			return -1;
		w->of.v[to[i]].wanted |= x->of.v[i].wanted;
		w->of.v[to[i]].stride = x->of.v[i].stride;
		w->of.v[to[i]].left_out += x->of.v[i].left_out;
		raise_level(w, to[i], x->of.v[i].level);
	}
	vec_each (&x->v, const struct memory_place *, from) {
		struct memory_place key = *from, *p;
		bool out;

		if (!from->n.samples)
			continue;
		key.object = to[from->object];
		p = place_of(w, &key, &out);
		if (!p && !out)
			return -1;
		if (!p) {
			w->of.v[key.object].left_out += from->n.samples;
			continue;
		}
		memory_counts_add(&p->n, &from->n);
	}
	return 0;
}

void memory_places_rename(struct memory_places *w, const uint32_t *to)
{
	vec_each (&w->v, struct memory_place *, p)
		p->object = to[p->object];
	for (uint32_t i = 0; i < w->of.n; i++)
		w->of.v[i].object = to[i];
}

void memory_places_pack(struct memory_places *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->v.n; i++)
		if (w->v.v[i].n.samples)
			w->v.v[n++] = w->v.v[i];
	w->v.n = n;
}

void memory_places_free(struct memory_places *w)
{
	vec_free(&w->v);
	itab_free(&w->at);
	vec_free(&w->of);
}
