/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory_objects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/memory/memory_objects_int.h"
#include "analyse/memory/memory_sites_int.h"
#include "base/invariant.h"

/* ---- counts -------------------------------------------------------------------------------- */

static void add_counts(struct memory_counts *to, const struct memory_counts *n)
{
	to->samples += n->samples;
	to->loads += n->loads;
	to->stores += n->stores;
	to->known += n->known;
	to->missed += n->missed;
	to->remote += n->remote;
	to->walks += n->walks;
	to->timed += n->timed;
	to->cycles += n->cycles;
	to->squares += n->squares;
}

/* Returns the counts of a stratum's samples: all of them are of one kind and source. */
static struct memory_counts counts_of(const struct memory_object_source *s,
				      const struct memory_stratum *x)
{
	const struct walk_sum *with = &x->walk[1], *without = &x->walk[0];
	struct memory_counts n = { .samples = with->n + without->n,
				   .walks = with->n,
				   .timed = with->timed + without->timed,
				   .cycles = with->cycles + without->cycles,
				   .squares = with->squares + without->squares };
	struct memop op;
	bool load = s->kind & MEMOP_KIND_LOAD, told = load && s->level != MEMOP_LEVEL_UNKNOWN;

	memory_object_op(&op, s);
	n.loads = load ? n.samples : 0;
	n.stores = s->kind & MEMOP_KIND_STORE ? n.samples : 0;
	n.known = told ? n.samples : 0;
	if (told && (s->level != MEMOP_LEVEL_L1 || s->where || (s->told && !s->hit)))
		n.missed = n.samples;
	if (told && memop_remote(&op))
		n.remote = n.samples;
	return n;
}

/* ---- objects ------------------------------------------------------------------------------- */

static bool same_object(const struct memory_object *o, const struct memory_object *x)
{
	if (o->why || x->why)
		return o->why == x->why && o->data.kind == x->data.kind;
	if (o->data.kind == DATA_STACK)
		return o->pid == x->pid && o->data.tid == x->data.tid;
	/* the files and variables of several processes are one */
	if (o->data.image != IMAGE_NONE && !o->data.variable)
		return o->data.kind == x->data.kind && o->data.image == x->data.image &&
		       !x->data.variable;
	if (o->data.variable)
		return o->data.variable == x->data.variable;
	return data_same_object(&o->data, &x->data);
}

static uint64_t hash_of(const struct memory_object *x)
{
	const struct data_place *d = &x->data;

	if (x->why)
		return hash_pair((uintptr_t)x->why, d->kind);
	if (d->kind == DATA_STACK)
		return hash_pair(d->tid, (uint64_t)x->pid << 8 | d->kind);
	if (d->variable || d->site)
		return hash_pair((uintptr_t)d->variable, (uintptr_t)d->site);
	return hash_pair(d->image, d->kind);
}

uint32_t memory_object_of(struct objects_part *w, const struct memory_object *x)
{
	uint64_t h = hash_of(x);
	uint32_t idx;

	for (size_t i = itab_first(&w->object_at, h); itab_at(&w->object_at, &i, h, &idx);)
		if (same_object(&w->object.v[idx], x))
			return idx;
	if (w->object.n >= UINT32_MAX - 1 || itab_put(&w->object_at, h, w->object.n) ||
	    vec_push(&w->object, *x) || vec_push(&w->seen, 0))
		return UINT32_MAX;
	return (uint32_t)w->object.n - 1;
}

