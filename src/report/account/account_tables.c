/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An account of cycles as tables: the account of each kind of cores, its nodes, the rows by all
 * nodes, how sure each figure of a row is, and the events. Values are cycles, or the node's unit.
 * A hybrid's kinds of cores are told apart by `pmu`, and rows have the nodes of all accounts.
 */
#include <math.h>
#include <string.h>

#include "report/account/account_int.h"
#include "report/column.h"
#include "report/recorded.h"

struct result {
	struct account_view *const *v;
	size_t n;
	const char **name; /* nodes of all accounts, each name once */
	size_t n_names;
	uint32_t *node; /* by view and name; MODEL_NONE */
};

static const struct result *result_of(const struct table *t)
{
	return t->ctx;
}

/* Walks count views in at[0]. */
static struct account_view *view_of(const struct table *t, const struct table_row *r)
{
	return result_of(t)->v[r->at[0]];
}

static const struct account *acc_of(const struct table *t, const struct table_row *r)
{
	return view_of(t, r)->source.bound->acc;
}

static void put_text(struct table_cell *out, const char *text)
{
	out->text = text && *text ? text : NULL;
}

TABLE_CELL(pmu, out->text = view_of(t, r)->source.pmu)
#define PMU \
	COLUMN("pmu", "cores", T_TEXT, C_KEY | C_SPARSE, "kind of cores of a hybrid", .get = pmu)

/* ---- accounts -------------------------------------------------------------------------------- */

static bool view_next(const struct table *t, struct table_row *r)
{
	r->at[0] += r->p != NULL;
	return r->at[0] < result_of(t)->n && (r->p = view_of(t, r)->source.bound);
}

TABLE_CELL(model, out->text = acc_of(t, r)->model->id)
TABLE_CELL(title, out->text = acc_of(t, r)->model->title)
TABLE_CELL(from, put_text(out, acc_of(t, r)->from))

TABLE_GET(all_cycles)
{
	const struct account_cell *x = view_of(t, r)->source.bound->whole;

	(void)c;
	out->e = (struct estimate){ x->v, x->half, NULL };
}

TABLE_CELL(all_samples, out->n = view_of(t, r)->source.bound->whole[0].samples)

/* A figure of account_bound, and why there is none. */
TABLE_GET(bound_real)
{
	static const char *const why[] = { "no event that counts reference cycles was recorded",
					   ("the recording has neither reference cycles nor the "
					    "time of CPUs"),
					   "only recordings of whole CPUs show it (record -a)" };
	const struct account_bound *b = r->p;

	(void)t;
	memcpy(&out->e.v, (const char *)b + c->which, sizeof(out->e.v));
	if (isnan(out->e.v))
		out->e.why = why[c->kind == T_SHARE ? 2 : !strcmp(c->key, "ghz")];
	else if (!strcmp(c->key, "ghz") && b->nominal)
		out->e.why = "nominal, not measured: the recording has neither reference cycles "
			     "nor the time of CPUs";
}

#define OF(member) .get = bound_real, .which = offsetof(struct account_bound, member)
static const struct table_column account_columns[] = {
	PMU,
	COLUMN("model", "model", T_TEXT, 0, "CPU model whose account it is", .get = model),
	COLUMN("title", "title", T_TEXT, 0, "its name", .get = title),
	COLUMN("from", "from", T_TEXT, 0, "source of the penalties", .get = from),
	COLUMN("cycles", "cycles", T_AMOUNT, C_ERROR, "in all", .get = all_cycles),
	COLUMN("samples", "samples", T_COUNT, 0, "of the cycles", .get = all_samples),
	COLUMN("clock_ratio", "clocks", T_REAL, C_WHY, "core cycles in a reference cycle",
	       OF(clock_ratio)),
	COLUMN("ghz", "GHz", T_REAL, C_WHY, "core cycles in a nanosecond", OF(ghz)),
	COLUMN("halted", "halted", T_SHARE, C_WHY, "of the CPUs' time", OF(halted)),
};
#undef OF
static const struct table_form accounts_form = { "accounts", NULL, TABLE_DATA,
						 TABLE_COLUMNS(account_columns),
						 .next = view_next };

