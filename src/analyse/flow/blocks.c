/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks - from all spans of a flow to functions with counted blocks.
 *
 * Image by image: the function in which spans begin is looked up once for all of them, a function's
 * code is read when the first span needs it, and each span is checked from end to end, over several
 * functions if it must be, before it counts anywhere.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "analyse/flow/blocks_int.h"
#include "base/invariant.h"
#include "base/vec.h"
#include "symbol/named.h"

enum { CROSS_MAX = 64 }; /* functions that one span may run through */

/* Sums over spans that are believed, for the scale. */
struct means {
	double weight, insns, branches;
};

struct build {
	struct blocks *out;
	const struct flow *flow;
	struct images *images;
	const struct blocks_opts *opts;
	VEC(struct block_part *) parts;
	/* of the image at hand: */
	uint32_t image;
	const struct symbol *symbol;
	size_t n_symbols, first_part;
	bool has_code;
	struct block_part **by_symbol;
	struct means means;
	/* Instead of counting any, one or both, by span: */
	double *cost;
	bool *rejected;
	bool stops; /* those at hand are flow_stops() */
};

/* Returns the length of a function's code: symbols without a size go up to the next. */
static uint64_t length_of(const struct build *b, const struct symbol *s)
{
	for (size_t i = (size_t)s->index + 1; !s->size && i < b->n_symbols; i++)
		if (b->symbol[i].start > s->start)
			return b->symbol[i].start - s->start;
	return s->size;
}

/* Returns the function of a symbol, its code read and split at the first call. NULL: memory. */
static struct block_part *part_of(struct build *b, const struct symbol *s, struct err *err)
{
	struct block_part **at = &b->by_symbol[s->index];
	uint64_t len = length_of(b, s);
	struct err why = ERR_INIT;
	struct code *code = NULL;

	if (*at)
		return *at;
	if (len && code_read(&code, b->images, b->image, s->start, len, &why)) {
		code = NULL;
		if (why.code == ERR_NOMEM) {
			(void)err_nomem(err);
			return NULL;
		}
		if (why.code == ERR_UNSUPPORTED)
			(void)snprintf(b->out->undecoded, sizeof(b->out->undecoded),
				       "%.90s; %.100s", why.what, why.hint);
	}
	if (block_part_open(at, code, b->flow, b->image, s, err))
		return NULL;
	if (vec_push(&b->parts, *at)) {
		block_part_free(*at);
		*at = NULL;
		(void)err_nomem(err);
	}
	return *at;
}

/* Returns the function right behind another one; NULL: none. */
static const struct symbol *next_function(const struct build *b, const struct block_part *p)
{
	uint64_t end = p->f.code->start + p->f.code->len;

	for (size_t i = (size_t)p->f.symbol->index + 1; i < b->n_symbols; i++)
		if (b->symbol[i].start >= end)
			return b->symbol[i].start == end ? &b->symbol[i] : NULL;
	return NULL;
}

struct cross {
	struct block_part *part;
	struct block_range range;
};

static uint64_t last_insn_of(const struct code *c)
{
	return c->start + c->insn[c->n_insns - 1].at;
}

/* Lays a span over the functions that it runs through. -1: memory. */
static int lay(struct build *b, struct block_part *p, const struct flow_span *s,
	       struct cross piece[CROSS_MAX], size_t *n, enum block_drop *drop, struct err *err)
{
	uint64_t start = s->start;

	for (*n = 0; *n < CROSS_MAX; start = p->f.code->start) {
		struct cross *c = &piece[*n];
		const struct symbol *next;

		*drop = block_part_span(p, start, s->end, &c->range);
		if (*drop != BLOCK_DROPS)
			return 0;
		c->part = p;
		++*n;
		if (!c->range.past)
			return 0;
		next = next_function(b, p);
		if (!next)
			break;
		p = part_of(b, next, err);
		if (!p)
			return -1;
		if (!p->f.code)
			break;
	}
	*drop = BLOCK_OUTSIDE;
	return 0;
}

