/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_count_int - samples counted by class, access, thread and CPU, with how often each latency
 * was seen. All other groups of memory.h are folded from these.
 *
 *	memory_count_begin(&c)	each chunk of the pass
 *	memory_count_add(&c, spaces, sample, &op)
 *	memory_count_end(&c)
 *	memory_tallies_join(&c, &other), memory_tallies_sort(&c)	what several workers have
 *	... c.v ...
 *	memory_tallies_free(&c)
 *
 * Tallies are in no order. -1: out of memory.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_COUNT_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_COUNT_INT_H

#include "analyse/itab.h"
#include "analyse/memory.h"
#include "analyse/memory/memory_hist.h"
#include "analyse/pass/pass.h"
#include "base/vec.h"

_Static_assert(HIST_VALUES == MEMORY_EXACT, "what is not in a histogram is in a bin with others");

struct memory_tally {
	enum memory_by by;
	uint64_t key[2], samples, loads, stores;
	uint64_t open, open_sum, open_squares;
	struct hist hist[MEMOP_LATENCIES];
};

/* A latency of MEMORY_EXACT or more. */
struct memory_large {
	uint32_t tally, cycles;
	uint8_t latency;
};

#define MEMORY_CODE 256u /* a power of two */

/* What is mapped around an address of code. */
struct memory_code {
	const struct process *proc;
	enum space_kind kind;
	struct space_span span;
	const struct map *map;
};

#define MEMORY_BATCH 32u

#define MEMORY_COUNTED 4 /* class, thread, CPU, access */

/* Samples that wait to be counted: the tallies of their accesses are in no cache. */
struct memory_waiting {
	uint64_t a, b, hash; /* of the access */
	uint32_t tally[MEMORY_COUNTED];
	struct memop op;
};

#define MEMORY_RECENT 1024u /* a power of two */

/* The tally that was asked for last, of those in this place. */
struct memory_recent {
	uint64_t a, b;
	enum memory_by by; /* MEMORY_ALL, which is never counted: none yet */
	uint32_t tally;
};

struct memory_tallies {
	VEC(struct memory_tally) v;
	VEC(struct memory_large) large; /* by tally and latency, ascending */
	struct itab at;
	struct memory_code *code;
	struct memory_waiting *waiting;
	struct memory_recent *recent;
	size_t n_waiting;
	uint64_t samples, without, no_access, period;
	bool period_varies, raw;
};

/* key[0] of MEMORY_CLASS, by lowest bit */
enum {
	AT_KIND = 0,
	AT_SNOOP = 8,
	AT_TLB = 16,
	AT_BLOCK = 24,
	AT_LEVEL = 32,
	AT_WHERE = 40,
	AT_HIT = 48,  /* 0: not told, else 1 + the flag */
	AT_LOCK = 50, /* the same */
	AT_NO_ACCESS = 52,
};

/* An IBS op without an access to memory. */
static inline bool memory_no_access(const struct memop *op)
{
	return op->raw && !op->set[MEMOP_KIND];
}

int memory_count_begin(struct memory_tallies *c) MUST_USE;
int memory_count_add(struct memory_tallies *c, const struct spaces *sp, const struct pass_sample *p,
		     const struct memop *op) MUST_USE;
int memory_count_end(struct memory_tallies *c) MUST_USE;
int memory_tallies_join(struct memory_tallies *c, const struct memory_tallies *x) MUST_USE;
void memory_tallies_sort(struct memory_tallies *c);
void memory_tallies_free(struct memory_tallies *c);

#endif
