/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pass - the samples of a recording, walked over once, on all cores, for several visitors. Every
 * engine of this room reads samples through it; nothing else calls pd_chunks.
 *
 *	pass_new(&p, rec, spaces, &selection, &opts, &err)
 *	... a state of the visitor's own for each of pass_workers(p) ...
 *	pass_add(p, &visitor, ctx)	for each visitor
 *	pass_run(p, &err)		one walk; then there are no visitors
 *	... the states are joined, pass_seen(p) ...
 *	pass_free(p)
 *
 * A walk costs as much as reading the recording: engines that do not need one another's results
 * share one. Each has an X_begin(pass), which adds its visitor, and an X_end(), which joins the
 * visitor's counts.
 *
 * Order. The recording is a row of chunks of some MB, handed out in ascending order. For each chunk
 * a worker calls begin, then for its records in file order `sample`, `left_out` or `other`, then
 * end; of several visitors each, in the order in which they were added. A worker has one chunk at a
 * time, and its chunks ascend. With opts.threads 1, or if a visitor wants PASS_ORDER, all records
 * are visited in file order.
 *
 * Threads. Hooks run on several threads at a time, each with a worker number of its own below
 * pass_workers(). A hook writes only to the state of its worker, or to that of the chunk at hand.
 * Worker 0 is the caller's thread; progress is reported there.
 *
 * Joining. Which worker visits which chunk differs from run to run. So data joined by worker must
 * not depend on order: integers, sets. Data that depends on order is kept by chunk, and joined in
 * the order of chunks.
 *
 * Ownership. A pass_sample, its record and its thread are the pass's, good until the hook returns.
 * Bytes of the record stay until pd_close.
 *
 * Selection. `sample` is called if the selection and the visitor's events allow it, `left_out`, if
 * there is one, for the rest. A record that fits no event, or is shorter than its event's fixed
 * fields, reaches no hook: it is counted as bad. Each sample of the recording is one of the three,
 * exactly once (asserted), but for those that `bulk` takes.
 *
 * Errors. A hook that returns -1 with `err` filled ends the pass; the first such error is returned.
 *
 * Costs: some 5 ns a sample. A thread is looked up if a sample's thread differs from the one
 * before, in a small table; some 200 ns if it is not there. See symbol/place.h for places.
 */
#ifndef CYCLADE_ANALYSE_PASS_H
#define CYCLADE_ANALYSE_PASS_H

#include "analyse/selection.h"
#include "base/err.h"
#include "perfdata/perfdata.h"
#include "symbol/place.h"

/* Returns a process and one of its threads in one number; UINT32_MAX: not recorded. */
static inline uint64_t task_of(uint32_t pid, uint32_t tid)
{
	return (uint64_t)tid << 32 | pid;
}

static inline uint32_t task_pid(uint64_t task)
{
	return (uint32_t)task;
}

static inline uint32_t task_tid(uint64_t task)
{
	return (uint32_t)(task >> 32);
}

/* A thread's name as a number: an id in the spaces' strings, or COMM_TID | tid if no record names
 * the thread. */
#define COMM_TID  (1ULL << 32)
#define COMM_TEXT 16
const char *pass_comm_text(const struct spaces *sp, uint64_t comm, char buf[COMM_TEXT]);
#define CGROUP_TEXT 32
/* Returns the path of a cgroup, or a text for it if the path is not known. */
const char *pass_cgroup_text(const struct spaces *sp, uint64_t id, char buf[CGROUP_TEXT]);

#define PASS_VISITORS 16

/* A thread as a sample met it; the same for all samples of it with times in [from, until). */
struct pass_thread {
	uint64_t from, until;
	uint64_t comm;		    /* with PASS_COMM, or if the selection has one; else 0 */
	const struct process *proc; /* the address spaces it had then; NULL: none known */
	uint64_t task;		    /* task_of() */
	uint32_t proc_index;	    /* process_index(); UINT32_MAX: none known */
	uint32_t tag;		    /* the visitor's at hand, from its `thread` hook */
	uint64_t turn;		    /* of its worker: another one for each thread looked up */
	bool used, wanted;	    /* wanted: by pid, tid and comm of the selection */
	uint32_t tags[PASS_VISITORS];
};

/* Returns the address space of a thread's samples; for tables that one visitor alone writes to. */
static inline struct place_who pass_who(const struct pass_thread *t)
{
	return (struct place_who){ t->proc, t->proc_index, t->tag, t->from, t->until };
}

