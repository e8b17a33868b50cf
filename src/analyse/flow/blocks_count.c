/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_count - spans laid over the blocks of one function.
 *
 * Of each block only the spans that begin and end in it are kept; a walk over the blocks then adds
 * them up: runs of a block = runs from the block before + spans that begin here. So the cost of a
 * span does not depend on how many blocks it covers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/blocks_int.h"
#include "base/invariant.h"
#include "base/vec.h"

static uint64_t last_insn(const struct code *c, const struct code_block *b)
{
	return c->start + c->insn[b->insn + b->n - 1].at;
}

/* Splits blocks at the targets of edges. Edges that come back from the kernel after an interrupt
 * may lead anywhere, and make no blocks. */
static int split(struct code *code, const struct flow *flow, uint32_t image, struct err *err)
{
	VEC(uint64_t) leader = VEC_INIT;
	size_t first, n_edges;
	const struct flow_edge *e = flow_edges(flow, &n_edges);
	const uint32_t *into = flow_edges_into(flow);
	size_t n = flow_edges_to(flow, image, code->start, code->start + code->len, &first);
	int rc = -1;

	for (size_t i = first; i < first + n; i++) {
		const struct flow_edge *x = &e[into[i]];

		if (x->from.kind != x->to.kind || (leader.n && *vec_last(&leader) == x->to.addr))
			continue;
		if (vec_push(&leader, x->to.addr)) {
			(void)err_nomem(err);
			goto out;
		}
	}
	if (leader.n)
		(void)code_split(code, leader.v, leader.n);
	rc = 0;
out:
	vec_free(&leader);
	return rc;
}

static int open_code(struct block_part *p)
{
	const struct code *c = p->f.code;
	size_t n = c->n_blocks;

	p->start = calloc(n + 1, sizeof(*p->start));
	p->end = calloc(n + 1, sizeof(*p->end));
	p->stop = calloc(n + 1, sizeof(*p->stop));
	p->f.block = calloc(n + 1, sizeof(*p->f.block));
	if (!p->start || !p->end || !p->stop || !p->f.block)
		return -1;
	p->stop[n] = (uint32_t)n; /* spans past the end stop at none of these */
	for (size_t b = n; b-- > 0;)
		p->stop[b] = block_always_leaves(&c->block[b]) ? (uint32_t)b : p->stop[b + 1];
	return 0;
}

int block_part_open(struct block_part **out, struct code *code, const struct flow *flow,
		    uint32_t image, const struct symbol *symbol, struct err *err)
{
	struct block_part *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p) {
		code_free(code);
		return err_nomem(err);
	}
	p->f.image = image;
	p->f.symbol = symbol;
	p->f.code = code;
	p->f.insns = p->f.calls = FLOW_UNKNOWN;
	if (code && split(code, flow, image, err))
		goto fail;
	if (code && open_code(p)) {
		(void)err_nomem(err);
		goto fail;
	}
	*out = p;
	return 0;
fail:
	block_part_free(p);
	return -1;
}

void block_function_free(struct block_function *f)
{
	code_free(f->code);
	free(f->block);
	free(f->edge);
	for (size_t i = 0; i < f->n_loops; i++) {
		free(f->loop[i].iteration);
		free(f->loop[i].path);
	}
	free(f->loop);
	*f = (struct block_function){ 0 };
}

void block_part_free(struct block_part *p)
{
	if (!p)
		return;
	block_function_free(&p->f);
	free(p->start);
	free(p->end);
	free(p->stop);
	free(p);
}

enum block_drop block_part_span(const struct block_part *p, uint64_t start, uint64_t end,
				struct block_range *r)
{
	const struct code *c = p->f.code;
	const struct code_block *last;

	if (!c || !c->n_blocks)
		return BLOCK_NO_CODE;
	if (code_insn_at(c, start) == CODE_NONE)
		return BLOCK_NOT_AN_INSN;
	r->first = code_block_of(c, start);
	r->past = end >= c->start + c->len;
	if (r->past) {
		r->last = (uint32_t)(c->n_blocks - 1);
		return p->stop[r->first] == c->n_blocks ? BLOCK_DROPS : BLOCK_ALWAYS_TAKEN;
	}
	if (code_insn_at(c, end) == CODE_NONE)
		return BLOCK_NOT_AN_INSN;
	r->last = code_block_of(c, end);
	last = &c->block[r->last];
	if (p->stop[r->first] < r->last)
		return BLOCK_ALWAYS_TAKEN;
	if (last->flow == INSN_OTHER || last_insn(c, last) != end)
		return BLOCK_NOT_A_BRANCH;
	return BLOCK_DROPS;
}

bool block_part_call_at(const struct block_part *p, uint64_t behind, uint64_t *at)
{
	const struct code *c = p->f.code;
	uint32_t b = c ? code_block_of(c, behind - 1) : CODE_NONE;

	if (b == CODE_NONE || c->block[b].flow != INSN_SYSTEM ||
	    c->start + c->block[b].end != behind)
		return false;
	*at = last_insn(c, &c->block[b]);
	return true;
}

