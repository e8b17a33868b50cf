/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow - from the workers' counters to edges and spans in the order of places. Here weights, until
 * now integers, become numbers of occurrences.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/flow_scan_int.h"
#include "base/bisect.h"
#include "base/invariant.h"
#include "base/sort.h"
#include "base/xalloc.h"

/* ---- order: by the last thing that matters first, since equal ones stay as they are -------- */

typedef uint64_t (*flow_key)(const struct flow *f, uint32_t i);

static uint64_t edge_kinds(const struct flow *f, uint32_t i)
{
	return (uint64_t)f->edge[i].from.kind << 8 | f->edge[i].to.kind;
}

static uint64_t edge_to(const struct flow *f, uint32_t i)
{
	return f->edge[i].to.addr;
}

static uint64_t edge_to_image(const struct flow *f, uint32_t i)
{
	return f->edge[i].to.image;
}

static uint64_t edge_from(const struct flow *f, uint32_t i)
{
	return f->edge[i].from.addr;
}

static uint64_t edge_from_image(const struct flow *f, uint32_t i)
{
	return f->edge[i].from.image;
}

static uint64_t span_kind(const struct flow *f, uint32_t i)
{
	return f->span[i].kind;
}

static uint64_t span_end(const struct flow *f, uint32_t i)
{
	return f->span[i].end;
}

static uint64_t span_start(const struct flow *f, uint32_t i)
{
	return f->span[i].start;
}

static uint64_t span_image(const struct flow *f, uint32_t i)
{
	return f->span[i].image;
}

static const flow_key by_from[] = { edge_kinds, edge_to,	 edge_to_image,
				    edge_from,	edge_from_image, NULL };
static const flow_key by_to[] = { edge_to, edge_to_image, NULL };
static const flow_key by_start[] = { span_kind, span_end, span_start, span_image, NULL };

/* Returns the order of n things, in `a` of each; the caller's to free. NULL: no memory. */
static struct keyed *order_of(const struct flow *f, size_t n, const flow_key *key)
{
	struct keyed *order = malloc((n + 1) * 2 * sizeof(*order));

	for (size_t i = 0; order && i < n; i++)
		order[i].a = (uint32_t)i;
	for (; order && *key; key++) {
		for (size_t i = 0; i < n; i++)
			order[i].key = (*key)(f, order[i].a);
		keyed_sort(order, order + n, n);
	}
	return order;
}

/* A copy of n things of `size` bytes in this order; NULL: no memory, for that or for the order. */
static void *in_order(const void *v, size_t n, size_t size, const struct keyed *order)
{
	char *sorted = order ? malloc((n + 1) * size) : NULL;

	for (size_t i = 0; sorted && i < n; i++)
		memcpy(sorted + i * size, (const char *)v + order[i].a * size, size);
	return sorted;
}

/* For asserts. */
__attribute__((unused)) static bool flow_behind(const struct flow_place *a,
						const struct flow_place *b)
{
	return a->image != b->image ? a->image > b->image : a->addr > b->addr;
}

static int sort_edges(struct flow *f)
{
	struct keyed *order = order_of(f, f->n_edges, by_from);
	struct flow_edge *sorted = in_order(f->edge, f->n_edges, sizeof(*sorted), order);

	free(order);
	if (!sorted)
		return -1;
	free(f->edge);
	f->edge = sorted;
	assert(pairs_hold(f->n_edges, i, !flow_behind(&f->edge[i].from, &f->edge[i + 1].from)));
	return 0;
}

static int sort_into(struct flow *f)
{
	struct keyed *order = order_of(f, f->n_edges, by_to);

	free(f->into);
	f->into = malloc((f->n_edges + 1) * sizeof(*f->into));
	for (size_t i = 0; order && f->into && i < f->n_edges; i++)
		f->into[i] = order[i].a;
	free(order);
	return order && f->into ? 0 : -1;
}

