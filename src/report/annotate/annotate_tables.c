/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One function as tables: its source lines, those with most samples first, its instructions by
 * address (annotate_code.c). On a terminal the code has a face of its own (annotate_term.c).
 */
#include <math.h>

#include "base/bisect.h"
#include "base/num.h"
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"
#include "report/blocks_view.h"
#include "report/page.h"
#include "report/recorded.h"

enum { HOTTEST = 5 };

/* ---- source lines ---------------------------------------------------------------------------- */

TABLE_ROW_AS(annotated_line_of, struct annotate_line)

TABLE_CELL(line_share, out->e.v = annotate_share(annotated_of(t), &annotated_line_of(r)->t))
TABLE_CELL(line_place, annotate_put_place(out, annotated_of(t), &annotated_line_of(r)->line))
TABLE_CELL(annotated_source,
	   out->text = annotate_source(annotated_of(t), annotated_line_of(r)->line.file,
				       annotated_line_of(r)->line.line))

/* Without its indent; tabs are blanks. */
TABLE_GET(source_text)
{
	const char *s = annotate_source(annotated_of(t), annotated_line_of(r)->line.file,
					annotated_line_of(r)->line.line);

	if (!s)
		return;
	for (s += strspn(s, " \t"); *s; s++)
		buf_putc(out->scratch, *s == '\t' ? ' ' : *s);
	out->text = buf_str(out->scratch);
}

#define OF(member) TABLE_FIELD(struct annotate_line, member)
static const struct table_column line_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of the function's, by period",
	       .get = line_share),
	COLUMN("samples", "samples", T_COUNT, 0, "on all its instructions", OF(t.samples)),
	COLUMN("period", "period", T_COUNT, C_DATA, "the sum of their periods", OF(t.period)),
	COLUMN("place", "line", T_TEXT, C_PEOPLE | C_FLEX | C_KEEP_END, "", .get = line_place),
	COLUMN("file", "file", T_TEXT, C_KEY | C_DATA, "with its directory", OF(line.file)),
	COLUMN("line", "line", T_ID, C_KEY | C_DATA | C_0_IS_NONE, "in the file", OF(line.line)),
	COLUMN("source", "source", T_TEXT, C_DATA, "its text", .get = annotated_source),
	COLUMN("source_text", "source", T_TEXT, C_PEOPLE | C_SPARSE | C_FLEX | C_CUT, "",
	       .get = source_text),
};
#undef OF
static const struct table_form lines_form = { "lines", "hottest lines", 0,
					      TABLE_COLUMNS(line_columns), .rest = "line" };

/* ---- jumps and inlined calls ----------------------------------------------------------------- */

static bool annotated_edge_next(const struct table *t, struct table_row *r)
{
	struct annotate *a = annotated_of(t);

	while (r->at[0] < a->insn.n) {
		r->p = &a->insn.v[r->at[0]++];
		if (annotate_jump(a, r->p) != SIZE_MAX)
			return true;
	}
	return false;
}

/* Returns the taken edge between blocks that a jump is; NULL: not known, or not seen. */
static const struct block_edge *annotated_edge_of(const struct annotate *a,
						  const struct annotate_insn *i)
{
	const struct block_function *f = a->ran;
	uint32_t to = f ? a->insn.v[annotate_jump(a, i)].block : CODE_NONE;
	size_t at;

	if (!f || i->block == CODE_NONE || to == CODE_NONE)
		return NULL;
	bisect(at, f->n_edges, k,
	       f->edge[k].from > i->block || (f->edge[k].from == i->block && f->edge[k].to >= to));
	while (at < f->n_edges && f->edge[at].from == i->block && f->edge[at].to == to &&
	       f->edge[at].fallthrough)
		at++;
	return at < f->n_edges && f->edge[at].from == i->block && f->edge[at].to == to
		       ? &f->edge[at]
		       : NULL;
}

TABLE_CELL(annotated_flow,
	   out->text = annotated_insn_of(r)->in.flow == INSN_COND ? "branch" : "jump")

TABLE_GET(edge_runs)
{
	const struct block_edge *e = annotated_edge_of(annotated_of(t), r->p);

	if (e)
		cell_flow(out, e->runs);
	else
		cell_none(out, annotated_of(t)->ran ? "no stack shows it" : "no branch stacks");
}

TABLE_GET(edge_predicted)
{
	const struct block_edge *e = annotated_edge_of(annotated_of(t), r->p);

	annotate_put_predicted(c, e && !isnan(blocks_mispredicted(&e->tally)) ? &e->tally : NULL,
			       out);
}

