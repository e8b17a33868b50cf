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
	out->text = result_view_of(t, r)->source.pmu;
}

/* ---- accounts -------------------------------------------------------------------------------- */

static bool account_node_view_next(const struct table *t, struct table_row *r)
{
	r->at[0] += r->p != NULL;
	return r->at[0] < result_of(t)->n && (r->p = result_view_of(t, r)->source.bound);
}

TABLE_CELL(account_node_model, out->text = result_acc_of(t, r)->model->id)
TABLE_CELL(account_node_title, out->text = result_acc_of(t, r)->model->title)
TABLE_CELL(account_node_from, put_result_text(out, result_acc_of(t, r)->from))

TABLE_GET(all_cycles)
{
	const struct account_cell *x = result_view_of(t, r)->source.bound->whole;

	out->e = (struct estimate){ x->v, x->half, NULL };
}

TABLE_CELL(account_node_all_samples, out->n = result_view_of(t, r)->source.bound->whole[0].samples)

/* A figure of account_bound, and why there is none. */
TABLE_GET(bound_real)
{
	static const char *const why[] = { "no event that counts reference cycles was recorded",
					   ("the recording has neither reference cycles nor the "
					    "time of CPUs"),
					   "only recordings of whole CPUs show it (record -a)" };
	const struct account_bound *b = r->p;

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
	COLUMN("model", "model", T_TEXT, 0, "CPU model whose account it is",
	       .get = account_node_model),
	COLUMN("title", "title", T_TEXT, 0, "its name", .get = account_node_title),
	COLUMN("from", "from", T_TEXT, 0, "source of the penalties", .get = account_node_from),
	COLUMN("cycles", "cycles", T_AMOUNT, C_ERROR, "in all", .get = all_cycles),
	COLUMN("samples", "samples", T_COUNT, 0, "of the cycles", .get = account_node_all_samples),
	COLUMN("clock_ratio", "clocks", T_REAL, C_WHY, "core cycles in a reference cycle",
	       OF(clock_ratio)),
	COLUMN("ghz", "GHz", T_REAL, C_WHY, "core cycles in a nanosecond", OF(ghz)),
	COLUMN("halted", "halted", T_SHARE, C_WHY, "of the CPUs' time", OF(halted)),
};
#undef OF
const struct table_form account_accounts_form = { "accounts", NULL, TABLE_DATA,
						  TABLE_COLUMNS(account_columns),
						  .next = account_node_view_next };

/* ---- nodes: r->p is the node ----------------------------------------------------------------- */

static bool node_next(const struct table *t, struct table_row *r)
{
	r->at[1] += r->p != NULL;
	for (; r->at[0] < result_of(t)->n; r->at[0]++, r->at[1] = 0)
		if (r->at[1] < result_acc_of(t, r)->n)
			return (r->p = &result_acc_of(t, r)->node[r->at[1]]);
	return false;
}

static const struct account_cell *account_node_whole_of(const struct table *t,
							const struct table_row *r)
{
	return &result_view_of(t, r)->source.bound->whole[r->at[1]];
}

/* The node that c->which names, if any. */
TABLE_GET(node_link)
{
	uint32_t node;

	memcpy(&node, (const char *)r->p + c->which, sizeof(node));
	if (node != MODEL_NONE)
		out->text = result_acc_of(t, r)->node[node].name;
}

/* "Load_Latency.DTLB"; the loader bounds the depth. */
static void put_account_node_path(struct buf *b, const struct account *acc,
				  const struct account_node *n)
{
	if (n->parent != MODEL_NONE) {
		put_account_node_path(b, acc, &acc->node[n->parent]);
		buf_putc(b, '.');
	}
	buf_puts(b, n->name);
}

TABLE_GET(account_node_path)
{
	put_account_node_path(out->scratch, result_acc_of(t, r), r->p);
	out->text = buf_str(out->scratch);
}

static const char *const account_part_texts[] = { "cycles", "halted", "stalled", "unstalled",
						  "info" };
static const char *const account_cover_texts[] = { "full", "profile", "partial", "none" };
TABLE_GET(account_node_unit)
{
	const struct account_node *n = r->p;

	put_result_text(out, n->cycles ? "cycles" : n->unit);
}

TABLE_CELL(account_node_event,
	   out->text = account_event_name(result_view_of(t, r),
					  ((const struct account_node *)r->p)->event))

TABLE_GET(account_node_recorded)
{
	const struct account_view *v = result_view_of(t, r);
	uint32_t event = ((const struct account_node *)r->p)->event;
	int32_t e = event == MODEL_NONE ? -1 : v->source.bound->event[event];

	out->text = e < 0 ? NULL : v->source.view->event[e].name;
}

TABLE_GET(account_node_penalty)
{
	const struct account_node *n = r->p;

	out->e.v = n->event == MODEL_NONE ? NAN : n->penalty;
}