/* ---- nodes: r->p is the node ----------------------------------------------------------------- */

static bool node_next(const struct table *t, struct table_row *r)
{
	r->at[1] += r->p != NULL;
	for (; r->at[0] < result_of(t)->n; r->at[0]++, r->at[1] = 0)
		if (r->at[1] < acc_of(t, r)->n)
			return (r->p = &acc_of(t, r)->node[r->at[1]]);
	return false;
}

static const struct account_cell *whole_of(const struct table *t, const struct table_row *r)
{
	return &view_of(t, r)->source.bound->whole[r->at[1]];
}

/* The node that c->which names, if any. */
TABLE_GET(node_link)
{
	uint32_t node;

	memcpy(&node, (const char *)r->p + c->which, sizeof(node));
	if (node != MODEL_NONE)
		out->text = acc_of(t, r)->node[node].name;
}

/* "Load_Latency.DTLB"; the loader bounds the depth. */
static void put_path(struct buf *b, const struct account *acc, const struct account_node *n)
{
	if (n->parent != MODEL_NONE) {
		put_path(b, acc, &acc->node[n->parent]);
		buf_putc(b, '.');
	}
	buf_puts(b, n->name);
}

TABLE_GET(path)
{
	(void)c;
	put_path(out->scratch, acc_of(t, r), r->p);
	out->text = buf_str(out->scratch);
}

TABLE_GET(part)
{
	static const char *const texts[] = { "cycles", "halted", "stalled", "unstalled", "info" };

	(void)t;
	(void)c;
	out->text = texts[((const struct account_node *)r->p)->part];
}

TABLE_GET(cover)
{
	static const char *const texts[] = { "full", "profile", "partial", "none" };

	(void)t;
	(void)c;
	out->text = texts[((const struct account_node *)r->p)->cover];
}

TABLE_GET(unit)
{
	const struct account_node *n = r->p;

	(void)t;
	(void)c;
	put_text(out, n->cycles ? "cycles" : n->unit);
}

TABLE_CELL(event, out->text = account_event_name(view_of(t, r),
						 ((const struct account_node *)r->p)->event))

TABLE_GET(recorded)
{
	const struct account_view *v = view_of(t, r);
	uint32_t event = ((const struct account_node *)r->p)->event;
	int32_t e = event == MODEL_NONE ? -1 : v->source.bound->event[event];

	(void)c;
	out->text = e < 0 ? NULL : v->source.view->event[e].name;
}

TABLE_GET(penalty)
{
	const struct account_node *n = r->p;

	(void)t;
	(void)c;
	out->e.v = n->event == MODEL_NONE ? NAN : n->penalty;
}

TABLE_CELL(formula, out->text = ((const struct account_node *)r->p)->expr
					? ((const struct account_node *)r->p)->text
					: NULL)

static void put_value(struct table_cell *out, const struct account_cell *x)
{
	out->e = (struct estimate){ x->v, x->half, x->why ? account_why_text(x->why) : NULL };
}

TABLE_CELL(value, put_value(out, whole_of(t, r)))
TABLE_CELL(lacks, out->text = account_event_name(view_of(t, r), whole_of(t, r)->which))
TABLE_CELL(node_samples, out->n = whole_of(t, r)->samples)
TABLE_CELL(significant, out->n = whole_of(t, r)->significant)
TABLE_CELL(overlap, out->n = whole_of(t, r)->overlap)
TABLE_CELL(disagrees, out->n = whole_of(t, r)->disagrees)

