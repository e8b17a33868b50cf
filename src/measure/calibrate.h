/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate - costs of operations on this machine, by time alone: no counter is needed.
 *
 *	calibrate_machine(&bench, cpu, &err)			the real clock and kernels; pinned
 *	calibrate_run(&c, arena, &opts, &bench, &err)
 *	calibrate_close(&bench)
 *	calibrate_penalties(&p, &n, arena, &c, account, &err)	as nodes of an account
 *	calibrate_put_penalties(&buf, &c, p, n)			a file for report --penalties
 *
 * A measure is the time of a kernel, minus that of another if one is named, for each thing that the
 * first does more (src/kernels). The clock's frequency comes from a chain of additions that is
 * timed before and behind each repeat, so that cycles are right while it changes. The faster one
 * counts: a slow chain would make all else seem cheap.
 *
 * Repeats are spread over rounds: each takes a few of every figure, in memory that is taken anew
 * and, for mispredicts, with another layout of the code. Other work on the core (a VM of the same
 * host, for example) can slow a kernel down to half for seconds, and never makes it faster: the
 * value of one kernel is the fastest tenth of its repeats, its bar reaches to the interval of their
 * middle. A difference of two kernels is, of each round, that of the fastest repeats of both, and
 * the median of all rounds; its bar is the interval of Wilcoxon's test (base/paired.h), wider if
 * tenths of the rounds differ by more, and reaches to the middle of pairs of repeats. With fewer
 * rounds than the test needs it is that middle. A repeat during which the thread did not run is
 * dropped and counted. Time that the hypervisor took away without the thread noticing widens the
 * bar by its share. Fewer than PAIRED_LEAST repeats that count: no value, with the reason.
 *
 * The bench is all that knows of clocks, memory and threads: tests plant latencies in another one.
 */
#ifndef CYCLADE_MEASURE_CALIBRATE_H
#define CYCLADE_MEASURE_CALIBRATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/estimate.h"
#include "kernels/kernel.h"
#include "model/account.h"

enum calibrate_unit { CALIBRATE_CYCLES, CALIBRATE_NS, CALIBRATE_GBS };

/* Where the memory of a kernel, or its code, is to be. */
enum calibrate_at {
	AT_ANY, /* as the kernel's row has it */
	AT_L1,
	AT_L2,
	AT_L2_NEAR, /* so little that the first TLB has all its pages: few more than L1 holds */
	AT_L3,
	AT_MEMORY,
	AT_PAGES, /* a line in each of more pages than the TLBs hold */
	AT_LINES, /* as many lines, side by side */
	AT_L1I,
	AT_WALKS, /* a line in each of KERNEL_TIMES the pages that the largest TLB holds, or more */
};
#define CALIBRATE_TLB_MOST 4096u /* pages of 4 KB that TLBs hold: Zen 5 */

struct calibrate_sizes { /* bytes; 0: not known, or there is none */
	uint64_t l1, l1i, l2, l3;
	uint64_t most; /* that a kernel may have */
};

/* ---- the bench ------------------------------------------------------------------------------- */

struct calibrate_time {
	double wall, cpu; /* seconds; cpu: that the thread ran */
};

struct calibrate_opened {
	uint64_t round; /* iterations are a multiple of it */
	uint64_t warm;	/* iterations to run before each repeat, so that caches hold the memory */
	bool huge;	/* all of its memory is in huge pages */
};

#define CALIBRATE_SLOTS 3u /* kernels that are open at the same time */

struct calibrate_bench {
	void *ctx;
	int (*open)(void *ctx, unsigned slot, const struct kernel *k, const struct kernel_setup *s,
		    struct calibrate_opened *out, struct err *err);
	struct calibrate_time (*run)(void *ctx, unsigned slot, uint64_t n);
	void (*close)(void *ctx, unsigned slot);
	/* Loads of `*lines` lines that `from` has just read, or written. */
	int (*transfer)(void *ctx, unsigned from, unsigned to, bool modified,
			struct calibrate_time *out, unsigned *lines, struct err *err);
	double (*stolen)(void *ctx); /* seconds that the hypervisor took so far; NAN: not known */
	/* From now on on this CPU, with memory of this NUMA node; -1: as it was. */
	int (*place)(void *ctx, unsigned cpu, int node, struct err *err);
};

int calibrate_machine(struct calibrate_bench *out, unsigned cpu, struct err *err) MUST_USE;
void calibrate_close(struct calibrate_bench *b); /* of calibrate_machine() */

/* ---- results --------------------------------------------------------------------------------- */

