/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory_objects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/itab.h"
#include "analyse/memory/memory_locks_int.h"
#include "analyse/memory/memory_map_int.h"
#include "analyse/memory/memory_nodes_int.h"
#include "analyse/memory/memory_sites_int.h"
#include "analyse/memory/memory_walks_int.h"
#include "analyse/pass/pass.h"
#include "base/hash.h"
#include "base/invariant.h"
#include "base/text.h"
#include "base/vec.h"

#define REMEMBERED  4096u /* places of the last samples, a power of two */
#define THREADS_MET 1024u /* the same */

/* What is remembered is found by the piece of memory that an address is in: pieces of these bits,
 * for small answers small ones. */
static const unsigned piece_bits[] = { 24, 12, 6 };
#define PIECES (sizeof(piece_bits) / sizeof(*piece_bits))

/* What lay around an address of a process. */
struct remembered {
	uint32_t proc, object;
	uint64_t low, high, from, until;
};

struct memory_objects_work {
	const struct pd *rec;
	struct spaces *spaces;
	struct memop_how *how; /* by event */
	VEC(struct memory_object) object;
	VEC(struct memory_object_source) source;
	struct itab object_at, source_at;
	struct memory_walks walks;
	struct memory_nodes_work nodes;
	struct memory_locks locks;
	struct memory_map_work map;
	struct u64map task; /* object and thread: met */
	uint64_t last[THREADS_MET];
	struct remembered *remembered;
};

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

/* What the samples of a stratum come to: all of them are of one kind and source. */
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

/* Of what is no object the reason, and nothing else. */
static bool is_object(const struct data_place *p)
{
	return p->site || p->tid || p->variable ||
	       (p->kind != DATA_UNKNOWN && p->kind != DATA_HEAP && p->kind != DATA_ANONYMOUS);
}

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

static uint32_t object_of(struct memory_objects_work *w, const struct memory_object *x)
{
	uint64_t h = hash_of(x);
	uint32_t idx;

	for (size_t i = itab_first(&w->object_at, h); itab_at(&w->object_at, &i, h, &idx);)
		if (same_object(&w->object.v[idx], x))
			return idx;
	if (w->object.n >= UINT32_MAX - 1 || itab_put(&w->object_at, h, w->object.n) ||
	    vec_push(&w->object, *x))
		return UINT32_MAX;
	return (uint32_t)w->object.n - 1;
}

static struct remembered *slot_of(struct memory_objects_work *w, uint32_t proc, uint64_t address,
				  unsigned bits)
{
	return &w->remembered[hash_u64((address >> bits) * REMEMBERED ^ proc ^
				       (uint64_t)bits << 40) &
			      (REMEMBERED - 1)];
}

static bool is_remembered(const struct remembered *r, uint32_t proc, uint64_t address,
			  uint64_t time)
{
	return r->proc == proc && address >= r->low && address < r->high && time >= r->from &&
	       time < r->until;
}

static void remember(struct memory_objects_work *w, const struct data_place *d, uint32_t proc,
		     uint64_t address, uint32_t object)
{
	size_t i = 0;

	while (i + 1 < PIECES && !((d->high - d->low) >> piece_bits[i]))
		i++;
	*slot_of(w, proc, address, piece_bits[i]) =
		(struct remembered){ proc, object, d->low, d->high, d->from, d->until };
}

static int look_up(struct memory_objects_work *w, const struct pass_sample *p, uint64_t address,
		   uint32_t index, uint32_t *out, struct err *err)
{
	const struct process *proc = p->who ? p->who->proc : NULL;
	struct memory_object x = { .pid = task_pid(p->task) };

	if (data_find(&x.data, w->spaces, proc, address, p->time, err))
		return -1;
	x.why = is_object(&x.data) ? NULL : x.data.why;
	x.pid = x.data.kind == DATA_KERNEL ? 0 : x.pid;
	x.least = x.most = address;
	*out = object_of(w, &x);
	if (*out == UINT32_MAX)
		return err_nomem(err);
	if (x.data.from < x.data.until)
		remember(w, &x.data, index, address, *out);
	return 0;
}

static int find_object(struct memory_objects_work *w, const struct pass_sample *p, uint64_t address,
		       uint32_t *out, struct err *err)
{
	uint32_t index = p->who ? p->who->proc_index : UINT32_MAX;

	for (size_t i = 0; i < PIECES; i++) {
		const struct remembered *r = slot_of(w, index, address, piece_bits[i]);

		if (is_remembered(r, index, address, p->time)) {
			*out = r->object;
			return 0;
		}
	}
	return look_up(w, p, address, index, out, err);
}

/* Whose samples a stratum's are. */
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

	vec_each (&w->walks.v, const struct memory_stratum *, s) {
		struct memory_object_source *source = source_of(w, s);
		struct memory_counts n;

		if (!source)
			return -1;
		n = counts_of(source, s);
		add_counts(&source->n, &n);
		add_counts(&w->object.v[s->object].n, &n);
		add_counts(&o->all, &n);
	}
	return 0;
}

/* Counts the thread if it is a new one of the object. */
static int meet_thread(struct memory_objects_work *w, uint32_t object, uint64_t task)
{
	uint64_t key = hash_pair(task, object), *last = &w->last[key & (THREADS_MET - 1)];
	bool fresh;

	if (*last == key)
		return 0;
	if (!u64map_at(&w->task, key, &fresh))
		return -1;
	*last = key;
	w->object.v[object].threads += fresh;
	return 0;
}

/* ---- the pass ------------------------------------------------------------------------------ */