static int sort_spans(struct flow *f)
{
	struct keyed *order = order_of(f, f->n_spans, by_start);
	struct flow_span *sorted = in_order(f->span, f->n_spans, sizeof(*sorted), order);

	free(order);
	if (!sorted)
		return -1;
	free(f->span);
	f->span = sorted;
	return 0;
}

int flow_sort(struct flow *f, struct err *err)
{
	return sort_edges(f) || sort_into(f) || sort_spans(f) ? err_nomem(err) : 0;
}

/* ---- from counters ------------------------------------------------------------------------- */

static struct flow_weight weight_of(uint64_t hits, const uint64_t *group,
				    const struct flow_halves *half, size_t i, double unit)
{
	struct flow_weight w = { .hits = hits };

	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		w.group[g] = (double)group[g] * unit;
	if (i < half->n) {
		w.group[FLOW_GROUPS] = (double)half->v[i].newer * unit;
		w.group[FLOW_GROUPS + 1] = (double)half->v[i].older * unit;
	}
	return w;
}

static struct flow_edge edge_of(const struct flow_counts_of_worker *c, size_t i, double unit)
{
	const struct edge_count *e = &c->edge.v[i];
	const struct edge_rare *r = &c->rare.v[i];

	return (struct flow_edge){ .from = flow_place_of(e->from),
				   .to = flow_place_of(e->to),
				   .w = weight_of(e->hits, e->group, &c->edge_half, i, unit),
				   .tally = { .mispredicted = e->mispredicted,
					      .predicted = e->predicted,
					      .in_tx = r->in_tx,
					      .aborts = r->aborts,
					      .cycles = e->cycles,
					      .timed = e->timed },
				   .type = e->type };
}

static struct flow_span span_of(const struct span_count *s, const struct flow_halves *half,
				size_t i, double unit)
{
	return (struct flow_span){ .image = (uint32_t)s->start.where,
				   .kind = (uint8_t)(s->start.where >> 32),
				   .start = s->start.addr,
				   .end = s->end,
				   .w = weight_of(s->hits, s->group, half, i, unit),
				   .timed = s->timed,
				   .time_stacks = s->stacks,
				   .cycles = s->cycles,
				   .cycles_sq = s->cycles_sq,
				   .times = s->times };
}

/* In the order of spans, which is not that of the workers. */
static int put_times(struct flow *f, const struct flow_counts_of_worker *c)
{
	f->times = malloc((c->times.n + 1) * sizeof(*f->times));
	if (!f->times)
		return -1;
	for (size_t i = 0; i < f->n_spans; i++) {
		struct flow_span *s = &f->span[i];

		if (s->times == FLOW_NO_TIMES)
			continue;
		f->times[f->n_times] = c->times.v[s->times];
		s->times = (uint32_t)f->n_times++;
	}
	return 0;
}

