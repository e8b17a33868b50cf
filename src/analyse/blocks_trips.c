/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_trips - visits of loops that stacks show from their entry to their end.
 *
 * A second pass over the stacks, oldest entry first, of which only what lies in functions with hot
 * loops is looked at. A visit begins where the head is entered from outside the loop and ends with
 * the first block of the function that is not of the loop, or when the function is left but for a
 * call; what is called in between is not looked at. A stack that begins within a loop, ends within
 * it, or has a gap there, cuts the visit. Where a function calls itself, visits of the outer run
 * are cut, too.
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
	uint64_t *in;	   /* by block: loops that it is in, a bit each; */
	uint64_t *head;	   /* that it is the head of */
};
_Static_assert(OF_FUNCTION_MAX <= 64, "the loops of a function are a word");

struct seen {
	uint64_t visits, cut;
	uint32_t trip[TRIPS];
};

/* What is going on in a function: visits, and those of them whose entry was seen. */
struct going_on {
	uint64_t active, whole;
	bool listed;
};

/* Where an address lies; found once, since few addresses are most of all. */
struct spot {
	uint64_t addr;
	uint32_t image;
	uint32_t f;	/* 1 + index; 0: nothing is known yet; NOWHERE: in none that is watched */
	uint32_t block; /* CODE_NONE: none */
	uint8_t flow;	/* of the block */
	bool start;	/* of the block */
	bool behind;	/* a block that ends with a call */
};
#define NOWHERE UINT32_MAX
#define SPOTS	8192u

struct trips_worker {
	struct flow_map map;
	struct seen seen[LOOPS_MAX];
	uint32_t trips[LOOPS_MAX]; /* of visits that are active */
	struct going_on *on;	   /* by function */
	uint32_t touched[LOOPS_MAX];
	size_t n_touched;
	struct spot spot[SPOTS]; /* direct-mapped */
	struct spot from[ENTRIES_MAX], to[ENTRIES_MAX];
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
	return 0;
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

static const struct watched *watched_at(const struct trips *t, uint32_t image, uint64_t addr)
{
	size_t lo = 0, hi = t->n_f;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct watched *w = &t->f[mid];

		if (w->f->image < image || (w->f->image == image && w->start + w->len <= addr))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == t->n_f || t->f[lo].f->image != image || addr < t->f[lo].start)
		return NULL;
	return &t->f[lo];
}

/* ---- one stack ------------------------------------------------------------------------------ */

static void end_some(struct trips_worker *w, const struct trips *t, const struct watched *f,
		     uint64_t which, bool seen_to_end)
{
	struct going_on *on = &w->on[f - t->f];

	which &= on->active;
	on->active &= ~which;
	for (; which; which &= which - 1) {
		unsigned l = (unsigned)__builtin_ctzll(which);
		struct seen *s = &w->seen[f->first + l];
		uint32_t trips = w->trips[f->first + l];

		if (seen_to_end && on->whole >> l & 1) {
			s->visits++;
			s->trip[trips < TRIPS ? trips : TRIPS - 1]++;
		} else {
			s->cut++;
		}
	}
}

static void end_all(struct trips_worker *w, const struct trips *t, const struct watched *f,
		    bool seen_to_end)
{
	end_some(w, t, f, UINT64_MAX, seen_to_end);
}

static void begin(struct trips_worker *w, const struct trips *t, const struct watched *f,
		  uint64_t which, uint64_t whole)
{
	struct going_on *on = &w->on[f - t->f];

	if (!on->listed)
		w->touched[w->n_touched++] = (uint32_t)(f - t->f);
	on->listed = true;
	on->active |= which;
	on->whole = (on->whole & ~which) | (which & whole);
	for (; which; which &= which - 1)
		w->trips[f->first + (unsigned)__builtin_ctzll(which)] = 0;
}

/* The function ran from one block to another; `from` CODE_NONE: from outside. */
static void step(const struct trips *t, struct trips_worker *w, const struct watched *f,
		 uint32_t from, uint32_t to)
{
	struct going_on *on = &w->on[f - t->f];
	uint64_t in = f->in[to], entered = from == CODE_NONE ? in : in & ~f->in[from];
	uint64_t head = f->head[to];

	if (on->active & (~in | entered))
		end_some(w, t, f, ~in | entered, true);
	if (in & ~on->active)
		begin(w, t, f, in & ~on->active, entered);
	/* entered beside its head: an exception, a longjmp */
	on->whole &= ~(entered & ~head);
	for (; head; head &= head - 1)
		w->trips[f->first + (unsigned)__builtin_ctzll(head)]++;
}

