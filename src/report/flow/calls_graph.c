/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls_graph - calls as a graph: the hottest functions until they have 95 % of all calls, with
 * their callers; or one function with its neighbours.
 *
 * A leaf that is called from everywhere (malloc, memcpy) would hide the rest under its edges: if it
 * has more than 50 callers, only the heaviest few edges are drawn, with a note in the node. So it
 * does of edges that are too light to be drawn.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "show/fold.h"
#include "base/xalloc.h"
#include "report/calls_view.h"
#include "report/page.h"
#include "show/graph.h"

#define TOLD	     0.95
#define FUNCTIONS    50
#define NEIGHBOURS   25
#define MANY_CALLERS 50	   /* of a leaf */
#define FEW_CALLERS  8	   /* that are drawn of those */
#define LIGHT	     0.002 /* of all calls: an edge that is not drawn */
#define NAME_COLUMNS 36

struct drawing {
	const struct calls_view *v;
	struct graph *g;
	uint32_t *node; /* by function; GRAPH_NONE */
	bool *drawn;	/* by edge */
	struct folds names;
	struct err *err;
};

static bool hides_callers(const struct call_function *f)
{
	return !f->n_callees && f->n_callers > MANY_CALLERS;
}

/* ---- functions and edges --------------------------------------------------------------------- */

/* Returns how many functions, hottest first, have enough of the calls. */
static size_t hot_functions(const struct calls_view *v)
{
	size_t most = v->limit ? v->limit : FUNCTIONS, n = 0;
	double told = 0;

	for (; n < v->c->n && n < most && told < TOLD * v->c->runs.v; n++)
		told += v->c->f[n].called.v;
	return n;
}

/* The edges into a function that are drawn: the heavy ones, and always the heaviest. */
static void choose_into(struct drawing *d, uint32_t f)
{
	const struct calls *c = d->v->c;
	const struct call_function *x = &c->f[f];
	size_t most = hides_callers(x) ? FEW_CALLERS : x->n_callers;

	for (size_t i = 0; i < x->n_callers && i < most; i++) {
		uint32_t e = c->by_callee[x->first_caller + i];

		if (!i || c->edge[e].runs.v >= LIGHT * c->runs.v)
			d->drawn[e] = true;
	}
}

/* Connects the graph: if no drawn edge leads to a drawn caller, its heaviest one is drawn, too. */
static void hang(struct drawing *d)
{
	const struct calls *c = d->v->c;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < c->n_edges; i++) {
			const struct call_function *f = &c->f[c->edge[i].caller];
			uint32_t best = UINT32_MAX;
			bool hangs = !d->drawn[i];

			for (size_t k = 0; k < f->n_callers && !hangs; k++) {
				uint32_t e = c->by_callee[f->first_caller + k];

				if (c->edge[e].caller == c->edge[e].callee)
					continue;
				hangs = d->drawn[e];
				best = best == UINT32_MAX ? e : best;
			}
			if (hangs || best == UINT32_MAX)
				continue;
			d->drawn[best] = more = true;
		}
	}
}

