/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions, blocks, edges and loops as tables, and the parts that figures do not cover.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "report/flow/blocks_int.h"

/* ---- shared by several tables ---------------------------------------------------------------- */

BLOCKS_GET(blocks_get_dso)
{
	(void)c;
	out->text = blocks_dso(blocks_view_of(t), blocks_row_of(t, r)->f);
}

BLOCKS_GET(blocks_get_function)
{
	(void)c;
	out->text = blocks_row_of(t, r)->f->symbol->name;
}

BLOCKS_GET(blocks_get_number)
{
	(void)c;
	out->n = blocks_row_of(t, r)->block;
}

/* A block, or the head of a loop. */
static uint32_t blocks_block_at(const struct table *t, const struct table_row *r)
{
	return t->form == &blocks_loops_form || t->form == &blocks_iterations_form ||
			       t->form == &blocks_visits_form
		       ? loop_of(r)->head
		       : blocks_row_of(t, r)->block;
}

BLOCKS_GET(blocks_get_name)
{
	uint32_t start = blocks_row_of(t, r)->f->code->block[blocks_block_at(t, r)].start;

	(void)c;
	out->text = blocks_row_of(t, r)->f->symbol->name;
	if (!start)
		return;
	buf_printf(out->scratch, "+0x%" PRIx32, start);
	out->tail = buf_str(out->scratch);
}

TABLE_GET(block_place)
{
	struct source_line at =
		blocks_line(blocks_view_of(t), blocks_row_of(t, r)->f, blocks_block_at(t, r));

	if (at.file)
		cell_printf(out, "%s:%u", path_base(at.file), at.line);
}

#define PLACE COLUMN("place", "line", T_TEXT, C_PEOPLE | C_FLEX | C_SPARSE, "", .get = block_place)

/* A block or a loop by its number; none: CODE_NONE. */
TABLE_GET(block_index_of)
{
	uint32_t i;

	memcpy(&i, (const char *)r->p + c->which, sizeof(i));
	out->n = i;
	out->none = i == CODE_NONE;
}

/* A figure with its error. */
TABLE_GET(block_flow)
{
	struct flow_value x;

	memcpy(&x, (const char *)r->p + c->which, sizeof(x));
	cell_flow(out, x);
	out->says = "?";
}

#define FLOW(type, member)  .get = block_flow, .which = offsetof(type, member)
#define INDEX(type, member) .get = block_index_of, .which = offsetof(type, member)

/* ---- functions: rows of blocks.f ------------------------------------------------------------- */

TABLE_ROW_AS(function_at, struct block_function)

static double block_share_of(const struct blocks_view *v, double insns)
{
	return insns / v->b->insns.v;
}

TABLE_CELL(function_share, out->e.v = block_share_of(blocks_view_of(t), function_at(r)->insns.v))
TABLE_CELL(function_dso, out->text = blocks_dso(blocks_view_of(t), function_at(r)))
TABLE_CELL(function_address, out->n = blocks_vaddr(blocks_view_of(t), function_at(r)->image,
						   function_at(r)->symbol->start))
TABLE_CELL(function_size,
	   out->n = function_at(r)->code ? function_at(r)->code->len : function_at(r)->symbol->size)

TABLE_GET(function_blocks)
{
	const struct block_function *f = function_at(r);

	if (f->code)
		out->n = f->code->n_blocks;
	else
		cell_none(out, image_origin(blocks_view_of(t)->images, f->image));
}

/* Intervals that are not used, by why. */
/* clang-format off */
#define DROP(type, key, head, flags, drop, means) \
	COLUMN(key, head, T_COUNT, flags, means, TABLE_FIELD(type, dropped[drop]))
