/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * top_int - the pieces of top.h.
 *
 *	top_open.c	opening, the loop, the parts of an interval
 *	top_records.c	records of an interval; which of them are needed for names
 *	top_functions.c	a profile of them; functions and their change
 *	top_processes.c	processes and cgroups, by /proc
 *	top_stat.c	the texts of /proc
 *	top_machine.c	metrics, by monitor.h
 */
#ifndef CYCLADE_MONITOR_TOP_INT_H
#define CYCLADE_MONITOR_TOP_INT_H

#include <pthread.h>

#include "analyse/profile.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "measure/counting.h"
#include "monitor/monitor.h"
#include "monitor/top.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"

/* ---- records --------------------------------------------------------------------------------- */

struct top_heap { /* an interval's records */
	struct buf sample, side;
	uint64_t samples, lost, throttled, dropped;
};

struct top_records {
	pthread_mutex_t lock;
	struct top_heap now;   /* being filled, by the recorder's thread */
	struct top_heap last;  /* of the interval that ended; only ours */
	struct buf head;       /* of a recording */
	struct buf kernel;     /* mappings of the kernel and its modules */
	struct buf past;       /* mappings, forks, names of processes that were sampled once */
	struct buf whole;      /* all of that in a row */
	struct u64map known;   /* pid -> whether `past` has its mappings */
	struct pd_event event; /* as samples lie */
	size_t trailer;
	bool gaps; /* mappings were missed: `past` is not to be believed */
};

int top_record(void *ctx, const void *p, size_t size, struct err *err); /* of a recorder_sink */
/* Takes new records; reads /proc's data of processes that were sampled for the first time. `drop`:
 * forgets the records. */
int top_records_take(struct top_records *r, bool drop, struct err *err) MUST_USE;
/* The last interval as a recording, in `whole`. */
int top_records_join(struct top_records *r, bool head, struct err *err) MUST_USE;
void top_records_free(struct top_records *r);

/* ---- /proc ----------------------------------------------------------------------------------- */

struct top_stat {
	char comm[64];
	char state;
	uint32_t threads;
	uint64_t faults, major, ticks, start;
};
/* The text of /proc/PID/stat; false: it is none. The name may hold anything. */
bool top_stat_parse(struct top_stat *out, const char *text, size_t len);
/* The sum of voluntary and other switches of /proc/PID/status. */
bool top_switches_parse(uint64_t *out, const char *text, size_t len);
/* The path of /proc/PID/cgroup: that of version 2, else the first that is not the root. */
bool top_cgroup_parse(const char **path, size_t *path_len, const char *text, size_t len);
/* "nginx.service", "docker 1b2c3d4e5f60", "pod 0123abcd": the name of a path. */
const char *top_cgroup_name(struct arena *a, const char *path);

/* ---- an interval ----------------------------------------------------------------------------- */

struct top_share { /* a function, as the next interval compares with it */
	uint64_t key;
	double share, half;
};

struct top_seen { /* a process */
	uint32_t pid;
	uint64_t start, ticks, faults, major;
	uint64_t at;	   /* ns of the clock, when read */
	uint64_t interval; /* the last one that it was in */
	char *cgroup;
};

struct top_ran { /* a process or a thread of it, of the samples of an interval */
	uint32_t pid;
	uint64_t samples;
	double period, most; /* most: of its hottest function */
	const char *function, *comm;
	VEC(uint32_t) tid;
};

struct top_history { /* of a metric somewhere: a ring */
	double v[TOP_HISTORY];
	size_t n;
};

struct top_switched { /* a thread */
	uint64_t count, at;
};

struct top {
	struct top_opts opts;
	struct measure_opts sampled; /* of `opts`: the options in effect */
	struct sampling *sampling;   /* NULL: no_samples has the reason */
	struct recorder_sink sink;
	struct counting own; /* without sampling: the loop */
	struct counting *k;  /* sampling's, or our own */
	bool own_open;
	char no_samples[256], no_cycles[256];
	int wake;
	bool held, ends;
	uint64_t interval_ns, next, began; /* ns of the monotonic clock */
	uint64_t from, to;		   /* of the last interval, since counting began */
	double own_s;			   /* CPU seconds of ours, as of `began` */
	struct top_records records;
	struct images *images;
	struct arena a[2]; /* of this interval, of the one before */
	unsigned at;
	struct top_interval now;
	VEC(struct top_share) before; /* by key */
	double before_none; /* half of a share of 0, in the interval before; NAN: there was none */
	VEC(struct top_seen) seen;
	struct u64map seen_at;	/* pid -> its place + 1 */
	struct u64map switched; /* tid -> place + 1 in: */
	VEC(struct top_switched) thread;
	VEC(struct top_ran) ran;
	struct monitor *monitor; /* NULL: no_machine has the reason */
	struct monitor_opts monitor_ask;
	struct measure_opts machine_ask;
	char no_machine[256];
	uint64_t turn; /* when counters of the machine took turns last */
	VEC(struct top_metric) metric;
	VEC(struct top_history) history;
	struct u64map history_at; /* by place and name: place + 1 */
};

/* Fills the functions of `now`, and ran. */
int top_functions(struct top *t, struct arena *a, struct err *err) MUST_USE;
/* Sets the change of `n` functions against the shares of the interval before, and makes them those
 * that the next compares with. W, W2: sums of weights and their squares. */
int top_changes(struct top *t, struct top_function *f, size_t n, double W, double W2,
		struct err *err) MUST_USE;
/* Fills the processes and cgroups of `now`. */
int top_processes(struct top *t, struct arena *a, struct err *err) MUST_USE;
/* Metrics of the machine: as far as they can be had; when turns are due, in ns; those of `now`. */
void top_machine_open(struct top *t);
uint64_t top_machine_tick(const struct top *t, uint64_t now);
void top_machine_turn(struct top *t, uint64_t now);
int top_machine(struct top *t, struct arena *a, struct err *err) MUST_USE;
void top_machine_close(struct top *t);
void top_ran_clear(struct top *t);

#endif