TABLE_GET(share)
{
	const struct account_cell *all = view_of(t, r)->source.bound->whole;

	(void)c;
	if (((const struct account_node *)r->p)->cycles && all->v > 0)
		out->e = (struct estimate){ whole_of(t, r)->v / all->v,
					    whole_of(t, r)->half / all->v, NULL };
}

#define OF(member)   TABLE_FIELD(struct account_node, member)
#define LINK(member) .get = node_link, .which = offsetof(struct account_node, member)
static const struct table_column node_columns[] = {
	PMU,
	COLUMN("node", "node", T_TEXT, C_KEY, "its name", OF(name)),
	COLUMN("path", "path", T_TEXT, 0, "its name behind those of the nodes above", .get = path),
	COLUMN("parent", "parent", T_TEXT, 0, "the node above", LINK(parent)),
	COLUMN("depth", "depth", T_ID, 0, "nodes above it", OF(depth)),
	COLUMN("part", "part", T_TEXT, 0, "cycles, halted, stalled, unstalled or info",
	       .get = part),
	COLUMN("cover", "cover", T_TEXT, 0,
	       "full; profile: poor by line; partial: partly or roughly; none", .get = cover),
	COLUMN("unit", "unit", T_TEXT, 0, "of the value", .get = unit),
	COLUMN("adds", "adds", T_FLAG, 0, "a part of its parent's sum", OF(adds)),
	COLUMN("whole", "whole", T_FLAG, 0, "of the recording only, not of a row", OF(whole)),
	COLUMN("event", "event", T_TEXT, 0, "the model's name of its event", .get = event),
	COLUMN("recorded", "recorded", T_TEXT, 0, "the recording's name of it", .get = recorded),
	COLUMN("penalty", "penalty", T_REAL, 0, "of an occurrence, in cycles", .get = penalty),
	COLUMN("reference", "ref", T_FLAG, 0, "the penalty is in reference cycles", OF(reference)),
	COLUMN("ns", "ns", T_FLAG, 0, "the penalty is in nanoseconds", OF(ns)),
	COLUMN("formula", "formula", T_TEXT, 0, "what it is computed by", .get = formula),
	COLUMN("within", "within", T_TEXT, 0, "the node that it cannot exceed", LINK(within)),
	COLUMN("same", "same", T_TEXT, 0, "the node that measures the same", LINK(same)),
	COLUMN("value", "value", T_AMOUNT, C_ERROR | C_WHY, "of the recording", .get = value),
	COLUMN("lacks", "lacks", T_TEXT, 0, "the event that value_why is about", .get = lacks),
	COLUMN("share", "share", T_SHARE, C_ERROR, "of all cycles", .get = share),
	COLUMN("samples", "samples", T_COUNT, 0, "that it is made of", .get = node_samples),
	COLUMN("significant", "significant", T_FLAG, 0, "differs from 0 by more than its error",
	       .get = significant),
	COLUMN("overlap", "overlap", T_FLAG, 0, "exceeds `within`, or all cycles", .get = overlap),
	COLUMN("disagrees", "disagrees", T_FLAG, 0, "differs from `same`", .get = disagrees),
};
#undef OF
#undef LINK
static const struct table_form nodes_form = { "nodes", NULL, TABLE_DATA,
					      TABLE_COLUMNS(node_columns), .next = node_next };

/* ---- rows and their cells: at[1] is the row, at[2] the node; r->p is the row ----------------- */

/* Sums of nested rows are for people. */
static bool row_next(const struct table *t, struct table_row *r)
{
	r->at[1] += r->p != NULL;
	for (; r->at[0] < result_of(t)->n; r->at[0]++, r->at[1] = 0)
		for (; r->at[1] < view_of(t, r)->n_rows; r->at[1]++)
			if (!view_of(t, r)->row[r->at[1]].sum)
				return (r->p = &view_of(t, r)->row[r->at[1]]);
	return false;
}

static const struct account_cell *cell_of(const struct table *t, const struct table_row *r)
{
	return &account_view_cells(view_of(t, r), r->p)[r->at[2]];
}

