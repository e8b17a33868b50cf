/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of libcyclade.
 *
 *	open.c	    opening a set of counters	plan.c	from names to events
 *	thread.c    a thread's counters and handles	fork.c	memory that a child must not touch
 *	fast.c	    begin and end by rdpmc		slow.c	all other cases
 *	plain.c	    begin and end by read(2), or by time alone
 *	table.c	    the sums as they lie in memory	sums.c	from sums to values
 *	show.c	    tables for people, json		api.c	functions of cyclade.h
 *
 * How begin and end detect readings that do not belong together. Each counter has a page of the
 * kernel's with a `lock` word that grows whenever the kernel touches the counter: takes it off,
 * puts it on another, hears of its overflow. When a thread last looked at its pages it noted
 * indices, offsets and the sum of all locks. begin() reads the counters by the indices noted and
 * then sums up the locks: if the sum is the same, no lock grew (none ever shrinks), so the right
 * counters were read, and the noted offsets hold. end() compares with the sum that its begin saw:
 * if it is the same, the difference of the bare counters is the count. Anything else (another sum,
 * a region begun twice, a handle that is not this thread's) lets the sums differ and ends in
 * slow.c, which looks again, and first turns the notes of open regions' begins into whole counts
 * (offset and counter) with the offsets of that time.
 *
 * A reading by an index that the kernel has just given to another event yields a wrong number,
 * which the sum of locks catches, but no fault: as long as our pages are mapped rdpmc is allowed,
 * and all cores have the same counters. On hybrid machines they have not, so there we use read(2).
 *
 * Signals: a handler may use regions of its own at any point. Each region has its own memory; the
 * thread's memory is changed by slow.c alone, which a handler finds `busy` and then gives its run
 * up (`lost`). An end that finds its begin's notes were not brought along gives up, too.
 */
#ifndef CYCLADE_REGION_INT_H
#define CYCLADE_REGION_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/perf_abi.h"
#include "collect/event.h"
#include "cyclade.h"
#include "model/model.h"
#include "model/plan.h"
#include "region/table.h"

#ifndef REGION_RDPMC
#define REGION_RDPMC "rdpmc"
#endif

#define FAST_READS 8		/* counters that the fast path can read */
#define POISON	   (1ull << 32) /* no sum of locks is that */
/* A region's depth as it is noted: 0, or so much and MORE for each further begin. Odd if it is
 * open, so that no sum of locks (even) is the same with it as without; OPEN_BIT is the size of
 * st. */
#define DEPTH_ONE    0x101
#define DEPTH_MORE   0x400
#define OPEN_BIT     0x100
#define THREAD_BYTES 8192u /* of struct thread; then come the pages of its counters */
#define TICK_SECONDS 2.0

enum region_mode {
	MODE_NONE, /* time alone */
	MODE_READ, /* read(2) */
	MODE_SLOW, /* rdpmc, but several groups take turns: slow.c always */
	MODE_FAST, /* rdpmc */
};

struct set_event {
	struct perf_event_attr attr;
	const char *name;
	uint32_t group, part;
	bool extra;  /* asked for by itself: its group is not the plan's */
	bool core;   /* its PMU is that of its part's cores */
	bool pinned; /* its group is always on the counters */
	/* The event whose counter it shares, as it is the same by another name; its own index
	 * else. */
	uint32_t same;
	int refused; /* errno, 0: it counts */
	enum counts_kind kind;
	uint32_t field;
};

/* A counter that rdpmc reads: an event, or PERF_METRICS for all its fields. */
struct set_read {
	uint32_t event; /* whose page it is */
	uint32_t group;
	bool metrics;
};

struct cyclade_set {
	unsigned long number; /* first: see cyclade_number() */
	struct cyclade_set *next;
	struct arena arena;
	struct event_list list;
	pthread_mutex_t lock; /* threads come and go */
	pthread_key_t key;
	bool has_key;
	struct thread *threads;
	enum region_mode mode;
	struct set_event event[TABLE_EVENTS];
	uint32_t n_events, n_groups;
	struct set_read read[TABLE_EVENTS]; /* of MODE_FAST and MODE_SLOW; slots, metrics first */
	uint32_t n_reads, fields;
	bool kernel, hybrid, forked;
	struct model *model[TABLE_PARTS];
	uint32_t n_parts;
	/* the table */
	int fd;
	struct table_head *head;
	size_t head_len;
	uint32_t max_regions;
	size_t block_size;
	char path[4096];
	unsigned n_blocks;
	const struct plan *plan[TABLE_PARTS];
};

struct region {
	struct cyclade_region pub; /* the part in cyclade.h */
	struct thread *thread;
	uint64_t sum;	/* of locks at its begin, and DEPTH_ONE */
	uint32_t depth; /* less thread->self (its lower half): see depth_of() */
	uint32_t full;	/* st has whole counts, not bare counters */
	uint64_t t0;
	struct table_slot *slot;
	uint64_t pad;
	/* 64: */
	uint64_t st[TABLE_EVENTS], en[TABLE_EVENTS]; /* at begin, at end */
	/* for slow.c and plain.c */
	uint64_t enabled[TABLE_GROUPS], off[TABLE_GROUPS];
	uint64_t carry[TABLE_FIELDS], carry_slots; /* counted before a reset of PERF_METRICS */
	bool lost, carries;
	char name[TABLE_NAME]; /* fork.c's */
} __attribute__((aligned(64)));

struct thread {	       /* pages of its counters lie behind it, the first at THREAD_BYTES */
	uint64_t sum;  /* of locks when last looked at; POISON: some counter is off */
	uint64_t next; /* time stamp: sums are to be folded, PERF_METRICS begun anew */
	uint32_t idx[TABLE_EVENTS]; /* for rdpmc */
	uint32_t self;		    /* the thread pointer's lower half */
	struct cyclade_set *set;
	struct thread *list;
	enum region_mode mode;
	uint32_t n_reads, n_regions, width;
	struct region *region;
	struct table_block *block;
	size_t map_len;
	volatile bool busy; /* slow.c is at work */
	bool user_time;
	uint64_t tick;			 /* time stamps between two folds */
	int64_t offset[TABLE_EVENTS];	 /* by read */
	uint64_t enabled0[TABLE_GROUPS]; /* enabled = that + time of the time stamp */
	uint64_t off[TABLE_GROUPS];	 /* enabled - running, which stands while on a counter */
	uint16_t time_shift;
	uint32_t time_mult;
	bool ended;
	int fd[TABLE_EVENTS]; /* by event; -1 */
	int reset_fd;	      /* slots; -1 */
};

/* How often it is begun and not ended; 0: it is closed. */
static inline uint32_t depth_of(const struct region *r)
{
	uint32_t noted = r->depth + r->thread->self;

	return noted ? (noted - DEPTH_ONE) / DEPTH_MORE + 1 : 0;
}

static inline void depth_set(struct region *r, uint32_t depth)
{
	r->depth = (depth ? DEPTH_ONE + (depth - 1) * DEPTH_MORE : 0) - r->thread->self;
}

_Static_assert(sizeof(((struct region *)0)->st) == OPEN_BIT, "en is behind st");
_Static_assert(sizeof(struct thread) <= THREAD_BYTES, "pages come behind it");

/* The public part is the first. */
static inline struct region *region_of(struct cyclade_region *r)
{
	return (struct region *)(void *)r;
}

static inline uint64_t time_stamp(void)
{
#if defined(__x86_64__)
	uint64_t lo, hi; /* it clears the upper halves */

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return hi << 32 | lo;
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
#endif
}

/* Identifies the thread. */
static inline uint32_t thread_pointer(void)
{
#if defined(__x86_64__)
	uint32_t v;

	__asm__("movl %%fs:0, %0" : "=r"(v));
	return v;
#else
	return (uint32_t)(uintptr_t)__builtin_thread_pointer();
#endif
}

/* The kernel's page of a thread's counter. */
static inline struct perf_event_mmap_page *page_of(struct thread *t, size_t read)
{
	return (struct perf_event_mmap_page *)(void *)((char *)t + THREAD_BYTES + read * 4096);
}

/* Slot sums, as their one writer changes them: readers look at any time. */
static inline void add_u64(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) + v, __ATOMIC_RELAXED);
}

