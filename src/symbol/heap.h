/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap - which allocation lay at an address at a time, from the logs that `record --heap` keeps.
 *
 *	heap_read(&h, p, len, &err)
 *	heap_began(h, pid, time, parent, &err)		for each process: from whom it was forked
 *	heap_linked(h)					all of them
 *	o = heap_find(h, pid, address, time, &why)	NULL: none, and why
 *	heap_chain(h, o, &n)				the chain that allocated it
 *	heap_free(h)
 *
 * Objects are the results of malloc and the like (HEAP_ALLOC), anonymous mappings (HEAP_MAP) and
 * stacks of threads (HEAP_STACK); a block of malloc wins over the mapping that it is in. A child of
 * a fork has the objects that its parent had then, until it frees it, whether it has a log itself
 * or not: it begins one at its first call. If only some of the small objects are logged, the others
 * stay unknown, and an object ends where the log could no longer record its free.
 *
 * The bytes are of the recording: anything may be in them. Each log is read as far as it is one;
 * memory is some 80 bytes for each record of 8 to 24. They must stay as long as the heap.
 * Costs: one pass and one sort by time; a look-up some 0.3 us. After heap_linked, read-only.
 */
#ifndef CYCLADE_SYMBOL_HEAP_H
#define CYCLADE_SYMBOL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbol/heap_format.h"

struct heap;

struct heap_object {
	uint64_t start, size;
	uint64_t from, until; /* ns; until UINT64_MAX: it is never freed */
	uint32_t log;
	uint32_t chain; /* heap_chain() */
	uint32_t tid;	/* of a stack */
	uint8_t type;	/* HEAP_ALLOC, HEAP_MAP, HEAP_STACK */
	uint8_t level;
};

enum heap_why {
	HEAP_FOUND,
	HEAP_NO_LOG,	/* of that process, at that time */
	HEAP_OWN_LOG,	/* the program has a malloc of its own */
	HEAP_SAMPLED,	/* small objects are logged in part, or the log ends early */
	HEAP_NO_OBJECT, /* in nothing that the log has */
};

struct heap_facts {
	uint64_t objects, not_logged; /* not_logged: events, of all processes */
	uint64_t rate;		      /* the highest: one small object of so many is logged */
	size_t processes, own;	      /* own: that have a malloc of their own */
	size_t tables;		      /* processes whose chains are by call-frame tables */
};

struct heap *heap_read(const void *p, size_t len);
void heap_free(struct heap *h); /* NULL is fine */
/* From `time` on `pid` is a new process, a fork of `parent`; HEAP_EXECUTED: it is another program,
 * which has nothing of before. */
#define HEAP_EXECUTED UINT32_MAX
void heap_began(struct heap *h, uint32_t pid, uint64_t time, uint32_t parent);
void heap_linked(struct heap *h);
const struct heap_object *heap_find(const struct heap *h, uint32_t pid, uint64_t address,
				    uint64_t time, enum heap_why *why);
/* Return addresses, innermost first; NULL: not known. */
const uint64_t *heap_chain(const struct heap *h, const struct heap_object *o, size_t *n);
/* All of them, in no order that means something. */
const struct heap_object *heap_objects(const struct heap *h, size_t *n);
uint32_t heap_pid(const struct heap *h, const struct heap_object *o);
const struct heap_facts *heap_facts(const struct heap *h);
/* By process: some may be of one pid. */
size_t heap_logs(const struct heap *h);
uint32_t heap_log_pid(const struct heap *h, size_t log);
const char *heap_why_text(enum heap_why why);

#endif