static int by_span(const void *x, const void *y)
{
	const struct flow_span *a = x, *b = y;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int fill(struct flow *f, struct flow_counts_of_worker *c, unsigned shift, struct err *err)
{
	double unit = ldexp(1, -(int)shift);

	f->n_edges = c->edge.n;
	f->n_spans = c->span.n;
	f->n_stops = c->stop.n;
	f->edge = malloc((f->n_edges + 1) * sizeof(*f->edge));
	f->span = malloc((f->n_spans + 1) * sizeof(*f->span));
	f->stop = malloc((f->n_stops + 1) * sizeof(*f->stop));
	if (!f->edge || !f->span || !f->stop)
		return err_nomem(err);
	for (size_t i = 0; i < f->n_stops; i++)
		f->stop[i] = span_of(&c->stop.v[i], &c->stop_half, i, unit);
	qsort(f->stop, f->n_stops, sizeof(*f->stop), by_span);
	for (size_t i = 0; i < f->n_edges; i++)
		f->edge[i] = edge_of(c, i, unit);
	for (size_t i = 0; i < f->n_spans; i++)
		f->span[i] = span_of(&c->span.v[i], &c->span_half, i, unit);
	vec_free(&c->edge);
	vec_free(&c->span);
	vec_free(&c->edge_half);
	vec_free(&c->span_half);
	if (flow_sort(f, err))
		return -1;
	return put_times(f, c) ? err_nomem(err) : 0;
}

/* Fields set by flow_choose() stay; the rest are counts. */
static void fill_sums(struct flow_sums *s, const struct flow_counts_of_worker *c)
{
	struct flow_sums all = c->sums;

	all.filter = s->filter;
	all.counts = s->counts;
	all.event = s->event;
	all.biased = s->biased;
	all.late = s->late;
	all.leaning = s->leaning;
	all.user_only = s->user_only;
	all.period = (double)c->period;
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		all.group_period[g] = (double)c->group_period[g];
	*s = all;
}

static void no_error(struct flow_weight *w)
{
	w->group[FLOW_GROUPS] = w->group[FLOW_GROUPS + 1] = NAN;
}

/* How late samples are is not recorded: so figures have no error. */
static void no_errors(struct flow *f)
{
	for (size_t i = 0; i < f->n_edges; i++)
		no_error(&f->edge[i].w);
	for (size_t i = 0; i < f->n_spans; i++)
		no_error(&f->span[i].w);
	for (size_t i = 0; i < f->n_stops; i++)
		no_error(&f->stop[i].w);
}

struct flow_making {
	struct flow_events events;
	struct flow_scan *scan;
	bool weighed;
};

static void making_free(struct flow *f)
{
	struct flow_making *m = f->making;

	if (!m)
		return;
	flow_scan_free(m->scan);
	flow_events_free(&m->events);
	free(m);
	f->making = NULL;
}

static int begin(struct flow **out, struct pass *p, const struct pd *rec,
		 const struct flow_opts *opts, const struct flow_costs *costs, struct err *err)
{
	struct flow *f = xcalloc(1, sizeof(*f));
	struct flow_making *m = f->making = xcalloc(1, sizeof(*m));

	*out = NULL;
	f->info = pd_info(rec);
	m->weighed = costs != NULL;
	if (flow_choose(&m->events, &f->sums, rec, opts, err) ||
	    flow_scan_begin(&m->scan, p, &m->events, f->sums.filter, costs,
			    f->sums.leaning && !f->sums.late, err)) {
		flow_free(f);
		return -1;
	}
	*out = f;
	return 0;
}

int flow_begin(struct flow **out, struct pass *p, const struct pd *rec,
	       const struct flow_opts *opts, struct err *err)
{
	return begin(out, p, rec, opts, NULL, err);
}

int flow_end(struct flow *f, struct err *err)
{
	struct flow_counts_of_worker counts = { 0 };
	struct flow_making *m = f->making;
	int ret = flow_scan_end(m->scan, &counts, err);

	m->scan = NULL;
	if (!ret) {
		fill_sums(&f->sums, &counts);
		f->sums.weighed = m->weighed;
		f->sums.scale = 1;
		ret = fill(f, &counts, m->events.shift, err);
	}
	if (!ret && f->sums.late)
		no_errors(f);
	flow_counts_free(&counts);
	making_free(f);
	return ret;
}

static int build(struct flow **out, const struct pd *rec, struct spaces *sp,
		 const struct flow_opts *opts, const struct flow_costs *costs, struct err *err)
{
	const struct pass_opts po = { .threads = opts->threads,
				      .progress = opts->progress,
				      .progress_ctx = opts->progress_ctx };
	struct flow *f = NULL;
	struct pass *p;
	int ret;

	if (pass_new(&p, rec, sp, &opts->select, &po, err))
		return -1;
	ret = begin(&f, p, rec, opts, costs, err) || pass_run(p, err) || flow_end(f, err) ? -1 : 0;
	pass_free(p);
	if (ret)
		flow_free(f);
	else
		*out = f;
	return ret;
}

int flow_build(struct flow **out, const struct pd *rec, struct spaces *sp,
	       const struct flow_opts *opts, struct err *err)
{
	return build(out, rec, sp, opts, NULL, err);
}

int flow_weigh(struct flow **f, const struct pd *rec, struct spaces *sp,
	       const struct flow_opts *opts, const double *cost, struct err *err)
{
	struct flow_costs costs = { .flow = *f, .cost = cost };
	struct flow *anew = NULL;
	int ret;

	ret = flow_costs_index(&costs) ? err_nomem(err) : 0;
	if (!ret && costs.mean > 0) {
		ret = build(&anew, rec, sp, opts, &costs, err);
		if (!ret) {
			flow_free(*f);
			*f = anew;
		}
	}
	itab_free(&costs.at);
	free(costs.at_start);
	return ret;
}

static void scale_weight(struct flow_weight *w, double by)
{
	for (unsigned g = 0; g < FLOW_SLOTS; g++)
		w->group[g] *= by;
}

void flow_scale(struct flow *f, double by)
{
	for (size_t i = 0; i < f->n_edges; i++)
		scale_weight(&f->edge[i].w, by);
	for (size_t i = 0; i < f->n_spans; i++)
		scale_weight(&f->span[i].w, by);
	for (size_t i = 0; i < f->n_stops; i++)
		scale_weight(&f->stop[i].w, by);
	f->sums.scale *= by;
}

void flow_drop_spans(struct flow *f, const bool *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n_spans; i++)
		if (!out[i])
			f->span[kept++] = f->span[i];
	f->n_spans = kept;
}

