/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - the memory operations of a recording: source of the data and latency in cycles.
 *
 *	memory_build(&m, &objects, rec, spaces, &opts, &err)	objects NULL: not wanted
 *	for (i = m->first[MEMORY_SOURCE]; i < m->first[MEMORY_SOURCE + 1]; i++)
 *		memory_spread(m, &m->group[i], MEMOP_LATENCY_DATA)
 *	memory_free(m)
 *
 * A group has samples with the same: the source of their data, an instruction, a CPU (enum
 * memory_by). Each group and kind of latency has a spread: how many samples took how many cycles.
 * Values below MEMORY_EXACT are kept apart each; larger ones in bins of a thousandth of themselves,
 * each with its mean, so that a quantile among them is off by 0.1 % at most. Sums and greatest
 * values are exact.
 *
 * Each sample counts once, whatever its period. Quantiles interpolate between two samples as the
 * functions of `sql` do. Their error comes from order statistics, which assume no distribution: the
 * distance to the farther end of the interval that holds the population's quantile with 95 %
 * (binomial; NAN if there are too few samples for both ends).
 *
 * Threads and CPUs are groups only if asked for (memory_opts.threads), as they take time. They have
 * a spread of one latency only: memory_shown_latency(). Files are, too (memory_opts.files).
 *
 * An IBS op that accesses no memory counts for everything but MEMORY_SOURCE, _TLB, _SNOOP, _LOCK,
 * _BLOCK, _TYPE and _FIELD. An IBS fetch is of code, so it has no _TYPE and _FIELD.
 *
 * Events with bare latencies (perf record -W) are used if they are asked for by name, or if there
 * are no others.
 *
 * A sample without an address gets the one that its registers and the operand of its instruction
 * give, if it is precise and has the registers (memory_operand_int.h). For the pass of objects,
 * precise events with registers and nothing else are used, too: by name, or if there are no others.
 *
 * Types and fields are those of the instruction's operand (symbol/types.h), not of the address;
 * memory_objects.h has those by address of samples that have none here.
 *
 * Costs: one pass, some 0.1 us a sample and core; memory of distinct instructions and of distinct
 * latencies of each. Bins are put together when they are asked for: one thread at a time.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_H
#define CYCLADE_ANALYSE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/selection.h"
#include "base/err.h"
#include "base/estimate.h"
#include "perfdata/memop.h"
#include "symbol/space.h"
#include "symbol/types.h"

#define MEMORY_EXACT 65536

enum memory_by {
	MEMORY_ALL,
	MEMORY_SOURCE, /* kind, level, whose, hit: memory_op() */
	MEMORY_TLB,    /* memory_op(), and so on */
	MEMORY_SNOOP,
	MEMORY_LOCK,
	MEMORY_BLOCK,
	MEMORY_FUNCTION,
	MEMORY_LINE,	    /* of source */
	MEMORY_INSTRUCTION, /* key: address, image */
	MEMORY_THREAD,	    /* task, comm */
	MEMORY_CPU,
	MEMORY_TYPE,   /* of the data: access.type, or why it is not known */
	MEMORY_FIELD,  /* access */
	MEMORY_FILE,   /* key: image; if asked for */
	MEMORY_ACCESS, /* of instructions, loads and stores apart: the parts of
		        * MEMORY_INSTRUCTION */
	MEMORY_CLASS,  /* all that the first ones are made of */
	MEMORY_BYS
};

struct memory_bin {
	uint64_t n;
	double cycles; /* of one sample, on average */
};

struct memory_spread {
	uint32_t group;
	enum memop_latency latency;
	uint64_t n, most;
	double sum, squares;
};

/* There is one for each access, so numbers of 32 bits stand side by side. */
struct memory_group {
	enum memory_by by;
	uint32_t line;		    /* of lines and instructions */
	uint32_t type_id, field_id; /* its row among the types, and among the fields */
	uint32_t skip;		    /* of MEMORY_ACCESS: bytes into its instruction */
	uint32_t place;		    /* of memory's own */
	uint64_t key[2];
	const struct symbol *symbol; /* of functions and instructions; NULL: none */
	const char *file;	     /* of lines and instructions; NULL: not known */
	struct types_access access;  /* of MEMORY_TYPE, _FIELD, _ACCESS */
	uint64_t samples, loads, stores;
	/* IBS fetches count for the instruction in which their address lies. */
	uint64_t fetches, fetches_inside, fetches_aborted;
	/* AMD's: loads that missed the L2 cache, and the core's open misses; 0: not counted */
	struct memory_open {
		uint64_t n;
		double sum, squares;
	} open;
	size_t first_spread, n_spreads; /* of accesses none */
};

enum memory_operand_why {
#define MEMORY_OPERAND(id, ...) MEMORY_OPERAND_##id,
#include "analyse/memory/memory_operand.def"
#undef MEMORY_OPERAND
	MEMORY_OPERANDS
};

/* Samples without an address, of events with registers: results of computing it. */
struct memory_computed {
	enum memory_operand_why why;
	uint64_t samples;
};

#define MEMORY_HOT 64

