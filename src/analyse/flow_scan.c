/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_scan - stacks of branches into edges and spans. A stack is first brought to places, then
 * counted in runs of AHEAD entries, whose places in the tables are asked for before they are looked
 * at.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/flow_scan_int.h"
#include "analyse/flow_window.h"
#include "base/big.h"
#include "base/task.h"

#define AHEAD	      32u
#define AHEAD_FILE    2048u /* bytes of the recording */
#define TYPE_EXTENDED 15
#define TYPE_NEW      16 /* what new_type says is put behind the others */

struct entry {
	struct flow_at from, to;
	uint64_t edge_hash, span_hash;
	uint32_t edge_at, span_at; /* where they are, as far as the tables were asked */
	uint32_t flags;
	uint16_t cycles;
	uint8_t type;
	bool gap;  /* what came next is not known */
	bool span; /* from here to where the next newer one leaves */
	bool stop; /* from here into the kernel, that came back by the next newer one */
};

#define E_MISPRED   1u
#define E_PREDICTED 2u
#define E_IN_TX	    4u
#define E_ABORT	    8u

struct worker {
	struct flow_counts_of_worker counts;
	struct flow_map map;
	struct entry entry[FLOW_ENTRIES_MAX];
	struct flow_window window;
	uint64_t block; /* of FLOW_GROUPS stacks, in the chunk: how they are dealt to groups */
	unsigned n_dealt;
};

struct scan {
	const struct pd *rec;
	const struct pd_event *ev;
	const struct pd_chunk *chunk;
	size_t n_chunks;
	const struct flow_opts *opts;
	const struct flow_events *events;
	enum flow_filter filter;
	const struct flow_costs *costs;
	bool has_time;
	struct worker **worker;
	unsigned n_workers;
};

/* ---- tables ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t h = (a ^ (b + c) * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return h ^ (h >> 32 | h << 32);
}

static uint64_t edge_hash(const struct flow_at *from, const struct flow_at *to)
{
	return mix(from->addr, to->addr, from->where << 16 ^ to->where);
}

static uint64_t span_hash(const struct flow_at *start, uint64_t end)
{
	return mix(start->addr, end, start->where);
}

/* As vec_reserve for one more, but aligned to cache lines, and in large pages. */
static int more_of(void **v, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 256;
	void *p;

	if (n < *cap)
		return 0;
	p = big_alloc(want, size);
	if (!p)
		return -1;
	if (n)
		memcpy(p, *v, n * size);
	free(*v);
	*v = p;
	*cap = want;
	return 0;
}

#define MORE(vec) more_of((void **)&(vec)->v, (vec)->n, &(vec)->cap, sizeof(*(vec)->v))

static bool same_place(const struct flow_at *a, const struct flow_at *b)
{
	return a->addr == b->addr && a->where == b->where;
}

static __attribute__((noinline)) struct edge_count *new_edge(struct flow_counts_of_worker *c,
							     uint64_t h, const struct flow_at *from,
							     const struct flow_at *to)
{
	struct edge_count *e;

	if (MORE(&c->edge) || MORE(&c->rare) || itab_put(&c->edge_at, h, c->edge.n))
		return NULL;
	c->rare.v[c->rare.n++] = (struct edge_rare){ 0 };
	e = &c->edge.v[c->edge.n++];
	*e = (struct edge_count){ .from = *from, .to = *to };
	return e;
}

static inline struct edge_count *edge_of(struct flow_counts_of_worker *c, uint64_t h,
					 const struct flow_at *from, const struct flow_at *to)
{
	uint32_t idx;

	for (size_t i = itab_first(&c->edge_at, h); itab_at(&c->edge_at, &i, h, &idx);) {
		struct edge_count *e = &c->edge.v[idx];

		if (same_place(&e->from, from) && same_place(&e->to, to))
			return e;
	}
	return new_edge(c, h, from, to);
}

