/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash - mixing, random numbers, a u64 -> u64 table, and a string table (each different string gets
 * a small id).
 *
 * Ids count from 0 in order of first sight and are stable for the table's life; id 0 of a strtab is
 * always the empty string. Neither is safe for two writers at once; reading in parallel is fine
 * once writing has stopped.
 */
#ifndef CYCLADE_BASE_HASH_H
#define CYCLADE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* A full-avalanche mix of 64 bits (the finaliser of MurmurHash3). */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return x;
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(a ^ hash_u64(b + 0x9e3779b97f4a7c15ULL));
}

/* The next of a row of random numbers (splitmix64); any state is a good seed. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* XXH3 of bytes. */
uint64_t hash_bytes(const void *p, size_t len);

/* u64 -> u64, open addressing, no deletion. */
struct u64map {
	struct u64map_slot *slot;
	size_t n, cap;
};

#define U64MAP_INIT        \
	{                  \
		NULL, 0, 0 \
	}

/* The place of the value under `key`, or NULL. Valid until the next u64map_at. */
uint64_t *u64map_find(const struct u64map *m, uint64_t key);
/* The same, put in with value 0 if it was absent (then *fresh; may be NULL). NULL: memory. */
uint64_t *u64map_at(struct u64map *m, uint64_t key, bool *fresh) MUST_USE;
/* Steps through all of them, from *i 0 on, in no order. False: there is none left. */
bool u64map_next(const struct u64map *m, size_t *i, uint64_t *key, uint64_t **value);
void u64map_free(struct u64map *m);

#define STR_NONE UINT32_MAX

struct strtab {
	struct arena arena;
	const char **str; /* by id */
	uint64_t *slot;	  /* upper half: of the hash; lower half: id + 1, 0 if empty */
	size_t n, cap, nslot;
};

#define STRTAB_INIT                             \
	{                                       \
		ARENA_INIT, NULL, NULL, 0, 0, 0 \
	}

/* The id of `len` bytes (copied; an embedded NUL ends them), STR_NONE when out of memory. */
uint32_t strtab_add(struct strtab *t, const char *s, size_t len) MUST_USE;
uint32_t strtab_adds(struct strtab *t, const char *s) MUST_USE;
/* The id of a string that is there already, or STR_NONE. */
uint32_t strtab_find(const struct strtab *t, const char *s);
const char *strtab_get(const struct strtab *t, uint32_t id); /* "" for an id it never gave */
void strtab_free(struct strtab *t);

#endif