#define DROPS(type, flags) \
	DROP(type, "no_code", "no code", flags, BLOCK_NO_CODE, \
	     "the file with the code is not there, or no disassembler knows it"), \
	DROP(type, "no_function", "no function", flags, BLOCK_NO_FUNCTION, \
	     "in no function that has a symbol"), \
	DROP(type, "not_an_insn", "no instruction", flags, BLOCK_NOT_AN_INSN, \
	     "begin or end inside an instruction: other code ran there"), \
	DROP(type, "not_a_branch", "no branch", flags, BLOCK_NOT_A_BRANCH, \
	     "do not end with a branch: interrupts, faults"), \
	DROP(type, "always_taken", "run through", flags, BLOCK_ALWAYS_TAKEN, \
	     "run through a jump, call or return"), \
	DROP(type, "outside", "leave", flags, BLOCK_OUTSIDE, \
	     "leave a function where its code does not fall through")
/* clang-format on */

#define OF(...) TABLE_FIELD(struct block_function, __VA_ARGS__)
static const struct table_column function_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all instructions", .get = function_share),
	COLUMN("insns", "instructions", T_AMOUNT, C_ERROR | C_WHY, "retired in it",
	       FLOW(struct block_function, insns)),
	COLUMN("entered", "entered", T_AMOUNT, C_ERROR | C_WHY,
	       "by calls, jumps, or from the function in front",
	       FLOW(struct block_function, calls)),
	COLUMN("leans", "~", T_FLAG, C_DATA, "errors lack what no stack shows", OF(insns.leans)),
	COLUMN("blocks", "blocks", T_COUNT, C_WHY, "of its code; none: that is not there",
	       .get = function_blocks),
	COLUMN("irreducible", "irreducible", T_COUNT, C_DATA,
	       "jumps into the middle of loops, which are not listed; none: not looked for",
	       INDEX(struct block_function, irreducible)),
	COLUMN("hits", "hits", T_COUNT, C_DATA, "intervals seen that begin in it", OF(hits)),
	DROPS(struct block_function, C_DATA),
	COLUMN("address", "address", T_ADDRESS, C_DATA | C_KEY, "of its start, in the file",
	       .get = function_address),
	COLUMN("size", "size", T_BYTES, C_DATA, "of its code", .get = function_size),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name", OF(symbol, name)),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = function_dso),
};
#undef OF
const struct table_form blocks_functions_form = { "functions", NULL, 0,
						  TABLE_COLUMNS(function_columns),
						  .rest = "function" };

/* ---- blocks: rows of view.row ---------------------------------------------------------------- */

static const struct code_block *block_code_of(const struct table *t, const struct table_row *r)
{
	return &blocks_row_of(t, r)->f->code->block[blocks_row_of(t, r)->block];
}

TABLE_CELL(block_share, out->e.v = block_share_of(blocks_view_of(t), blocks_row_of(t, r)->weight))
TABLE_CELL(blocks_block_insns, out->n = block_code_of(t, r)->n)
TABLE_CELL(block_alone, if (blocks_is_alone(block_of(r))) out->e.v = block_of(r)->cycles)
TABLE_CELL(block_start, out->n = blocks_row_of(t, r)->f->code->vaddr + block_code_of(t, r)->start)
TABLE_CELL(block_end, out->n = blocks_row_of(t, r)->f->code->vaddr + block_code_of(t, r)->end)
TABLE_CELL(block_file, out->text = blocks_line(blocks_view_of(t), blocks_row_of(t, r)->f,
					       blocks_row_of(t, r)->block)
					   .file)

TABLE_GET(block_line)
{
	out->n = blocks_line(blocks_view_of(t), blocks_row_of(t, r)->f, blocks_row_of(t, r)->block)
			 .line;
	out->none = !out->n;
}

