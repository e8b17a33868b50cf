/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_track - facts in the order of time, into the spans of each thread between them.
 *
 * A switch may be recorded several times: by a sample with its chain, by a switch record, by
 * sched_switch. The first sets the time, the others add their fields. The same kind of record twice
 * in a row means that something between was lost. So does a thread on the CPU of another that never
 * left it, and one that runs on another CPU than before: a CPU runs one thread at a time
 * (asserted).
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"
#include "analyse/wait/wait_int.h"
#include "base/bisect.h"
#include "base/sort.h"
#include "base/text.h"
#include "base/xalloc.h"

struct track { /* of a thread, now */
	uint32_t thread;
	bool idled;
	bool running, preempted, begun, before, exited, ended, sampled, there;
	bool gone;	  /* not running: another thread has its CPU, since an unknown time */
	uint32_t tellers; /* bit by fact_kind: of the last switch */
	uint64_t since, exit, chain_at; /* chain_at: time of the last sample of a switch */
	uint32_t chain, arg, cpu;
	uint64_t woken; /* 0: not yet */
	uint32_t waker, waker_chain;
};

#define NO_HOLDER SIZE_MAX

/* A CPU runs one thread at a time: records of one there bound the time of all others. */
struct cpu_now {
	size_t holder; /* place in v of the thread that ran there last; NO_HOLDER: it left */
	uint64_t seen; /* the CPU's last record */
	uint64_t free; /* no thread but the holder has run there since; 0: in the whole recording */
	bool idled;    /* then the CPU became idle */
};

struct tracking {
	struct wait_work *k;
	struct u64map at; /* tid -> place in v */
	VEC(struct track) v;
	VEC(struct cpu_now) cpu;
	uint64_t ins, outs; /* switches of the recorded threads */
	bool anew;	    /* the fact is the first one of its switch */
	struct err *err;
};

/* ---- spans ----------------------------------------------------------------------------------- */

static void put_track_span(struct tracking *t, const struct wait_span *x)
{
	struct wait *w = t->k->out;
	struct wait_span s = *x;

	if (s.from < w->from)
		s.from = w->from;
	if (s.until > w->until)
		s.until = w->until;
	if (s.until <= s.from)
		return;
	vec_xpush(&t->k->span, s);
}

/* Returns the first window that ends behind `from`. */
static size_t window_at(const struct wait_work *k, uint64_t from)
{
	size_t at;

	bisect(at, k->lost.n, i, k->lost.v[i].until > from);
	return at;
}

#define PIECES 16

static void put_lost(struct tracking *t, const struct wait_span *s, uint64_t from, uint64_t until)
{
	const struct wait_span gone = { .from = from,
					.until = until,
					.thread = s->thread,
					.cpu = s->cpu,
					.waker = WAIT_NOBODY,
					.reason = WAIT_LOST };

	put_track_span(t, &gone);
}

/* Its part in a window of losses is not known; if there are many, nor is the part between them. */
static void put_known(struct tracking *t, struct wait_span s)
{
	const struct wait_work *k = t->k;
	const uint64_t until = s.until;
	size_t at = window_at(k, s.from), end;

	bisect(end, k->lost.n, i, k->lost.v[i].from >= until);
	for (size_t n = end > at ? end - at : 0; at < end; at++) {
		uint64_t from = k->lost.v[at].from, to;

		if (n > PIECES)
			at = end - 1;
		to = k->lost.v[at].until;
		from = from > s.from ? from : s.from;
		to = to < until ? to : until;
		s.until = from;
		put_track_span(t, &s);
		put_lost(t, &s, from, to);
		s.from = to;
		s.until = until;
	}
	put_track_span(t, &s);
}

/* The thread ran on its CPU until then, whichever record shows it. */
static void see_cpu(struct tracking *t, const struct track *r, uint64_t until)
{
	struct cpu_now *c = r->cpu < t->cpu.n ? &t->cpu.v[r->cpu] : NULL;

	if (c && c->seen < until && c->holder != NO_HOLDER && t->v.v[c->holder].thread == r->thread)
		c->seen = until;
}

