/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_layout - which fields of a structure are hot, and how many cache lines they would need by
 * themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/memory/memory_types.h"
#include "base/invariant.h"

enum {
	LINE = 64,
	OBJECTS = 64, /* one behind the other: all alignments that they have come up */
	LEAST = 30,   /* samples of a type */
};

#define HOT 0.95 /* of the samples of a type */

static bool is_whole(const struct types_access *a)
{
	return !*a->field || strstr(a->field, "[]") || !a->size;
}

/* The fields of each type, most samples first: 1 + their numbers, 0 behind the last. */
struct fields {
	const struct memory_group *group;
	uint32_t *first, *next; /* by type; by field */
	uint32_t types;
};

static void free_fields(struct fields *f)
{
	free(f->first);
	free(f->next);
}

static int find_fields(const struct memory *m, struct fields *f)
{
	size_t n = m->first[MEMORY_FIELD + 1] - m->first[MEMORY_FIELD];

	*f = (struct fields){ .group = &m->group[m->first[MEMORY_FIELD]] };
	for (size_t i = 0; i < n; i++)
		if (f->group[i].type_id >= f->types)
			f->types = f->group[i].type_id + 1;
	f->first = calloc(f->types + 1, sizeof(*f->first));
	f->next = calloc(n + 1, sizeof(*f->next));
	if (!f->first || !f->next || n >= UINT32_MAX)
		return -1;
	for (size_t i = n; i-- > 0;) {
		uint32_t *first = &f->first[f->group[i].type_id];

		f->next[i] = *first;
		*first = (uint32_t)i + 1;
	}
	return 0;
}

/* The hot fields of a type: the fewest that have HOT of its samples. Returns false if they are not
 * known. */
static bool find_hot(const struct fields *f, struct memory_layout *l)
{
	uint32_t type = l->type->type_id;

	for (uint32_t i = type < f->types ? f->first[type] : 0; i; i = f->next[i - 1]) {
		const struct memory_group *g = &f->group[i - 1];

		if ((double)l->hot_samples >= HOT * (double)l->type->samples)
			break;
		if (is_whole(&g->access) || l->n_hot == MEMORY_HOT)
			return false;
		l->hot_samples += g->samples;
		l->hot[l->n_hot++] = g;
	}
	return l->n_hot != 0;
}

/* Bytes of hot fields: those of a union lie one over the other. -1: out of memory. */
static int count_bytes(struct memory_layout *l, uint64_t size)
{
	uint8_t *hot = calloc(size, 1);

	if (!hot)
		return -1;
	for (size_t k = 0; k < l->n_hot; k++)
		for (uint64_t i = 0; i < l->hot[k]->access.size; i++)
			if (l->hot[k]->access.offset + i < size)
				hot[l->hot[k]->access.offset + i] = 1;
	for (uint64_t i = 0; i < size; i++)
		l->hot_bytes += hot[i];
	free(hot);
	return 0;
}

/* Returns the alignment of the field, as far as it follows from its place. */
static uint64_t alignment(const struct memory_group *g)
{
	uint64_t bits = g->access.size | g->access.offset | 16;

	return bits & -bits;
}

/* Those of the largest alignment first, so that there are no gaps; of these the hottest. */
static void find_order(struct memory_layout *l)
{
	size_t n = 0;

	for (uint64_t align = 16; align; align /= 2)
		for (size_t k = 0; k < l->n_hot; k++)
			if (alignment(l->hot[k]) == align)
				l->order[n++] = k;
	assert(n == l->n_hot);
}

/* Lines of OBJECTS objects, `stride` bytes apart, that have a byte of these fields; or of as many
 * bytes at their beginning. */
static double lines_of(const struct memory_layout *l, uint64_t stride, bool first)
{
	uint64_t lines = 0, last = UINT64_MAX;
	size_t n = first ? 1 : l->n_hot;

	/* each line counts when it is met first: those of an object follow one another */
	for (uint64_t line = 0; line <= OBJECTS * stride / LINE; line++) {
		uint64_t from = line * LINE, until = from + LINE;

		for (uint64_t o = from / stride > 1 ? from / stride - 1 : 0;
		     o <= until / stride && o < OBJECTS && last != line; o++)
			for (size_t k = 0; k < n; k++) {
				const struct types_access *a = &l->hot[k]->access;
				uint64_t at = o * stride + (first ? 0 : a->offset);

				if (at < until && at + (first ? l->hot_bytes : a->size) > from)
					last = line;
			}
		lines += last == line;
	}
	return (double)lines / OBJECTS;
}

int memory_layouts(struct memory *m, struct memory_layout **out, size_t *n)
{
	size_t types = m->first[MEMORY_TYPE + 1] - m->first[MEMORY_TYPE];
	struct memory_layout *v = calloc(types + 1, sizeof(*v));
	struct fields f = { 0 };
	int rc = -1;

	*out = v;
	*n = 0;
	if (!v || find_fields(m, &f))
		goto out;
	for (size_t i = 0; i < types; i++) {
		struct memory_layout l = { .type = &m->group[m->first[MEMORY_TYPE] + i] };
		uint64_t size = l.type->access.type_size;

		if (l.type->access.why != TYPES_KNOWN || l.type->samples < LEAST || size < 16 ||
		    size > 65536 || !find_hot(&f, &l))
			continue;
		if (count_bytes(&l, size))
			goto out;
		find_order(&l);
		l.lines = lines_of(&l, size, false);
		l.lines_order = lines_of(&l, size, true);
		l.used = (double)l.hot_bytes / (l.lines * LINE);
		/* by themselves, as aligned as the longest of them can need */
		l.lines_split = (double)((l.hot_bytes + 7) / 8 * 8) / LINE;
		assert(l.hot_samples <= l.type->samples && l.lines > 0 && l.used <= 1);
		v[(*n)++] = l;
	}
	rc = 0;
out:
	free_fields(&f);
	return rc;
}
