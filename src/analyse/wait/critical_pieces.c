/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * critical_pieces - spans by thread, those on a CPU cut at the time from which another function's
 * samples are nearer.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"
#include "analyse/wait/critical_int.h"
#include "base/bisect.h"
#include "base/sort.h"
#include "base/xalloc.h"

/* Returns the row of a function that ran, or of a wait. */
static uint32_t piece_row_of(struct critical_work *k, const struct wait_place *place,
			     uint8_t reason)
{
	/* 64 bits of a hash distinguish them well enough */
	uint64_t h =
		hash_pair((uint64_t)(uintptr_t)place->symbol,
			  (uint64_t)place->image << 16 | (uint64_t)(place->kind << 8) | reason);
	const struct critical_row x = { .place = *place, .reason = reason };
	bool fresh;
	uint64_t *at = u64map_xat(&k->row_at, h, &fresh);

	if (fresh)
		vec_xpush(&k->row, x);
	if (fresh)
		*at = k->row.n - 1;
	return (uint32_t)*at;
}

/* ---- samples --------------------------------------------------------------------------------- */

struct marking {
	struct critical_work *k;
	struct wait_frames frames;
	struct tids tids;
	bool *only; /* the event */
	VEC(struct keyed) v;
};

static int on_piece_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct marking *m = ctx;
	const struct critical_work *k = m->k;
	uint64_t from = 0, until = UINT64_MAX;
	uint32_t thread = tids_at(&m->tids, k->w, task_tid(s->task), s->time), frame;
	struct pd_sample x;
	struct keyed y = { .key = s->time, .a = thread };

	(void)err;
	if (!task_tid(s->task) || thread == WAIT_NOBODY || pd_sample_parse(k->rec, s->r, &x))
		return 0;
	frame = frames_number(&m->frames, s, space_kind_of_misc(x.cpumode), x.ip, &from, &until);
	y.b = frame;
	vec_xpush(&m->v, y);
	return 0;
}

void critical_marks_begin(struct critical_work *k, struct pass *pass)
{
	struct pass_visitor v = { .wants = PASS_THREAD | PASS_PLACE | PASS_ALL | PASS_ORDER,
				  .sample = on_piece_sample };
	struct marking *m = k->marking = xcalloc(1, sizeof(*m));
	size_t n;

	m->k = k;
	tids_make(&m->tids, k->w);
	if (k->opts.event == SIZE_MAX)
		return;
	(void)pd_events(k->rec, &n);
	v.events = m->only = xcalloc(n + 1, sizeof(*m->only));
	m->only[k->opts.event] = true;
	pass_add(pass, &v, m);
}

void critical_marks_free(struct critical_work *k)
{
	struct marking *m = k->marking;

	if (!m)
		return;
	vec_free(&m->frames.place);
	frames_free(&m->frames);
	tids_free(&m->tids);
	vec_free(&m->v);
	free(m->only);
	free(m);
	k->marking = NULL;
}

/* By thread, in the order of time; with rows for functions. */
static int keep_marks(struct marking *m, struct err *err)
{
	struct critical_work *k = m->k;
	struct keyed *scratch = xmalloc((m->v.n + 1) * sizeof(*scratch));
	const size_t n = k->w->n_threads;
	size_t *at = xcalloc(n + 2, sizeof(*at));
	int ret = -1;

	vec_xreserve(&k->mark, m->v.n + 1);
	if (frames_name(&m->frames, k->sp, err))
		goto out;
	keyed_sort(m->v.v, scratch, m->v.n);
	for (size_t i = 0; i < m->v.n; i++)
		at[m->v.v[i].a + 2]++;
	for (size_t i = 0; i < n; i++)
		at[i + 2] += at[i + 1];
	for (size_t i = 0; i < m->v.n; i++) {
		const struct keyed *x = &m->v.v[i];
		uint32_t place = m->frames.frame.v[x->b].place;
		uint32_t row = piece_row_of(k, &m->frames.place.v[place], WAIT_RAN);

		k->mark.v[at[x->a + 1]++] = (struct mark){ x->key, x->a, row };
	}
	k->mark.n = m->v.n;
	memcpy(k->first_mark, at, (n + 1) * sizeof(*at));
	ret = 0;
out:
	free(scratch);
	free(at);
	return ret;
}

static int make_marks(struct critical_work *k, struct err *err)
{
	int ret = 0;

	k->first_mark = xcalloc(k->w->n_threads + 1, sizeof(*k->first_mark));
	if (k->opts.event != SIZE_MAX)
		ret = keep_marks(k->marking, err);
	critical_marks_free(k);
	return ret;
}

