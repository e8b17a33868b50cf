/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instruction mix as tables. Their ctx is the struct mix_view.
 */
#include "report/mix_tables.h"

#include <string.h>

#include "base/fs.h"
#include "report/flow/blocks_int.h"

enum { ROWS = 10, WORDS = 20 }; /* shown to people without --limit */

TABLE_CTX_AS(mix_of, struct mix_view)

/* ---- sums ------------------------------------------------------------------------------------ */

static const struct mix_sum *mix_sum_of(const struct table_column *c, const struct table_row *r)
{
	return (const void *)((const char *)r->p + c->which);
}

TABLE_CELL(sum_runs, cell_flow(out, flow_total(mix_sum_of(c, r)->group)); out->says = "?")
TABLE_CELL(mix_sum_insns, out->n = mix_sum_of(c, r)->insns)

TABLE_GET(sum_share)
{
	cell_flow(out, flow_ratio(mix_sum_of(c, r)->group, mix_of(t)->m->all.group));
	out->says = "?";
}

/* clang-format off */
#define SHARE(type, member) \
	COLUMN("share", "share", T_SHARE, C_HEAT | C_ERROR | C_WHY, "of all instructions", \
	       .get = sum_share, .which = offsetof(type, member))
#define RUNS(type, member) \
	COLUMN("runs", "runs", T_AMOUNT, C_ERROR | C_WHY, "executions", .get = sum_runs, \
	       .which = offsetof(type, member))
#define INSNS(type, member) \
	COLUMN("insns", "insns", T_COUNT, 0, "instructions of the code, that ran", \
	       .get = mix_sum_insns, .which = offsetof(type, member))
/* clang-format on */

/* ---- by class -------------------------------------------------------------------------------- */

TABLE_ROW_AS(mix_class_of, struct mix_class)

/* The share of a class that reads, or writes: c->which. */
TABLE_GET(class_accesses)
{
	out->e.v = mix_runs(mix_sum_of(c, r)) / mix_runs(&mix_class_of(r)->all);
}

#define READS                                                                                \
	COLUMN("reads", "read", T_SHARE, 0, "of its executions that read memory",            \
	       .get = class_accesses, .which = offsetof(struct mix_class, reads)),           \
		COLUMN("writes", "write", T_SHARE, 0, "of its executions that write memory", \
		       .get = class_accesses, .which = offsetof(struct mix_class, writes))

#define OF_CLASS(...) TABLE_FIELD(struct mix_class, __VA_ARGS__)
static const struct table_column class_columns[] = {
	SHARE(struct mix_class, all),
	RUNS(struct mix_class, all),
	COLUMN("class", "class", T_TEXT, C_KEY, "what instructions do", OF_CLASS(class),
	       .name_of = insn_class_name),
	READS,
	INSNS(struct mix_class, all),
	COLUMN("means", "meaning", T_TEXT, C_PEOPLE | C_FLEX | C_CUT | C_DROP, "", OF_CLASS(class),
	       .name_of = insn_class_means),
};
static const struct table_form class_form = { "mix", "instructions by class", 0,
					      TABLE_COLUMNS(class_columns), .rest = "class" };

static const struct table_column width_columns[] = {
	SHARE(struct mix_class, all),
	RUNS(struct mix_class, all),
	COLUMN("class", "class", T_TEXT, C_KEY, "what instructions do", OF_CLASS(class),
	       .name_of = insn_class_name),
	COLUMN("width", "bits", T_ID, C_KEY | C_0_IS_NONE,
	       "that they work on; none: jumps and their kin", OF_CLASS(width), .unit = "bits"),
	READS,
	INSNS(struct mix_class, all),
};
static const struct table_form width_form = { "widths", "by class and width", 0,
					      TABLE_COLUMNS(width_columns), .rest = "width" };

/* ---- by mnemonic ----------------------------------------------------------------------------- */

static const struct table_column word_columns[] = {
	SHARE(struct mix_word, all),
	RUNS(struct mix_word, all),
	COLUMN("mnemonic", "mnemonic", T_TEXT, C_KEY, "with its prefix",
	       TABLE_FIELD(struct mix_word, mnemonic)),
	COLUMN("class", "class", T_TEXT, C_KEY, "what it does", TABLE_FIELD(struct mix_word, class),
	       .name_of = insn_class_name),
	INSNS(struct mix_word, all),
};
static const struct table_form word_form = { "mnemonics", "by mnemonic", 0,
					     TABLE_COLUMNS(word_columns), .rest = "mnemonic" };

/* ---- places with most executions ------------------------------------------------------------- */

