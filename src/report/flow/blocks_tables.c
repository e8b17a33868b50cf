/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks as tables: functions, blocks, edges and loops; for people all blocks of a recording,
 * hottest first, or those of a function in the order of their addresses (blocks_listing.c). Then
 * what the figures do not cover.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "report/flow/blocks_int.h"
#include "show/graph_faces.h"

enum { ROWS = 20, LOOPS = 10 }; /* that people are shown unless --limit says */

/* ---- what several tables have ---------------------------------------------------------------- */

BLOCKS_GET(blocks_get_dso)
{
	(void)c;
	out->text = blocks_dso(view_of(t), row_of(t, r)->f);
}

BLOCKS_GET(blocks_get_function)
{
	(void)c;
	out->text = row_of(t, r)->f->symbol->name;
}

BLOCKS_GET(blocks_get_number)
{
	(void)c;
	out->n = row_of(t, r)->block;
}

/* A block, or the head of a loop. */
static uint32_t block_at(const struct table *t, const struct table_row *r)
{
	return t->form == &blocks_loops_form || t->form == &blocks_iterations_form ||
			       t->form == &blocks_visits_form
		       ? loop_of(r)->head
		       : row_of(t, r)->block;
}

BLOCKS_GET(blocks_get_name)
{
	uint32_t start = row_of(t, r)->f->code->block[block_at(t, r)].start;

	(void)c;
	out->text = row_of(t, r)->f->symbol->name;
	if (!start)
		return;
	buf_printf(out->scratch, "+0x%" PRIx32, start);
	out->tail = buf_str(out->scratch);
}

TABLE_GET(place)
{
	struct source_line at = blocks_line(view_of(t), row_of(t, r)->f, block_at(t, r));

	(void)c;
	if (at.file)
		cell_printf(out, "%s:%u", path_base(at.file), at.line);
}

#define PLACE COLUMN("place", "line", T_TEXT, C_PEOPLE | C_FLEX | C_SPARSE, "", .get = place)

/* A block or a loop by its number; none: CODE_NONE. */
TABLE_GET(index_of)
{
	uint32_t i;

	(void)t;
	memcpy(&i, (const char *)r->p + c->which, sizeof(i));
	out->n = i;
	out->none = i == CODE_NONE;
}

/* A figure with its error. */
TABLE_GET(flow)
{
	struct flow_value x;

	(void)t;
	memcpy(&x, (const char *)r->p + c->which, sizeof(x));
	cell_flow(out, x);
	out->says = "?";
}

#define FLOW(type, member)  .get = flow, .which = offsetof(type, member)
#define INDEX(type, member) .get = index_of, .which = offsetof(type, member)

/* ---- functions: rows of blocks.f ------------------------------------------------------------- */

static const struct block_function *function_at(const struct table_row *r)
{
	return r->p;
}

static double share_of(const struct blocks_view *v, double insns)
{
	return insns / v->b->insns.v;
}

TABLE_CELL(function_share, out->e.v = share_of(view_of(t), function_at(r)->insns.v))
TABLE_CELL(function_name, out->text = function_at(r)->symbol->name)
TABLE_CELL(function_dso, out->text = blocks_dso(view_of(t), function_at(r)))
TABLE_CELL(function_address,
	   out->n = blocks_vaddr(view_of(t), function_at(r)->image, function_at(r)->symbol->start))
TABLE_CELL(function_size,
	   out->n = function_at(r)->code ? function_at(r)->code->len : function_at(r)->symbol->size)

TABLE_GET(function_blocks)
{
	const struct block_function *f = function_at(r);

	(void)c;
	if (f->code)
		out->n = f->code->n_blocks;
	else
		cell_none(out, image_origin(view_of(t)->images, f->image));
}

/* Intervals that are not used, by why. */
/* clang-format off */
#define DROP(type, key, head, flags, drop, means) \
	COLUMN(key, head, T_COUNT, flags, means, TABLE_FIELD(type, dropped[drop]))
#define DROPS(type, flags) \
	DROP(type, "no_code", "no code", flags, BLOCK_NO_CODE, \
	     "the file with the code is not there"), \
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

#define OF(member) TABLE_FIELD(struct block_function, member)
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
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name", .get = function_name),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = function_dso),
};
#undef OF
static const struct table_form functions_form = { "functions", NULL, 0,
						  TABLE_COLUMNS(function_columns),
						  .rest = "function" };

/* ---- blocks: rows of view.row ---------------------------------------------------------------- */