struct calibrate_measure { /* a row of measures.def */
	const char *key;
	enum calibrate_unit unit;
	const char *kernel;
	enum calibrate_at at;
	const char *minus; /* another kernel; NULL: none */
	enum calibrate_at minus_at;
	unsigned per; /* a quantity; PER_ITERATION, PER_UNIT, PER_BYTE */
	const char *means;
};
#define PER_ITERATION (QUANTITIES + 0u)
#define PER_UNIT      (QUANTITIES + 1u)
#define PER_BYTE      (QUANTITIES + 2u)

struct calibrated {
	const struct calibrate_measure *m;
	struct estimate e;	 /* in m->unit */
	uint64_t bytes;		 /* of memory or code; 0: the kernel's own */
	bool huge, small;	 /* all in huge pages; not so, although they were asked for */
	bool doubt;		 /* no value: it came out below 0 */
	size_t repeats, dropped; /* dropped: the thread was interrupted */
	const char *prefetchers; /* "on", "off"; NULL: as they were */
};

struct calibrate_point { /* of the curve: loads that wait for each other, in so many bytes */
	uint64_t bytes;
	struct estimate ns, cycles;
	bool huge, small;	 /* likewise */
	const char *prefetchers; /* likewise */
};

struct calibrate_pair {
	unsigned from, to; /* CPUs */
	bool modified;
	struct estimate ns; /* for a load of a line that `from` has */
};

struct calibrate_place {
	unsigned memory, node; /* NUMA nodes: of the memory, of the CPU */
	unsigned cpu;
	struct estimate ns, gbs; /* a load that waits for the one before; reading in order */
};

struct calibrate {
	unsigned cpu;
	struct calibrate_sizes sizes;
	struct estimate hz;
	double stolen; /* share of the time; NAN: not known */
	size_t repeats, dropped;
	struct calibrated *row;
	size_t n_rows;
	struct calibrate_point *point;
	size_t n_points;
	struct calibrate_pair *pair;
	size_t n_pairs, pairs_left_out;
	const char *no_pairs; /* why transfers were not measured; NULL */
	struct calibrate_place *place;
	size_t n_places;
	const char *no_places; /* why nodes were not measured; NULL */
	bool stopped;	       /* before all was measured */
};

struct calibrate_node { /* of NUMA */
	unsigned node;
	uint32_t cpu; /* the first that may be used */
	bool has_cpu, has_memory;
};

struct calibrate_opts {
	struct calibrate_sizes sizes;
	unsigned cpu;
	const uint32_t *cpus; /* for transfers */
	size_t n_cpus;
	const struct calibrate_node *node;
	size_t n_nodes;
	bool quick;
	const char *const *only; /* globs or parts of keys, "latency", "transfers", "nodes"; none:
				  * all */
	size_t n_only;
	bool (*news)(void *ctx, double done); /* false: stop, keep the results so far */
	void *news_ctx;
};

extern const struct calibrate_measure calibrate_measures[];
extern const size_t n_calibrate_measures;

/* Caches of a machine with MACHINE_CACHES, and memory that may be taken, read below `root`. */
struct machine;
void calibrate_sizes_of(struct calibrate_sizes *out, const struct machine *m, unsigned cpu,
			const char *root, bool quick);
/* opts.node, by a machine with MACHINE_MEMORY; opts.cpus stands. */
int calibrate_nodes_of(struct calibrate_opts *o, struct arena *a, const struct machine *m,
		       struct err *err) MUST_USE;
/* Bytes for a place; 0, and why not. */
uint64_t calibrate_bytes(const struct calibrate_sizes *s, enum calibrate_at at, const char **why);
/* ERR_NOT_FOUND: nothing of that name (opts.only). */
int calibrate_run(struct calibrate *out, struct arena *a, const struct calibrate_opts *o,
		  const struct calibrate_bench *b, struct err *err) MUST_USE;
/* Marks rows and points as measured with prefetchers "on" or "off"; `more` (NULL: nothing) comes
 * behind those of `c`: costs and the curve, no transfers. */
int calibrate_join(struct calibrate *c, const char *prefetchers, const struct calibrate *more,
		   struct arena *a, struct err *err) MUST_USE;

/* ---- penalties ------------------------------------------------------------------------------- */

struct calibrate_penalty {
	const char *node;
	struct estimate e;		  /* cycles, or ns */
	bool ns, doubt;			  /* doubt: no value, since it came out below 0 */
	const char *from;		  /* the measure, or two: "l2 - l1" */
	const struct account_node *model; /* NULL: no account, or it has no such node */
	double model_here;		  /* the model's figure in the same unit; NAN: not known */
	bool differs;			  /* by more than the error */
};

/* `acc` NULL: no model. Penalties that its account has no node for are left out. */
int calibrate_penalties(struct calibrate_penalty **out, size_t *n, struct arena *a,
			const struct calibrate *c, const struct account *acc, double reference_hz,
			struct err *err) MUST_USE;
void calibrate_put_penalties(struct buf *b, const struct calibrate *c,
			     const struct calibrate_penalty *p, size_t n);

#endif
