/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "symbol/space/space_int.h"

/* Sorted by start; none overlaps another. Shared by processes until one changes its own. */
struct mappings {
	unsigned refs;
	VEC(struct map) map;
};

struct live_process {
	uint32_t pid, threads;
	uint32_t dying; /* rounds that it stays; 0: it lives */
	uint64_t generation;
	struct mappings *of; /* NULL: none */
	struct live_process *next_dying;
};

struct live_spaces {
	struct images *images;
	struct u64map by_pid; /* pid -> the newest process, or 0 */
	struct live_process *dying;
	uint64_t generation;
};

struct live_spaces *live_new(struct images *images, struct err *err)
{
	struct live_spaces *l = calloc(1, sizeof(*l));

	if (!l) {
		(void)err_nomem(err);
		return NULL;
	}
	l->images = images;
	return l;
}

static void drop_mappings(struct live_process *p)
{
	if (p->of && !--p->of->refs) {
		vec_free(&p->of->map);
		free(p->of);
	}
	p->of = NULL;
}

static void free_process(struct live_process *p)
{
	drop_mappings(p);
	free(p);
}

void live_free(struct live_spaces *l)
{
	uint64_t pid, *at;
	size_t i = 0;

	if (!l)
		return;
	while (u64map_next(&l->by_pid, &i, &pid, &at)) {
		struct live_process *p = (struct live_process *)(uintptr_t)*at;

		if (p && !p->dying)
			free_process(p);
	}
	while (l->dying) { /* the map may have these, too */
		struct live_process *next = l->dying->next_dying;

		free_process(l->dying);
		l->dying = next;
	}
	u64map_free(&l->by_pid);
	free(l);
}

struct images *live_images(const struct live_spaces *l)
{
	return l->images;
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct live_process *newest_process(const struct live_spaces *l, uint32_t pid)
{
	const uint64_t *at = u64map_find(&l->by_pid, pid);

	return at ? (struct live_process *)(uintptr_t)*at : NULL;
}

const struct live_process *live_process(const struct live_spaces *l, uint32_t pid)
{
	return newest_process(l, pid);
}

uint64_t live_generation(const struct live_process *p)
{
	return p->generation;
}

static void start_dying(struct live_spaces *l, struct live_process *p)
{
	p->dying = 2;
	p->next_dying = l->dying;
	l->dying = p;
}

/* A process of its own, in place of one that had the number before. NULL: out of memory. */
static struct live_process *begin_process(struct live_spaces *l, uint32_t pid, struct err *err)
{
	struct live_process *p = calloc(1, sizeof(*p)), *old;
	uint64_t *at = p ? u64map_at(&l->by_pid, pid, NULL) : NULL;

	if (!at) {
		free(p);
		(void)err_nomem(err);
		return NULL;
	}
	old = (struct live_process *)(uintptr_t)*at;
	if (old && !old->dying)
		start_dying(l, old);
	*p = (struct live_process){ .pid = pid, .threads = 1, .generation = ++l->generation };
	*at = (uint64_t)(uintptr_t)p;
	return p;
}

int live_fork(struct live_spaces *l, uint32_t pid, uint32_t ppid, struct err *err)
{
	struct live_process *parent = newest_process(l, ppid), *p;

	if (pid == ppid) {
		if (parent)
			parent->threads++;
		return 0;
	}
	p = begin_process(l, pid, err);
	if (!p)
		return -1;
	if (parent && parent->of) {
		p->of = parent->of;
		p->of->refs++;
	}
	return 0;
}

void live_exec(struct live_spaces *l, uint32_t pid)
{
	struct live_process *p = newest_process(l, pid);

	if (!p || p->dying)
		return;
	drop_mappings(p);
	p->threads = 1;
	p->generation = ++l->generation;
}

void live_exit(struct live_spaces *l, uint32_t pid)
{
	struct live_process *p = newest_process(l, pid);

	if (p && !p->dying && !--p->threads)
		start_dying(l, p);
}

void live_round(struct live_spaces *l)
{
	struct live_process **at = &l->dying;

	while (*at) {
		struct live_process *p = *at;
		uint64_t *newest;

		if (--p->dying) {
			at = &p->next_dying;
			continue;
		}
		*at = p->next_dying;
		newest = u64map_find(&l->by_pid, p->pid);
		if (newest && *newest == (uint64_t)(uintptr_t)p)
			*newest = 0;
		free_process(p);
	}
}

/* ---- mappings -------------------------------------------------------------------------------- */

/* The first mapping that ends above `at`. */
static size_t first_above(const struct mappings *of, uint64_t at)
{
	size_t lo = 0, hi = of->map.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (of->map.v[mid].end > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

const struct map *live_find(const struct live_process *p, uint64_t ip)
{
	size_t i = p->of ? first_above(p->of, ip) : 0;

	return p->of && i < p->of->map.n && p->of->map.v[i].start <= ip ? &p->of->map.v[i] : NULL;
}

/* Mappings that this process alone has. NULL: out of memory. */
static struct mappings *own_mappings(struct live_process *p)
{
	struct mappings *own;

	if (p->of && p->of->refs == 1)
		return p->of;
	own = calloc(1, sizeof(*own));
	if (!own)
		return NULL;
	own->refs = 1;
	if (p->of) {
		if (vec_reserve(&own->map, p->of->map.n + 2)) {
			free(own);
			return NULL;
		}
		memcpy(own->map.v, p->of->map.v, p->of->map.n * sizeof(*own->map.v));
		own->map.n = p->of->map.n;
		p->of->refs--;
	}
	p->of = own;
	return own;
}

/* Enters a mapping; older ones below it are cut. */
static int enter_mapping(struct mappings *of, const struct map *m)
{
	struct map keep[3];
	size_t first = first_above(of, m->start), last = first, n = 0;

	if (vec_reserve(&of->map, of->map.n + 2))
		return -1;
	while (last < of->map.n && of->map.v[last].start < m->end)
		last++;
	if (first < last && of->map.v[first].start < m->start) {
		keep[n] = of->map.v[first];
		keep[n++].end = m->start;
	}
	keep[n++] = *m;
	if (first < last && of->map.v[last - 1].end > m->end) {
		keep[n] = of->map.v[last - 1];
		if (!keep[n].absolute)
			keep[n].pgoff += m->end - keep[n].start;
		keep[n++].start = m->end;
	}
	memmove(of->map.v + first + n, of->map.v + last, (of->map.n - last) * sizeof(*of->map.v));
	memcpy(of->map.v + first, keep, n * sizeof(*keep));
	of->map.n += n - (last - first);
	return 0;
}

int live_map(struct live_spaces *l, const struct space_map_fact *f, struct err *err)
{
	struct live_process *p;
	struct mappings *of;
	struct map m;

	if (space_kind_of_misc(f->misc) != SPACE_USER || !f->len)
		return 0;
	if (space_map_of(l->images, f, &m, err))
		return -1;
	p = newest_process(l, f->pid);
	if (!p || p->dying)
		p = begin_process(l, f->pid, err);
	if (!p)
		return -1;
	of = own_mappings(p);
	if (!of || enter_mapping(of, &m))
		return err_nomem(err);
	p->generation = ++l->generation;
	return 0;
}
