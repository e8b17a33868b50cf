/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "base/num.h"
#include "report/findings_view.h"
#include "report/run.h"
#include "report/tree/tree_parts.h"
#include "report/wait_view.h"

TABLE_CTX_AS(run_report_of, struct run_report)

/* ---- the head, the recording, losses: of the report ------------------------------------------ */

/* Without a model, `cpu` is no CPU's name, but cycles and instructions. */
TABLE_CELL(run_cpu,
	   out->text = run_report_of(t)->tree->n_views ? run_report_of(t)->tree->cpu : NULL)
TABLE_CELL(run_beside,
	   out->text = run_report_of(t)->tree->n_views ? NULL : run_report_of(t)->tree->cpu)
TABLE_CELL(run_file, out->text = run_report_of(t)->kept ? run_report_of(t)->file : NULL)

#define OF(member) TABLE_FIELD(struct run_report, member)
static const struct table_column machine_columns[] = {
	COLUMN("cpu", "cpu", T_TEXT, 0, "the CPU, its clock and its model", .get = run_cpu),
	COLUMN("counted_beside", "counted", T_TEXT, 0, "in place of a tree", .get = run_beside),
	COLUMN("no_tree", "no tree", T_TEXT, 0, "why there is none", OF(no_tree)),
};
static const struct table_form machine_form = { "machine", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(machine_columns) };

static const struct table_column recording_columns[] = {
	COLUMN("file", "file", T_TEXT, 0, "null: not written", .get = run_file),
	COLUMN("files", "files", T_COUNT, C_0_IS_NONE, "of several runs (-r): FILE.1, FILE.2, ...",
	       OF(files)),
	COLUMN("bytes", "bytes", T_BYTES, 0, "of all files", OF(bytes)),
	COLUMN("sampled", "sampled", T_TEXT, 0, "the events", OF(sampled)),
	COLUMN("no_cycles", "no cycles", T_TEXT, 0, "why time was sampled", OF(no_cycles)),
	COLUMN("user_only", "user only", T_FLAG, 0, "the kernel was not looked at", OF(user_only)),
	COLUMN("samples", "samples", T_COUNT, 0, "in all files", OF(samples)),
	COLUMN("counters", "counters", T_COUNT, 0, "that were opened", OF(counters)),
	COLUMN("no_threads", "no threads", T_TEXT, 0, "why it is not known how long they waited",
	       OF(no_waits)),
};
static const struct table_form recording_form = { "recording", NULL, TABLE_ONE | TABLE_DATA,
						  TABLE_COLUMNS(recording_columns) };

static const struct table_column losses_columns[] = {
	COLUMN("lost", "lost", T_COUNT, C_LOSS, "events lost because the ring was full", OF(lost)),
	COLUMN("throttles", "throttled", T_COUNT, C_LOSS, "times that the kernel paused sampling",
	       OF(throttled)),
	COLUMN("counters_ousted", "ousted", T_COUNT, C_LOSS,
	       "counters that lost their place to others: samples are missing", OF(ousted)),
};
#undef OF
static const struct table_form losses_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
					       TABLE_COLUMNS(losses_columns) };

/* ---- events that sampled: rows of report.table ----------------------------------------------- */

static const struct profile_sum *run_sum_of(const struct table_row *r)
{
	return ((const struct run_table *)r->p)->where.sum;
}

static const struct tally *run_tally_of(const struct table_column *c, const struct table_row *r)
{
	return (const struct tally *)((const char *)run_sum_of(r) + c->which);
}

TABLE_CELL(run_samples_of, out->n = run_tally_of(c, r)->samples)
TABLE_CELL(run_period_of, out->n = run_tally_of(c, r)->period)

/* clang-format off */
#define TALLY(key, member, what) \
	COLUMN(key "samples", "samples", T_COUNT, 0, what, .get = run_samples_of, \
	       .which = offsetof(struct profile_sum, member)), \
	COLUMN(key "period", "period", T_COUNT, 0, what, .get = run_period_of, \
	       .which = offsetof(struct profile_sum, member))
/* clang-format on */
static const struct table_column event_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "that sampled",
	       TABLE_FIELD(struct run_table, event)),
	TALLY("", selected, "in all"),
	TALLY("no_mapping_", no_map, "in no mapping"),
	TALLY("no_symbol_", no_symbol, "without a symbol"),
	TALLY("no_name_", nameless, "in a file without a name"),
	COLUMN("not_readable", "unreadable", T_COUNT, 0, "samples that could not be read",
	       TABLE_FIELD(struct run_table, where.sum, bad)),
};
static const struct table_form events_form = { "events", NULL, TABLE_DATA,
					       TABLE_COLUMNS(event_columns) };

/* ---- functions: at[0] is the event's table, at[1] its row ------------------------------------ */

static bool function_next(const struct table *t, struct table_row *r)
{
	const struct run_report *x = t->ctx;

	for (r->at[1] += r->p != NULL; r->at[0] < x->n_tables; r->at[0]++, r->at[1] = 0)
		if (r->at[1] < x->table[r->at[0]].where.n) {
			r->p = &x->table[r->at[0]].where.row[r->at[1]];
			return true;
		}
	return false;
}

TABLE_ROW_AS(run_row_of, struct where_row)

