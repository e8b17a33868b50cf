/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_count_int - memory's pass: samples counted by class, access, thread and CPU, with how
 * often each latency was seen. All other groups of memory.h are folded from these.
 *
 *	memory_count(&c, rec, spaces, how, events, opts, &err)
 *	... c.v ...
 *	memory_tallies_free(&c)
 *
 * Tallies are in no order.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_COUNT_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_COUNT_INT_H

#include "analyse/itab.h"
#include "analyse/memory.h"
#include "analyse/memory/memory_hist.h"
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

/* Accesses that wait to be counted: their tallies are in no cache. */
struct memory_waiting {
	uint64_t a, b, hash;
	uint32_t tally;
	struct memop op;
};

struct memory_tallies {
	VEC(struct memory_tally) v;
	VEC(struct memory_large) large; /* by tally and latency, ascending */
	struct itab at;
	struct memory_code *code;
	struct memory_waiting *waiting;
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

int memory_count(struct memory_tallies *out, const struct pd *rec, const struct spaces *sp,
		 const struct memop_how *how, const bool *events, const struct memory_opts *opts,
		 struct err *err) MUST_USE;
void memory_tallies_free(struct memory_tallies *c);

#endif
