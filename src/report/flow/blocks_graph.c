/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_graph - the control flow of one function as a graph: a box for each block that ran, arrows
 * as it went. The graph is of the function with most instructions, of those that a name means, or
 * of all.
 *
 * A call leaves the function and comes back; between the block that ends with it and the next there
 * is no edge, but readers expect an arrow there: it has the number of those that came back.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "show/fold.h"
#include "base/xalloc.h"
#include "report/blocks_view.h"
#include "report/page.h"
#include "show/graph.h"

#define NAME_COLUMNS 36
#define BOXES	     120 /* without --limit: more cannot be read */

struct drawing {
	const struct blocks_view *v;
	const struct block_function *f;
	struct graph *g;
	uint32_t *node; /* by block; GRAPH_NONE: did not run */
	struct folds names;
	bool settled; /* names are all known, and shortened */
	struct err *err;
};

static uint8_t block_graph_flow_of(const struct drawing *d, uint32_t block)
{
	return d->f->code->block[block].flow;
}

static bool comes_back(uint8_t flow)
{
	return flow == INSN_CALL || flow == INSN_SYSTEM;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The first walk over the boxes collects names, the second has them short: no two look alike. */
static void put_block_graph_name(struct buf *b, struct drawing *d, const char *name, size_t taken)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, name, false);
	if (d->settled)
		buf_puts(b, folds_get(&d->names, buf_str(&safe), taken));
	else
		folds_add(&d->names, buf_str(&safe), taken);
	buf_free(&safe);
}

static void put_block_graph_place(struct buf *b, struct drawing *d, uint32_t i)
{
	struct source_line at = blocks_line(d->v, d->f, i);

	if (i)
		buf_printf(b, "+0x%x", d->f->code->block[i].start);
	else
		put_block_graph_name(b, d, d->f->symbol->name, 0);
	if (at.file) {
		buf_puts(b, "  ");
		put_block_graph_name(b, d, path_base(at.file), 12);
		buf_printf(b, ":%u", at.line);
	}
}

/* Puts the target of most of its ways out of the function: "calls strcmp", and the number of
 * others. */
static void put_leaves(struct buf *b, struct drawing *d, uint32_t i)
{
	const struct block_edge *best = NULL;
	const struct symbol *s;
	const char *dso;
	size_t n = 0;

	if (block_graph_flow_of(d, i) == INSN_RETURN) {
		buf_puts(b, "returns");
		return;
	}
	for (size_t k = 0; k < d->f->n_edges; k++) {
		const struct block_edge *e = &d->f->edge[k];

		if (e->from != i || e->to != CODE_NONE || e->fallthrough)
			continue;
		if (!best || e->runs.v > best->runs.v)
			best = e;
		n++;
	}
	if (!best)
		return;
	s = blocks_symbol(d->v, &best->other, &dso);
	buf_puts(b, block_graph_flow_of(d, i) == INSN_CALL     ? "calls "
		    : block_graph_flow_of(d, i) == INSN_SYSTEM ? "system call "
							       : "leaves for ");
	put_block_graph_name(b, d, s ? s->name : dso ? dso : "unmapped code", 0);
	if (n > 1)
		buf_printf(b, " and %zu more", n - 1);
}

static void put_block_graph_runs(struct buf *b, const struct drawing *d, uint32_t i)
{
	const struct block *k = &d->f->block[i];
	char n[NUM_MAX], e[NUM_MAX];

	if (d->v->b->scaled)
		buf_printf(b, "%s runs %s", page_estimate(n, k->runs.v), page_error(e, k->runs));
	else
		buf_printf(b, "seen %s times", num_exact(n, k->hits));
}

