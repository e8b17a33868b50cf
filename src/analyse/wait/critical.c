/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/critical.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/wait/critical_int.h"
#include "base/bisect.h"
#include "base/invariant.h"
#include "base/xalloc.h"

/* ---- the thread at the end of the path ------------------------------------------------------- */

/* A main thread before others; the one that lived longest, of several that of the process that ran
 * most (`ran`, by pid). */
static bool path_is_better(const struct u64map *ran, const struct wait_thread *a,
			   const struct wait_thread *b)
{
	bool main_a = a->pid == a->tid, main_b = b->pid == b->tid;
	uint64_t life_a = a->until - a->from, life_b = b->until - b->from;

	if (main_a != main_b)
		return main_a;
	if (life_a != life_b)
		return life_a > life_b;
	return *u64map_find(ran, a->pid) > *u64map_find(ran, b->pid);
}

static int choose_end(struct critical_work *k, struct err *err)
{
	const struct wait *w = k->w;
	uint32_t best = WAIT_NOBODY;
	struct u64map ran = { 0 };
	int ret = 0;

	for (size_t i = 0; i < w->n_threads; i++)
		if (w->thread[i].wanted)
			*u64map_xat(&ran, w->thread[i].pid, NULL) += w->thread[i].time[WAIT_RAN];
	for (uint32_t i = 0; i < w->n_threads; i++)
		if (w->thread[i].wanted &&
		    (best == WAIT_NOBODY || path_is_better(&ran, &w->thread[i], &w->thread[best])))
			best = i;
	if (best == WAIT_NOBODY)
		ret = err_set(err, ERR_NOT_FOUND, "no thread is selected");
	k->out->end = best;
	u64map_free(&ran);
	return ret;
}

/* ---- the path, from its end ------------------------------------------------------------------ */

struct walking {
	struct critical_work *k;
	VEC(struct critical_step) step; /* the last one first */
	VEC(uint32_t) touched;		/* rows of the step at hand */
	uint64_t *took;			/* by row: in this step */
	uint64_t *by_thread;
};

static void end_step(struct walking *g)
{
	struct critical_step *s = vec_last(&g->step);

	vec_each (&g->touched, const uint32_t *, row) {
		if (g->took[*row] > s->row_time) {
			s->row_time = g->took[*row];
			s->row = *row;
		}
		g->took[*row] = 0;
	}
	g->touched.n = 0;
	if (s->from == s->until) /* it only passed the waking on */
		g->step.n--;
}

static void begin_step(struct walking *g, uint32_t thread, uint64_t until, uint32_t reason,
		       uint32_t place)
{
	const struct critical_step s = { .from = until,
					 .until = until,
					 .thread = thread,
					 .next_reason = reason,
					 .waker_place = place };

	vec_xpush(&g->step, s);
}

/* Returns true for a wait that another thread ends. */
static bool needs_other(uint8_t reason)
{
	return wait_reasons[reason].state == WAIT_BLOCKED && reason != WAIT_SLEEP &&
	       reason != WAIT_IO && reason != WAIT_FAULT && reason != WAIT_THROTTLED &&
	       reason != WAIT_BEFORE;
}

/* [from, until) of a piece is on the path. */
static void take_path_piece(struct walking *g, const struct piece *p, uint64_t until)
{
	struct critical_work *k = g->k;
	struct critical_row *r = &k->row.v[p->row];
	struct critical_step *s = vec_last(&g->step);
	uint64_t time = until - p->from;
	size_t n = k->first_mark[s->thread + 1] - k->first_mark[s->thread], a, b;
	const struct mark *m = n ? k->mark.v + k->first_mark[s->thread] : NULL;

	s->from = p->from;
	if (!g->took[p->row])
		vec_xpush(&g->touched, p->row);
	g->took[p->row] += time;
	g->by_thread[s->thread] += time;
	r->last = r->time ? r->last : until;
	r->first = p->from;
	r->time += time;
	if (r->reason == WAIT_LOST)
		k->out->unknown += time;
	if (k->w->span[p->span].waker == WAIT_NOBODY && needs_other(p->reason)) {
		r->unended += time;
		k->out->unended += time;
	}
	if (r->reason != WAIT_RAN)
		return;
	k->out->running += time;
	bisect(a, n, i, m[i].time >= p->from);
	bisect(b, n, i, m[i].time >= until);
	r->samples += b - a;
	k->out->samples += b - a;
}

static void walk_path(struct walking *g)
{
	struct critical_work *k = g->k;
	const struct wait_thread *thread = k->w->thread;
	uint32_t now = k->out->end;
	uint64_t time = thread[now].until;

	k->out->until = time;
	begin_step(g, now, time, WAIT_REASONS, 0);
	for (;;) {
		size_t at = piece_at(k, now, time);
		const struct piece *p = at != NO_PIECE ? &k->piece.v[at] : NULL;
		const struct wait_span *s = p ? &k->w->span[p->span] : NULL;
		uint32_t to = !p ? thread[now].parent : p->until == time ? p->waker : WAIT_NOBODY;

		if (to != WAIT_NOBODY && (p || piece_runs(k, to, time))) {
			now = to;
			end_step(g);
			begin_step(g, now, time, p ? p->reason : WAIT_BEGUN,
				   s ? s->waker_place : 0);
			continue;
		}
		if (!p)
			break;
		take_path_piece(g, p, time);
		time = p->from;
	}
	k->out->from = time;
	end_step(g);
}

