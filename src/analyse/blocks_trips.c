/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_trips - visits of loops that stacks show from their entry to their end.
 *
 * A second pass over the stacks, oldest entry first, of which only what lies in functions with hot
 * loops is looked at. A visit begins where the head is entered from outside the loop and ends with
 * the first block of the function that is not of the loop, or when the function is left but for a
 * call; what is called in between is not looked at. A stack that begins within a loop, ends within
 * it, or has a gap there, cuts the visit. Where a function calls itself, visits of the outer run are
 * cut, too.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/blocks_int.h"
#include "analyse/branches.h"
#include "analyse/flow_scan_int.h"

enum { LOOPS_MAX = 512, OF_FUNCTION_MAX = 64, TRIPS = 33, ENTRIES_MAX = 2730 };

struct watched_loop {
	struct block_function *f;
	uint32_t loop;
};

struct watched {
	struct block_function *f;
	uint64_t start, len;
	uint32_t first, n; /* of the loops */
};

struct visit {
	bool active, whole; /* whole: its entry was seen */
	uint32_t trips;
};

struct seen {
	uint64_t visits, cut;
	uint32_t trip[TRIPS];
};

struct trips_worker {
	struct flow_map map;
	struct seen seen[LOOPS_MAX];
	struct visit visit[LOOPS_MAX];
	struct flow_place from[ENTRIES_MAX], to[ENTRIES_MAX];
};

struct trips {
	const struct pd *rec;
	const struct pd_event *ev;
	const struct flow_opts *opts;
	bool has_time;
	struct flow_events events;
	struct watched_loop loop[LOOPS_MAX];
	uint32_t n_loops;
	struct watched *f; /* sorted by (image, start) */
	size_t n_f;
	bool *image; /* those that any is in */
	size_t n_images;
	struct trips_worker **worker;
};

/* ---- which loops ---------------------------------------------------------------------------- */

static double runs_of(const struct watched_loop *l)
{
	return l->f->block[l->f->loop[l->loop].head].runs.v;
}

static int by_runs(const void *x, const void *y)
{
	double a = runs_of(x), b = runs_of(y);

	return a > b ? -1 : a < b;
}

static int by_function(const void *x, const void *y)
{
	const struct watched_loop *a = x, *b = y;

	if (a->f->image != b->f->image)
		return a->f->image < b->f->image ? -1 : 1;
	if (a->f->code->start != b->f->code->start)
		return a->f->code->start < b->f->code->start ? -1 : 1;
	return a->loop < b->loop ? -1 : a->loop > b->loop;
}

static int list_loops(struct trips *t, const struct blocks *b)
{
	VEC(struct watched_loop) all = VEC_INIT;
	int rc = -1;

	for (size_t i = 0; i < b->n; i++)
		for (uint32_t l = 0; l < b->f[i].n_loops; l++)
			if (vec_push(&all, ((struct watched_loop){ &b->f[i], l })))
				goto out;
	vec_sort(&all, by_runs);
	if (all.n > LOOPS_MAX)
		all.n = LOOPS_MAX;
	vec_sort(&all, by_function);
	t->f = calloc(all.n + 1, sizeof(*t->f));
	if (!t->f)
		goto out;
	vec_each (&all, struct watched_loop *, l) {
		struct watched *w = t->n_f ? &t->f[t->n_f - 1] : NULL;

		if (!w || w->f != l->f) {
			w = &t->f[t->n_f++];
			*w = (struct watched){ l->f, l->f->code->start, l->f->code->len, t->n_loops,
					       0 };
		}
		if (w->n == OF_FUNCTION_MAX)
			continue;
		w->n++;
		t->loop[t->n_loops++] = *l;
	}
	rc = 0;
out:
	vec_free(&all);
	return rc;
}

static int list_images(struct trips *t)
{
	for (size_t i = 0; i < t->n_f; i++)
		if (t->f[i].f->image >= t->n_images)
			t->n_images = (size_t)t->f[i].f->image + 1;
	t->image = calloc(t->n_images + 1, sizeof(*t->image));
	for (size_t i = 0; t->image && i < t->n_f; i++)
		t->image[t->f[i].f->image] = true;
	return t->image ? 0 : -1;
}

