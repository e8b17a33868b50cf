/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of registers, as tables: places, registers of each, values of each register.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyse/again.h"
#include "base/num.h"
#include "report/recorded.h"
#include "report/registers_view.h"

/* ---- walks: at[0] is the place, at[1] its register, at[2] the register's value --------------- */

static bool place_next(const struct table *t, struct table_row *r)
{
	const struct registers *k = ((const struct registers_view *)t->ctx)->r;

	r->at[0] += r->p != NULL;
	while (r->at[0] < k->n && !k->place[r->at[0]].wanted)
		r->at[0]++;
	if (r->at[0] == k->n)
		return false;
	r->p = &k->place[r->at[0]];
	return true;
}

/* Returns the register at at[1], or the next that is shown. */
static const struct registers_cell *register_cell_at(const struct registers_view *v,
						     struct table_row *r)
{
	for (; r->at[0] < v->r->n; r->at[0]++, r->at[1] = 0) {
		const struct registers_place *p = &v->r->place[r->at[0]];

		for (; p->wanted && r->at[1] < p->n_cells; r->at[1]++)
			if (registers_shown(v, p, &p->cell[r->at[1]]))
				return &p->cell[r->at[1]];
	}
	return NULL;
}

static bool register_cell_next(const struct table *t, struct table_row *r)
{
	r->at[1] += r->p != NULL;
	return (r->p = register_cell_at(t->ctx, r));
}

static bool value_next(const struct table *t, struct table_row *r)
{
	const struct registers_cell *c;

	r->at[2] += r->p != NULL;
	for (; (c = register_cell_at(t->ctx, r)); r->at[1]++, r->at[2] = 0)
		if (r->at[2] < c->n_values)
			return (r->p = &c->value[r->at[2]]);
	return false;
}

static const struct registers_place *register_place_of(const struct table *t,
						       const struct table_row *r)
{
	return &((const struct registers_view *)t->ctx)->r->place[r->at[0]];
}

static const struct registers_cell *register_cell_of(const struct table *t,
						     const struct table_row *r)
{
	return &register_place_of(t, r)->cell[r->at[1]];
}

/* ---- places ---------------------------------------------------------------------------------- */

TABLE_GET(register_dso)
{
	const struct registers_place *p = register_place_of(t, r);

	if (p->image != IMAGE_NONE)
		out->text = registers_dso(t->ctx, p);
}

TABLE_GET(register_function)
{
	const struct symbol *s = register_place_of(t, r)->symbol;

	out->text = s ? s->name : NULL;
}

TABLE_GET(register_offset)
{
	const struct registers_place *p = register_place_of(t, r);

	out->none = !p->symbol;
	if (p->symbol)
		out->n = p->addr - p->symbol->start;
}

TABLE_CELL(register_address, (void)registers_vaddr(t->ctx, register_place_of(t, r), &out->n))

/* "a.out:work+0x1c  12 samples; registers are those behind the instruction" */
TABLE_GET(register_heading)
{
	const struct registers_view *v = t->ctx;
	const struct registers_place *p = register_place_of(t, r);
	char n[NUM_MAX];

	buf_printf(out->scratch, "%s:", registers_dso(v, p));
	registers_put_place(out->scratch, p);
	buf_printf(out->scratch, "  %s %s%s%s%s", num_exact(n, p->samples),
		   v->r->every ? "time" : "sample", p->samples == 1 ? "" : "s",
		   p->entry ? ", at its first instruction" : "",
		   p->after ? "; registers are those behind the instruction" : "");
	out->text = buf_str(out->scratch);
}

/* clang-format off */
#define PLACE(flags) \
	COLUMN("dso", "of", T_TEXT, flags, "the file", .get = register_dso), \
	COLUMN("function", "function", T_TEXT, flags, "its name", .get = register_function), \
	COLUMN("offset", "offset", T_ID, flags, "from the function's start", .unit = "bytes", \
	       .get = register_offset), \
	COLUMN("address", "address", T_ADDRESS, flags, "in the file", .get = register_address)
/* clang-format on */

#define OF(member) TABLE_FIELD(struct registers_place, member)
static const struct table_column place_columns[] = {
	PLACE(C_KEY),
	COLUMN("entry", "entry", T_FLAG, 0, "the first instruction of its function", OF(entry)),
	COLUMN("after_instruction", "behind", T_FLAG, 0,
	       "some registers are those behind the instruction", OF(after)),
	COLUMN("samples", "samples", T_COUNT, 0, "with registers", OF(samples)),
};
#undef OF
static const struct table_form places_form = { "places", NULL, TABLE_DATA,
					       TABLE_COLUMNS(place_columns), .next = place_next };

/* ---- registers ------------------------------------------------------------------------------- */

