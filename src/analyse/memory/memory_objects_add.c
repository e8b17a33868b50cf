/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_objects_add - samples to objects. Data of objects is rarely in a cache, so samples wait
 * until there are some, and each step is taken for all of them before the next: the first steps
 * prefetch the memory that the last ones need. Within a step they stay in the order of the file.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/memory/memory_objects_int.h"

#define REMEMBERED_BITS 13 /* of the number of places of the last samples */
#define BATCH		32u

/* Answers are found by the piece of memory that an address is in: pieces of these bits, small ones
 * for small answers. */
static const unsigned piece_bits[] = { 30, 20, 12, 6 };
#define PIECES (sizeof(piece_bits) / sizeof(*piece_bits))

/* The mapping or object around an address of a process. */
struct objects_remembered {
	uint32_t proc, object;
	uint64_t low, high, from, until;
};

struct objects_waiting {
	struct memop op;
	const struct process *proc;
	uint32_t index, cpu; /* index: of the process, UINT32_MAX: none known */
	uint64_t task, time, place;
	uint64_t access[2], start, size; /* start, size: of the object there */
	uint32_t object;
	struct objects_remembered *near; /* the entry to look at first */
	uint64_t lines, walks;		 /* results of their first steps */
};

/* ---- the object of an address ---------------------------------------------------------------- */

/* Returns false if only the reason is known why it is no object. */
static bool is_object(const struct data_place *p)
{
	return p->site || p->tid || p->variable ||
	       (p->kind != DATA_UNKNOWN && p->kind != DATA_HEAP && p->kind != DATA_ANONYMOUS);
}

static struct objects_remembered *slot_of(struct objects_part *w, uint32_t proc, uint64_t address,
					  unsigned bits)
{
	uint64_t x = (address >> bits) * 0x9e3779b97f4a7c15u + proc * 0xc2b2ae3d27d4eb4fu + bits;

	return &w->remembered[x * 0xff51afd7ed558ccdu >> (64 - REMEMBERED_BITS)];
}

/* Which of piece_bits is asked first: neighbours are of one size. */
static inline uint8_t *guess_of(struct objects_part *w, uint64_t address)
{
	return &w->guess[(address >> 20 ^ address >> 28) & (OBJECTS_GUESSES - 1)];
}

static bool is_remembered(const struct objects_remembered *r, const struct objects_waiting *s)
{
	return r->proc == s->index && s->op.address >= r->low && s->op.address < r->high &&
	       s->time >= r->from && s->time < r->until;
}

static void remember(struct objects_part *w, const struct data_place *d,
		     const struct objects_waiting *s)
{
	size_t i = 0;

	while (i + 1 < PIECES && !((d->high - d->low) >> piece_bits[i]))
		i++;
	*slot_of(w, s->index, s->op.address,
		 piece_bits[i]) = (struct objects_remembered){ s->index, s->object, d->low,
							       d->high,	 d->from,   d->until };
	*guess_of(w, s->op.address) = (uint8_t)i;
}

static int look_up(struct memory_objects_work *w, struct objects_part *x, struct objects_waiting *s,
		   struct err *err)
{
	uint64_t address = s->op.address;
	struct memory_object o = { .pid = task_pid(s->task), .first = s->place };
	int ret;

	pthread_mutex_lock(&w->lock);
	data_find(&o.data, w->spaces, s->proc, address, s->time);
	pthread_mutex_unlock(&w->lock);
	s->start = o.data.start;
	s->size = o.data.size;
	o.why = is_object(&o.data) ? NULL : o.data.why;
	o.pid = o.data.kind == DATA_KERNEL ? 0 : o.pid;
	o.least = o.most = address;
	s->object = memory_object_of(x, &o);
	if (s->object == UINT32_MAX)
		return err_nomem(err);
	if (o.data.from < o.data.until)
		remember(x, &o.data, s);
	if (memory_places_has(&x->places, s->object))
		return 0;
	pthread_mutex_lock(&w->lock);
	ret = memory_places_meet(&x->places, s->object, &x->object.v[s->object],
				 spaces_images(w->spaces), err);
	pthread_mutex_unlock(&w->lock);
	return ret;
}

static int no_address(struct objects_part *x, struct objects_waiting *s, struct err *err)
{
	const struct memory_object none = { .data = { .image = IMAGE_NONE },
					    .why = "the sample has no address",
					    .first = s->place };

	x->no_address++;
	s->object = memory_object_of(x, &none);
	return s->object == UINT32_MAX ? err_nomem(err) : 0;
}

static inline int find_object(struct memory_objects_work *w, struct objects_part *x,
			      struct objects_waiting *s, struct err *err)
{
	uint64_t address = s->op.address;
	const struct objects_remembered *r = s->near;

