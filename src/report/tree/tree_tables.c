/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree as tables: each tree with its model, every node and metric that was asked for, and the
 * counts that they were made of. A node's value is a fraction of its unit (slots, clocks, ...), its
 * name the path; a node without a value has the reason.
 *
 * People read the rows of tree_view.h: small nodes summed, closed ones left out.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "model/groups.h"
#include "report/tree/tree_parts.h"

struct item { /* a node or a metric of a tree */
	const struct tree_source *s;
	const struct model_metric *m;
	const struct tree_node *n;
	uint32_t metric;
};

TABLE_CTX_AS(tree_report_of, struct tree_report)

void tree_get_time(const struct table *t, const struct table_column *c, const struct table_row *r,
		   struct table_cell *out)
{
	(void)c;
	(void)r;
	out->e.v = tree_report_of(t)->head.time;
}

/* ---- trees ----------------------------------------------------------------------------------- */

static const struct tree_source *source_of(const struct table_row *r)
{
	return &((const struct tree_view *)r->p)->source;
}

static const struct model *tree_model_of(const struct table_row *r)
{
	return source_of(r)->tree->model;
}

/* IPC or frequency, by c->which. */
static const struct tree_rate *tree_rate_of(const struct table_column *c, const struct table_row *r)
{
	const struct tree_rates *x = source_of(r)->rates;

	return x ? (const struct tree_rate *)((const char *)x + c->which) : NULL;
}

TABLE_GET(rate)
{
	const struct tree_rate *x = tree_rate_of(c, r);

	if (x)
		cell_estimate(out, (struct estimate){ x->value, x->error,
						      isnan(x->value) ? x->why : x->no_error });
	else
		cell_none(out, "not worked out of counts taken before");
}

TABLE_GET(rate_counted)
{
	const struct tree_rate *x = tree_rate_of(c, r);

	out->e.v = x ? x->counted : NAN;
}

#define RATE(member) .which = offsetof(struct tree_rates, member)
#define OF_VIEW(...) TABLE_FIELD(struct tree_view, __VA_ARGS__)
static const struct table_column tree_columns[] = {
	TREE_PLACE(OF_VIEW(source.label)),
	COLUMN("model", "model", T_TEXT, 0, "of the CPU", OF_VIEW(source.tree, model, id)),
	COLUMN("title", "title", T_TEXT, 0, "the CPU in words", OF_VIEW(source.tree, model, title)),
	COLUMN("source", "source", T_TEXT, 0, "where the model is from",
	       OF_VIEW(source.tree, model, from)),
	COLUMN("tma", "TMA", T_TEXT, C_0_IS_NONE, "version of Intel's sheet",
	       OF_VIEW(source.tree, model, tma)),
	COLUMN("revision", "revision", T_ID, 0, "of the model",
	       OF_VIEW(source.tree, model, revision)),
	COLUMN("slots", "slots", T_AMOUNT, 0, "that level 1 divides", OF_VIEW(source.whole)),
	COLUMN("ipc", "IPC", T_REAL, C_ERROR | C_WHY, "instructions per cycle", .get = rate,
	       RATE(ipc)),
	COLUMN("ipc_counted", "counted", T_SHARE, 0, "share of the time that IPC is of",
	       .get = rate_counted, RATE(ipc)),
	COLUMN("frequency", "Hz", T_REAL, C_ERROR | C_WHY, "of the clock", .get = rate,
	       RATE(frequency), .unit = "Hz"),
	COLUMN("frequency_counted", "counted", T_SHARE, 0, "share of the time that it is of",
	       .get = rate_counted, RATE(frequency)),
};
#undef RATE
const struct table_form tree_trees_form = { "trees", NULL, TABLE_DATA,
					    TABLE_COLUMNS(tree_columns) };

/* ---- nodes and metrics ----------------------------------------------------------------------- */

TABLE_ROW_AS(item_of, struct item)

