/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/tree_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLD	  0.05
#define DEPTH_MAX 16u

struct maker {
	const struct tree_source *s;
	const struct model *m;
	struct arena *a;
	struct tree_view_row *row;
	size_t n;
	uint32_t *may; /* nodes that may have a row: of hundreds often a few dozen */
	size_t n_may;
	uint32_t *child, *small; /* rooms for as many: each has one parent */
	size_t n_child;
	bool *below; /* by metric: a node below it has a value */
	double fold;
	bool failed;
};

static const struct tree_node *view_node_of(const struct maker *k, uint32_t metric)
{
	return &k->s->tree->node[metric];
}

static bool has_node_value(const struct maker *k, uint32_t metric)
{
	return view_node_of(k, metric)->value.why == VALUE_OK;
}

static const char *unit_of(const struct maker *k, uint32_t metric)
{
	const struct model_metric *m = &k->m->metric[metric];

	return m->domain == DOMAIN_SLOTS ? "" : model_share_of(m);
}

static void add_view_row(struct maker *k, uint32_t metric, uint32_t parent, unsigned depth)
{
	const struct tree_node *n = view_node_of(k, metric);
	double low = 0, high = 0;
	bool bound = tree_bound(n, &low, &high);

	k->row[k->n++] = (struct tree_view_row){
		.metric = metric,
		.parent = parent,
		.name = model_last_part(k->m->metric[metric].path),
		.depth = depth,
		.share = n->shown,
		.unit = unit_of(k, metric),
		.error = n->error,
		.counted = n->counted,
		.open = k->s->all && tree_open_differs(n) ? n->open : (double)NAN,
		.no_error = n->no_error,
		.bound = bound,
		.low = low,
		.high = high,
		.path = n->path,
		.tie = n->tie,
		.over = n->over,
		.doubtful = n->doubt != DOUBT_NONE,
	};
}

/* The sum of siblings that are not worth a row each. */
static void add_other(struct maker *k, const uint32_t *child, size_t n, uint32_t parent_metric,
		      uint32_t parent, unsigned depth)
{
	const char *of = model_last_part(k->m->metric[parent_metric].path);
	struct tree_view_row r = { .metric = MODEL_NONE,
				   .parent = parent,
				   .depth = depth,
				   .unit = "",
				   .error = NAN,
				   .counted = NAN,
				   .open = NAN,
				   .folded = n };
	bool slots = true;

	for (size_t i = 0; i < n; i++) {
		slots &= k->m->metric[child[i]].domain == DOMAIN_SLOTS &&
			 !k->m->metric[child[i]].overlap;
		r.share += view_node_of(k, child[i])->shown;
	}
	/* stalls that overlap have no sum */
	r.name = slots ? arena_printf(k->a, "other_%s", of)
		       : arena_printf(k->a, "(%zu below %.0f %%)", n, k->fold * 100);
	if (!slots)
		r.share = NAN;
	if (!r.name) {
		k->failed = true;
		return;
	}
	k->row[k->n++] = r;
}

static bool level_ok(const struct maker *k, uint32_t metric)
{
	unsigned level = k->m->metric[metric].level;

	return level && (!k->s->level || level <= k->s->level);
}

static bool is_named(const struct maker *k, uint32_t metric)
{
	return k->s->named && k->s->named[metric];
}

static bool is_node_wanted(const struct maker *k, uint32_t metric)
{
	return !k->s->wanted || k->s->wanted[metric];
}

/* Returns true if a node below this one was asked for by name. */
static bool named_below(const struct maker *k, uint32_t metric)
{
	for (uint32_t i = 0; k->s->named && i < k->m->n_metrics; i++) {
		uint32_t up = i;

		if (!k->s->named[i] || !k->m->metric[i].level)
			continue;
		while (up != MODEL_NONE && up != metric)
			up = k->m->metric[up].parent;
		if (up == metric && i != metric)
			return true;
	}
	return false;
}