#define OF(member) TABLE_FIELD(struct block, member)
static const struct table_column block_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all instructions", .get = block_share),
	COLUMN("runs", "runs", T_AMOUNT, C_ERROR | C_WHY, "executions", FLOW(struct block, runs)),
	COLUMN("leans", "~", T_FLAG, C_DATA, "the error lacks what no stack shows", OF(runs.leans)),
	COLUMN("insns", "insns", T_COUNT, 0, "instructions in it", .get = blocks_block_insns),
	COLUMN("hits", "hits", T_COUNT, C_DATA, "intervals seen that cover it", OF(hits)),
	COLUMN("in", "in", T_AMOUNT, C_DATA, "executions of the edges into it", OF(flow_in)),
	COLUMN("out", "out", T_AMOUNT, C_DATA, "and out of it", OF(flow_out)),
	COLUMN("timed", "times", T_COUNT, C_DATA, "times that it was measured alone", OF(timed)),
	COLUMN("cycles", "cycles", T_REAL, C_DATA, "of one execution alone, in the mean",
	       OF(cycles)),
	COLUMN("cycles_sd", "sd", T_REAL, C_DATA, "their standard deviation", OF(cycles_sd)),
	BLOCKS_SHAPE,
	COLUMN("alone", "cycles", T_REAL, C_PEOPLE | C_SPARSE, "", .get = block_alone),
	BLOCKS_QUANTILES(blocks_get_quantile),
	COLUMN("mark", "", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = blocks_get_mark),
	BLOCKS_NAME("block"),
	PLACE,
	BLOCKS_FUNCTION,
	BLOCKS_NUMBER("block"),
	COLUMN("address", "address", T_ADDRESS, C_DATA, "where it begins, in the file",
	       .get = block_start),
	COLUMN("end", "end", T_ADDRESS, C_DATA, "behind its last instruction", .get = block_end),
	COLUMN("file", "file", T_TEXT, C_DATA, "of its source", .get = block_file),
	COLUMN("line", "line", T_ID, C_DATA, "of its first instruction", .get = block_line),
};
#undef OF
const struct table_form blocks_blocks_form = {
	"blocks",	NULL, TABLE_MAIN, TABLE_COLUMNS(block_columns), .next = blocks_next,
	.rest = "block"
};

/* ---- edges: rows of view.edge ---------------------------------------------------------------- */

TABLE_ROW_AS(block_edge_of, struct block_edge)

/* Returns the function at its other end, if that is outside. */
static const struct symbol *other_of(const struct table *t, const struct table_row *r,
				     const char **dso)
{
	const struct block_edge *e = block_edge_of(r);

	*dso = NULL;
	if (e->from != CODE_NONE && e->to != CODE_NONE)
		return NULL;
	return blocks_symbol(blocks_view_of(t), &e->other, dso);
}

TABLE_CELL(edge_wrong, out->e.v = blocks_mispredicted(&block_edge_of(r)->tally))
TABLE_CELL(other_dso, (void)other_of(t, r, &out->text))

TABLE_GET(other_function)
{
	const char *dso;
	const struct symbol *s = other_of(t, r, &dso);

	out->text = s ? s->name : NULL;
}

TABLE_GET(other_address)
{
	const struct block_edge *e = block_edge_of(r);

	out->none = e->from != CODE_NONE && e->to != CODE_NONE;
	out->n = out->none ? 0 : blocks_vaddr(blocks_view_of(t), e->other.image, e->other.addr);
}

#define OF(member) TABLE_FIELD(struct block_edge, member)
static const struct table_column edge_columns[] = {
	COLUMN("runs", "runs", T_AMOUNT, C_ERROR | C_WHY, "how often",
	       FLOW(struct block_edge, runs)),
	COLUMN("leans", "~", T_FLAG, C_DATA, "the error lacks what no stack shows", OF(runs.leans)),
	COLUMN("hits", "hits", T_COUNT, C_DATA, "as seen in stacks", OF(hits)),
	COLUMN("fallthrough", "runs on", T_FLAG, C_KEY, "no branch that was taken",
	       OF(fallthrough)),
	COLUMN("mispredicted", "mispredicted", T_COUNT, C_DATA, "hits that were mispredicted",
	       OF(tally.mispredicted)),
	COLUMN("predicted", "predicted", T_COUNT, C_DATA, "hits that were predicted",
	       OF(tally.predicted)),
	COLUMN("mispredicted_share", "mispred", T_SHARE, 0, "of those that the CPU told of",
	       .get = edge_wrong),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the function's file", .get = blocks_get_dso),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name",
	       .get = blocks_get_function),
	COLUMN("from", "from", T_ID, C_KEY, "block; none: from outside",
	       INDEX(struct block_edge, from)),
	COLUMN("to", "to", T_ID, C_KEY, "block; none: to outside", INDEX(struct block_edge, to)),
	COLUMN("other_dso", "of", T_TEXT, C_KEY | C_DATA, "file at the end that is outside",
	       .get = other_dso),
	COLUMN("other_function", "outside", T_TEXT, C_KEY | C_FLEX, "function there",
	       .get = other_function),
	COLUMN("other_address", "address", T_ADDRESS, C_KEY | C_DATA, "of that end",
	       .get = other_address),
};
#undef OF
const struct table_form blocks_edges_form = {
	"edges", NULL, TABLE_DATA, TABLE_COLUMNS(edge_columns), .next = blocks_next, .rest = "edge"
};

