/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the numbers of an account rest on, in sentences; and the commands worth typing next.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "report/account/account_int.h"
#include "report/facts.h"

struct list {
	struct arena *a;
	const char **label, **text;
	size_t n, most;
};

static void add(struct list *l, const char *label, struct buf *b)
{
	const char *text;

	if (l->n == l->most || !b->len)
		return;
	text = b->failed ? NULL : arena_strndup(l->a, b->s, b->len);
	buf_reset(b);
	if (!text)
		return;
	l->label[l->n] = label;
	l->text[l->n++] = text;
}

/* A list of names that says how many more there are. */
struct names {
	struct buf *b;
	size_t n, shown;
	bool all;
};

static void put_name(struct names *x, const char *name)
{
	x->n++;
	if (!x->all && x->shown == 4)
		return;
	if (x->shown++)
		buf_puts(x->b, ", ");
	text_put_safe(x->b, name, false);
}

static void end_names(struct names *x)
{
	if (x->n > x->shown)
		buf_printf(x->b, " and %zu more (-v)", x->n - x->shown);
}

static void clocks(struct list *l, const struct account_view *v, struct buf *b)
{
	const struct account_bound *bd = v->source.bound;
	char num[NUM_MAX];
	bool asks = false, ns = false;

	for (size_t i = 0; i < bd->acc->n; i++) {
		asks |= bd->acc->node[i].reference;
		ns |= bd->acc->node[i].ns;
	}
	if (!isnan(bd->clock_ratio))
		buf_printf(b, "%.3f core cycles in a cycle of the reference clock",
			   bd->clock_ratio);
	if (ns && !isnan(bd->ghz))
		buf_printf(b, "%s%.2f GHz%s, of which costs in ns are made", b->len ? "; " : "",
			   bd->ghz, bd->nominal ? " (nominal, not measured)" : "");
	else if (ns)
		buf_printf(b,
			   "%snothing tells their frequency: costs in ns cannot be told, and "
			   "branches with them are lower bounds (>); --penalties takes cycles",
			   b->len ? "; " : "");
	if (asks && isnan(bd->clock_ratio))
		buf_printf(b,
			   "%sno %s was recorded: costs in reference cycles cannot be told, and "
			   "branches with them are lower bounds (>)",
			   b->len ? "; " : "", account_event_name(v, bd->acc->reference));
	add(l, "clocks", b);
	if (!isnan(bd->halted))
		buf_printf(b, "%s of the CPUs' time", num_percent(num, bd->halted));
	add(l, "halted", b);
}

static bool of_several(const struct account_view *v)
{
	return v->source.n_all > 1;
}

static void multiplexed(struct list *l, const struct account_view *v, struct buf *b)
{
	const struct mux_event *m;
	double least = INFINITY, most = 0;
	size_t n, worst = 0;

	if (!v->source.mux || !mux_told(v->source.mux)) {
		buf_puts(b,
			 "the recording does not tell how long each event had a counter: if they "
			 "took turns, what is rarer than the cycles is too small");
		add(l, "multiplexed", b);
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
			   "periods are weighed by %.2f to %.2f, each at its time; most: ", least,
			   most);
		text_put_safe(b, v->source.view->event[worst].name, false);
	}
	add(l, "multiplexed", b);
}

static bool uses(const struct account *acc, uint32_t event)
{
	for (size_t i = 0; i < acc->n; i++)
		if (acc->node[i].event == event && acc->node[i].cover != COVER_NONE)
			return true;
	return event == acc->reference;
}

