/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of models: nodes and metrics, the cycle accounting, events, groups, models, and the
 * events of a machine. Rows are those of a model, by a list's indices.
 */
#include <math.h>
#include <string.h>

#include "report/models/models_int.h"

TABLE_CTX_AS(list_model_tables, struct list)

/* at[0] counts in list.index. */
static bool model_next(const struct table *t, struct table_row *r)
{
	const struct list *l = list_model_tables(t);

	r->at[0] += r->p != NULL;
	if (r->at[0] >= l->n)
		return false;
	r->p = (const char *)l->base + l->index[r->at[0]] * l->stride;
	return true;
}

static uint32_t model_index_of(const struct table *t, const struct table_row *r)
{
	return list_model_tables(t)->index[r->at[0]];
}

static const char *scratch(struct table_cell *out)
{
	return out->scratch->len ? buf_str(out->scratch) : NULL;
}

/* "" and 0 in fields stand for no value. */
TABLE_CELL(filled, out->none = !out->text || !*out->text)
TABLE_CELL(positive, out->none = out->kind == T_REAL ? !(out->e.v > 0) : !out->n)

/* clang-format off */
#define TEXT(key, head, member, means) \
	COLUMN(key, head, T_TEXT, C_DATA, means, OF(member), .get = filled)
#define FLAG(key, member, means) COLUMN(key, key, T_FLAG, C_DATA, means, OF(member))
#define PLACE \
	TEXT("says", "says", says, "what it means"), \
	TEXT("try", "try", try_, "what usually helps"), \
	TEXT("file", "file", file, "where it is written"), \
	COLUMN("line", "line", T_ID, C_DATA, "in that file", OF(line))
/* clang-format on */

/* ---- nodes of the tree, and metrics ---------------------------------------------------------- */

TABLE_ROW_AS(model_metric_cell, struct model_metric)

TABLE_CELL(metric_name,
	   out->indent = model_metric_cell(r)->level ? model_metric_cell(r)->level - 1 : 0)
TABLE_CELL(asks_latency,
	   out->n = metric_asks_latency(list_model_tables(t)->m, model_index_of(t, r)))

TABLE_GET(metric_means)
{
	if (metric_asks_latency(list_model_tables(t)->m, model_index_of(t, r)))
		buf_puts(out->scratch, "[retire latency] ");
	buf_puts(out->scratch, *model_metric_cell(r)->says ? model_metric_cell(r)->says
							   : model_metric_cell(r)->text);
	out->text = buf_str(out->scratch);
}

TABLE_GET(metric_parent)
{
	if (model_metric_cell(r)->parent != MODEL_NONE)
		out->text = list_model_tables(t)->m->metric[model_metric_cell(r)->parent].name;
}

#define OF(member) TABLE_FIELD(struct model_metric, member)
static const struct table_column metric_columns[] = {
	COLUMN("name", "name", T_TEXT, C_KEY, "as -M and --node take it", OF(name),
	       .get = metric_name),
	COLUMN("meaning", "meaning", T_TEXT, C_PEOPLE | C_FLEX | C_CUT, "or its formula",
	       .get = metric_means),
	TEXT("path", "path", path, "of a node: its name behind those of its parents"),
	COLUMN("level", "level", T_COUNT, C_DATA, "of a node, from 1", OF(level), .get = positive),
	COLUMN("parent", "parent", T_TEXT, C_DATA, "of a node", .get = metric_parent),
	TEXT("area", "area", area, "of the CPU"),
	TEXT("formula", "formula", text, "as written"),
	TEXT("threshold", "threshold", threshold_text, "when it is worth a look"),
	TEXT("count", "count", domain_text, "what it counts"),
	TEXT("unit", "unit", unit, "of what is shown"),
	COLUMN("scale", "scale", T_REAL, C_DATA, "shown is the formula's value times this",
	       OF(scale)),
	COLUMN("max", "max", T_REAL, C_DATA, "most that is shown", OF(max)),
	FLAG("overlap", overlap, "siblings may count the same cycles"),
	FLAG("approximate", approximate, "an approximation, by the model's own words"),
	COLUMN("retire_latency", "retire latency", T_FLAG, C_DATA, "needs one of an event",
	       .get = asks_latency),
	TEXT("groups", "groups", groups, "that it is in, a semicolon between them"),
	TEXT("issues", "issues", issues, "nodes that share one are related"),
	TEXT("locate", "locate", locate_all, "events to sample by, a semicolon between them"),
	PLACE,
};
#undef OF
const struct table_form model_nodes_form = {
	"nodes", NULL, TABLE_MAIN, TABLE_COLUMNS(metric_columns), .next = model_next, .rest = "node"
};
const struct table_form model_metrics_form = { "metrics",	   NULL,
					       TABLE_MAIN,	   TABLE_COLUMNS(metric_columns),
					       .next = model_next, .rest = "metric" };

/* ---- the cycle accounting -------------------------------------------------------------------- */

TABLE_ROW_AS(model_node, struct account_node)