static const struct watched *watched_at(const struct trips *t, const struct flow_place *at)
{
	size_t lo = 0, hi = t->n_f;

	if (at->image >= t->n_images || !t->image[at->image])
		return NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct watched *w = &t->f[mid];

		if (w->f->image < at->image ||
		    (w->f->image == at->image && w->start + w->len <= at->addr))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == t->n_f || t->f[lo].f->image != at->image || at->addr < t->f[lo].start)
		return NULL;
	return &t->f[lo];
}

/* ---- one stack ------------------------------------------------------------------------------ */

static void end_visit(struct trips_worker *w, uint32_t i, bool seen_to_end)
{
	struct visit *v = &w->visit[i];
	struct seen *s = &w->seen[i];

	if (!v->active)
		return;
	if (v->whole && seen_to_end) {
		s->visits++;
		s->trip[v->trips < TRIPS ? v->trips : TRIPS - 1]++;
	} else {
		s->cut++;
	}
	*v = (struct visit){ 0 };
}

static void end_all(struct trips_worker *w, const struct watched *f, bool seen_to_end)
{
	for (uint32_t i = f->first; i < f->first + f->n; i++)
		end_visit(w, i, seen_to_end);
}

/* The function ran from one block to another; `from` CODE_NONE: from outside. */
static void step(const struct trips *t, struct trips_worker *w, const struct watched *f,
		 uint32_t from, uint32_t to)
{
	for (uint32_t i = f->first; i < f->first + f->n; i++) {
		uint32_t loop = t->loop[i].loop;
		struct visit *v = &w->visit[i];
		bool inside;

		if (!block_in_loop(f->f, to, loop)) {
			end_visit(w, i, true);
			continue;
		}
		inside = from != CODE_NONE && block_in_loop(f->f, from, loop);
		if (!inside)
			end_visit(w, i, true);
		if (!v->active)
			*v = (struct visit){ .active = true, .whole = !inside };
		if (f->f->loop[loop].head == to)
			v->trips++;
		else if (!inside)
			v->whole = false; /* entered beside its head: an exception, a longjmp */
	}
}

static uint32_t block_at(const struct watched *f, uint64_t addr, bool start)
{
	const struct code *c = f->f->code;
	uint32_t b = code_block_of(c, addr);

	if (b == CODE_NONE || (start && c->start + c->block[b].start != addr))
		return CODE_NONE;
	return b;
}

/* A branch that leaves a function's code for good: not by a call, nor into the kernel. */
static bool leaves(const struct watched *f, uint32_t block)
{
	uint8_t flow = f->f->code->block[block].flow;

	return flow == INSN_RETURN || flow == INSN_JUMP || flow == INSN_COND;
}

static void take_edge(const struct trips *t, struct trips_worker *w, size_t i)
{
	const struct watched *a = watched_at(t, &w->from[i]), *b = watched_at(t, &w->to[i]);
	uint32_t from = a ? block_at(a, w->from[i].addr, false) : CODE_NONE, to;

	bool returns = from != CODE_NONE && a->f->code->block[from].flow == INSN_RETURN;

	if (a && from != CODE_NONE && (returns || (a != b && leaves(a, from))))
		end_all(w, a, true);
	if (!b)
		return;
	to = block_at(b, w->to[i].addr, true);
	if (to == CODE_NONE) /* an interrupt that came back into a block */
		return;
	if (a == b && from != CODE_NONE && a->f->code->block[from].flow == INSN_CALL)
		end_all(w, b, false); /* it calls itself */
	else if ((a != b || returns) && to && b->f->code->block[to - 1].flow == INSN_CALL)
		from = to - 1; /* a call came back */
	else if (a != b)
		from = CODE_NONE;
	if (a != b && !to)
		end_all(w, b, false); /* another run of it, whose end was not seen */
	step(t, w, b, from, to);
}