static const struct code_block *code_of(const struct table *t, const struct table_row *r)
{
	return &row_of(t, r)->f->code->block[row_of(t, r)->block];
}

TABLE_CELL(block_share, out->e.v = share_of(view_of(t), row_of(t, r)->weight))
TABLE_CELL(block_insns, out->n = code_of(t, r)->n)
TABLE_CELL(block_alone, if (blocks_is_alone(block_of(r))) out->e.v = block_of(r)->cycles)
TABLE_CELL(block_start, out->n = row_of(t, r)->f->code->vaddr + code_of(t, r)->start)
TABLE_CELL(block_end, out->n = row_of(t, r)->f->code->vaddr + code_of(t, r)->end)
TABLE_CELL(block_file,
	   out->text = blocks_line(view_of(t), row_of(t, r)->f, row_of(t, r)->block).file)

TABLE_GET(block_line)
{
	(void)c;
	out->n = blocks_line(view_of(t), row_of(t, r)->f, row_of(t, r)->block).line;
	out->none = !out->n;
}

#define OF(member) TABLE_FIELD(struct block, member)
static const struct table_column block_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all instructions", .get = block_share),
	COLUMN("runs", "runs", T_AMOUNT, C_ERROR | C_WHY, "executions", FLOW(struct block, runs)),
	COLUMN("leans", "~", T_FLAG, C_DATA, "the error lacks what no stack shows", OF(runs.leans)),
	COLUMN("insns", "insns", T_COUNT, 0, "instructions in it", .get = block_insns),
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

static const struct block_edge *edge_of(const struct table_row *r)
{
	return r->p;
}

/* Who is at its other end, where that is outside. */
static const struct symbol *other_of(const struct table *t, const struct table_row *r,
				     const char **dso)
{
	const struct block_edge *e = edge_of(r);

	*dso = NULL;
	if (e->from != CODE_NONE && e->to != CODE_NONE)
		return NULL;
	return blocks_symbol(view_of(t), &e->other, dso);
}

TABLE_CELL(edge_wrong, out->e.v = blocks_mispredicted(&edge_of(r)->tally))
TABLE_CELL(other_dso, (void)other_of(t, r, &out->text))

TABLE_GET(other_function)
{
	const char *dso;
	const struct symbol *s = other_of(t, r, &dso);

	(void)c;
	out->text = s ? s->name : NULL;
}

TABLE_GET(other_address)
{
	const struct block_edge *e = edge_of(r);

	(void)c;
	out->none = e->from != CODE_NONE && e->to != CODE_NONE;
	out->n = out->none ? 0 : blocks_vaddr(view_of(t), e->other.image, e->other.addr);
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
	(void)t;
	(void)c;
	cell_flow(out, loop_of(r)->entries);
	out->says = "?";
	if (!(out->e.v > 0))
		cell_none(out, "no stack shows one");
}

TABLE_CELL(loop_runs, out->e.v = row_of(t, r)->weight)