void block_part_count(struct block_part *p, const struct block_range *r, bool from_front,
		      const struct flow_weight *w)
{
	block_sum_add(from_front ? &p->in : &p->start[r->first], w->group, w->hits);
	block_sum_add(r->past ? &p->out : &p->end[r->last], w->group, w->hits);
}

/* ---- when all are counted ------------------------------------------------------------------- */

static bool starts_at(const struct code *c, uint32_t b, uint64_t addr)
{
	return b != CODE_NONE && c->start + c->block[b].start == addr;
}

static struct block_edge *put_edge(struct block_function *f, uint32_t from, uint32_t to,
				   const double group[FLOW_SLOTS], uint64_t hits)
{
	struct block_edge *e = &f->edge[f->n_edges++];

	*e = (struct block_edge){ .from = from, .to = to, .hits = hits };
	e->other.image = IMAGE_NONE;
	memcpy(e->group, group, sizeof(e->group));
	return e;
}

static bool inside(const struct block_function *f, const struct flow_place *at)
{
	return at->image == f->image && at->addr - f->code->start < f->code->len;
}

/* A taken branch; ignored if the code has no branch there: it was other code, or an interrupt. */
static void put_taken(struct block_function *f, const struct flow_edge *x, bool user_only)
{
	const struct code *c = f->code;
	bool leaves = inside(f, &x->from), enters = inside(f, &x->to);
	uint32_t from = leaves ? code_block_of(c, x->from.addr) : CODE_NONE;
	uint32_t to = enters ? code_block_of(c, x->to.addr) : CODE_NONE;
	struct block_edge *e;

	if (leaves && (from == CODE_NONE || c->block[from].flow == INSN_OTHER ||
		       last_insn(c, &c->block[from]) != x->from.addr))
		return;
	if (enters && !starts_at(c, to, x->to.addr))
		return;
	if (enters && x->from.kind != x->to.kind && to) {
		if (c->block[to - 1].flow != INSN_SYSTEM)
			return;
		/* return of a system call; counts for its unrecorded entry, too */
		if (user_only)
			from = to - 1;
	}
	e = put_edge(f, from, to, x->w.group, x->w.hits);
	e->tally = x->tally;
	if (from == CODE_NONE || to == CODE_NONE)
		e->other = leaves ? x->to : x->from;
}

/* Fall-through from the last instruction of `b` to the next block or function. */
static void put_fall(struct block_function *f, uint32_t from, uint32_t to, uint64_t other,
		     const struct block_sum *fall)
{
	struct block_edge *e;

	if (!fall->hits)
		return;
	e = put_edge(f, from, to, fall->group, fall->hits);
	e->fallthrough = true;
	if (from == CODE_NONE || to == CODE_NONE)
		e->other = (struct flow_place){ f->image, other, f->kind };
}

static int by_blocks(const void *x, const void *y)
{
	const struct block_edge *a = x, *b = y;

	if (a->from != b->from) /* CODE_NONE, from outside, comes last */
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	if (a->fallthrough != b->fallthrough)
		return a->fallthrough ? -1 : 1;
	if (a->other.image != b->other.image)
		return a->other.image < b->other.image ? -1 : 1;
	return a->other.addr < b->other.addr ? -1 : a->other.addr > b->other.addr;
}

/* The spans that began and ended in a block give its runs and fall-throughs: exact by hits; if
 * there are no hits, the sums are 0, whatever rounding left. */
static void walk(struct block_part *p)
{
	struct block_function *f = &p->f;
	size_t n = f->code->n_blocks;
	struct block_sum on = p->in;

	put_fall(f, CODE_NONE, 0, p->in_from, &p->in);
	for (uint32_t b = 0; b < n; b++) {
		struct block *k = &f->block[b];

		block_sum_add(&on, p->start[b].group, p->start[b].hits);
		memcpy(k->group, on.group, sizeof(k->group));
		k->hits = on.hits;
		f->hits += p->start[b].hits;
		assert(on.hits >= p->end[b].hits); /* spans that end here ran here */
		on.hits -= p->end[b].hits;
		for (unsigned g = 0; g < FLOW_SLOTS; g++) {
			on.group[g] -= p->end[b].group[g];
			if (!on.hits || on.group[g] < 0)
				on.group[g] = 0;
		}
		if (b + 1 < n)
			put_fall(f, b, b + 1, 0, &on);
	}
	put_fall(f, (uint32_t)n - 1, CODE_NONE, f->code->start + f->code->len, &p->out);
}