static __attribute__((noinline)) struct span_count *
new_span(struct flow_counts_of_worker *c, uint64_t h, const struct flow_at *start, uint64_t end)
{
	struct span_count *s;

	if (MORE(&c->span) || itab_put(&c->span_at, h, c->span.n))
		return NULL;
	s = &c->span.v[c->span.n++];
	*s = (struct span_count){ .start = *start, .end = end, .times = FLOW_NO_TIMES };
	return s;
}

static inline struct span_count *span_of(struct flow_counts_of_worker *c, uint64_t h,
					 const struct flow_at *start, uint64_t end)
{
	uint32_t idx;

	for (size_t i = itab_first(&c->span_at, h); itab_at(&c->span_at, &i, h, &idx);) {
		struct span_count *s = &c->span.v[idx];

		if (same_place(&s->start, start) && s->end == end)
			return s;
	}
	return new_span(c, h, start, end);
}

/* The same among what ends in the kernel, which is little. */
static struct span_count *stop_of(struct flow_counts_of_worker *c, const struct flow_at *start,
				  uint64_t end)
{
	uint64_t h = span_hash(start, end);
	struct span_count *s;
	uint32_t idx;

	for (size_t i = itab_first(&c->stop_at, h); itab_at(&c->stop_at, &i, h, &idx);) {
		s = &c->stop.v[idx];
		if (same_place(&s->start, start) && s->end == end)
			return s;
	}
	if (vec_reserve(&c->stop, c->stop.n + 1) || itab_put(&c->stop_at, h, c->stop.n))
		return NULL;
	s = &c->stop.v[c->stop.n++];
	*s = (struct span_count){ .start = *start, .end = end, .times = FLOW_NO_TIMES };
	return s;
}

static struct flow_times *times_of(struct flow_counts_of_worker *c, struct span_count *s)
{
	if (s->times == FLOW_NO_TIMES) {
		if (MORE(&c->times))
			return NULL;
		memset(&c->times.v[c->times.n], 0, sizeof(*c->times.v));
		s->times = (uint32_t)c->times.n++;
	}
	return &c->times.v[s->times];
}

void flow_counts_free(struct flow_counts_of_worker *c)
{
	vec_free(&c->edge);
	vec_free(&c->rare);
	vec_free(&c->span);
	vec_free(&c->stop);
	itab_free(&c->stop_at);
	vec_free(&c->times);
	itab_free(&c->edge_at);
	itab_free(&c->span_at);
}

/* ---- a stack ------------------------------------------------------------------------------- */

static bool is_kernel(const struct flow_at *at)
{
	uint64_t kind = at->where >> 32;

	return kind == SPACE_KERNEL || kind == SPACE_GUEST_KERNEL;
}

/* Whether code lies between where an entry led and where the next newer one left; else why not. */
static inline bool bounds_code(const struct flow_at *start, const struct flow_at *end,
			       struct flow_sums *sums)
{
	if ((uint32_t)start->where == IMAGE_NONE || start->where != end->where) {
		/* an address of 0 is one that was not to be seen from here */
		if (is_kernel(start) != is_kernel(end) || !start->addr || !end->addr)
			sums->switched++;
		else
			sums->crossing++;
		return false;
	}
	if (end->addr < start->addr)
		sums->backwards++;
	else if (end->addr - start->addr > FLOW_SPAN_MAX)
		sums->far_apart++;
	else
		return true;
	return false;
}

/* Skylake and its kin may show the newest branch twice (BOLT knows the erratum as "duplicate
 * top-of-stack entry"). A jump forward cannot be taken again without another branch between; the
 * copy is the newer one, its cycles are not those of the branch. A jump back may be taken again at
 * once: it stays, and so does what comes from the kernel or goes there, unseen on the way back. */
static bool is_copy(const struct pd_branches *stack, size_t i, const struct pd_branch *b)
{
	struct pd_branch newer;

	if (i != 1 || !b->from || b->to <= b->from || (b->to ^ b->from) >> 63)
		return false;
	newer = pd_branch_decode(stack->entry);
	return newer.from == b->from && newer.to == b->to;
}

