/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_places_int - places in objects that instructions access, for memory_objects.c: so that
 * samples whose instruction has no type get one by their address.
 *
 *	memory_places_meet(&p, object, o, images, &err)	a new object: whether it can have a type
 *	memory_places_add(&p, object, op, access, start, size)
 *	memory_places_join(&all, &p, to), memory_places_rename(&all, to)	as memory_walks
 *	memory_objects_type(objects, memory, &err)	when both are made (memory_places_fold.c)
 *	memory_places_free(&p)
 *
 * A place is an instruction and an offset, of a variable that its element begins at, of an
 * allocation that it begins at. Only variables with a type by debug information and allocations of
 * a site have places; all others cost a look at a flag. An object has PLACES_MOST of them at most;
 * samples at others are counted. Which ones stay depends on their hashes, not on the order of
 * samples, nor on how workers share these. Costs: 152 bytes a place.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_PLACES_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_PLACES_INT_H

#include "analyse/itab.h"
#include "analyse/memory_objects.h"
#include "base/vec.h"

#define PLACES_MOST 65536u

struct memory_place {
	uint64_t access[2]; /* key of MEMORY_ACCESS */
	uint64_t off;
	uint64_t size; /* of the allocation; 0: of a variable */
	uint32_t object;
	uint32_t before; /* 1 + index of the object's place before it; 0: none */
	uint8_t width;
	struct memory_counts n; /* known to walks: not counted; without samples: it was dropped */
};

/* The places of an object that was met. */
struct places_of {
	bool wanted;
	uint8_t level; /* so many bits of the hashes of its places are 0 */
	uint32_t object, n;
	uint32_t last;	 /* 1 + index of a place; 0: none */
	uint64_t stride; /* of a variable: the size of an element; 0: of a site */
	uint64_t left_out;
};

struct memory_places {
	VEC(struct memory_place) v;
	struct itab at;
	VEC(struct places_of) of;
};

static inline bool memory_places_has(const struct memory_places *w, uint32_t object)
{
	return object < w->of.n;
}

int memory_places_meet(struct memory_places *w, uint32_t object, const struct memory_object *o,
		       struct images *set, struct err *err) MUST_USE;
int memory_places_add_wanted(struct memory_places *w, uint32_t object, const struct memop *op,
			     const uint64_t access[2], uint64_t off, uint64_t size) MUST_USE;
/* start, size: of the variable or the allocation at the address. -1: out of memory, here and
 * below. */
static inline MUST_USE int memory_places_add(struct memory_places *w, uint32_t object,
					     const struct memop *op, const uint64_t access[2],
					     uint64_t start, uint64_t size)
{
	if (object >= w->of.n || !w->of.v[object].wanted)
		return 0;
	return memory_places_add_wanted(w, object, op, access, op->address - start, size);
}

int memory_places_join(struct memory_places *w, const struct memory_places *x,
		       const uint32_t *to) MUST_USE;
void memory_places_rename(struct memory_places *w, const uint32_t *to);
/* At the end: those that were dropped go. */
void memory_places_pack(struct memory_places *w);
void memory_places_free(struct memory_places *w);

/* Fills o->placed and o->type. */
int memory_objects_type(struct memory_objects *o, const struct memory *m, struct err *err) MUST_USE;

#endif
