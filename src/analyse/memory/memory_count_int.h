/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_count_int - samples counted by class, access, thread and CPU, with how often each latency
 * was seen. All other groups of memory.h are folded from these.
 *
 *	memory_count_begin(&c, threads)	each chunk of the pass; threads: those and CPUs, too
 *	op = memop_of_kind(&other, &kind, c.kinds, ...)
 *	memory_count_add(&c, sample, op, kind, access)
 *	memory_count_end(&c)
 *	memory_tallies_join(&all, &c)	each worker's
 *	memory_tallies_end(&all)
 *	... all.v ...
 *	memory_tallies_free(&c)
 *
 * Tallies are in no order. -1: out of memory.
 *
 * Threads and CPUs have a histogram of the shown latency alone (memory_shown_latency()). Which one
 * that is, is known at the end: until then it is the one to show of those that a worker has met. So
 * all samples with the one that is shown in the end are counted; memory_tallies_end() drops others.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_COUNT_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_COUNT_INT_H

#include "analyse/itab.h"
#include "analyse/memory.h"
#include "analyse/memory/memory_cells_int.h"
#include "analyse/memory/memory_hist.h"
#include "analyse/pass.h"
#include "base/vec.h"

_Static_assert(HIST_VALUES == MEMORY_EXACT, "what is not in a histogram is in a bin with others");

struct memory_tally {
	enum memory_by by;
	uint64_t key[2], kind[4]; /* samples that are no access, load, store, both */
	uint64_t open, open_sum, open_squares;
	struct hist *hist; /* MEMOP_LATENCIES of them; NULL: all are empty, as of most accesses */
	uint32_t cell;	   /* the first of an access, when workers' are joined; in no histogram */
};

/* A latency of MEMORY_EXACT or more. */
struct memory_large {
	uint32_t tally, cycles;
	uint8_t latency;
};

#define MEMORY_BATCH 64u

/* The groups of a sample, besides its access; all but the first only if asked for. */
enum { COUNTED_CLASS, COUNTED_THREAD, COUNTED_CPU, MEMORY_COUNTED };

/* Samples that wait to be counted: the cells of their accesses are in no cache. */
struct memory_waiting {
	struct memory_sample {
		uint64_t a, b, hash; /* of the cell */
		struct memory_cell *cell;
		uint32_t tally[MEMORY_COUNTED];
		uint16_t row[MEMORY_ROW];
	} sample[MEMORY_BATCH];
	size_t n;
};

#define MEMORY_RECENT 1024u /* a power of two */

/* The tally that was asked for last, of those in this place. */
struct memory_recent {
	uint64_t a, b;
	enum memory_by by; /* MEMORY_ALL, which is never counted: none yet */
	uint32_t tally;
};

#define MEMORY_CPUS    64u /* powers of two */
#define MEMORY_THREADS 64u

/* Tallies of CPUs and threads, at a place by their index in the pass: that of the last one met
 * there. */
struct memory_whose {
	struct {
		uint64_t turn; /* of pass_thread; 0: none yet */
		uint32_t tally;
	} thread[MEMORY_THREADS];
	struct {
		uint64_t cpu; /* and 1; 0: none yet */
		uint32_t tally;
	} cpu[MEMORY_CPUS];
};

struct memory_tallies {
	VEC(struct memory_tally) v;
	VEC(struct memory_large) large; /* by tally and latency, ascending */
	struct itab at;
	struct memory_cells cells;
	struct memory_waiting *waiting;
	struct memory_recent *recent;
	struct memory_whose *whose;
	struct memop_kind *kinds;
	unsigned latencies; /* those that any sample had */
	unsigned counted;   /* of MEMORY_COUNTED, the first so many */
	uint64_t samples, without, no_access, period;
	uint64_t operand[MEMORY_OPERANDS];
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
	AT_HIT = 48,  /* 0: not known, else 1 + the flag */
	AT_LOCK = 50, /* the same */
	AT_NO_ACCESS = 52,
};

/* Returns true for an IBS op without an access to memory, or a sample without one. */
static inline bool memory_no_access(const struct memop *op)
{
	return (op->raw || op->bare) && !op->set[MEMOP_KIND];
}

/* key[0] of the MEMORY_CLASS that it counts for. */
uint64_t memory_class(const struct memop *op);
/* The one to show of these, bits of enum memop_latency. */
enum memop_latency memory_shown_of(unsigned latencies);
int memory_count_begin(struct memory_tallies *c, bool threads) MUST_USE;
int memory_count_add(struct memory_tallies *c, const struct pass_sample *p, const struct memop *op,
		     struct memop_kind *kind,
		     uint64_t access[2]) MUST_USE; /* access: gets the key of MEMORY_ACCESS */
int memory_count_end(struct memory_tallies *c) MUST_USE;
/* Into tallies that were empty, or were joined from others before; x becomes empty. */
int memory_tallies_join(struct memory_tallies *c, struct memory_tallies *x) MUST_USE;
/* When all are joined. */
void memory_tallies_end(struct memory_tallies *c);
void memory_tallies_free(struct memory_tallies *c);

/* The latencies of a tally, of joined ones: in no order, values more than once. Inline, as `add` is
 * called for nearly each of all samples. */
static inline void memory_tally_each(const struct memory_tallies *c, size_t tally, unsigned latency,
				     void (*add)(void *ctx, uint16_t value, uint64_t n), void *ctx)
{
	if (c->v.v[tally].hist)
		hist_each(&c->v.v[tally].hist[latency], add, ctx);
	for (uint32_t i = c->v.v[tally].cell; i != MEMORY_CELL_NONE; i = c->cells.v.v[i].next) {
		const struct memory_cell *x = &c->cells.v.v[i];
		const uint16_t *at = memory_cell_column(x, latency);

		for (size_t k = 0; at && k < x->n; k++, at += x->numbers)
			add(ctx, *at, 1);
	}
}

#endif
