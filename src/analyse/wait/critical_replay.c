/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * critical_replay - all threads once more, with less of one row: how much earlier the end comes.
 *
 * A thread is a list of steps: run, pause, wait for a waking, wake, create. Those that run share
 * the CPUs evenly, so that all of them advance by the same clock (`even`), which stands for CPU
 * time of each; pauses end by the clock on the wall.
 *
 * A mutex is a special case: the first thread gets it. The thread that was waited for held it when
 * the wait began (OP_HOLD). If a thread comes before that, it is not known which thread would be
 * first. Once it waits as recorded, in another replay it does not.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/wait/critical_int.h"
#include "base/bisect.h"
#include "base/sort.h"
#include "base/xalloc.h"

#define EFFORT 6000000u /* steps of all replays together */
#define NO_ROW UINT32_MAX
#define MUTEX  (1u << 31) /* with the number of a waking */

#define UNSURE 0.05 /* of a gain: timers, caches, the clock rate */

enum op_kind { OP_RUN, OP_PAUSE, OP_WAIT, OP_WAKE, OP_CREATE, OP_HOLD };

struct op {
	uint64_t time; /* OP_WAIT: until a CPU is there, behind the waking */
	uint32_t what; /* the row; the waking, and MUTEX; the thread */
	uint8_t kind;
};

/* An action of a thread on another one, at a time of its own. */
struct deed {
	uint32_t what;
	uint8_t kind;
};

struct busy { /* time so far in which all CPUs had recorded threads; by time */
	uint64_t time, full;
	bool is_full;
};

struct moment {
	double at;
	uint32_t thread;
};

struct heap {
	struct moment *v;
	size_t n;
};

struct replay {
	struct critical_work *k;
	VEC(struct op) op;
	size_t *first; /* by thread, and behind the last */
	bool *created; /* by thread: by another one */
	bool *needed;  /* by thread: it ends before the path does, not by that end */
	size_t n_wakings, n_mutexes;
	VEC(struct busy) busy;
	/* of one run */
	size_t *at;	  /* by thread: its next step */
	uint32_t *waiter; /* by waking: the thread that waits for it, +1; 0: none */
	uint8_t *woken;	  /* by waking: IS_* */
	struct heap run, pause;
	VEC(uint32_t) ready; /* threads that go on now */
	double now, even, ended, all;
	size_t left; /* needed threads that run on */
	uint32_t less;
	double factor;
	bool any_order; /* of those that want a mutex */
};

enum { IS_WOKEN = 1, IS_HELD = 2 };

/* ---- when all CPUs were busy ----------------------------------------------------------------- */

static void fill_busy(struct replay *r)
{
	const struct wait *w = r->k->w;
	struct keyed *v = xmalloc((w->n_spans * 4 + 1) * sizeof(*v));
	uint64_t full = 0, running = 0, last = w->from;
	size_t n = 0;

	for (size_t i = 0; i < w->n_spans; i++)
		if (w->span[i].reason == WAIT_RAN) {
			v[n++] = (struct keyed){ w->span[i].from, 1, 0 };
			v[n++] = (struct keyed){ w->span[i].until, 0, 0 };
		}
	keyed_sort(v, v + w->n_spans * 2, n);
	for (size_t i = 0; i < n; i++) {
		bool was = running >= r->k->out->cpus, is;

		full += was ? v[i].key - last : 0;
		last = v[i].key;
		running += v[i].a ? 1 : UINT64_MAX;
		is = running >= r->k->out->cpus;
		if (is != was) {
			const struct busy x = { last, full, is };

			vec_xpush(&r->busy, x);
		}
	}
	free(v);
}

static uint64_t full_at(const struct replay *r, uint64_t time)
{
	const struct busy *b;
	size_t at;

	bisect(at, r->busy.n, i, r->busy.v[i].time > time);
	if (!at)
		return 0;
	b = &r->busy.v[at - 1];
	return b->full + (b->is_full ? time - b->time : 0);
}

