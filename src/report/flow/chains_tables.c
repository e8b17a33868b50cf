/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains, ports and verdicts of loops as tables. Their ctx is the struct chains_view.
 */
#include "base/xalloc.h"
#include "report/chains_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "report/flow/blocks_int.h"

enum { LOOPS = 10, CHAINS = 5 }; /* shown to people without --limit */

TABLE_CTX_AS(chains_of, struct chains_view)
TABLE_ROW_AS(loop_at, struct chain_loop)
TABLE_ROW_AS(bound_row_at, struct chains_row)

/* Returns the loop of a row of any table: rows of `chains` are the loops themselves. */
static const struct chain_loop *loop_in(const struct table *t, const struct table_row *r)
{
	return t->n && t->stride == sizeof(struct chain_loop) ? loop_at(r) : bound_row_at(r)->l;
}

/* ---- shared by several tables ---------------------------------------------------------------- */

_Static_assert(sizeof(struct chain_loop) != sizeof(struct chains_row), "rows are told by size");

static uint32_t bound_row_head_of(const struct chain_loop *l)
{
	return l->f->code->block[l->f->loop[l->loop].head].start;
}

TABLE_CELL(loop_dso, out->text = blocks_dso(chains_of(t)->v, loop_in(t, r)->f))
TABLE_CELL(loop_function, out->text = loop_in(t, r)->f->symbol->name)
TABLE_CELL(loop_number, out->n = loop_in(t, r)->loop)

TABLE_GET(loop_name)
{
	const struct chain_loop *l = loop_in(t, r);

	(void)c;
	out->text = l->f->symbol->name;
	if (!bound_row_head_of(l))
		return;
	buf_printf(out->scratch, "+0x%" PRIx32, bound_row_head_of(l));
	out->tail = buf_str(out->scratch);
}

/* clang-format off */
#define LOOP \
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the function's file", .get = loop_dso), \
	COLUMN("function", "function", T_TEXT, C_KEY | C_DATA, "that has the loop", \
	       .get = loop_function), \
	COLUMN("loop", "loop", T_ID, C_KEY | C_DATA, "its number in the function", \
	       .get = loop_number)
/* clang-format on */

static const struct chain_bounds *bounds_in(const struct table *t, const struct table_row *r)
{
	const struct chain_loop *l = loop_in(t, r);

	return t->stride == sizeof(struct chain_loop) || !bound_row_at(r)->p
		       ? &l->bound
		       : &bound_row_at(r)->p->bound;
}

/* A member of struct chain_bounds; without paths nothing is known. */
TABLE_GET(bound)
{
	if (loop_in(t, r)->n_paths && chains_of(t)->c->core)
		memcpy(&out->e.v, (const char *)bounds_in(t, r) + c->which, sizeof(out->e.v));
}

/* "4", "4-5", "4-?": for people. */
static void put_bound_row_range(struct table_cell *out, const struct chain_range *x)
{
	if (isnan(x->low))
		return;
	if (isnan(x->high))
		cell_printf(out, "%.4g-?", x->low);
	else if (x->high - x->low <= 0.005 * x->high)
		cell_printf(out, "%.4g", x->high);
	else
		cell_printf(out, "%.3g-%.3g", x->low, x->high);
}

TABLE_GET(bound_chain)
{
	(void)c;
	if (loop_in(t, r)->n_paths && chains_of(t)->c->core)
		put_bound_row_range(out, &bounds_in(t, r)->chain);
}

static void put_ports(struct table_cell *out, uint32_t ports)
{
	for (unsigned p = 0; p < CORE_PORTS; p++)
		if (ports >> p & 1)
			buf_printf(out->scratch, "%c", core_port_name(p));
	out->text = ports ? buf_str(out->scratch) : NULL;
}

TABLE_CELL(bound_fullest, put_ports(out, bounds_in(t, r)->fullest))
TABLE_CELL(bound_least, out->n = bounds_in(t, r)->at_least)