void flow_free(struct flow *f)
{
	if (!f)
		return;
	making_free(f);
	free(f->edge);
	free(f->span);
	free(f->stop);
	free(f->into);
	free(f->times);
	free(f);
}

/* ---- asking -------------------------------------------------------------------------------- */

const struct flow_edge *flow_edges(const struct flow *f, size_t *n)
{
	*n = f->n_edges;
	return f->edge;
}

const struct flow_span *flow_spans(const struct flow *f, size_t *n)
{
	*n = f->n_spans;
	return f->span;
}

const struct flow_span *flow_stops(const struct flow *f, size_t *n)
{
	*n = f->n_stops;
	return f->stop;
}

const struct pd_info *flow_info(const struct flow *f)
{
	return f->info;
}

const struct flow_sums *flow_sums(const struct flow *f)
{
	return &f->sums;
}

const struct flow_times *flow_times(const struct flow *f, size_t *n)
{
	*n = f->n_times;
	return f->times;
}

const uint32_t *flow_edges_into(const struct flow *f)
{
	return f->into;
}

static bool at_or_behind(const struct flow_place *p, uint32_t image, uint64_t addr)
{
	return p->image != image ? p->image > image : p->addr >= addr;
}

size_t flow_edges_from(const struct flow *f, uint32_t image, uint64_t start, uint64_t end,
		       size_t *first)
{
	size_t to;

	bisect(*first, f->n_edges, i, at_or_behind(&f->edge[i].from, image, start));
	bisect(to, f->n_edges, i, at_or_behind(&f->edge[i].from, image, end));
	return to > *first ? to - *first : 0;
}

size_t flow_edges_to(const struct flow *f, uint32_t image, uint64_t start, uint64_t end,
		     size_t *first)
{
	size_t to;

	bisect(*first, f->n_edges, i, at_or_behind(&f->edge[f->into[i]].to, image, start));
	bisect(to, f->n_edges, i, at_or_behind(&f->edge[f->into[i]].to, image, end));
	return to > *first ? to - *first : 0;
}

static bool begins_at_or_behind(const struct flow_span *s, uint32_t image, uint64_t addr)
{
	return s->image != image ? s->image > image : s->start >= addr;
}

size_t flow_spans_of(const struct flow *f, uint32_t image, uint64_t start, uint64_t end,
		     size_t *first)
{
	size_t to;

	bisect(*first, f->n_spans, i, begins_at_or_behind(&f->span[i], image, start));
	bisect(to, f->n_spans, i, begins_at_or_behind(&f->span[i], image, end));
	return to > *first ? to - *first : 0;
}