static int put_block_graph_node(struct drawing *d, uint32_t i)
{
	const struct code_block *c = &d->f->code->block[i];
	const struct block *k = &d->f->block[i];
	struct buf line[6] = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT };
	struct graph_node n = { .cost = k->runs.v * c->n / d->f->insns.v };
	size_t lines = 0;
	bool failed = false;
	char a[NUM_MAX], b[NUM_MAX];

	put_block_graph_place(&line[0], d, i);
	put_block_graph_runs(&line[1], d, i);
	buf_printf(&line[2], "%" PRIu32 " instruction%s, %s", c->n, c->n == 1 ? "" : "s",
		   page_share(a, n.cost));
	put_leaves(&line[3], d, i);
	if (k->loop != CODE_NONE && d->f->loop[k->loop].head == i) {
		const struct block_loop *l = &d->f->loop[k->loop];

		buf_printf(&line[4], "loop, %s trips %s",
			   isnan(l->trips.v) ? "?" : page_estimate(a, l->trips.v),
			   isnan(l->trips.v) ? "" : page_error(b, l->trips));
	}
	if (k->timed)
		buf_printf(&line[5], "%.1f cycles", k->cycles);
	for (size_t j = 0; j < sizeof(line) / sizeof(*line); j++)
		if (line[j].len)
			n.line[lines++] = buf_str(&line[j]);
	n.rank = n.cost;
	d->node[i] = graph_node(d->g, &n);
	for (size_t j = 0; j < sizeof(line) / sizeof(*line); j++) {
		failed |= line[j].failed;
		buf_free(&line[j]);
	}
	return failed || d->node[i] == GRAPH_NONE ? err_nomem(d->err) : 0;
}