/* clang-format off */
#define BOUND(key, head, flags, means, member) \
	COLUMN(key, head, T_REAL, flags, means, .get = bound, .unit = "cycles", \
	       .which = offsetof(struct chain_bounds, member))
#define BOUNDS \
	COLUMN("chains", "chain", T_TEXT, C_PEOPLE, "", .get = bound_chain), \
	BOUND("chain", "chain", C_DATA, \
	      "an iteration hands on to the next: at least so many cycles", chain.low), \
	BOUND("chain_high", "chain", C_DATA, "at most; none: a latency is not known", \
	      chain.high), \
	BOUND("ports", "ports", 0, "that ports allow", ports), \
	BOUND("issue", "issue", 0, "that the front end allows: slots, taken branches", issue), \
	COLUMN("fullest", "on", T_TEXT, C_DROP, "ports that make the ports' bound", \
	       .get = bound_fullest), \
	COLUMN("slots", "slots", T_REAL, C_DATA, "of the front end", .get = bound, \
	       .which = offsetof(struct chain_bounds, slots)), \
	COLUMN("taken", "taken", T_REAL, C_DATA, "taken branches", .get = bound, \
	       .which = offsetof(struct chain_bounds, taken)), \
	COLUMN("at_least", "or more", T_FLAG, C_DATA, \
	       "ports and issue are lower bounds: uops of an operation are not known", \
	       .get = bound_least)
/* clang-format on */

/* ---- loops ----------------------------------------------------------------------------------- */

static const struct block *head_block(const struct table_row *r)
{
	return &loop_at(r)->f->block[loop_at(r)->f->loop[loop_at(r)->loop].head];
}

static void bound_row_sum_insns(const struct chain_loop *l, double group[FLOW_SLOTS])
{
	memset(group, 0, FLOW_SLOTS * sizeof(*group));
	for (size_t b = 0; b < l->f->code->n_blocks; b++)
		for (int g = 0; l->f->block[b].loop == l->loop && g < FLOW_SLOTS; g++)
			group[g] += l->f->block[b].group[g] * l->f->code->block[b].n;
}

TABLE_GET(loop_share)
{
	double group[FLOW_SLOTS], sum = 0;

	(void)c;
	bound_row_sum_insns(loop_at(r), group);
	for (int g = 0; g < FLOW_GROUPS; g++)
		sum += group[g];
	out->e.v = sum / chains_of(t)->v->b->insns.v;
}

TABLE_CELL(bound_row_loop_runs, cell_flow(out, head_block(r)->runs))
TABLE_CELL(loop_cycles, cell_flow(out, loop_at(r)->cycles); out->says = "?")
TABLE_CELL(loop_address, out->n = loop_at(r)->f->code->vaddr + bound_row_head_of(loop_at(r)))

TABLE_GET(loop_place)
{
	struct source_line at = blocks_line(chains_of(t)->v, loop_at(r)->f,
					    loop_at(r)->f->loop[loop_at(r)->loop].head);

	(void)c;
	if (at.file)
		cell_printf(out, "%s:%u", path_base(at.file), at.line);
}