#define OF_INSN(...) TABLE_FIELD(struct annotate_insn, __VA_ARGS__)
static const struct table_column edge_columns[] = {
	COLUMN("address", "address", T_ADDRESS, C_KEY, "of the jump", OF_INSN(in.vaddr)),
	COLUMN("target", "target", T_ADDRESS, C_KEY, "an instruction of the function",
	       OF_INSN(in.target)),
	COLUMN("flow", "flow", T_TEXT, 0, "jump, or branch: conditional", .get = annotated_flow),
	COLUMN("runs", "runs", T_AMOUNT, C_ERROR | C_WHY, "how often it was taken",
	       .get = edge_runs),
	COLUMN("mispredicted", "mispredicted", T_COUNT, 0, "as seen in stacks",
	       .get = edge_predicted, .which = MISPREDICTED),
	COLUMN("predicted", "predicted", T_COUNT, 0, "as seen in stacks", .get = edge_predicted,
	       .which = PREDICTED),
};
static const struct table_form edges_form = { "edges", NULL, TABLE_DATA,
					      TABLE_COLUMNS(edge_columns),
					      .next = annotated_edge_next };

/* at[0] is the instruction, at[1] the level. */
static bool inline_next(const struct table *t, struct table_row *r)
{
	struct annotate *a = annotated_of(t);

	r->at[1] += r->p != NULL;
	for (; r->at[0] < a->insn.n; r->at[0]++, r->at[1] = 0) {
		r->p = &a->insn.v[r->at[0]];
		if (r->at[1] < a->inl.v[a->insn.v[r->at[0]].inl].n)
			return true;
	}
	return false;
}

static const struct source_inline *inline_of(const struct table *t, const struct table_row *r)
{
	const struct annotate_inline *i = &annotated_of(t)->inl.v[annotated_insn_of(r)->inl];

	return &i->level[i->n - 1 - r->at[1]];
}

TABLE_CELL(annotated_level, out->n = r->at[1] + 1)
TABLE_CELL(inline_name, out->text = inline_of(t, r)->name)
TABLE_CELL(inline_file, out->text = inline_of(t, r)->at.file)
TABLE_CELL(inline_line, out->n = inline_of(t, r)->at.line, out->none = !out->n)

static const struct table_column inline_columns[] = {
	COLUMN("address", "address", T_ADDRESS, C_KEY, "of an instruction", OF_INSN(in.vaddr)),
	COLUMN("level", "level", T_ID, C_KEY, "1: innermost", .get = annotated_level),
	COLUMN("function", "function", T_TEXT, 0, "whose code it is", .get = inline_name),
	COLUMN("file", "file", T_TEXT, 0, "of the call", .get = inline_file),
	COLUMN("line", "line", T_ID, 0, "of the call", .get = inline_line),
};
static const struct table_form inlined_form = { "inlined", NULL, TABLE_DATA,
						TABLE_COLUMNS(inline_columns),
						.next = inline_next };

/* ---- the head -------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct annotate, member)
static const struct table_column head_columns[] = {
	COLUMN("function", "function", T_TEXT, 0, "its name", OF(target.name)),
	COLUMN("dso", "of", T_TEXT, 0, "its file", OF(target.dso)),
	COLUMN("address", "address", T_ADDRESS, 0, "in the file", OF(vaddr)),
	COLUMN("size", "size", T_BYTES, C_0_IS_NONE, "of its code",
	       TABLE_CTX(struct annotate_view, a, len)),
	COLUMN("event", "event", T_TEXT, 0, "that was sampled", OF(event)),
	COLUMN("samples", "samples", T_COUNT, 0, "in the function", OF(target.total.samples)),
	COLUMN("period", "period", T_COUNT, 0, "the sum of their periods", OF(target.total.period)),
	COLUMN("share", "share", T_SHARE, 0, "of the event, by period", OF(of_all)),
	COLUMN("symbols_from", "symbols", T_TEXT, 0, "where its symbols and code are from",
	       OF(origin)),
};
#undef OF
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

TABLE_CELL(ran_event, out->text = flow_sums(annotated_of(t)->blocks->flow)->event)
TABLE_CELL(ran_stacks, out->n = flow_sums(annotated_of(t)->blocks->flow)->stacks)
TABLE_CELL(ran_entered, cell_flow(out, annotated_of(t)->ran->calls))
TABLE_CELL(ran_retired, cell_flow(out, annotated_of(t)->ran->insns))

#define OF(member) TABLE_FIELD(struct blocks, member)
static const struct table_column ran_from_columns[] = {
	COLUMN("event", "event", T_TEXT, 0, "whose samples have the stacks; null: several",
	       .get = ran_event),
	COLUMN("scaled", "scaled", T_FLAG, 0, "runs are executions, not weights", OF(scaled)),
	COLUMN("by", "by", T_TEXT, 0, "what tells the scale", OF(by)),
	COLUMN("stacks", "stacks", T_COUNT, 0, "samples with branches", .get = ran_stacks),
	COLUMN("entered", "entered", T_AMOUNT, C_ERROR | C_WHY, "times the function was",
	       .get = ran_entered),
	COLUMN("retired", "retired", T_AMOUNT, C_ERROR | C_WHY, "instructions in it",
	       .get = ran_retired),
};
#undef OF
static const struct table_form ran_form = { "runs_from", NULL, TABLE_ONE | TABLE_DATA,
					    TABLE_COLUMNS(ran_from_columns) };

static const struct table_form *const forms[] = {
	&head_form,
	&recorded_form,
	&lines_form,
	&annotate_hottest_form,
	&annotate_instructions_form,
	&annotate_shown_form,
	&inlined_form,
	&annotate_context_form,
	&edges_form,
	&annotate_account_form,
	&annotate_costs_form,
	&ran_form,
	&recorded_losses_form,
};
static const struct format faces[] = { { "term", annotate_term, false, false },
				       { "html", annotate_html, true, false } };
const struct document_form annotate_document = { "annotate", 2,
						 forms,	     sizeof(forms) / sizeof(*forms),
						 faces,	     sizeof(faces) / sizeof(*faces) };

/* ---- lines for people ------------------------------------------------------------------------ */

