/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The basis of an account's figures, in sentences; and the commands worth typing next.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/account/account_int.h"

/* A line below the tables; of several kinds of cores with the name of this one. */
static void add_basis(struct document *d, const struct account_view *v, const char *label,
		      struct buf *b)
{
	bool several = v->source.n_all > 1;

	if (b->len)
		document_fact(d, label, false, "%s%s%s", several ? v->source.pmu : "",
			      several ? ": " : "", buf_str(b));
	buf_reset(b);
}

/* A list of names, with the number of further ones. */
struct names {
	struct buf *b;
	size_t n, shown;
	bool all;
};

static void put_basis_name(struct names *x, const char *name)
{
	x->n++;
	if (!x->all && x->shown == 4)
		return;
	if (x->shown++)
		buf_puts(x->b, ", ");
	buf_puts(x->b, name);
}

static void end_names(struct names *x)
{
	if (x->n > x->shown)
		buf_printf(x->b, " and %zu more (-v)", x->n - x->shown);
}

static void clocks(struct document *d, const struct account_view *v, struct buf *b)
{
	const struct account_bound *bd = v->source.bound;
	char num[NUM_MAX];
	bool asks = false, ns = false;

	for (size_t i = 0; i < bd->acc->n; i++) {
		asks |= bd->acc->node[i].reference;
		ns |= bd->acc->node[i].ns;
	}
	if (!isnan(bd->clock_ratio))
		buf_printf(b, "%.3f core cycles per reference cycle", bd->clock_ratio);
	if (ns && !isnan(bd->ghz))
		buf_printf(b, "%s%.2f GHz%s for costs in ns", b->len ? "; " : "", bd->ghz,
			   bd->nominal ? " (nominal, not measured)" : "");
	else if (ns)
		buf_printf(b,
			   "%sfrequency unknown: costs in ns have no value, and branches "
			   "with them are lower bounds (>); --penalties takes cycles",
			   b->len ? "; " : "");
	if (asks && isnan(bd->clock_ratio))
		buf_printf(b,
			   "%s%s was not recorded: costs in reference cycles have no value, and "
			   "branches with them are lower bounds (>)",
			   b->len ? "; " : "", account_event_name(v, bd->acc->reference));
	add_basis(d, v, "clocks", b);
	if (!isnan(bd->halted))
		buf_printf(b, "%s of the CPUs' time", num_percent(num, bd->halted));
	add_basis(d, v, "halted", b);
}

static bool of_several(const struct account_view *v)
{
	return v->source.n_all > 1;
}

static void basis_multiplexed(struct document *d, const struct account_view *v, struct buf *b)
{
	const struct mux_event *m;
	double least = INFINITY, most = 0;
	size_t n, worst = 0;

	if (!v->source.mux || !mux_told(v->source.mux)) {
		buf_puts(b, "not known: the times on a counter were not recorded. If events shared "
			    "counters, all but the cycles are underestimated");
		add_basis(d, v, "multiplexed", b);
		return;
	}
	m = mux_events(v->source.mux, &n);
	for (size_t e = 0; e < n; e++) {
		if (!m[e].told || !(m[e].mean > 0) ||
		    (of_several(v) && !account_uses(v->source.bound, e)))
			continue;
		if (m[e].mean < least)
			least = m[e].mean;
		if (m[e].mean > most) {
			most = m[e].mean;
			worst = e;
		}
	}
	if (!(most > 0))
		return;
	if (most < 1.005)
		buf_puts(b, "no: every event had a counter all of the time");
	else {
		buf_printf(b,
			   "periods are multiplied by %.2f to %.2f for the time without a counter; "
			   "most: ",
			   least, most);
		buf_puts(b, v->source.view->event[worst].name);
	}
	add_basis(d, v, "multiplexed", b);
}

static void missing_events(struct document *d, const struct account_view *v, struct buf *b)
{
	const struct account_bound *bd = v->source.bound;
	const struct account *acc = bd->acc;
	struct names x = { .b = b, .all = v->opts.all };

	for (uint32_t e = 0; e < acc->model->n_events; e++)
		if (bd->event[e] < 0 && account_wants(v, e))
			put_basis_name(&x, acc->model->event[e].name);
	end_names(&x);
	add_basis(d, v, "not recorded", b);
	x = (struct names){ .b = b, .all = v->opts.all };
	for (uint32_t e = 0; e < acc->model->n_events; e++)
		if (bd->event[e] >= 0 && !v->whole[bd->event[e]].samples && !bd->dead[bd->event[e]])
			put_basis_name(&x, v->source.view->event[bd->event[e]].name);
	end_names(&x);
	if (b->len)
		buf_puts(b, x.n == 1 ? " (rarer than its period, or without a counter)"
				     : " (rarer than their period, or without a counter)");
	add_basis(d, v, "no sample", b);
}