#define OF_LOOP(...) TABLE_FIELD(struct chain_loop, __VA_ARGS__)
static const struct table_column loop_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all instructions, in its blocks",
	       .get = loop_share),
	COLUMN("verdict", "verdict", T_TEXT, 0,
	       "serial, ports, issue, several of these, other, unknown", OF_LOOP(verdict),
	       .name_of = chain_verdict_name),
	COLUMN("cycles", "cycles", T_REAL, C_ERROR | C_WHY, "of an iteration, as timed",
	       .get = loop_cycles),
	BOUNDS,
	COLUMN("trimmed", "trimmed", T_FLAG, C_DATA,
	       "cycles are without the slowest 5 %, which have a quarter of all or more",
	       OF_LOOP(trimmed)),
	COLUMN("runs", "runs", T_AMOUNT, C_DATA | C_ERROR | C_WHY, "of its head",
	       .get = bound_row_loop_runs),
	COLUMN("iterations", "iterations", T_COUNT, C_DATA, "that stacks show whole",
	       OF_LOOP(iterations)),
	COLUMN("left_out", "left out", T_COUNT, C_DATA, "of these, by rare or long paths",
	       OF_LOOP(left_out)),
	COLUMN("n_paths", "paths", T_COUNT, 0, "ways through it", OF_LOOP(n_paths)),
	LOOP,
	COLUMN("address", "address", T_ADDRESS, C_DATA, "of its head, in the file",
	       .get = loop_address),
	COLUMN("name", "loop at", T_TEXT, C_PEOPLE | C_FLEX, "", .get = loop_name),
	COLUMN("place", "line", T_TEXT, C_PEOPLE | C_FLEX | C_SPARSE, "", .get = loop_place),
	COLUMN("why", "why", T_TEXT, C_DATA, "why there is no verdict", OF_LOOP(why)),
};
static const struct table_form loop_form = { "bounds", "what bounds innermost loops", TABLE_MAIN,
					     TABLE_COLUMNS(loop_columns), .rest = "loop" };

/* ---- paths ----------------------------------------------------------------------------------- */

TABLE_GET(path_blocks)
{
	const struct block_path *p = bound_row_at(r)->p->path;

	(void)t;
	(void)c;
	for (uint32_t k = 0; k < p->n; k++)
		buf_printf(out->scratch, "%s%" PRIu32, k ? " " : "", p->block[k]);
	out->text = buf_str(out->scratch);
}

#define OF_ROW(...) TABLE_FIELD(struct chains_row, __VA_ARGS__)
#define PATH	    COLUMN("path", "path", T_ID, C_KEY, "the one seen most is 0", OF_ROW(path))

static const struct table_column path_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of the loop's iterations", OF_ROW(p, share)),
	COLUMN("seen", "seen", T_COUNT, C_DATA, "so often", OF_ROW(p, path, seen)),
	COLUMN("cycles", "cycles", T_REAL, C_SPARSE,
	       "of an iteration, where branches to the head were timed", OF_ROW(p, cycles)),
	BOUNDS,
	COLUMN("insns", "insns", T_COUNT, 0, "instructions", OF_ROW(p, n)),
	LOOP,
	PATH,
	COLUMN("name", "loop at", T_TEXT, C_PEOPLE | C_FLEX, "", .get = loop_name),
	COLUMN("blocks", "blocks", T_TEXT, C_FLEX | C_CUT, "in the order in which they run",
	       .get = path_blocks),
	COLUMN("unknown", "unknown", T_TEXT, C_SPARSE, "operation whose latency is not known",
	       OF_ROW(p, unknown)),
};
static const struct table_form path_form = { "paths", NULL, TABLE_DATA, TABLE_COLUMNS(path_columns),
					     .rest = "path" };
/* For people those of loops that have several. */
static const struct table_form ways_form = { "ways", "ways through loops that have several",
					     TABLE_PEOPLE, TABLE_COLUMNS(path_columns),
					     .rest = "path" };

/* ---- instructions ---------------------------------------------------------------------------- */

TABLE_CELL(insn_cycles, if (bound_row_at(r)->i->step) out->e.v = bound_row_at(r)->i->cycles)
TABLE_CELL(insn_via,
	   if (bound_row_at(r)->i->step) out->text = chain_via_name(bound_row_at(r)->i->via))
TABLE_CELL(insn_latency, put_bound_row_range(out, &bound_row_at(r)->i->latency))
TABLE_CELL(insn_mark, out->text = bound_row_at(r)->i->step ? "*" : NULL; out->says = "")
TABLE_CELL(insn_number, out->n = (uint64_t)(bound_row_at(r)->i - bound_row_at(r)->p->insn))

TABLE_GET(insn_place)
{
	const struct chain_insn *i = bound_row_at(r)->i;

	(void)t;
	(void)c;
	if (i->file)
		cell_printf(out, "%s:%u", path_base(i->file), i->line);
}

