/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_fold - classes into sources, TLB and the like, accesses into instructions, these into
 * functions and lines.
 */
#include "analyse/memory/memory_int.h"

#include "analyse/memory/memory_types.h"
#include "analyse/pass.h"
#include "base/hash.h"
#include "symbol/source.h"

/* ---- classes --------------------------------------------------------------------------------- */

#define BYTE(at) (UINT64_C(0xff) << (at))
#define PAIR(at) (UINT64_C(3) << (at))

static const uint64_t class_parts[] = {
	[MEMORY_ALL] = 0,
	[MEMORY_SOURCE] = BYTE(AT_KIND) | BYTE(AT_LEVEL) | BYTE(AT_WHERE) | PAIR(AT_HIT),
	[MEMORY_TLB] = BYTE(AT_TLB),
	[MEMORY_SNOOP] = BYTE(AT_SNOOP),
	[MEMORY_LOCK] = PAIR(AT_LOCK),
	[MEMORY_BLOCK] = BYTE(AT_BLOCK),
};

void memory_op(struct memop *op, const struct memory_group *g)
{
	uint64_t key = g->key[0];
	unsigned hit = key >> AT_HIT & 3, lock = key >> AT_LOCK & 3;

	*op = (struct memop){ .level = (uint8_t)(key >> AT_LEVEL),
			      .where = (uint8_t)(key >> AT_WHERE),
			      .hit = hit == 2,
			      .locked = lock == 2,
			      .has = (hit ? (uint32_t)MEMOP_HAS_HIT : 0) |
				     (lock ? (uint32_t)MEMOP_HAS_LOCKED : 0) };
	op->set[MEMOP_KIND] = (uint8_t)(key >> AT_KIND);
	op->set[MEMOP_SNOOP] = (uint8_t)(key >> AT_SNOOP);
	op->set[MEMOP_TLB] = (uint8_t)(key >> AT_TLB);
	op->set[MEMOP_BLOCK] = (uint8_t)(key >> AT_BLOCK);
}

uint32_t memory_pid(const struct memory_group *g)
{
	return task_pid(g->key[0]);
}

uint32_t memory_tid(const struct memory_group *g)
{
	return task_tid(g->key[0]);
}

