/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_code - the table of instructions: how many samples fell on each, how often it ran, its
 * source line, its account of cycles.
 */
#include <math.h>

#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"
#include "report/blocks_view.h"
#include "report/recorded.h"

void annotate_put_place(struct table_cell *out, const struct annotate *a,
			const struct source_line *l)
{
	if (!l->file)
		return;
	buf_puts(out->scratch, annotate_file(a, l->file));
	if (l->line)
		buf_printf(out->scratch, ":%u", l->line);
	out->text = buf_str(out->scratch);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool insn_next(const struct table *t, struct table_row *r)
{
	struct annotate *a = annotated_of(t);
	size_t i = r->at[0]++;

	r->p = i < a->insn.n ? &a->insn.v[i] : &a->elsewhere;
	return i < a->insn.n || (i == a->insn.n && a->elsewhere.t.samples);
}

static bool next_shown_insn(const struct table *t, struct table_row *r)
{
	while (insn_next(t, r))
		if (annotate_share(annotated_of(t), &annotated_insn_of(r)->t) >=
		    annotated_of(t)->opts.min)
			return true;
	return false;
}

static bool hottest_next(const struct table *t, struct table_row *r)
{
	if (r->at[0] == annotated_of(t)->hottest.n)
		return false;
	r->p = annotated_of(t)->hottest.v[r->at[0]++];
	return true;
}

TABLE_CELL(annotate_code_share,
	   out->e.v = annotate_share(annotated_of(t), &annotated_insn_of(r)->t))

TABLE_CELL(annotate_code_address, out->n = annotated_insn_of(r)->in.vaddr,
	   out->none = !is_insn(t, r))

TABLE_GET(instruction)
{
	out->text =
		annotated_of(t)->has_code && is_insn(t, r) ? annotated_insn_of(r)->in.text : NULL;
	out->says = is_insn(t, r) ? NULL : "(at no instruction of the code that is here)";
}

TABLE_CELL(insn_target, out->n = annotated_insn_of(r)->in.target,
	   out->none = !annotated_insn_of(r)->in.has_target)

TABLE_GET(annotate_code_flow)
{
	static const char *const name[] = { "other", "jump", "branch", "call", "return" };
	const struct insn *in = &annotated_insn_of(r)->in;

	if (annotated_of(t)->has_code && is_insn(t, r))
		out->text = name[in->flow <= INSN_RETURN ? in->flow : 0];
}

TABLE_CELL(annotate_code_place,
	   annotate_put_place(out, annotated_of(t), &annotated_insn_of(r)->line))

TABLE_GET(inlined)
{
	const struct annotate_inline *i = &annotated_of(t)->inl.v[annotated_insn_of(r)->inl];

	for (size_t k = i->n; k-- > 0;)
		buf_printf(out->scratch, "%s%s", k + 1 == i->n ? "" : " < ", i->level[k].name);
	out->text = i->n ? buf_str(out->scratch) : NULL;
}

/* ---- how often they ran ---------------------------------------------------------------------- */

struct ran {
	const struct block *block; /* NULL: none, or not known */
	bool first, last;
};

static struct ran insn_ran_of(const struct table *t, const struct table_row *r)
{
	struct ran x;

	x.block = annotate_block_of(annotated_of(t), annotated_insn_of(r), &x.first, &x.last);
	return x;
}

static void put_insn_runs(struct ran x, struct table_cell *out)
{
	if (x.block)
		cell_flow(out, x.block->runs);
}

/* At the first instruction of each block. */
static void put_runs_of_block(struct ran x, struct table_cell *out)
{
	out->says = x.block && x.first ? "-" : "";
	if (x.block && x.first && x.block->hits)
		put_insn_runs(x, out);
}

TABLE_CELL(annotate_code_runs, put_insn_runs(insn_ran_of(t, r), out))
TABLE_CELL(runs_of_block, put_runs_of_block(insn_ran_of(t, r), out))

/* Returns the tally of taken branches at a block's end; NULL: it is not the end, or it was not
 * recorded. */
static const struct branch_tally *insn_taken(const struct table *t, const struct table_row *r)
{
	struct ran x = insn_ran_of(t, r);
	const struct branch_tally *b =
		x.last ? &annotated_of(t)->taken[annotated_insn_of(r)->block] : NULL;

	return b && !isnan(blocks_mispredicted(b)) ? b : NULL;
}

void annotate_put_predicted(const struct table_column *c, const struct branch_tally *b,
			    struct table_cell *out)
{
	out->none = !b;
	if (b)
		out->n = c->which == PREDICTED ? b->predicted : b->mispredicted;
}

TABLE_CELL(predicted, annotate_put_predicted(c, insn_taken(t, r), out))

TABLE_GET(insn_mispredicted_share)
{
	const struct branch_tally *b = insn_taken(t, r);

	out->e.v = b ? blocks_mispredicted(b) : NAN;
	out->says = "";
}

/* ---- their accesses -------------------------------------------------------------------------- */

TABLE_GET(insn_type)
{
	const struct types_access *x = &annotated_insn_of(r)->data;

	out->text = x->type;
	if (!x->type && x->why != TYPES_NO_OPERAND && is_insn(t, r))
		cell_none(out, types_why_means(x->why));
}

TABLE_GET(insn_field)
{
	const char *name = annotated_insn_of(r)->data.field;

	out->text = name && *name ? name : NULL;
}

TABLE_CELL(field_offset, out->n = annotated_insn_of(r)->data.offset,
	   out->none = !annotated_insn_of(r)->data.type)

TABLE_GET(insn_data)
{
	const struct types_access *x = &annotated_insn_of(r)->data;

	if (x->type)
		cell_printf(out, "%s%s%s", x->type, *x->field ? ", " : "", x->field);
	out->says = "";
}

/* ---- columns of instructions ----------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct annotate_insn, member)
#define SHARE                                                                     \
	COLUMN("share", "share", T_SHARE, C_HEAT, "of the function's, by period", \
	       .get = annotate_code_share)
#define SAMPLES COLUMN("samples", "samples", T_COUNT, 0, "that fell there", OF(t.samples))
#define ADDRESS \
	COLUMN("address", "address", T_ADDRESS, C_KEY, "in the file", .get = annotate_code_address)
#define INSTRUCTION                                                                            \
	COLUMN("instruction", "instruction", T_TEXT, C_FLEX | C_CUT, "as assemblers write it", \
	       .get = instruction)
static const struct table_column hottest_columns[] = { SHARE, SAMPLES, ADDRESS, INSTRUCTION };
/* The first of them stand before the account's for people, the last behind. */
static const struct table_column first_columns[] = {
	SHARE,
	SAMPLES,
	COLUMN("period", "period", T_COUNT, C_DATA, "the sum of their periods", OF(t.period)),
};
static const struct table_column ran_columns[] = {
	COLUMN("runs_of_block", "runs", T_AMOUNT, C_PEOPLE | C_ERROR | C_SPARSE, "of its block",
	       .get = runs_of_block),
	COLUMN("mispredicted_share", "mispred", T_SHARE, C_PEOPLE | C_SPARSE, "of taken branches",
	       .get = insn_mispredicted_share),
	COLUMN("block", "block", T_ID, C_DATA | C_MAX_IS_NONE, "its basic block", OF(block)),
	COLUMN("runs", "runs", T_AMOUNT, C_DATA | C_ERROR | C_WHY, "how often the block ran",
	       .get = annotate_code_runs),
	COLUMN("mispredicted", "mispredicted", T_COUNT, C_DATA, "taken branches, as seen in stacks",
	       .get = predicted, .which = MISPREDICTED),
	COLUMN("predicted", "predicted", T_COUNT, C_DATA, "the same, predicted", .get = predicted,
	       .which = PREDICTED),
};
static const struct table_column last_columns[] = {
	ADDRESS,
	COLUMN("place", "line", T_TEXT, C_PEOPLE | C_SPARSE | C_FLEX | C_KEEP_END, "of the source",
	       .get = annotate_code_place),
	COLUMN("file", "file", T_TEXT, C_DATA, "of its source", OF(line.file)),
	COLUMN("line", "line", T_ID, C_DATA | C_0_IS_NONE, "in the file", OF(line.line)),
	COLUMN("inlined", "inlined", T_TEXT, C_DATA, "functions whose code it is, innermost first",
	       .get = inlined),
	INSTRUCTION,
	COLUMN("length", "length", T_BYTES, C_DATA | C_0_IS_NONE, "of its code", OF(in.len)),
	COLUMN("flow", "flow", T_TEXT, C_DATA, "jump, branch (conditional), call, return, other",
	       .get = annotate_code_flow),
	COLUMN("target", "target", T_ADDRESS, C_DATA, "of a jump or call", .get = insn_target),
};
/* Columns of the data that they access. */
static const struct table_column data_columns[] = {
	COLUMN("type", "type", T_TEXT, C_DATA | C_WHY, "of the data that it accesses",
	       .get = insn_type),
	COLUMN("field", "field", T_TEXT, C_DATA, "of the type; null: it has none",
	       .get = insn_field),
	COLUMN("offset", "offset", T_COUNT, C_DATA, "of the field in the type, in bytes",
	       .get = field_offset),
	COLUMN("data", "data", T_TEXT, C_PEOPLE | C_SPARSE | C_FLEX, "", .get = insn_data),
};
#undef OF
const struct table_form annotate_instructions_form = { "instructions", NULL,
						       TABLE_MAIN | TABLE_GROWS,
						       TABLE_COLUMNS(last_columns),
						       .next = insn_next };
const struct table_form annotate_shown_form = { "shown", NULL, TABLE_PEOPLE,
						TABLE_COLUMNS(last_columns),
						.next = next_shown_insn };
const struct table_form annotate_hottest_form = { "hottest",
						  "hottest instructions",
						  TABLE_PEOPLE,
						  TABLE_COLUMNS(hottest_columns),
						  .next = hottest_next,
						  .rest = "instruction" };

static void add_columns(struct annotate_columns *to, const struct table_column *c, size_t n)
{
	memcpy(to->v + to->n, c, n * sizeof(*c));
	to->n += n;
}

#define ADD(to, a) add_columns(to, a, sizeof(a) / sizeof(*(a)))

static struct annotate_columns columns_of(struct document *d, const struct annotate *a)
{
	struct annotate_columns c = { NULL, 0 };
	size_t n = sizeof(first_columns) + sizeof(ran_columns) + sizeof(last_columns) +
		   sizeof(data_columns) + annotate_n_memory_columns * sizeof(*c.v);

	if (a->account)
		n += (a->account->bound->acc->n + a->account->n_columns) * sizeof(*c.v);
	c.v = arena_xalloc(&d->a, n);
	ADD(&c, first_columns);
	if (a->account)
		annotate_cost_shares(d, &c, a->account);
	if (a->ran)
		ADD(&c, ran_columns);
	ADD(&c, last_columns);
	if (a->opts.data)
		ADD(&c, data_columns);
	if (a->memory)
		add_columns(&c, annotate_memory_columns, annotate_n_memory_columns);
	if (a->account)
		annotate_costs(&c, a->account);
	return c;
}

void annotate_code(struct document *d, const struct annotate_view *v)
{
	const struct annotate *a = v->a;
	const struct annotate_columns c = columns_of(d, a);
	struct table t = {
		.form = &annotate_instructions_form, .ctx = v, .column = c.v, .n_columns = c.n
	};

	if (!c.v)
		return;
	t.data_only = a->opts.min > 0 || (a->opts.no_asm && a->has_lines);
	document_table(d, &t);
	if (a->opts.min > 0 && !(a->opts.no_asm && a->has_lines)) {
		t.form = &annotate_shown_form;
		t.data_only = false;
		document_table(d, &t);
	}
}