/* Returns true if it has no value itself, but a node below it does: the way there is shown. */
static bool leads_on(const struct maker *k, uint32_t metric)
{
	return !has_node_value(k, metric) && k->below[metric];
}

static bool keeps_row(const struct maker *k, uint32_t metric, unsigned depth)
{
	const struct tree_node *n = view_node_of(k, metric);

	return !depth || k->s->all || n->path || n->over || n->doubt != DOUBT_NONE ||
	       is_named(k, metric) || named_below(k, metric) || leads_on(k, metric) ||
	       n->shown >= k->fold;
}

static bool opens(const struct maker *k, uint32_t metric)
{
	const struct tree_node *n = view_node_of(k, metric);

	return k->s->all || n->path || n->over || is_named(k, metric) || named_below(k, metric) ||
	       leads_on(k, metric);
}

/* Children in the order of the model; at the top those without parent. */
static size_t children(const struct maker *k, uint32_t parent, uint32_t *out)
{
	size_t n = 0;

	for (size_t at = 0; at < k->n_may; at++) {
		uint32_t i = k->may[at];

		if (k->m->metric[i].parent == parent &&
		    (parent == MODEL_NONE || has_node_value(k, i) || is_named(k, i) ||
		     leads_on(k, i)))
			out[n++] = i;
	}
	/* few: insertion sort by their place in the model */
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j && k->m->metric[out[j]].order < k->m->metric[out[j - 1]].order;
		     j--) {
			uint32_t t = out[j];

			out[j] = out[j - 1];
			out[j - 1] = t;
		}
	return n;
}

static void put_level(struct maker *k, uint32_t parent_metric, uint32_t parent, unsigned depth)
{
	uint32_t *child = k->child + k->n_child, *small = k->small + k->n_child;
	size_t n, n_small = 0, n_kept = 0, last = SIZE_MAX;

	if (depth >= DEPTH_MAX)
		return;
	n = children(k, parent_metric, child);
	k->n_child += n;
	for (size_t i = 0; i < n; i++) {
		if (keeps_row(k, child[i], depth))
			child[n_kept++] = child[i];
		else
			small[n_small++] = child[i];
	}
	if (n_small == 1) { /* a fold of one would only hide its name */
		child[n_kept++] = small[0];
		n_small = 0;
	}
	for (size_t i = 0; i < n_kept; i++) {
		last = k->n;
		add_view_row(k, child[i], parent, depth);
		if (opens(k, child[i]))
			put_level(k, child[i], (uint32_t)last, depth + 1);
	}
	if (n_small) {
		last = k->n;
		add_other(k, small, n_small, parent_metric, parent, depth);
	}
	if (last != SIZE_MAX)
		k->row[last].last = true;
	k->n_child -= n;
}

/* Those that can have a value, of which there are so many; all if that is not known. */
static size_t metrics_of(const struct tree *t)
{
	return t->list ? t->n_list : t->model->n_metrics;
}

static uint32_t metric_at(const struct tree *t, size_t at)
{
	return t->list ? t->list[at] : (uint32_t)at;
}

static int asked_metrics(struct tree_view *out, struct arena *a, const struct tree_source *s,
			 struct err *err)
{
	const struct model *m = s->tree->model;
	size_t n = metrics_of(s->tree);
	uint32_t *list;

	if (!s->named)
		return 0;
	list = arena_alloc(a, (n + 1) * sizeof(*list));
	if (!list)
		return err_nomem(err);
	for (size_t at = 0; at < n; at++) {
		uint32_t i = metric_at(s->tree, at);

		if (!m->metric[i].level && s->named[i])
			list[out->n_metrics++] = i;
	}
	/* as the model lists them: they stand in an order for working out */
	for (size_t i = 1; i < out->n_metrics; i++)
		for (size_t j = i; j && m->metric[list[j]].order < m->metric[list[j - 1]].order;
		     j--) {
			uint32_t t = list[j];

			list[j] = list[j - 1];
			list[j - 1] = t;
		}
	out->metric = list;
	return 0;
}