#define OF(member) TABLE_FIELD(struct block_loop, member)
static const struct table_column loop_columns[] = {
	COLUMN("runs", "runs", T_AMOUNT, 0, "executions of its head", .get = loop_runs),
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

/* ---- the head -------------------------------------------------------------------------------- */

static const struct flow_sums *sums_of(const struct table *t)
{
	return flow_sums(view_of(t)->b->flow);
}

TABLE_CELL(event, out->text = sums_of(t)->event)
TABLE_CELL(scale, out->e.v = view_of(t)->b->scale * sums_of(t)->scale)
TABLE_CELL(all_insns, cell_flow(out, view_of(t)->b->insns))
TABLE_CELL(all_leans, out->n = view_of(t)->b->insns.leans)

TABLE_GET(filter)
{
	static const char *const names[] = {
		[FLOW_ANY] = "any",	    [FLOW_CALLS] = "calls", [FLOW_RETURNS] = "returns",
		[FLOW_STACK] = "callstack", [FLOW_SOME] = "some",
	};

	(void)c;
	(void)r;
	out->text = names[sums_of(t)->filter];
}

#define OF(member) TABLE_FIELD(struct blocks, member)
static const struct table_column head_columns[] = {
	COLUMN("event", "event", T_TEXT, 0, "whose samples have the stacks; null: several",
	       .get = event),
	COLUMN("filter", "filter", T_TEXT, 0, "which branches stacks hold", .get = filter),
	COLUMN("scaled", "scaled", T_FLAG, 0,
	       "figures are executions; else only their ratios mean "
	       "anything",
	       OF(scaled)),
	COLUMN("by", "by", T_TEXT, 0, "what gives the scale", OF(by)),
	COLUMN("scale", "scale", T_REAL, 0, "what weights were multiplied by", .get = scale),
	COLUMN("insns", "instructions", T_AMOUNT, C_ERROR | C_WHY, "retired, by runs of blocks",
	       .get = all_insns),
	COLUMN("leans", "~", T_FLAG, 0, "errors lack what no stack shows", .get = all_leans),
	COLUMN("used", "used", T_COUNT, 0, "intervals between two branches that are used",
	       OF(used)),
	COLUMN("system", "to system calls", T_COUNT, 0, "of these those that end at a system call",
	       OF(system)),
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

TABLE_CELL(switched, out->n = sums_of(t)->switched - view_of(t)->b->system)
TABLE_CELL(crossing, out->n = sums_of(t)->crossing)
TABLE_CELL(backwards, out->n = sums_of(t)->backwards)
TABLE_CELL(far_apart, out->n = sums_of(t)->far_apart)

static const struct table_column dropped_columns[] = {
	DROPS(struct blocks, C_LOSS),
	COLUMN("switched", "switched", T_COUNT, 0, "between kernel and user space",
	       .get = switched),
	COLUMN("crossing", "crossing", T_COUNT, 0, "between different files, or in no mapping",
	       .get = crossing),
	COLUMN("backwards", "backwards", T_COUNT, 0,
	       "the newer branch leaves below where the older one led", .get = backwards),
	COLUMN("far_apart", "far apart", T_COUNT, 0, "too far apart to be one run of code",
	       .get = far_apart),
};
#undef OF
static const struct table_form dropped_form = { "dropped", "intervals that are not used, by why",
						TABLE_ONE | TABLE_DATA,
						TABLE_COLUMNS(dropped_columns) };

#define OF(member) TABLE_FIELD(struct flow_sums, member)
static const struct table_column counted_columns[] = {
	COLUMN("branches", "branches", T_COUNT, 0, "seen in stacks", OF(edges)),
	COLUMN("intervals", "intervals", T_COUNT, 0, "of code between two of them", OF(spans)),
	COLUMN("repeated", "repeated", T_COUNT, 0, "branches that stood in a stack twice: left out",
	       OF(repeated)),
	COLUMN("period", "period", T_REAL, 0, "of all stacks", OF(period)),
};
#undef OF
static const struct table_form counted_form = { "counted", NULL, TABLE_ONE | TABLE_DATA,
						TABLE_COLUMNS(counted_columns) };

TABLE_GET(balance_within)
{
	const struct flow_balance *b = r->p;

	(void)t;
	(void)c;
	out->n = b->within;
	out->none = b->places && !b->judged;
}

#define OF(member) TABLE_FIELD(struct flow_balance, member)
static const struct table_column balance_columns[] = {
	COLUMN("apart", "apart", T_SHARE, 0, "differences of all, over their counts", OF(apart)),
	COLUMN("places", "places", T_COUNT, 0, "that were seen often enough", OF(places)),
	COLUMN("within", "within", T_COUNT, 0,
	       "that differ by no more than the error of their count; none: no count has one",
	       .get = balance_within),
};
#undef OF
static const struct table_form balance_form = { "balance", "in and out of blocks",
						TABLE_ONE | TABLE_DATA,
						TABLE_COLUMNS(balance_columns) };
static const struct table_form places_form = { "in_out", "in and out of places",
					       TABLE_ONE | TABLE_DATA,
					       TABLE_COLUMNS(balance_columns) };

static const struct table_form *const forms[] = {
	&head_form,
	&recorded_form,
	&recorded_stacks_form,
	&counted_form,
	&functions_form,
	&blocks_blocks_form,
	&blocks_listing_form,
	&blocks_alone_form,
	&blocks_edges_form,
	&blocks_loops_form,
	&blocks_visits_form,
	&blocks_trips_form,
	&blocks_iterations_form,
	&blocks_intervals_form,
	&blocks_times_form,
	&blocks_modes_form,
	&blocks_rounds_form,
	&balance_form,
	&places_form,
	&dropped_form,
	&recorded_losses_form,
};
GRAPH_FACES(faces, blocks_graph)
const struct document_form blocks_document = { "blocks", 2, forms, sizeof(forms) / sizeof(*forms),
					       GRAPH_FACES_OF(faces) };

bool blocks_shows_visits(const struct show *s, bool of_function, bool timed)
{
	if (s->table)
		return !strcmp(s->table, blocks_loops_form.name) ||
		       !strcmp(s->table, blocks_trips_form.name) ||
		       !strcmp(s->table, blocks_iterations_form.name) ||
		       !strcmp(s->table, blocks_rounds_form.name);
	return !s->format->one_table && (s->format->machine || of_function || timed);
}

/* ---- lines for people ------------------------------------------------------------------------ */

/* Why there are no blocks; NULL: there are. */
static const char *why_none(const struct blocks_view *v)
{
	const struct flow_sums *s = flow_sums(v->b->flow);

	if (v->b->used)
		return NULL;
	if (!s->stacks)
		return recorded_no_stacks(&v->source, s);
	if (v->b->dropped[BLOCK_NO_CODE])
		return "no block is known: the files with the code that ran are not there; "
		       "--symbols DIR says where they are";
	return "no block is known: no interval between two branches can be used (--table dropped)";
}

/* Every interval that is not used, by why. */
static void add_dropped(struct document *d, const struct blocks_view *v, const struct table *t)
{
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;
	uint64_t gone = 0, all;
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];
	const size_t n = sizeof(dropped_columns) / sizeof(*dropped_columns);

	(void)table_next(t, &r);
	for (size_t i = 0; i < n; i++) {
		table_cell(&x, t, &dropped_columns[i], &r, &scratch);
		gone += x.n;
	}
	all = v->b->used + gone;
	document_fact(d, "intervals", all && gone > all / 20,
		      "%s of %s between two branches used, %s rejected", num_exact(a, v->b->used),
		      num_exact(b, all), num_percent(c, all ? (double)gone / (double)all : NAN));
	for (size_t i = 0; i < n; i++) {
		table_cell(&x, t, &dropped_columns[i], &r, &scratch);
		if (x.n)
			document_fact(d, "  rejected", false, "%s: %s", num_exact(a, x.n),
				      dropped_columns[i].means);
	}
	buf_free(&scratch);
}

static void add_scale(struct document *d, const struct blocks_view *v)
{
	const struct blocks *b = v->b;
	const struct flow_sums *s = flow_sums(b->flow);
	char x[NUM_MAX], y[NUM_MAX];

	if (s->repeated)
		document_fact(
			d, "repeated", false,
			"%s stacks begin with one branch twice, which cannot be: an erratum of "
			"the processor, the copies are left out",
			num_exact(x, s->repeated));
	if (b->used && b->scaled) {
		document_fact(d, "instructions", false, "%s %s, by runs of blocks",
			      num_count(x, b->insns.v), page_error(y, b->insns));
		document_fact(d, "runs", false, "by %s: %s", b->by, blocks_scale_says(b));
	} else if (b->used) {
		document_fact(d, "weights", true,
			      "no executions, only to be compared with each other: %s; record with "
			      "-e br_inst_retired.near_taken or instructions",
			      blocks_scale_says(b));
	}
	if (s->biased && s->weighed)
		document_fact(d, "bias", false,
			      "samples fall more easily into long or slow code; stacks weigh the "
			      "less, the more the code costs in which they were taken");
	else if (s->biased)
		document_fact(d, "bias", true,
			      "stacks are more often of code near what the event counts; an event "
			      "of taken branches has no such favour");
	if (v->timed)
		document_fact(
			d, "times", false,
			"of branch records, cycles; m: several modes, t: the slowest 5 %% "
			"have a quarter of the cycles or more; ?: too few stacks to bound it; "
			"-: mostly runs on into other blocks, or was not timed");
}

/* By the blocks; where none could be made, by the stacks alone. */
static void add_balance(struct document *d, const struct blocks_view *v)
{
	bool blocks = v->balance.places;
	const struct flow_balance *b = blocks ? &v->balance : &v->places;
	char x[NUM_MAX], y[NUM_MAX], z[NUM_MAX];

	if (b->places)
		document_fact(d, "in and out", b->apart > 0.05,
			      "%s by %s over %s %s seen %u times or more%s%s%s",
			      blocks ? "differ"
				     : "branches to and from places and the intervals between "
				       "differ",
			      num_percent(x, b->apart), num_exact(y, b->places),
			      blocks ? "blocks" : "places", BLOCKS_BALANCE_HITS,
			      b->judged ? "; " : "", b->judged ? num_exact(z, b->within) : "",
			      b->judged ? " of them by no more than the error of their count" : "");
}

static void add_next(struct document *d, const struct blocks_view *v)
{
	struct next_list l = { .v = d->next, .a = &d->a, .input = v->source.input };
	const char *name = v->ran ? v->row.v->f->symbol->name : NULL;

	if (name && !v->opts.function)
		next_add(&l, "blocks", "", name, "its blocks, edges and loops");
	if (name)
		next_add(&l, "annotate", "", name, "with source lines and instructions");
	if (!v->b->used)
		next_add(&l, "blocks", "--symbols DIR", NULL, "where the programs that ran are");
	else
		next_add(&l, "report", "-b", NULL,
			 "branch by branch: where to, how often, mispredicted");
	d->n_next = l.n;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Where figures are weights and no executions, people read so above the columns. */
static void add_table(struct document *d, const struct blocks_view *v, struct table t)
{
	size_t n;
	const struct table_column *from = table_columns(&t, &n);
	struct table_column *to = v->b->scaled ? NULL : arena_alloc(&d->a, n * sizeof(*to));

	if (to) {
		memcpy(to, from, n * sizeof(*to));
		for (size_t i = 0; i < n; i++)
			if (!strcmp(to[i].head, "runs"))
				to[i].head = "weight";
		t.column = to;
		t.n_columns = n;
	}
	d->failed |= !to && !v->b->scaled;
	document_table(d, &t);
}

/* `all`: of all functions; people read one as a listing. */
static void add_tables(struct document *d, const struct blocks_view *v, bool all)
{
	size_t rows = v->opts.limit ? v->opts.limit : ROWS;
	size_t loops = v->opts.limit ? v->opts.limit : LOOPS;
#define ROWS_OF(member) \
	.ctx = v, .array = v->member.v, .n = v->member.n, .stride = sizeof(*v->member.v)
	const struct table tables[] = {
		{ .form = &functions_form,
		  .ctx = v,
		  .array = v->b->f,
		  .n = v->b->n,
		  .stride = sizeof(*v->b->f),
		  .data_only = all },
		{ .form = &blocks_blocks_form,
		  ROWS_OF(row),
		  .people = v->ran < rows ? v->ran : rows,
		  .data_only = !all || !v->ran },
		{ .form = &blocks_edges_form, ROWS_OF(edge), .people = rows },
		{ .form = &blocks_listing_form, ROWS_OF(listing) },
		{ .form = &blocks_alone_form, ROWS_OF(row), .data_only = all },
		{ .form = &blocks_loops_form, ROWS_OF(loop), .people = loops },
		{ .form = &blocks_visits_form, ROWS_OF(loop), .people = loops, .data_only = all },
		{ .form = &blocks_trips_form, ROWS_OF(loop) },
		{ .form = &blocks_iterations_form, ROWS_OF(loop), .people = loops },
		{ .form = &blocks_rounds_form, ROWS_OF(loop) },
		{ .form = &blocks_times_form, ROWS_OF(row) },
		{ .form = &blocks_modes_form, ROWS_OF(row) },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		add_table(d, v, tables[i]);
	blocks_put_intervals(d, v);
}

void blocks_put(struct document *d, const struct blocks_view *v)
{
	const struct flow_sums *s = flow_sums(v->b->flow);
	struct table head = { .form = &head_form, .ctx = v, .array = v->b, .n = 1 };
	char a[NUM_MAX];

	document_table(d, &head);
	recorded_head(d, &v->source);
	document_title(d, INK_PLAIN, "%s branch stacks of %s, up to %u entries",
		       num_exact(a, s->stacks), s->event ? s->event : "several events", s->depth);
	if (why_none(v))
		document_note(d, why_none(v));
	head = (struct table){ .form = &counted_form, .array = s, .n = 1 };
	document_table(d, &head);
	add_tables(d, v, !v->opts.function);
	head = (struct table){ .form = &balance_form, .array = &v->balance, .n = 1 };
	document_table(d, &head);
	head = (struct table){ .form = &places_form, .array = &v->places, .n = 1 };
	document_table(d, &head);
	recorded_stacks(d, &v->source, s);
	head = (struct table){ .form = &dropped_form, .ctx = v, .array = v->b, .n = 1 };
	document_table(d, &head);
	add_dropped(d, v, &head);
	add_scale(d, v);
	add_balance(d, v);
	recorded_tail(d, &v->source);
	add_next(d, v);
}