/* Those that rest on samples, or lack a value for another reason than in all of the recording. */
static bool cell_next(const struct table *t, struct table_row *r)
{
	bool begun = r->p != NULL;

	if (!begun && !row_next(t, r))
		return false;
	for (r->at[2] += begun;; r->at[2]++) {
		const struct account_cell *x, *all;

		if (r->at[2] == acc_of(t, r)->n) {
			if (!row_next(t, r))
				return false;
			r->at[2] = 0;
		}
		x = cell_of(t, r);
		all = &view_of(t, r)->source.bound->whole[r->at[2]];
		if (acc_of(t, r)->node[r->at[2]].whole)
			continue;
		if (x->samples || x->why != all->why || x->which != all->which)
			return true;
	}
}

void account_key(const struct account_view *v, const struct account_row *r, size_t key,
		 struct table_cell *out)
{
	uint64_t x = r->row ? r->row->key[key] : 0;

	if (out->kind == T_TEXT) {
		if (r->row)
			put_text(out, strtab_get(profile_strings(v->source.profile), (uint32_t)x));
		return;
	}
	out->none = !r->row || (out->kind == T_ID && x == UINT64_MAX);
	out->n = x;
}

struct table_column account_key_column(const struct account_view *v, size_t key, unsigned flags,
				       table_get *get)
{
	enum profile_key k = profile_options(v->source.profile)->key[key];
	struct table_column c = column_table[column_of_key(k)].show;

	c.flags = C_KEY | flags;
	c.get = get;
	c.which = key;
	return c;
}

TABLE_CELL(key, account_key(view_of(t, r), r->p, c->which, out))

TABLE_GET(folded)
{
	const struct account_row *row = r->p;

	(void)t;
	(void)c;
	out->n = row->folded;
	out->none = !row->folded;
}

TABLE_GET(amount)
{
	const struct result *x = t->ctx;
	uint32_t node = x->node[r->at[0] * x->n_names + c->which];

	if (node != MODEL_NONE)
		put_value(out, &account_view_cells(view_of(t, r), r->p)[node]);
}

static const struct account_ran *ran_of(const struct table *t, const struct table_row *r)
{
	return account_view_ran(view_of(t, r), r->p);
}

TABLE_GET(flow)
{
	const struct account_ran *x = ran_of(t, r);
	struct flow_value v;

	if (!x)
		return;
	memcpy(&v, (const char *)x + c->which, sizeof(v));
	cell_flow(out, v);
	if (!out->e.why && view_of(t, r)->source.rans->late)
		out->e.why = flow_late;
}

TABLE_GET(neighbours)
{
	const struct account_ran *x = ran_of(t, r);
	uint32_t n = 0;

	if (x)
		memcpy(&n, (const char *)x + c->which, sizeof(n));
	out->n = n;
	out->none = !x || !x->has_calls;
}

#define ROW(member) TABLE_FIELD(struct account_row, member)
static const struct table_column fold_columns[] = {
	COLUMN("folded", "rows", T_COUNT, 0, "rows that this one sums; null: it is a row itself",
	       .get = folded),
	COLUMN("left_out", "left out", T_FLAG, 0, "by --focus or --hide", ROW(left_out)),
};
#undef ROW
#define RAN(member) .which = offsetof(struct account_ran, member)
static const struct table_column ran_columns[] = {
	COLUMN("insns", "insns", T_AMOUNT, C_ERROR | C_WHY, "instructions, by branch records",
	       .get = flow, RAN(insns)),
	COLUMN("called", "called", T_AMOUNT, C_ERROR | C_WHY, "how often it was called",
	       .get = flow, RAN(called)),
	COLUMN("callers", "callers", T_COUNT, 0, "functions that call it", .get = neighbours,
	       RAN(callers)),
	COLUMN("callees", "callees", T_COUNT, 0, "functions that it calls", .get = neighbours,
	       RAN(callees)),
};
#undef RAN

