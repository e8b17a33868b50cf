/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks as a document: for people all blocks of a recording, hottest first, then its loops; or
 * those of a function in the order of their addresses. Then notes on the figures.
 */
#include <math.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/flow/blocks_int.h"
#include "show/graph_faces.h"

enum { ROWS = 20, LOOPS = 10 }; /* shown to people without --limit */

/* ---- the head -------------------------------------------------------------------------------- */

TABLE_CELL(blocks_event, out->text = flow_sums(blocks_view_of(t)->b->flow)->event)
TABLE_CELL(scale,
	   out->e.v = blocks_view_of(t)->b->scale * flow_sums(blocks_view_of(t)->b->flow)->scale)
TABLE_CELL(all_insns, cell_flow(out, blocks_view_of(t)->b->insns))

TABLE_GET(blocks_filter)
{
	static const char *const names[] = {
		[FLOW_ANY] = "any",	    [FLOW_CALLS] = "calls", [FLOW_RETURNS] = "returns",
		[FLOW_STACK] = "callstack", [FLOW_SOME] = "some",
	};

	out->text = names[flow_sums(blocks_view_of(t)->b->flow)->filter];
}

#define OF(member) TABLE_FIELD(struct blocks, member)
static const struct table_column head_columns[] = {
	COLUMN("event", "event", T_TEXT, 0, "whose samples have the stacks; null: several",
	       .get = blocks_event),
	COLUMN("filter", "filter", T_TEXT, 0, "which branches stacks hold", .get = blocks_filter),
	COLUMN("scaled", "scaled", T_FLAG, 0,
	       "figures are executions; else only their ratios mean "
	       "anything",
	       OF(scaled)),
	COLUMN("by", "by", T_TEXT, 0, "what gives the scale", OF(by)),
	COLUMN("scale", "scale", T_REAL, 0, "what weights were multiplied by", .get = scale),
	COLUMN("insns", "instructions", T_AMOUNT, C_ERROR | C_WHY, "retired, by runs of blocks",
	       .get = all_insns),
	COLUMN("leans", "~", T_FLAG, 0, "errors lack what no stack shows",
	       TABLE_CTX(struct blocks_view, b, insns.leans)),
	COLUMN("used", "used", T_COUNT, 0, "intervals between two branches that are used",
	       OF(used)),
	COLUMN("system", "to system calls", T_COUNT, 0, "of these those that end at a system call",
	       OF(system)),
};
const struct table_form blocks_summary_form = { "summary", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(head_columns) };

#undef OF

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
	&blocks_summary_form,	 &recorded_form,	 &recorded_stacks_form,
	&counted_form,		 &blocks_functions_form, &blocks_blocks_form,
	&blocks_listing_form,	 &blocks_alone_form,	 &blocks_edges_form,
	&blocks_loops_form,	 &blocks_visits_form,	 &blocks_trips_form,
	&blocks_iterations_form, &blocks_intervals_form, &blocks_times_form,
	&blocks_modes_form,	 &blocks_rounds_form,	 &blocks_rounds_times_form,
	&balance_form,		 &places_form,		 &blocks_dropped_form,
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
		       !strcmp(s->table, blocks_rounds_form.name) ||
		       !strcmp(s->table, blocks_rounds_times_form.name);
	return !s->format->one_table && (s->format->machine || of_function || timed);
}

/* ---- lines for people ------------------------------------------------------------------------ */

/* Returns why there are no blocks; NULL: there are. */
static const char *blocks_why_none(const struct blocks_view *v)
{
	const struct flow_sums *s = flow_sums(v->b->flow);

	if (v->b->used)
		return NULL;
	if (!s->stacks)
		return recorded_no_stacks(&v->source, s);
	if (*v->b->undecoded)
		return "no block is known: the code that ran cannot be disassembled here";
	if (v->b->dropped[BLOCK_NO_CODE])
		return "no block is known: the files with the code that ran are not there; "
		       "--symbols DIR says where they are";
	return "no block is known: no interval between two branches can be used (--table dropped)";
}

