/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/wall_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"
#include "analyse/wait/wait_int.h"
#include "base/invariant.h"
#include "base/xalloc.h"

/* The number of a frame of `tree`: the kind, and the number of a name, a place or a reason. */
#define FRAME(kind, number) ((uint64_t)(kind) << 32 | (number))

struct thread_samples { /* of one thread, with one chain, in one bin */
	uint32_t thread, chain, bin;
	uint64_t n;
};

struct amount {
	double on, off;
};

struct planting {
	const struct pd *rec;
	const struct spaces *sp;
	const struct wait *w;
	struct wall_tree_opts opts;
	bool *only;		   /* opts.event */
	struct wait_chains chains; /* of the samples */
	struct tids tids;
	VEC(struct thread_samples) part;
	struct itab part_at;
	uint64_t *samples; /* by thread */
	struct strtab comm;
	VEC(const char *) name; /* the same, that stay */
	VEC(struct wait_place) place;
	struct itab place_at;
	chain_frames_vec frame; /* of the chain at hand */
	struct chain_tree tree;
	VEC(struct amount) self; /* by node of tree */
	VEC(struct wall_cell) cell;
	struct wall_tree *out;
};

/* ---- samples --------------------------------------------------------------------------------- */

/* One that has no chain is a chain of one. */
static int wall_chain_of(struct planting *p, const struct pass_sample *s, uint32_t *chain,
			 struct err *err)
{
	uint64_t from = 0, until = UINT64_MAX;
	struct pd_sample x;
	uint32_t frame;

	if (chains_of(&p->chains, p->rec, s, chain, err))
		return -1;
	if (*chain || pd_sample_parse(p->rec, s->r, &x))
		return 0;
	frame = frames_number(&p->chains.frames, s, space_kind_of_misc(x.cpumode), x.ip, &from,
			      &until);
	*chain = chain_add(&p->chains.raw, 0, frame);
	return *chain == UINT32_MAX ? err_nomem(err) : 0;
}

static uint32_t wall_bin_of(const struct planting *p, uint64_t time)
{
	return p->opts.width ? (uint32_t)((time - p->w->from) / p->opts.width) : 0;
}

static struct thread_samples *wall_part_of(struct planting *p, uint32_t thread, uint32_t chain,
					   uint32_t bin)
{
	const uint64_t h = hash_pair((uint64_t)thread << 32 | chain, bin);
	const struct thread_samples x = { thread, chain, bin, 0 };
	uint32_t idx;

	for (size_t i = itab_first(&p->part_at, h); itab_at(&p->part_at, &i, h, &idx);) {
		struct thread_samples *o = &p->part.v[idx];

		if (o->thread == thread && o->chain == chain && o->bin == bin)
			return o;
	}
	vec_xpush(&p->part, x);
	if (itab_put(&p->part_at, h, p->part.n - 1))
		return NULL;
	return &p->part.v[p->part.n - 1];
}

static int on_wall_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct planting *p = ctx;
	uint32_t thread = tids_at(&p->tids, p->w, task_tid(s->task), s->time), chain;
	struct thread_samples *part;

	if (!task_tid(s->task) || thread == WAIT_NOBODY || !p->w->thread[thread].wanted ||
	    s->time < p->w->from || s->time > p->w->until)
		return 0;
	if (wall_chain_of(p, s, &chain, err))
		return -1;
	part = wall_part_of(p, thread, chain, wall_bin_of(p, s->time));
	if (!part)
		return err_nomem(err);
	part->n++;
	p->samples[thread]++;
	p->out->samples++;
	return 0;
}