TABLE_CELL(cell_node, out->text = acc_of(t, r)->node[r->at[2]].name)
TABLE_CELL(cell_value, put_value(out, cell_of(t, r)))
TABLE_CELL(cell_lacks, out->text = account_event_name(view_of(t, r), cell_of(t, r)->which))
TABLE_CELL(cell_samples, out->n = cell_of(t, r)->samples)
TABLE_CELL(cell_significant, out->n = cell_of(t, r)->significant)
TABLE_CELL(cell_overlap, out->n = cell_of(t, r)->overlap)
TABLE_CELL(cell_disagrees, out->n = cell_of(t, r)->disagrees)
static const struct table_column cell_columns[] = {
	COLUMN("node", "node", T_TEXT, C_KEY, "its name", .get = cell_node),
	COLUMN("value", "value", T_AMOUNT, C_ERROR | C_WHY, "of the row", .get = cell_value),
	COLUMN("lacks", "lacks", T_TEXT, 0, "the event that value_why is about", .get = cell_lacks),
	COLUMN("samples", "samples", T_COUNT, 0, "that it is made of", .get = cell_samples),
	COLUMN("significant", "significant", T_FLAG, 0, "differs from 0 by more than its error",
	       .get = cell_significant),
	COLUMN("overlap", "overlap", T_FLAG, 0, "exceeds what holds it", .get = cell_overlap),
	COLUMN("disagrees", "disagrees", T_FLAG, 0, "differs from what measures the same",
	       .get = cell_disagrees),
};

static const struct table_column pmu_column[] = { PMU };
/* The columns of both are known only of a recording and a model. */
static const struct table_form rows_form = { "rows", NULL, TABLE_MAIN | TABLE_DATA,
					     TABLE_COLUMNS(pmu_column), .next = row_next };
static const struct table_form cells_form = { "cells", NULL, TABLE_DATA, TABLE_COLUMNS(pmu_column),
					      .next = cell_next };

/* ---- events ---------------------------------------------------------------------------------- */

/* The kind of cores whose tree has the event; NULL: none has. */
static const struct account_view *user_of(const struct table *t, size_t event)
{
	const struct result *x = t->ctx;

	for (size_t k = 0; k < x->n; k++)
		if (account_uses(x->v[k]->source.bound, event))
			return x->v[k];
	return NULL;
}

static const struct mux_event *mux_of(const struct table *t, size_t event)
{
	const struct mux *m = result_of(t)->v[0]->source.mux;
	size_t n;

	return m && mux_events(m, &n)[event].told ? &mux_events(m, &n)[event] : NULL;
}

TABLE_GET(event_pmu)
{
	const struct account_view *v = user_of(t, r->i);

	(void)c;
	out->text = v ? v->source.pmu : NULL;
}

TABLE_CELL(event_name, out->text = view_of(t, r)->source.view->event[r->i].name)
TABLE_CELL(suspect, out->n = user_of(t, r->i) && user_of(t, r->i)->source.bound->dead[r->i])
TABLE_CELL(used, out->n = user_of(t, r->i) != NULL)

TABLE_GET(factor)
{
	const struct mux_event *m = mux_of(t, r->i);

	if (m)
		memcpy(&out->e.v, (const char *)m + c->which, sizeof(out->e.v));
	else
		out->e.why = "its time on a counter was not recorded";
}

TABLE_GET(windows)
{
	const struct mux_event *m = mux_of(t, r->i);

	(void)c;
	out->none = !m;
	out->n = m ? m->windows : 0;
}

