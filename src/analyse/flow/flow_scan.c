/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_scan - stacks of branches into edges and spans. The addresses of a stack become places
 * first, which are then counted in runs of AHEAD entries; the rows of a run are prefetched from the
 * tables.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/flow_scan_int.h"
#include "analyse/flow/flow_window.h"
#include "base/xalloc.h"

#define AHEAD	      32u
#define TYPE_EXTENDED 15
#define TYPE_NEW      16 /* the index of new_type, behind the others */

struct entry {
	struct flow_at from, to;
	uint64_t edge_hash, span_hash;
	uint32_t edge_at, span_at; /* their rows, as far as they were looked up */
	uint32_t flags;
	uint16_t cycles;
	uint8_t type;
	bool gap;  /* the next branch is not known */
	bool span; /* from here to the next newer branch */
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

struct flow_scan {
	struct pass *pass;
	const struct flow_events *events;
	enum flow_filter filter;
	const struct flow_costs *costs;
	bool halves;
	struct worker **worker;
	unsigned n_workers;
};

/* ---- a stack ------------------------------------------------------------------------------- */

/* Returns true if code lies between the target of an entry and the next newer branch; else counts
 * the reason in `sums`. */
static inline bool bounds_code(const struct flow_at *start, const struct flow_at *end,
			       struct flow_sums *sums)
{
	if ((uint32_t)start->where == IMAGE_NONE || start->where != end->where) {
		/* an address of 0 is one that was not to be seen from here */
		if (flow_is_kernel(start) != flow_is_kernel(end) || !start->addr || !end->addr)
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
 * once: it stays, and so do branches from or to the kernel, whose way back is not seen. */
static bool is_copy(const struct pd_branches *stack, size_t i, const struct pd_branch *b)
{
	struct pd_branch newer;

	if (i != 1 || !b->from || b->to <= b->from || (b->to ^ b->from) >> 63)
		return false;
	newer = pd_branch_decode(stack->entry);
	return newer.from == b->from && newer.to == b->to;
}

/* Converts entries to places, newest first; returns how many are used. */
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
		e->edge_hash = flow_edge_hash(&e->from, &e->to);
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

static bool enters_kernel(const struct entry *e, const struct entry *next)
{
	return (uint32_t)e->to.where != IMAGE_NONE && !flow_is_kernel(&e->to) &&
	       (flow_is_kernel(&next->from) || flow_is_hidden(&next->from)) &&
	       next->to.where == e->to.where && next->to.addr > e->to.addr &&
	       next->to.addr - e->to.addr <= FLOW_SPAN_MAX;
}

/* Returns how many end in the kernel. */
static size_t find_spans(struct worker *w, size_t n)
{
	struct flow_sums *sums = &w->counts.sums;
	size_t stops = 0;

	for (size_t i = 1; i < n; i++) {
		struct entry *e = &w->entry[i];
		const struct entry *next = &w->entry[i - 1];

		e->span = !e->gap && bounds_code(&e->to, &next->from, sums);
		if (e->span)
			e->span_hash = flow_span_hash(&e->to, next->from.addr);
		e->stop = !e->span && !e->gap && enters_kernel(e, next);
		stops += e->stop;
	}
	w->entry[0].span = false;
	return stops;
}

/* Returns the weight of an entry: its part of the whole stack. Periods and costs of a crafted
 * recording may be arbitrarily large. */
static uint64_t part(double all, double of)
{
	double v = all * of;

	return v < 0x1p63 ? (uint64_t)v : (uint64_t)1 << 63;
}

static int count_stop(struct flow_counts_of_worker *c, const struct entry *e, unsigned group,
		      uint64_t weight)
{
	struct span_count *s = flow_stop_of(c, &e->to, e[-1].to.addr);

	if (!s)
		return -1;
	s->hits++;
	s->group[group] += weight;
	return 0;
}

static int count_stops(struct flow_counts_of_worker *c, const struct entry *e, size_t n,
		       unsigned group, const struct flow_window *window, double all)
{
	for (size_t i = 1; i < n; i++)
		if (e[i].stop && count_stop(c, &e[i], group, part(all, window->span[i - 1])))
			return -1;
	return 0;
}

static inline int count_edge(struct flow_counts_of_worker *c, const struct entry *e, unsigned group,
			     uint64_t weight)
{
	struct edge_count *o = e->edge_at == ITAB_NONE ? NULL : &c->edge.v[e->edge_at];

	if (!o || !flow_same_place(&o->from, &e->from) || !flow_same_place(&o->to, &e->to))
		o = flow_edge_of(c, e->edge_hash, &e->from, &e->to);
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

	if (!s || !flow_same_place(&s->start, &e->to) || s->end != next->from.addr)
		s = flow_span_of(c, e->span_hash, &e->to, next->from.addr);
	if (!s)
		return -1;
	s->hits++;
	s->group[group] += weight;
	if (!next->cycles)
		return 0;
	t = flow_times_of(c, s);
	if (!t)
		return -1;
	s->timed++;
	if (s->last_stack != (uint32_t)c->sums.stacks) {
		s->last_stack = (uint32_t)c->sums.stacks;
		s->stacks++;
	}
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

/* Prefetches the tables first, then the rows that they lead to. */
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
		const struct entry *newer = &e[k] - 1; /* of the block before, if k is 0 */
		const struct span_count *s;

		if (!e[k].span || e[k].span_at == ITAB_NONE || !newer->cycles)
			continue;
		s = &c->span.v[e[k].span_at];
		if (s->times != FLOW_NO_TIMES)
			__builtin_prefetch(&c->times.v[s->times].n[flow_time_bucket(newer->cycles)],
					   1);
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

/* By the begin of spans: those of one place follow each other. */
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
		if (itab_put(&c->at, flow_span_hash(&at, 0), i))
			return -1;
	}
	c->mean = all_cost / all_hits;
	return 0;
}

/* Returns the cost of the span in which the sample was taken: from the target of its newest branch
 * to the next branch. */
static double cost_at(const struct flow_costs *c, const struct flow_at *to)
{
	uint64_t h = flow_span_hash(to, 0);
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
	return flow_is_kernel(&e->from) != flow_is_kernel(&e->to) || flow_is_hidden(&e->from);
}

/* How many of the n entries the event counts, and of the n - 1 that end something; at least 1.
 * Together they weigh the sample's period: the other entries among them weigh the same each. */
static void count_near(const struct entry *e, size_t n, size_t *edges, size_t *spans)
{
	size_t far = 0;

	for (size_t i = 0; i < n; i++)
		far += is_far(&e[i]);
	*edges = far < n ? n - far : n;
	far -= is_far(&e[n - 1]);
	*spans = n < 2 ? 1 : far < n - 1 ? n - 1 - far : n - 1;
}

/* Sums of the newer and the older half of n weights in a row. */
struct halves {
	const double *weight;
	size_t newer; /* so many */
	double sum[2];
};

static struct halves halves_of(const double *weight, size_t n)
{
	struct halves h = { weight, n / 2, { 0, 0 } };

