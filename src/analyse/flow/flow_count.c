/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_count - tables of edges and spans by place: new rows, and sums of two tables. Look-ups are
 * inline, in flow_scan_int.h.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/flow_scan_int.h"
#include "base/big.h"
#include "base/invariant.h"
#include "base/xalloc.h"

struct edge_count *flow_new_edge(struct flow_counts_of_worker *c, uint64_t h,
				 const struct flow_at *from, const struct flow_at *to)
{
	struct edge_count *e;

	if (big_reserve(&c->edge) || big_reserve(&c->rare) || itab_put(&c->edge_at, h, c->edge.n))
		return NULL;
	c->rare.v[c->rare.n++] = (struct edge_rare){ 0 };
	e = &c->edge.v[c->edge.n++];
	*e = (struct edge_count){ .from = *from, .to = *to };
	return e;
}

struct span_count *flow_new_span(struct flow_counts_of_worker *c, uint64_t h,
				 const struct flow_at *start, uint64_t end)
{
	struct span_count *s;

	if (big_reserve(&c->span) || itab_put(&c->span_at, h, c->span.n))
		return NULL;
	s = &c->span.v[c->span.n++];
	*s = (struct span_count){ .start = *start, .end = end, .times = FLOW_NO_TIMES };
	return s;
}

/* The same among spans that end in the kernel, which are few. */
struct span_count *flow_stop_of(struct flow_counts_of_worker *c, const struct flow_at *start,
				uint64_t end)
{
	uint64_t h = flow_span_hash(start, end);
	struct span_count *s;
	uint32_t idx;

	for (size_t i = itab_first(&c->stop_at, h); itab_at(&c->stop_at, &i, h, &idx);) {
		s = &c->stop.v[idx];
		if (flow_same_place(&s->start, start) && s->end == end)
			return s;
	}
	if (vec_reserve(&c->stop, c->stop.n + 1) || itab_put(&c->stop_at, h, c->stop.n))
		return NULL;
	s = &c->stop.v[c->stop.n++];
	*s = (struct span_count){ .start = *start, .end = end, .times = FLOW_NO_TIMES };
	return s;
}

struct flow_times *flow_times_of(struct flow_counts_of_worker *c, struct span_count *s)
{
	if (s->times == FLOW_NO_TIMES) {
		if (big_reserve(&c->times))
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
	vec_free(&c->edge_half);
	vec_free(&c->span_half);
	vec_free(&c->stop_half);
	itab_free(&c->stop_at);
	vec_free(&c->times);
	itab_free(&c->edge_at);
	itab_free(&c->span_at);
}

struct flow_half *flow_half_of(struct flow_halves *h, size_t n, size_t i)
{
	if (h->n < n) {
		vec_xreserve(h, n);
		memset(h->v + h->n, 0, (h->cap - h->n) * sizeof(*h->v));
		h->n = h->cap;
	}
	return &h->v[i];
}

/* Does nothing if the other has none. */
static void add_half(struct flow_halves *h, size_t n, size_t i, const struct flow_halves *more,
		     size_t k)
{
	struct flow_half *o;

	if (k >= more->n)
		return;
	o = flow_half_of(h, n, i);
	o->newer += more->v[k].newer;
	o->older += more->v[k].older;
}

static void add_sums(struct flow_sums *s, const struct flow_sums *more)
{
	assert(more->stacks + more->empty <= more->samples);
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
	o->stacks += s->stacks;
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
		struct edge_count *o =
			flow_edge_of(c, flow_edge_hash(&e->from, &e->to), &e->from, &e->to);

		if (!o)
			return err_nomem(err);
		add_edge(o, &c->rare.v[o - c->edge.v], e, &more->rare.v[e - more->edge.v]);
		add_half(&c->edge_half, c->edge.n, (size_t)(o - c->edge.v), &more->edge_half,
			 (size_t)(e - more->edge.v));
	}
	vec_each (&more->span, const struct span_count *, s) {
		struct span_count *o =
			flow_span_of(c, flow_span_hash(&s->start, s->end), &s->start, s->end);
		struct flow_times *t;

		if (!o)
			return err_nomem(err);
		add_span(o, s);
		add_half(&c->span_half, c->span.n, (size_t)(o - c->span.v), &more->span_half,
			 (size_t)(s - more->span.v));
		if (s->times == FLOW_NO_TIMES)
			continue;
		t = flow_times_of(c, o);
		if (!t)
			return err_nomem(err);
		add_times(t, &more->times.v[s->times]);
	}
	vec_each (&more->stop, const struct span_count *, s) {
		struct span_count *o = flow_stop_of(c, &s->start, s->end);

		if (!o)
			return err_nomem(err);
		add_span(o, s);
		add_half(&c->stop_half, c->stop.n, (size_t)(o - c->stop.v), &more->stop_half,
			 (size_t)(s - more->stop.v));
	}
	return 0;
}