static bool has_table_value(const struct item *x)
{
	return x->n->value.why == VALUE_OK && x->n->doubt == DOUBT_NONE;
}

TABLE_GET(value)
{
	const struct item *x = r->p;
	double unit = x->m->level ? 1 : x->m->scale;

	if (has_table_value(x)) {
		cell_estimate(out, (struct estimate){ x->n->shown * unit, x->n->error * unit,
						      x->n->no_error });
		return;
	}
	tree_view_why(out->scratch, x->s, x->metric);
	cell_none(out, buf_str(out->scratch));
	out->says = x->n->doubt ? "?" : NULL;
}

TABLE_GET(while_open)
{
	const struct item *x = r->p;

	if (has_table_value(x))
		cell_estimate(out, (struct estimate){ x->n->open, x->n->open_error, NULL });
}

TABLE_GET(parent)
{
	const struct item *x = r->p;

	if (x->m->parent != MODEL_NONE)
		out->text = x->s->tree->model->metric[x->m->parent].path;
}

static const char *formula_of(const struct item *x)
{
	return x->s->formula ? x->s->formula[x->metric] : NULL;
}

TABLE_CELL(line, out->n = item_of(r)->m->line; out->none = !formula_of(item_of(r)))

static void put_bounds(const struct item *x, bool high, struct table_cell *out)
{
	double end[2];

	out->none = !tree_bound(x->n, &end[0], &end[1]);
	if (!out->none)
		out->e.v = end[high];
}

TABLE_CELL(low, put_bounds(item_of(r), false, out))
TABLE_CELL(high, put_bounds(item_of(r), true, out))

/* Bottlenecks have the mark of the path, too: those that may be worth a look. */
TABLE_GET(path)
{
	const struct item *x = r->p;

	out->n = x->m->level ? x->n->path
			     : has_table_value(x) && x->n->over && model_bottleneck_is_loss(x->m);
}

/* For people, who see no KEY_why. */
TABLE_GET(item_why)
{
	tree_view_why(out->scratch, item_of(r)->s, item_of(r)->metric);
	out->text = out->scratch->len ? buf_str(out->scratch) : NULL;
}

TABLE_CELL(domain, out->text = model_share_of(item_of(r)->m))
TABLE_CELL(bottleneck, out->text = model_bottleneck_name(item_of(r)->m))
TABLE_CELL(formula, out->text = formula_of(item_of(r)))
TABLE_CELL(file, out->text = formula_of(item_of(r)) ? item_of(r)->m->file : NULL)

/* clang-format off */
#define OF_ITEM(...) TABLE_FIELD(struct item, __VA_ARGS__)
#define MARKS(over_, path_) \
	COLUMN("counted", "counted", T_SHARE, C_SPARSE, "share of the time that its events were", \
	       OF_ITEM(n, counted)), \
	COLUMN("over", "over", T_FLAG, C_DATA, over_, OF_ITEM(n, over)), \
	COLUMN("path", "<==", T_FLAG, C_SPARSE, path_, .get = path), \
	COLUMN("formula", "formula", T_TEXT, C_DATA, "with its values (--why)", .get = formula), \
	COLUMN("file", "file", T_TEXT, C_DATA, "of the model, that has the formula", .get = file), \
	COLUMN("line", "line", T_ID, C_DATA, "of the file", .get = line)