/* From where entry i led to where the next newer one left. */
static void take_span(const struct trips *t, struct trips_worker *w, size_t i)
{
	const struct watched *f = watched_at(t, &w->to[i]);
	const struct flow_place *end = &w->from[i - 1];
	uint32_t b, last;

	if (!f)
		return;
	b = block_at(f, w->to[i].addr, false);
	if (b == CODE_NONE)
		return;
	if (w->to[i].image != end->image || end->addr < w->to[i].addr ||
	    end->addr - f->start >= f->len) {
		end_all(w, f, false); /* what ran is not known, or was another function */
		return;
	}
	last = block_at(f, end->addr, false);
	for (; last != CODE_NONE && b < last; b++)
		step(t, w, f, b, b + 1);
}

static int one_stack(void *ctx, unsigned worker, const struct branch_span *span, struct err *err)
{
	struct trips *t = ctx;
	struct trips_worker *w = t->worker[worker];
	size_t n = 0;
	bool any = false;

	(void)err;
	if (!t->events.v[span->event].used ||
	    !flow_map_sample(&w->map, t->has_time, t->opts, &t->ev[span->event], span->record))
		return 0;
	for (size_t i = 0; i < span->stack.n && n < ENTRIES_MAX; i++) {
		struct pd_branch b = pd_branch_decode(span->stack.entry + i * PD_BRANCH_SIZE);

		if (!b.from && !b.to)
			continue;
		w->from[n] = flow_map_place(&w->map, b.from);
		w->to[n] = flow_map_place(&w->map, b.to);
		any |= w->to[n].image < t->n_images && t->image[w->to[n].image];
		n++;
	}
	if (!any)
		return 0;
	for (size_t i = n; i-- > 0;) {
		take_edge(t, w, i);
		if (i)
			take_span(t, w, i);
	}
	for (uint32_t i = 0; i < t->n_loops; i++)
		end_visit(w, i, false);
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

static void add_up(const struct trips *t, const struct trips_worker *w)
{
	for (uint32_t i = 0; i < t->n_loops; i++) {
		struct block_loop *l = &t->loop[i].f->loop[t->loop[i].loop];

		l->visits += w->seen[i].visits;
		l->cut += w->seen[i].cut;
		for (unsigned k = 0; k < TRIPS; k++)
			l->trip[k] += w->seen[i].trip[k];
	}
}

static int walk(struct trips *t, struct spaces *sp, unsigned n, struct err *err)
{
	struct branches_seen seen;

	t->worker = calloc(n, sizeof(struct trips_worker *));
	if (!t->worker)
		return err_nomem(err);
	for (unsigned i = 0; i < n; i++) {
		t->worker[i] = calloc(1, sizeof(struct trips_worker));
		if (!t->worker[i])
			return err_nomem(err);
		if (flow_map_init(&t->worker[i]->map, sp, t->opts->comm, err))
			return -1;
	}
	if (branches_walk(t->rec, n, one_stack, t, &seen, err))
		return -1;
	for (unsigned i = 0; i < n; i++)
		add_up(t, t->worker[i]);
	return 0;
}

int blocks_loops(struct blocks *b, const struct pd *rec, struct spaces *sp,
		 const struct flow_opts *opts, struct err *err)
{
	struct trips t = { .rec = rec, .opts = opts, .has_time = pd_has_time(rec) };
	struct flow_sums sums = { .filter = FLOW_ANY };
	unsigned n = branches_workers(rec, opts->threads);
	size_t n_events;
	int rc = -1;

	t.ev = pd_events(rec, &n_events);
	if (flow_choose(&t.events, &sums, rec, opts, err))
		goto out;
	if (list_loops(&t, b) || list_images(&t)) {
		(void)err_nomem(err);
		goto out;
	}
	rc = t.n_loops ? walk(&t, sp, n, err) : 0;
out:
	for (unsigned i = 0; t.worker && i < n; i++) {
		if (t.worker[i])
			flow_map_free(&t.worker[i]->map);
		free(t.worker[i]);
	}
	free(t.worker);
	free(t.events.v);
	free(t.f);
	free(t.image);
	return rc;
}