const char *memory_comm(const struct spaces *sp, const struct memory_group *g,
			char text[MEMORY_COMM])
{
	_Static_assert(MEMORY_COMM == COMM_TEXT, "the pass' texts");
	return pass_comm_text(sp, g->key[1], text);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Adds a new one; returns NULL when out of memory. */
static struct memory_group *add_group(struct memory_work *w, enum memory_by by, uint64_t a,
				      uint64_t b)
{
	struct memory_group *g;

	if (w->group.n >= MEMORY_NONE - 1 || vec_push(&w->first, MEMORY_NONE))
		return NULL;
	g = vec_add(&w->group);
	if (g)
		*g = (struct memory_group){ .by = by,
					    .key = { a, b },
					    .place = (uint32_t)w->group.n - 1 };
	return g;
}

static struct memory_group *group_of(struct memory_work *w, enum memory_by by, uint64_t a,
				     uint64_t b)
{
	uint64_t h = hash_pair(a, b << 8 | by);
	uint32_t idx;

	for (size_t i = itab_first(&w->group_at, h); itab_at(&w->group_at, &i, h, &idx);) {
		struct memory_group *g = &w->group.v[idx];

		if (g->by == by && g->key[0] == a && g->key[1] == b)
			return g;
	}
	return itab_put(&w->group_at, h, w->group.n) ? NULL : add_group(w, by, a, b);
}

/* A load that misses is itself an open miss: 0 everywhere is a CPU that does not count them. */
static bool counts_open(const struct memory_work *w)
{
	vec_each (&w->c.v, const struct memory_tally *, t)
		if (t->open_sum)
			return true;
	return false;
}

/* Groups that were counted stand first: their place is that of their tally. */
static int take_tallies(struct memory_work *w)
{
	const bool open = counts_open(w);

	/* room for the folded groups, too: there are fewer of these */
	if (vec_reserve(&w->group, 2 * w->c.v.n + 1))
		return -1;
	vec_each (&w->c.v, const struct memory_tally *, t) {
		struct memory_group *g = add_group(w, t->by, t->key[0], t->key[1]);

		if (!g)
			return -1;
		g->loads = t->kind[MEMOP_KIND_LOAD] + t->kind[3];
		g->stores = t->kind[MEMOP_KIND_STORE] + t->kind[3];
		g->samples = t->kind[0] + t->kind[MEMOP_KIND_LOAD] + g->stores;
		if (open)
			g->open = (struct memory_open){ t->open, (double)t->open_sum,
							(double)t->open_squares };
	}
	return 0;
}

static void add_samples(struct memory_group *g, const struct memory_group *x)
{
	g->samples += x->samples;
	g->loads += x->loads;
	g->stores += x->stores;
	g->fetches += x->fetches;
	g->fetches_inside += x->fetches_inside;
	g->fetches_aborted += x->fetches_aborted;
	g->open.n += x->open.n;
	g->open.sum += x->open.sum;
	g->open.squares += x->open.squares;
}

/* ---- folding --------------------------------------------------------------------------------- */

/* Sets the key of the group of `by` that a group is a part of; returns false if there is none. */
static bool part_of(const struct memory_group *g, enum memory_by by, uint64_t key[2])
{
	if (by == MEMORY_FUNCTION) {
		key[0] = g->symbol ? g->symbol->start : UINT64_MAX;
		key[1] = g->key[1];
		return g->by == MEMORY_INSTRUCTION;
	}
	if (by == MEMORY_LINE) {
		key[0] = (uint64_t)g->first_spread << 32 | g->line;
		key[1] = g->key[1];
		return g->by == MEMORY_INSTRUCTION && g->file;
	}
	if (by == MEMORY_FILE) {
		key[0] = (uint32_t)g->key[1];
		key[1] = 0;
		return g->by == MEMORY_INSTRUCTION;
	}
	if (by == MEMORY_INSTRUCTION) {
		key[0] = g->key[0] - g->skip;
		key[1] = (uint32_t)g->key[1];
		return g->by == MEMORY_ACCESS;
	}
	key[0] = by == MEMORY_TYPE ? g->type_id : g->field_id;
	key[1] = 0;
	if (by == MEMORY_TYPE || by == MEMORY_FIELD)
		return memory_is_of_data(g);
	key[0] = g->key[0] & class_parts[by];
	return g->by == MEMORY_CLASS && (by == MEMORY_ALL || !(g->key[0] >> AT_NO_ACCESS & 1));
}

static int fold(struct memory_work *w, enum memory_by by)
{
	size_t n = w->group.n;

	for (size_t i = 0; i < n; i++) {
		const struct memory_group *x;
		struct memory_group *g;
		uint64_t key[2];

		if (!part_of(&w->group.v[i], by, key))
			continue;
		g = group_of(w, by, key[0], key[1]);
		if (!g ||
		    vec_push(&w->part, ((struct memory_part){ (uint32_t)i, w->first.v[g->place] })))
			return -1;
		x = &w->group.v[i];
		w->first.v[g->place] = (uint32_t)w->part.n - 1;
		add_samples(g, x);
		g->symbol = x->symbol;
		g->file = x->file;
		g->line = x->line;
		g->access = x->access;
		g->type_id = x->type_id;
	}
	return 0;
}

int memory_fold(struct memory_work *w, struct err *err)
{
	static const enum memory_by from_classes[] = { MEMORY_ALL,   MEMORY_SOURCE, MEMORY_TLB,
						       MEMORY_SNOOP, MEMORY_LOCK,   MEMORY_BLOCK };

	if (take_tallies(w))
		return err_nomem(err);
	if (memory_place_fetches(spaces_images(w->spaces), w->group.v, w->group.n, err))
		return -1;
	if (fold(w, MEMORY_INSTRUCTION))
		return err_nomem(err);
	if (memory_name_groups(w, err))
		return -1;
	for (size_t i = 0; i < sizeof(from_classes) / sizeof(*from_classes); i++)
		if (fold(w, from_classes[i]))
			return err_nomem(err);
	return fold(w, MEMORY_FUNCTION) || fold(w, MEMORY_LINE) || fold(w, MEMORY_TYPE) ||
			       fold(w, MEMORY_FIELD) || (w->files_too && fold(w, MEMORY_FILE))
		       ? err_nomem(err)
		       : 0;
}