	if (!(s->op.has & MEMOP_HAS_ADDRESS))
		return no_address(x, s, err);
	for (uint8_t i = 0; !is_remembered(r, s); i++) {
		if (i == PIECES)
			return look_up(w, x, s, err);
		r = slot_of(x, s->index, address, piece_bits[i]);
		*guess_of(x, address) = i;
	}
	s->object = r->object;
	s->start = r->low;
	s->size = r->high - r->low;
	return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

int memory_objects_begin_last(struct objects_part *x)
{
	x->last = malloc(OBJECTS_LAST * sizeof(*x->last));
	for (size_t i = 0; x->last && i < OBJECTS_LAST; i++)
		x->last[i] = (struct objects_met){ 0, UINT32_MAX };
	return x->last ? 0 : -1;
}

/* Threads have numbers in a row: those of an object lie side by side. */
static inline struct objects_met *last_of(struct objects_part *w, uint32_t object, uint64_t task)
{
	return &w->last[(object * 64 + task_tid(task)) & (OBJECTS_LAST - 1)];
}

/* From now on it is seen by its bit, if its place is not another thread's. */
static void mark(struct objects_part *w, uint32_t object, uint64_t task)
{
	unsigned at = task_tid(task) % 64;

	if (!(w->threads >> at & 1))
		w->thread[at] = task;
	w->threads |= UINT64_C(1) << at;
	if (w->thread[at] == task)
		w->seen.v[object] |= UINT64_C(1) << at;
}

int memory_object_meet_slowly(struct objects_part *w, uint32_t object, uint64_t task)
{
	struct objects_met *last = last_of(w, object, task);
	bool fresh;

	if (last->task == task && last->object == object)
		return 0;
	mark(w, object, task);
	if (!u64map_at(&w->task, hash_pair(task, object), &fresh) ||
	    (fresh && vec_push(&w->met, ((struct objects_met){ task, object }))))
		return -1;
	*last = (struct objects_met){ task, object };
	w->object.v[object].threads += fresh;
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int count_waiting(struct objects_part *x, const struct objects_waiting *s)
{
	struct memory_object *object = &x->object.v[s->object];
	const struct memop *op = &s->op;
	uint32_t at = s->object;

	object->least = op->address < object->least ? op->address : object->least;
	object->most = op->address > object->most ? op->address : object->most;
	return memory_object_meet(x, at, s->task) ||
			       memory_walks_add(&x->walks, at, op, s->place, s->walks) ||
			       memory_locks_add(&x->locks, at, op, s->task) ||
			       memory_lines_add(&x->lines, at, op, task_pid(s->task), s->lines) ||
			       memory_places_add(&x->places, at, op, s->access, s->start,
						 s->size) ||
			       (x->map.on &&
				memory_map_add(&x->map, at, op, s->task, s->time, s->place)) ||
			       (x->nodes.nodes->n && memory_nodes_add(&x->nodes, at, op, s->cpu,
								      task_pid(s->task), s->place))
		       ? -1
		       : 0;
}

int memory_objects_flush(struct memory_objects *o, unsigned worker, struct err *err)
{
	struct objects_part *x = &o->work->part[worker];
	struct objects_waiting *end = x->waiting + x->n_waiting;

	x->n_waiting = 0;
	for (struct objects_waiting *s = x->waiting; s < end; s++) {
		if (find_object(o->work, x, s, err))
			return -1;
		s->lines = memory_lines_ahead(&x->lines, s->object, &s->op, task_pid(s->task));
		s->walks = memory_walks_ahead(&x->walks, s->object, &s->op);
	}
	for (struct objects_waiting *s = x->waiting; s < end; s++) {
		memory_lines_near(&x->lines, s->object, s->lines);
		memory_walks_near(&x->walks, s->walks);
		__builtin_prefetch(&x->object.v[s->object].least, 1);
	}
	for (struct objects_waiting *s = x->waiting; s < end; s++)
		if (count_waiting(x, s))
			return err_nomem(err);
	return 0;
}

int memory_objects_add(struct memory_objects *o, const struct pass_sample *p,
		       const struct memop *op, const uint64_t access[2], struct err *err)
{
	struct objects_part *x = &o->work->part[p->worker];
	struct objects_waiting *s = &x->waiting[x->n_waiting];

	s->op = *op;
	s->proc = p->who ? p->who->proc : NULL;
	s->index = p->who ? p->who->proc_index : UINT32_MAX;
	s->cpu = p->cpu;
	s->task = p->task;
	s->time = p->time;
	s->place = p->r->seq;
	memcpy(s->access, access, sizeof(s->access));
	s->near = slot_of(x, s->index, op->address, piece_bits[*guess_of(x, op->address)]);
	__builtin_prefetch(s->near);
	return ++x->n_waiting == BATCH ? memory_objects_flush(o, p->worker, err) : 0;
}

int memory_objects_begin_part(struct memory_objects_work *w, struct objects_part *x, bool map)
{
	x->remembered = calloc((size_t)1 << REMEMBERED_BITS, sizeof(*x->remembered));
	x->waiting = calloc(BATCH, sizeof(*x->waiting));
	x->nodes.nodes = &w->nodes;
	x->map.on = map;
	(void)pd_time_span(w->rec, &x->map.first, &x->map.last);
	return x->remembered && x->waiting ? memory_objects_begin_last(x) : -1;
}
