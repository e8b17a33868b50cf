/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pass_int - shared by pass.c (the walk) and pass_thread.c (the thread of a sample).
 */
#ifndef CYCLADE_ANALYSE_PASS_PASS_INT_H
#define CYCLADE_ANALYSE_PASS_PASS_INT_H

#include <string.h>

#include "analyse/pass.h"

struct pass_worker {
	struct pass_thread *thread; /* direct-mapped; NULL: no chunk came yet, or not needed */
	struct pass_thread *last;
	unsigned mask; /* entries of the table - 1 */
	uint64_t turn, last_id;
	int last_event;	 /* of last_id; -1: not known */
	uint64_t cgroup; /* the last that was looked up, */
	bool cgroup_known, cgroup_wanted;
	struct places places;	 /* empty until a visitor needs it */
	struct pass_seen seen[]; /* by event */
};

struct pass {
	const struct pd *rec;
	const struct spaces *sp;
	struct selection sel;
	struct pass_opts opts;
	const struct pd_chunk *chunks;
	size_t n_chunks;
	const struct pd_event *ev;
	size_t n_events;
	uint64_t n_samples;
	bool *chosen; /* by event: by the selection or opts */
	bool *events; /* by event: wanted by a visitor */
	bool *cpus;   /* by CPU: wanted; NULL: all are */
	size_t n_cpus;
	struct pass_worker **worker;
	unsigned n_workers;
	struct pass_seen *seen;
	uint16_t id_at; /* offset of the event's id in samples; 0: not needed or not there */
	bool has_time, all;
	struct pass_visit {
		struct pass_visitor v;
		void *ctx;
	} visit[PASS_VISITORS];
	unsigned n_visits;
	unsigned wants; /* PASS_*, of all visitors and the selection */
};

/* The worker's table, made in its own thread: clearing it takes a while. */
int pass_threads_init(const struct pass *p, struct pass_worker *w) MUST_USE;
/* Threads were looked up for another visitor. */
void pass_threads_forget(struct pass_worker *w);
/* In this place of the table; NULL: out of memory. */
struct pass_thread *pass_new_thread(struct pass *p, unsigned worker, struct pass_thread *t,
				    uint64_t task, uint64_t time);

static inline bool pass_is_thread(const struct pass_thread *t, uint64_t task, uint64_t time)
{
	return t->task == task && time >= t->from && time < t->until;
}

/* The same as pass_thread(), of this worker; inline, as each sample asks. */
static inline struct pass_thread *pass_thread_of(struct pass *p, struct pass_worker *w,
						 unsigned worker, uint64_t task, uint64_t time)
{
	uint32_t tid = task_tid(task), h = (tid * 0x9e3779b1u ^ task_pid(task)) >> 16;
	struct pass_thread *t = w->last;

	/* runs of one thread are the rule */
	if (t && pass_is_thread(t, task, time))
		return t;
	t = &w->thread[(h ^ tid) & w->mask];
	if (!t->used || !pass_is_thread(t, task, time))
		return pass_new_thread(p, worker, t, task, time);
	w->last = t;
	return t;
}

/* Returns true if the selection allows its cgroup. */
bool pass_wants_cgroup(const struct pass *p, struct pass_worker *w, const struct pass_sample *s);
/* Returns true if the selection allows its pid, tid and comm. */
bool pass_wants_thread(const struct pass *p, const struct pass_thread *t);

#endif
