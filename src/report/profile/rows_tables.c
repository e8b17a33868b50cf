/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a report: events with samples that were not attributed, and rows, whose columns are
 * those of column.def that the view has.
 */
#include "report/rows.h"

#include "base/num.h"
#include "base/xalloc.h"
#include "report/findings_view.h"
#include "report/profile/facts.h"
#include "report/profile/steps.h"
#include "report/recorded.h"
#include "report/tree_saved.h"
#include "show/page.h"

TABLE_CTX_AS(report_view_of, struct view)

/* ---- rows: at[0] counts tables of the view, at[1] their rows --------------------------------- */

static bool report_row_next(const struct table *t, struct table_row *r)
{
	const struct view *v = t->ctx;

	r->at[1] += r->p != NULL;
	while (r->at[0] < v->n_tables && r->at[1] >= v->table[r->at[0]].n_rows) {
		r->at[0]++;
		r->at[1] = 0;
	}
	if (r->at[0] >= v->n_tables)
		return false;
	r->p = &v->table[r->at[0]].row[r->at[1]];
	return true;
}

void rows_fold_name(struct buf *b, const struct view_row *r)
{
	char n[NUM_MAX];

	if (r->left_out)
		buf_puts(b, "(left out by --focus or --hide)");
	else
		buf_printf(b, "(%s more)", num_exact(n, r->folded));
}

size_t rows_fold_column(const struct view *v)
{
	const struct column_list *l = &v->columns;

	for (size_t i = l->n; i-- > 0;)
		if (l->id[i] == COL_FRAME || column_table[l->id[i]].flags & C_KEY)
			return i;
	return l->n;
}

/* For people a fold has a text: in place of a name, or behind its last value. */
TABLE_GET(folded_name)
{
	const struct view *v = report_view_of(t);
	const struct view_row *row = r->p;
	size_t at = rows_fold_column(v);
	struct buf value = BUF_INIT;

	column_table[v->columns.id[at < v->columns.n ? at : at - 1]].show.get(t, c, r, out);
	if (!row->folded || (out->kind == T_TEXT && out->text))
		return;
	if (at == v->columns.n && cell_has(out))
		cell_put(&value, out);
	buf_reset(out->scratch);
	buf_puts(out->scratch, buf_str(&value));
	buf_putc(out->scratch, '\0');
	buf_puts(out->scratch, value.len ? "  " : "");
	rows_fold_name(out->scratch, row);
	out->text = buf_str(out->scratch);
	out->tail = out->text + value.len + 1;
	out->kind = T_TEXT;
	out->none = false;
	out->dim = true;
	out->spills = v->opts.shape < VIEW_CALLEES;
	buf_free(&value);
}

/* "1,000 samples of cycles, 1.00 M, over 3.21 s" */
TABLE_GET(report_title)
{
	const struct view *v = report_view_of(t);

	fact_title(out->scratch, v, &v->table[r->at[0]], 0);
	out->text = buf_str(out->scratch);
}

#define OF_ROW(...) TABLE_FIELD(struct view_row, __VA_ARGS__)
static const struct table_column more_columns[] = {
	COLUMN("table", "", T_TEXT, C_PEOPLE | C_GROUP, "", .get = report_title),
	COLUMN("folded", "folded", T_COUNT, C_DATA | C_0_IS_NONE, "the row stands for so many",
	       OF_ROW(folded)),
	COLUMN("left_out", "left out", T_FLAG, C_DATA, "by --focus or --hide", OF_ROW(left_out)),
};
enum { TITLE, FOLDED, LEFT_OUT };

static const struct table_form rows_form = { "rows", NULL, TABLE_MAIN | TABLE_GROWS,
					     TABLE_COLUMNS(more_columns), .next = report_row_next };

static bool has_column(const struct view *v, enum column_id id)
{
	for (size_t i = 0; i < v->columns.n; i++)
		if (v->columns.id[i] == id)
			return true;
	return false;
}

static bool has_folds(const struct view *v)
{
	for (size_t i = 0; i < v->n_tables; i++)
		for (size_t k = 0; k < v->table[i].n_rows; k++)
			if (v->table[i].row[k].folded)
				return true;
	return false;
}

struct columns_made {
	struct table_column *v;
	size_t n;
};