TABLE_CELL(model_node_name, out->indent = model_node(r)->depth)
TABLE_CELL(node_unit, out->text = model_node(r)->cycles ? "cycles" : *out->text ? out->text : NULL)

TABLE_GET(model_cost)
{
	put_account_cost(out->scratch, list_model_tables(t)->account, model_index_of(t, r));
	out->text = scratch(out);
}

/* Another node, by the index that stands at c->which. */
TABLE_GET(model_other)
{
	uint32_t i;

	memcpy(&i, (const char *)r->p + c->which, sizeof(i));
	if (i != MODEL_NONE)
		out->text = list_model_tables(t)->account->node[i].name;
}

static const struct model_event *model_event_of(const struct table *t, const struct table_row *r)
{
	static const struct model_event none;
	uint32_t i = model_node(r)->event;

	return i == MODEL_NONE ? &none : &list_model_tables(t)->m->event[i];
}

TABLE_CELL(node_event, out->text = model_event_of(t, r)->name)
TABLE_CELL(node_code, out->text = model_event_of(t, r)->code)

#define OF(member)    TABLE_FIELD(struct account_node, member)
#define OTHER(member) .get = model_other, .which = offsetof(struct account_node, member)
#define OF_NODE(...)  TABLE_FIELD(struct account_node, __VA_ARGS__)
static const struct table_column account_columns[] = {
	COLUMN("name", "name", T_TEXT, C_KEY, "of the node", OF(name), .get = model_node_name),
	COLUMN("parent", "parent", T_TEXT, C_DATA, "the node above it", OTHER(parent)),
	COLUMN("depth", "depth", T_COUNT, C_DATA, "below the whole, from 0", OF(depth)),
	COLUMN("part", "part", T_TEXT, 0, "cycles, halted, stalled, unstalled, info (of no part)",
	       OF_NODE(part), .name_of = account_part_word),
	COLUMN("cover", "cover", T_TEXT, 0, "how well this CPU measures it", OF_NODE(cover),
	       .name_of = account_cover_word),
	COLUMN("cost", "made of", T_TEXT, C_PEOPLE | C_FLEX | C_CUT, "event, formula or sum",
	       .get = model_cost),
	COLUMN("event", "event", T_TEXT, C_DATA, "that is counted", .get = node_event),
	COLUMN("code", "code", T_TEXT, C_DATA, "of the event", .get = node_code),
	COLUMN("penalty", "penalty", T_REAL, C_DATA, "cycles that one costs", OF(penalty),
	       .get = positive),
	FLAG("reference", reference, "the penalty is in cycles of the reference clock"),
	FLAG("ns", ns, "the penalty is in nanoseconds"),
	FLAG("adds", adds, "to its parent"),
	TEXT("formula", "formula", text, "instead of an event"),
	FLAG("whole", whole, "one value of the whole recording"),
	COLUMN("unit", "unit", T_TEXT, C_DATA, "of its value", OF(unit), .get = node_unit),
	COLUMN("within", "within", T_TEXT, C_DATA, "a node that bounds it from above",
	       OTHER(within)),
	COLUMN("same", "same", T_TEXT, C_DATA, "a node that measures the same", OTHER(same)),
	COLUMN("tolerance", "tolerance", T_REAL, C_DATA, "relative, of `same`", OF(tolerance),
	       .get = positive),
	COLUMN("period", "period", T_COUNT, C_DATA, "to sample the event by", OF(period),
	       .get = positive),
	COLUMN("precise", "precise", T_COUNT, C_DATA, "precise_ip to sample it with", OF(precise)),
	TEXT("note", "note", note, "what it lacks"),
	PLACE,
};
#undef OF
const struct table_form model_account_form = { "account",	   NULL,
					       TABLE_MAIN,	   TABLE_COLUMNS(account_columns),
					       .next = model_next, .rest = "node" };

/* ---- events ---------------------------------------------------------------------------------- */

TABLE_ROW_AS(model_event_cell, struct model_event)

TABLE_CELL(model_of_cell, out->text = list_model_tables(t)->need[r->at[0]].name)
TABLE_CELL(by_latency, out->n = list_model_tables(t)->need[r->at[0]].latency)
TABLE_CELL(model_used, out->n = model_index_of(t, r) < list_model_tables(t)->m->n_used)
TABLE_CELL(encoding, put_event_code(out->scratch, model_event_cell(r)); out->text = scratch(out))

/* Counters, by the bits that stand at c->which. */
TABLE_GET(spans)
{
	char text[64];
	uint32_t bits;

	memcpy(&bits, (const char *)r->p + c->which, sizeof(bits));
	if (bits)
		cell_printf(out, "%s", counter_spans(bits, text));
}

TABLE_CELL(flags, put_flags(out->scratch, model_event_cell(r)->flags); out->text = scratch(out))