	for (size_t i = 0; i < n; i++)
		h.sum[i >= h.newer] += weight[i];
	return h;
}

/* Returns the part of one entry in the estimate of its half. */
static uint64_t half_part(double all, const struct halves *h, size_t i)
{
	return part(all, h->weight[i] / h->sum[i >= h->newer]);
}

static void add_half(struct flow_halves *to, size_t n, size_t at, const struct halves *h, size_t i,
		     double all)
{
	struct flow_half *o = flow_half_of(to, n, at);

	*(i >= h->newer ? &o->older : &o->newer) += half_part(all, h, i);
}

/* Edges and spans that were counted just now. */
static void count_halves(struct worker *w, size_t n, bool stops, double all_edges, double all_spans)
{
	struct flow_counts_of_worker *c = &w->counts;
	struct halves edge = halves_of(w->window.edge, n), span = halves_of(w->window.span, n - 1);

	for (size_t k = 0; k < n; k++) {
		const struct entry *e = &w->entry[k];
		const struct edge_count *o = flow_edge_of(c, e->edge_hash, &e->from, &e->to);
		const struct span_count *s;

		add_half(&c->edge_half, c->edge.n, (size_t)(o - c->edge.v), &edge, k, all_edges);
		if (k && e->span) {
			s = flow_span_of(c, e->span_hash, &e->to, e[-1].from.addr);
			add_half(&c->span_half, c->span.n, (size_t)(s - c->span.v), &span, k - 1,
				 all_spans);
		}
		if (k && stops && e->stop) {
			s = flow_stop_of(c, &e->to, e[-1].to.addr);
			add_half(&c->stop_half, c->stop.n, (size_t)(s - c->stop.v), &span, k - 1,
				 all_spans);
		}
	}
}

static int count_stack(struct flow_scan *sc, struct worker *w, const struct pd_branches *stack,
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
	if (sc->halves)
		count_halves(w, n, stops != 0, all_edges, all_spans);
	return 0;
}

/* ---- samples ------------------------------------------------------------------------------- */

static int take_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct flow_scan *sc = ctx;
	struct worker *w = sc->worker[s->worker];
	struct flow_sums *sums = &w->counts.sums;
	const struct flow_event *ev = &sc->events->v[s->event];
	struct pd_branches stack;