/* clang-format on */
enum { FORMULA_COLUMNS = 3 }; /* the last ones */
static const struct table_column node_columns[] = {
	TREE_PLACE(OF_ITEM(s, label)),
	COLUMN("node", "node", T_TEXT, C_KEY | C_FLEX | C_KEEP_END, "its path in the tree",
	       OF_ITEM(m, path)),
	COLUMN("parent", "parent", T_TEXT, C_DATA, "the path of the node above", .get = parent),
	COLUMN("level", "level", T_ID, 0, "1 divides the slots", OF_ITEM(m, level)),
	COLUMN("value", "share", T_SHARE, C_HEAT | C_ERROR | C_WHY, "of its unit", .get = value),
	COLUMN("unit", "of", T_TEXT, 0, "what it is a share of", .get = domain),
	COLUMN("while_open", "open", T_SHARE, C_ERROR | C_SPARSE,
	       "its share of the time that it was counted for", .get = while_open),
	COLUMN("low", "at least", T_SHARE, C_DATA,
	       "all that is known of it, if it was counted for too little of the run", .get = low),
	COLUMN("high", "at most", T_SHARE, C_DATA, "the same", .get = high),
	COLUMN("tie", "tie", T_FLAG, C_DATA,
	       "the path ends before it: another node is as large, within the errors",
	       OF_ITEM(n, tie)),
	MARKS("its threshold", "on the path to follow"),
};
static const struct table_column metric_columns[] = {
	TREE_PLACE(OF_ITEM(s, label)),
	COLUMN("metric", "metric", T_TEXT, C_KEY, "its name", OF_ITEM(m, name)),
	COLUMN("value", "value", T_REAL, C_ERROR | C_WHY, "in its unit", .get = value),
	COLUMN("unit", "unit", T_TEXT, C_0_IS_NONE, "of the value", OF_ITEM(m, unit)),
	COLUMN("why", "", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = item_why),
	COLUMN("bottleneck", "bottleneck", T_TEXT, C_DATA, "what it names as the cause of slots",
	       .get = bottleneck),
	MARKS("its threshold", "a bottleneck over its threshold"),
};

const struct table_form tree_nodes_form = { "nodes", NULL, TABLE_MAIN | TABLE_DATA,
					    TABLE_COLUMNS(node_columns), .rest = "node" };
const struct table_form tree_metrics_form = { "metrics", NULL, TABLE_MAIN,
					      TABLE_COLUMNS(metric_columns), .rest = "metric" };

/* ---- counts: at[0] is the view, at[1] the event ---------------------------------------------- */

static const struct tree_view *view_at(const struct table *t, const struct table_row *r)
{
	return r->at[0] < tree_report_of(t)->n_views ? &tree_report_of(t)->view[r->at[0]] : NULL;
}

static bool count_next(const struct table *t, struct table_row *r)
{
	const struct tree_view *v;

	for (r->at[1] += r->p != NULL; (v = view_at(t, r)); r->at[0]++, r->at[1] = 0)
		for (; v->source.count && r->at[1] < v->source.tree->model->n_used; r->at[1]++)
			if (isfinite(v->source.count[r->at[1]])) {
				r->p = v;
				return true;
			}
	return false;
}

TABLE_CELL(event, out->text = tree_model_of(r)->event[r->at[1]].name)
TABLE_CELL(count, out->e.v = source_of(r)->count[r->at[1]])
TABLE_CELL(share, out->e.v = source_of(r)->share ? source_of(r)->share[r->at[1]] : NAN)

static const struct table_column count_columns[] = {
	TREE_PLACE(OF_VIEW(source.label)),
	COLUMN("event", "event", T_TEXT, C_KEY, "that formulas ask for", .get = event),
	COLUMN("value", "value", T_AMOUNT, 0, "extrapolated to the whole time", .get = count),
	COLUMN("counted", "counted", T_SHARE, 0, "share of the time that it counted", .get = share),
};
const struct table_form tree_counts_form = { "counts", NULL, TABLE_DATA,
					     TABLE_COLUMNS(count_columns), .next = count_next };

/* ---- rows for people: at[0] is the view, at[1] its row --------------------------------------- */

static bool next_shown_node(const struct table *t, struct table_row *r)
{
	const struct tree_view *v;

	for (r->at[1] += r->p != NULL; (v = view_at(t, r)); r->at[0]++, r->at[1] = 0)
		if (r->at[1] < v->n) {
			r->p = &v->row[r->at[1]];
			return true;
		}
	return false;
}