/* An error that stands behind its value is the value's. */
static void make_column(struct columns_made *made, const struct view *v, size_t i, size_t event)
{
	const struct column_list *l = &v->columns;
	const struct column *c = &column_table[l->id[i]];
	struct table_column *to = &made->v[made->n];

	if (c->flags & COLUMN_BAR && i && l->id[i - 1] == c->show.which) {
		to[-1].flags |= C_ERROR;
		return;
	}
	*to = c->show;
	to->nth = event;
	made->n++;
	if (v->opts.machine)
		return;
	to->least = c->width;
	if (c->flags & C_KEY && to->kind == T_TEXT)
		to->flags |= C_FLEX;
	/* colours self time; by total time all callers would be hot, too */
	if (l->id[i] == (v->opts.shape == VIEW_CALLERS ? COL_SELF : COL_TOTAL))
		to->flags &= ~(unsigned)C_HEAT;
	if (l->id[i] == COL_SELF && v->opts.shape != VIEW_CALLERS)
		to->flags |= C_HEAT;
}

/* The view's columns. If events are side by side, weights stand once for each, then the names of
 * rows. */
static size_t make_report_columns(struct table_column *to, const struct view *v)
{
	const struct column_list *l = &v->columns;
	const struct view_table *t = v->table;
	size_t at = rows_fold_column(v), named = 0, events = v->n_tables == 1 ? t->n_events : 1;
	struct columns_made made = { .v = to };

	if (v->n_tables > 1 && !v->opts.machine)
		to[made.n++] = more_columns[TITLE];
	else if (v->n_tables > 1 && !has_column(v, COL_EVENT))
		to[made.n++] = column_table[COL_EVENT].show;
	for (size_t e = 0; e < events; e++)
		for (size_t i = 0; i < l->n; i++)
			if (events > 1 && column_table[l->id[i]].flags & COLUMN_WEIGHT) {
				make_column(&made, v, i, e);
				to[made.n - 1].over = v->source.event[t->event[e]].name;
			}
	for (size_t i = 0; i < l->n; i++) {
		if (events > 1 && column_table[l->id[i]].flags & COLUMN_WEIGHT)
			continue;
		make_column(&made, v, i, 0);
		if (i <= at)
			named = made.n - 1;
	}
	if (!has_folds(v))
		return made.n;
	if (!v->opts.machine)
		to[named].get = folded_name;
	to[made.n++] = more_columns[FOLDED];
	to[made.n++] = more_columns[LEFT_OUT];
	return made.n;
}

static void add_report_rows(struct document *d, const struct view *v)
{
	struct table rows = { .form = &rows_form, .ctx = v };
	size_t events = v->n_tables == 1 ? v->table->n_events : 1;
	struct table_column *c = arena_xalloc(&d->a, (COL_COUNT * events + 4) * sizeof(*c));

	rows.column = c;
	rows.n_columns = make_report_columns(c, v);
	document_table(d, &rows);
}

/* ---- events: at[0] counts tables of the view, at[1] their events ----------------------------- */

static bool event_next(const struct table *t, struct table_row *r)
{
	const struct view *v = t->ctx;

	r->at[1] += r->p != NULL;
	while (r->at[0] < v->n_tables && r->at[1] >= v->table[r->at[0]].n_events) {
		r->at[0]++;
		r->at[1] = 0;
	}
	if (r->at[0] >= v->n_tables)
		return false;
	r->p = v->table[r->at[0]].sum[r->at[1]];
	return true;
}

static const struct view_table *table_of(const struct table *t, const struct table_row *r)
{
	return &report_view_of(t)->table[r->at[0]];
}

TABLE_CELL(report_event,
	   out->text = report_view_of(t)->source.event[table_of(t, r)->event[r->at[1]]].name)
TABLE_CELL(unlisted_samples, out->n = table_of(t, r)->unlisted[r->at[1]].samples)
TABLE_CELL(unlisted_period, out->n = table_of(t, r)->unlisted[r->at[1]].period)
TABLE_CELL(trees, (void)facts_doubtful_trees(report_view_of(t), table_of(t, r), &out->n))

TABLE_GET(cut_samples)
{
	struct tally cut;

	out->none = !fact_cut(report_view_of(t), table_of(t, r), r->at[1], &cut);
	out->n = cut.samples;
}

TABLE_GET(cut_period)
{
	struct tally cut;

	out->none = !fact_cut(report_view_of(t), table_of(t, r), r->at[1], &cut);
	out->n = cut.period;
}