static void add_times(struct block_function *f, const struct flow *flow)
{
	size_t first, n_spans;
	const struct flow_span *s = flow_spans(flow, &n_spans);
	const struct code *c = f->code;
	size_t n = flow_spans_of(flow, f->image, c->start, c->start + c->len, &first);

	for (size_t i = first; i < first + n; i++) {
		uint32_t b = code_block_of(c, s[i].start);
		double t = (double)s[i].timed, var;
		struct block *k;

		if (!s[i].timed || !starts_at(c, b, s[i].start) ||
		    s[i].end != last_insn(c, &c->block[b]) || c->block[b].flow == INSN_OTHER)
			continue;
		k = &f->block[b];
		k->timed = s[i].timed;
		k->time_stacks = s[i].time_stacks;
		k->times = s[i].times;
		k->cycles = (double)s[i].cycles / t;
		var = ((double)s[i].cycles_sq - (double)s[i].cycles * k->cycles) / (t - 1);
		k->cycles_sd = s[i].timed > 1 ? sqrt(var > 0 ? var : 0) : NAN;
	}
}

static void add_group(double to[FLOW_SLOTS], const double by[FLOW_SLOTS], double factor)
{
	for (unsigned g = 0; g < FLOW_SLOTS; g++)
		to[g] += by[g] * factor;
}

static double total(const double group[FLOW_SLOTS])
{
	double sum = 0;

	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sum += group[g];
	return sum;
}

/* Into its start from outside, and from inside by calls: recursion. */
static bool enters(const struct block_function *f, const struct block_edge *e)
{
	return !e->to && (e->from == CODE_NONE || f->code->block[e->from].flow == INSN_CALL);
}

static void sum_up(struct block_function *f)
{
	const struct code *c = f->code;

	for (size_t b = 0; b < c->n_blocks; b++) {
		f->block[b].flow_in = f->block[b].flow_out = 0;
		add_group(f->group_insns, f->block[b].group, c->block[b].n);
	}
	for (size_t i = 0; i < f->n_edges; i++) {
		const struct block_edge *e = &f->edge[i];
		double w = total(e->group);

		assert(w >= 0 && (e->from == CODE_NONE || e->from < c->n_blocks) &&
		       (e->to == CODE_NONE || e->to < c->n_blocks));
		if (e->from != CODE_NONE)
			f->block[e->from].flow_out += w;
		if (e->to != CODE_NONE)
			f->block[e->to].flow_in += w;
		if (enters(f, e))
			add_group(f->group_calls, e->group, 1);
	}
}

int block_part_close(struct block_part *p, const struct flow *flow, struct err *err)
{
	struct block_function *f = &p->f;
	const struct code *c = f->code;
	size_t n_edges, from, to, n_from, n_to;
	const struct flow_edge *e = flow_edges(flow, &n_edges);
	const uint32_t *into = flow_edges_into(flow);
	const bool user_only = flow_sums(flow)->user_only;

	if (!c || !c->n_blocks)
		return 0;
	n_from = flow_edges_from(flow, f->image, c->start, c->start + c->len, &from);
	n_to = flow_edges_to(flow, f->image, c->start, c->start + c->len, &to);
	f->edge = calloc(n_from + n_to + c->n_blocks + 2, sizeof(*f->edge));
	if (!f->edge)
		return err_nomem(err);
	for (size_t b = 0; b < c->n_blocks; b++) {
		f->block[b].cycles = f->block[b].cycles_sd = NAN;
		f->block[b].times = FLOW_NO_TIMES;
	}
	walk(p);
	for (size_t i = from; i < from + n_from; i++)
		put_taken(f, &e[i], user_only);
	for (size_t i = to; i < to + n_to; i++)
		if (!inside(f, &e[into[i]].from))
			put_taken(f, &e[into[i]], user_only);
	if (f->n_edges > 1)
		qsort(f->edge, f->n_edges, sizeof(*f->edge), by_blocks);
	assert(f->n_edges <= n_from + n_to + c->n_blocks + 2);
	sum_up(f);
	add_times(f, flow);
	return 0;
}

static void scale_group(double group[FLOW_SLOTS], double by)
{
	for (unsigned g = 0; g < FLOW_SLOTS; g++)
		group[g] *= by;
}

void block_scale(struct block_function *f, double scale, double each, struct flow_value unseen)
{
	if (!f->code)
		return;
	for (size_t b = 0; b < f->code->n_blocks; b++) {
		struct block *k = &f->block[b];

		scale_group(k->group, scale);
		k->runs = k->hits ? flow_total_of(k->group, k->hits, each) : unseen;
		k->flow_in *= scale;
		k->flow_out *= scale;
	}
	for (size_t i = 0; i < f->n_edges; i++) {
		scale_group(f->edge[i].group, scale);
		f->edge[i].runs = flow_total_of(f->edge[i].group, f->edge[i].hits, each);
	}
	for (size_t i = 0; i < f->n_loops; i++) {
		f->loop[i].entries.v *= scale; /* trips are a ratio: as they are */
		f->loop[i].entries.half *= scale;
	}
	scale_group(f->group_insns, scale);
	scale_group(f->group_calls, scale);
	f->insns = flow_total(f->group_insns);
	f->calls = flow_total(f->group_calls);
}