	sums->samples++;
	if (!pd_branches_find(s->ev, s->r, &stack)) {
		sums->bad++;
		return 0;
	}
	if (!stack.n) {
		sums->empty++;
		return 0;
	}
	flow_map_enter(&w->map, s);
	return count_stack(sc, w, &stack,
			   s->ev->at.period ? ld64(s->r->p + s->ev->at.period) : ev->period, ev)
		       ? err_nomem(err)
		       : 0;
}

static int leave_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct flow_sums *sums = &((struct flow_scan *)ctx)->worker[s->worker]->counts.sums;

	(void)err;
	sums->samples++;
	sums->left_out++;
	return 0;
}

static int begin_chunk(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	struct worker *w = ((struct flow_scan *)ctx)->worker[worker];

	(void)err;
	w->n_dealt = 0;
	w->block = hash_u64(chunk);
	return 0;
}

/* ---- all of them --------------------------------------------------------------------------- */

void flow_scan_free(struct flow_scan *sc)
{
	for (unsigned i = 0; sc && i < sc->n_workers; i++) {
		flow_counts_free(&sc->worker[i]->counts);
		free(sc->worker[i]);
	}
	if (sc)
		free(sc->worker);
	free(sc);
}

static void add_bad(struct flow_sums *sums, const struct flow_scan *sc)
{
	const struct pass_seen *seen = pass_seen(sc->pass);

	for (size_t e = 0; e < sc->events->n; e++) {
		sums->samples += seen[e].bad;
		sums->bad += seen[e].bad;
	}
}

int flow_scan_begin(struct flow_scan **out, struct pass *p, const struct flow_events *events,
		    enum flow_filter filter, const struct flow_costs *costs, bool halves,
		    struct err *err)
{
	const struct pass_visitor v = { .wants = PASS_THREAD | PASS_PLACE,
					.events = events->used,
					.sample = take_sample,
					.left_out = leave_sample,
					.begin = begin_chunk };
	struct flow_scan *sc;

	*out = NULL;
	/* so many entries that a counter of 32 bits might not hold them */
	if (pass_bytes(p) / PD_BRANCH_SIZE >= UINT32_MAX) {
		(void)err_set(err, ERR_LIMIT, "branch stacks of more than 100 GB are not read");
		return err_hint(err, "record with longer periods: errors are small enough long "
				     "before");
	}
	sc = xcalloc(1, sizeof(*sc));
	*sc = (struct flow_scan){ .pass = p,
				  .events = events,
				  .filter = filter,
				  .costs = costs,
				  .halves = halves,
				  .n_workers = pass_workers(p) };
	sc->worker = xcalloc(sc->n_workers, sizeof(struct worker *));
	for (unsigned i = 0; i < sc->n_workers; i++)
		sc->worker[i] = xcalloc(1, sizeof(struct worker));
	pass_add(p, &v, sc);
	*out = sc;
	return 0;
}

int flow_scan_end(struct flow_scan *sc, struct flow_counts_of_worker *out, struct err *err)
{
	int ret = 0;

	*out = sc->worker[0]->counts;
	sc->worker[0]->counts = (struct flow_counts_of_worker){ 0 };
	for (unsigned i = 1; i < sc->n_workers && !ret; i++)
		ret = flow_counts_add(out, &sc->worker[i]->counts, err);
	add_bad(&out->sums, sc);
	flow_scan_free(sc);
	return ret;
}