TABLE_CELL(account_node_formula, out->text = ((const struct account_node *)r->p)->expr
						     ? ((const struct account_node *)r->p)->text
						     : NULL)

TABLE_CELL(account_node_value, put_result_value(out, account_node_whole_of(t, r)))
TABLE_CELL(node_lacks,
	   out->text = account_event_name(result_view_of(t, r), account_node_whole_of(t, r)->which))
TABLE_CELL(node_samples, out->n = account_node_whole_of(t, r)->samples)
TABLE_CELL(significant, out->n = account_node_whole_of(t, r)->significant)
TABLE_CELL(account_node_overlap, out->n = account_node_whole_of(t, r)->overlap)
TABLE_CELL(disagrees, out->n = account_node_whole_of(t, r)->disagrees)

TABLE_GET(account_node_failed)
{
	const struct account_bound *b = result_view_of(t, r)->source.bound;
	uint32_t e = account_node_whole_of(t, r)->failed;

	if (e != MODEL_NONE)
		cell_printf(out, "%s %s", b->acc->model->event[e].name, b->wrong[e]);
}

TABLE_GET(account_node_share)
{
	const struct account_cell *all = result_view_of(t, r)->source.bound->whole;

	if (((const struct account_node *)r->p)->cycles && all->v > 0)
		out->e = (struct estimate){ account_node_whole_of(t, r)->v / all->v,
					    account_node_whole_of(t, r)->half / all->v, NULL };
}

#define OF(member)   TABLE_FIELD(struct account_node, member)
#define LINK(member) .get = node_link, .which = offsetof(struct account_node, member)
#define OF_NODE(...) TABLE_FIELD(struct account_node, __VA_ARGS__)
static const struct table_column node_columns[] = {
	PMU,
	COLUMN("node", "node", T_TEXT, C_KEY, "its name", OF(name)),
	COLUMN("path", "path", T_TEXT, 0, "its name behind those of the nodes above",
	       .get = account_node_path),
	COLUMN("parent", "parent", T_TEXT, 0, "the node above", LINK(parent)),
	COLUMN("depth", "depth", T_ID, 0, "nodes above it", OF(depth)),
	COLUMN("part", "part", T_TEXT, 0, "cycles, halted, stalled, unstalled or info",
	       OF_NODE(part), TABLE_NAMES(account_part_texts)),
	COLUMN("cover", "cover", T_TEXT, 0,
	       "full; profile: poor by line; partial: partly or roughly; none", OF_NODE(cover),
	       TABLE_NAMES(account_cover_texts)),
	COLUMN("unit", "unit", T_TEXT, 0, "of the value", .get = account_node_unit),
	COLUMN("adds", "adds", T_FLAG, 0, "a part of its parent's sum", OF(adds)),
	COLUMN("whole", "whole", T_FLAG, 0, "of the recording only, not of a row", OF(whole)),
	COLUMN("event", "event", T_TEXT, 0, "the model's name of its event",
	       .get = account_node_event),
	COLUMN("recorded", "recorded", T_TEXT, 0, "the recording's name of it",
	       .get = account_node_recorded),
	COLUMN("penalty", "penalty", T_REAL, 0, "of an occurrence, in cycles",
	       .get = account_node_penalty),
	COLUMN("reference", "ref", T_FLAG, 0, "the penalty is in reference cycles", OF(reference)),
	COLUMN("ns", "ns", T_FLAG, 0, "the penalty is in nanoseconds", OF(ns)),
	COLUMN("formula", "formula", T_TEXT, 0, "what it is computed by",
	       .get = account_node_formula),
	COLUMN("within", "within", T_TEXT, 0, "the node that it cannot exceed", LINK(within)),
	COLUMN("same", "same", T_TEXT, 0, "the node that measures the same", LINK(same)),
	COLUMN("value", "value", T_AMOUNT, C_ERROR | C_WHY, "of the recording",
	       .get = account_node_value),
	COLUMN("lacks", "lacks", T_TEXT, 0, "the event that value_why is about", .get = node_lacks),
	COLUMN("share", "share", T_SHARE, C_ERROR, "of all cycles", .get = account_node_share),
	COLUMN("samples", "samples", T_COUNT, 0, "that it is made of", .get = node_samples),
	COLUMN("significant", "significant", T_FLAG, 0, "differs from 0 by more than its error",
	       .get = significant),
	COLUMN("overlap", "overlap", T_FLAG, 0, "exceeds `within`, or all cycles",
	       .get = account_node_overlap),
	COLUMN("disagrees", "disagrees", T_FLAG, 0, "differs from `same`", .get = disagrees),
	COLUMN("failed", "failed", T_TEXT, 0, "the event that it rests on and that failed validate",
	       .get = account_node_failed),
};
#undef OF
#undef LINK
const struct table_form account_nodes_form = { "nodes", NULL, TABLE_DATA,
					       TABLE_COLUMNS(node_columns), .next = node_next };