TABLE_GET(doubtful)
{
	size_t n;

	out->n = facts_doubtful_trees(report_view_of(t), table_of(t, r), &n);
}

/* Reports that have a sum. */
enum { OF_ALL, OF_SAMPLES, OF_BRANCHES, OF_TREES };

#define OF(member) TABLE_FIELD(struct profile_sum, member)
/* clang-format off */
#define SUM(key, head, means, ...) \
	COLUMN(key, head, T_COUNT, 0, means, .which = OF_SAMPLES, __VA_ARGS__)
#define SUMS(key, head, member, means) \
	SUM(key "samples", head, means, OF(member.samples)), \
	SUM(key "period", head, means, OF(member.period))
#define BRANCHES(key, head, member, means) \
	COLUMN(key, head, T_COUNT, 0, means, .which = OF_BRANCHES, OF(member))
/* clang-format on */
static const struct table_column event_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "that sampled", .get = report_event),
	SUMS("", "samples", selected, "of it that were selected"),
	SUMS("not_selected_", "not selected", left_out, "left out by options"),
	SUMS("no_mapping_", "no mapping", no_map, "whose address lies in no mapping"),
	SUMS("no_symbol_", "no symbol", no_symbol, "whose mapping is known, but no symbol"),
	SUMS("no_name_", "no name", nameless, "in functions of stripped files"),
	SUM("not_listed_samples", "not listed", "in calls below --min each",
	    .get = unlisted_samples),
	SUM("not_listed_period", "not listed", "in calls below --min each", .get = unlisted_period),
	SUM("cut_samples", "cut", "whose call chains were cut off: totals may be larger",
	    .get = cut_samples),
	SUM("cut_period", "cut", "whose call chains were cut off", .get = cut_period),
	BRANCHES("branches", "branches", selected.samples, "of selected samples"),
	BRANCHES("branches_no_mapping", "no mapping", no_map.samples, "from or to no mapping"),
	BRANCHES("branches_no_symbol", "no symbol", no_symbol.samples, "from or to no symbol"),
	BRANCHES("branches_no_name", "no name", nameless.samples, "from or to stripped functions"),
	BRANCHES("samples_with_branches", "with", stacks, "selected samples"),
	BRANCHES("samples_without_branches", "without", no_stack, "selected samples"),
	BRANCHES("samples_not_selected", "not selected", left_out.samples, "left out by options"),
	COLUMN("not_readable", "unreadable", T_COUNT, 0, "samples that could not be read", OF(bad)),
	COLUMN("topdown_rows", "trees", T_COUNT, 0, "rows with a tree of their own", .get = trees,
	       .which = OF_TREES),
	COLUMN("topdown_rows_in_doubt", "in doubt", T_COUNT, 0,
	       "of them, with a part larger than its whole", .get = doubtful, .which = OF_TREES),
};
#undef OF
static const struct table_form events_form = { "events", NULL, TABLE_DATA,
					       TABLE_COLUMNS(event_columns), .next = event_next };

static uint64_t hidden_sums(const struct view *v)
{
	size_t not = profile_options(v->profile)->branches ? OF_SAMPLES : OF_BRANCHES;
	uint64_t hidden = 0;

	for (size_t i = 0; i < sizeof(event_columns) / sizeof(*event_columns); i++)
		if (event_columns[i].which == not ||
		    (event_columns[i].which == OF_TREES && !v->topdown.levels))
			hidden |= (uint64_t)1 << i;
	return hidden;
}

/* ---- the head, and the tree that `run` saved ------------------------------------------------- */

static const char *const report_shapes[] = { "table", "functions", "callees", "callers" };