#define OF(member)    TABLE_FIELD(struct model_event, member)
#define SPANS(member) .get = spans, .which = offsetof(struct model_event, member)
/* The first two are of events that names need. */
static const struct table_column event_columns[] = {
	COLUMN("of", "of", T_TEXT, C_KEY | C_GROUP, "the name that needs it; of an event, itself",
	       .get = model_of_cell),
	COLUMN("by_latency", "by latency", T_FLAG, C_SPARSE, "its retire latency is needed",
	       .get = by_latency),
	COLUMN("event", "event", T_TEXT, C_KEY, "as -e takes it", OF(name), .get = filled),
	COLUMN("encoding", "encoding, counters", T_TEXT, C_PEOPLE | C_FLEX | C_CUT, "",
	       .get = encoding),
	TEXT("pmu", "pmu", pmu, "where it is not the core's"),
	TEXT("code", "code", code, "terms of the PMU"),
	TEXT("modifiers", "modifiers", modifiers, "u, k: counted there only"),
	COLUMN("counters", "counters", T_TEXT, C_DATA, "general ones, with SMT on",
	       SPANS(counters)),
	COLUMN("counters_alone", "alone", T_TEXT, C_DATA, "the same with SMT off",
	       SPANS(counters_alone)),
	COLUMN("fixed", "fixed", T_TEXT, C_DATA, "fixed counters", SPANS(fixed)),
	COLUMN("period", "period", T_COUNT, C_DATA, "to sample it by", OF(period), .get = positive),
	COLUMN("flags", "flags", T_TEXT, C_DATA, "marks, a comma between them", .get = flags),
	TEXT("errata", "errata", errata, "known faults"),
	COLUMN("latency", "latency", T_REAL, C_DATA, "mean retire latency, core cycles",
	       OF(latency)),
	COLUMN("used", "used", T_FLAG, C_DATA, "by formulas of the model", .get = model_used),
};
#undef OF
const struct table_form model_events_form = {
	"events",
	NULL,
	TABLE_MAIN,
	.column = event_columns + 2,
	.n_columns = sizeof(event_columns) / sizeof(*event_columns) - 2,
	.next = model_next,
	.rest = "event"
};
const struct table_form model_needs_form = {
	"events", NULL, 0, TABLE_COLUMNS(event_columns), .next = model_next, .rest = "event"
};

/* Events that the kernel of a machine knows. */
#define OF(member) TABLE_FIELD(struct list_name, member)
static const struct table_column name_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "as -e takes it", OF(name)),
	COLUMN("kind", "kind", T_TEXT, C_GROUP, "hardware, cache, software, pmu, tracepoint, ...",
	       OF(kind)),
	COLUMN("text", "meaning", T_TEXT, C_FLEX | C_CUT | C_SPARSE, "what it counts, or its code",
	       OF(text), .get = filled),
};
#undef OF
const struct table_form model_names_form = { "events",		 NULL,
					     TABLE_MAIN,	 TABLE_COLUMNS(name_columns),
					     .next = model_next, .rest = "event" };

/* ---- groups ---------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct group_row, member)
static const struct table_column group_columns[] = {
	COLUMN("name", "name", T_TEXT, C_KEY, "as stat -M takes it", OF(name)),
	COLUMN("count", "count", T_COUNT, 0, "members", OF(n)),
	COLUMN("members", "members", T_LIST, C_FLEX | C_CUT, "metrics and nodes",
	       TABLE_LIST(struct group_row, member, n)),
};
#undef OF
const struct table_form model_groups_form = { "groups",		  NULL,
					      TABLE_MAIN,	  TABLE_COLUMNS(group_columns),
					      .next = model_next, .rest = "group" };

/* ---- models ---------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct model_row, member)
static const struct table_column model_columns[] = {
	COLUMN("id", "id", T_TEXT, C_KEY, "as --model takes it", OF(id)),
	COLUMN("title", "cpu", T_TEXT, 0, "the CPU", OF(title)),
	TEXT("vendor", "vendor", vendor, "of the CPU"),
	COLUMN("tma", "TMA", T_TEXT, 0, "version of Intel's sheet", OF(tma), .get = filled),
	COLUMN("account", "account", T_FLAG, 0, "it has a cycle accounting", OF(account)),
	COLUMN("cpus", "cpus", T_TEXT, C_FLEX | C_CUT, "that it is for, as in cpus.tab", OF(match),
	       .get = filled),
};
#undef OF
const struct table_form model_rows_form = { "models",		NULL,
					    TABLE_MAIN,		TABLE_COLUMNS(model_columns),
					    .next = model_next, .rest = "model" };

/* ---- the head -------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct model, member)
static const struct table_column head_columns[] = {
	COLUMN("model", "model", T_TEXT, 0, "its id", OF(id)),
	COLUMN("title", "cpu", T_TEXT, 0, "the CPU", OF(title)),
	COLUMN("tma", "TMA", T_TEXT, 0, "version of Intel's sheet", OF(tma), .get = filled),
	COLUMN("from", "from", T_TEXT, 0, "source of the model", OF(from), .get = filled),
};
#undef OF
const struct table_form model_head_form = { "model", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					    TABLE_COLUMNS(head_columns) };