/* Returns true if the recording's event is of a tree of another kind of cores. */
static bool used_elsewhere(const struct account_view *v, size_t event)
{
	for (size_t i = 0; i < v->source.n_all; i++)
		if (account_uses(v->source.all[i], event))
			return true;
	return false;
}

/* Each event that failed, and the nodes that rest on it. */
static void failures(struct document *d, const struct account_view *v, struct buf *b)
{
	const struct account_bound *bd = v->source.bound;
	const struct account *acc = bd->acc;

	for (uint32_t e = 0; bd->wrong && e < acc->model->n_events; e++) {
		size_t n = 0;

		for (size_t i = 0; i < acc->n; i++)
			n += bd->whole[i].failed == e;
		if (!n)
			continue;
		buf_printf(b, "%s %s: %zu nodes rest on it", acc->model->event[e].name,
			   bd->wrong[e], n);
		add_basis(d, v, "failed ?", b);
	}
}

static void doubts(struct document *d, const struct account_view *v, struct buf *b)
{
	const struct account_bound *bd = v->source.bound;
	const struct account *acc = bd->acc;
	char x[NUM_MAX], y[NUM_MAX];

	for (size_t i = 0; i < acc->n; i++) {
		const struct account_node *t = &acc->node[i];
		const struct account_cell *c = &bd->whole[i];
		uint32_t within = t->within == MODEL_NONE ? 0 : t->within;

		if (c->disagrees) {
			buf_printf(b, "%s %s, %s %s: they should measure the same", t->name,
				   num_count(x, c->v), acc->node[t->same].name,
				   num_count(y, bd->whole[t->same].v));
			add_basis(d, v, "disagree ?", b);
		}
		if (c->overlap) {
			bool counts = t->event != MODEL_NONE && t->penalty <= 1;

			buf_printf(b, "%s %s, more than %s %s: %s", t->name, num_count(x, c->v),
				   acc->node[within].name, num_count(y, bd->whole[within].v),
				   counts ? "both count cycles: check that they were recorded "
					    "together, on the same CPUs"
					  : "penalties overlapped in time, or are too large for "
					    "this machine (--penalties)");
			add_basis(d, v, "overlap ^", b);
		}
	}
}

void account_put_facts(struct document *d, struct account_view *v)
{
	struct buf b = BUF_INIT;

	clocks(d, v, &b);
	basis_multiplexed(d, v, &b);
	missing_events(d, v, &b);
	doubts(d, v, &b);
	failures(d, v, &b);
	if (v->source.bound == v->source.all[v->source.n_all - 1]) {
		const struct account_bound *bd = v->source.bound;
		struct names x = { .b = &b, .all = v->opts.all };

		for (size_t i = 0; i < bd->n_unknown; i++)
			if (!used_elsewhere(v, bd->unknown[i]))
				put_basis_name(&x, v->source.view->event[bd->unknown[i]].name);
		end_names(&x);
		add_basis(d, v, "not in a tree", &b);
	}
	buf_free(&b);
}

/* ---- next ---- */

static const char *hottest(const struct account_view *v)
{
	for (size_t i = 0; i < v->n_rows; i++)
		/* a sum has but the first of its rows */
		if (!v->row[i].sum && v->row[i].row && v->row[i].row->symbol && v->row[i].cycles)
			return v->row[i].row->symbol->name;
	return NULL;
}

/* Returns the largest branch that has parts and was not opened. */
static const char *closed_branch(const struct account_view *v)
{
	const struct account *acc = v->source.bound->acc;

	for (size_t i = 0; i < v->n_columns; i++) {
		bool opened = i + 1 < v->n_columns && v->indent[i + 1] > v->indent[i];

		for (size_t k = 0; !opened && k < acc->n; k++)
			if (acc->node[k].parent == v->column[i])
				return acc->node[v->column[i]].name;
	}
	return NULL;
}

void account_put_next(struct document *d, const struct account_view *v)
{
	const struct account *acc = v->source.bound->acc;
	const char *models = v->source.models, *expand, *model;
	struct next_list l = { .v = d->next, .a = &d->a, .input = v->source.view->input };
	const char *name = hottest(v);

	expand = arena_xprintf(&d->a, "%s%s--expand", models, *models ? " " : "");
	/* the recording may be of another CPU than this one */
	model = arena_xprintf(&d->a, "%s%s--model %s", models, *models ? " " : "", acc->model->id);
	if (name)
		next_add(&l, "annotate --account", models, name, "its instructions by branch");
	if (closed_branch(v))
		next_add(&l, "report --account", expand, closed_branch(v), "its parts");
	if (v->n_columns)
		next_add(&l, "explain", model, acc->node[v->column[0]].name,
			 "what it means, and what to try");
	d->n_next = l.n;
}