/* A structure's hot fields: the fewest that have 95 % of its samples. */
struct memory_layout {
	const struct memory_group *type;	    /* of MEMORY_TYPE */
	const struct memory_group *hot[MEMORY_HOT]; /* of MEMORY_FIELD, most samples first */
	size_t n_hot;
	uint64_t hot_samples, hot_bytes;
	/* Cache lines of 64 bytes with hot fields, by object, if objects lie one behind the other;
	 * the same if the hot fields were a structure of their own, and if they were first in
	 * theirs, in the order of `order` (of `hot`), which has no gaps. */
	double lines, lines_split, lines_order;
	size_t order[MEMORY_HOT];
	double used; /* of the bytes of these lines: those of hot fields */
};

struct memory {
	struct memory_group *group; /* by `by`, then most samples first */
	size_t first[MEMORY_BYS + 1];
	const struct memory_spread *spread;
	const struct memory_layout *layout; /* by samples; of enough, without hot arrays */
	size_t n_layouts;
	uint64_t samples;   /* of events of memory operations */
	uint64_t without;   /* of these: damaged, or without the fields of such an event */
	uint64_t no_access; /* IBS ops that access no memory, samples of bare latencies */
	struct memory_computed computed[MEMORY_OPERANDS]; /* that any sample has */
	size_t n_computed;
	uint64_t fetches;	     /* IBS fetches, aborted ones included */
	bool period_varies;	     /* of samples: those of great periods stand for more */
	bool raw;		     /* some were read from IBS registers */
	const struct memop_how *how; /* by event of pd_events() */
	struct memory_work *work;
};

struct memory_objects;

struct memory_opts {
	struct selection select;
	void (*progress)(void *ctx, double fraction);
	void *progress_ctx;
	/* Names or patterns of events, in place of select.event; each means one at least. */
	const char *const *events;
	size_t n_events;
	const struct pd_event
		*only;	    /* this one, in place of names, which several may have; or NULL */
	bool threads;	    /* of memory: MEMORY_THREAD and _CPU, too */
	bool files;	    /* the same: MEMORY_FILE */
	bool map;	    /* of memory_objects: fill `map` */
	uint32_t line_size; /* of memory_objects, a power of two up to 256; 0: MEMORY_LINE_BYTES */
	bool or_none; /* of memory: a recording without such an event is no error, and gives no
		       * groups */
};

/* Returns true if some event of the recording has memory operations or latencies. */
bool memory_told(const struct pd *rec);
/* ERR_NOT_FOUND: no event of the recording has memory operations. `objects` (memory_objects.h)
 * NULL: not wanted; else they are of the same pass. */
int memory_build(struct memory **out, struct memory_objects **objects, const struct pd *rec,
		 struct spaces *sp, const struct memory_opts *opts, struct err *err) MUST_USE;
/* The same in a walk with others: begin adds a visitor to the pass, whose selection is that of
 * `opts` but for its event; end is called after the walk. Both results are the caller's to free if
 * the latter fails. */
struct pass;
int memory_begin(struct memory **out, struct memory_objects **objects, struct pass *pass,
		 const struct pd *rec, struct spaces *sp, const struct memory_opts *opts,
		 struct err *err) MUST_USE;
int memory_end(struct memory *m, struct err *err) MUST_USE;
void memory_free(struct memory *m); /* NULL is fine */

/* Returns "computed"; or why it is not. */
const char *memory_operand_text(enum memory_operand_why why);
/* Sets the fields that the samples of such a group share; the rest is empty. */
void memory_op(struct memop *out, const struct memory_group *g);
/* For groups of MEMORY_THREAD. The name may be in `text`. */
#define MEMORY_COMM 16
uint32_t memory_pid(const struct memory_group *g);
uint32_t memory_tid(const struct memory_group *g);
const char *memory_comm(const struct spaces *sp, const struct memory_group *g,
			char text[MEMORY_COMM]);
/* Returns the one to show if there is room for one: of data, else any. */
enum memop_latency memory_shown_latency(const struct memory *m);
/* Returns NULL if no sample of the group has such a latency. */
const struct memory_spread *memory_spread(const struct memory *m, const struct memory_group *g,
					  enum memop_latency l);
/* Ascending; good until the next call with another spread, from any caller. */
const struct memory_bin *memory_bins(const struct memory *m, const struct memory_spread *s,
				     size_t *n);
struct estimate memory_mean(const struct memory_spread *s);
/* q: 0.5 or more */
struct estimate memory_quantile(const struct memory *m, const struct memory_spread *s, double q);
/* Returns the group's part of the cycles of all samples. */
struct estimate memory_cycles_share(const struct memory *m, const struct memory_spread *s);
/* Returns the misses that were open when a load of the group missed: how many overlap. */
struct estimate memory_open(const struct memory_group *g);
/* Returns true if its misses wait for one another: the mean is below 2, the bar included. */
bool memory_serial(const struct memory *m, const struct memory_group *g);
/* Returns the samples of [1 << log2, 2 << log2) cycles; log2 -1: of 0 cycles. */
uint64_t memory_count_in(const struct memory *m, const struct memory_spread *s, int log2);

#endif