#define OF(member)     TABLE_FIELD(struct tally, member)
#define FACTOR(member) .get = factor, .which = offsetof(struct mux_event, member)
static const struct table_column event_columns[] = {
	COLUMN("samples", "samples", T_COUNT, 0, "that are selected", OF(samples)),
	COLUMN("occurrences", "occurrences", T_COUNT, C_DATA, "sum of their corrected periods",
	       OF(period)),
	COLUMN("factor", "weight", T_REAL, C_WHY, "mean correction for the time without a counter",
	       FACTOR(mean)),
	COLUMN("least", "least", T_REAL, 0, "the least of them", FACTOR(least)),
	COLUMN("most", "most", T_REAL, 0, "the greatest of them", FACTOR(most)),
	COLUMN("windows", "windows", T_COUNT, C_DATA, "how many there are", .get = windows),
	COLUMN("suspect", "suspect", T_FLAG, 0, "has no sample, though any program has it",
	       .get = suspect),
	COLUMN("used", "used", T_FLAG, 0, "an account uses it", .get = used),
	COLUMN("pmu", "cores", T_TEXT, C_SPARSE, "kind of cores of a hybrid", .get = event_pmu),
	COLUMN("event", "event", T_TEXT, C_KEY, "that was recorded", .get = event_name),
};
#undef OF
#undef FACTOR
static const struct table_form events_form = { "events", NULL, 0, TABLE_COLUMNS(event_columns),
					       .rest = "event" };

/* ---- events that were not recorded: r->p is the model's -------------------------------------- */

static bool missing_next(const struct table *t, struct table_row *r)
{
	r->at[1] += r->p != NULL;
	for (; r->at[0] < result_of(t)->n; r->at[0]++, r->at[1] = 0) {
		const struct model *m = acc_of(t, r)->model;

		for (; r->at[1] < m->n_events; r->at[1]++)
			if (view_of(t, r)->source.bound->event[r->at[1]] < 0 &&
			    account_wants(view_of(t, r), (uint32_t)r->at[1]))
				return (r->p = &m->event[r->at[1]]);
	}
	return false;
}

static const struct table_column missing_columns[] = {
	PMU,
	COLUMN("event", "event", T_TEXT, C_KEY, "the model's name of it",
	       TABLE_FIELD(struct model_event, name)),
};
static const struct table_form missing_form = { "not_recorded", NULL, TABLE_DATA,
						TABLE_COLUMNS(missing_columns),
						.next = missing_next };

/* ---- all of it ------------------------------------------------------------------------------- */

TABLE_CELL(version, out->text = view_of(t, r)->source.view->version)
static const struct table_column head_columns[] = {
	COLUMN("version", "version", T_TEXT, 0, "of cyclade", .get = version),
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

static const struct table_form *const forms[] = {
	&head_form,	    &recorded_form,	  &account_branches_form,
	&account_tree_form, &accounts_form,	  &nodes_form,
	&rows_form,	    &cells_form,	  &events_form,
	&missing_form,	    &recorded_losses_form
};
const struct document_form account_document = { "account", 3, forms, sizeof(forms) / sizeof(*forms),
						NULL,	   0 };

static struct result *make_result(struct document *d, struct account_view *const *v, size_t n)
{
	struct result *x = arena_alloc(&d->a, sizeof(*x));
	size_t most = 0;

	for (size_t i = 0; i < n; i++)
		most += v[i]->source.bound->acc->n;
	if (!x)
		return NULL;
	*x = (struct result){ .v = v, .n = n };
	x->name = arena_alloc(&d->a, (most + 1) * sizeof(*x->name));
	x->node = arena_alloc(&d->a, (n * most + 1) * sizeof(*x->node));
	if (!x->name || !x->node)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const struct account *acc = v[i]->source.bound->acc;

		for (size_t k = 0; k < acc->n; k++) {
			size_t at = 0;

			while (at < x->n_names && strcmp(x->name[at], acc->node[k].name) != 0)
				at++;
			if (at == x->n_names)
				x->name[x->n_names++] = acc->node[k].name;
		}
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < x->n_names; k++)
			x->node[i * x->n_names + k] = account_find(v[i]->source.bound->acc,
								   x->name[k], strlen(x->name[k]));
	return x;
}

