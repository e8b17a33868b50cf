/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_locks_int - locked operations by cache line, for memory_objects.c.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_LOCKS_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_LOCKS_INT_H

#include "analyse/itab.h"
#include "analyse/memory_objects.h"
#include "base/hash.h"
#include "base/vec.h"

/* A thread that a line met. */
struct locks_met {
	uint64_t line, task;
};

struct memory_locks {
	VEC(struct memory_locked_line) v;
	struct itab at;
	struct u64map task; /* line and thread: met */
	VEC(struct locks_met) met;
};

int memory_locks_add_locked(struct memory_locks *w, uint32_t object, const struct memop *op,
			    uint64_t task) MUST_USE;
/* `task` as of pass_sample; operations that are not locked are passed over. */
static inline MUST_USE int memory_locks_add(struct memory_locks *w, uint32_t object,
					    const struct memop *op, uint64_t task)
{
	return op->locked && op->has & MEMOP_HAS_ADDRESS
		       ? memory_locks_add_locked(w, object, op, task)
		       : 0;
}
/* As memory_walks_join(). */
int memory_locks_join(struct memory_locks *w, const struct memory_locks *x,
		      const uint32_t *to) MUST_USE;
void memory_locks_rename(struct memory_locks *w, const uint32_t *to);
/* Fills o->locked. */
void memory_locks_fold(struct memory_locks *w, struct memory_objects *o);
void memory_locks_free(struct memory_locks *w);

#endif