/* Ends the span of its present state at `until`. */
static void close_span(struct tracking *t, const struct track *r, uint64_t until)
{
	struct wait_span s = { .from = r->since,
			       .until = until,
			       .thread = r->thread,
			       .cpu = r->cpu,
			       .waker = WAIT_NOBODY };
	struct wait_span woken;

	if (r->running) {
		s.reason = WAIT_RAN;
		s.there = r->there;
		see_cpu(t, r, until);
		put_known(t, s);
		return;
	}
	s.chain = r->chain;
	s.object = r->arg; /* wait_object.c has the object */
	s.sampled = r->sampled;
	s.idled = r->preempted && r->idled;
	s.reason = r->gone	  ? WAIT_LOST
		   : r->begun	  ? WAIT_BEGUN
		   : r->preempted ? WAIT_PREEMPTED
		   : r->before	  ? WAIT_BEFORE
				  : WAIT_OTHER;
	if (s.reason == WAIT_BEGUN || s.reason == WAIT_PREEMPTED) {
		put_known(t, s);
		return;
	}
	if (!r->woken || r->woken > until) {
		t->k->out->unwoken += !r->before && !r->gone;
		put_known(t, s);
		return;
	}
	woken = s;
	s.until = woken.from = r->woken;
	woken.reason = WAIT_WOKEN;
	s.waker = woken.waker = r->waker;
	s.waker_place = woken.waker_place = r->waker_chain; /* wait_name.c has the place */
	put_known(t, s);
	put_known(t, woken);
}

/* The facts contradict each other: if a loss explains it, both sides of the loss are kept, else
 * nothing is known. The other side, up to `until`, was on `cpu`, on which others may have run up to
 * `free`. */