static size_t span_number(const struct build *b, const struct flow_span *s)
{
	size_t n;

	return (size_t)(s - flow_spans(b->flow, &n));
}

static bool counts(const struct build *b)
{
	return !b->cost && !b->rejected;
}

/* How many instructions and branches one run of the span has, for the scale. */
static void add_means(struct build *b, const struct flow_span *s, const struct cross *piece,
		      size_t n)
{
	struct means *m = &b->means;
	double w = flow_sum(&s->w), insns = 0, branches = 0;

	for (size_t i = 0; i < n; i++) {
		const struct code *c = piece[i].part->f.code;
		const struct block_range *r = &piece[i].range;
		uint64_t from = i ? c->start : s->start;
		uint64_t to = r->past ? last_insn_of(c) : s->end;

		insns += block_insns(c, from, to);
		for (uint32_t k = r->first; k <= r->last; k++)
			branches += c->block[k].flow != INSN_OTHER;
	}
	m->weight += w;
	m->insns += w * insns;
	m->branches += w * branches;
	if (b->cost && !b->stops)
		b->cost[span_number(b, s)] =
			flow_sums(b->flow)->counts == FLOW_COUNTS_INSNS ? insns : branches;
}

static int add_span(struct build *b, const struct symbol *symbol, const struct flow_span *s,
		    struct err *err)
{
	struct cross piece[CROSS_MAX];
	struct flow_span stop;
	enum block_drop drop = b->has_code ? BLOCK_NO_FUNCTION : BLOCK_NO_CODE;
	struct block_part *p;
	size_t n = 0;

	if (!symbol) {
		b->out->dropped[drop] += b->stops ? 0 : s->w.hits;
		return 0;
	}
	p = part_of(b, symbol, err);
	if (!p)
		return -1;
	p->f.kind = s->kind;
	if (b->stops) { /* up to a system call; else an interrupt took it away, wherever it was */
		stop = *s;
		if (!block_part_call_at(p, s->end, &stop.end))
			return 0;
		s = &stop;
	}
	if (lay(b, p, s, piece, &n, &drop, err))
		return -1;
	if (b->stops) {
		if (drop != BLOCK_DROPS)
			return 0;
		b->out->system += s->w.hits;
	}
	if (b->rejected && drop >= BLOCK_NOT_AN_INSN && drop != BLOCK_DROPS)
		b->rejected[span_number(b, s)] = true;
	if (drop != BLOCK_DROPS) {
		p->f.dropped[drop] += s->w.hits;
		b->out->dropped[drop] += s->w.hits;
		return 0;
	}
	b->out->used += s->w.hits;
	add_means(b, s, piece, n);
	for (size_t i = 0; i < n && counts(b); i++) {
		block_part_count(piece[i].part, &piece[i].range, i > 0, &s->w);
		if (i)
			piece[i].part->in_from = last_insn_of(piece[i - 1].part->f.code);
	}
	return 0;
}

static int close_parts(struct build *b, struct err *err)
{
	for (size_t i = b->first_part; i < b->parts.n; i++) {
		struct block_part *p = b->parts.v[i];

		if (block_part_close(p, b->flow, err) || block_find_loops(&p->f, err))
			return -1;
		free(p->start);
		free(p->end);
		free(p->stop);
		p->start = p->end = NULL;
		p->stop = NULL;
	}
	b->first_part = b->parts.n;
	return 0;
}

/* Spans of the image at hand. */
static int add_spans(struct build *b, const struct flow_span *span, size_t n, struct err *err)
{
	uint64_t *addr = calloc(n + 1, sizeof(*addr));
	const struct symbol **found = calloc(n + 1, sizeof(*found));
	int rc = -1;

	if (!addr || !found) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		addr[i] = span[i].start;
	if (b->image != IMAGE_NONE)
		image_resolve(b->images, b->image, addr, n, found);
	for (size_t i = 0; i < n; i++)
		if (add_span(b, found[i], &span[i], err))
			goto out;
	rc = 0;
out:
	free(addr);
	free(found);
	return rc;
}

