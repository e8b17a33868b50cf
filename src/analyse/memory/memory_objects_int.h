/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_objects_int - memory_objects.h while samples come.
 *
 *	memory_objects_begin(&o, rec, spaces, opts, workers, &err)
 *	memory_objects_add(o, sample, &op, access, &err)	by the worker of the sample
 *	memory_objects_flush(o, worker, &err) at the end of a chunk
 *	memory_objects_end(o, &err) joins the workers' tables
 *	memory_objects_free(o)
 *
 * Each worker counts for itself, in the order of the file. An object is that of its first sample in
 * the file: so all data that depends on order keeps the place of its first sample, and the workers'
 * data joined by it is the same as that of one worker. Finding objects is under a lock; nearly
 * always the answer is remembered. A log of allocations numbers their sites as they are asked for:
 * such recordings are for one worker.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_OBJECTS_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_OBJECTS_INT_H

#include <pthread.h>

#include "analyse/itab.h"
#include "analyse/memory/memory_lines_int.h"
#include "analyse/memory/memory_locks_int.h"
#include "analyse/memory/memory_map_int.h"
#include "analyse/memory/memory_nodes_int.h"
#include "analyse/memory/memory_places_int.h"
#include "analyse/memory/memory_walks_int.h"
#include "analyse/memory_objects.h"
#include "analyse/pass.h"
#include "base/big.h"
#include "base/hash.h"
#include "base/vec.h"

#define OBJECTS_LAST	8192u /* powers of two */
#define OBJECTS_GUESSES 256u

struct objects_remembered;
struct objects_waiting;

/* A thread that an object met. */
struct objects_met {
	uint64_t task;
	uint32_t object;
};

/* Data of one worker, in cache lines of its own: it is written at each sample. */
struct objects_part {
	_Alignas(BIG_LINE) VEC(struct memory_object) object;
	struct itab object_at;
	struct memory_walks walks;
	struct memory_nodes_work nodes;
	struct memory_locks locks;
	struct memory_lines lines;
	struct memory_map_work map;
	struct memory_places places;
	struct u64map task; /* object and thread: met */
	VEC(struct objects_met) met;
	VEC(uint64_t) seen; /* by object: the threads of `thread` that it met, a bit each */
	uint64_t threads,
		thread[64]; /* by their number's lower bits, the first each; which are there */
	struct objects_met *last; /* of `met`, of all other threads */
	struct objects_remembered *remembered;
	uint8_t guess[OBJECTS_GUESSES]; /* by piece of memory */
	struct objects_waiting *waiting;
	size_t n_waiting;
	uint64_t no_address;
};

struct memory_objects_work {
	const struct pd *rec;
	struct spaces *spaces;
	struct nodes nodes;
	pthread_mutex_t lock; /* of the tables that data_find() reads and fills */
	struct objects_part *part;
	unsigned parts;
	uint32_t line_size;
	VEC(struct memory_object_source) source;
	struct itab source_at;
};

int memory_objects_begin(struct memory_objects **out, const struct pd *rec, struct spaces *sp,
			 const struct memory_opts *opts, unsigned workers,
			 struct err *err) MUST_USE;
/* An operation that accesses memory; `access`: the key of its MEMORY_ACCESS. */
int memory_objects_add(struct memory_objects *o, const struct pass_sample *p,
		       const struct memop *op, const uint64_t access[2], struct err *err) MUST_USE;
int memory_objects_flush(struct memory_objects *o, unsigned worker, struct err *err) MUST_USE;
int memory_objects_end(struct memory_objects *o, struct err *err) MUST_USE;

/* Within memory_objects*.c; UINT32_MAX, -1: out of memory. */
uint32_t memory_object_of(struct objects_part *w, const struct memory_object *x) MUST_USE;
int memory_objects_begin_part(struct memory_objects_work *w, struct objects_part *x,
			      bool map) MUST_USE;
int memory_objects_begin_last(struct objects_part *x) MUST_USE;
int memory_objects_join(struct memory_objects_work *w) MUST_USE; /* into the first part */
void memory_objects_part_free(struct objects_part *x);
int memory_object_meet_slowly(struct objects_part *w, uint32_t object, uint64_t task) MUST_USE;
static inline MUST_USE int memory_object_meet(struct objects_part *w, uint32_t object,
					      uint64_t task)
{
	unsigned at = task_tid(task) % 64;

	return w->seen.v[object] >> at & 1 && w->thread[at] == task
		       ? 0
		       : memory_object_meet_slowly(w, object, task);
}

#endif