/* "sum+0x10: serial" */
TABLE_GET(insn_group)
{
	const struct chain_loop *l = bound_row_at(r)->l;

	(void)t;
	(void)c;
	buf_printf(out->scratch, "%s+0x%" PRIx32, l->f->symbol->name, bound_row_head_of(l));
	if (l->n_paths > 1)
		buf_printf(out->scratch, ", path %" PRIu32, bound_row_at(r)->path);
	buf_printf(out->scratch, ": %s", chain_verdict_name(l->verdict));
	out->text = buf_str(out->scratch);
}

/* clang-format off */
#define CODE_STEPS \
	COLUMN("cycles", "cycles", T_REAL, 0, "of the chain in an iteration, that it takes", \
	       .get = insn_cycles), \
	COLUMN("via", "waits for", T_TEXT, 0, \
	       "register, flags, address of a load, store before; none: not on the chain", \
	       .get = insn_via)
#define CODE_TEXT \
	COLUMN("instruction", "instruction", T_TEXT, C_FLEX | C_CUT, "as disassembled", \
	       OF_ROW(i, text))
/* clang-format on */
static const struct table_column code_columns[] = {
	LOOP,
	PATH,
	COLUMN("number", "number", T_ID, C_KEY, "in the order in which they run",
	       .get = insn_number),
	COLUMN("address", "address", T_ADDRESS, 0, "in the file", OF_ROW(i, vaddr)),
	COLUMN("block", "block", T_ID, 0, "number of its block", OF_ROW(i, block)),
	CODE_TEXT,
	COLUMN("operation", "operation", T_TEXT, 0, "what costs alike", OF_ROW(i, op),
	       .name_of = insn_op_name),
	COLUMN("latency", "latency", T_REAL, 0, "of the operation, without its load; at least",
	       OF_ROW(i, latency.low), .unit = "cycles"),
	COLUMN("latency_high", "latency", T_REAL, 0, "at most; none: not known",
	       OF_ROW(i, latency.high), .unit = "cycles"),
	COLUMN("measured", "measured", T_FLAG, 0, "the latency was measured on this machine",
	       OF_ROW(i, measured)),
	COLUMN("ports", "ports", T_TEXT, C_0_IS_NONE, "uops and the ports that they may go to",
	       OF_ROW(i, ports)),
	COLUMN("fused", "fused", T_FLAG, 0, "one with the branch behind it", OF_ROW(i, fused)),
	COLUMN("step", "step", T_ID, C_0_IS_NONE,
	       "when it comes in the chain, from 1; none: not on it", OF_ROW(i, step)),
	CODE_STEPS,
	COLUMN("file", "file", T_TEXT, 0, "of its source", OF_ROW(i, file)),
	COLUMN("line", "line", T_ID, C_0_IS_NONE, "of its source", OF_ROW(i, line)),
};
static const struct table_form code_form = { "code", NULL, TABLE_DATA, TABLE_COLUMNS(code_columns),
					     .rest = "instruction" };

static const struct table_column shown_columns[] = {
	COLUMN("group", "", T_TEXT, C_GROUP, "", .get = insn_group),
	COLUMN("mark", "", T_TEXT, 0, "", .get = insn_mark),
	CODE_STEPS,
	COLUMN("latency", "latency", T_TEXT, 0, "", .get = insn_latency),
	COLUMN("ports", "ports", T_TEXT, C_DROP | C_0_IS_NONE, "", OF_ROW(i, ports)),
	COLUMN("address", "address", T_ADDRESS, 0, "", OF_ROW(i, vaddr)),
	CODE_TEXT,
	COLUMN("place", "line", T_TEXT, C_FLEX | C_SPARSE, "", .get = insn_place),
};
static const struct table_form shown_form = { "chain", "instructions of the chains", TABLE_PEOPLE,
					      TABLE_COLUMNS(shown_columns) };

/* ---- ports ----------------------------------------------------------------------------------- */