/* A branch that leaves a function's code for good: not by a call, nor into the kernel. */
static bool leaves(uint8_t flow)
{
	return flow == INSN_RETURN || flow == INSN_JUMP || flow == INSN_COND;
}

static const struct watched *watched_of(const struct trips *t, const struct spot *s)
{
	return s->f == NOWHERE ? NULL : &t->f[s->f - 1];
}

static void take_edge(const struct trips *t, struct trips_worker *w, size_t i)
{
	const struct watched *a = watched_of(t, &w->from[i]), *b = watched_of(t, &w->to[i]);
	uint32_t from = a ? w->from[i].block : CODE_NONE, to;
	uint8_t flow = w->from[i].flow; /* where there is no block, none that leaves */
	bool returns = flow == INSN_RETURN;

	if (returns || (a != b && leaves(flow)))
		end_all(w, t, a, true);
	if (!b)
		return;
	to = w->to[i].start ? w->to[i].block : CODE_NONE;
	if (to == CODE_NONE) /* an interrupt that came back into a block */
		return;
	if (a == b && flow == INSN_CALL)
		end_all(w, t, b, false); /* it calls itself */
	else if ((a != b || returns) && w->to[i].behind)
		from = to - 1; /* a call came back */
	else if (a != b)
		from = CODE_NONE;
	if (a != b && !to)
		end_all(w, t, b, false); /* another run of it, whose end was not seen */
	step(t, w, b, from, to);
}

/* From where entry i led to where the next newer one left. */
static void take_span(const struct trips *t, struct trips_worker *w, size_t i)
{
	const struct spot *start = &w->to[i], *end = &w->from[i - 1];
	const struct watched *f = watched_of(t, start);

	if (!f || start->block == CODE_NONE)
		return;
	if (end->f != start->f || end->addr < start->addr) {
		end_all(w, t, f, false); /* what ran is not known, or was another function */
		return;
	}
	for (uint32_t b = start->block; end->block != CODE_NONE && b < end->block; b++)
		step(t, w, f, b, b + 1);
}

static __attribute__((noinline)) void find_spot(const struct trips *t, struct spot *s,
						struct flow_at at)
{
	uint32_t image = (uint32_t)at.where;
	const struct watched *f = watched_at(t, image, at.addr);
	const struct code *c = f ? f->f->code : NULL;

	*s = (struct spot){ .addr = at.addr, .image = image, .f = NOWHERE, .block = CODE_NONE };
	if (!f)
		return;
	s->f = (uint32_t)(f - t->f) + 1;
	s->block = code_block_of(c, at.addr);
	if (s->block == CODE_NONE)
		return;
	s->flow = c->block[s->block].flow;
	s->start = c->start + c->block[s->block].start == at.addr;
	s->behind = s->block && c->block[s->block - 1].flow == INSN_CALL;
}

static inline struct spot spot_of(const struct trips *t, struct trips_worker *w, struct flow_at at)
{
	static const struct spot nowhere = { .image = IMAGE_NONE,
					     .f = NOWHERE,
					     .block = CODE_NONE };
	uint32_t image = (uint32_t)at.where;
	struct spot *s;

	if (image >= t->n_images || !t->image[image])
		return nowhere;
	s = &w->spot[(at.addr * 0x9e3779b97f4a7c15ULL >> 40 ^ image) % SPOTS];
	if (s->addr != at.addr || s->image != image || !s->f)
		find_spot(t, s, at);
	return *s;
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

		if ((!b.from && !b.to) || b.spec == FLOW_WRONG_PATH)
			continue;
		w->from[n] = spot_of(t, w, flow_map_at(&w->map, b.from));
		w->to[n] = spot_of(t, w, flow_map_at(&w->map, b.to));
		any |= w->to[n].f != NOWHERE;
		n++;
	}
	if (!any)
		return 0;
	for (size_t i = n; i-- > 0;) {
		take_edge(t, w, i);
		if (i)
			take_span(t, w, i);
	}
	for (size_t i = 0; i < w->n_touched; i++) {
		end_all(w, t, &t->f[w->touched[i]], false);
		w->on[w->touched[i]].listed = false;
	}
	w->n_touched = 0;
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
		if (t->worker[i])
			t->worker[i]->on = calloc(t->n_f, sizeof(*t->worker[i]->on));
		if (!t->worker[i] || !t->worker[i]->on)
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
		if (t.worker[i]) {
			flow_map_free(&t.worker[i]->map);
			free(t.worker[i]->on);
		}
		free(t.worker[i]);
	}
	for (size_t i = 0; i < t.n_f; i++) {
		free(t.f[i].in);
		free(t.f[i].head);
	}
	free(t.worker);
	free(t.events.v);
	free(t.f);
	free(t.image);
	return rc;
}
