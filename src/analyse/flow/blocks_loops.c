/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_loops - natural loops of a function, and how often each was entered.
 *
 * The graph is that of the code (fall-throughs, returns of calls, direct branches) and of the edges
 * that were seen (indirect jumps). Dominators are found by Cooper, Harvey and Kennedy's iteration
 * over a reverse postorder; a jump to a block that dominates it closes a loop, loops with one head
 * are one. Blocks that nothing is known to lead to, but that ran, are entries, too.
 *
 * An edge from outside that lands behind a call is the call's return: it comes from the block that
 * called.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/blocks_int.h"

/* Steps by edge that are spent on a function: graphs that people write take ten or so. */
#define STEPS_BASE 4096u
#define STEPS_EDGE 256u
#define DEPTH_MAX  256u /* of nested loops */

/* The graph; node n is a root above all entries. */
struct graph {
	uint32_t n;
	uint32_t *first_out,
		*out; /* successors of b: out[first_out[b]] up to out[first_out[b + 1]] */
	uint32_t *first_in, *in;
	uint32_t *order, *number; /* reverse postorder: its nodes, and their places in it */
	uint32_t n_order;
	uint32_t *idom;
	uint32_t *loop; /* innermost loop of a block */
	uint32_t *next; /* of a node on the stack: the successor to look at */
	uint32_t *work; /* a stack of nodes */
	uint64_t steps; /* that may still be made */
};

struct pair {
	uint32_t from, to;
};

struct pairs {
	struct pair *v;
	size_t n;
};

static void add_pair(struct pairs *p, uint32_t from, uint32_t to)
{
	if (from != CODE_NONE && to != CODE_NONE)
		p->v[p->n++] = (struct pair){ from, to };
}

static bool is_entered(const struct block_function *f, const struct block_edge *e)
{
	if (e->from != CODE_NONE || e->to == CODE_NONE)
		return false;
	return !e->to || f->code->block[e->to - 1].flow != INSN_CALL;
}

/* Lists all edges from block to block, and from the root (n) to blocks that are entered from
 * outside. */
static int list_pairs(const struct block_function *f, struct pairs *p)
{
	const struct code *c = f->code;
	uint32_t n = (uint32_t)c->n_blocks;

	p->v = calloc(2 * (size_t)n + f->n_edges + 1, sizeof(*p->v));
	if (!p->v)
		return -1;
	add_pair(p, n, 0);
	for (uint32_t b = 0; b < n; b++) {
		add_pair(p, b, c->block[b].next);
		add_pair(p, b, c->block[b].target);
	}
	for (size_t i = 0; i < f->n_edges; i++) {
		if (is_entered(f, &f->edge[i]))
			add_pair(p, n, f->edge[i].to);
		else
			add_pair(p, f->edge[i].from, f->edge[i].to);
	}
	return 0;
}

/* Returns true for a function that calls itself, or returns to itself: paths of two runs of it,
 * which make no loop. A call leads to the instruction behind it. */
static bool recurses(const struct block_function *f, const struct pair *p)
{
	uint8_t flow = p->from < f->code->n_blocks ? f->code->block[p->from].flow : INSN_OTHER;

	return flow == INSN_RETURN || (flow == INSN_CALL && p->to != p->from + 1);
}

static void bucket(const struct pairs *p, uint32_t *first, uint32_t *to, uint32_t n, bool reverse)
{
	for (size_t i = 0; i < p->n; i++)
		first[(reverse ? p->v[i].to : p->v[i].from) + 1]++;
	for (uint32_t b = 0; b < n; b++)
		first[b + 1] += first[b];
	for (size_t i = p->n; i-- > 0;) { /* filled from behind; first[] ends one bucket back */
		const struct pair *x = &p->v[i];

		to[--first[(reverse ? x->to : x->from) + 1]] = reverse ? x->from : x->to;
	}
	memmove(first, first + 1, n * sizeof(*first));
	first[n] = (uint32_t)p->n;
}

static void graph_free(struct graph *g)
{
	free(g->first_out);
	*g = (struct graph){ 0 };
}

