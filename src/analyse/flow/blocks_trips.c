/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_trips - which loops are followed through the stacks of a recording, and the sums of all
 * their visits. Visits of one stack: blocks_visits.c.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/blocks_trips_int.h"
#include "base/bisect.h"

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

/* The watched innermost loop of each block. */
static int mark_innermost(const struct trips *t, struct watched *w)
{
	size_t n = w->f->code->n_blocks;

	w->innermost = malloc(n + 1);
	if (!w->innermost)
		return -1;
	memset(w->innermost, NO_LOOP, n + 1);
	for (uint32_t l = 0; l < w->n; l++) {
		uint32_t loop = t->loop[w->first + l].loop;

		for (uint32_t b = 0; block_is_innermost(w->f, loop) && b < n; b++)
			if (w->f->block[b].loop == loop)
				w->innermost[b] = (uint8_t)l;
	}
	return 0;
}

/* The masks of a function, by block. */
static int mark_loops(const struct trips *t, struct watched *w)
{
	size_t n = w->f->code->n_blocks;

	w->in = calloc(n + 1, sizeof(*w->in));
	w->head = calloc(n + 1, sizeof(*w->head));
	if (!w->in || !w->head)
		return -1;
	for (uint32_t l = 0; l < w->n; l++) {
		uint32_t loop = t->loop[w->first + l].loop;

		for (uint32_t b = 0; b < n; b++)
			w->in[b] |= (uint64_t)block_in_loop(w->f, b, loop) << l;
		w->head[w->f->loop[loop].head] |= 1ULL << l;
	}
	return t->follow ? mark_innermost(t, w) : 0;
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
			*w = (struct watched){ .f = l->f,
					       .start = l->f->code->start,
					       .len = l->f->code->len,
					       .first = t->n_loops };
		}
		if (w->n == OF_FUNCTION_MAX)
			continue;
		w->n++;
		t->loop[t->n_loops++] = *l;
	}
	rc = 0;
	for (size_t i = 0; !rc && i < t->n_f; i++)
		rc = mark_loops(t, &t->f[i]);
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

const struct watched *trips_function_at(const struct trips *t, uint32_t image, uint64_t addr)
{
	const struct watched *w = t->f;
	size_t at;

	bisect(at, t->n_f, i,
	       w[i].f->image > image || (w[i].f->image == image && w[i].start + w[i].len > addr));
	return at < t->n_f && w[at].f->image == image && addr >= w[at].start ? &w[at] : NULL;
}

/* ---- all ------------------------------------------------------------------------------------ */

static int add_iteration(struct block_loop *l, const struct block_times *more)
{
	struct block_times *o = l->iteration;

	if (!more->n)
		return 0;
	if (!o)
		o = l->iteration = calloc(1, sizeof(*o));
	if (!o)
		return -1;
	o->n += more->n;
	o->cycles += more->cycles;
	o->cycles_sq += more->cycles_sq;
	o->stacks += more->stacks;
	for (unsigned i = 0; i < FLOW_TIME_BUCKETS; i++)
		o->times.n[i] += more->times.n[i];
	return 0;
}

static int paths_first(const void *x, const void *y)
{
	const struct block_path *a = x, *b = y;

	if (a->seen != b->seen)
		return a->seen > b->seen ? -1 : 1;
	return a->n != b->n ? (a->n < b->n ? -1 : 1)
			    : memcmp(a->block, b->block, a->n * sizeof(*a->block));
}

static int add_paths(struct block_loop *l, const struct seen_paths *more)
{
	if (!more->n && !more->iterations)
		return 0;
	if (!l->path)
		l->path = calloc(BLOCK_PATHS, sizeof(*l->path));
	if (!l->path)
		return -1;
	l->iterations += more->iterations;
	for (unsigned i = 0; i < more->n; i++) {
		const struct block_path *p = &more->path[i];
		size_t k = 0;

		while (k < l->n_paths &&
		       (l->path[k].n != p->n ||
			memcmp(l->path[k].block, p->block, p->n * sizeof(*p->block)) != 0))
			k++;
		if (k == BLOCK_PATHS)
			continue;
		if (k == l->n_paths) {
			l->path[l->n_paths++] = *p;
			continue;
		}
		l->path[k].seen += p->seen;
		l->path[k].timed += p->timed;
		l->path[k].cycles += p->cycles;
	}
	return 0;
}