/* ---- the results ----------------------------------------------------------------------------- */

static int most_time(const void *pa, const void *pb, void *rows)
{
	const struct critical_row *a = (const struct critical_row *)rows + *(const uint32_t *)pa;
	const struct critical_row *b = (const struct critical_row *)rows + *(const uint32_t *)pb;

	if (a->time != b->time)
		return a->time < b->time ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

static int most_thread(const void *pa, const void *pb)
{
	const struct critical_thread *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? 1 : -1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static void put_path_threads(struct walking *g)
{
	struct critical *c = g->k->out;
	const struct wait *w = g->k->w;

	c->thread = xmalloc((w->n_threads + 1) * sizeof(*c->thread));
	for (uint32_t i = 0; i < w->n_threads; i++)
		if (g->by_thread[i])
			c->thread[c->n_threads++] = (struct critical_thread){ i, g->by_thread[i] };
	if (c->n_threads > 1)
		qsort(c->thread, c->n_threads, sizeof(*c->thread), most_thread);
}

static void put_steps(struct walking *g)
{
	struct critical *c = g->k->out;

	c->step = g->step.v;
	c->n_steps = g->step.n;
	for (size_t i = 0; i < c->n_steps / 2; i++) {
		struct critical_step x = c->step[i];

		c->step[i] = c->step[c->n_steps - 1 - i];
		c->step[c->n_steps - 1 - i] = x;
	}
}

static void fill_share(const struct critical *c, struct critical_row *r)
{
	double length = (double)(c->until - c->from), n = (double)c->samples;
	const struct error_bar e = error_bar_share((double)r->samples, n, n);

	r->share = (struct estimate){ length > 0 ? (double)r->time / length : NAN, 0, NULL };
	if (r->reason == WAIT_RAN)
		r->share.half = e.half * (double)c->running / length;
	for (size_t i = 0; i < CRITICAL_GAINS; i++)
		r->gain[i] = ESTIMATE_NONE("not computed");
}

static void make_path(struct critical_work *k)
{
	struct walking g = { .k = k };
	struct critical *c = k->out;
	const size_t n = k->row.n;
	uint32_t *order = xmalloc((n + 1) * sizeof(*order)), *to = xmalloc((n + 1) * sizeof(*to));

	g.took = xcalloc(k->row.n + 1, sizeof(*g.took));
	g.by_thread = xcalloc(k->w->n_threads + 1, sizeof(*g.by_thread));
	walk_path(&g);
	put_path_threads(&g);
	put_steps(&g);
	/* Rows in their order; steps and pieces get the new numbers. */
	c->row = xmalloc((n + 1) * sizeof(*c->row));
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (n > 1)
		qsort_r(order, n, sizeof(*order), most_time, k->row.v);
	for (uint32_t i = 0; i < n; i++) {
		to[order[i]] = i;
		c->row[i] = k->row.v[order[i]];
		fill_share(c, &c->row[i]);
		c->n_rows += c->row[i].time != 0;
	}
	vec_each (&k->piece, struct piece *, p)
		p->row = to[p->row];
	for (size_t i = 0; i < c->n_steps; i++)
		c->step[i].row = to[c->step[i].row];
	free(order);
	free(to);
	assert(pairs_hold(k->out->n_steps, i, k->out->step[i].until == k->out->step[i + 1].from));
	free(g.took);
	free(g.by_thread);
	vec_free(&g.touched);
}

int critical_begin(struct critical **out, struct pass *pass, const struct pd *rec,
		   const struct spaces *spaces, const struct wait *w,
		   const struct critical_opts *opts, struct err *err)
{
	struct critical_work *k = xcalloc(1, sizeof(*k));

	k->rec = rec;
	k->sp = spaces;
	k->w = w;
	k->opts = *opts;
	*out = k->out = xcalloc(1, sizeof(*k->out));
	k->out->work = k;
	if (choose_end(k, err)) {
		critical_free(k->out);
		*out = NULL;
		return -1;
	}
	critical_marks_begin(k, pass);
	return 0;
}

static void drop_critical_work(struct critical_work *k)
{
	k->out->work = NULL;
	critical_marks_free(k);
	vec_free(&k->row);
	u64map_free(&k->row_at);
	vec_free(&k->piece);
	free(k->first);
	vec_free(&k->mark);
	free(k->first_mark);
	free(k->exit);
	free(k->exit_of);
	free(k);
}

int critical_end(struct critical *c, struct err *err)
{
	struct critical_work *k = c->work;
	int ret = critical_pieces(k, err);

	if (!ret) {
		make_path(k);
		critical_replay(k);
	}
	drop_critical_work(k);
	return ret;
}

void critical_free(struct critical *c)
{
	if (!c)
		return;
	if (c->work)
		drop_critical_work(c->work);
	free(c->row);
	free(c->step);
	free(c->thread);
	free(c);
}