TABLE_GET(name_register)
{
	const struct registers_cell *k = register_cell_of(t, r);

	out->text = registers_name(((const struct registers_view *)t->ctx)->r->arch, k->bit, NULL);
	if (!out->text)
		cell_printf(out, "bit %u", k->bit);
}

TABLE_GET(argument)
{
	unsigned argument;

	(void)registers_name(((const struct registers_view *)t->ctx)->r->arch,
			     register_cell_of(t, r)->bit, &argument);
	out->n = argument;
	out->none = !argument;
}

TABLE_CELL(register_guess, out->text = registers_guess_name(register_cell_of(t, r)->guess))

/* Numbers that a double holds are numbers; others, and addresses, are text. */
static void put_register_raw(struct table_cell *out, enum registers_guess g, uint64_t v)
{
	const uint64_t exact = (uint64_t)1 << 53;
	char text[24];

	out->kind = T_SIGNED;
	if (g == GUESS_SIGNED32) {
		out->i = (int32_t)(uint32_t)v;
	} else if ((g == GUESS_SIGNED && v + exact <= 2 * exact) ||
		   (g == GUESS_UNSIGNED && v <= exact)) {
		out->i = (int64_t)v;
	} else {
		out->kind = T_TEXT;
		cell_printf(out, "%s", registers_put_value(text, g, v));
	}
}

TABLE_CELL(register_least,
	   put_register_raw(out, register_cell_of(t, r)->guess, register_cell_of(t, r)->least))
TABLE_CELL(register_most,
	   put_register_raw(out, register_cell_of(t, r)->guess, register_cell_of(t, r)->most))

TABLE_GET(register_mean)
{
	const struct registers_cell *k = register_cell_of(t, r);

	out->e = (struct estimate){ k->mean, k->half, NULL };
}

/* "0 50.0 %, 1 50.0 %", or why not. */
TABLE_GET(values_text)
{
	const struct registers_cell *k = register_cell_of(t, r);
	char value[24], share[NUM_MAX];

	if (k->more)
		buf_puts(out->scratch, "more than 16 different");
	if (k->more && k->zeros >= 2 && k->zeros < 64)
		buf_printf(out->scratch, ", multiples of %" PRIu64, (uint64_t)1 << k->zeros);
	for (size_t i = 0; i < k->n_values && !k->more; i++)
		buf_printf(out->scratch, "%s%s %s", i ? ", " : "",
			   registers_put_value(value, k->guess, k->value[i].v),
			   num_percent(share, k->value[i].share));
	out->text = buf_str(out->scratch);
}

#define OF(member) TABLE_FIELD(struct registers_cell, member)
static const struct table_column cell_columns[] = {
	PLACE(C_KEY | C_DATA),
	COLUMN("place", "place", T_TEXT, C_PEOPLE | C_GROUP, "", .get = register_heading),
	COLUMN("register", "", T_TEXT, C_KEY, "its name", .get = name_register),
	COLUMN("bit", "bit", T_ID, C_DATA, "its bit in perf's mask", OF(bit)),
	COLUMN("argument", "arg", T_ID, 0, "which argument it holds at an entry", .get = argument),
	COLUMN("guess", "looks like", T_TEXT, 0, "what its values look like",
	       .get = register_guess),
	COLUMN("count", "count", T_COUNT, C_DATA, "samples that have it", OF(n)),
	COLUMN("least", "least", T_SIGNED, 0, "the least value", .get = register_least),
	COLUMN("most", "most", T_SIGNED, 0, "the greatest value", .get = register_most),
	COLUMN("mean", "mean", T_REAL, C_ERROR, "of all values", .get = register_mean),
	COLUMN("rms", "rms", T_REAL, 0, "root of the mean square", OF(rms)),
	COLUMN("zero_bits", "zeros", T_ID, C_DATA, "low bits that are 0 in all values", OF(zeros)),
	COLUMN("more", "more", T_FLAG, C_DATA, "too many different values to list", OF(more)),
	COLUMN("values_text", "values", T_TEXT, C_PEOPLE | C_FLEX, "", .get = values_text),
};
#undef OF
static const struct table_form registers_form = { "registers", NULL, TABLE_MAIN,
						  TABLE_COLUMNS(cell_columns),
						  .next = register_cell_next };

/* ---- values ---------------------------------------------------------------------------------- */

TABLE_CELL(register_value, put_register_raw(out, register_cell_of(t, r)->guess,
					    ((const struct registers_value *)r->p)->v))

static const struct table_column value_columns[] = {
	PLACE(C_KEY),
	COLUMN("register", "register", T_TEXT, C_KEY, "its name", .get = name_register),
	COLUMN("value", "value", T_SIGNED, C_KEY, "as the guess reads it", .get = register_value),
	COLUMN("count", "count", T_COUNT, 0, "samples that have it",
	       TABLE_FIELD(struct registers_value, n)),
	COLUMN("share", "share", T_SHARE, C_ERROR, "of the samples",
	       TABLE_PAIR(struct registers_value, share, half)),
};
static const struct table_form values_form = { "values", NULL, TABLE_DATA,
					       TABLE_COLUMNS(value_columns), .next = value_next };

