/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pass_thread - the thread of a sample: the process with its address spaces at the time, the
 * thread's name, the cgroup, and whether the selection wants them. Each answer about a thread holds
 * for a span of time, so that a small table of the last ones answers nearly always.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/pass/pass_int.h"
#include "base/big.h"
#include "base/text.h"

#define SLOTS 1024u

const char *pass_comm_text(const struct spaces *sp, uint64_t comm, char buf[COMM_TEXT])
{
	if (!(comm & COMM_TID))
		return strtab_get(spaces_strings(sp), (uint32_t)comm);
	/* the idle thread, which no record announces */
	if (!(uint32_t)comm)
		return "swapper";
	(void)snprintf(buf, COMM_TEXT, ":%" PRId32, (int32_t)(uint32_t)comm);
	return buf;
}

const char *pass_cgroup_text(const struct spaces *sp, uint64_t id, char buf[CGROUP_TEXT])
{
	const char *path = spaces_cgroup_path(sp, id);

	if (path)
		return path;
	if (!id)
		return "[unknown]";
	(void)snprintf(buf, CGROUP_TEXT, "cgroup %" PRIu64, id);
	return buf;
}

static bool named(const struct pass *p, uint64_t id)
{
	char buf[CGROUP_TEXT];
	const char *path = pass_cgroup_text(p->sp, id, buf);

	for (size_t i = 0; i < p->sel.n_cgroups; i++)
		if (text_means(p->sel.cgroups[i], path))
			return true;
	return false;
}

bool pass_wants_cgroup(const struct pass *p, struct pass_worker *w, const struct pass_sample *s)
{
	uint64_t id;

	if (!p->sel.n_cgroups)
		return true;
	id = pd_sample_cgroup(s->ev, s->r);
	if (!w->cgroup_known || id != w->cgroup) {
		w->cgroup = id;
		w->cgroup_known = true;
		w->cgroup_wanted = named(p, id);
	}
	return w->cgroup_wanted;
}

int pass_threads_init(const struct pass *p, struct pass_worker *w)
{
	size_t n = pass_entries(p, SLOTS);

	w->mask = (unsigned)n - 1;
	w->thread = big_zeros(n, sizeof(*w->thread));
	return w->thread ? 0 : -1;
}

void pass_threads_forget(struct pass_worker *w)
{
	free(w->thread);
	w->thread = NULL;
	w->last = NULL;
}

static int look_up(struct pass *p, unsigned worker, struct pass_thread *t, uint64_t task,
		   uint64_t time)
{
	uint32_t pid = task_pid(task), tid = task_tid(task);

	*t = (struct pass_thread){ .until = UINT64_MAX,
				   .task = task,
				   .used = true,
				   .proc = spaces_process(p->sp, pid, time),
				   .proc_index = UINT32_MAX,
				   .turn = ++p->worker[worker]->turn };
	if (t->proc) {
		process_life(t->proc, &t->from, &t->until);
		t->proc_index = process_index(t->proc);
	} /* else no process ever has this pid: spaces_process() returns the first that does */
	if (p->wants & PASS_COMM) {
		uint64_t from = 0, until = UINT64_MAX;
		uint32_t comm = spaces_comm_at(p->sp, pid, tid, time, &from, &until);

		t->comm = comm == STR_NONE ? COMM_TID | tid : comm;
		if (from > t->from)
			t->from = from;
		if (until < t->until)
			t->until = until;
	}
	t->wanted = pass_wants_thread(p, t);
	for (unsigned i = 0; i < p->n_visits; i++) {
		const struct pass_visit *x = &p->visit[i];

		if (x->v.thread && x->v.thread(x->ctx, worker, t))
			return -1;
		t->tags[i] = t->tag;
	}
	return 0;
}

struct pass_thread *pass_new_thread(struct pass *p, unsigned worker, struct pass_thread *t,
				    uint64_t task, uint64_t time)
{
	p->worker[worker]->last = NULL;
	if (look_up(p, worker, t, task, time))
		return NULL;
	p->worker[worker]->last = t;
	return t;
}

const struct pass_thread *pass_thread(struct pass *p, unsigned worker, uint64_t task, uint64_t time)
{
	return pass_thread_of(p, p->worker[worker], worker, task, time);
}