struct list {
	const struct flow_span *v;
	size_t n;
};

static struct list take_image(struct list *from, uint32_t image)
{
	struct list l = { from->v, 0 };

	while (l.n < from->n && l.v[l.n].image == image)
		l.n++;
	from->v += l.n;
	from->n -= l.n;
	return l;
}

static int add_image(struct build *b, uint32_t image, struct list *spans, struct list *stops,
		     struct err *err)
{
	struct list of = take_image(spans, image), to_kernel = take_image(stops, image);
	int rc = -1;

	b->image = image;
	b->n_symbols = 0;
	b->has_code = false;
	if (image != IMAGE_NONE) {
		b->symbol = image_symbols(b->images, image, &b->n_symbols);
		b->has_code = image_code_file(b->images, image) != NULL;
	}
	b->by_symbol = calloc(b->n_symbols + 1, sizeof(struct block_part *));
	if (!b->by_symbol)
		return err_nomem(err);
	b->stops = false;
	if (add_spans(b, of.v, of.n, err))
		goto out;
	b->stops = true;
	if (add_spans(b, to_kernel.v, to_kernel.n, err))
		goto out;
	rc = counts(b) ? close_parts(b, err) : 0;
out:
	free(b->by_symbol);
	return rc;
}

/* ---- scale ---------------------------------------------------------------------------------- */

static double cycles_of_a_span(const struct flow *flow)
{
	size_t n;
	const struct flow_span *s = flow_spans(flow, &n);
	double weight = 0, cycles = 0;

	for (size_t i = 0; i < n; i++) {
		double w = flow_sum(&s[i].w);

		if (!s[i].timed)
			continue;
		weight += w;
		cycles += w * (double)s[i].cycles / (double)s[i].timed;
	}
	return cycles / weight;
}

/* A sample stands for a period of its event; a span of the stack for its share of that. */
static void find_scale(struct blocks *b, const struct means *m)
{
	double per_span = NAN; /* its mean count of the event */
	bool weighed = flow_sums(b->flow)->weighed;

	switch (flow_sums(b->flow)->counts) {
	case FLOW_COUNTS_TAKEN:
		per_span = 1;
		b->by = "taken branches";
		break;
	case FLOW_COUNTS_BRANCHES:
		per_span = m->branches / m->weight;
		b->by = "branches";
		break;
	case FLOW_COUNTS_INSNS:
		per_span = m->insns / m->weight;
		b->by = "instructions";
		break;
	case FLOW_COUNTS_CYCLES:
		per_span = cycles_of_a_span(b->flow);
		b->by = "cycles";
		break;
	case FLOW_COUNTS_OTHER:
	default:
		break;
	}
	if (weighed) /* stack by stack, which is better, and scaled as a whole: blocks_weigh() */
		per_span = 1;
	b->scaled = per_span > 0 && isfinite(per_span);
	b->scale = b->scaled ? 1 / per_span : 1;
	if (!b->scaled)
		b->by = NULL;
}

/* ---- all functions -------------------------------------------------------------------------- */

static int by_weight(const void *x, const void *y)
{
	const struct block_function *a = x, *b = y;
	double i = a->code ? a->insns.v : -1, k = b->code ? b->insns.v : -1;

	if (i != k)
		return i > k ? -1 : 1;
	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return a->symbol->start < b->symbol->start ? -1 : a->symbol->start > b->symbol->start;
}

static bool is_wanted(const char *name, const struct symbol *s)
{
	return !name || symbol_means(s, "", name, SYMBOL_EXACT) ||
	       symbol_means(s, "", name, SYMBOL_GLOB);
}