static int graph_make(struct graph *g, const struct block_function *f)
{
	struct pairs p = { NULL, 0 };
	size_t nodes, kept = 0;
	uint32_t *mem;

	*g = (struct graph){ .n = (uint32_t)f->code->n_blocks };
	nodes = (size_t)g->n + 1;
	if (list_pairs(f, &p))
		return -1;
	for (size_t i = 0; i < p.n; i++)
		if (!recurses(f, &p.v[i]))
			p.v[kept++] = p.v[i];
	p.n = kept;
	mem = calloc(9 * (nodes + 1) + 3 * (p.n + 1), sizeof(*mem));
	if (mem) {
		g->first_out = mem;
		g->first_in = g->first_out + nodes + 1;
		g->order = g->first_in + nodes + 1;
		g->number = g->order + nodes + 1;
		g->idom = g->number + nodes + 1;
		g->loop = g->idom + nodes + 1;
		g->next = g->loop + nodes + 1;
		g->out = g->next + nodes + 1;
		g->in = g->out + p.n + 1;
		g->work = g->in + p.n + 1; /* 2 * nodes + p.n at least */
		g->steps = STEPS_BASE + STEPS_EDGE * (uint64_t)(p.n + nodes);
		bucket(&p, g->first_out, g->out, (uint32_t)nodes, false);
		bucket(&p, g->first_in, g->in, (uint32_t)nodes, true);
	}
	free(p.v);
	return mem ? 0 : -1;
}

/* ---- order and dominators -------------------------------------------------------------------- */

/* Appends the nodes below `from` that were not seen yet, in postorder. */
static void walk_from(struct graph *g, uint32_t from)
{
	uint32_t depth = 0;

	if (g->number[from] != CODE_NONE)
		return;
	g->work[depth++] = from;
	g->number[from] = 0;
	g->next[from] = g->first_out[from];
	while (depth) {
		uint32_t b = g->work[depth - 1];

		if (g->next[b] == g->first_out[b + 1]) {
			g->order[g->n_order++] = b;
			depth--;
			continue;
		}
		b = g->out[g->next[b]++];
		if (g->number[b] != CODE_NONE)
			continue;
		g->number[b] = 0;
		g->next[b] = g->first_out[b];
		g->work[depth++] = b;
	}
}

static bool has_ways_in(const struct graph *g, uint32_t b)
{
	return g->first_in[b] != g->first_in[b + 1];
}

/* From a block that ran though nothing known leads to it: an entry, below the root. */
static void walk_entry(struct graph *g, uint32_t b)
{
	if (g->number[b] != CODE_NONE)
		return;
	walk_from(g, b);
	g->idom[b] = g->n;
}

/* Reverse postorder: the root is walked from last, so that it comes first. */
static void number_all(struct graph *g, const struct block_function *f)
{
	memset(g->number, 0xff, (g->n + 1u) * sizeof(*g->number));
	memset(g->idom, 0xff, (g->n + 1u) * sizeof(*g->idom));
	for (uint32_t i = g->first_out[g->n]; i < g->first_out[g->n + 1]; i++)
		walk_entry(g, g->out[i]);
	for (unsigned with = 0; with < 2; with++)
		for (uint32_t b = 0; b < g->n; b++)
			if (f->block[b].hits && has_ways_in(g, b) == with)
				walk_entry(g, b);
	for (uint32_t i = g->first_out[g->n]; i < g->first_out[g->n + 1]; i++)
		g->idom[g->out[i]] = g->n; /* those that another entry leads to, too */
	walk_from(g, g->n);
	for (uint32_t i = 0; i < g->n_order / 2; i++) {
		uint32_t t = g->order[i];

		g->order[i] = g->order[g->n_order - 1 - i];
		g->order[g->n_order - 1 - i] = t;
	}
	for (uint32_t i = 0; i < g->n_order; i++)
		g->number[g->order[i]] = i;
}

static uint32_t meet(struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b && g->steps) {
		g->steps--;
		if (g->number[a] > g->number[b])
			a = g->idom[a];
		else
			b = g->idom[b];
	}
	return a;
}

static uint32_t dominator(struct graph *g, uint32_t b)
{
	uint32_t best = CODE_NONE;

	for (uint32_t k = g->first_in[b]; k < g->first_in[b + 1]; k++) {
		uint32_t from = g->in[k];

		if (g->number[from] == CODE_NONE || g->idom[from] == CODE_NONE)
			continue;
		best = best == CODE_NONE ? from : meet(g, from, best);
	}
	return best;
}