/* Entries to places, newest first; how many are used. */
static size_t take_entries(struct worker *w, const struct pd_branches *stack, bool any)
{
	size_t n = 0, have = stack->n < FLOW_ENTRIES_MAX ? (size_t)stack->n : FLOW_ENTRIES_MAX;
	bool gap = false;

	for (size_t i = 0; i < have; i++) {
		struct pd_branch b = pd_branch_decode(stack->entry + i * PD_BRANCH_SIZE);
		struct entry *e = &w->entry[n];

		if (b.spec == FLOW_WRONG_PATH)
			continue;
		if (!b.from && !b.to) { /* never filled */
			gap = true;
			continue;
		}
		if (any && n == 1 && is_copy(stack, i, &b)) {
			w->counts.sums.repeated++;
			n = 0;
			e = w->entry;
		}
		e->from = flow_map_at(&w->map, b.from);
		e->to = flow_map_at(&w->map, b.to);
		e->edge_hash = edge_hash(&e->from, &e->to);
		e->flags = (b.mispred ? E_MISPRED : 0) | (b.predicted ? E_PREDICTED : 0) |
			   (b.in_tx ? E_IN_TX : 0) | (b.abort ? E_ABORT : 0);
		e->cycles = b.cycles;
		e->type = b.type == TYPE_EXTENDED ? (uint8_t)(TYPE_NEW + b.new_type) : b.type;
		e->gap = gap;
		gap = false;
		n++;
	}
	return n;
}

/* An address of 0 is one that was not to be seen from here. */
static bool is_hidden(const struct flow_at *at)
{
	return !at->addr && (uint32_t)at->where == IMAGE_NONE;
}

static bool enters_kernel(const struct entry *e, const struct entry *next)
{
	return (uint32_t)e->to.where != IMAGE_NONE && !is_kernel(&e->to) &&
	       (is_kernel(&next->from) || is_hidden(&next->from)) &&
	       next->to.where == e->to.where && next->to.addr > e->to.addr &&
	       next->to.addr - e->to.addr <= FLOW_SPAN_MAX;
}

/* How many end in the kernel. */
static size_t find_spans(struct worker *w, size_t n)
{
	struct flow_sums *sums = &w->counts.sums;
	size_t stops = 0;

	for (size_t i = 1; i < n; i++) {
		struct entry *e = &w->entry[i];
		const struct entry *next = &w->entry[i - 1];

		e->span = !e->gap && bounds_code(&e->to, &next->from, sums);
		if (e->span)
			e->span_hash = span_hash(&e->to, next->from.addr);
		e->stop = !e->span && !e->gap && enters_kernel(e, next);
		stops += e->stop;
	}
	w->entry[0].span = false;
	return stops;
}

/* What an entry weighs: its part of what all of them do. Periods and costs that a made up recording
 * has may be beyond any number. */
static uint64_t part(double all, double of)
{
	double v = all * of;

	return v < 0x1p63 ? (uint64_t)v : (uint64_t)1 << 63;
}

static int count_stops(struct flow_counts_of_worker *c, const struct entry *e, size_t n,
		       unsigned group, const struct flow_window *window, double all)
{
	for (size_t i = 1; i < n; i++) {
		struct span_count *s;

		if (!e[i].stop)
			continue;
		s = stop_of(c, &e[i].to, e[i - 1].to.addr);
		if (!s)
			return -1;
		s->hits++;
		s->group[group] += part(all, window->span[i - 1]);
	}
	return 0;
}