static uint64_t all_dropped(const struct block_function *f)
{
	uint64_t n = 0;

	for (unsigned d = 0; d < BLOCK_DROPS; d++)
		n += f->dropped[d];
	return n;
}

/* The parts become functions, scaled, most instructions first; those not asked for go. */
static int gather(struct build *b, struct err *err)
{
	struct blocks *out = b->out;
	const struct flow_sums *sums = flow_sums(b->flow);
	double group[FLOW_SLOTS] = { 0 };
	double each = out->used ? b->means.weight * out->scale / (double)out->used : 0;
	double stack = each * (double)(sums->edges - sums->stacks) / (double)sums->stacks;
	const struct flow_value unseen = { 0, sums->late ? NAN : stack, sums->late,
					   sums->late ? flow_late : NULL };
	size_t kept = 0;

	out->f = calloc(b->parts.n + 1, sizeof(*out->f));
	if (!out->f)
		return err_nomem(err);
	vec_each (&b->parts, struct block_part **, p) {
		struct block_function *f = &(*p)->f;

		if (!f->hits && !all_dropped(f) && !(*p)->in.hits)
			continue;
		if (!f->code)
			f->hits = all_dropped(f);
		block_scale(f, out->scale, each, unseen);
		for (unsigned g = 0; g < FLOW_SLOTS; g++)
			group[g] += f->group_insns[g];
		out->f[out->n++] = *f;
		*f = (struct block_function){ 0 };
	}
	out->insns = out->used ? flow_total(group) : FLOW_UNKNOWN;
	qsort(out->f, out->n, sizeof(*out->f), by_weight);
	assert(pairs_hold(out->n, i, by_weight(&out->f[i], &out->f[i + 1]) <= 0));
	for (size_t i = 0; i < out->n; i++) {
		if ((b->opts->most && kept == b->opts->most) ||
		    !is_wanted(b->opts->function, out->f[i].symbol))
			block_function_free(&out->f[i]);
		else
			out->f[kept++] = out->f[i];
	}
	out->left_out = out->n - kept;
	out->n = kept;
	return 0;
}

static int check_filter(const struct flow *flow, struct err *err)
{
	if (flow_sums(flow)->filter == FLOW_ANY)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "the branch stacks hold only some kinds of branches: what ran between two of "
		      "them is not known");
	return again_hint(err, flow_info(flow), "record all taken branches:", "-b");
}

static int lay_all(struct build *b, struct err *err)
{
	struct list spans, stops;

	spans.v = flow_spans(b->flow, &spans.n);
	stops.v = flow_stops(b->flow, &stops.n);
	while (spans.n || stops.n) {
		uint32_t image = spans.n ? spans.v->image : stops.v->image;

		if (stops.n && stops.v->image < image)
			image = stops.v->image;
		if (add_image(b, image, &spans, &stops, err))
			return -1;
	}
	return 0;
}

static void free_parts(struct build *b)
{
	vec_each (&b->parts, struct block_part **, p)
		block_part_free(*p);
	vec_free(&b->parts);
}

static void cost_of_cycles(double *cost, const struct flow *f)
{
	size_t n;
	const struct flow_span *s = flow_spans(f, &n);

	for (size_t i = 0; i < n; i++)
		cost[i] = s[i].timed ? (double)s[i].cycles / (double)s[i].timed : 0;
}

/* Returns the ratio of the events that follow from the weighed executions to those that were
 * counted. It is 1, unless samples fall into other code than that which they are weighed by: if
 * they come late, or between two spans. It is only known if nearly all spans are known. Cycles of
 * spans differ from those of the stacks' samples by a few percent, so that they show lateness
 * alone. */