/* Returns the part of a thread's wait for a CPU in which threads that were not recorded had it. */
static uint64_t foreign(const struct replay *r, const struct piece *p)
{
	return p->until - p->from - (full_at(r, p->until) - full_at(r, p->from));
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct making {
	struct replay *r;
	VEC(struct keyed) at; /* deeds by time: a: the thread, b: index into `deed` */
	VEC(struct deed) deed;
	size_t *first;	     /* of at, by thread */
	uint32_t *waking_of; /* by piece: the waking that ends it; NO_ROW: not known */
};

static void put_deed(struct making *m, uint32_t who, uint64_t time, struct deed d)
{
	const struct keyed x = { time, who, (uint32_t)m->deed.n };

	vec_xpush(&m->deed, d);
	vec_xpush(&m->at, x);
}

/* Returns true for a lock of a file, or a mutex recognised by the two functions: that of the waiter
 * and of the waker. */
static bool is_mutex(const struct critical_work *k, const struct piece *p)
{
	static const char *const parts[] = { "mutex", "Mutex", "lll_", "rwlock", "RwLock" };
	const struct wait_span *s = &k->w->span[p->span];
	const uint32_t place[] = { k->w->chain_place[s->chain], s->waker_place };

	if (p->reason == WAIT_FILE_LOCK)
		return true;
	for (size_t i = 0; p->reason == WAIT_LOCK && i < 2; i++)
		for (size_t n = 0; n < sizeof(parts) / sizeof(*parts); n++)
			if (k->w->place[place[i]].symbol &&
			    strstr(k->w->place[place[i]].symbol->name, parts[n]))
				return true;
	return false;
}

static void find_deeds(struct making *m)
{
	struct replay *r = m->r;
	const struct critical_work *k = r->k;
	const struct wait *w = k->w;

	for (uint32_t t = 0; t < w->n_threads; t++) {
		const struct wait_thread *x = &w->thread[t];

		r->created[t] = piece_runs(k, x->parent, x->from);
		if (r->created[t])
			put_deed(m, x->parent, x->from, (struct deed){ t, OP_CREATE });
	}
	for (size_t i = 0; i < k->piece.n; i++) {
		const struct piece *p = &k->piece.v[i];
		const uint32_t waking = (uint32_t)r->n_wakings;

		m->waking_of[i] = p->waker == WAIT_NOBODY ? NO_ROW : waking;
		if (p->waker == WAIT_NOBODY)
			continue;
		r->n_wakings++;
		put_deed(m, p->waker, p->until, (struct deed){ waking, OP_WAKE });
		if (!is_mutex(k, p))
			continue;
		r->n_mutexes++;
		m->waking_of[i] |= MUTEX;
		put_deed(m, p->waker, p->from, (struct deed){ waking, OP_HOLD });
	}
}

/* By thread, in the order of time. */
static void sort_deeds(struct making *m)
{
	const size_t n = m->at.n, threads = m->r->k->w->n_threads;
	struct keyed *v = xmalloc((n + 1) * sizeof(*v));
	size_t *at = m->first;

	keyed_sort(m->at.v, v, n);
	for (size_t i = 0; i < n; i++)
		at[m->at.v[i].a + 2]++;
	for (size_t i = 0; i < threads; i++)
		at[i + 2] += at[i + 1];
	for (size_t i = 0; i < n; i++)
		v[at[m->at.v[i].a + 1]++] = m->at.v[i];
	memcpy(m->at.v ? m->at.v : v, v, n * sizeof(*v));
	free(v);
}

static void put_replay_op(struct replay *r, enum op_kind kind, uint64_t time, uint32_t what)
{
	const struct op x = { time, what, (uint8_t)kind };

	if (!(!time && (kind == OP_RUN || kind == OP_PAUSE)))
		vec_xpush(&r->op, x);
}

/* A piece on a CPU, with its deeds to others. */
static void put_replay_run(struct making *m, const struct piece *p, size_t *deed, size_t last)
{
	uint64_t from = p->from;

	for (; *deed < last && m->at.v[*deed].key <= p->until; ++*deed) {
		const struct keyed *x = &m->at.v[*deed];
		const struct deed *d = &m->deed.v[x->b];

		put_replay_op(m->r, OP_RUN, x->key - from, p->row);
		put_replay_op(m->r, (enum op_kind)d->kind, 0, d->what);
		from = x->key;
	}
	put_replay_op(m->r, OP_RUN, p->until - from, p->row);
}

/* The mutex that it held while it waited for something else. */
static void put_held(struct making *m, const struct piece *p, size_t *deed, size_t last)
{
	for (; *deed < last && m->at.v[*deed].key < p->until; ++*deed)
		put_replay_op(m->r, OP_HOLD, 0, m->deed.v[m->at.v[*deed].b].what);
}

static void put_replay_thread(struct making *m, uint32_t t)
{
	struct replay *r = m->r;
	const struct critical_work *k = r->k;
	const struct wait_thread *x = &k->w->thread[t];
	size_t deed = m->first[t];

	if (!r->created[t])
		put_replay_op(r, OP_PAUSE, x->from - k->w->from, NO_ROW);
	for (size_t i = k->first[t]; i < k->first[t + 1]; i++) {
		const struct piece *p = &k->piece.v[i];

		if (p->reason != WAIT_RAN)
			put_held(m, p, &deed, m->first[t + 1]);
		if (p->reason == WAIT_RAN) {
			put_replay_run(m, p, &deed, m->first[t + 1]);
		} else if (m->waking_of[i] != NO_ROW) {
			put_replay_op(r, OP_WAIT, 0, m->waking_of[i]);
		} else if (wait_reasons[p->reason].state != WAIT_RUNNABLE) {
			put_replay_op(r, OP_PAUSE, p->until - p->from, p->row);
		} else if (p->reason == WAIT_WOKEN && r->op.n > r->first[t] &&
			   vec_last(&r->op)->kind == OP_WAIT)
			vec_last(&r->op)->time = foreign(r, p);
		else {
			put_replay_op(r, OP_PAUSE, foreign(r, p), NO_ROW);
		}
	}
}

/* A thread that the end of the path itself ended (exit of the process) does not hold it up. */
static bool is_needed(const struct critical_work *k, uint32_t t)
{
	const struct critical *c = k->out;
	const struct wait_thread *x = &k->w->thread[t];

	if (t == c->end || !x->wanted || x->until >= c->until || x->pid != k->w->thread[c->end].pid)
		return t == c->end;
	for (size_t i = k->first[t + 1]; i > k->first[t]; i--) {
		const struct piece *p = &k->piece.v[i - 1];

		if (wait_reasons[p->reason].state == WAIT_BLOCKED)
			return p->waker != c->end;
	}
	return true;
}

static void make_ops(struct replay *r)
{
	const struct wait *w = r->k->w;
	struct making m = { .r = r };

	m.first = xcalloc(w->n_threads + 2, sizeof(*m.first));
	m.waking_of = xmalloc((r->k->piece.n + 1) * sizeof(*m.waking_of));
	find_deeds(&m);
	sort_deeds(&m);
	for (uint32_t t = 0; t < w->n_threads; t++) {
		r->first[t] = r->op.n;
		r->needed[t] = is_needed(r->k, t);
		put_replay_thread(&m, t);
	}
	r->first[w->n_threads] = r->op.n;
	free(m.first);
	free(m.waking_of);
	vec_free(&m.at);
	vec_free(&m.deed);
}

/* ---- heaps: the least first ------------------------------------------------------------------ */

static bool replay_is_before(const struct moment *a, const struct moment *b)
{
	return a->at != b->at ? a->at < b->at : a->thread < b->thread;
}

static void replay_heap_put(struct heap *h, double at, uint32_t thread)
{
	const struct moment x = { at, thread };
	size_t i = h->n++;

	for (; i && replay_is_before(&x, &h->v[(i - 1) / 2]); i = (i - 1) / 2)
		h->v[i] = h->v[(i - 1) / 2];
	h->v[i] = x;
}

static uint32_t heap_take(struct heap *h)
{
	const uint32_t first = h->v[0].thread;
	const struct moment x = h->v[--h->n];
	size_t i = 0;

	for (size_t c; (c = 2 * i + 1) < h->n; i = c) {
		if (c + 1 < h->n && replay_is_before(&h->v[c + 1], &h->v[c]))
			c++;
		if (!replay_is_before(&h->v[c], &x))
			break;
		h->v[i] = h->v[c];
	}
	if (h->n)
		h->v[i] = x;
	return first;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static double replay_time_of(const struct replay *r, const struct op *o)
{
	return (double)o->time * (o->what == r->less ? r->factor : 1);
}

static void end_replay_thread(struct replay *r, uint32_t t)
{
	if (t == r->k->out->end)
		r->ended = r->now;
	if (r->needed[t]) {
		r->left--;
		r->all = r->now;
	}
}

static bool replay_waits(const struct replay *r, uint32_t waking)
{
	const uint8_t is = r->woken[waking & ~MUTEX];

	return !(is & IS_WOKEN) && (is & IS_HELD || !r->any_order || !(waking & MUTEX));
}

/* Until it runs, pauses, waits or ends. Has room in `ready`: a thread is there once at a time. */
static void replay_go_on(struct replay *r, uint32_t t)
{
	double run = 0;

	for (; r->at[t] < r->first[t + 1]; r->at[t]++) {
		const struct op *o = &r->op.v[r->at[t]];

		if (run > 0 && o->kind != OP_RUN)
			break;
		switch ((enum op_kind)o->kind) {
		case OP_RUN:
			run += replay_time_of(r, o);
			break;
		case OP_PAUSE:
			r->at[t]++;
			replay_heap_put(&r->pause, r->now + replay_time_of(r, o), t);
			return;
		case OP_WAIT:
			if (!replay_waits(r, o->what))
				break;
			r->waiter[o->what & ~MUTEX] = t + 1;
			r->at[t]++;
			return;
		case OP_HOLD:
			r->woken[o->what] |= IS_HELD;
			break;
		case OP_WAKE:
			r->woken[o->what] |= IS_WOKEN;
			if (r->waiter[o->what]) {
				uint32_t other = r->waiter[o->what] - 1;

				replay_heap_put(&r->pause,
						r->now + (double)r->op.v[r->at[other] - 1].time,
						other);
			}
			break;
		case OP_CREATE:
			replay_heap_put(&r->pause, r->now, o->what);
			break;
		}
	}
	if (run > 0)
		replay_heap_put(&r->run, r->even + run, t);
	else
		end_replay_thread(r, t);
}

/* Sets ended and all: when the thread, and all that are needed, ended. */
static void run_replay_once(struct replay *r, uint32_t less, double factor, bool any_order)
{
	const size_t n = r->k->w->n_threads;
	const double cpus = (double)r->k->out->cpus;

	memset(r->waiter, 0, r->n_wakings * sizeof(*r->waiter));
	memset(r->woken, 0, r->n_wakings * sizeof(*r->woken));
	memcpy(r->at, r->first, n * sizeof(*r->at));
	r->run.n = r->pause.n = 0;
	r->now = r->even = r->ended = r->all = 0;
	r->less = less;
	r->factor = factor;
	r->any_order = any_order;
	r->left = 0;
	for (uint32_t t = 0; t < n; t++) {
		r->left += r->needed[t];
		if (!r->created[t])
			replay_heap_put(&r->pause, 0, t);
	}
	while (r->left && (r->run.n || r->pause.n)) {
		double rate = (double)r->run.n <= cpus ? 1 : cpus / (double)r->run.n;
		double run = r->run.n ? r->now + (r->run.v[0].at - r->even) / rate : INFINITY;
		bool pauses = r->pause.n && r->pause.v[0].at <= run;
		double next = pauses ? r->pause.v[0].at : run;

		r->even = pauses ? r->even + (next - r->now) * rate : r->run.v[0].at;
		r->now = next;
		replay_go_on(r, heap_take(pauses ? &r->pause : &r->run));
	}
}

/* ---- gains ----------------------------------------------------------------------------------- */

struct ends { /* of the path's thread, and of all that are needed; in either order of mutexes */
	double v[4];
};

static struct ends run_replay_all(struct replay *r, uint32_t less, double factor)
{
	struct ends e;

	run_replay_once(r, less, factor, false);
	e.v[0] = r->ended;
	e.v[1] = r->all;
	if (r->n_mutexes)
		run_replay_once(r, less, factor, true);
	e.v[2] = r->ended;
	e.v[3] = r->all;
	return e;
}

/* The error from the sampled share of a row, from the replay, and from unknown time. */
static struct estimate gain_of(const struct replay *r, const struct critical_row *row, double part,
			       const struct ends *base, const struct ends *less)
{
	const struct critical *c = r->k->out;
	const double length = (double)(c->until - c->from);
	const double model = fabs(base->v[0] - (double)(c->until - r->k->w->from));
	double least = INFINITY, most = -INFINITY, off;

	for (size_t i = 0; i < 4; i++) {
		/* mutexes in any order may be had by several threads at a time */
		double gain =
			fmin(base->v[i] - less->v[i], i < 2 ? INFINITY : part * (double)row->time);

		least = fmin(least, gain);
		most = fmax(most, gain);
	}
	off = model + (most - least) / 2 + UNSURE * fabs(least + most) / 2;
	return (struct estimate){ (least + most) / 2 / length,
				  part * row->share.half + off / length, NULL };
}

static void replay_why_none(struct critical_row *row, const char *why)
{
	for (size_t k = 0; k < CRITICAL_GAINS; k++)
		row->gain[k].why = why;
}

static void fill_gains(struct replay *r)
{
	static const double parts[CRITICAL_GAINS] = { 0.1, 0.5, 1 };
	struct critical *c = r->k->out;
	size_t most = r->op.n ? EFFORT / 2 / CRITICAL_GAINS / r->op.n : 0;
	const struct ends base = run_replay_all(r, NO_ROW - 1, 1);

	c->base = base.v[0];
	most = most ? most : 1;
	most = most < r->k->opts.replayed ? most : r->k->opts.replayed;
	for (uint32_t i = 0; i < c->n_rows; i++) {
		struct critical_row *row = &c->row[i];

		if (wait_reasons[row->reason].state == WAIT_RUNNABLE || row->reason == WAIT_LOST ||
		    row->reason == WAIT_BEFORE) {
			replay_why_none(row, "no function did it");
			continue;
		}
		if (row->unended) {
			replay_why_none(row, "who ended these waits was not recorded");
			continue;
		}
		if (c->replayed == most || r->left || !(c->base > 0)) {
			replay_why_none(row, r->left ? "the replay does not end"
						     : "too little of the path: see --limit");
			continue;
		}
		c->replayed++;
		for (size_t k = 0; k < CRITICAL_GAINS; k++) {
			const struct ends e = run_replay_all(r, i, 1 - parts[k]);

			row->gain[k] = gain_of(r, row, parts[k], &base, &e);
		}
	}
}

static size_t replay_cpus_of(const struct critical_work *k)
{
	size_t n = pd_info(k->rec)->cpus_online;

	for (size_t i = 0; i < k->w->n_spans; i++)
		if (k->w->span[i].reason == WAIT_RAN && k->w->span[i].cpu < 1u << 16 &&
		    k->w->span[i].cpu >= n)
			n = k->w->span[i].cpu + 1u;
	return n ? n : 1;
}

void critical_replay(struct critical_work *k)
{
	const size_t n = k->w->n_threads;
	struct replay r = { .k = k };

	k->out->cpus = replay_cpus_of(k);
	r.first = xcalloc(n + 1, sizeof(*r.first));
	r.created = xcalloc(n + 1, sizeof(*r.created));
	r.needed = xcalloc(n + 1, sizeof(*r.needed));
	r.at = xcalloc(n + 1, sizeof(*r.at));
	r.run.v = xmalloc((n + 1) * sizeof(*r.run.v));
	r.pause.v = xmalloc((n + 1) * sizeof(*r.pause.v));
	fill_busy(&r);
	make_ops(&r);
	r.waiter = xmalloc((r.n_wakings + 1) * sizeof(*r.waiter));
	r.woken = xmalloc((r.n_wakings + 1) * sizeof(*r.woken));
	fill_gains(&r);
	free(r.first);
	free(r.created);
	free(r.needed);
	free(r.at);
	free(r.run.v);
	free(r.pause.v);
	free(r.waiter);
	free(r.woken);
	vec_free(&r.op);
	vec_free(&r.busy);
}