static const char *const held_unit_names[] = {
	[MIX_FUNCTIONS] = "functions", [MIX_BLOCKS] = "blocks",
	[MIX_LINES] = "source lines",  [MIX_CACHE_LINES] = "cache lines of 64 bytes",
	[MIX_PAGES] = "pages of 4 kB",
};
TABLE_CELL(held_n, const struct mix_held *h = r->p; out->n = h->held[c->which]; out->none = !h->n)

static const struct table_column held_columns[] = {
	COLUMN("unit", "", T_TEXT, C_KEY, "what is counted", TABLE_FIELD(struct mix_held, unit),
	       TABLE_NAMES(held_unit_names)),
	COLUMN("ran", "ran", T_COUNT, 0, "of these, as stacks show",
	       TABLE_FIELD(struct mix_held, n)),
	COLUMN("p50", "50 %", T_COUNT, 0, "so many hold half of all executions", .get = held_n,
	       .which = MIX_HALF),
	COLUMN("p90", "90 %", T_COUNT, 0, "so many hold 90 % of them", .get = held_n,
	       .which = MIX_MOST),
	COLUMN("p99", "99 %", T_COUNT, 0, "so many hold 99 % of them", .get = held_n,
	       .which = MIX_NEARLY),
	COLUMN("known", "known", T_SHARE, 0,
	       "of all executions: those that the figures are of (with a source line)",
	       TABLE_FIELD(struct mix_held, known)),
};
static const struct table_form held_form = { "held", "how few hold most of all executions", 0,
					     TABLE_COLUMNS(held_columns), .rest = "unit" };

/* ---- lines and pages ------------------------------------------------------------------------- */

TABLE_ROW_AS(mix_place_of, struct mix_place)

TABLE_CELL(mix_place_dso, out->text = image_name(mix_of(t)->v->images, mix_place_of(r)->image))
TABLE_CELL(place_name,
	   cell_printf(out, "%s:%u", path_base(mix_place_of(r)->file), mix_place_of(r)->line))

#define UNTIL                                                                 \
	COLUMN("until", "sum", T_SHARE, 0, "share of this row and all above", \
	       TABLE_FIELD(struct mix_place, until))
#define DSO COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "file of the code", .get = mix_place_dso)

static const struct table_column line_columns[] = {
	SHARE(struct mix_place, all),
	UNTIL,
	RUNS(struct mix_place, all),
	INSNS(struct mix_place, all),
	COLUMN("place", "line", T_TEXT, C_PEOPLE | C_FLEX, "", .get = place_name),
	COLUMN("file", "file", T_TEXT, C_KEY | C_DATA, "source file",
	       TABLE_FIELD(struct mix_place, file)),
	COLUMN("line", "line", T_ID, C_KEY | C_DATA, "its line",
	       TABLE_FIELD(struct mix_place, line)),
	DSO,
};
static const struct table_form line_form = { "lines", "source lines", 0,
					     TABLE_COLUMNS(line_columns), .rest = "line" };

static const struct table_column page_columns[] = {
	SHARE(struct mix_place, all),
	UNTIL,
	RUNS(struct mix_place, all),
	INSNS(struct mix_place, all),
	COLUMN("address", "address", T_ADDRESS, C_KEY, "of the page, in the file",
	       TABLE_FIELD(struct mix_place, vaddr)),
	DSO,
};
static const struct table_form page_form = { "pages", "pages of code, 4 kB", 0,
					     TABLE_COLUMNS(page_columns), .rest = "page" };

/* ---- instructions ---------------------------------------------------------------------------- */

TABLE_ROW_AS(mix_insn_of, struct mix_insn)

static const struct block *mix_ran(const struct table_row *r)
{
	return &mix_insn_of(r)->f->block[mix_insn_of(r)->block];
}

TABLE_CELL(insn_share, cell_flow(out, flow_ratio(mix_ran(r)->group, mix_of(t)->m->all.group)))
TABLE_CELL(insn_runs, cell_flow(out, mix_ran(r)->runs))
TABLE_CELL(insn_leans, out->n = mix_ran(r)->runs.leans)
TABLE_CELL(insn_dso, out->text = blocks_dso(mix_of(t)->v, mix_insn_of(r)->f))
TABLE_CELL(insn_class, out->text = insn_class_name((enum insn_class)mix_insn_of(r)->class))

static const char *const insn_memory_words[] = { [INSN_READS] = "read",
						 [INSN_WRITES] = "write",
						 [INSN_READS | INSN_WRITES] = "read and write" };