static void contradict(struct tracking *t, struct track *r, uint64_t until, uint32_t cpu,
		       uint64_t free)
{
	const struct wait_work *k = t->k;
	size_t at = window_at(k, r->since);
	bool explained = at < k->lost.n && k->lost.v[at].from < until;
	struct track after = *r;
	struct wait_span gone = { .from = r->since,
				  .until = until,
				  .thread = r->thread,
				  .cpu = r->cpu,
				  .waker = WAIT_NOBODY,
				  .reason = WAIT_LOST };

	if (!explained) {
		t->k->out->contradicted++;
		put_track_span(t, &gone);
		return;
	}
	if (k->lost.v[at].from > gone.from)
		gone.from = k->lost.v[at].from;
	while (at < k->lost.n && k->lost.v[at].from < until)
		gone.until = k->lost.v[at++].until;
	if (!r->running && free > gone.until)
		gone.until = free;
	if (gone.until > until)
		gone.until = until;
	after.running = !r->running;
	after.preempted = after.begun = after.before = after.gone = false;
	after.cpu = cpu;
	after.chain = after.arg = 0;
	after.woken = 0;
	after.since = gone.until;
	close_span(t, r, gone.from);
	put_track_span(t, &gone);
	close_span(t, &after, until);
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

#define CPUS_MOST (1u << 20)

/* Returns NULL if the CPU is not recorded, or out of memory (then err is set). */
static struct cpu_now *cpu_at(struct tracking *t, uint32_t cpu)
{
	const struct cpu_now none = { .holder = NO_HOLDER };

	if (cpu >= CPUS_MOST)
		return NULL;
	while (t->cpu.n <= cpu)
		vec_xpush(&t->cpu, none);
	return &t->cpu.v[cpu];
}

/* It ran up to `seen`; its state since then is not known. */
static void lose_thread(struct tracking *t, struct track *r, uint64_t seen)
{
	if (seen < r->since)
		seen = r->since;
	t->k->out->contradicted++;
	close_span(t, r, seen);
	r->running = r->preempted = r->begun = r->before = r->there = r->idled = false;
	r->gone = true;
	r->tellers = 0;
	r->since = seen;
	r->chain = r->arg = 0;
	r->woken = 0;
	r->waker = WAIT_NOBODY;
}

/* No other thread ran there between then and `f`; 0: not in the whole recording. */
static uint64_t free_since(const struct tracking *t, const struct track *r, const struct fact *f)
{
	const struct cpu_now *c = f->cpu < t->cpu.n ? &t->cpu.v[f->cpu] : NULL;

	if (!c)
		return 0;
	return c->holder == NO_HOLDER || &t->v.v[c->holder] == r ? c->free : c->seen;
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct wait_thread *track_thread_of(const struct tracking *t, const struct track *r)
{
	return &t->k->thread.v[r->thread];
}

static void end_track_thread(struct tracking *t, struct track *r, uint64_t until)
{
	if (r->ended)
		return;
	r->ended = true;
	if (until < r->since)
		until = r->since;
	track_thread_of(t, r)->until = until;
	close_span(t, r, until);
}

/* The thread that is taken to run there has left without a record, before `time`. */
static void evict(struct tracking *t, const struct cpu_now *c, uint32_t cpu, uint64_t time)
{
	struct track *other = c->holder == NO_HOLDER ? NULL : &t->v.v[c->holder];

	if (!other || !other->running || other->ended || other->cpu != cpu)
		return;
	if (!other->exited) {
		lose_thread(t, other, c->seen);
		return;
	}
	/* no switch is recorded behind an exit */
	end_track_thread(t, other, other->exit < time ? other->exit : time);
}

/* Notes that a thread has the CPU now. */
static void hold_cpu(struct tracking *t, struct cpu_now *c, const struct track *r,
		     const struct fact *f)
{
	size_t self = (size_t)(r - t->v.v);

	if (c->holder != self) {
		evict(t, c, f->cpu, r->since);
		c->free = c->seen;
		c->holder = self;
	}
	c->seen = f->time;
}

/* After a switch the CPU has a thread that is not recorded, or none. */
static void leave_cpu(struct tracking *t, struct cpu_now *c, const struct track *r,
		      const struct fact *f)
{
	bool held = c->holder != NO_HOLDER && &t->v.v[c->holder] != r;

	if (held && !t->anew)
		return; /* another thread got the CPU in the same switch */
	if (held)
		evict(t, c, f->cpu, f->time);
	c->holder = NO_HOLDER;
	c->seen = c->free = f->time;
	c->idled = f->idled;
}

/* A thread that was running on another CPU is unknown from that CPU's last record on. */
static void leave_other(struct tracking *t, struct track *r, const struct fact *f)
{
	const struct cpu_now *c = r->cpu < t->cpu.n ? &t->cpu.v[r->cpu] : NULL;

	if (!r->running || r->cpu == f->cpu || r->cpu == WAIT_NO_CPU || f->cpu == WAIT_NO_CPU)
		return;
	lose_thread(t, r, c && c->holder == (size_t)(r - t->v.v) ? c->seen : 0);
}

/* Returns the waker: WAIT_INTERRUPT if it is the idle task. */
static uint32_t waker_of(const struct tracking *t, uint32_t tid)
{
	const uint64_t *at = u64map_find(&t->at, tid);

	if (!tid)
		return WAIT_INTERRUPT;
	return at ? t->v.v[*at].thread : WAIT_NOBODY;
}

/* It began at `time`, and waits for a CPU or (`running`) has one. */
static void begin_thread(struct tracking *t, struct track *r, const struct fact *f, uint64_t time,
			 bool running)
{
	const struct wait_thread x = {
		.pid = f->pid,
		.tid = f->tid,
		.from = time,
		.until = time,
		.parent = f->kind == FACT_FORK ? waker_of(t, f->waker) : WAIT_NOBODY,
	};

	*r = (struct track){ .thread = (uint32_t)t->k->thread.n,
			     .running = running,
			     .before = !running,
			     .there = running,
			     .since = time,
			     .cpu = running ? f->cpu : WAIT_NO_CPU,
			     .waker = WAIT_NOBODY };
	vec_xpush(&t->k->thread, x);
}

static bool tells_out(uint8_t kind)
{
	return kind == FACT_OUT || kind == FACT_STACK || kind == FACT_SOME || kind == FACT_RARE ||
	       kind == FACT_TRACE_OUT;
}

/* Returns NULL with no error for a thread that is not recorded, or is dead. */
static struct track *track_of(struct tracking *t, const struct fact *f)
{
	bool fresh, in = f->kind == FACT_IN || f->kind == FACT_TRACE_IN;
	struct track none = { .ended = true }, *r;
	uint64_t *at;

	if (!u64map_find(&t->k->own, f->tid))
		return NULL;
	at = u64map_xat(&t->at, f->tid, &fresh);
	if (fresh)
		vec_xpush(&t->v, none);
	if (fresh)
		*at = t->v.n - 1;
	r = &t->v.v[*at];
	if (fresh && f->kind != FACT_FORK) {
		/* it was there before: off the CPU if it is given or woken to one now, or if
		 * another had this CPU since */
		if (f->kind == FACT_WAKE || free_since(t, &none, f))
			in = true;
		begin_thread(t, r, f, t->k->out->from, !in);
	}
	return r->ended && f->kind != FACT_FORK ? NULL : r;
}

/* It runs since `in`; up to `from` it is not known whether it did. */
static void begin_track_run(struct tracking *t, struct track *r, const struct fact *f, uint64_t in,
			    uint64_t from)
{
	const struct wait_span unknown = { .thread = r->thread, .cpu = f->cpu };

	close_span(t, r, in);
	put_lost(t, &unknown, in, from);
	r->running = true;
	r->preempted = r->begun = r->before = r->gone = r->there = false;
	r->since = from;
	r->tellers = 0;
	r->cpu = f->cpu;
}

/* It leaves a CPU that no record gave it. Some kernels trace no switch from the idle task: then it
 * ran since no other thread did there, as perf has it, but not before it was woken. If the CPU was
 * idle, and its waking should have been recorded, that is not known. */
static void assume_in(struct tracking *t, struct track *r, const struct fact *f)
{
	const struct wait_work *k = t->k;
	uint64_t free = free_since(t, r, f), in = free > r->woken ? free : r->woken;
	bool idled = f->cpu < t->cpu.n && t->cpu.v[f->cpu].idled;
	size_t at = window_at(k, r->since);

	if (f->kind != FACT_TRACE_OUT || r->tellers & ~(1u << FACT_TRACE_OUT) || in <= r->since ||
	    in > f->time || (at < k->lost.n && k->lost.v[at].from < f->time)) {
		contradict(t, r, f->time, f->cpu, free);
		return;
	}
	k->out->assumed++;
	begin_track_run(t, r, f, in, idled && k->out->has_wakings && !r->woken ? f->time : in);
}

/* Returns true for several events of the same switch, recorded as one event twice: kernels do so
 * (6.18). */
static bool is_twice(struct track *r, const struct fact *f)
{
	uint64_t before = r->chain_at;

	if (f->kind != FACT_STACK && f->kind != FACT_SOME && f->kind != FACT_RARE)
		return false;
	r->chain_at = f->time;
	return !r->running && before == f->time;
}

static void take_out(struct tracking *t, struct track *r, const struct fact *f)
{
	uint32_t bit = 1u << f->kind;
	bool again = !is_twice(r, f) && !r->running && (r->tellers & bit || !r->tellers);

	if (r->running || again) {
		if (again)
			assume_in(t, r, f);
		t->anew = true;
		if (r->running)
			close_span(t, r, f->time);
		r->running = r->preempted = r->begun = r->before = r->gone = false;
		r->sampled = r->there = r->idled = false;
		r->tellers = 0;
		r->since = f->time;
		r->chain = r->arg = 0;
		r->woken = 0;
		r->waker = WAIT_NOBODY;
		track_thread_of(t, r)->switches++;
	}
	r->tellers |= bit;
	if (f->preempted && !r->preempted)
		track_thread_of(t, r)->preempted++;
	r->preempted |= f->preempted;
	r->idled |= f->idled;
	if (f->chain)
		r->chain = f->chain;
	if (f->arg)
		r->arg = f->arg;
	r->sampled |= f->kind == FACT_SOME;
	if (f->cpu != WAIT_NO_CPU)
		r->cpu = f->cpu;
	if (r->exited && !f->alive) /* by sched_switch, it may exit for a while yet */
		end_track_thread(t, r, f->time);
}

static void take_in(struct tracking *t, struct track *r, const struct fact *f)
{
	uint32_t bit = 1u << f->kind;
	bool again = r->running && (r->tellers & bit || !r->tellers);

	if (!r->running || again) {
		if (again)
			contradict(t, r, f->time, f->cpu, 0);
		else
			close_span(t, r, f->time);
		r->running = t->anew = true;
		r->there = r->gone = false;
		r->tellers = 0;
		r->since = f->time;
		if (f->cpu != WAIT_NO_CPU && r->cpu != WAIT_NO_CPU && r->cpu != f->cpu)
			track_thread_of(t, r)->moved++;
		r->cpu = f->cpu;
	} else if (r->cpu == WAIT_NO_CPU && free_since(t, r, f) <= r->since) {
		r->cpu = f->cpu;
	}
	r->tellers |= bit;
}

static void take_seen(struct tracking *t, struct track *r, const struct fact *f)
{
	if (r->running)
		return;
	if (f->kind == FACT_RUNTIME) {
		/* The kernel counts a thread's runtime from its switch to a CPU, and anew
			 * after each record of it: the first gives the time of the switch. */
		uint64_t in = f->ran < f->time ? f->time - f->ran : 0, free = free_since(t, r, f);

		in = in > free ? in : free;
		in = in > r->woken ? in : r->woken;
		in = in > r->since ? in : r->since;
		in = in < f->time ? in : f->time;
		begin_track_run(t, r, f, in, in);
	} else
		take_in(t, r, f);
}

static bool is_switch(const struct fact *f)
{
	return tells_out(f->kind) || f->kind == FACT_IN || f->kind == FACT_TRACE_IN;
}

/* Facts by others' records, which say nothing on what the thread did. */
static void take_aside(const struct tracking *t, const struct fact *f)
{
	const struct wait *w = t->k->out;
	const uint64_t *at = u64map_find(&t->at, f->tid);
	struct wait_thread *x = at ? track_thread_of(t, &t->v.v[*at]) : NULL;

	if (!x || f->time < w->from || f->time > w->until)
		return;
	if (f->kind == FACT_MIGRATED)
		x->migrated++;
	else if (f->kind == FACT_ACCOUNTED)
		x->accounted += f->ran;
	else if (!x->started)
		x->started = f->time;
}

static void take_own(struct tracking *t, struct track *r, const struct fact *f)
{
	if (f->pid && f->pid != UINT32_MAX && f->kind != FACT_FORK)
		track_thread_of(t, r)->pid = f->pid;
	if (f->kind == FACT_FORK) {
		end_track_thread(t, r, r->exited ? r->exit : f->time);
		begin_thread(t, r, f, f->time, false);
		r->begun = f->time >= t->k->begins; /* else it may have run since */
		r->before = !r->begun;
		return;
	}
	if (f->kind == FACT_WAKE) {
		if (!r->running && !r->woken && !r->begun) {
			r->woken = f->time;
			r->waker = waker_of(t, f->waker);
			r->waker_chain = f->chain;
		} else if (r->woken && !r->waker_chain && r->waker == waker_of(t, f->waker)) {
			r->waker_chain = f->chain; /* another event of the same waking */
		}
		return;
	}
	if (f->kind != FACT_EXIT && !tells_out(f->kind))
		leave_other(t, r, f);
	if (f->kind == FACT_SEEN || f->kind == FACT_RUNTIME) {
		take_seen(t, r, f);
	} else if (tells_out(f->kind) && ++t->outs) {
		take_out(t, r, f);
	} else if (is_switch(f) && ++t->ins) {
		take_in(t, r, f);
	}
	if (f->kind == FACT_EXIT) {
		r->exited = true;
		r->exit = f->time;
		if (r->running)
			see_cpu(t, r, f->time);
	}
}

static int take_doing(struct tracking *t, const struct fact *f)
{
	bool early = f->kind == FACT_SEEN && f->time < t->k->begins;
	bool on_cpu = f->kind != FACT_FORK && f->kind != FACT_WAKE;
	struct track *r = early ? NULL : track_of(t, f);
	struct cpu_now *c = on_cpu && !early ? cpu_at(t, f->cpu) : NULL;

	if (t->err->code)
		return -1;
	/* a thread that is not recorded gets a CPU in one record; one that is dead has left it */
	t->anew = !r && !tells_out(f->kind);
	if (r)
		take_own(t, r, f);
	if (c && r && r->running && r->cpu == f->cpu) {
		hold_cpu(t, c, r, f);
		return 0;
	}
	if (c && is_switch(f))
		leave_cpu(t, c, r, f);
	return 0;
}

static int take_fact(struct tracking *t, const struct fact *f)
{
	if (f->kind >= FACT_MIGRATED) {
		take_aside(t, f);
		return 0;
	}
	return take_doing(t, f);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int take_sorted(struct tracking *t)
{
	struct wait_work *k = t->k;
	struct keyed *v = xmalloc((k->fact.n + 1) * 2 * sizeof(*v));
	int ret = 0;

	for (size_t i = 0; i < k->fact.n; i++)
		v[i] = (struct keyed){ .key = k->fact.v[i].time, .a = (uint32_t)i };
	keyed_sort(v, v + k->fact.n, k->fact.n);
	for (size_t i = 0; i < k->fact.n && !ret; i++)
		ret = take_fact(t, &k->fact.v[v[i].a]);
	free(v);
	return ret;
}

/* Returns the time until which the state of a thread that has not ended is known. If sched_switch
 * alone recorded the switches, a running thread is known until the last record of its CPU. */
static uint64_t known_until(const struct tracking *t, const struct track *r, uint64_t end)
{
	if (t->k->out->cut && !r->exited)
		return r->since;
	if (r->exited || !r->running || t->k->has_switch_records || r->cpu >= t->cpu.n)
		return end;
	return t->cpu.v[r->cpu].seen > r->since ? t->cpu.v[r->cpu].seen : r->since;
}

static bool in_cgroup(const struct wait_work *k, uint32_t tid)
{
	const struct selection *sel = &k->opts.select;
	const uint64_t *id = u64map_find(&k->cgroup, tid);
	char buf[CGROUP_TEXT];
	const char *path = pass_cgroup_text(k->sp, id ? *id : 0, buf);

	for (size_t i = 0; i < sel->n_cgroups; i++)
		if (text_means(sel->cgroups[i], path))
			return true;
	return !sel->n_cgroups;
}

/* Names, selection, and the part of each life that is looked at. */
static void finish_threads(struct wait_work *k)
{
	const struct selection *sel = &k->opts.select;
	const struct wait *w = k->out;

	vec_each (&k->thread, struct wait_thread *, x) {
		uint64_t last = x->until ? x->until - 1 : 0;
		uint32_t comm = spaces_comm_at(k->sp, x->pid, x->tid, last, NULL, NULL);
		bool listed = !sel->n_pids && !sel->n_tids;

		x->comm = comm == STR_NONE ? "" : strtab_get(spaces_strings(k->sp), comm);
		for (size_t i = 0; i < sel->n_pids; i++)
			listed |= sel->pids[i] == x->pid;
		for (size_t i = 0; i < sel->n_tids; i++)
			listed |= sel->tids[i] == x->tid;
		x->from = x->from > w->from ? x->from : w->from;
		x->until = x->until < w->until ? x->until : w->until;
		if (x->until < x->from)
			x->until = x->from;
		x->wanted = listed && x->until > x->from &&
			    (!sel->comm || !strcmp(sel->comm, x->comm)) && in_cgroup(k, x->tid);
	}
}

int wait_track(struct wait_work *k, struct err *err)
{
	struct tracking t = { .k = k, .err = err };
	const struct selection *sel = &k->opts.select;
	const uint64_t from = k->out->from, until = k->out->until;
	int ret = -1;

	if (from > until)
		k->out->from = until;
	/* lives are those of the whole recording, spans are clipped */
	if (k->fact.n >= UINT32_MAX) {
		(void)err_set(err, ERR_LIMIT, "too many switches");
		goto out;
	}
	if (sel->time_to && sel->time_to < until)
		k->out->until = sel->time_to;
	if (sel->time_from > from)
		k->out->from = sel->time_from;
	if (k->out->from > k->out->until)
		k->out->from = k->out->until;
	if (take_sorted(&t))
		goto out;
	for (size_t i = 0; i < t.v.n; i++) {
		struct track *r = &t.v.v[i];
		uint64_t end = r->exited ? r->exit : until;
		struct wait_span gone = { .until = end,
					  .thread = r->thread,
					  .cpu = r->cpu,
					  .waker = WAIT_NOBODY,
					  .reason = WAIT_LOST };

		if (r->ended)
			continue;
		gone.from = known_until(&t, r, end);
		if (gone.from > r->since)
			close_span(&t, r, gone.from);
		r->ended = true;
		track_thread_of(&t, r)->until = end > r->since ? end : r->since;
		put_track_span(&t, &gone);
	}
	finish_threads(k);
	k->out->outs_only = t.outs > 1 && !t.ins && k->out->contradicted;
	ret = 0;
out:
	u64map_free(&t.at);
	vec_free(&t.v);
	vec_free(&t.cpu);
	return ret;
}