/* Returns -1 if it takes too long. */
static int dominate(struct graph *g)
{
	bool changed = true;

	g->idom[g->n] = g->n;
	while (changed && g->steps) {
		changed = false;
		for (uint32_t i = 1; i < g->n_order && g->steps; i++) {
			uint32_t b = g->order[i], best;

			g->steps--;
			if (g->idom[b] == g->n) /* as an entry for good, or it cannot rise */
				continue;
			best = dominator(g, b);
			changed |= best != g->idom[b];
			g->idom[b] = best;
		}
	}
	return g->steps ? 0 : -1;
}

static bool dominates(struct graph *g, uint32_t a, uint32_t b)
{
	while (g->number[b] > g->number[a] && g->steps) {
		g->steps--;
		b = g->idom[b];
	}
	return a == b;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Returns the outermost loop known so far around a block; paths are made short. */
static uint32_t outermost(uint32_t *up, uint32_t loop)
{
	while (up[loop] != loop) {
		up[loop] = up[up[loop]];
		loop = up[loop];
	}
	return loop;
}

/* Marks the body of loop `l`: from its jumps back to its head, against the edges. Inner loops,
 * which are known already, are taken as a whole. */
static void mark_body(struct graph *g, struct block_loop *loop, uint32_t l, uint32_t *up)
{
	uint32_t head = loop[l].head, depth = 0;

	g->loop[head] = l; /* an inner loop never has the same head */
	loop[l].blocks = 1;
	for (uint32_t k = g->first_in[head]; k < g->first_in[head + 1]; k++)
		if (g->number[g->in[k]] != CODE_NONE && dominates(g, head, g->in[k]))
			g->work[depth++] = g->in[k];
	while (depth) {
		uint32_t b = g->work[--depth];

		if (g->loop[b] != CODE_NONE) {
			uint32_t inner = outermost(up, g->loop[b]);

			if (inner == l)
				continue;
			up[inner] = l;
			loop[inner].parent = l;
			loop[l].blocks += loop[inner].blocks;
			b = loop[inner].head;
		} else {
			g->loop[b] = l;
			loop[l].blocks++;
		}
		for (uint32_t k = g->first_in[b]; k < g->first_in[b + 1]; k++) {
			uint32_t from = g->in[k];
			uint32_t around = from == g->n || g->loop[from] == CODE_NONE
						  ? CODE_NONE
						  : outermost(up, g->loop[from]);

			if (g->number[from] != CODE_NONE && from != g->n && around != l)
				g->work[depth++] = from;
		}
	}
}

/* The loops by their heads, in reverse postorder: outer ones first. -1: memory. */
static int list_heads(struct graph *g, struct block_function *f)
{
	f->loop = calloc(g->n + 1u, sizeof(*f->loop));
	if (!f->loop)
		return -1;
	memset(g->next, 0, (g->n + 1u) * sizeof(*g->next));
	for (uint32_t i = 1; i < g->n_order; i++) {
		uint32_t b = g->order[i];
		bool head = false;

		for (uint32_t k = g->first_in[b]; k < g->first_in[b + 1]; k++) {
			uint32_t from = g->in[k];

			if (g->number[from] == CODE_NONE || g->number[from] < i ||
			    g->next[from] == i) /* in the code, and seen */
				continue;
			g->next[from] = i;
			if (dominates(g, b, from))
				head = true;
			else
				f->irreducible++;
		}
		if (head)
			f->loop[f->n_loops++] =
				(struct block_loop){ .head = b, .parent = CODE_NONE };
	}
	return 0;
}

static int mark_loops(struct graph *g, struct block_function *f)
{
	uint32_t *up = calloc(f->n_loops + 1, sizeof(*up));

	if (!up)
		return -1;
	for (uint32_t l = 0; l < f->n_loops; l++)
		up[l] = l;
	memset(g->loop, 0xff, (g->n + 1u) * sizeof(*g->loop));
	for (uint32_t l = (uint32_t)f->n_loops; l-- > 0;)
		mark_body(g, f->loop, l, up);
	free(up);
	for (size_t l = 0; l < f->n_loops; l++) {
		struct block_loop *p = &f->loop[l];

		p->depth = p->parent == CODE_NONE ? 1 : f->loop[p->parent].depth + 1;
		if (p->depth > DEPTH_MAX)
			g->steps = 0;
	}
	for (uint32_t b = 0; b < g->n; b++)
		f->block[b].loop = g->loop[b];
	return 0;
}

bool block_in_loop(const struct block_function *f, uint32_t block, uint32_t loop)
{
	uint32_t l = f->block[block].loop;

	while (l != CODE_NONE && f->loop[l].depth > f->loop[loop].depth)
		l = f->loop[l].parent;
	return l == loop;
}

bool block_is_innermost(const struct block_function *f, uint32_t loop)
{
	for (size_t l = 0; l < f->n_loops; l++)
		if (f->loop[l].parent == loop)
			return false;
	return true;
}

/* Returns true if an edge to the loop's head comes from outside the loop. */
static bool enters(const struct block_function *f, const struct block_edge *e, uint32_t loop)
{
	uint32_t from = e->from;

	if (from == CODE_NONE && !e->fallthrough && e->to && !is_entered(f, e))
		from = e->to - 1; /* a call came back */
	else if (from != CODE_NONE && !e->fallthrough && f->code->block[from].flow == INSN_CALL)
		return true; /* recursion: another run of the function */
	return from == CODE_NONE || !block_in_loop(f, from, loop);
}

static int count_entries(struct block_function *f)
{
	struct block_sum *sum = calloc(f->n_loops + 1, sizeof(*sum));

	if (!sum)
		return -1;
	for (size_t i = 0; i < f->n_edges; i++) {
		const struct block_edge *e = &f->edge[i];
		uint32_t l = e->to == CODE_NONE ? CODE_NONE : f->block[e->to].loop;

		if (l == CODE_NONE || f->loop[l].head != e->to || !enters(f, e, l))
			continue;
		block_sum_add(&sum[l], e->group, e->hits);
	}
	for (size_t l = 0; l < f->n_loops; l++) {
		struct block_loop *p = &f->loop[l];

		p->entries = flow_total(sum[l].group);
		p->trips = flow_ratio_of(f->block[p->head].group, sum[l].group, sum[l].hits);
	}
	free(sum);
	return 0;
}

/* Keeps the loops that ran; a loop inside of a removed one goes to the next loop around. */
static void keep_run(struct block_function *f, uint32_t *now)
{
	size_t kept = 0;

	for (size_t l = 0; l < f->n_loops; l++) {
		struct block_loop p = f->loop[l];
		uint32_t up = p.parent == CODE_NONE ? CODE_NONE : now[p.parent];

		p.parent = up;
		p.depth = up == CODE_NONE ? 1 : f->loop[up].depth + 1;
		now[l] = f->block[p.head].hits ? (uint32_t)kept : up;
		if (f->block[p.head].hits)
			f->loop[kept++] = p;
	}
	for (size_t b = 0; b < f->code->n_blocks; b++)
		if (f->block[b].loop != CODE_NONE)
			f->block[b].loop = now[f->block[b].loop];
	f->n_loops = kept;
}

static void no_loops(struct block_function *f)
{
	free(f->loop);
	f->loop = NULL;
	f->n_loops = 0;
	f->irreducible = CODE_NONE;
	for (size_t b = 0; b < f->code->n_blocks; b++)
		f->block[b].loop = CODE_NONE;
}

int block_find_loops(struct block_function *f, struct err *err)
{
	struct graph g;
	int rc = -1;

	if (!f->code || !f->code->n_blocks)
		return 0;
	if (graph_make(&g, f))
		return err_nomem(err);
	number_all(&g, f);
	if (dominate(&g)) {
		no_loops(f);
		rc = 0;
		goto out;
	}
	if (list_heads(&g, f) || mark_loops(&g, f))
		goto out;
	if (!g.steps) {
		no_loops(f);
	} else {
		keep_run(f, g.next);
		if (count_entries(f))
			goto out;
	}
	rc = 0;
out:
	graph_free(&g);
	return rc ? err_nomem(err) : 0;
}
