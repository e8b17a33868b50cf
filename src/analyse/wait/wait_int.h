/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_int - the pieces of wait.h: records into facts (wait_scan.c), facts in the order of time
 * into spans (wait_track.c), chains for spans without one (wait_donor.c), names (wait_frames.c) and
 * reasons (wait_name.c), sums (wait_sum.c) and their bars (wait_bar.c).
 */
#ifndef CYCLADE_ANALYSE_WAIT_WAIT_INT_H
#define CYCLADE_ANALYSE_WAIT_WAIT_INT_H

#include "analyse/itab.h"
#include "analyse/sample_frames.h"
#include "analyse/wait.h"
#include "base/hash.h"
#include "base/vec.h"

enum fact_kind {
	FACT_SEEN,    /* it ran then */
	FACT_RUNTIME, /* sched_stat_runtime: it ran for `ran` ns up to then */
	FACT_FORK,
	FACT_EXIT,
	FACT_OUT,	/* a switch record */
	FACT_STACK,	/* the event context-switches: it leaves the CPU */
	FACT_SOME,	/* the same, of every so manyth switch */
	FACT_RARE,	/* the same, at a frequency */
	FACT_TRACE_OUT, /* sched_switch */
	FACT_IN,
	FACT_TRACE_IN,
	FACT_WAKE,
	/* by another thread's record; they say nothing on who ran */
	FACT_MIGRATED,	/* the kernel gave it to another CPU */
	FACT_ACCOUNTED, /* the kernel counted `ran` ns more of its runtime */
	FACT_STARTED,	/* it was made able to run for the first time */
};

struct fact {
	uint64_t time;
	uint32_t tid, pid, cpu, chain;
	uint32_t arg; /* 1 + its place in wait_work.arg: of the call that it is in; 0: none */
	union {
		uint32_t waker;
		uint32_t ran; /* FACT_RUNTIME: at most UINT32_MAX */
	};
	uint8_t kind;
	bool preempted;
	bool alive; /* FACT_TRACE_OUT: it can go on, now or later */
	bool idled; /* FACT_OUT, FACT_TRACE_OUT: the CPU was given to its idle task */
};

struct lost_window {
	uint64_t from, until;
};

struct pass_sample;

struct wait_frame {
	uint32_t image, place;
	uint64_t addr; /* in the image */
	uint8_t kind;
};

/* Distinct addresses of code, and the functions that they are in. */
struct wait_frames {
	VEC(struct wait_frame) frame;
	struct itab at;
	VEC(struct wait_place) place; /* once named: 0 is none */
};

/* Returns the frame at an address of a sample's process (PASS_PLACE); UINT32_MAX: out of memory.
 * Narrows [*from, *until) to the time for which the answer holds. */
uint32_t frames_number(struct wait_frames *f, const struct pass_sample *s, enum space_kind kind,
		       uint64_t ip, uint64_t *from, uint64_t *until);
int frames_name(struct wait_frames *f, const struct spaces *sp, struct err *err) MUST_USE;
/* But for the places, which are the caller's then. */
void frames_free(struct wait_frames *f);

struct memo { /* a chain, or an object, that was seen before, and when it means the same */
	uint64_t from, until;
	uint32_t chain;
};

/* The chains of samples, as frames by number. */
struct wait_chains {
	struct wait_frames frames;
	struct chain_tree raw; /* frames by number, outermost next to the root */
	struct u64map memo_at;
	VEC(struct memo) memo;
	const struct spaces *sp;
	struct sample_frames unwound; /* of recorded stacks; begun at the first use */
};

/* The chain of a sample of a thread; 0: it has none. */
int chains_of(struct wait_chains *c, const struct pd *rec, const struct pass_sample *s,
	      uint32_t *chain, struct err *err) MUST_USE;
/* But for the places, which are the caller's then. */
void chains_free(struct wait_chains *c);

/* Numbers of threads are used again. */
struct tids {
	struct u64map at; /* tid -> the last of its threads */
	uint32_t *before; /* by thread: the one that had its tid before */
};

void tids_make(struct tids *t, const struct wait *w);
/* Returns the thread of wait.h; WAIT_NOBODY: none was recorded then. */
uint32_t tids_at(const struct tids *t, const struct wait *w, uint32_t tid, uint64_t time);
void tids_free(struct tids *t);

/* Waits of a thread with chains of their own, one behind the other, which gave these to others. */
#define SLICE_MOST 128u
struct donor_slice {
	uint32_t thread;
	bool preempted;
	size_t first, n;    /* of wait_work.donor */
	double time, woken; /* of those that got a chain, and of the wake-ups behind; ns */
};

struct pass;
struct wait_scan;

struct wait_work {
	struct wait_scan *scan; /* until the walk is over */
	const struct pd *rec;
	struct spaces *sp;
	struct wait_opts opts;
	struct wait *out;
	VEC(struct fact) fact;
	VEC(struct lost_window) lost; /* sorted, apart from each other */
	struct wait_chains chains;
	struct u64map own;    /* threads with records of their own: time of the first */
	struct u64map cgroup; /* by thread: that of its last sample that has one */
	VEC(struct wait_thread) thread;
	VEC(struct wait_span) span;
	VEC(struct donor_slice) slice;
	VEC(uint32_t) donor; /* chains */
	uint32_t *slice_of;  /* by span, if it is guessed */
	uint8_t *reason;     /* by chain of out->chain */
	uint32_t *at;	     /* the same: its place */
	bool *interrupt;     /* the same: an interrupt ran it */
	uint8_t *object;     /* the same: enum pd_object, by its system call */
	VEC(uint64_t) arg;   /* distinct first arguments of calls */
	struct u64map arg_at;
	uint32_t *line_of;     /* by chain of chains.raw: 1 + its frame outside of the C library */
	uint64_t begins;       /* switches are recorded since then */
	uint64_t first_sample; /* its time; UINT64_MAX: there is none */
	bool has_switch_records;
	bool hidden;  /* tasks that are not idle have the number 0: another PID namespace */
	bool thinned; /* chains of some switches were recorded, at least at times */
};

void wait_scan_begin(struct wait_work *k, struct pass *pass);
void wait_scan_end(struct wait_work *k);
void wait_scan_free(struct wait_work *k);
int wait_track(struct wait_work *k, struct err *err) MUST_USE;
/* Needs the spans of wait_track: their chains and reasons are not named yet. */
int wait_donate(struct wait_work *k, struct err *err) MUST_USE;
int wait_name(struct wait_work *k, struct err *err) MUST_USE;
/* Of each raw chain the frame outside of the C library. */
void wait_lines(struct wait_work *k);
/* The objects of spans, which have the places of arguments until then. */
void wait_objects(struct wait_work *k);
void wait_sum(struct wait_work *k);
/* By what was seen in /proc: after wait_sum. */
void wait_looked(struct wait_work *k);
/* Sums by thing; those of looks are added. */
struct wait_things {
	struct u64map at, by_thread;
	VEC(struct wait_thing) v;
};
void things_add(struct wait_things *t, struct wait *w, uint32_t thread, const struct wait_thing *x);
void things_end(struct wait_things *t, struct wait *w);
/* The name's number; 0: not known. `pid`, `time`: of the thread that waits. */
uint32_t object_number(struct wait_work *k, enum pd_object kind, uint64_t value, const char *text,
		       uint32_t pid, uint64_t time);
/* The bars of its sums. */
void wait_bars(struct wait_work *k);

#endif