TABLE_CELL(port_name, cell_printf(out, "%c", core_port_name(bound_row_at(r)->port)))
TABLE_CELL(port_uops, out->e.v = bound_row_at(r)->l->bound.load[bound_row_at(r)->port])
TABLE_CELL(port_unit, out->n = core_port_is_unit(bound_row_at(r)->port))

static const struct table_column port_columns[] = {
	LOOP,
	COLUMN("port", "port", T_TEXT, C_KEY, "as the model names it", .get = port_name),
	COLUMN("uops", "uops", T_REAL, 0,
	       "of an iteration, dealt evenly to the ports they may go to; of units: cycles",
	       .get = port_uops),
	COLUMN("unit", "unit", T_FLAG, 0, "a unit behind a port (a divider)", .get = port_unit),
};
static const struct table_form port_form = { "ports", "ports", TABLE_DATA,
					     TABLE_COLUMNS(port_columns), .rest = "port" };

/* ---- the model ------------------------------------------------------------------------------- */

#define CTX(...) TABLE_CTX(struct chains_view, __VA_ARGS__)
static const struct table_column core_columns[] = {
	COLUMN("model", "model", T_TEXT, 0, "whose latencies and ports these are",
	       CTX(c, core, id)),
	COLUMN("from", "from", T_TEXT, 0, "where they come from", CTX(c, core, from)),
	COLUMN("width", "width", T_COUNT, C_0_IS_NONE, "slots a cycle", CTX(c, core, width)),
	COLUMN("penalties", "penalties", T_TEXT, 0,
	       "latencies of this machine, in place of the model's: of which file",
	       TABLE_FIELD(struct chains_view, penalties)),
};
static const struct table_form core_form = { "model", NULL, TABLE_ONE | TABLE_DATA,
					     TABLE_COLUMNS(core_columns) };

/* ---- the document ---------------------------------------------------------------------------- */

static const struct table_form *const forms[] = {
	&blocks_summary_form, &recorded_form,	    &recorded_stacks_form,
	&core_form,	      &loop_form,	    &shown_form,
	&ways_form,	      &path_form,	    &code_form,
	&port_form,	      &blocks_dropped_form, &recorded_losses_form,
};
const struct document_form chains_document = { "bounds", 1, forms, sizeof(forms) / sizeof(*forms),
					       NULL,	 0 };

static void list_path(struct chains_view *x, const struct chain_loop *l, uint32_t k, bool shown)
{
	const struct chain_path *p = &l->path[k];
	bool all = x->v->opts.function != NULL,
	     ports = l->verdict == CHAIN_PORTS || l->verdict == CHAIN_ISSUE;

	const struct chains_row row = { l, p, NULL, k, 0 };

	vec_xpush(&x->path, row);
	if (l->n_paths > 1)
		vec_xpush(&x->ways, row);
	for (size_t i = 0; i < p->n; i++) {
		struct chains_row r = { l, p, &p->insn[i], k, 0 };

		vec_xpush(&x->code, r);
		if (shown && (all || (p->insn[i].step && !ports)))
			vec_xpush(&x->shown, r);
	}
}

static void list_bound_row_rows(struct chains_view *x)
{
	size_t most = x->v->opts.limit ? x->v->opts.limit : CHAINS;

	for (size_t i = 0; i < x->c->loop.n; i++) {
		const struct chain_loop *l = &x->c->loop.v[i];

		for (uint32_t k = 0; k < l->n_paths; k++)
			list_path(x, l, k, i < most && !k);
		for (uint32_t p = 0; l->n_paths && p < CORE_PORTS; p++)
			if (l->bound.load[p] > 0)
				vec_xpush(&x->port, ((struct chains_row){ l, NULL, NULL, 0, p }));
	}
}

void chains_view_build(struct chains_view **out, const struct blocks_view *v,
		       const struct chains *c)
{
	struct chains_view *x = xcalloc(1, sizeof(*x));

	*out = x;
	x->v = v;
	x->c = c;
	list_bound_row_rows(x);
}