static inline int count_edge(struct flow_counts_of_worker *c, const struct entry *e, unsigned group,
			     uint64_t weight)
{
	struct edge_count *o = e->edge_at == ITAB_NONE ? NULL : &c->edge.v[e->edge_at];

	if (!o || !same_place(&o->from, &e->from) || !same_place(&o->to, &e->to))
		o = edge_of(c, e->edge_hash, &e->from, &e->to);
	if (!o)
		return -1;
	o->hits++;
	o->group[group] += weight;
	o->mispredicted += e->flags & E_MISPRED;
	o->predicted += e->flags >> 1 & 1;
	if (e->type > o->type)
		o->type = e->type;
	if (e->flags & (E_IN_TX | E_ABORT)) {
		struct edge_rare *r = &c->rare.v[o - c->edge.v];

		r->in_tx += e->flags >> 2 & 1;
		r->aborts += e->flags >> 3 & 1;
	}
	if (e->cycles) {
		o->cycles += e->cycles;
		o->timed++;
	}
	return 0;
}

/* The span's cycles are those of the entry that ends it. */
static inline int count_span(struct flow_counts_of_worker *c, const struct entry *e, unsigned group,
			     uint64_t weight)
{
	const struct entry *next = e - 1;
	struct span_count *s = e->span_at == ITAB_NONE ? NULL : &c->span.v[e->span_at];
	struct flow_times *t;

	if (!s || !same_place(&s->start, &e->to) || s->end != next->from.addr)
		s = span_of(c, e->span_hash, &e->to, next->from.addr);
	if (!s)
		return -1;
	s->hits++;
	s->group[group] += weight;
	if (!next->cycles)
		return 0;
	t = times_of(c, s);
	if (!t)
		return -1;
	s->timed++;
	s->cycles += next->cycles;
	s->cycles_sq += (uint64_t)next->cycles * next->cycles;
	t->n[flow_time_bucket(next->cycles)]++;
	return 0;
}

static inline uint32_t candidate(const struct itab *t, uint64_t hash)
{
	size_t i = itab_first(t, hash);
	uint32_t idx;

	return itab_at(t, &i, hash, &idx) ? idx : ITAB_NONE;
}

/* First the tables are asked for, then what they lead to. */
static void ask_ahead(const struct flow_counts_of_worker *c, struct entry *e, size_t n,
		      unsigned group)
{
	for (size_t k = 0; k < n; k++) {
		itab_ahead(&c->edge_at, e[k].edge_hash);
		if (e[k].span)
			itab_ahead(&c->span_at, e[k].span_hash);
	}
	for (size_t k = 0; k < n; k++) {
		e[k].edge_at = candidate(&c->edge_at, e[k].edge_hash);
		if (e[k].edge_at != ITAB_NONE) {
			__builtin_prefetch(&c->edge.v[e[k].edge_at], 1);
			__builtin_prefetch(&c->edge.v[e[k].edge_at].group[group], 1);
		}
		if (!e[k].span)
			continue;
		e[k].span_at = candidate(&c->span_at, e[k].span_hash);
		if (e[k].span_at != ITAB_NONE) {
			__builtin_prefetch(&c->span.v[e[k].span_at], 1);
			__builtin_prefetch(&c->span.v[e[k].span_at].group[group], 1);
		}
	}
	for (size_t k = 0; k < n; k++) {
		const struct span_count *s;

		if (!e[k].span || e[k].span_at == ITAB_NONE || !e[k - 1].cycles)
			continue;
		s = &c->span.v[e[k].span_at];
		if (s->times != FLOW_NO_TIMES)
			__builtin_prefetch(
				&c->times.v[s->times].n[flow_time_bucket(e[k - 1].cycles)], 1);
	}
}

/* Each FLOW_GROUPS stacks on end go to different groups, in an order of their own, so that nothing
 * that comes again and again can always meet the same group. */
static unsigned deal(struct worker *w)
{
	unsigned k = w->n_dealt++ % FLOW_GROUPS;

	if (!k)
		w->block = hash_u64(w->block + 1);
	return (unsigned)(k * (w->block << 1 | 1) + (w->block >> 8)) % FLOW_GROUPS;
}