#define CTX(...)     TABLE_CTX(struct tree_saved, __VA_ARGS__)
#define OF_VIEW(...) TABLE_FIELD(struct view, __VA_ARGS__)
static const struct table_column head_columns[] = {
	COLUMN("version", "version", T_TEXT, 0, "of cyclade", OF_VIEW(source.version)),
	COLUMN("shape", "shape", T_TEXT, 0, "table, functions, callees or callers",
	       OF_VIEW(opts.shape), TABLE_NAMES(report_shapes)),
	COLUMN("tree_cpu", "cpu", T_TEXT, 0, "of the tree that run saved", CTX(cpu)),
	COLUMN("no_tree", "no tree", T_TEXT, 0, "why there is none", CTX(missing)),
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

/* For people: findings, and the counts of `run` beside the samples. */
static void put_report_above(struct buf *out, const struct document *d, const struct style *st)
{
	const struct view *v = d->ctx;
	const struct pd_info *i = v->source.info;
	struct page p = { .out = out, .st = st };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct tree_saved t;

	if (findings_above(v->opts.findings, false)) {
		page_end(&p);
		findings_put_above(out, v->opts.findings, false, st);
	}
	if (!i || !i->tree)
		return;
	buf_putc(out, ' ');
	page_ink(&p, INK_DIM);
	page_text(&p, "counted beside the samples, for the whole of the program:", page_room(&p, 1),
		  true);
	page_ink(&p, INK_PLAIN);
	page_end(&p);
	if (tree_saved_read(&t, &a, i->tree, i->tree_len, &err))
		page_labelled(&p, "no tree", err.what, true);
	else
		tree_saved_put(out, &t, st);
	page_end(&p);
	arena_free(&a);
	buf_free(&p.text);
}

static const struct table_form *const forms[] = { &head_form,		&recorded_form,
						  &tree_saved_form,	&tree_saved_notes_form,
						  &events_form,		&rows_form,
						  &recorded_losses_form };
static const struct format faces[] = { { "folded", rows_folded, true, true },
				       { "svg", rows_svg, true, true } };
const struct document_form rows_document = { .name = "report",
					     .version = 2,
					     .table = forms,
					     .n_tables = sizeof(forms) / sizeof(*forms),
					     .face = faces,
					     .n_faces = sizeof(faces) / sizeof(*faces) };

static const struct tree_saved *read_tree(struct document *d, const struct view *v)
{
	const struct pd_info *i = v->source.info;
	struct tree_saved *t = arena_xalloc(&d->a, sizeof(*t));
	struct err err = ERR_INIT;

	*t = (struct tree_saved){ .missing = "the recording has none" };
	if (i->tree && tree_saved_read(t, &d->a, i->tree, i->tree_len, &err))
		*t = (struct tree_saved){ .missing = arena_xstrdup(&d->a, err.what) };
	return t;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_report_facts(struct document *d, const struct view *v)
{
	struct fact f[FACTS_MAX];
	size_t n;

	for (size_t i = 0; i < v->n_tables; i++)
		for (size_t e = 0; e < v->table[i].n_events; e++) {
			const char *of = v->source.event[v->table[i].event[e]].name;
			bool several = v->n_tables > 1 || v->table[i].n_events > 1;

			n = facts_of_event(v, &v->table[i], e, f);
			for (size_t k = 0; k < n; k++)
				document_fact(d, f[k].label, f[k].bad, "%s%s%s%s", f[k].text,
					      several ? " (" : "", several ? of : "",
					      several ? ")" : "");
		}
	if (!v->n_tables)
		document_fact(d, "events", true, "none, so no samples");
	n = facts_of_chains(v, f);
	for (size_t k = 0; k < n; k++)
		document_fact(d, f[k].label, f[k].bad, "%s", f[k].text);
}

/* Several tables have theirs above their rows, if they have rows. */
static void add_report_titles(struct document *d, const struct view *v)
{
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < v->n_tables; i++)
		for (size_t e = 0; e < v->table[i].n_events; e++) {
			if (v->n_tables > 1 && v->table[i].n_rows)
				continue;
			buf_reset(&line);
			fact_title(&line, v, &v->table[i], e);
			document_title(d, INK_PLAIN, "%s", buf_str(&line));
		}
	buf_free(&line);
}

void rows_put(struct document *d, const struct view *v)
{
	const struct tree_saved *tree = read_tree(d, v);
	const struct table saved = { .form = &tree_saved_form, .ctx = tree };

	d->above = put_report_above;
	d->tight = true;
	document_table(d, &(struct table){ .form = &head_form, .ctx = tree, .array = v, .n = 1 });
	recorded_head(d, &v->source);
	add_report_titles(d, v);
	document_table(d, &saved);
	document_table(d, &TABLE_OF(tree_saved_notes_form, tree, tree->note, tree->n_notes));
	document_table(d,
		       &(struct table){ .form = &events_form, .ctx = v, .hidden = hidden_sums(v) });
	add_report_rows(d, v);
	add_report_facts(d, v);
	recorded_tail(d, &v->source);
	d->n_next = next_steps(v, d->next, &d->a);
}