void chains_view_free(struct chains_view *x)
{
	if (!x)
		return;
	vec_free(&x->path);
	vec_free(&x->ways);
	vec_free(&x->code);
	vec_free(&x->port);
	vec_free(&x->shown);
	free(x);
}

static void put_bound_row_tables(struct document *d, const struct chains_view *x)
{
	size_t limit = x->v->opts.limit;
#define ROWS_OF(from) .ctx = x, .array = (from).v, .n = (from).n, .stride = sizeof(*(from).v)
	const struct table tables[] = {
		{ .form = &core_form, .ctx = x, .array = x, .n = 1 },
		{ .form = &loop_form, ROWS_OF(x->c->loop), .people = limit ? limit : LOOPS },
		{ .form = &shown_form, ROWS_OF(x->shown), .data_only = !x->shown.n },
		{ .form = &ways_form,
		  ROWS_OF(x->ways),
		  .people = limit ? limit : LOOPS,
		  .data_only = !x->ways.n },
		{ .form = &path_form, ROWS_OF(x->path) },
		{ .form = &code_form, ROWS_OF(x->code) },
		{ .form = &port_form, ROWS_OF(x->port) },
	};
#undef ROWS_OF

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		document_table(d, &tables[i]);
}

/* "the error of ... (3 loops), it calls ... (2)": people read reasons together. */
static void put_bound_row_reasons(struct document *d, const struct chains *c)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < c->loop.n; i++) {
		const char *why = c->loop.v[i].why;
		size_t n = 0, before = 0;

		for (size_t k = 0; why && k < c->loop.n; k++) {
			bool same = c->loop.v[k].why && !strcmp(c->loop.v[k].why, why);

			n += same;
			before += same && k < i;
		}
		if (n && !before)
			buf_printf(&b, "%s%s (%zu %s)", b.len ? "; " : "", why, n,
				   n == 1 ? "loop" : "loops");
	}
	if (b.len)
		document_fact(d, "unknown", false, "%s", buf_str(&b));
	buf_free(&b);
}

static void put_bound_row_facts(struct document *d, const struct chains_view *x)
{
	const struct core *core = x->c->core;

	if (!x->c->loop.n)
		document_note(d, "no innermost loop was seen: there is nothing to bound");
	else
		document_fact(d, "verdicts", false,
			      "serial: the chain from iteration to iteration explains the time; "
			      "ports, issue: uops do; other: more time than any bound (misses, "
			      "mispredictions); bounds are cycles an iteration");
	put_bound_row_reasons(d, x->c);
	if (core)
		document_fact(d, "latencies", false, "of the model %s%s%s%s", core->id,
			      *core->from ? ": " : "", core->from,
			      x->penalties ? "; those measured here go over them" : "");
	if (core && x->penalties)
		document_fact(d, "measured", false, "%s%s", x->penalties,
			      x->kept ? "; --penalties none: the model's alone" : "");
	if (x->c->more)
		document_fact(d, "left out", false, "%zu colder loops", x->c->more);
}

static void put_bound_row_next(struct document *d, const struct chains_view *x)
{
	struct next_list l = { .v = d->next, .a = &d->a, .input = x->v->source.input };
	const char *name = x->c->loop.n ? x->c->loop.v->f->symbol->name : NULL;

	if (name && !x->v->opts.function)
		next_add(&l, "blocks", "--chains", name, "all instructions of its loops");
	if (name)
		next_add(&l, "annotate", "", name, "with source lines and instructions");
	next_add(&l, "blocks", "", x->v->opts.function, "the blocks, with edges and loops");
	d->n_next = l.n;
}

void chains_put(struct document *d, const struct chains_view *x)
{
	blocks_put_head(d, x->v);
	put_bound_row_tables(d, x);
	put_bound_row_facts(d, x);
	blocks_put_facts(d, x->v);
	recorded_tail(d, &x->v->source);
	put_bound_row_next(d, x);
}
