/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * top - the machine's work, interval after interval: hottest functions, processes, cgroups,
 * metrics of CPUs, caches and sockets.
 * The model behind the screen of `top`; it draws nothing and knows no terminal.
 *
 *	top_open(&t, &opts, &err)
 *	top_run(t, &err)	each() after every interval, until top_end(), a signal, or --for
 *	top_close(t)
 *
 * Samples are kept as records of one interval. At its end they are a recording in memory, which
 * profile.h attributes as any: names are those of `report`. Idle processes cost nothing: the
 * mappings of a process are read when it is sampled first, and files of /proc only for processes
 * that were sampled. Memory is bounded (TOP_* below); records beyond that are counted.
 *
 * If sampling is impossible, `no_samples` has the reason: then processes come from /proc alone.
 *
 * One thread beside the recorder's, which only copies records. All calls are for the first.
 */
#ifndef CYCLADE_MONITOR_TOP_H
#define CYCLADE_MONITOR_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/estimate.h"
#include "measure/measure_opts.h"
#include "measure/sampling.h"
#include "symbol/image.h"

enum {
	TOP_SAMPLES = 16 << 20, /* bytes of an interval's samples */
	TOP_SIDE = 4 << 20,	/* of its mappings, forks, names */
	TOP_PAST = 512 << 10,	/* of those of intervals before; then /proc is read anew */
	TOP_FUNCTIONS = 2000,	/* that are kept of an interval */
	TOP_PROCESSES = 4000,	/* likewise */
	TOP_THREADS = 256,	/* whose switches are read in an interval */
	TOP_IMAGES = 1000,	/* files with symbols, before all are read anew */
	TOP_METRICS = 8000,	/* of CPUs, caches, sockets */
	TOP_HISTORY = 60,	/* intervals whose figures are kept of each */
};

struct top_function {
	const char *function, *dso; /* as `report` names them; from outside */
	const char *comm;	    /* the thread's name that has most of it */
	bool kernel;
	uint64_t samples;
	struct estimate share;	/* of all samples, with its 95 % error */
	struct estimate change; /* against the interval before; NAN: there was none */
	bool noise;		/* the change is within its error */
	uint64_t key;		/* the same in each interval */
};

struct top_process {
	uint32_t pid, threads;
	char state;	      /* as of /proc; 0: it has ended */
	const char *comm;     /* from outside */
	const char *cgroup;   /* path; "" */
	const char *function; /* its hottest; NULL: not sampled */
	uint64_t samples;
	struct estimate cpu;	  /* CPUs: 1 is one all the time */
	struct estimate share;	  /* of all samples */
	struct estimate switches; /* a second */
	struct estimate faults, major;
};

struct top_cgroup {
	const char *path, *name; /* name: the unit, container or pod */
	size_t processes;
	struct estimate cpu, share, switches, faults;
};

struct top_metric {
	const char *place; /* "cpu 3" */
	const char *name, *unit, *means;
	bool share;	     /* a fraction */
	struct estimate now; /* by time, if it only grows */
	const double *past;  /* of so many intervals, this one last; NAN: not known */
	size_t n_past, history;
};

struct top_interval {
	uint64_t number; /* from 1 */
	double seconds;	 /* its length */
	double wall;	 /* when it ended, of the calendar's clock */
	uint64_t samples, lost, throttled;
	uint64_t dropped;		     /* samples that there was no room for (TOP_SAMPLES) */
	double own;			     /* CPUs that we took ourselves */
	const struct top_function *function; /* by share */
	size_t n_functions;
	uint64_t more_functions;	   /* with fewer samples: left out */
	const struct top_process *process; /* that ran, by CPU time */
	size_t n_processes;
	uint64_t more_processes;
	const struct top_cgroup *cgroup;
	size_t n_cgroups;
	const struct top_metric *metric; /* of the machine, sockets, L3 caches, CPUs */
	size_t n_metrics;
};

struct top;

struct top_opts {
	const struct measure_opts
		*opts; /* interval is not 0; all of the rest as for sampling_open() */
	const struct images_opts *symbols;
	/* An interval ended; top_interval() has it. */
	int (*each)(void *ctx, struct top *t, struct err *err);
	/* The file of top_wake() can be read. */
	int (*woken)(void *ctx, struct top *t, struct err *err);
	void *ctx;
};

/* Whether the kernel lets us sample whole CPUs. */
bool top_may_watch_all(void);
int top_open(struct top **out, const struct top_opts *opts, struct err *err) MUST_USE;
void top_wake(struct top *t, int fd); /* before top_run() */
int top_run(struct top *t, struct err *err) MUST_USE;
void top_end(struct top *t);
void top_close(struct top *t); /* NULL is fine */

/* Samples, with the tree beside them; NULL: none, see top_no_samples(). */
struct sampling *top_sampling(const struct top *t);
/* The last interval; number 0: there is none yet. Valid until the next ends. */
const struct top_interval *top_interval(const struct top *t);
/* Where the interval began, in ns since counting did, and where it ended. */
void top_span(const struct top *t, uint64_t *from, uint64_t *to);
void top_set_interval(struct top *t, uint64_t ns);
/* While it is held the last interval stays; samples that come meanwhile are dropped. */
void top_hold(struct top *t, bool on);
/* The samples of the last interval as a recording. */
int top_save(struct top *t, const char *path, uint64_t *samples, struct err *err) MUST_USE;

/* The event that samples: "cycles:P", "cpu-clock:I"; NULL: nothing. Why it is not cycles; "". */
const char *top_event(const struct top *t);
const char *top_no_cycles(const struct top *t);
const char *top_no_samples(const struct top *t); /* "" */
const char *top_no_machine(const struct top *t); /* why there are no metrics; "" */
bool top_whole(const struct top *t);		 /* of all CPUs */
bool top_user_only(const struct top *t);
size_t top_cpus(const struct top *t);

#endif