static struct memory_object_source *source_of(struct memory_objects_work *w,
					      const struct memory_stratum *s)
{
	unsigned hit = s->key[1] & 3;
	struct memory_object_source x = { .object = s->object,
					  .kind = (uint8_t)(s->key[0] >> 16),
					  .level = (uint8_t)(s->key[0] >> 8),
					  .where = (uint8_t)s->key[0],
					  .told = hit,
					  .hit = hit == 2 };
	uint64_t h = hash_pair(s->key[0], hit);
	uint32_t idx;

	for (size_t i = itab_first(&w->source_at, h); itab_at(&w->source_at, &i, h, &idx);) {
		struct memory_object_source *o = &w->source.v[idx];

		if (o->object == x.object && o->kind == x.kind && o->level == x.level &&
		    o->where == x.where && o->told == x.told && o->hit == x.hit)
			return o;
	}
	if (w->source.n >= UINT32_MAX - 1 || itab_put(&w->source_at, h, w->source.n) ||
	    vec_push(&w->source, x))
		return NULL;
	return vec_last(&w->source);
}

/* Strata are of one page size each; sources, objects and all of them are their sums. */
static int sum_strata(struct memory_objects *o)
{
	struct memory_objects_work *w = o->work;
	struct objects_part *part = w->part;

	vec_each (&part->walks.v, const struct memory_stratum *, s) {
		struct memory_object_source *source = source_of(w, s);
		struct memory_counts n;

		if (!source)
			return -1;
		n = counts_of(source, s);
		add_counts(&source->n, &n);
		add_counts(&part->object.v[s->object].n, &n);
		add_counts(&o->all, &n);
	}
	return 0;
}

/* ---- begin, end ------------------------------------------------------------------------- */

static int by_samples(const void *a, const void *b)
{
	const struct memory_object *x = a, *y = b;

	if (x->n.samples != y->n.samples)
		return x->n.samples > y->n.samples ? -1 : 1;
	if (x->data.kind != y->data.kind)
		return x->data.kind < y->data.kind ? -1 : 1;
	if (x->least != y->least)
		return x->least < y->least ? -1 : 1;
	return (x->first_source > y->first_source) - (x->first_source < y->first_source);
}

static int by_object(const void *a, const void *b)
{
	const struct memory_object_source *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->n.samples != y->n.samples)
		return x->n.samples > y->n.samples ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->told * 2 + x->hit - (y->told * 2 + y->hit);
}

static int order(struct memory_objects *o)
{
	struct memory_objects_work *w = o->work;
	struct objects_part *x = w->part;
	uint32_t *to = malloc((x->object.n + 1) * sizeof(*to));

	if (!to || sum_strata(o)) {
		free(to);
		return -1;
	}
	memory_lines_fold(&x->lines, x->object.v, x->object.n, w->line_size);
	for (size_t i = 0; i < x->object.n; i++)
		x->object.v[i].first_source = i; /* its old place, for now */
	vec_sort(&x->object, by_samples);
	for (size_t i = 0; i < x->object.n; i++)
		to[x->object.v[i].first_source] = (uint32_t)i;
	for (size_t i = 0; i < w->source.n; i++)
		w->source.v[i].object = to[w->source.v[i].object];
	memory_walks_rename(&x->walks, to);
	memory_nodes_rename(&x->nodes, to);
	memory_locks_rename(&x->locks, to);
	memory_map_rename(&x->map, to);
	memory_places_rename(&x->places, to);
	vec_sort(&w->source, by_object);
	for (size_t i = 0, k = 0; i < x->object.n; i++) {
		x->object.v[i].first_source = k;
		for (; k < w->source.n && w->source.v[k].object == i; k++)
			x->object.v[i].n_sources++;
	}
	free(to);
	o->object = x->object.v;
	o->n = x->object.n;
	o->source = w->source.v;
	o->n_sources = w->source.n;
	return 0;
}

