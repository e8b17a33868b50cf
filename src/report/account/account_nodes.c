/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The account of each kind of cores, and its nodes.
 */
#include <math.h>
#include <string.h>

#include "report/account/account_result.h"

void account_pmu(const struct table *t, const struct table_column *c, const struct table_row *r,
		 struct table_cell *out)
{
	(void)c;
	out->text = view_of(t, r)->source.pmu;
}

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
const struct table_form account_accounts_form = { "accounts", NULL, TABLE_DATA,
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

TABLE_CELL(value, put_value(out, whole_of(t, r)))
TABLE_CELL(lacks, out->text = account_event_name(view_of(t, r), whole_of(t, r)->which))
TABLE_CELL(node_samples, out->n = whole_of(t, r)->samples)
TABLE_CELL(significant, out->n = whole_of(t, r)->significant)
TABLE_CELL(overlap, out->n = whole_of(t, r)->overlap)
TABLE_CELL(disagrees, out->n = whole_of(t, r)->disagrees)

TABLE_GET(failed)
{
	const struct account_bound *b = view_of(t, r)->source.bound;
	uint32_t e = whole_of(t, r)->failed;

	(void)c;
	if (e != MODEL_NONE)
		cell_printf(out, "%s %s", b->acc->model->event[e].name, b->wrong[e]);
}

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
	COLUMN("failed", "failed", T_TEXT, 0, "the event that it rests on and that failed validate",
	       .get = failed),
};
#undef OF
#undef LINK
const struct table_form account_nodes_form = { "nodes", NULL, TABLE_DATA,
					       TABLE_COLUMNS(node_columns), .next = node_next };