#define OF(...) TABLE_FIELD(struct mix_insn, __VA_ARGS__)
static const struct table_column insn_columns[] = {
	COLUMN("share", "share", T_SHARE, C_ERROR | C_WHY, "of all instructions",
	       .get = insn_share),
	COLUMN("runs", "runs", T_AMOUNT, C_ERROR | C_WHY, "executions", .get = insn_runs),
	COLUMN("leans", "~", T_FLAG, 0, "the error lacks what no stack shows", .get = insn_leans),
	COLUMN("dso", "of", T_TEXT, C_KEY, "file of its code", .get = insn_dso),
	COLUMN("function", "function", T_TEXT, C_KEY, "that has it", OF(f, symbol, name)),
	COLUMN("address", "address", T_ADDRESS, C_KEY, "in the file", OF(vaddr)),
	COLUMN("block", "block", T_ID, 0, "number of its block in the function", OF(block)),
	COLUMN("instruction", "instruction", T_TEXT, 0, "as disassembled", OF(text)),
	COLUMN("mnemonic", "mnemonic", T_TEXT, 0, "with its prefix", OF(mnemonic)),
	COLUMN("class", "class", T_TEXT, 0, "what it does", .get = insn_class),
	COLUMN("width", "bits", T_ID, C_0_IS_NONE, "that it works on; none: jumps and their kin",
	       OF(width), .unit = "bits"),
	COLUMN("memory", "memory", T_TEXT, 0, "read, write, read and write; none: no access",
	       OF(memory), TABLE_NAMES(insn_memory_words)),
	COLUMN("access", "bytes", T_BYTES, C_0_IS_NONE, "of memory; none: no access, or not fixed",
	       OF(access)),
	COLUMN("operand", "operand", T_TEXT, 0, "in memory; none: it names none", OF(operand)),
	COLUMN("file", "file", T_TEXT, 0, "of its source", OF(file)),
	COLUMN("line", "line", T_ID, C_0_IS_NONE, "of its source", OF(line)),
};
#undef OF
static const struct table_form insn_form = { "instructions", NULL, TABLE_MAIN | TABLE_DATA,
					     TABLE_COLUMNS(insn_columns), .rest = "instruction" };

/* ---- the document ---------------------------------------------------------------------------- */

static const struct table_form *const forms[] = {
	&blocks_summary_form, &recorded_form,	    &recorded_stacks_form,
	&insn_form,	      &class_form,	    &held_form,
	&word_form,	      &width_form,	    &line_form,
	&page_form,	      &blocks_dropped_form, &recorded_losses_form,
};
const struct document_form mix_document = { "instructions", 1,
					    forms,	    sizeof(forms) / sizeof(*forms),
					    NULL,	    0 };

static void put_mix_tables(struct document *d, const struct mix_view *x)
{
	const struct mix *m = x->m;
	size_t limit = x->v->opts.limit, rows = limit ? limit : ROWS;
#define ROWS_OF(member) \
	.ctx = x, .array = m->member.v, .n = m->member.n, .stride = sizeof(*m->member.v)
	const struct table tables[] = {
		{ .form = &insn_form, ROWS_OF(insn) },
		{ .form = &class_form, ROWS_OF(class), .people = limit },
		{ .form = &held_form,
		  .ctx = x,
		  .array = m->held,
		  .n = m->all.insns ? MIX_UNITS : 0,
		  .stride = sizeof(*m->held) },
		{ .form = &word_form, ROWS_OF(word), .people = limit ? limit : WORDS },
		{ .form = &width_form, ROWS_OF(width), .people = rows },
		{ .form = &line_form, ROWS_OF(line), .people = rows },
		{ .form = &page_form, ROWS_OF(page), .people = rows },
	};
#undef ROWS_OF

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		blocks_put_table(d, x->v, tables[i]);
}

static void put_mix_next(struct document *d, const struct blocks_view *v)
{
	struct next_list l = { .v = d->next, .a = &d->a, .input = v->source.input };
	const char *name = v->ran ? v->row.v->f->symbol->name : NULL;

	next_add(&l, "blocks", "", v->opts.function, "the blocks, with edges and loops");
	if (name && !v->opts.function)
		next_add(&l, "blocks", "--mix", name, "the mix of one function");
	if (name)
		next_add(&l, "annotate", "", name, "with source lines and instructions");
	d->n_next = l.n;
}

void mix_put(struct document *d, const struct mix_view *x)
{
	double all = mix_runs(&x->m->all);
	char a[NUM_MAX], b[NUM_MAX];

	blocks_put_head(d, x->v);
	put_mix_tables(d, x);
	if (all > 0)
		document_fact(d, "memory", false, "%s of all instructions read it, %s write it",
			      num_percent(a, mix_runs(&x->m->reads) / all),
			      num_percent(b, mix_runs(&x->m->writes) / all));
	blocks_put_facts(d, x->v);
	recorded_tail(d, &x->v->source);
	put_mix_next(d, x->v);
}