static void add_wall_visit(struct planting *p, struct pass *pass)
{
	struct pass_visitor v = { .wants = PASS_THREAD | PASS_PLACE | PASS_ALL | PASS_ORDER,
				  .sample = on_wall_sample };
	size_t n;

	(void)pd_events(p->rec, &n);
	v.events = p->only = xcalloc(n + 1, sizeof(*p->only));
	p->only[p->opts.event] = true;
	pass_add(pass, &v, p);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static uint32_t add_wall_node(struct planting *p, uint32_t parent, uint64_t frame)
{
	const struct amount none = { 0, 0 };
	uint32_t node = chain_add(&p->tree, parent, frame);

	while (node != UINT32_MAX && p->self.n <= node)
		vec_xpush(&p->self, none);
	return node;
}

/* Places of waits and of samples have numbers of their own. */
static uint32_t wall_number_of(struct planting *p, const struct wait_place *x)
{
	const uint64_t h =
		hash_pair((uint64_t)(uintptr_t)x->symbol, (uint64_t)x->image << 8 | x->kind);
	uint32_t idx;

	for (size_t i = itab_first(&p->place_at, h); itab_at(&p->place_at, &i, h, &idx);)
		if (p->place.v[idx].symbol == x->symbol && p->place.v[idx].image == x->image &&
		    p->place.v[idx].kind == x->kind)
			return idx;
	vec_xpush(&p->place, *x);
	if (itab_put(&p->place_at, h, p->place.n - 1))
		return UINT32_MAX;
	return (uint32_t)p->place.n - 1;
}

/* The node of a chain below that of the thread's name. frame_place: of a frame, or NULL if frames
 * are places already. */
static uint32_t put_chain(struct planting *p, uint32_t thread, const struct chain_tree *t,
			  uint32_t chain, const struct wait_frame *frame_place,
			  const struct wait_place *place)
{
	const char *name = p->w->thread[thread].comm;
	uint32_t comm = strtab_xadds(&p->comm, name), at;

	while (p->name.n <= comm)
		vec_xpush(&p->name, name);
	at = add_wall_node(p, 0, FRAME(WALL_COMM, comm));
	chain_list(t, chain, &p->frame);
	for (size_t n = p->frame.n; n && at != UINT32_MAX;) {
		uint64_t x = p->frame.v[--n];
		uint32_t number;

		number = wall_number_of(p, &place[frame_place ? frame_place[x].place : x]);
		at = number == UINT32_MAX ? UINT32_MAX
					  : add_wall_node(p, at, FRAME(WALL_FUNCTION, number));
	}
	return at;
}

/* A cell's samples are few enough: more of them are in more cells. */
static void put_wall_cell(struct planting *p, uint32_t node, uint32_t thread, uint32_t bin,
			  uint64_t samples, double time)
{
	const double each = samples ? time / (double)samples : 0;
	struct wall_cell x = { .node = node, .thread = thread, .bin = (uint16_t)bin };

	for (; samples > UINT16_MAX; samples -= UINT16_MAX, time -= each * UINT16_MAX) {
		x.samples = UINT16_MAX;
		x.time = (uint64_t)llround(each * UINT16_MAX);
		vec_xpush(&p->cell, x);
	}
	x.samples = (uint16_t)samples;
	x.time = (uint64_t)llround(time);
	vec_xpush(&p->cell, x);
}

/* Each bin has its part. */
static void put_wall_span(struct planting *p, uint32_t node, const struct wait_span *s)
{
	const uint64_t width = p->opts.width;

	if (!width)
		return;
	for (uint64_t at = s->from; at < s->until;) {
		/* damaged times may be such that no number has the end of the bin */
		uint64_t left = width - (at - p->w->from) % width;

		left = left < s->until - at ? left : s->until - at;
		put_wall_cell(p, node, s->thread, wall_bin_of(p, at), 0, (double)left);
		at += left;
	}
}

uint64_t wall_tree_reach(const struct wait *w, uint64_t width)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->n_spans; i++) {
		const struct wait_span *s = &w->span[i];

		if (s->reason != WAIT_RAN && w->thread[s->thread].wanted && s->until > s->from)
			n += (s->until - 1 - w->from) / width - (s->from - w->from) / width;
	}
	return n;
}

/* Running time of threads without samples. */
static int plant_unseen(struct planting *p)
{
	for (size_t i = 0; i < p->w->n_spans; i++) {
		const struct wait_span *s = &p->w->span[i];
		uint32_t at;

		if (s->reason != WAIT_RAN || !p->w->thread[s->thread].wanted ||
		    p->samples[s->thread])
			continue;
		at = put_chain(p, s->thread, &p->chains.raw, 0, NULL, NULL);
		if (at == UINT32_MAX)
			return -1;
		put_wall_span(p, at, s);
		p->self.v[at].on += (double)(s->until - s->from);
	}
	return 0;
}

static int plant_on(struct planting *p, struct err *err)
{
	if (frames_name(&p->chains.frames, p->sp, err))
		return -1;
	vec_each (&p->part, const struct thread_samples *, x) {
		double ran = (double)p->w->thread[x->thread].time[WAIT_RAN];
		uint32_t at = put_chain(p, x->thread, &p->chains.raw, x->chain,
					p->chains.frames.frame.v, p->chains.frames.place.v);

		ran *= (double)x->n / (double)p->samples[x->thread];
		if (at == UINT32_MAX)
			return err_nomem(err);
		if (p->opts.width)
			put_wall_cell(p, at, x->thread, x->bin, x->n, ran);
		p->self.v[at].on += ran;
	}
	return plant_unseen(p) ? err_nomem(err) : 0;
}

static int plant_off(struct planting *p)
{
	const struct wait *w = p->w;

	for (size_t i = 0; i < w->n_spans; i++) {
		const struct wait_span *s = &w->span[i];
		uint32_t at;

		if (s->reason == WAIT_RAN || !w->thread[s->thread].wanted)
			continue;
		at = put_chain(p, s->thread, &w->chain, s->chain, NULL, w->place);
		if (at != UINT32_MAX)
			at = add_wall_node(p, at, FRAME(WALL_REASON, s->reason));
		if (at == UINT32_MAX)
			return -1;
		put_wall_span(p, at, s);
		p->self.v[at].off += (double)(s->until - s->from);
	}
	return 0;
}