/* Columns: of which cores, the keys, what a fold is; then `more`. */
static struct table_column *make_columns(struct document *d, const struct result *x, size_t more,
					 size_t *n)
{
	size_t n_keys = profile_options(x->v[0]->source.profile)->n_keys;
	struct table_column *c = arena_alloc(&d->a, (3 + n_keys + more) * sizeof(*c));

	if (!c)
		return NULL;
	c[0] = pmu_column[0];
	for (size_t k = 0; k < n_keys; k++)
		c[1 + k] = account_key_column(x->v[0], k, 0, key);
	c[1 + n_keys] = fold_columns[0];
	c[2 + n_keys] = fold_columns[1];
	*n = 3 + n_keys;
	return c;
}

static void put_rows(struct document *d, const struct result *x)
{
	struct table t = { .form = &rows_form, .ctx = x };
	size_t n_ran = x->v[0]->source.rans ? sizeof(ran_columns) / sizeof(*ran_columns) : 0;
	struct table_column *c = make_columns(d, x, x->n_names + n_ran, &t.n_columns);

	d->failed |= !c;
	if (!c)
		return;
	for (size_t i = 0; i < x->n_names; i++)
		c[t.n_columns++] = (struct table_column)COLUMN(
			x->name[i], x->name[i], T_AMOUNT, C_ERROR, "cycles, or the node's unit",
			.get = amount, .which = i);
	memcpy(c + t.n_columns, ran_columns, n_ran * sizeof(*c));
	t.n_columns += n_ran;
	t.column = c;
	document_table(d, &t);
}

static void put_cells(struct document *d, const struct result *x)
{
	struct table t = { .form = &cells_form, .ctx = x };
	size_t more = sizeof(cell_columns) / sizeof(*cell_columns);
	struct table_column *c = make_columns(d, x, more, &t.n_columns);

	d->failed |= !c;
	if (!c)
		return;
	memcpy(c + t.n_columns, cell_columns, sizeof(cell_columns));
	t.n_columns += more;
	t.column = c;
	document_table(d, &t);
}

static const struct account_view *most_cycles(struct account_view *const *v, size_t n)
{
	const struct account_view *most = v[0];

	for (size_t i = 1; i < n; i++)
		if (v[i]->source.bound->whole[0].v > most->source.bound->whole[0].v)
			most = v[i];
	return most;
}

void account_put(struct document *d, struct account_view *const *v, size_t n)
{
	const struct account_source *s = &v[0]->source;
	struct result *x = make_result(d, v, n);
	const struct table head = { .form = &head_form, .ctx = x, .array = x, .n = 1 };
	const struct table accounts = { .form = &accounts_form, .ctx = x };
	const struct table nodes = { .form = &nodes_form, .ctx = x };
	const struct table events = { .form = &events_form,
				      .ctx = x,
				      .array = v[0]->whole,
				      .stride = sizeof(*v[0]->whole),
				      .n = v[0]->n_events,
				      .data_only = !v[0]->opts.all };
	const struct table missing = { .form = &missing_form, .ctx = x };

	d->failed |= !x;
	if (!x)
		return;
	document_table(d, &head);
	recorded_head(d, s->view);
	for (size_t i = 0; i < n; i++)
		account_put_people(d, &v[i]);
	document_table(d, &accounts);
	document_table(d, &nodes);
	put_rows(d, x);
	put_cells(d, x);
	document_table(d, &events);
	document_table(d, &missing);
	account_put_legend(d, v, n);
	for (size_t i = 0; i < n; i++)
		account_put_facts(d, v[i]);
	for (size_t i = 0; i < s->n_notes; i++)
		document_note(d, s->notes[i]);
	recorded_tail(d, s->view);
	account_put_next(d, most_cycles(v, n));
}