int memory_objects_begin(struct memory_objects **out, const struct pd *rec, struct spaces *sp,
			 const struct memory_opts *opts, unsigned workers, struct err *err)
{
	struct memory_objects *o = calloc(1, sizeof(*o));
	struct memory_objects_work *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (!o || !w) {
		free(o);
		free(w);
		return err_nomem(err);
	}
	*w = (struct memory_objects_work){ .rec = rec,
					   .spaces = sp,
					   .line_size = opts->line_size ? opts->line_size
									: MEMORY_LINE_BYTES,
					   .lock = PTHREAD_MUTEX_INITIALIZER,
					   .part = big_zeros(workers, sizeof(*w->part)) };
	o->work = w;
	*out = o;
	if (!w->part)
		return err_nomem(err);
	w->parts = workers;
	for (unsigned i = 0; i < workers; i++)
		if (memory_objects_begin_part(w, &w->part[i], opts->map))
			return err_nomem(err);
	data_begin(sp);
	return nodes_read(&w->nodes, pd_info(rec), err);
}

int memory_objects_end(struct memory_objects *o, struct err *err)
{
	struct memory_objects_work *w = o->work;
	struct objects_part *x = w->part;

	if (memory_objects_join(w) || order(o) || memory_walks_fold(&x->walks, o) ||
	    memory_nodes_fold(&x->nodes, o) || memory_map_fold(&x->map, o))
		return err_nomem(err);
	if (memory_sites_fold(o, w->spaces, err))
		return -1;
	memory_locks_fold(&x->locks, o);
	o->no_address = x->no_address;
	o->heap = data_heap_facts(w->spaces);
	assert(all_hold(o->n, i, o->object[i].n.samples > 0));
	return 0;
}

void memory_objects_part_free(struct objects_part *x)
{
	vec_free(&x->object);
	itab_free(&x->object_at);
	memory_walks_free(&x->walks);
	memory_nodes_free(&x->nodes);
	memory_locks_free(&x->locks);
	memory_lines_free(&x->lines);
	memory_map_free(&x->map);
	memory_places_free(&x->places);
	u64map_free(&x->task);
	vec_free(&x->met);
	vec_free(&x->seen);
	free(x->last);
	free(x->remembered);
	free(x->waiting);
	*x = (struct objects_part){ .last = NULL };
}

void memory_objects_free(struct memory_objects *o)
{
	if (!o)
		return;
	for (unsigned i = 0; i < o->work->parts; i++)
		memory_objects_part_free(&o->work->part[i]);
	free(o->work->part);
	nodes_free(&o->work->nodes);
	pthread_mutex_destroy(&o->work->lock);
	free(o->nodes.way);
	free(o->pages);
	free(o->site);
	free(o->placed);
	free(o->type);
	vec_free(&o->work->source);
	itab_free(&o->work->source_at);
	free(o->work);
	free(o);
}

/* ---- figures ------------------------------------------------------------------------------- */

void memory_object_op(struct memop *out, const struct memory_object_source *s)
{
	*out = (struct memop){ .level = s->level,
			       .where = s->where,
			       .hit = s->hit,
			       .has = s->told ? (uint32_t)MEMOP_HAS_HIT : 0 };
	out->set[MEMOP_KIND] = s->kind;
}

struct estimate memory_object_share(const struct memory_objects *o, const struct memory_counts *n)
{
	return error_bar_part(n->samples, o->all.samples, "no samples");
}

struct estimate memory_object_remote(const struct memory_counts *n)
{
	return error_bar_part(n->remote, n->known, "no load's source is told");
}

struct estimate memory_object_missed(const struct memory_counts *n)
{
	return error_bar_part(n->missed, n->known, "no load's source is told");
}

/* A ratio of sums over the same draws. */
struct estimate memory_object_cycles(const struct memory_objects *o, const struct memory_counts *n)
{
	double all = o->all.cycles, share, var;

	if (!(all > 0))
		return ESTIMATE_NONE("no latencies");
	share = n->cycles / all;
	var = (1 - 2 * share) * n->squares + share * share * o->all.squares;
	return (struct estimate){ share, Z95 * sqrt(fmax(0, var)) / all, NULL };
}

struct estimate memory_object_mean(const struct memory_counts *n)
{
	return sums_mean(n->timed, n->cycles, n->squares, "no sample has a latency");
}