TABLE_ROW_AS(shown_of, struct tree_view_row)

TABLE_GET(shown_why)
{
	if (shown_of(r)->metric == MODEL_NONE)
		return;
	tree_view_why(out->scratch, &view_at(t, r)->source, shown_of(r)->metric);
	out->text = out->scratch->len ? buf_str(out->scratch) : NULL;
}

TABLE_CELL(shown_where, out->text = view_at(t, r)->source.label)
TABLE_CELL(shown_name, out->text = shown_of(r)->name; out->indent = shown_of(r)->depth)

/* A sum of small ones has no error. */
TABLE_GET(shown_share)
{
	const struct tree_view_row *x = r->p;
	char n[NUM_MAX];

	if (x->doubtful) {
		out->says = "?";
	} else if (x->bound) {
		struct buf b = BUF_INIT;

		tree_put_bound(&b, x);
		out->kind = T_TEXT;
		out->says = "";
		cell_printf(out, "%s", buf_str(&b));
		buf_free(&b);
	} else if (x->metric != MODEL_NONE) {
		cell_estimate(out, (struct estimate){ x->share, x->error, x->no_error });
	} else {
		out->kind = T_TEXT;
		out->says = "";
		if (!isnan(x->share))
			cell_printf(out, "%s", num_percent(n, x->share));
	}
}

TABLE_GET(shown_unit)
{
	const struct tree_view_row *x = r->p;

	if (x->metric != MODEL_NONE || !isnan(x->share))
		out->text = *x->unit ? x->unit : "slots";
}

TABLE_CELL(shown_counted, out->says = "")
TABLE_CELL(shown_mark, out->text = shown_of(r)->path || shown_of(r)->tie ? "<==" : NULL)

static const struct table_column shown_columns[] = {
	TREE_PLACE(.get = shown_where),
	COLUMN("node", "node", T_TEXT, C_KEY, "its name", .get = shown_name),
	COLUMN("share", "share", T_SHARE, C_HEAT | C_ERROR, "of its unit", .get = shown_share),
	COLUMN("unit", "of", T_TEXT, 0, "what it is a share of", .get = shown_unit),
	COLUMN("counted", "counted", T_SHARE, C_SPARSE, "share of the time that its events were",
	       TABLE_FIELD(struct tree_view_row, counted), .get = shown_counted),
	COLUMN("mark", "", T_TEXT, C_SPARSE, "the path to follow", .get = shown_mark),
	COLUMN("why", "", T_TEXT, C_SPARSE, "why it has no value", .get = shown_why),
};
const struct table_form tree_shown_form = { "tree", NULL, TABLE_PEOPLE,
					    TABLE_COLUMNS(shown_columns), .next = next_shown_node };

/* ---- all of them ----------------------------------------------------------------------------- */

/* Returns true if `metric` belongs into the output for programs. */
static bool take_tree_row(const struct tree_source *s, const struct model_metric *m,
			  uint32_t metric)
{
	bool named = s->named && s->named[metric];

	if ((s->wanted && !s->wanted[metric]) || (!m->level && !named))
		return false;
	return !m->level || !s->level || m->level <= s->level || named;
}

/* By the order of the model: of those with a level, and of those without one. */
static int by_node_order(const void *a, const void *b)
{
	uint32_t x = ((const struct item *)a)->m->order, y = ((const struct item *)b)->m->order;

	return (x > y) - (x < y);
}

static void add_items(struct document *d, const struct tree_report *r, struct table *nodes,
		      struct table *metrics)
{
	size_t room[2] = { 0 }, n[2] = { 0 };
	struct item *of[2];

