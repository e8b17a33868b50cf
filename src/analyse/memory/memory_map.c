/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_map_int.h"

#include <stdlib.h>

#include "analyse/pass.h"
#include "base/hash.h"
#include "base/invariant.h"

#define PAGE 12 /* bits of an address within it */

static uint8_t column_of(const struct memory_map_work *w, uint64_t time)
{
	double span = (double)(w->last - w->first) + 1;

	if (time <= w->first)
		return 0;
	if (time >= w->last)
		return MEMORY_MAP_TIMES - 1;
	return (uint8_t)((double)(time - w->first) * MEMORY_MAP_TIMES / span);
}

static int add_cell(struct memory_map_work *w, const struct map_cell *x)
{
	uint64_t h = hash_pair(x->page << 8 | x->at, (uint64_t)x->pid << 32 | x->tid);
	uint32_t idx;

	for (size_t i = itab_first(&w->place, h); itab_at(&w->place, &i, h, &idx);) {
		struct map_cell *c = &w->cell.v[idx];

		if (c->page != x->page || c->pid != x->pid || c->tid != x->tid || c->at != x->at)
			continue;
		c->samples += x->samples;
		c->stores += x->stores;
		if (x->first < c->first) {
			c->first = x->first;
			c->object = x->object;
		}
		return 0;
	}
	return w->cell.n >= UINT32_MAX - 1 || itab_put(&w->place, h, w->cell.n) ||
			       vec_push(&w->cell, *x)
		       ? -1
		       : 0;
}

int memory_map_add(struct memory_map_work *w, uint32_t object, const struct memop *op,
		   uint64_t task, uint64_t time, uint64_t at)
{
	if (!w->on || !(op->has & MEMOP_HAS_ADDRESS))
		return 0;
	return add_cell(w,
			&(struct map_cell){ .page = op->address >> PAGE,
					    .pid = op->address >> 63 ? 0 : task_pid(task),
					    .tid = task_tid(task),
					    .object = object,
					    .at = column_of(w, time),
					    .samples = 1,
					    .stores = (op->set[MEMOP_KIND] & MEMOP_KIND_STORE) != 0,
					    .first = at });
}

int memory_map_join(struct memory_map_work *w, const struct memory_map_work *x, const uint32_t *to)
{
	vec_each (&x->cell, const struct map_cell *, from) {
		struct map_cell c = *from;

		c.object = to[c.object];
		if (add_cell(w, &c))
			return -1;
	}
	return 0;
}

void memory_map_rename(struct memory_map_work *w, const uint32_t *to)
{
	vec_each (&w->cell, struct map_cell *, c)
		c->object = to[c->object];
}

void memory_map_free(struct memory_map_work *w)
{
	vec_free(&w->cell);
	itab_free(&w->place);
	vec_free(&w->region);
	vec_free(&w->row);
}

/* ---- regions --------------------------------------------------------------------------------- */

static int by_page(const void *a, const void *b)
{
	const struct map_cell *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->at - y->at;
}

