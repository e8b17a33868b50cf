/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/top/top_tables.h"

#include <math.h>
#include <string.h>

#include "cli/top/live.h"

/* ---- functions ------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct top_function, member)

TABLE_GET(top_change)
{
	const struct top_function *f = r->p;

	cell_estimate(out, f->change);
	out->sign = true;
	if (f->noise && !isnan(f->change.v)) {
		cell_none(out, "within its error");
		out->says = "noise";
	}
}

TABLE_CELL(space, out->text = ((const struct top_function *)r->p)->kernel ? "kernel" : "user")

static const struct table_column function_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT | C_ERROR, "of what was sampled", OF(share),
	       .least = 7),
	COLUMN("change", "change", T_SHARE, C_ERROR | C_WHY, "against the interval before",
	       .get = top_change, .least = 7),
	COLUMN("samples", "samples", T_COUNT, C_DROP, "taken in it", OF(samples)),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name", OF(function)),
	COLUMN("dso", "where", T_TEXT, C_KEY, "the file of its code", OF(dso)),
	COLUMN("space", "", T_TEXT, C_DROP, "kernel or user", .get = space),
	COLUMN("comm", "most by", T_TEXT, C_DROP, "the thread's name that has most of it",
	       OF(comm)),
};
#undef OF
const struct table_form live_functions_form = { "functions", NULL, TABLE_MAIN,
						TABLE_COLUMNS(function_columns) };

/* ---- the tree -------------------------------------------------------------------------------- */

enum { BAR = 20 };

static bool has_top_value(const struct live_node *n)
{
	return n->n->value.why == VALUE_OK && n->n->doubt == DOUBT_NONE;
}

TABLE_GET(node_top_name)
{
	const struct live_node *n = r->p;

	const char *dot = strrchr(n->m->path, '.'), *name = dot ? dot + 1 : n->m->path;

	if (!n->parent && n->label)
		cell_printf(out, "%s %s", n->label, name);
	else
		out->text = name;
}

TABLE_GET(node_top_share)
{
	const struct live_node *n = r->p;

	if (has_top_value(n))
		cell_estimate(out, (struct estimate){ n->n->shown, n->n->error, n->n->no_error });
	else
		cell_none(out, "not known in this interval");
	out->says = n->n->doubt ? "?" : NULL;
}

TABLE_GET(node_bar)
{
	const struct live_node *n = r->p;
	const struct style *st = t->ctx;
	double v = has_top_value(n) ? n->n->shown : 0;

	for (int i = 0; i < (int)(v * BAR + 0.5) && i < BAR; i++)
		buf_puts(out->scratch, st && st->ascii ? "#" : "\xe2\x96\x88");
	out->text = buf_str(out->scratch);
}

TABLE_CELL(node_top_of, out->text = model_share_of(((const struct live_node *)r->p)->m))
TABLE_CELL(node_path, out->text = ((const struct live_node *)r->p)->n->path ? "<==" : "")

#define OF(...) TABLE_FIELD(struct live_node, __VA_ARGS__)
static const struct table_column node_columns[] = {
	COLUMN("id", "id", T_ID, C_DATA, "of the node", OF(id)),
	COLUMN("parent", "parent", T_ID, C_DATA | C_0_IS_NONE, "the node above", OF(parent)),
	COLUMN("node", "node", T_TEXT, C_KEY | C_FLEX, "its name", .get = node_top_name),
	COLUMN("share", "share", T_SHARE, C_HEAT | C_ERROR | C_WHY, "of its unit",
	       .get = node_top_share, .least = 7),
	COLUMN("path", "", T_TEXT, 0, "the path to follow", .get = node_path, .least = 3),
	COLUMN("bar", "", T_TEXT, C_PEOPLE, "the share", .get = node_bar, .least = BAR),
	COLUMN("unit", "of", T_TEXT, C_DROP, "what it is a share of", .get = node_top_of),
	COLUMN("counted", "counted", T_SHARE, C_DROP, "share of the time that its events were",
	       OF(n, counted)),
};
#undef OF
const struct table_form live_nodes_form = { "nodes", NULL, 0, TABLE_COLUMNS(node_columns) };

