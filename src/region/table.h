/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table - counts of regions, as they lie in memory or in a file: a head, then a block for each
 * thread, each with a slot for each region.
 *
 * The process writes it while it counts, without locks: a slot's `seq` is odd while a run is being
 * added, so a reader copies and looks whether it changed; a file of a process that was killed is as
 * good as its last run. The same layout serves the process's own reports.
 *
 *	table_extent(p, len)	the most bytes of a file with this head: ignore the rest
 *	table_parse(&v, p, len, name, &err)	checks foreign bytes once: counts and sizes
 *	table_sums(&v, block, region, &sums)	a consistent copy, since the last reset
 *
 * A view points into `p`, which must stay mapped and is not to be trusted to stay the same: strings
 * are copied out, numbers are read once.
 */
#ifndef CYCLADE_REGION_TABLE_H
#define CYCLADE_REGION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TABLE_MAGIC   0x314e474552435943ull /* "CYCREGN1" */
#define TABLE_EVENTS  32
#define TABLE_GROUPS  8
#define TABLE_PARTS   4
#define TABLE_FIELDS  8 /* of PERF_METRICS */
#define TABLE_NAME    64
#define TABLE_REGIONS 4096		  /* of a thread, at most */
#define TABLE_THREADS 65536		  /* blocks, at most */
#define TABLE_FACTS   16		  /* of the machine: enum expr_system */
#define TABLE_MOST    (UINT64_C(1) << 28) /* bytes of a file; more blocks are not made, nor read */

enum counts_kind { COUNTS_PLAIN, COUNTS_SLOTS, COUNTS_FIELD };

struct table_event {
	char name[128]; /* the model's, or as it was asked for */
	uint32_t part, group;
	uint32_t kind;	/* enum counts_kind */
	uint32_t field; /* of PERF_METRICS: which */
	uint32_t at;	/* its place in acc, base, total */
	/* Bits of the counter: sums in `acc` are modulo that; 0: acc is not its own. */
	uint32_t width;
	uint32_t asked; /* by name: shown for itself */
	uint32_t refused;
};

struct table_part { /* a kind of core */
	char model[32], pmu[32];
};

struct table_head {
	uint64_t magic;
	uint32_t head_size, block_size, slot_size, max_regions;
	uint32_t n_events, n_groups, n_parts, fields;
	uint32_t pid, closed;
	uint32_t blocks; /* that are ready; grows */
	uint32_t lost_regions;
	double tsc_hz;
	uint64_t pair_tsc; /* the least that begin and end take, as they measure it themselves */
	uint64_t started;  /* seconds since 1970 */
	double facts[TABLE_FACTS];
	char comm[32], status[256], metrics[1024];
	struct table_part part[TABLE_PARTS];
	struct table_event event[TABLE_EVENTS];
	double turn_ns[TABLE_PARTS]; /* how long a group keeps its counters; 0: not known */
};

enum table_state { TABLE_LIVE = 1, TABLE_ENDED };

struct table_block {
	uint32_t tid, state;
	uint32_t regions; /* slots in use; grows */
	uint32_t mode;	  /* of this thread: enum region_mode */
	uint64_t resets;  /* of PERF_METRICS */
	char comm[16];
	uint64_t zeros;	  /* odd: the second row of slots is being written */
	uint64_t threads; /* that had it one after the other, less 1 */
	uint64_t pad;
};

struct table_slot {
	uint64_t seq;	/* twice the runs; odd: a run is being added */
	uint64_t folds; /* odd: acc is being folded into total */
	uint64_t tsc;
	uint64_t nested, unmatched, lost, slow; /* runs in `slow` were added by the slow path */
	uint64_t foreign;	       /* begins and ends by another thread than the handle's */
	uint64_t slow_tsc, slow_ns;    /* of those: wall time and time on a CPU */
	uint64_t off_ns[TABLE_GROUPS]; /* time on a CPU but off the counters */
	uint64_t err_lo, err_hi; /* sum of the squares of the slots that each reading's fractions
				  * are of */
	uint64_t field[TABLE_FIELDS]; /* slots * 255 */
	uint64_t acc[TABLE_EVENTS];   /* added by the fast path, modulo the width */
	uint64_t base[TABLE_EVENTS], total[TABLE_EVENTS]; /* acc as it was when last folded into
							   * total */
	char name[TABLE_NAME];
} __attribute__((aligned(64)));

/* Behind a block's slots lies a second row: each slot as it was at the last cyclade_reset(), which
 * readers take off. */
#define TABLE_HEAD_SIZE	 8192u
#define TABLE_BLOCK_HEAD 64u

_Static_assert(sizeof(struct table_head) <= TABLE_HEAD_SIZE, "the head has its place");
_Static_assert(sizeof(struct table_block) == TABLE_BLOCK_HEAD, "slots begin behind it");
_Static_assert(sizeof(struct table_slot) % 64 == 0, "slots are a row");

struct table_view {
	const uint8_t *p; /* a file's bytes; NULL: see block */
	size_t len;
	const struct table_block *const *block; /* blocks wherever they are in memory */
	struct table_head head;			/* a copy, strings ended, numbers within bounds */
	size_t n_blocks;			/* that are wholly there */
};

struct table_sums {
	char name[TABLE_NAME];
	uint64_t runs, nested, unmatched, lost, slow, foreign;
	uint64_t threads;
	double tsc, slow_tsc, slow_ns, off_ns[TABLE_GROUPS];
	double blind_tsc; /* of tsc: in threads without counters */
	double err2;	  /* of table_slot's err_lo */
	double field[TABLE_FIELDS], total[TABLE_EVENTS];
	bool torn; /* written to all the time, or its process ended in the middle of that */
};

int table_parse(struct table_view *v, const void *p, size_t len, const char *name,
		struct err *err) MUST_USE;
/* The head is looked at alone: 0, it is none. At most TABLE_MOST. */
uint64_t table_extent(const void *p, size_t len);
/* Bytes that belong to the table: its head and the blocks that threads had. */
size_t table_len(const struct table_view *v);
/* A block's head as a copy, `regions` within bounds. */
void table_block(const struct table_view *v, size_t block, struct table_block *out);
void table_sums(const struct table_view *v, size_t block, size_t region, struct table_sums *out);
void table_add(struct table_sums *to, const struct table_sums *s);
/* The count of event `e`: not extrapolated. */
double table_count(const struct table_view *v, const struct table_sums *s, size_t e);
/* Copies a slot's words; cyclade_reset() does it, too. True: they belong together. */
bool table_copy(struct table_slot *out, const struct table_slot *from);

/* Does a file begin as such a table does? */
bool table_is(const void *p, size_t len);

#endif