static int take(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct memory_objects *o = ctx;
	struct memory_objects_work *w = o->work;
	static const char no_address[] = "the sample has no address";
	struct memory_object none = { .data = { .image = IMAGE_NONE }, .why = no_address };
	struct memory_object *object;
	uint32_t at;
	struct memop op;

	if (!memop_of_record(&op, &w->how[p->event], p->ev, p->r) ||
	    (op.raw && !op.set[MEMOP_KIND]))
		return 0;
	if (!(op.has & MEMOP_HAS_ADDRESS)) {
		o->no_address++;
		at = object_of(w, &none);
		if (at == UINT32_MAX)
			return err_nomem(err);
	} else if (find_object(w, p, op.address, &at, err)) {
		return -1;
	}
	if (meet_thread(w, at, p->task))
		return err_nomem(err);
	object = &w->object.v[at];
	object->least = op.address < object->least ? op.address : object->least;
	object->most = op.address > object->most ? op.address : object->most;
	return memory_walks_add(&w->walks, at, &op) ||
			       memory_locks_add(&w->locks, at, &op, p->task) ||
			       memory_map_add(&w->map, at, &op, p->task, p->time) ||
			       memory_nodes_add(&w->nodes, at, &op, p->cpu, task_pid(p->task))
		       ? err_nomem(err)
		       : 0;
}

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
	uint32_t *to = malloc((w->object.n + 1) * sizeof(*to));

	if (!to || sum_strata(o)) {
		free(to);
		return -1;
	}
	for (size_t i = 0; i < w->object.n; i++)
		w->object.v[i].first_source = i; /* its old place, for now */
	vec_sort(&w->object, by_samples);
	for (size_t i = 0; i < w->object.n; i++)
		to[w->object.v[i].first_source] = (uint32_t)i;
	for (size_t i = 0; i < w->source.n; i++)
		w->source.v[i].object = to[w->source.v[i].object];
	memory_walks_rename(&w->walks, to);
	memory_nodes_rename(&w->nodes, to);
	memory_locks_rename(&w->locks, to);
	memory_map_rename(&w->map, to);
	vec_sort(&w->source, by_object);
	for (size_t i = 0, k = 0; i < w->object.n; i++) {
		w->object.v[i].first_source = k;
		for (; k < w->source.n && w->source.v[k].object == i; k++)
			w->object.v[i].n_sources++;
	}
	free(to);
	o->object = w->object.v;
	o->n = w->object.n;
	o->source = w->source.v;
	o->n_sources = w->source.n;
	return 0;
}

static int begin(struct memory_objects_work *w, bool **events, const struct memory_opts *opts,
		 struct err *err)
{
	size_t n;
	const struct pd_event *e = pd_events(w->rec, &n);

	w->how = calloc(n + 1, sizeof(*w->how));
	w->remembered = calloc(REMEMBERED, sizeof(*w->remembered));
	*events = calloc(n + 1, sizeof(**events));
	if (!w->how || !*events || !w->remembered)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		w->how[i] = memop_how(w->rec, &e[i]);
		(*events)[i] = w->how[i].from != MEMOP_FROM_NOTHING &&
			       text_means(opts->select.event, e[i].name);
	}
	return nodes_read(&w->nodes.nodes, pd_info(w->rec), err) ? -1 : data_begin(w->spaces, err);
}

int memory_objects_build(struct memory_objects **out, const struct pd *rec, struct spaces *sp,
			 const struct memory_opts *opts, struct err *err)
{
	const struct pass_visitor v = { .wants = PASS_THREAD, .sample = take };
	struct pass_opts po = { .threads = 1,
				.progress = opts->progress,
				.progress_ctx = opts->progress_ctx };
	struct memory_objects *o = calloc(1, sizeof(*o));
	struct memory_objects_work *w = calloc(1, sizeof(*w));
	struct pass *p = NULL;
	bool *events = NULL;
	int rc = -1;

	*out = NULL;
	if (!o || !w) {
		free(o);
		free(w);
		return err_nomem(err);
	}
	*w = (struct memory_objects_work){ .rec = rec, .spaces = sp };
	o->work = w;
	w->map.on = opts->map;
	(void)pd_time_span(rec, &w->map.first, &w->map.last);
	if (begin(w, &events, opts, err))
		goto out;
	po.events = events;
	if (pass_new(&p, rec, sp, &opts->select, &po, err) || pass_each(p, &v, o, err))
		goto out;
	rc = order(o) || memory_walks_fold(&w->walks, o) || memory_nodes_fold(&w->nodes, o) ||
			     memory_map_fold(&w->map, o)
		     ? err_nomem(err)
		     : 0;
	if (!rc)
		rc = memory_sites_fold(o, sp, err);
	memory_locks_fold(&w->locks, o);
	o->heap = data_heap_facts(sp);
	assert(rc || all_hold(o->n, i, o->object[i].n.samples > 0));
out:
	pass_free(p);
	free(events);
	if (rc)
		memory_objects_free(o);
	else
		*out = o;
	return rc;
}

void memory_objects_free(struct memory_objects *o)
{
	if (!o)
		return;
	vec_free(&o->work->object);
	vec_free(&o->work->source);
	memory_walks_free(&o->work->walks);
	memory_nodes_free(&o->work->nodes);
	memory_locks_free(&o->work->locks);
	memory_map_free(&o->work->map);
	free(o->nodes.way);
	free(o->pages);
	free(o->site);
	itab_free(&o->work->object_at);
	itab_free(&o->work->source_at);
	u64map_free(&o->work->task);
	free(o->work->remembered);
	free(o->work->how);
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