static void add_ran(struct document *d, const struct annotate *a)
{
	const struct block_function *r = a->ran;
	const struct flow_sums *s = flow_sums(a->blocks->flow);
	char i[NUM_MAX], n[NUM_MAX], e[NUM_MAX], k[NUM_MAX];
	const char *event = s->event ? s->event : "several events";

	if (a->blocks->scaled)
		document_head(d, "runs",
			      "%s instructions, entered %s times %s, by %s branch stacks of %s",
			      num_count(i, r->insns.v), page_estimate(n, r->calls.v),
			      page_error(e, r->calls), num_exact(k, s->stacks), event);
	else
		document_head(d, "runs", "weights of blocks, no runs, by %s branch stacks of %s",
			      num_exact(k, s->stacks), event);
}

static void add_annotated_titles(struct document *d, const struct annotate *a)
{
	struct buf cycles = BUF_INIT;
	char n[NUM_MAX], p[NUM_MAX];

	document_head(d, "function", "%s in %s", a->target.name, a->target.dso);
	document_head(d, "samples", "%s samples of %s, %s of all",
		      num_exact(n, a->target.total.samples), a->event, num_percent(p, a->of_all));
	annotate_account_sum(&cycles, a);
	if (cycles.len)
		document_head(d, "cycles", "%s", buf_str(&cycles));
	if (a->ran)
		add_ran(d, a);
	if (a->origin && *a->origin)
		document_fact(d, "symbols", false, "%s", a->origin);
	buf_free(&cycles);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int annotated_by_samples(const void *x, const void *y)
{
	const struct annotate_insn *a = *(const struct annotate_insn *const *)x;
	const struct annotate_insn *b = *(const struct annotate_insn *const *)y;

	if (a->t.samples != b->t.samples)
		return a->t.samples > b->t.samples ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* For people: the lines with most samples, or the instructions if there are none. */
static void add_hottest(struct document *d, const struct annotate_view *v)
{
	struct annotate *a = v->a;
	bool lines = a->has_lines && !a->opts.no_source;
	struct table t =
		TABLE_OF(lines_form, v, a->line.v, a->has_lines ? a->line.n : 0, .people = HOTTEST);
	struct table hottest = { .form = &annotate_hottest_form, .ctx = v, .people = HOTTEST };
	size_t sampled = 0;

	while (sampled < t.n && a->line.v[sampled].t.samples)
		sampled++;
	if (sampled && sampled < t.people)
		t.people = sampled;
	if (a->opts.no_asm)
		t.people = 0;
	t.data_only = !lines || (sampled < 2 && !a->opts.no_asm);
	document_table(d, &t);
	a->hottest.n = 0;
	if (lines)
		return;
	vec_each (&a->insn, struct annotate_insn *, i)
		if (i->t.samples)
			vec_xpush(&a->hottest, i);
	vec_sort(&a->hottest, annotated_by_samples);
	if (a->hottest.n > 1)
		document_table(d, &hottest);
}

void annotate_put(struct document *d, const struct annotate_view *v)
{
	const struct table inlined = { .form = &inlined_form, .ctx = v };
	const struct table edges = { .form = &edges_form, .ctx = v };
	const struct table ran = { .form = &ran_form, .ctx = v, .array = v->a->blocks, .n = 1 };

	document_table(d, &(struct table){ .form = &head_form, .ctx = v, .array = v->a, .n = 1 });
	recorded_head(d, &v->source);
	add_annotated_titles(d, v->a);
	add_hottest(d, v);
	annotate_code(d, v);
	document_table(d, &inlined);
	annotate_make_context(v->a);
	document_table(d, &TABLE_OF(annotate_context_form, v, v->a->context.v, v->a->context.n));
	document_table(d, &edges);
	if (v->a->account)
		annotate_put_account(d, v);
	if (v->a->ran)
		document_table(d, &ran);
	vec_each (&v->a->notes, const char **, n)
		document_note(d, *n);
	recorded_tail(d, &v->source);
}