TABLE_GET(run_function)
{
	char n[NUM_MAX];

	if (!run_row_of(r)->folded) {
		out->text = run_row_of(r)->sym;
		return;
	}
	buf_printf(out->scratch, "(%s more functions)", num_exact(n, run_row_of(r)->folded));
	out->says = buf_str(out->scratch);
}

TABLE_CELL(run_event, out->text = run_report_of(t)->table[r->at[0]].event)
TABLE_CELL(run_dso, out->text = run_row_of(r)->folded ? NULL : run_row_of(r)->dso)

#define OF(member) TABLE_FIELD(struct where_row, member)
static const struct table_column function_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "whose samples they are", .get = run_event),
	COLUMN("share", "share", T_SHARE, C_HEAT | C_ERROR, "of the event's period",
	       TABLE_PAIR(struct where_row, share.share, share.half)),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "null: several, folded",
	       .get = run_function),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = run_dso),
	COLUMN("srcline", "line", T_TEXT, C_FLEX | C_KEEP_END, "that most of it fell on",
	       OF(srcline)),
	COLUMN("samples", "samples", T_COUNT, 0, "of it", OF(w.samples)),
	COLUMN("period", "period", T_COUNT, C_DATA, "of its samples", OF(w.period)),
	COLUMN("folded", "folded", T_COUNT, C_DATA | C_0_IS_NONE, "so many functions (--limit)",
	       OF(folded)),
};
#undef OF
static const struct table_form functions_form = { "functions", NULL, TABLE_MAIN,
						  TABLE_COLUMNS(function_columns),
						  .next = function_next };

/* ---- functions of each run ------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct run_repeat, member)
static const struct table_column repeat_columns[] = {
	COLUMN("run", "run", T_ID, C_KEY, "as in `times`", OF(run)),
	COLUMN("event", "event", T_TEXT, C_KEY, "whose samples they are", OF(event)),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "that has samples in this run",
	       OF(function)),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", OF(dso)),
	COLUMN("samples", "samples", T_COUNT, 0, "of it in this run", OF(samples)),
	COLUMN("period", "period", T_AMOUNT, 0, "of its samples", OF(period)),
};
#undef OF
static const struct table_form repeats_form = { "function_repeats", NULL, TABLE_DATA,
						TABLE_COLUMNS(repeat_columns), .rest = "function" };

/* ---- all of it ------------------------------------------------------------------------------- */

static const struct table_form *const forms[] = {
	&count_head_form, &machine_form,      TREE_FORMS,    &findings_among_form,
	&functions_form,  &wait_threads_form, &events_form,  &recording_form,
	&count_runs_form, &count_nodes_form,  &repeats_form, &losses_form
};
static const struct format faces[] = { { "term", run_write_term, false, false } };
const struct document_form run_document = { "run", 2, forms, sizeof(forms) / sizeof(*forms),
					    faces, 1 };

static void add_run_table(struct document *d, const struct run_report *r,
			  const struct table_form *f, struct table t)
{
	t.form = f;
	t.ctx = r;
	document_table(d, &t);
}

static void add_run_facts(struct document *d, const struct run_report *r)
{
	char n[NUM_MAX], lost[NUM_MAX];
	struct buf line = BUF_INIT;

	if (run_waited(r)) {
		run_put_waited(&line, r);
		document_fact(d, "waited", true, "%s", buf_str(&line));
	}
	if (r->failed)
		document_fact(d, "failed", true, "%zu of %zu runs did not end with 0", r->failed,
			      r->tree->head.runs);
	buf_free(&line);
	if (r->no_tree)
		document_fact(d, "no tree", false, "%s", r->no_tree);
	if (r->no_cycles)
		document_fact(d, "time was sampled, not cycles", false, "%s", r->no_cycles);
	for (size_t i = 0; i < r->n_no_names; i++)
		document_fact(d, "no names", true, "%s", r->no_names[i]);
	document_fact(d, "samples", false, "%s of %s%s", num_exact(n, r->samples), r->sampled,
		      r->user_only ? "; the kernel was not looked at" : "");
	document_fact(d, "lost", r->lost, "%s", num_exact(lost, r->lost));
	if (r->throttled)
		document_fact(d, "throttled", true, "%s times", num_exact(n, r->throttled));
	if (r->ousted)
		document_fact(d, "counters", true, "%zu of %zu lost their place to others",
			      r->ousted, r->counters);
}

void run_report_put(struct document *d, const struct run_report *r)
{
	const struct table one = { .array = r, .n = 1 };

	count_head_put(d, &r->tree->head);
	if (r->tree->cpu)
		document_title(d, INK_DIM, "%s", r->tree->cpu);
	add_run_table(d, r, &machine_form, one);
	tree_put_tables(d, r->tree, true);
	findings_put_among(d, r->findings);
	add_run_table(d, r, &functions_form, (struct table){ 0 });
	wait_put_threads(d, r->waits);
	add_run_table(
		d, r, &events_form,
		(struct table){ .array = r->table, .stride = sizeof(*r->table), .n = r->n_tables });
	add_run_table(d, r, &recording_form, one);
	count_repeats_put(d, &r->tree->head);
	add_run_table(d, r, &repeats_form,
		      (struct table){
			      .array = r->repeat, .stride = sizeof(*r->repeat), .n = r->n_repeat });
	add_run_facts(d, r);
	for (size_t i = 0; i < r->tree->head.n_notes; i++)
		document_note(d, r->tree->head.notes[i]);
	add_run_table(d, r, &losses_form, one);
}
