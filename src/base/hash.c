/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/invariant.h"
#include "base/nomem.h"

uint64_t hash_bytes(const void *p, size_t len)
{
	return XXH3_64bits(p, len);
}

struct u64map_slot {
	uint64_t key, value;
	bool used;
};

static struct u64map_slot *probe(const struct u64map *m, uint64_t key)
{
	size_t i = (size_t)hash_u64(key) & (m->cap - 1);

	assert(m->n < m->cap && !(m->cap & (m->cap - 1))); /* a free slot ends the search */

	while (m->slot[i].used && m->slot[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

uint64_t *u64map_find(const struct u64map *m, uint64_t key)
{
	struct u64map_slot *s;

	if (!m->n)
		return NULL;
	s = probe(m, key);
	return s->used ? &s->value : NULL;
}

static int u64map_grow(struct u64map *m)
{
	struct u64map old = *m;
	struct u64map bigger = { NULL, old.n, old.cap ? old.cap * 2 : 16 };

	bigger.slot = calloc(bigger.cap, sizeof(*bigger.slot));
	if (!bigger.slot) {
		nomem_note();
		return -1;
	}
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i].used)
			*probe(&bigger, old.slot[i].key) = old.slot[i];
	free(old.slot);
	*m = bigger;
	return 0;
}

uint64_t *u64map_at(struct u64map *m, uint64_t key, bool *fresh)
{
	struct u64map_slot *s;

	if (m->n * 4 >= m->cap * 3 && u64map_grow(m))
		return NULL;
	s = probe(m, key);
	if (fresh)
		*fresh = !s->used;
	if (!s->used) {
		s->used = true;
		s->key = key;
		s->value = 0;
		m->n++;
	}
	return &s->value;
}

bool u64map_next(const struct u64map *m, size_t *i, uint64_t *key, uint64_t **value)
{
	for (; *i < m->cap; ++*i) {
		struct u64map_slot *s = &m->slot[*i];

		if (!s->used)
			continue;
		*key = s->key;
		*value = &s->value;
		++*i;
		return true;
	}
	return false;
}

void u64map_free(struct u64map *m)
{
	free(m->slot);
	m->slot = NULL;
	m->n = m->cap = 0;
}

static size_t first_slot(const struct strtab *t, uint64_t hash)
{
	return (size_t)(hash >> 32) & (t->nslot - 1);
}

/* Strings are not looked at: their hashes are in the slots. */
static int strtab_rehash(struct strtab *t, size_t nslot)
{
	struct strtab bigger = *t;

	assert(nslot > t->n && !(nslot & (nslot - 1)));
	bigger.slot = calloc(nslot, sizeof(*bigger.slot));
	bigger.nslot = nslot;
	if (!bigger.slot) {
		nomem_note();
		return -1;
	}
	for (size_t k = 0; k < t->nslot; k++) {
		size_t i = first_slot(&bigger, t->slot[k]);

		if (!t->slot[k])
			continue;
		while (bigger.slot[i])
			i = (i + 1) & (nslot - 1);
		bigger.slot[i] = t->slot[k];
	}
	free(t->slot);
	*t = bigger;
	return 0;
}

static uint32_t add_raw(struct strtab *t, const char *s, size_t len)
{
	uint64_t hash = hash_bytes(s, len) >> 32 << 32;
	size_t i;
	char *copy;

	if (t->n >= STR_NONE - 1)
		return STR_NONE;
	if ((t->n + 1) * 4 > t->nslot * 3 && strtab_rehash(t, t->nslot ? t->nslot * 2 : 64))
		return STR_NONE;
	for (i = first_slot(t, hash); t->slot[i]; i = (i + 1) & (t->nslot - 1)) {
		uint32_t id = (uint32_t)t->slot[i] - 1;

		if (t->slot[i] >> 32 == hash >> 32 && !strncmp(t->str[id], s, len) &&
		    !t->str[id][len])
			return id;
	}
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 64;
		const char **str = realloc((void *)t->str, cap * sizeof(*str));

		if (!str) {
			nomem_note();
			return STR_NONE;
		}
		t->str = str;
		t->cap = cap;
	}
	copy = arena_strndup(&t->arena, s, len);
	if (!copy)
		return STR_NONE;
	assert(!t->slot[i] && t->n < t->cap);
	t->str[t->n] = copy;
	t->slot[i] = hash | (uint32_t)(t->n + 1);
	return (uint32_t)t->n++;
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t len)
{
	if (!t->n && add_raw(t, "", 0) == STR_NONE)
		return STR_NONE;
	return add_raw(t, s, strnlen(s, len));
}

uint32_t strtab_adds(struct strtab *t, const char *s)
{
	return strtab_add(t, s, strlen(s));
}

uint32_t strtab_find(const struct strtab *t, const char *s)
{
	uint64_t hash;
	size_t i;

	if (!t->nslot)
		return STR_NONE;
	hash = hash_bytes(s, strlen(s));
	for (i = first_slot(t, hash); t->slot[i]; i = (i + 1) & (t->nslot - 1)) {
		uint32_t id = (uint32_t)t->slot[i] - 1;

		if (t->slot[i] >> 32 == hash >> 32 && !strcmp(t->str[id], s))
			return id;
	}
	return STR_NONE;
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return id < t->n ? t->str[id] : "";
}

void strtab_free(struct strtab *t)
{
	arena_free(&t->arena);
	free((void *)t->str);
	free(t->slot);
	memset(t, 0, sizeof(*t));
}