/* By where spans begin: those of one place follow each other. */
int flow_costs_index(struct flow_costs *c)
{
	const struct flow *f = c->flow;
	double all_hits = 0, all_cost = 0;

	c->at_start = calloc(f->n_spans + 1, sizeof(*c->at_start));
	if (!c->at_start)
		return -1;
	for (size_t i = 0, k; i < f->n_spans; i = k) {
		const struct flow_span *s = &f->span[i];
		const struct flow_at at = { s->start, flow_where(s->image, s->kind) };
		double hits = 0, cost = 0;

		for (k = i;
		     k < f->n_spans && f->span[k].start == s->start && f->span[k].image == s->image;
		     k++) {
			if (!(c->cost[k] > 0))
				continue;
			hits += (double)f->span[k].w.hits;
			cost += (double)f->span[k].w.hits * c->cost[k];
		}
		all_hits += hits;
		all_cost += cost;
		c->at_start[i] = hits > 0 ? cost / hits : 0;
		if (itab_put(&c->at, span_hash(&at, 0), i))
			return -1;
	}
	c->mean = all_cost / all_hits;
	return 0;
}

/* Of what ran when the sample was taken: from where its newest branch led to the next. */
static double cost_at(const struct flow_costs *c, const struct flow_at *to)
{
	uint64_t h = span_hash(to, 0);
	uint32_t idx;

	for (size_t i = itab_first(&c->at, h); itab_at(&c->at, &i, h, &idx);) {
		const struct flow_span *s = &c->flow->span[idx];

		if (s->start == to->addr && s->image == (uint32_t)to->where)
			return c->at_start[idx] > 0 ? c->at_start[idx] : c->mean;
	}
	return c->mean;
}

/* Into the kernel or out of it, which may not be seen from here. */
static bool is_far(const struct entry *e)
{
	return is_kernel(&e->from) != is_kernel(&e->to) || is_hidden(&e->from);
}

/* How many of the n entries the event counts, and of the n - 1 that end something; at least 1. What
 * they stand for is the sample's period: others, which stand among them, weigh the same each. */
static void count_near(const struct entry *e, size_t n, size_t *edges, size_t *spans)
{
	size_t far = 0;

	for (size_t i = 0; i < n; i++)
		far += is_far(&e[i]);
	*edges = far < n ? n - far : n;
	far -= is_far(&e[n - 1]);
	*spans = n < 2 ? 1 : far < n - 1 ? n - 1 - far : n - 1;
}

static int count_stack(struct scan *sc, struct worker *w, const struct pd_branches *stack,
		       uint64_t period, const struct flow_event *ev)
{
	struct flow_counts_of_worker *c = &w->counts;
	size_t n = take_entries(w, stack, sc->filter == FLOW_ANY), stops = 0, edges = n,
	       spans = n > 1 ? n - 1 : 1;
	double weight = ldexp((double)period, (int)sc->events->shift), all_edges, all_spans;
	uint64_t edge, span, seen = 0;
	unsigned group;

	if (!n) {
		c->sums.empty++;
		return 0;
	}
	group = deal(w);
	c->sums.stacks++;
	c->sums.edges += n;
	if (n > c->sums.depth)
		c->sums.depth = (unsigned)n;
	c->period += period;
	c->group_period[group] += period;
	if (sc->filter == FLOW_ANY)
		stops = find_spans(w, n);
	else
		for (size_t i = 0; i < n; i++)
			w->entry[i].span = false;
	if (sc->costs)
		weight /= cost_at(sc->costs, &w->entry[0].to);
	else if (ev->near)
		count_near(w->entry, n, &edges, &spans);
	all_edges = weight * (double)n / (double)edges;
	all_spans = weight * (double)(n > 1 ? n - 1 : 1) / (double)spans;
	flow_window_set(&w->window, n, ev->counts_entries);
	if (stops && count_stops(c, w->entry, n, group, &w->window, all_spans))
		return -1;
	edge = part(all_edges, w->window.edge[0]);
	span = part(all_spans, w->window.span[0]);
	for (size_t i = 0; i < n; i += AHEAD) {
		size_t some = n - i < AHEAD ? n - i : AHEAD;

		ask_ahead(c, w->entry + i, some, group);
		for (size_t k = i; k < i + some; k++) {
			if (!w->window.even)
				edge = part(all_edges, w->window.edge[k]);
			if (count_edge(c, &w->entry[k], group, edge))
				return -1;
			if (!w->entry[k].span)
				continue;
			if (!w->window.even)
				span = part(all_spans, w->window.span[k - 1]);
			if (count_span(c, &w->entry[k], group, span))
				return -1;
			seen++;
		}
	}
	c->sums.spans += seen;
	return 0;
}