/* ---- the head -------------------------------------------------------------------------------- */

TABLE_CELL(with_registers, const struct registers *k = r->p; out->n = k->samples - k->without)

#define OF(member) TABLE_FIELD(struct registers, member)
#define CTX(...)   TABLE_CTX(struct registers_view, __VA_ARGS__)
static const struct table_column head_columns[] = {
	COLUMN("event", "event", T_TEXT, 0, "that was sampled", CTX(event, name)),
	COLUMN("every", "every", T_FLAG, 0, "all occurrences were recorded, not a part", OF(every)),
	COLUMN("samples", "samples", T_COUNT, 0, "of the event", OF(samples)),
	COLUMN("samples_with_registers", "with", T_COUNT, 0, "samples that have registers",
	       .get = with_registers),
	COLUMN("samples_late", "late", T_COUNT, 0,
	       "samples whose registers are of a later time: AMD's IBS", OF(late)),
	COLUMN("samples_at_entry", "at entry", T_COUNT, 0,
	       "samples with registers, at a function's first instruction", OF(at_entry)),
	COLUMN("entries_not_shown", "not shown", T_COUNT, 0, "functions left out by --limit",
	       CTX(more)),
};
#undef OF
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

static const struct table_form *const forms[] = { &head_form,	&recorded_form,
						  &places_form, &registers_form,
						  &values_form, &recorded_losses_form };
const struct document_form registers_document = { .name = "registers",
						  .version = 2,
						  .table = forms,
						  .n_tables = sizeof(forms) / sizeof(*forms) };

/* ---- lines for people ------------------------------------------------------------------------ */

/* Intel's event counts calls at their target, the function's first instruction. */
static void add_calls(struct document *d, const struct pd_info *info)
{
	struct next_list l = { .v = d->next, .n = d->n_next, .a = &d->a };
	struct buf b = BUF_INIT;

	if (info->cpuid && !strncmp(info->cpuid, "GenuineIntel", 12) &&
	    again_put(&b, info, "-e br_inst_retired.near_call:p --intr-regs", false))
		next_add_command(&l, buf_str(&b), "calls of all functions");
	d->n_next = l.n;
	buf_free(&b);
}

static void add_register_facts(struct document *d, const struct registers_view *v)
{
	const struct registers *k = v->r;
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];

	document_fact(d, "samples", false, "%s of %s: %s with registers, %s of these at an entry",
		      num_exact(a, k->samples), v->event->name,
		      num_exact(b, k->samples - k->without), num_exact(c, k->at_entry));
	if (k->late)
		document_fact(d, "late", true,
			      "%s have the address of an op that AMD's IBS sampled, and the "
			      "registers of the interrupt after it: they are of no place",
			      num_exact(a, k->late));
	if (v->more)
		document_fact(d, "not shown", false, "%s more functions' entries (--limit)",
			      num_exact(a, v->more));
	if (!k->every && k->at_entry)
		document_fact(d, "error", false,
			      "only a part of all calls was sampled: means and shares are "
			      "estimates, least and most are those of the samples");
	if (k->arch == REGISTERS_OTHER)
		document_fact(d, "names", false,
			      "registers of this architecture have only numbers, as in perf's "
			      "mask");
	if (k->samples == k->late) {
		document_fact(
			d, "no registers", true,
			"record breakpoints or probes: cyclade record -e uprobe:PROGRAM:FUNCTION "
			"--user-regs");
	} else if (k->samples == k->without) {
		document_fact(
			d, "no registers", true,
			"not one sample has any: cyclade record has --intr-regs and --user-regs");
	} else if (!k->at_entry) {
		document_fact(d, "no entry", true,
			      "no sample is at the first instruction of a function; other "
			      "instructions: --at FUNCTION+0xOFFSET; every call of a function: "
			      "cyclade record -e uprobe:PROGRAM:FUNCTION --user-regs");
		add_calls(d, v->source.info);
	}
}

void registers_put(struct document *d, const struct registers_view *v)
{
	const struct table places = { .form = &places_form, .ctx = v };
	const struct table registers = { .form = &registers_form, .ctx = v };

	document_table(d, &(struct table){ .form = &head_form, .ctx = v, .array = v->r, .n = 1 });
	recorded_head(d, &v->source);
	document_table(d, &places);
	document_table(d, &registers);
	document_table(d, &(struct table){ .form = &values_form, .ctx = v });
	add_register_facts(d, v);
	recorded_tail(d, &v->source);
}