struct pass_sample {
	const struct pd_record *r;
	const struct pd_event *ev;
	const struct pass_thread *who; /* with PASS_THREAD; else NULL */
	struct places *places;	       /* with PASS_PLACE: of the worker */
	uint64_t time;		       /* ns; place in the file if there are no times */
	uint64_t task, id;	       /* id: if samples have one of several events; else 0 */
	uint32_t event, cpu;	       /* cpu: UINT32_MAX if it is not recorded */
	unsigned worker;
	size_t chunk;
};

enum {
	PASS_THREAD = 1, /* `who` is looked up; needs spaces */
	PASS_COMM = 2,	 /* and its comm */
	PASS_PLACE = 4,	 /* pass_place() may be asked */
	PASS_ALL = 8,	 /* samples of its events whatever the selection says */
	PASS_ORDER = 16, /* in file order: then one worker walks, for all visitors */
};

/* Returns the place of an address of the sample's process. The answer is read, not written:
 * visitors share them. */
static inline const struct place *pass_place(const struct pass_sample *s, uint8_t kind, uint64_t ip)
{
	const struct place_who who = { s->who->proc, s->who->proc_index, 0, s->who->from,
				       s->who->until };

	return place_find(s->places, &who, kind, ip, s->time);
}

/* `sample` is needed; the others may be NULL. */
struct pass_visitor {
	unsigned wants;	    /* PASS_* */
	const bool *events; /* by event: only these; NULL: those of the pass */
	int (*sample)(void *ctx, const struct pass_sample *s, struct err *err);
	int (*left_out)(void *ctx, const struct pass_sample *s, struct err *err);
	/* Records that are no samples. */
	int (*other)(void *ctx, unsigned worker, const struct pd_record *r, struct err *err);
	int (*begin)(void *ctx, unsigned worker, size_t chunk, struct err *err);
	int (*end)(void *ctx, unsigned worker, size_t chunk, struct err *err);
	/* A thread was looked up: its tag may be set. -1: out of memory. */
	int (*thread)(void *ctx, unsigned worker, struct pass_thread *t);
	/* The fast way, for a visitor that is alone: may take any number of records from *at on,
	 * and leaves *at at the first that it does not take. Called before each record that is
	 * left. It applies the selection itself and counts the samples that it takes. */
	int (*bulk)(void *ctx, unsigned worker, const struct pd_chunk *c, const uint8_t **at,
		    struct err *err);
};

struct pass_opts {
	const bool *events; /* by event: only these; NULL: those that the selection names */
	unsigned threads;   /* 0: all cores */
	void (*progress)(void *ctx, double fraction);
	void *progress_ctx;
};

struct pass_seen {			  /* samples, by event; in the last walk */
	uint64_t selected, left_out, bad; /* bad, of no event: with the first */
};

struct pass;

/* `spaces` may be NULL if no visitor wants threads and `sel` has no comm, cgroup, pid or tid. `sel`
 * NULL: everything. `sel`, `opts` and the objects that they point to must outlive the pass. */
int pass_new(struct pass **out, const struct pd *rec, const struct spaces *spaces,
	     const struct selection *sel, const struct pass_opts *opts, struct err *err) MUST_USE;
unsigned pass_workers(const struct pass *p); /* at least 1 */
size_t pass_chunks(const struct pass *p);
uint64_t pass_bytes(const struct pass *p); /* of all chunks */
/* Returns the number of samples in the recording, of all events. */
uint64_t pass_samples(const struct pass *p);
/* Returns a power of two of entries for a table of a worker, at most `most`, fewer for few samples:
 * a small recording does not pay for the tables of a large one. */
size_t pass_entries(const struct pass *p, size_t most);
/* Up to PASS_VISITORS; the objects that the visitor points to must stay until the walk. */
void pass_add(struct pass *p, const struct pass_visitor *v, void *ctx);
/* Without visitors nothing is walked. */
int pass_run(struct pass *p, struct err *err) MUST_USE;
/* A walk with this visitor alone. */
int pass_each(struct pass *p, const struct pass_visitor *v, void *ctx, struct err *err) MUST_USE;
unsigned pass_walks(void);				 /* of this process so far, for tests */
const struct pass_seen *pass_seen(const struct pass *p); /* by event of pd_events */
/* Returns a thread at a time, for `bulk`: good until the worker's next. NULL: out of memory. */
const struct pass_thread *pass_thread(struct pass *p, unsigned worker, uint64_t task,
				      uint64_t time) MUST_USE;
void pass_free(struct pass *p); /* NULL is fine */

#endif