int tree_view_make(struct tree_view *out, struct arena *a, const struct tree_source *source,
		   struct err *err)
{
	size_t n = metrics_of(source->tree);
	struct maker k = { .s = source, .m = source->tree->model, .a = a };

	memset(out, 0, sizeof(*out));
	out->source = *source;
	k.fold = source->fold > 0 ? source->fold : FOLD;
	/* each node once, and a fold for each at most */
	k.may = arena_alloc(a, (n + 1) * sizeof(*k.may));
	for (size_t at = 0; k.may && at < n; at++) {
		uint32_t i = metric_at(source->tree, at);

		if (level_ok(&k, i) && is_node_wanted(&k, i))
			k.may[k.n_may++] = i;
	}
	k.row = arena_alloc(a, (2 * k.n_may + 2) * sizeof(*k.row));
	k.child = arena_alloc(a, (k.n_may + 1) * sizeof(*k.child));
	k.small = arena_alloc(a, (k.n_may + 1) * sizeof(*k.small));
	k.below = arena_alloc(a, k.m->n_metrics + 1);
	if (!k.row || !k.may || !k.child || !k.small || !k.below)
		return err_nomem(err);
	for (size_t at = 0; at < k.n_may; at++)
		for (uint32_t up = k.m->metric[k.may[at]].parent;
		     has_node_value(&k, k.may[at]) && up != MODEL_NONE && !k.below[up];
		     up = k.m->metric[up].parent)
			k.below[up] = true;
	put_level(&k, MODEL_NONE, TREE_NO_ROW, 0);
	if (k.failed)
		return err_nomem(err);
	out->row = k.row;
	out->n = k.n;
	return asked_metrics(out, a, source, err);
}

uint32_t tree_view_deepest(const struct tree *t)
{
	uint32_t best = MODEL_NONE;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->node[i].path && t->model->metric[i].level &&
		    (best == MODEL_NONE ||
		     t->model->metric[i].level > t->model->metric[best].level))
			best = i;
	return best;
}

bool tree_view_tie(const struct tree *t, uint32_t out[2], bool *known)
{
	double low, high;
	size_t n = 0;

	*known = true;

	for (uint32_t i = 0; i < t->n && n < 2; i++)
		if (t->node[i].tie && t->model->metric[i].level)
			out[n++] = i;
	for (size_t i = 0; i < n; i++)
		*known &= !tree_bound(&t->node[out[i]], &low, &high);
	if (n == 2 && t->node[out[1]].shown > t->node[out[0]].shown) {
		uint32_t larger = out[1];

		out[1] = out[0];
		out[0] = larger;
	}
	return n == 2;
}

void tree_put_bound(struct buf *b, const struct tree_view_row *r)
{
	int digits = r->high < 0.095 ? 1 : 0;

	buf_printf(b, "%.*f-%.*f %%", r->low > 0 ? digits : 0, r->low * 100, digits, r->high * 100);
}

/* ---- why -------------------------------------------------------------------------------- */

static const char *const system_names[SYSTEM_COUNT] = {
	[SYSTEM_SMT_ON] = "whether SMT is on",
	[SYSTEM_CORE_WIDE] = "whether whole cores are counted",
	[SYSTEM_CPUS] = "the number of logical processors",
	[SYSTEM_CPUS_ONLINE] = "the number of CPUs",
	[SYSTEM_CORES] = "the number of cores",
	[SYSTEM_DIES] = "the number of dies",
	[SYSTEM_PACKAGES] = "the number of packages",
	[SYSTEM_THREADS_PER_CORE] = "the threads of a core",
	[SYSTEM_TSC_FREQ] = "the time-stamp counter's frequency",
	[SYSTEM_TSC] = "the time-stamp counter's cycles",
	[SYSTEM_SLOTS] = "the width of the pipeline",
	[SYSTEM_HAS_PMEM] = "whether there is persistent memory",
	[SYSTEM_DURATION] = "how long it took",
};