	for (size_t v = 0; v < r->n_views; v++)
		for (uint32_t i = 0; i < r->view[v].source.tree->n; i++)
			room[!r->view[v].source.tree->model->metric[i].level]++;
	for (size_t k = 0; k < 2; k++) {
		of[k] = arena_alloc(&d->a, (room[k] + 1) * sizeof(**of));
		d->failed |= !of[k];
	}
	for (size_t v = 0; v < r->n_views && !d->failed; v++) {
		const struct tree_source *s = &r->view[v].source;
		size_t from[2] = { n[0], n[1] };

		for (uint32_t i = 0; i < s->tree->n; i++) {
			const struct model_metric *m = &s->tree->model->metric[i];

			if (take_tree_row(s, m, i))
				of[!m->level][n[!m->level]++] =
					(struct item){ s, m, &s->tree->node[i], i };
		}
		for (size_t k = 0; k < 2; k++)
			qsort(of[k] + from[k], n[k] - from[k], sizeof(**of), by_node_order);
	}
	*nodes = (struct table){ .array = of[0], .stride = sizeof(**of), .n = n[0] };
	*metrics = (struct table){ .array = of[1], .stride = sizeof(**of), .n = n[1] };
}

void tree_put_table(struct document *d, const struct tree_report *r, const struct table_form *f,
		    struct table t)
{
	bool formulas = r->n_views && r->view[0].source.formula;

	t.form = f;
	t.ctx = r;
	/* the first column; tables behind intervals have those of intervals */
	t.hidden = isnan(r->head.time) && !r->head.end ? 1u : 0u;
	if (!formulas && (f == &tree_nodes_form || f == &tree_metrics_form))
		for (size_t i = f->n_columns - FORMULA_COLUMNS; i < f->n_columns; i++)
			t.hidden |= UINT64_C(1) << i;
	document_table(d, &t);
}

/* Without nodes, csv has metrics. */
void tree_put_tables(struct document *d, const struct tree_report *r, bool aside)
{
	struct table nodes, metrics;

	add_items(d, r, &nodes, &metrics);
	nodes.aside = aside || (!nodes.n && metrics.n);
	metrics.aside = aside || nodes.n;
	tree_put_table(
		d, r, &tree_trees_form,
		(struct table){ .array = r->view, .stride = sizeof(*r->view), .n = r->n_views });
	tree_put_table(d, r, &tree_nodes_form, nodes);
	tree_put_table(d, r, &tree_shown_form, (struct table){ 0 });
	tree_put_table(d, r, &tree_metrics_form, metrics);
	tree_put_table(d, r, &tree_counts_form, (struct table){ 0 });
	tree_put_latencies(d, r);
}

/* ---- the document of `stat` ------------------------------------------------------------------ */

static const struct table_column machine_columns[] = {
	COLUMN("cpu", "cpu", T_TEXT, 0, "the CPU, its clock and its model",
	       TABLE_FIELD(struct tree_report, cpu)),
};
static const struct table_form machine_form = { "machine", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(machine_columns) };

static const struct table_form *const forms[] = { &count_head_form,    &count_interval_form,
						  &machine_form,       TREE_FORMS,
						  &counts_beside_form, &counts_printed_form,
						  &counts_shown_form,  &count_runs_form,
						  &count_nodes_form,   &count_losses_form };
static const struct format faces[] = { { "term", tree_write_term, false, false } };
const struct document_form tree_document = { "tree", 2, forms, sizeof(forms) / sizeof(*forms),
					     faces,  1 };

void tree_report_put(struct document *d, const struct tree_report *r)
{
	count_head_put(d, &r->head);
	if (r->cpu && !r->head.end)
		document_title(d, INK_DIM, "%s", r->cpu);
	if (isnan(r->head.time) && !r->head.end)
		document_table(d, &(struct table){ .form = &machine_form, .array = r, .n = 1 });
	if (r->head.end)
		tree_put_latencies(d, r);
	else
		tree_put_tables(d, r, false);
	if (r->beside && !r->head.end)
		counts_beside_put(d, r->beside);
	for (size_t i = 0; i < r->n_next; i++)
		document_next(d, r->next[i].command, r->next[i].why);
	count_tail_put(d, &r->head);
}