/* ---- samples ------------------------------------------------------------------------------- */

static int one_sample(struct scan *sc, struct worker *w, const struct pd_record *r)
{
	struct flow_sums *sums = &w->counts.sums;
	int e = pd_sample_event(sc->rec, r);
	const struct pd_event *ev = &sc->ev[e < 0 ? 0 : e];
	struct pd_branches stack;

	sums->samples++;
	if (e < 0) {
		sums->bad++;
		return 0;
	}
	if (!sc->events->v[e].used) {
		sums->left_out++;
		return 0;
	}
	if (!pd_branches_find(ev, r, &stack)) {
		sums->bad++;
		return 0;
	}
	if (!flow_map_sample(&w->map, sc->has_time, sc->opts, ev, r)) {
		sums->left_out++;
		return 0;
	}
	if (!stack.n) {
		sums->empty++;
		return 0;
	}
	return count_stack(sc, w, &stack,
			   ev->at.period ? ld64(r->p + ev->at.period) : sc->events->v[e].period,
			   &sc->events->v[e]);
}

static int scan_chunk(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct scan *sc = ctx;
	struct worker *w = sc->worker[worker];
	struct pd_record r = { NULL, 0, 0, 0, 0 };

	w->n_dealt = 0;
	w->block = hash_u64(i);
	while (pd_next(&sc->chunk[i], &r)) {
		__builtin_prefetch((const void *)((uintptr_t)r.p + AHEAD_FILE));
		if (r.type == PERF_RECORD_SAMPLE && one_sample(sc, w, &r))
			return err_nomem(err);
	}
	/* the first worker is the caller's own thread */
	if (!worker && sc->opts->progress)
		sc->opts->progress(sc->opts->progress_ctx, (double)(i + 1) / (double)sc->n_chunks);
	return 0;
}

/* ---- all of them --------------------------------------------------------------------------- */

static void add_sums(struct flow_sums *s, const struct flow_sums *more)
{
	s->samples += more->samples;
	s->stacks += more->stacks;
	s->empty += more->empty;
	s->left_out += more->left_out;
	s->bad += more->bad;
	s->edges += more->edges;
	s->spans += more->spans;
	s->backwards += more->backwards;
	s->crossing += more->crossing;
	s->far_apart += more->far_apart;
	s->switched += more->switched;
	s->repeated += more->repeated;
	if (more->depth > s->depth)
		s->depth = more->depth;
}

static void add_edge(struct edge_count *o, struct edge_rare *r, const struct edge_count *e,
		     const struct edge_rare *more)
{
	o->hits += e->hits;
	o->mispredicted += e->mispredicted;
	o->predicted += e->predicted;
	o->timed += e->timed;
	o->cycles += e->cycles;
	r->in_tx += more->in_tx;
	r->aborts += more->aborts;
	if (e->type > o->type)
		o->type = e->type;
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		o->group[g] += e->group[g];
}

static void add_span(struct span_count *o, const struct span_count *s)
{
	o->hits += s->hits;
	o->timed += s->timed;
	o->cycles += s->cycles;
	o->cycles_sq += s->cycles_sq;
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		o->group[g] += s->group[g];
}

static void add_times(struct flow_times *t, const struct flow_times *more)
{
	for (unsigned i = 0; i < FLOW_TIME_BUCKETS; i++)
		t->n[i] += more->n[i];
}