/* ---- in order -------------------------------------------------------------------------------- */

struct order {
	uint32_t node, parent;
	double time;
};

static int by_parent(const void *pa, const void *pb)
{
	const struct order *a = pa, *b = pb;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? 1 : -1;
	return (a->node > b->node) - (a->node < b->node);
}

static void describe_wall(const struct planting *p, struct wall_node *x, uint64_t frame)
{
	uint32_t number = (uint32_t)frame;

	x->kind = (uint8_t)(frame >> 32);
	if (x->kind == WALL_COMM)
		x->comm = p->name.v[number];
	else if (x->kind == WALL_FUNCTION)
		x->place = p->place.v[number];
	else if (x->kind == WALL_REASON)
		x->reason = (uint8_t)number;
}

struct todo {
	uint32_t node, parent, depth; /* parent: its new number */
};

/* Depth first. */
static int put_nodes(struct planting *p)
{
	const size_t n = p->tree.n;
	struct wall_tree *out = p->out;
	uint32_t *number = xmalloc((n + 1) * sizeof(*number));
	struct order *o = xmalloc((n + 1) * sizeof(*o));
	size_t *first = xcalloc(n + 2, sizeof(*first)), left = 0;
	struct amount *sum = xmalloc((n + 1) * sizeof(*sum));
	struct todo *todo = xmalloc((n + 1) * sizeof(*todo));
	int ret = -1;

	out->node = xcalloc(n + 1, sizeof(*out->node));
	ret = 0;
	if (!n)
		goto out;
	memcpy(sum, p->self.v, n * sizeof(*sum));
	for (size_t i = n - 1; i > 0; i--) {
		uint32_t up = p->tree.node[i].parent;

		sum[up].on += sum[i].on;
		sum[up].off += sum[i].off;
		o[i - 1] = (struct order){ (uint32_t)i, up, sum[i].on + sum[i].off };
		first[up + 1]++;
	}
	qsort(o, n - 1, sizeof(*o), by_parent);
	for (size_t i = 0; i < n; i++)
		first[i + 1] += first[i];
	todo[left++] = (struct todo){ 0, 0, 0 };
	while (left) {
		const struct todo x = todo[--left];
		struct wall_node *to = &out->node[out->n];

		number[x.node] = (uint32_t)out->n;
		to->parent = x.parent;
		to->depth = x.depth;
		to->on = sum[x.node].on;
		to->off = sum[x.node].off;
		to->self_on = p->self.v[x.node].on;
		to->self_off = p->self.v[x.node].off;
		describe_wall(p, to, x.node ? p->tree.node[x.node].frame : FRAME(WALL_ALL, 0));
		for (size_t i = first[x.node + 1]; i > first[x.node]; i--)
			todo[left++] =
				(struct todo){ o[i - 1].node, (uint32_t)out->n, x.depth + 1 };
		out->n++;
	}
	assert(out->n == n);
	vec_each (&p->cell, struct wall_cell *, c)
		c->node = number[c->node];
out:
	free(number);
	free(o);
	free(first);
	free(sum);
	free(todo);
	return ret;
}

void wall_tree_begin(struct wall_tree **out, struct pass *pass, const struct pd *rec,
		     const struct spaces *spaces, const struct wait *w,
		     const struct wall_tree_opts *opts)
{
	struct planting *p = xcalloc(1, sizeof(*p));

	p->rec = rec;
	p->sp = spaces;
	p->chains.sp = spaces;
	p->w = w;
	p->opts = *opts;
	p->comm = (struct strtab)STRTAB_INIT;
	*out = p->out = xcalloc(1, sizeof(*p->out));
	p->out->work = p;
	p->samples = xcalloc(w->n_threads + 1, sizeof(*p->samples));
	tids_make(&p->tids, w);
	if (opts->event != SIZE_MAX)
		add_wall_visit(p, pass);
}

static void drop_planting(struct planting *p)
{
	p->out->work = NULL;
	p->out->cell = p->cell.v;
	p->out->n_cells = p->cell.n;
	vec_free(&p->chains.frames.place);
	chains_free(&p->chains);
	tids_free(&p->tids);
	vec_free(&p->part);
	itab_free(&p->part_at);
	free(p->samples);
	strtab_free(&p->comm);
	vec_free(&p->name);
	vec_free(&p->place);
	vec_free(&p->frame);
	itab_free(&p->place_at);
	chain_free(&p->tree);
	vec_free(&p->self);
	free(p->only);
	free(p);
}

int wall_tree_end(struct wall_tree *t, struct err *err)
{
	struct planting *p = t->work;
	int ret = plant_on(p, err);

	if (!ret && (plant_off(p) || put_nodes(p)))
		ret = err_nomem(err);
	drop_planting(p);
	return ret;
}

void wall_tree_free(struct wall_tree *t)
{
	if (!t)
		return;
	if (t->work)
		drop_planting(t->work);
	free(t->node);
	free(t->cell);
	free(t);
}
