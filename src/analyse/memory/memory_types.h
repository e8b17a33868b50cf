/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_types - between the files of memory: the types of MEMORY_ACCESS groups.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_TYPES_H
#define CYCLADE_ANALYSE_MEMORY_TYPES_H

#include "analyse/memory.h"
#include "base/hash.h"

enum memory_access_kind {
	MEMORY_NO_ACCESS,
	MEMORY_LOAD,
	MEMORY_STORE,
	MEMORY_OTHER,
	MEMORY_FETCH, /* of instructions */
	MEMORY_FETCH_ABORTED,
};

/* key[1] of MEMORY_ACCESS */
static inline uint64_t memory_access_key(uint32_t image, enum memory_access_kind kind)
{
	return (uint64_t)kind << 32 | image;
}

static inline uint32_t memory_access_image(const struct memory_group *g)
{
	return (uint32_t)g->key[1];
}

static inline enum memory_access_kind memory_access_kind(const struct memory_group *g)
{
	return (enum memory_access_kind)(g->key[1] >> 32);
}

/* Returns true if a group of MEMORY_ACCESS is of fetches, which are of code. */
static inline bool memory_is_fetch(const struct memory_group *g)
{
	return g->by == MEMORY_ACCESS && memory_access_kind(g) >= MEMORY_FETCH;
}

static inline bool memory_is_of_data(const struct memory_group *g)
{
	return g->by == MEMORY_ACCESS && memory_access_kind(g) != MEMORY_NO_ACCESS &&
	       !memory_is_fetch(g);
}

/* memory_fetch.c: counts MEMORY_ACCESS groups that are fetches; `skip` of those that lie within an
 * instruction. */
int memory_place_fetches(struct images *set, struct memory_group *g, size_t n,
			 struct err *err) MUST_USE;
/* memory_layout.c; *out is the caller's to free. -1: out of memory. */
int memory_layouts(struct memory *m, struct memory_layout **out, size_t *n) MUST_USE;
/* Sets g->access and the numbers of its row. `before`: another one that has them, often of the same
 * row; NULL: none. */
int memory_type_group(struct images *set, struct memory_group *g, const struct memory_group *before,
		      struct strtab *names, struct err *err) MUST_USE;

#endif
