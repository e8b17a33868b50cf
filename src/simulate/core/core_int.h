/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core_int - parts of the modelled core. Times are cycles from the program's start, as they pass on
 * this core.
 */
#ifndef CYCLADE_SIMULATE_CORE_INT_H
#define CYCLADE_SIMULATE_CORE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulate/core.h"

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- caches (cache.c): lines and when they arrive; the newest of a set stands first ---- */

struct cache_line {
	uint64_t tag; /* line + 1; 0: none */
	uint64_t ready;
	uint8_t from; /* enum level: where it came from */
};

struct cache {
	struct cache_line *line;
	uint32_t sets, ways;
};

void core_cache_open(struct cache *c, uint64_t lines, uint32_t ways);
void core_cache_close(struct cache *c);
/* NULL: it is not there. Else it becomes the newest. */
struct cache_line *core_cache_find(struct cache *c, uint64_t line);
/* In the place of the oldest. */
void core_cache_fill(struct cache *c, uint64_t line, uint64_t ready, uint8_t from);

/* ---- prediction (predict.c) ---- */

struct predictor;
struct predictor *predictor_new(const struct core *c);
void predictor_free(struct predictor *p);
enum branch_outcome { BRANCH_RIGHT, BRANCH_LATE, BRANCH_RESTEER, BRANCH_WRONG };
/* A branch of `flow` at `from` with the next instruction behind it went `to`. BRANCH_LATE: the
 * target was found by the larger, slower table. */
enum branch_outcome predictor_see(struct predictor *p, uint8_t flow, bool direct, uint64_t from,
				  uint64_t behind, uint64_t to);

/* ---- memory (memory.c) ---- */

#define STRIDES	    256u
#define STREAMS	    32u
#define FORWARDS    1024u
#define MISSES_MOST 256u

struct stride { /* of the accesses of an instruction */
	uint64_t insn, last;
	int64_t by;
	uint8_t sure;
};

struct stream { /* of lines that the second cache was asked for, in a page */
	uint64_t page, used;
	int32_t last, next; /* line of the page; to fetch next */
	int8_t up, sure;
};

struct forward {		    /* a store, for 8 bytes */
	uint64_t at, ready, commit; /* at: + 1; when it has its value, when it is in the cache */
	uint8_t bytes;		    /* a bit each */
};

struct sim_outer {
	struct cache l3;
	uint64_t free; /* quarters of a cycle: when memory takes the next line */
};

struct memory {
	const struct core *m;
	struct sim_outer *outer;
	struct cache l1, l2, code, dtlb, stlb;
	struct stride stride[STRIDES];
	struct stream stream[STREAMS];
	struct forward forward[FORWARDS];
	uint64_t miss[MISSES_MOST]; /* when the newest of them end */
	uint32_t n_miss;
	uint64_t clock;
};

/* How a load came by its data. */
struct fetched {
	uint64_t ready;
	uint8_t level; /* enum sim_level */
	bool walked, forwarded;
};

void core_memory_open(struct memory *m, const struct core *machine, struct sim_outer *outer);
void core_memory_close(struct memory *m);
/* A load whose address is known at `t`; `latency`: of the first cache. */
struct fetched core_memory_load(struct memory *m, const struct sim_insn *insn,
				const struct sim_access *a, size_t n, uint64_t t);
/* Asks for a store's lines at `t`: when they are there. */
uint64_t core_memory_own(struct memory *m, const struct sim_insn *insn, const struct sim_access *a,
			 size_t n, uint64_t t);
/* A store has its value at `ready` and goes to the cache at `commit`. */
void core_memory_stored(struct memory *m, const struct sim_access *a, size_t n, uint64_t ready,
			uint64_t commit);
/* Cycles for which a line of code is missing at `t`: 0 if it is in the first cache. */
uint64_t core_memory_code(struct memory *m, uint64_t line, uint64_t t);

#endif