int flow_counts_add(struct flow_counts_of_worker *c, const struct flow_counts_of_worker *more,
		    struct err *err)
{
	add_sums(&c->sums, &more->sums);
	c->period += more->period;
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		c->group_period[g] += more->group_period[g];
	vec_each (&more->edge, const struct edge_count *, e) {
		struct edge_count *o = edge_of(c, edge_hash(&e->from, &e->to), &e->from, &e->to);

		if (!o)
			return err_nomem(err);
		add_edge(o, &c->rare.v[o - c->edge.v], e, &more->rare.v[e - more->edge.v]);
	}
	vec_each (&more->span, const struct span_count *, s) {
		struct span_count *o = span_of(c, span_hash(&s->start, s->end), &s->start, s->end);
		struct flow_times *t;

		if (!o)
			return err_nomem(err);
		add_span(o, s);
		if (s->times == FLOW_NO_TIMES)
			continue;
		t = times_of(c, o);
		if (!t)
			return err_nomem(err);
		add_times(t, &more->times.v[s->times]);
	}
	vec_each (&more->stop, const struct span_count *, s) {
		struct span_count *o = stop_of(c, &s->start, s->end);

		if (!o)
			return err_nomem(err);
		add_span(o, s);
	}
	return 0;
}

static void free_workers(struct scan *sc)
{
	for (unsigned i = 0; sc->worker && i < sc->n_workers; i++) {
		if (!sc->worker[i])
			continue;
		flow_counts_free(&sc->worker[i]->counts);
		flow_map_free(&sc->worker[i]->map);
		free(sc->worker[i]);
	}
	free(sc->worker);
}

static int new_workers(struct scan *sc, const struct spaces *sp, struct err *err)
{
	sc->worker = calloc(sc->n_workers, sizeof(struct worker *));
	if (!sc->worker)
		return err_nomem(err);
	for (unsigned i = 0; i < sc->n_workers; i++) {
		sc->worker[i] = calloc(1, sizeof(struct worker));
		if (!sc->worker[i])
			return err_nomem(err);
		if (flow_map_init(&sc->worker[i]->map, sp, sc->opts->comm, err))
			return -1;
	}
	return 0;
}

/* So many entries that a counter of 32 bits might not hold them? */
static int check_size(const struct scan *sc, struct err *err)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < sc->n_chunks; i++)
		bytes += (uint64_t)(sc->chunk[i].end - sc->chunk[i].p);
	if (bytes / PD_BRANCH_SIZE < UINT32_MAX)
		return 0;
	(void)err_set(err, ERR_LIMIT, "branch stacks of more than 100 GB are not read");
	return err_hint(err, "record with longer periods: errors are small enough long before");
}

int flow_scan(struct flow_counts_of_worker *out, const struct pd *rec, const struct spaces *sp,
	      const struct flow_opts *opts, const struct flow_events *events,
	      enum flow_filter filter, const struct flow_costs *costs, struct err *err)
{
	struct scan sc = { .rec = rec,
			   .costs = costs,
			   .opts = opts,
			   .events = events,
			   .filter = filter,
			   .has_time = pd_has_time(rec) };
	size_t n;
	int ret = -1;

	sc.ev = pd_events(rec, &n);
	sc.chunk = pd_chunks(rec, &sc.n_chunks);
	sc.n_workers = opts->threads ? opts->threads : task_threads();
	if (sc.n_workers > 64)
		sc.n_workers = 64;
	if (sc.n_workers > sc.n_chunks)
		sc.n_workers = sc.n_chunks ? (unsigned)sc.n_chunks : 1;
	if (check_size(&sc, err) || new_workers(&sc, sp, err) ||
	    task_for(sc.n_chunks, sc.n_workers, scan_chunk, &sc, err))
		goto out;
	*out = sc.worker[0]->counts;
	sc.worker[0]->counts = (struct flow_counts_of_worker){ 0 };
	for (unsigned i = 1; i < sc.n_workers; i++)
		if (flow_counts_add(out, &sc.worker[i]->counts, err))
			goto out;
	ret = 0;
out:
	free_workers(&sc);
	return ret;
}