static void choose_calls(struct drawing *d)
{
	const struct calls *c = d->v->c;
	size_t most = d->v->limit ? d->v->limit : NEIGHBOURS;
	const struct call_function *f;

	if (d->v->function == CALLS_ALL) {
		size_t n = hot_functions(d->v);

		for (uint32_t i = 0; i < n; i++)
			choose_into(d, i);
		hang(d);
		return;
	}
	f = &c->f[d->v->function];
	for (size_t i = 0; i < f->n_callers && i < most; i++)
		d->drawn[c->by_callee[f->first_caller + i]] = true;
	for (size_t i = 0; i < f->n_callees && i < most; i++)
		d->drawn[f->first_callee + i] = true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint32_t callers_not_drawn(const struct drawing *d, uint32_t f)
{
	const struct call_function *x = &d->v->c->f[f];
	uint32_t n = 0;

	for (size_t i = 0; i < x->n_callers; i++)
		n += !d->drawn[d->v->c->by_callee[x->first_caller + i]];
	return n;
}

static void put_called(struct buf *b, const struct calls_view *v, const struct call_function *f)
{
	char n[NUM_MAX], e[NUM_MAX];

	if (!v->c->scaled)
		buf_printf(b, "%s of calls", page_share(n, calls_share(v, f->called.v)));
	else if (f->called.v > 0)
		buf_printf(b, "called %s %s", page_estimate(n, f->called.v),
			   page_error(e, f->called));
	else
		buf_printf(b, "not seen called");
}

static void put_safe_name(struct buf *b, const struct calls_view *v, uint32_t f)
{
	struct buf name = BUF_INIT;

	calls_put_name(&name, v, f);
	text_put_safe(b, buf_str(&name), false);
	buf_free(&name);
}

/* Names of all functions that are drawn: two of them never look alike. */
static void settle_call_graph_names(struct drawing *d)
{
	const struct calls *c = d->v->c;
	struct buf name = BUF_INIT;

	for (size_t i = 0; i < 2 * c->n_edges; i++) {
		const struct call_edge *e = &c->edge[i / 2];

		if (!d->drawn[i / 2])
			continue;
		buf_reset(&name);
		put_safe_name(&name, d->v, i % 2 ? e->callee : e->caller);
		folds_add(&d->names, buf_str(&name), 0);
	}
	if (d->v->function != CALLS_ALL) { /* may have no edge */
		buf_reset(&name);
		put_safe_name(&name, d->v, d->v->function);
		folds_add(&d->names, buf_str(&name), 0);
	}
	folds_settle(&d->names, NAME_COLUMNS, false);
	buf_free(&name);
}

static int put_call_graph_node(struct drawing *d, uint32_t f)
{
	const struct calls_view *v = d->v;
	const struct call_function *x = &v->c->f[f];
	uint32_t hidden = callers_not_drawn(d, f);
	struct buf line[5] = { BUF_INIT }, tip = BUF_INIT;
	struct graph_node n = { .cost = calls_share(v, x->called.v),
				.rank = x->called.v + x->tailed.v + x->calls.v };
	size_t k = 0, lines = 0;
	char a[NUM_MAX];

	if (d->node[f] != GRAPH_NONE)
		return 0;
	put_safe_name(&tip, v, f);
	buf_puts(&line[k++], folds_get(&d->names, buf_str(&tip), 0));
	buf_reset(&tip);
	put_called(&line[k++], v, x);
	if (v->c->scaled && x->called.v > 0)
		buf_printf(&line[k++], "%s of calls", page_share(a, n.cost));
	if (v->c->scaled && x->tailed.v > 0)
		buf_printf(&line[k++], "tail-called %s", page_estimate(a, x->tailed.v));
	if (hidden)
		buf_printf(&line[k++], "%s of %u callers not drawn", num_exact(a, hidden),
			   (unsigned)x->n_callers);
	buf_printf(&tip, "%s  %s", calls_name(v, f), calls_dso(v, f));
	for (; lines < k; lines++)
		n.line[lines] = buf_str(&line[lines]);
	n.tooltip = buf_str(&tip);
	n.kind = f == v->function ? GRAPH_FOCUS : x->symbol ? GRAPH_BOX : GRAPH_OUTSIDE;
	d->node[f] = graph_node(d->g, &n);
	for (size_t i = 0; i < sizeof(line) / sizeof(*line); i++)
		buf_free(&line[i]);
	buf_free(&tip);
	return d->node[f] == GRAPH_NONE ? err_nomem(d->err) : 0;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static int put_call_graph_edge(struct drawing *d, const struct call_edge *e)
{
	const struct calls_view *v = d->v;
	double wrong = calls_mispredicted(&e->tally);
	struct buf label = BUF_INIT, more = BUF_INIT, tip = BUF_INIT;
	struct graph_edge out = { .from = d->node[e->caller],
				  .to = d->node[e->callee],
				  .kind = e->tail ? GRAPH_TAIL : GRAPH_TAKEN,
				  .weight = e->runs.v };
	char a[NUM_MAX], b[NUM_MAX];
	int rc;

	buf_puts(&label, v->c->scaled ? page_estimate(a, e->runs.v)
				      : page_share(a, calls_share(v, e->runs.v)));
	if (wrong >= 0.01)
		buf_printf(&more, "%s mispred.", page_share(a, wrong));
	buf_printf(&tip, "%s -> %s: %s, %s of all calls, %u sites, mispredicted %s",
		   calls_name(v, e->caller), calls_name(v, e->callee),
		   *calls_how(v, e) ? calls_how(v, e) : "calls",
		   page_share(a, calls_share(v, e->runs.v)), (unsigned)e->sites,
		   page_share(b, wrong));
	out.label = buf_str(&label);
	out.more = more.len ? buf_str(&more) : NULL;
	out.tooltip = buf_str(&tip);
	rc = graph_edge(d->g, &out);
	buf_free(&label);
	buf_free(&more);
	buf_free(&tip);
	return rc ? err_nomem(d->err) : 0;
}

static int put_call_graph_notes(struct drawing *d)
{
	const struct calls *c = d->v->c;
	double drawn = 0;
	bool tail = false;
	char a[NUM_MAX];
	int rc = 0;

	for (size_t i = 0; i < c->n_edges; i++) {
		drawn += d->drawn[i] && !c->edge[i].tail ? c->edge[i].runs.v : 0;
		tail |= d->drawn[i] && c->edge[i].tail;
	}
	rc |= graph_note(d->g, "arrows: %s; together %s of the calls seen",
			 c->scaled ? "number of calls" : "share of the calls seen",
			 page_share(a, calls_share(d->v, drawn)));
	if (tail)
		rc |= graph_note(d->g, "dotted arrows: tail calls");
	if (!c->scaled)
		rc |= graph_note(d->g, "the event does not count calls: only shares are known");
	return rc ? err_nomem(d->err) : 0;
}

struct graph *calls_graph(const void *view, struct err *err)
{
	const struct calls_view *v = view;
	struct drawing d = { .v = v, .err = err };
	struct buf title = BUF_INIT;
	int rc = -1;

	if (!v->c->n_edges) {
		(void)err_set(err, ERR_NOT_FOUND, "there are no calls to be drawn");
		(void)err_hint(err, "cyclade calls without --format says why");
		return NULL;
	}
	if (v->function == CALLS_ALL)
		buf_printf(&title, "calls, told by %s", calls_by(v->c));
	else
		buf_printf(&title, "callers and callees of %s", calls_name(v, v->function));
	d.g = graph_new(buf_str(&title), GRAPH_DOWN, err);
	d.node = xmalloc((v->c->n + 1) * sizeof(*d.node));
	d.drawn = xcalloc(v->c->n_edges + 1, sizeof(*d.drawn));
	if (!d.g) {
		(void)err_nomem(err);
		goto out;
	}
	memset(d.node, 0xff, (v->c->n + 1) * sizeof(*d.node));
	choose_calls(&d);
	settle_call_graph_names(&d);
	if (v->function != CALLS_ALL && put_call_graph_node(&d, v->function))
		goto out;
	for (size_t i = 0; i < v->c->n_edges; i++) {
		const struct call_edge *e = &v->c->edge[i];

		if (d.drawn[i] &&
		    (put_call_graph_node(&d, e->caller) || put_call_graph_node(&d, e->callee) ||
		     put_call_graph_edge(&d, e)))
			goto out;
	}
	rc = put_call_graph_notes(&d);
out:
	free(d.node);
	free(d.drawn);
	rc |= d.names.failed ? err_nomem(err) : 0;
	folds_free(&d.names, &title);
	buf_free(&title);
	if (rc) {
		graph_free(d.g);
		return NULL;
	}
	return d.g;
}