static int settle_block_graph_names(struct drawing *d)
{
	struct buf unused = BUF_INIT;

	for (uint32_t i = 0; i < d->f->code->n_blocks; i++)
		if (d->f->block[i].hits) {
			put_block_graph_place(&unused, d, i);
			put_leaves(&unused, d, i);
			buf_reset(&unused);
		}
	folds_settle(&d->names, NAME_COLUMNS, false);
	d->settled = true;
	buf_free(&unused);
	return d->names.failed ? err_nomem(d->err) : 0;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static int put_block_graph_arrow(struct drawing *d, uint32_t from, uint32_t to,
				 enum graph_edge_kind kind, double runs, uint64_t hits,
				 double wrong)
{
	struct graph_edge e = { .kind = kind, .weight = runs };
	char count[NUM_MAX], more[NUM_MAX + 16], a[NUM_MAX];

	if (d->node[from] == GRAPH_NONE || d->node[to] == GRAPH_NONE)
		return 0;
	e.from = d->node[from];
	e.to = d->node[to];
	e.label = d->v->b->scaled ? page_estimate(count, runs) : num_exact(count, hits);
	if (wrong >= 0.01) {
		(void)snprintf(more, sizeof(more), "%s mispred.", page_share(a, wrong));
		e.more = more;
	}
	return graph_edge(d->g, &e) ? err_nomem(d->err) : 0;
}

static int put_block_graph_edge(struct drawing *d, const struct block_edge *e)
{
	uint8_t flow;

	if (e->from == CODE_NONE || e->to == CODE_NONE)
		return 0;
	flow = block_graph_flow_of(d, e->from);
	return put_block_graph_arrow(d, e->from, e->to,
				     e->fallthrough				? GRAPH_FALLS
				     : flow == INSN_CALL || flow == INSN_RETURN ? GRAPH_TAIL
				     : e->to <= e->from				? GRAPH_BACK
										: GRAPH_TAKEN,
				     e->runs.v, e->hits, blocks_mispredicted(&e->tally));
}

/* Adds returns behind each call, from other functions or from a recursion. */
static int put_returns(struct drawing *d)
{
	size_t n = d->f->code->n_blocks;
	double *runs = xcalloc(n + 1, sizeof(*runs));
	uint64_t *hits = xcalloc(n + 1, sizeof(*hits));
	int rc = 0;

	for (size_t i = 0; i < d->f->n_edges && !rc; i++) {
		const struct block_edge *e = &d->f->edge[i];

		if (e->to == CODE_NONE || e->fallthrough ||
		    (e->from != CODE_NONE && block_graph_flow_of(d, e->from) != INSN_RETURN))
			continue;
		runs[e->to] += e->runs.v;
		hits[e->to] += e->hits;
	}
	for (uint32_t i = 0; i + 1 < n && !rc; i++)
		if (comes_back(block_graph_flow_of(d, i)) && hits[i + 1])
			rc = put_block_graph_arrow(d, i, i + 1, GRAPH_FALLS, runs[i + 1],
						   hits[i + 1], NAN);
	free(runs);
	free(hits);
	return rc;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static bool calls_itself(const struct block_function *f)
{
	for (size_t i = 0; i < f->n_edges; i++)
		if (f->edge[i].from != CODE_NONE && f->edge[i].to != CODE_NONE &&
		    f->code->block[f->edge[i].from].flow == INSN_RETURN)
			return true;
	return false;
}

static int put_block_graph_notes(struct drawing *d, size_t unseen, size_t functions)
{
	bool wrong = false;
	char a[NUM_MAX];
	int rc = 0;

	for (size_t i = 0; i < d->f->n_edges; i++)
		wrong |= blocks_mispredicted(&d->f->edge[i].tally) >= 0.01;
	rc |= graph_note(d->g,
			 "arrows: %s; dashed: runs on, or comes back from a call; double head: "
			 "backwards",
			 d->v->b->scaled ? "times taken" : "times seen");
	if (calls_itself(d->f))
		rc |= graph_note(d->g, "dotted: it calls itself, and returns from that");
	if (wrong)
		rc |= graph_note(d->g, "mispred.: of those that were taken");
	if (unseen)
		rc |= graph_note(d->g, "left out: %s block%s not seen to run", num_exact(a, unseen),
				 unseen == 1 ? "" : "s");
	if (d->v->opts.function && functions > 1)
		rc |= graph_note(d->g, "%s more of such a name", num_exact(a, functions - 1));
	if (!d->v->b->scaled)
		rc |= graph_note(d->g, "the event does not tell how often: only shares compare");
	return rc ? err_nomem(d->err) : 0;
}

static void put_block_graph_title(struct buf *b, const struct drawing *d)
{
	char n[NUM_MAX], e[NUM_MAX];

	buf_printf(b, "%s of %s", d->f->symbol->name, blocks_dso(d->v, d->f));
	if (!d->v->b->scaled)
		return;
	buf_printf(b, ": %s instructions", page_estimate(n, d->f->insns.v));
	if (d->f->calls.v > 0)
		buf_printf(b, ", entered %s times %s", page_estimate(n, d->f->calls.v),
			   page_error(e, d->f->calls));
}

static int fill_of_heat(struct drawing *d, size_t functions)
{
	size_t unseen = 0;

	if (settle_block_graph_names(d))
		return -1;
	for (uint32_t i = 0; i < d->f->code->n_blocks; i++) {
		d->node[i] = GRAPH_NONE;
		unseen += !d->f->block[i].hits;
		if (d->f->block[i].hits && put_block_graph_node(d, i))
			return -1;
	}
	for (size_t i = 0; i < d->f->n_edges; i++)
		if (put_block_graph_edge(d, &d->f->edge[i]))
			return -1;
	if (put_returns(d) || put_block_graph_notes(d, unseen, functions))
		return -1;
	if (graph_cut(d->g, d->v->opts.limit ? d->v->opts.limit : BOXES, 0))
		return err_nomem(d->err);
	return 0;
}

struct graph *blocks_graph(const void *view, struct err *err)
{
	const struct blocks_view *v = view;
	struct drawing d = { .v = v, .err = err };
	struct buf title = BUF_INIT;
	size_t functions = 0;
	int rc = -1;

	for (size_t i = 0; i < v->b->n; i++)
		if (v->b->f[i].code && v->b->f[i].insns.v > 0) {
			d.f = d.f ? d.f : &v->b->f[i];
			functions++;
		}
	if (!d.f) {
		(void)err_set(err, ERR_NOT_FOUND, "no code of what ran is there to be drawn");
		(void)err_hint(err, "--symbols DIR says where the programs are");
		return NULL;
	}
	put_block_graph_title(&title, &d);
	d.g = graph_new(buf_str(&title), GRAPH_DOWN, err);
	d.node = xmalloc((d.f->code->n_blocks + 1) * sizeof(*d.node));
	if (!d.g)
		(void)err_nomem(err);
	else
		rc = fill_of_heat(&d, functions);
	free(d.node);
	rc |= d.names.failed ? err_nomem(err) : 0;
	folds_free(&d.names, &title);
	buf_free(&title);
	if (!rc)
		return d.g;
	graph_free(d.g);
	return NULL;
}