/* ---- on a CPU -------------------------------------------------------------------------------- */

/* A thread's samples along its CPU time. */
struct cutting {
	struct critical_work *k;
	const struct mark *mark;
	uint64_t *ran; /* by mark: CPU time until then */
	size_t n, at;
	uint64_t before; /* CPU time of the spans before */
	uint32_t none;	 /* the row of a thread without samples */
};

static void put_one_piece(struct critical_work *k, uint64_t from, uint64_t until, uint32_t row,
			  uint32_t span)
{
	const struct piece x = { from, until, row, span, WAIT_NOBODY, WAIT_RAN };

	if (until > from)
		vec_xpush(&k->piece, x);
}

/* Finds the position of each sample in the CPU time of spans[0..n). */
static void place_marks(struct cutting *c, const uint32_t *spans, size_t n)
{
	const struct wait_span *span = c->k->w->span;
	uint64_t sum = 0;
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		const struct wait_span *s = &span[spans[i]];

		for (; m < c->n && c->mark[m].time < s->until; m++)
			c->ran[m] = sum + (s->reason == WAIT_RAN && c->mark[m].time > s->from
						   ? c->mark[m].time - s->from
						   : 0);
		sum += s->reason == WAIT_RAN ? s->until - s->from : 0;
	}
	while (m < c->n)
		c->ran[m++] = sum;
}

/* A span on a CPU belongs to the nearest samples. */
static void cut(struct cutting *c, uint32_t i)
{
	const struct wait_span *s = &c->k->w->span[i];
	uint64_t from = s->from, end = c->before + (s->until - s->from);

	for (; c->at + 1 < c->n; c->at++) {
		uint64_t middle = c->ran[c->at] + (c->ran[c->at + 1] - c->ran[c->at]) / 2, t;

		if (middle >= end)
			break;
		if (c->mark[c->at].row == c->mark[c->at + 1].row)
			continue;
		t = s->from + (middle > c->before ? middle - c->before : 0);
		if (t > from)
			put_one_piece(c->k, from, t, c->mark[c->at].row, i);
		from = t > from ? t : from;
	}
	c->before = end;
	put_one_piece(c->k, from, s->until, c->n ? c->mark[c->at].row : c->none, i);
}

/* ---- waits for a thread's end ---------------------------------------------------------------- */

#define SOON 5000000u /* ns */

/* Sorts threads that ended by the process that may have waited for their end, then waits for a lock
 * before those for a child, then by time (`order`). Threads are fewer than 2^31. */
static uint64_t exit_key(uint32_t pid, bool child, size_t order)
{
	return (uint64_t)pid << 32 | (uint64_t)child << 31 | order;
}

/* Linux 6.16 and later end a thread's events before it wakes those that wait for its end. So if no
 * waker was recorded for the wait for a lock or a child, the last one that ended meanwhile did, if
 * that was soon before. */
static uint32_t ended_by(const struct critical_work *k, const struct wait_span *s)
{
	const struct wait_thread *thread = k->w->thread;
	uint64_t first;
	size_t at, before;

	if (s->waker != WAIT_NOBODY || (s->reason != WAIT_LOCK && s->reason != WAIT_CHILD))
		return WAIT_NOBODY;
	bisect(at, k->n_exits, i, k->exit[i].key > s->until);
	first = exit_key(thread[s->thread].pid, s->reason == WAIT_CHILD, 0);
	bisect(before, k->n_exits_of, i, k->exit_of[i].key >= first + at);
	for (; before && k->exit_of[before - 1].key >= first; before--) {
		const uint32_t i = k->exit_of[before - 1].a;
		uint64_t ago = s->until - thread[i].until;

		if (i == s->thread) /* there is one other at most to look at */
			continue;
		return thread[i].until > s->from && (ago <= SOON || ago <= (s->until - s->from) / 4)
			       ? i
			       : WAIT_NOBODY;
	}
	return WAIT_NOBODY;
}

/* A thread that ends may end the wait for a lock in its process, and that for a child in its
 * parent's. */
static void put_exit(struct critical_work *k, size_t order)
{
	const struct wait_thread *thread = k->w->thread;
	const uint32_t i = k->exit[order].a, parent = thread[i].parent;

	k->exit_of[k->n_exits_of++] = (struct keyed){ exit_key(thread[i].pid, false, order), i, 0 };
	if (parent < k->w->n_threads && thread[parent].pid != thread[i].pid)
		k->exit_of[k->n_exits_of++] =
			(struct keyed){ exit_key(thread[parent].pid, true, order), i, 0 };
}