/* Memory fences by hand: the thread sanitizer does not know C11's. */
static inline void fence(void)
{
#if defined(__aarch64__)
	__asm__ volatile("dmb ish" : : : "memory");
#elif defined(__x86_64__)
	__asm__ volatile("" : : : "memory"); /* stores among each other, loads among each other */
#else
	__sync_synchronize();
#endif
}

static inline void slot_seq(uint64_t *seq)
{
	fence();
	add_u64(seq, 1);
	fence();
}

__extension__ typedef unsigned __int128 u128;

/* The squares of slots that a field was read with (table_slot.err_lo). */
static inline void add_error(struct table_slot *s, uint64_t a, uint64_t b)
{
	u128 err = (u128)s->err_hi << 64 | s->err_lo;

	err += (u128)a * a + (u128)b * b;
	__atomic_store_n(&s->err_lo, (uint64_t)err, __ATOMIC_RELAXED);
	__atomic_store_n(&s->err_hi, (uint64_t)(err >> 64), __ATOMIC_RELAXED);
}

/* fast.c: for so many reads and fields; NULL pointers if there is none. */
struct cyclade_region fast_ops(size_t reads, size_t fields);
bool fast_here(void); /* rdpmc exists on this kind of machine */
/* plain.c */
struct cyclade_region plain_ops(enum region_mode mode);
/* slow.c */
void slow_begin(struct region *r);
void slow_end(struct region *r, uint64_t now);
void slow_tick(struct region *r, uint64_t now);
void slow_tick_begin(struct region *r, uint64_t now);
void slow_look(struct thread *t); /* at a thread's start */
struct cyclade_region slow_ops(void);
uint64_t slow_time(const struct thread *t, uint64_t stamp); /* ns, from an arbitrary start */
void fold(struct thread *t);

/* plan.c: fills in the set's events, parts and models from the names. */
int plan_names(struct cyclade_set *s, const struct cyclade_open_opts *o, struct err *err) MUST_USE;
/* thread.c */
struct thread *thread_new(struct cyclade_set *s);
struct thread *thread_mine(struct cyclade_set *s);
struct region *thread_region(struct thread *t, const char *name);
struct cyclade_region thread_ops(const struct thread *t);
void thread_stop(struct thread *t); /* its counters end, its sums stay */
void thread_free(struct thread *t);
/* Which way counters can be read, tried out on the calling thread; fills in head->status. */
int thread_probe(struct cyclade_set *s, unsigned flags, struct err *err) MUST_USE;
/* fork.c */
void fork_watch(struct cyclade_set *s);
void fork_forget(struct cyclade_set *s);

#endif
