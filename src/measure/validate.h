/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate - which events of this machine may be believed: kernels run whose counts are known
 * exactly (src/kernels), and the events' counts are compared with these.
 *
 *	validate_rule_of("INST_RETIRED.ANY")	an event's rule; NULL: unknown
 *	validate_events(&event, &n, ...)	which are to be tested
 *	validate_machine(&bench, event, n, cpu, sibling, &err)	real kernels and counters; pinned
 *	validate_run(&v, arena, &opts, &bench, &err)
 *	validate_close(&bench)
 *
 * A cell is an event in a kernel: its count of an iteration, minus that of the empty kernel (so
 * that calls, interrupts and reading the counters do not matter), repeated until the 95 % interval
 * is small (base/paired.h). Events count in groups of which none is multiplexed: a group that does
 * not fit is split.
 *
 * An event is accused only if a cell that looked wrong is wrong again: the repeats of a second
 * series are beyond the tolerance, on the same side, so often that chance does it to any cell in
 * one of 50 runs at most (sign test, corrected for the number of cells: VALIDATE_CHANCE). The test
 * assumes nothing about how counts spread. `limit` is the smallest relative error that would have
 * been found.
 *
 * The bench is all that knows of counters and threads: tests plant counts in another one.
 */
#ifndef CYCLADE_MEASURE_VALIDATE_H
#define CYCLADE_MEASURE_VALIDATE_H

#include "base/arena.h"
#include "base/perf_abi.h"
#include "collect/event.h"
#include "kernels/kernel.h"
#include "measure/calibrate.h"
#include "model/model.h"

/* ---- rules of events ------------------------------------------------------------------------ */

enum validate_from { /* which memory the event's loads are from */
		     FROM_ANY,
		     FROM_LOCAL,  /* of the CPU's own NUMA node: none in memory of another socket */
		     FROM_REMOTE, /* of another socket: none in memory of the own node */
};

/* Another CPU, as seen from the one that runs the kernels. */
enum validate_pair {
	PAIR_NONE,
	PAIR_CORE,   /* another thread of its core */
	PAIR_L3,     /* another core, the same L3 cache */
	PAIR_SOCKET, /* another L3 cache, the same NUMA node of the same socket */
	PAIR_REMOTE, /* another socket */
	VALIDATE_PAIRS
};
extern const char *const validate_pair_key[VALIDATE_PAIRS]; /* "same core", ... */

enum validate_kind {
	COUNTS_SUM,    /* of quantities, exactly */
	COUNTS_LEAST,  /* the same, and work on wrong paths besides */
	COUNTS_CYCLES, /* of the core's clock */
	COUNTS_NS,     /* in which the thread ran */
	COUNTS_SOME,   /* not 0 in one kernel, 0 in others */
	COUNTS_MOVES,  /* lines or pages that come: the sum if they must, 0 if they cannot */
};

/* The cache into which lines of COUNTS_MOVES come. */
enum validate_into { INTO_NONE, INTO_L1, INTO_L2, INTO_L3, INTO_TLB };

struct validate_rule {	    /* a row of event_rule.def */
	const char *events; /* names or globs, by spaces; case does not matter */
	enum validate_kind kind;
	double weight[QUANTITIES];
	const char *kernels; /* in which it is so: globs; those after '-' not */
	const char *in;	     /* of COUNTS_SOME: the kernel */
	enum calibrate_at at;
	double least;  /* at least so many for each iteration */
	bool kernel;   /* the operating system's part is counted, too */
	double within; /* relative error that is no fault */
	enum validate_from from;
	enum validate_pair pair; /* COUNTS_SOME: `in` reads lines that such a CPU has */
	enum validate_into into; /* of COUNTS_MOVES */
	double most;		 /* of COUNTS_SOME, for each iteration; 0: any number */
	bool more; /* the sum or more: one thing may count several times, by the vendor's text */
};

const struct validate_rule *validate_rule_of(const char *event);
/* No kernel gives it more than bounds. */
bool validate_rule_bounds(const struct validate_rule *r);
/* Appends a rule's quantities: "loads + stores". */
void validate_rule_put(struct buf *b, const struct validate_rule *r);