static int by_samples(const void *a, const void *b)
{
	const struct memory_region *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* Two neighbours of which one is large enough to be a region by itself. */
static bool apart(const struct memory_objects *o, uint32_t a, uint32_t b)
{
	const struct memory_object *x = &o->object[a], *y = &o->object[b];

	return a != b && ((!x->why && x->data.size >= MEMORY_MAP_LARGE) ||
			  (!y->why && y->data.size >= MEMORY_MAP_LARGE));
}

/* The cells of a region; kept in the members of its rows until rows are made. */
static int find_regions(struct memory_map_work *w, const struct memory_objects *o)
{
	for (size_t i = 0; i < w->cell.n; i++) {
		const struct map_cell *c = &w->cell.v[i];
		struct memory_region *r = w->region.n ? vec_last(&w->region) : NULL;
		uint64_t start = c->page << PAGE;

		if (!r || r->pid != c->pid ||
		    (start >= r->end &&
		     (start - r->end > MEMORY_MAP_GAP || apart(o, c[-1].object, c->object)))) {
			r = vec_add(&w->region);
			if (!r)
				return -1;
			*r = (struct memory_region){
				.pid = c->pid, .start = start, .end = start, .first_row = i
			};
		}
		r->pages += start + (1 << PAGE) != r->end;
		r->end = start + (1 << PAGE);
		r->samples += c->samples;
		r->stores += c->stores;
		r->n_rows++;
	}
	vec_sort(&w->region, by_samples);
	return 0;
}

/* ---- contents of one
 * -------------------------------------------------------------------------- */

struct thread_sum {
	uint32_t id; /* of a thread, or an object */
	uint64_t samples;
};

static int by_id(const void *a, const void *b)
{
	const struct thread_sum *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_weight(const void *a, const void *b)
{
	const struct thread_sum *x = a, *y = b;

	return x->samples != y->samples ? (x->samples > y->samples ? -1 : 1) : by_id(a, b);
}

/* Joins equal ids, most samples first; returns how many there are. */
static size_t sum_ids(struct thread_sum *v, size_t n)
{
	size_t kept = 0;

	qsort(v, n, sizeof(*v), by_id);
	for (size_t i = 0; i < n; i++) {
		if (kept && v[kept - 1].id == v[i].id)
			v[kept - 1].samples += v[i].samples;
		else
			v[kept++] = v[i];
	}
	qsort(v, kept, sizeof(*v), by_weight);
	return kept;
}

/* A row of each address and thread that has samples. */
static int add_rows(struct memory_map_work *w, struct memory_region *r, uint32_t number,
		    const struct map_cell *c, size_t n, const struct thread_sum *thread)
{
	uint64_t pages = (r->end - r->start) >> PAGE;
	uint64_t step = (pages + MEMORY_MAP_ROWS - 1) / MEMORY_MAP_ROWS;
	struct memory_map_row row[MEMORY_MAP_THREADS + 1];
	uint64_t at = UINT64_MAX;

	r->first_row = w->row.n;
	for (size_t i = 0; i <= n; i++) {
		uint64_t k = i < n ? (c[i].page - (r->start >> PAGE)) / step : UINT64_MAX;
		size_t t = 0;

		for (size_t x = 0; k != at && at != UINT64_MAX && x <= MEMORY_MAP_THREADS; x++)
			if (row[x].samples && vec_push(&w->row, row[x]))
				return -1;
		if (i == n)
			break;
		for (size_t x = 0; k != at && x <= MEMORY_MAP_THREADS; x++) {
			uint64_t from = r->start + ((k * step) << PAGE);

			row[x] = (struct memory_map_row){
				.region = number,
				.tid = x < MEMORY_MAP_THREADS ? thread[x].id : 0,
				.address = from,
				.size = from + (step << PAGE) < r->end ? step << PAGE
								       : r->end - from,
			};
		}
		at = k;
		while (t < MEMORY_MAP_THREADS && thread[t].id != c[i].tid)
			t++;
		row[t].samples += c[i].samples;
		row[t].at[c[i].at] += c[i].samples;
	}
	r->n_rows = w->row.n - r->first_row;
	return 0;
}

static int fill_region(struct memory_map_work *w, struct memory_region *r, uint32_t number)
{
	const struct map_cell *c = &w->cell.v[r->first_row];
	struct thread_sum first[MEMORY_MAP_THREADS] = { { 0, 0 } };
	size_t n = r->n_rows;
	struct thread_sum *v = calloc(n + 1, sizeof(*v));
	int ret = 0;

	if (!v)
		return -1;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct thread_sum){ c[i].object, c[i].samples };
	(void)sum_ids(v, n);
	r->object = v[0].id;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct thread_sum){ c[i].tid, c[i].samples };
	r->threads = sum_ids(v, n);
	for (size_t i = 0; i < MEMORY_MAP_THREADS; i++)
		first[i] = i < r->threads ? v[i] : (struct thread_sum){ UINT32_MAX, 0 };
	free(v);
	r->n_rows = r->first_row = 0;
	if (number < MEMORY_MAP_REGIONS)
		ret = add_rows(w, r, number, c, n, first);
	return ret;
}

int memory_map_fold(struct memory_map_work *w, struct memory_objects *o)
{
	vec_sort(&w->cell, by_page);
	if (find_regions(w, o))
		return -1;
	for (size_t i = 0; i < w->region.n; i++)
		if (fill_region(w, &w->region.v[i], (uint32_t)i))
			return -1;
	o->map = (struct memory_map){ .region = w->region.v,
				      .row = w->row.v,
				      .n = w->region.n,
				      .n_rows = w->row.n,
				      .first = w->first,
				      .last = w->last };
	return 0;
}