/* ---- processes ------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct top_process, member)

TABLE_GET(top_state)
{
	const struct top_process *p = r->p;

	if (p->state)
		cell_printf(out, "%c", p->state);
	else
		out->text = "ended";
}

static const struct table_column process_columns[] = {
	COLUMN("pid", "pid", T_ID, C_KEY, "of the process", OF(pid), .least = 6),
	COLUMN("cpu", "CPU", T_SHARE, C_HEAT | C_ERROR | C_WHY, "100 % is one CPU", OF(cpu),
	       .least = 7),
	COLUMN("share", "share", T_SHARE, C_ERROR | C_WHY | C_DROP, "of what was sampled",
	       OF(share)),
	COLUMN("switches", "switches/s", T_REAL, C_WHY, "of its threads that ran", OF(switches)),
	COLUMN("faults", "faults/s", T_REAL, C_WHY, "page faults", OF(faults)),
	COLUMN("major_faults", "major/s", T_REAL, C_WHY | C_DROP, "page faults that read a disk",
	       OF(major)),
	COLUMN("threads", "threads", T_COUNT, C_DROP | C_0_IS_NONE, "that it has", OF(threads)),
	COLUMN("state", "state", T_TEXT, C_DROP, "as ps shows it", .get = top_state),
	COLUMN("comm", "process", T_TEXT, C_FLEX, "its name", OF(comm), .least = 15),
	COLUMN("function", "hottest function", T_TEXT, C_DROP | C_SPARSE, "with most samples",
	       OF(function)),
	COLUMN("cgroup", "cgroup", T_TEXT, C_DROP | C_KEEP_END, "its path", OF(cgroup)),
};
#undef OF
const struct table_form live_processes_form = { "processes", NULL, 0,
						TABLE_COLUMNS(process_columns) };

/* ---- cgroups --------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct top_cgroup, member)
static const struct table_column cgroup_columns[] = {
	COLUMN("cpu", "CPU", T_SHARE, C_HEAT | C_ERROR | C_WHY, "100 % is one CPU", OF(cpu),
	       .least = 7),
	COLUMN("share", "share", T_SHARE, C_ERROR | C_WHY | C_DROP, "of what was sampled",
	       OF(share)),
	COLUMN("switches", "switches/s", T_REAL, C_WHY, "of threads that ran", OF(switches)),
	COLUMN("faults", "faults/s", T_REAL, C_WHY, "page faults", OF(faults)),
	COLUMN("processes", "processes", T_COUNT, 0, "that ran", OF(processes)),
	COLUMN("name", "unit, container, pod", T_TEXT, C_FLEX, "the end of the path, in short",
	       OF(name)),
	COLUMN("cgroup", "cgroup", T_TEXT, C_KEY | C_DROP | C_KEEP_END, "its path", OF(path)),
};
#undef OF
const struct table_form live_cgroups_form = { "cgroups", NULL, 0, TABLE_COLUMNS(cgroup_columns) };

/* ---- metrics --------------------------------------------------------------------------------- */

enum { SPARKS = 32 };

TABLE_GET(metric_now)
{
	const struct top_metric *m = r->p;

	out->kind = m->share ? T_SHARE : T_AMOUNT;
	cell_estimate(out, m->now);
}

/* Exact values have none. */
TABLE_GET(metric_error)
{
	const struct top_metric *m = r->p;
	struct table_cell x = { .kind = m->share ? T_SHARE : T_AMOUNT, .e = m->now };

	if (!(m->now.half <= 0))
		cell_put_error(out->scratch, &x);
	out->text = out->scratch->len ? buf_str(out->scratch) : NULL;
}

TABLE_GET(metric_unit)
{
	const struct top_metric *m = r->p;

	out->text = m->unit && *m->unit && !m->share ? m->unit : "";
}

/* One character for each interval, the newest at the right: shares of 1, others of the most that is
 * in sight. */
TABLE_GET(metric_sparks)
{
	static const char *const blocks[] = { " ",
					      "\xe2\x96\x81",
					      "\xe2\x96\x82",
					      "\xe2\x96\x83",
					      "\xe2\x96\x84",
					      "\xe2\x96\x85",
					      "\xe2\x96\x86",
					      "\xe2\x96\x87",
					      "\xe2\x96\x88" };
	static const char plain[] = " .:-=+*#@";
	const struct top_metric *m = r->p;
	const struct style *st = t->ctx;
	size_t n = m->n_past < SPARKS ? m->n_past : SPARKS;
	const double *v = m->past + (m->n_past - n);
	double most = m->share ? 1 : 0;

	for (size_t i = 0; i < n; i++)
		most = v[i] > most ? v[i] : most;
	for (size_t i = n; i < SPARKS; i++)
		buf_putc(out->scratch, ' ');
	for (size_t i = 0; i < n; i++) {
		size_t level = isnan(v[i]) || !(most > 0) || v[i] <= 0
				       ? 0
				       : 1 + (size_t)(v[i] / most * 7.999);

		if (st && st->ascii)
			buf_putc(out->scratch, plain[level]);
		else
			buf_puts(out->scratch, blocks[level]);
	}
	out->text = buf_str(out->scratch);
}

#define OF(member) TABLE_FIELD(struct top_metric, member)
static const struct table_column metric_columns[] = {
	COLUMN("place", "place", T_TEXT, C_KEY, "what it is a metric of", OF(place), .least = 8),
	COLUMN("metric", "metric", T_TEXT, C_KEY | C_FLEX, "its name", OF(name)),
	COLUMN("now", "now", T_AMOUNT, 0, "in this interval", .get = metric_now, .least = 8),
	COLUMN("error", "+-", T_TEXT, C_PEOPLE | C_SPARSE, "of the value", .get = metric_error),
	COLUMN("unit", "", T_TEXT, 0, "of the value", .get = metric_unit),
	COLUMN("past", "intervals before", T_TEXT, C_PEOPLE | C_KEEP_END, "the newest at the right",
	       .get = metric_sparks, .least = SPARKS),
};
#undef OF
const struct table_form live_metrics_form = { "metrics", NULL, 0, TABLE_COLUMNS(metric_columns) };