static void missing(struct list *l, const struct account_view *v, struct buf *b)
{
	const struct account_bound *bd = v->source.bound;
	const struct account *acc = bd->acc;
	struct names x = { .b = b, .all = v->opts.all };

	for (uint32_t e = 0; e < acc->model->n_events; e++)
		if (bd->event[e] < 0 && uses(acc, e))
			put_name(&x, acc->model->event[e].name);
	end_names(&x);
	add(l, "not recorded", b);
	x = (struct names){ .b = b, .all = v->opts.all };
	for (uint32_t e = 0; e < acc->model->n_events; e++)
		if (bd->event[e] >= 0 && !v->whole[bd->event[e]].samples)
			put_name(&x, v->source.view->event[bd->event[e]].name);
	end_names(&x);
	if (b->len)
		buf_puts(b, x.n == 1 ? " (rarer than its period, or without a counter)"
				     : " (rarer than their period, or without a counter)");
	add(l, "no sample", b);
}

/* Is the recording's event of a tree of another kind of cores? */
static bool used_elsewhere(const struct account_view *v, size_t event)
{
	for (size_t i = 0; i < v->source.n_all; i++)
		if (account_uses(v->source.all[i], event))
			return true;
	return false;
}

static void not_used(struct list *l, const struct account_view *v, struct buf *b)
{
	const struct account_bound *bd = v->source.bound;
	struct names x = { .b = b, .all = v->opts.all };

	for (size_t i = 0; i < bd->n_unknown; i++)
		if (!used_elsewhere(v, bd->unknown[i]))
			put_name(&x, v->source.view->event[bd->unknown[i]].name);
	end_names(&x);
	add(l, "not in a tree", b);
}

static void doubts(struct list *l, const struct account_view *v, struct buf *b)
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
			add(l, "disagree ?", b);
		}
		if (c->overlap) {
			bool counts = t->event != MODEL_NONE && t->penalty <= 1;

			buf_printf(
				b, "%s %s, more than %s %s: %s", t->name, num_count(x, c->v),
				acc->node[within].name, num_count(y, bd->whole[within].v),
				counts ? "both count cycles; were they recorded of the same, and "
					 "weighed right?"
				       : "penalties overlapped in time, or are too large for "
					 "this machine (--penalties)");
			add(l, "overlap ^", b);
		}
	}
}

size_t account_view_facts(const struct account_view *v, struct arena *a, const char **label,
			  const char **text, size_t most)
{
	const struct view fake = { .profile = v->source.profile, .source = *v->source.view };
	struct list l = { a, label, text, 0, most };
	struct buf b = BUF_INIT;
	struct fact f[FACTS_MAX];
	size_t n;

	clocks(&l, v, &b);
	multiplexed(&l, v, &b);
	missing(&l, v, &b);
	doubts(&l, v, &b);
	if (of_several(v) && v->source.bound != v->source.all[v->source.n_all - 1])
		goto out;
	not_used(&l, v, &b);
	n = facts_of_recording(&fake, f);
	for (size_t i = 0; i < n; i++) {
		const char *name = arena_strdup(a, f[i].label);

		buf_puts(&b, f[i].text);
		add(&l, name ? name : "", &b);
	}
	for (size_t i = 0; i < v->source.n_notes; i++) {
		buf_puts(&b, v->source.notes[i]);
		add(&l, "note", &b);
	}
	for (size_t i = 0; i < v->source.view->n_notes; i++) {
		text_put_safe(&b, v->source.view->notes[i], false);
		add(&l, "note", &b);
	}
out:
	buf_free(&b);
	return l.n;
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

/* The largest branch that has parts and was not opened. */
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

size_t account_next(const struct account_view *v, struct next out[NEXT_MAX], struct arena *a)
{
	const struct account *acc = v->source.bound->acc;
	struct next_list l = { .v = out, .a = a, .input = v->source.view->input };
	const char *name = hottest(v);

	if (name)
		next_add(&l, "annotate --account", "", name, "its instructions by branch");
	if (closed_branch(v))
		next_add(&l, "report --account", "--expand", closed_branch(v),
			 "what it is made of");
	if (v->n_columns)
		next_add(&l, "explain", "", acc->node[v->column[0]].name,
			 "what it means, and what to try");
	return l.n;
}