/* ---- loops: rows of view.loop ---------------------------------------------------------------- */

TABLE_GET(loop_entries)
{
	cell_flow(out, loop_of(r)->entries);
	out->says = "?";
	if (!(out->e.v > 0))
		cell_none(out, "no stack shows one");
}

TABLE_CELL(block_loop_runs, out->e.v = blocks_row_of(t, r)->weight)

#define OF(member) TABLE_FIELD(struct block_loop, member)
static const struct table_column loop_columns[] = {
	COLUMN("runs", "runs", T_AMOUNT, 0, "executions of its head", .get = block_loop_runs),
	COLUMN("trips", "trips", T_AMOUNT, C_ERROR | C_WHY,
	       "runs by entry; none: fewer than two entries were seen",
	       FLOW(struct block_loop, trips)),
	COLUMN("entries", "entries", T_AMOUNT, C_ERROR | C_WHY | C_DATA,
	       "times that it was entered", .get = loop_entries),
	COLUMN("entered", "entries", T_AMOUNT, C_PEOPLE, "", .get = loop_entries),
	COLUMN("leans", "~", T_FLAG, C_DATA, "errors lack what no stack shows", OF(entries.leans)),
	COLUMN("blocks", "blocks", T_COUNT, 0, "that it has", OF(blocks)),
	COLUMN("depth", "depth", T_COUNT, 0, "1: in no other", OF(depth)),
	COLUMN("visits", "visits", T_COUNT, C_DATA, "that stacks show whole", OF(visits)),
	COLUMN("cut", "cut", T_COUNT, C_DATA, "that stacks cut off", OF(cut)),
	BLOCKS_NAME("loop"),
	PLACE,
	BLOCKS_FUNCTION,
	BLOCKS_NUMBER("loop"),
	COLUMN("parent", "parent", T_ID, C_DATA, "the loop that it is in",
	       INDEX(struct block_loop, parent)),
	COLUMN("head", "head", T_ID, C_DATA, "its block that is entered", OF(head)),
};
#undef OF
const struct table_form blocks_loops_form = {
	"loops", NULL, 0, TABLE_COLUMNS(loop_columns), .next = blocks_next, .rest = "loop"
};

/* ---- spans not used -------------------------------------------------------------------------- */

static const struct flow_sums *block_sums_of(const struct table *t)
{
	return flow_sums(blocks_view_of(t)->b->flow);
}

TABLE_CELL(block_switched, out->n = block_sums_of(t)->switched - blocks_view_of(t)->b->system)
TABLE_CELL(block_crossing, out->n = block_sums_of(t)->crossing)
TABLE_CELL(backwards, out->n = block_sums_of(t)->backwards)
TABLE_CELL(block_far_apart, out->n = block_sums_of(t)->far_apart)

static const struct table_column dropped_columns[] = {
	DROPS(struct blocks, C_LOSS),
	COLUMN("switched", "switched", T_COUNT, 0, "between kernel and user space",
	       .get = block_switched),
	COLUMN("crossing", "crossing", T_COUNT, 0, "between different files, or in no mapping",
	       .get = block_crossing),
	COLUMN("backwards", "backwards", T_COUNT, 0,
	       "the newer branch leaves below where the older one led", .get = backwards),
	COLUMN("far_apart", "far apart", T_COUNT, 0, "too far apart to be one run of code",
	       .get = block_far_apart),
};
const struct table_form blocks_dropped_form = { "dropped", "intervals that are not used, by why",
						TABLE_ONE | TABLE_DATA,
						TABLE_COLUMNS(dropped_columns) };