/* ---- the bench ------------------------------------------------------------------------------- */

struct validate_event {
	const char *name;
	struct perf_event_attr attr;
	const char *absent; /* why this machine cannot count it; NULL */
	bool used;	    /* a node of the model's tree rests on it */
};

struct validate_choice {
	const struct model *model; /* NULL: none is for this CPU */
	const bool *needed;	   /* by event of the model: these alone; NULL: all */
	const char *const *name;   /* names and globs that were asked for; none: all */
	size_t n_names;
	const char *no_pmu; /* why there are no counters; NULL */
	const char *root;   /* "" */
	unsigned cpu;
	bool user_only; /* the kernel's part may not be counted here */
};

/* Events to test, of which some may be `absent`. `list` parses them, and lives as long. */
int validate_events(struct validate_event **out, size_t *n, struct arena *a,
		    struct event_list *list, const struct validate_choice *c,
		    struct err *err) MUST_USE;

/* Marks the events that a metric's formula needs, those of metrics in it included. */
int validate_needs(bool *needed, struct arena *a, const struct model *m, uint32_t metric,
		   struct err *err) MUST_USE;

#define VALIDATE_GROUP 4u
enum { SLOT_KERNEL, SLOT_EMPTY, SLOT_BUSY, VALIDATE_SLOTS };

struct validate_counts {
	double count[VALIDATE_GROUP];
	double wall, cpu; /* seconds */
	double busy;	  /* iterations of the other thread of the core meanwhile */
	bool shared;	  /* the counters had to take turns: does not count */
	bool alone;	  /* the other thread was to run, but got no CPU: does not count */
};

struct validate_bench {
	void *ctx;
	const char *no_sibling; /* why no other thread of the core can be kept busy; NULL */
	const char *no_other;	/* why the thread cannot move to another CPU; NULL */
	int (*open)(void *ctx, unsigned slot, const struct kernel *k, const struct kernel_setup *s,
		    uint64_t *round, struct err *err);
	void (*close)(void *ctx, unsigned slot);
	/* Events, by index, counted together from now on. *fits false: not at the same time.
	 * why[i]: the kernel refuses it. */
	int (*count)(void *ctx, const size_t *event, size_t n, bool *fits, const char **why,
		     struct err *err);
	/* `busy`: while the kernel of SLOT_BUSY runs on the other thread of the core. */
	int (*run)(void *ctx, unsigned slot, uint64_t n, bool busy, struct validate_counts *out,
		   struct err *err);
};

int validate_machine(struct validate_bench *out, const struct validate_event *event, size_t n,
		     unsigned cpu, unsigned sibling, struct err *err) MUST_USE;
#define VALIDATE_NO_SIBLING UINT32_MAX
void validate_close(struct validate_bench *b); /* of validate_machine() */

/* ---- results --------------------------------------------------------------------------------- */

#define VALIDATE_VERDICTS      \
	V(EXACT, "exact")      \
	V(WITHIN, "within")    \
	V(OVER, "over-counts") \
	V(UNDER, "under-counts") V(DEAD, "dead") V(LEAKS, "leaks") V(UNTESTED, "not tested")
enum validate_verdict {
#define V(id, key) VALIDATE_##id,
	VALIDATE_VERDICTS
#undef V
};
extern const char *const validate_verdict_key[];

/* Causes of a fault. */
#define VALIDATE_CAUSES         \
	C(NONE, "")             \
	C(FACTOR, "factor")     \
	C(QUANTITY, "quantity") \
	C(SPECULATION, "speculation") C(UNIT, "unit") C(CORE, "whole core") C(SMT, "busy core")
enum validate_cause {
#define C(id, key) CAUSE_##id,
	VALIDATE_CAUSES
#undef C
};
extern const char *const validate_cause_key[CAUSE_SMT + 1];