static void sort_exits(struct critical_work *k)
{
	const struct wait *w = k->w;
	const size_t room = w->n_threads + 1;

	k->exit = xmalloc(room * 2 * sizeof(*k->exit));
	k->exit_of = xmalloc(room * 4 * sizeof(*k->exit_of));
	for (uint32_t i = 0; i < w->n_threads; i++)
		if (w->thread[i].until < w->until)
			k->exit[k->n_exits++] = (struct keyed){ w->thread[i].until, i, 0 };
	keyed_sort(k->exit, k->exit + room, k->n_exits);
	for (size_t i = 0; i < k->n_exits; i++)
		put_exit(k, i);
	keyed_sort(k->exit_of, k->exit_of + 2 * room, k->n_exits_of);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* A span that is not on a CPU. */
static void put_piece_off(struct critical_work *k, uint32_t i)
{
	const struct wait_span *s = &k->w->span[i];
	const struct wait_place *nowhere = &k->w->place[0];
	bool blocked = wait_reasons[s->reason].state == WAIT_BLOCKED;
	uint32_t by = ended_by(k, s), place = blocked ? k->w->chain_place[s->chain] : 0;
	struct piece p = { s->from, s->until, 0, i, blocked ? s->waker : WAIT_NOBODY, s->reason };

	if (by != WAIT_NOBODY) {
		p.until = k->w->thread[by].until;
		p.waker = by;
	}
	if (p.waker == s->thread)
		p.waker = WAIT_NOBODY;
	p.row = piece_row_of(k, &k->w->place[place], s->reason);
	if (p.until > p.from)
		vec_xpush(&k->piece, p);
	if (p.until == s->until)
		return;
	p = (struct piece){ p.until, s->until, 0, i, WAIT_NOBODY, WAIT_WOKEN };
	p.row = piece_row_of(k, nowhere, WAIT_WOKEN);
	vec_xpush(&k->piece, p);
}

static void put_piece_thread(struct critical_work *k, uint32_t thread, const uint32_t *spans,
			     size_t n, uint32_t none)
{
	const size_t first = k->first_mark[thread];
	struct cutting c = { .k = k, .n = k->first_mark[thread + 1] - first, .none = none };

	c.mark = k->mark.v ? k->mark.v + first : NULL;
	c.ran = xmalloc((c.n + 1) * sizeof(*c.ran));
	place_marks(&c, spans, n);
	for (size_t i = 0; i < n; i++)
		if (k->w->span[spans[i]].reason == WAIT_RAN)
			cut(&c, spans[i]);
		else
			put_piece_off(k, spans[i]);
	free(c.ran);
}

int critical_pieces(struct critical_work *k, struct err *err)
{
	const struct wait *w = k->w;
	uint32_t *by = xmalloc((w->n_spans + 1) * sizeof(*by)), none;
	size_t *first = xcalloc(w->n_threads + 2, sizeof(*first));
	int ret = -1;

	k->first = xcalloc(w->n_threads + 1, sizeof(*k->first));
	sort_exits(k);
	if (make_marks(k, err))
		goto out;
	none = piece_row_of(k, &w->place[0], WAIT_RAN);
	/* by[first[i]..first[i + 1]): the spans of thread i. */
	for (size_t i = 0; i < w->n_spans; i++)
		first[w->span[i].thread + 2]++;
	for (size_t i = 0; i < w->n_threads; i++)
		first[i + 2] += first[i + 1];
	for (size_t i = 0; i < w->n_spans; i++)
		by[first[w->span[i].thread + 1]++] = (uint32_t)i;
	for (uint32_t i = 0; i < w->n_threads; i++) {
		k->first[i] = k->piece.n;
		put_piece_thread(k, i, by + first[i], first[i + 1] - first[i], none);
	}
	k->first[w->n_threads] = k->piece.n;
	vec_each (&k->piece, struct piece *, p)
		if (!piece_runs(k, p->waker, p->until))
			p->waker = WAIT_NOBODY;
	ret = 0;
out:
	free(by);
	free(first);
	return ret;
}

/* ---- looking them up ------------------------------------------------------------------------- */

size_t piece_at(const struct critical_work *k, uint32_t thread, uint64_t time)
{
	const struct piece *p = k->piece.v + k->first[thread];
	size_t n = k->first[thread + 1] - k->first[thread], at;

	bisect(at, n, i, p[i].until >= time);
	return at < n && p[at].from < time ? k->first[thread] + at : NO_PIECE;
}

bool piece_runs(const struct critical_work *k, uint32_t thread, uint64_t time)
{
	size_t at = thread < k->w->n_threads ? piece_at(k, thread, time) : NO_PIECE;

	return at != NO_PIECE && k->piece.v[at].reason == WAIT_RAN;
}