static double overshoot(const struct flow *f, const double *cost)
{
	const struct flow_sums *s = flow_sums(f);
	size_t n;
	const struct flow_span *span = flow_spans(f, &n);
	double known = 0, weight = 0, counted = 0, of;

	if (s->counts == FLOW_COUNTS_CYCLES && !s->late)
		return 1;
	for (size_t i = 0; i < n; i++) {
		if (!(cost[i] > 0))
			continue;
		known += (double)span[i].w.hits;
		weight += flow_sum(&span[i].w);
		counted += flow_sum(&span[i].w) * cost[i];
	}
	known /= (double)(s->edges - s->stacks);
	of = counted / (s->period * known);
	return known > 0.9 && weight > 0 && isfinite(of) && of > 0 ? of : 1;
}

int blocks_weigh(struct flow **f, struct images *images, const struct pd *rec, struct spaces *sp,
		 const struct flow_opts *opts, struct err *err)
{
	const struct blocks_opts all = { .function = NULL };
	const struct flow_sums *sums = flow_sums(*f);
	struct blocks none = { .flow = *f };
	struct build b = { .out = &none, .flow = *f, .images = images, .opts = &all };
	size_t n;
	int rc = 0;

	(void)flow_spans(*f, &n);
	if (sums->filter != FLOW_ANY || !n || sums->counts == FLOW_COUNTS_TAKEN ||
	    sums->counts == FLOW_COUNTS_OTHER)
		return 0;
	b.cost = calloc(n, sizeof(*b.cost));
	if (!b.cost)
		return err_nomem(err);
	if (sums->counts == FLOW_COUNTS_CYCLES)
		cost_of_cycles(b.cost, *f);
	else
		rc = lay_all(&b, err);
	free_parts(&b);
	if (!rc)
		rc = flow_weigh(f, rec, sp, opts, b.cost, err);
	if (!rc && flow_sums(*f)->weighed) /* the same spans in the same order, weighed anew */
		flow_scale(*f, 1 / overshoot(*f, b.cost));
	free(b.cost);
	return rc;
}

int blocks_reject(struct flow *f, struct images *images, uint64_t *hits, struct err *err)
{
	const struct blocks_opts all = { .function = NULL };
	struct blocks none = { .flow = f };
	struct build b = { .out = &none, .flow = f, .images = images, .opts = &all };
	size_t n;
	int rc = -1;

	(void)flow_spans(f, &n);
	b.rejected = calloc(n + 1, sizeof(*b.rejected));
	if (!b.rejected)
		return err_nomem(err);
	if (!lay_all(&b, err)) {
		for (unsigned d = BLOCK_NOT_AN_INSN; d < BLOCK_DROPS; d++)
			*hits += none.dropped[d];
		flow_drop_spans(f, b.rejected);
		rc = 0;
	}
	free_parts(&b);
	free(b.rejected);
	return rc;
}

int blocks_build(struct blocks *out, const struct flow *f, struct images *images,
		 const struct blocks_opts *opts, struct err *err)
{
	struct build b = { .out = out, .flow = f, .images = images, .opts = opts };
	int rc = -1;

	*out = (struct blocks){ .flow = f };
	if (check_filter(f, err))
		return -1;
	if (!lay_all(&b, err)) {
		find_scale(out, &b.means);
		rc = gather(&b, err);
	}
	free_parts(&b);
	if (rc)
		blocks_free(out);
	return rc;
}

struct flow_balance blocks_balance(const struct blocks *b)
{
	struct flow_balance out = { .apart = NAN };
	double off = 0, runs = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct block_function *f = &b->f[i];

		for (size_t k = 0; f->code && k < f->code->n_blocks; k++) {
			const struct block *o = &f->block[k];
			double apart = fabs(o->flow_in - o->flow_out);

			if (o->hits < BLOCKS_BALANCE_HITS)
				continue;
			flow_balance_add(&out, apart, o->runs);
			off += apart;
			runs += o->runs.v;
		}
	}
	if (runs > 0)
		out.apart = off / runs;
	return out;
}

void blocks_free(struct blocks *b)
{
	for (size_t i = 0; i < b->n; i++)
		block_function_free(&b->f[i]);
	free(b->f);
	*b = (struct blocks){ 0 };
}