static const char *event_name(const struct model *m, uint32_t event)
{
	return event < m->n_events ? m->event[event].name : "?";
}

static void why_no_value(struct buf *b, const struct tree_source *s, uint32_t metric)
{
	const struct model *m = s->tree->model;
	const struct value *v = &s->tree->node[metric].value;

	if (s->counted && !s->counted[metric]) {
		buf_puts(b, "not opened: its parent is below the threshold");
		return;
	}
	switch (v->why) {
	case VALUE_OK:
		break;
	case VALUE_NOT_COUNTED:
		buf_printf(b, "%s was not counted", event_name(m, v->which));
		break;
	case VALUE_DIVIDED_BY_0:
		buf_puts(b, "what it is divided by counted 0");
		break;
	case VALUE_ABSENT:
		buf_puts(b, "this CPU does not have it");
		break;
	case VALUE_NO_SYSTEM:
		buf_printf(b, "not known: %s",
			   v->which < SYSTEM_COUNT ? system_names[v->which] : "a fact");
		break;
	case VALUE_NO_LATENCY:
		buf_printf(b, "the retire latency of %s is not known", event_name(m, v->which));
		if (s->latency_why && v->which < m->n_events && s->latency_why[v->which])
			buf_printf(b, ": %s", s->latency_why[v->which]);
		break;
	case VALUE_NOT_FINITE:
		buf_puts(b, "the formula overflows");
		break;
	default:
		buf_puts(b, "not known");
		break;
	}
}

static const char *const doubts[] = {
	[DOUBT_NONE] = "",
	[DOUBT_NEGATIVE] = "it comes out below 0 by more than its error",
	[DOUBT_OVER] = "it comes out larger than the whole by more than its error",
	[DOUBT_CHILDREN] = "with its siblings it is more than the parent, by more than the errors",
	[DOUBT_PARENT] = "its parent is doubtful",
	[DOUBT_DEAD] = "",
};

void tree_view_why(struct buf *b, const struct tree_source *s, uint32_t metric)
{
	const struct tree_node *n = &s->tree->node[metric];
	const struct model *m = s->tree->model;

	if (n->value.why != VALUE_OK) {
		why_no_value(b, s, metric);
		return;
	}
	if (n->doubt == DOUBT_NONE)
		return;
	if (n->doubt == DOUBT_DEAD) {
		const char *const *wrong = s->tree->wrong;
		uint32_t event = n->against[0];

		buf_printf(b, "%s %s", event_name(m, event),
			   wrong && wrong[event] ? wrong[event] : s->tree->dead[event]);
		return;
	}
	buf_puts(b, doubts[n->doubt]);
	if (n->doubt != DOUBT_PARENT && n->against[0] != MODEL_NONE) {
		buf_printf(b, ": %s", event_name(m, n->against[0]));
		if (n->against[1] != MODEL_NONE)
			buf_printf(b, " and %s disagree", event_name(m, n->against[1]));
		else
			buf_puts(b, " does not fit the rest");
		if (n->against[0] < m->n_events && *m->event[n->against[0]].errata)
			buf_printf(b, " (erratum %s)", m->event[n->against[0]].errata);
	}
}

static void put_rate_error(struct buf *out, const struct tree_rate *r, double unit)
{
	double error = r->error / unit;

	if (isnan(error))
		buf_puts(out, " +-?");
	else if (error >= 0.005)
		buf_printf(out, " +-%.2f", error);
	else if (error > 0)
		buf_puts(out, " +-<0.01");
}

void tree_view_rates(struct buf *out, const struct tree_rates *r)
{
	if (!isnan(r->frequency.value)) {
		buf_printf(out, "%.2f GHz", r->frequency.value / 1e9);
		put_rate_error(out, &r->frequency, 1e9);
	}
	if (!isnan(r->ipc.value)) {
		buf_printf(out, "%sIPC %.2f", out->len ? ", " : "", r->ipc.value);
		put_rate_error(out, &r->ipc, 1);
	}
}