static int add_up(const struct trips *t, const struct trips_worker *w)
{
	for (uint32_t i = 0; i < t->n_loops; i++) {
		struct block_loop *l = &t->loop[i].f->loop[t->loop[i].loop];

		l->visits += w->seen[i].visits;
		l->cut += w->seen[i].cut;
		for (unsigned k = 0; k < BLOCK_TRIPS; k++)
			l->trip[k] += w->seen[i].trip[k];
		if (add_iteration(l, &w->seen[i].iteration) ||
		    (w->paths && add_paths(l, &w->paths[i])))
			return -1;
	}
	return 0;
}

static int one_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct trips *t = ctx;
	struct trips_worker *w = t->worker[s->worker];
	struct pd_branches stack;

	(void)err;
	if (!pd_branches_find(s->ev, s->r, &stack) || !stack.n)
		return 0;
	flow_map_enter(&w->map, s);
	trips_stack(t, w, &stack);
	return 0;
}

static int walk(struct trips *t, struct pass *p, struct err *err)
{
	const struct pass_visitor v = { .wants = PASS_THREAD | PASS_PLACE,
					.events = t->events.used,
					.sample = one_sample };

	t->n_workers = pass_workers(p);
	t->worker = calloc(t->n_workers, sizeof(struct trips_worker *));
	if (!t->worker)
		return err_nomem(err);
	for (unsigned i = 0; i < t->n_workers; i++) {
		t->worker[i] = calloc(1, sizeof(struct trips_worker));
		if (t->worker[i] && t->follow)
			t->worker[i]->paths = calloc(t->n_loops, sizeof(*t->worker[i]->paths));
		if (t->worker[i])
			t->worker[i]->on = calloc(t->n_f, sizeof(*t->worker[i]->on));
		if (!t->worker[i] || !t->worker[i]->on || (t->follow && !t->worker[i]->paths))
			return err_nomem(err);
	}
	if (pass_each(p, &v, t, err))
		return -1;
	for (unsigned i = 0; i < t->n_workers; i++)
		if (add_up(t, t->worker[i]))
			return err_nomem(err);
	for (uint32_t i = 0; i < t->n_loops; i++) {
		struct block_loop *l = &t->loop[i].f->loop[t->loop[i].loop];

		if (l->n_paths > 1)
			qsort(l->path, l->n_paths, sizeof(*l->path), paths_first);
	}
	return 0;
}

int blocks_loops(struct blocks *b, const struct pd *rec, struct spaces *sp,
		 const struct flow_opts *opts, struct err *err)
{
	const struct pass_opts po = { .threads = opts->threads };
	struct trips t = { .follow = b->follow_paths };
	struct flow_sums sums = { .filter = FLOW_ANY };
	struct pass *p = NULL;
	int rc = -1;

	if (flow_choose(&t.events, &sums, rec, opts, err))
		goto out;
	if (list_loops(&t, b) || list_images(&t)) {
		(void)err_nomem(err);
		goto out;
	}
	if (!t.n_loops) {
		rc = 0;
		goto out;
	}
	rc = pass_new(&p, rec, sp, &opts->select, &po, err) || walk(&t, p, err) ? -1 : 0;
out:
	for (unsigned i = 0; t.worker && i < t.n_workers; i++) {
		if (t.worker[i]) {
			free(t.worker[i]->on);
			free(t.worker[i]->paths);
		}
		free(t.worker[i]);
	}
	for (size_t i = 0; i < t.n_f; i++) {
		free(t.f[i].in);
		free(t.f[i].innermost);
		free(t.f[i].head);
	}
	pass_free(p);
	free(t.worker);
	flow_events_free(&t.events);
	free(t.f);
	free(t.image);
	return rc;
}