/* Every interval that is not used, by cause. */
static void add_dropped(struct document *d, const struct blocks_view *v, const struct table *t)
{
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;
	uint64_t gone = 0, all;
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];
	size_t n;
	const struct table_column *column = table_columns(t, &n);

	(void)table_next(t, &r);
	for (size_t i = 0; i < n; i++) {
		table_cell(&x, t, &column[i], &r, &scratch);
		gone += x.n;
	}
	all = v->b->used + gone;
	document_fact(d, "intervals", all && gone > all / 20,
		      "%s of %s between two branches used, %s rejected", num_exact(a, v->b->used),
		      num_exact(b, all), num_percent(c, all ? (double)gone / (double)all : NAN));
	for (size_t i = 0; i < n; i++) {
		table_cell(&x, t, &column[i], &r, &scratch);
		if (x.n)
			document_fact(d, "  rejected", false, "%s: %s", num_exact(a, x.n),
				      column[i].means);
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
}

/* By the blocks; if none could be made, by the stacks alone. */
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

static void add_blocks_next(struct document *d, const struct blocks_view *v)
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

void blocks_put_table(struct document *d, const struct blocks_view *v, struct table t)
{
	size_t n;
	const struct table_column *from = table_columns(&t, &n);
	struct table_column *to = v->b->scaled ? NULL : arena_xalloc(&d->a, n * sizeof(*to));

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
static void add_blocks_tables(struct document *d, const struct blocks_view *v, bool all)
{
	size_t rows = v->opts.limit ? v->opts.limit : ROWS;
	size_t loops = v->opts.limit ? v->opts.limit : LOOPS;
#define ROWS_OF(member) \
	.ctx = v, .array = v->member.v, .n = v->member.n, .stride = sizeof(*v->member.v)
	const struct table tables[] = {
		{ .form = &blocks_functions_form,
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
		{ .form = &blocks_rounds_times_form, ROWS_OF(loop) },
		{ .form = &blocks_times_form, ROWS_OF(row) },
		{ .form = &blocks_modes_form, ROWS_OF(row) },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		blocks_put_table(d, v, tables[i]);
	blocks_put_intervals(d, v);
}

void blocks_put_head(struct document *d, const struct blocks_view *v)
{
	const struct flow_sums *s = flow_sums(v->b->flow);
	char a[NUM_MAX];

	document_table(d, &(struct table){
				  .form = &blocks_summary_form, .ctx = v, .array = v->b, .n = 1 });
	recorded_head(d, &v->source);
	document_title(d, INK_PLAIN, "%s branch stacks of %s, up to %u entries",
		       num_exact(a, s->stacks), s->event ? s->event : "several events", s->depth);
	if (blocks_why_none(v))
		document_note(d, blocks_why_none(v));
	if (*v->b->undecoded)
		document_note(d, v->b->undecoded);
}

void blocks_put_facts(struct document *d, const struct blocks_view *v)
{
	const struct table t = { .form = &blocks_dropped_form, .ctx = v, .array = v->b, .n = 1 };

	recorded_stacks(d, &v->source, flow_sums(v->b->flow));
	document_table(d, &t);
	add_dropped(d, v, &t);
	add_scale(d, v);
	add_balance(d, v);
}

void blocks_put(struct document *d, const struct blocks_view *v)
{
	struct table t = { .form = &counted_form, .array = flow_sums(v->b->flow), .n = 1 };

	blocks_put_head(d, v);
	document_table(d, &t);
	add_blocks_tables(d, v, !v->opts.function);
	t = (struct table){ .form = &balance_form, .array = &v->balance, .n = 1 };
	document_table(d, &t);
	t = (struct table){ .form = &places_form, .array = &v->places, .n = 1 };
	document_table(d, &t);
	blocks_put_facts(d, v);
	if (v->timed)
		document_fact(
			d, "times", false,
			"of branch records, cycles; m: several modes, t: the slowest 5 %% "
			"have a quarter of the cycles or more; ?: too few stacks to bound it; "
			"-: mostly runs on into other blocks, or was not timed");
	recorded_tail(d, &v->source);
	add_blocks_next(d, v);
}