struct validate_cell {
	size_t event;
	const struct kernel *kernel;
	enum calibrate_at at;
	uint64_t bytes;
	const struct kernel *busy; /* on the other thread of the core; NULL: idle */
	double expected;	   /* for an iteration; NAN: no exact count, `least` holds */
	double least, most;	   /* that pass; most INFINITY: any number */
	double floor;		   /* less is as good as nothing */
	struct estimate got;
	double busy_rate; /* iterations of the busy thread for each of ours */
	double alone;	  /* got without these, if the event counts them, too */
	double slack;	  /* more than expected that is no fault: the threads share the core */
	const char *prefetchers; /* "on", "off"; NULL: as they were */
	unsigned on_node;	 /* 1 + the NUMA node of its memory; 0: where the kernel puts it */
	unsigned other;		 /* 1 + the CPU that has its lines before; 0: none */
	enum validate_pair pair; /* where that is */
	size_t repeats;
	bool wrong;	  /* confirmed */
	bool stay;	  /* its lines or pages stay: none comes */
	const char *left; /* why its kernel could not run; NULL */
};

struct validated {
	const struct validate_event *event;
	const struct validate_rule *rule;
	enum validate_verdict verdict;
	enum validate_cause cause;
	double deviation; /* relative, of the worst cell; of those that pass with its bar. NAN */
	double deviation_half;	 /* its bar; NAN */
	double limit;		 /* smallest relative error that would have been found; NAN */
	const char *kernel;	 /* where it is worst */
	const char *with;	 /* its cause: a quantity's key; NULL */
	double weight;		 /* how many of `with`, or the factor */
	const char *why;	 /* of UNTESTED */
	const char *not_beside;	 /* why it was not tested beside a busy thread, if it could; NULL */
	const char *prefetchers; /* as of its cells */
	size_t repeats, dropped;
};

struct validate {
	struct validated *row; /* by opts.event; behind a join those of the second run follow */
	size_t n_rows;
	struct validate_cell *cell;
	size_t n_cells;
	size_t groups, dropped;
	const char *no_sibling, *no_other;
	bool emulated; /* time follows instructions: no pipeline */
	bool stopped;  /* before all was tested */
};

#define VALIDATE_CHANCE 0.02 /* that a run accuses a sound event */

struct validate_opts {
	const struct validate_event *event;
	size_t n_events;
	const char *const *kernel; /* globs; none: all */
	size_t n_kernels;
	struct calibrate_sizes sizes;
	unsigned own_node;	/* 1 + the NUMA node of the CPU; 0: there is none to compare */
	const unsigned *remote; /* 1 + each node with memory of other sockets */
	size_t n_remote;
	const char *no_remote;		/* why there is none */
	unsigned other[VALIDATE_PAIRS]; /* 1 + a CPU that is so; 0: none may be used */
	const char *no_other;		/* why no CPU is known to be so; NULL */
	bool quick;
	/* Before it begins: how long it will take. May be NULL, as news. */
	void (*plan)(void *ctx, size_t events, size_t kernels, double seconds);
	bool (*news)(void *ctx, double done); /* false: stop, keep the results so far */
	void *ctx;
};

/* own_node to no_remote, by a machine with MACHINE_TOPOLOGY and MACHINE_MEMORY. Nodes of the CPU's
 * own socket (sub-NUMA clusters) are neither: events differ in which they count as local. */
int validate_memory(struct validate_opts *o, struct arena *a, const struct machine *m, unsigned cpu,
		    struct err *err) MUST_USE;
/* other and no_other, of these CPUs, by a machine with MACHINE_TOPOLOGY, _SIBLINGS, _MEMORY,
 * _CACHES and _HYPERVISOR: where CPUs of a virtual machine are is not known. */
void validate_others(struct validate_opts *o, struct arena *a, const struct machine *m,
		     unsigned cpu, const uint32_t *cpus, size_t n);
int validate_run(struct validate *out, struct arena *a, const struct validate_opts *o,
		 const struct validate_bench *b, struct err *err) MUST_USE;
/* Marks all as found with prefetchers "on" or "off"; `more` (NULL: nothing) comes behind. */
int validate_join(struct validate *v, const char *prefetchers, const struct validate *more,
		  struct arena *a, struct err *err) MUST_USE;
/* Neither wrong nor untested. */
bool validate_passed(enum validate_verdict v);
/* It is known to be wrong. */
bool validate_failed(enum validate_verdict v);

#endif
