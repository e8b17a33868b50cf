/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registers_data - registers for other programs: JSON ("cyclade.registers/1"), CSV and Markdown.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "report/json_int.h"
#include "report/registers_view.h"

/* Numbers that a double holds are numbers; others, and addresses, are text. */
static void json_raw(struct json *j, const char *key, enum registers_guess g, uint64_t v)
{
	char text[24];

	(void)registers_put_value(text, g, v);
	if (g == GUESS_SIGNED32)
		json_i64(j, key, (int32_t)(uint32_t)v);
	else if (g == GUESS_SIGNED && v + ((uint64_t)1 << 53) <= (uint64_t)1 << 54)
		json_i64(j, key, (int64_t)v);
	else if (g == GUESS_UNSIGNED && v <= (uint64_t)1 << 53)
		json_u64(j, key, v);
	else
		json_str(j, key, text);
}

static void json_cell(struct json *j, const struct registers_view *v,
		      const struct registers_cell *c)
{
	unsigned argument;
	const char *name = registers_name(v->r->arch, c->bit, &argument);

	json_object(j, NULL);
	json_str(j, "register", name);
	json_u64(j, "bit", c->bit);
	if (argument)
		json_u64(j, "argument", argument);
	else
		json_null(j, "argument");
	json_str(j, "guess", registers_guess_name(c->guess));
	json_u64(j, "count", c->n);
	json_raw(j, "least", c->guess, c->least);
	json_raw(j, "most", c->guess, c->most);
	json_value(j, "mean", c->mean, c->half);
	json_real(j, "rms", c->rms);
	json_u64(j, "zero_bits", c->zeros);
	json_bool(j, "more", c->more);
	json_array(j, "values");
	for (size_t i = 0; i < c->n_values; i++) {
		json_object(j, NULL);
		json_raw(j, "value", c->guess, c->value[i].v);
		json_u64(j, "count", c->value[i].n);
		json_value(j, "share", c->value[i].share, c->value[i].half);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void json_place(struct json *j, const struct registers_view *v,
		       const struct registers_place *p)
{
	uint64_t at;

	json_object(j, NULL);
	if (p->image == IMAGE_NONE)
		json_null(j, "dso");
	else
		json_str(j, "dso", registers_dso(v, p));
	json_str(j, "function", p->symbol ? p->symbol->name : NULL);
	if (p->symbol)
		json_u64(j, "offset", p->addr - p->symbol->start);
	else
		json_null(j, "offset");
	(void)registers_vaddr(v, p, &at);
	json_hex(j, "address", at);
	json_bool(j, "entry", p->entry);
	json_bool(j, "after_instruction", p->after);
	json_u64(j, "samples", p->samples);
	json_array(j, "registers");
	for (size_t i = 0; i < p->n_cells; i++)
		if (registers_shown(v, p, &p->cell[i]))
			json_cell(j, v, &p->cell[i]);
	json_end_array(j);
	json_end_object(j);
}

int registers_json(struct buf *out, const struct registers_view *v, const struct sink_opts *o,
		   struct err *err)
{
	const struct registers *r = v->r;
	struct json j;

	(void)o;
	json_init(&j, out, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.registers/1");
	json_str(&j, "event", v->event->name);
	json_bool(&j, "every", r->every);
	json_object(&j, "samples");
	json_u64(&j, "all", r->samples);
	json_u64(&j, "with_registers", r->samples - r->without);
	json_u64(&j, "at_entry", r->at_entry);
	json_end_object(&j);
	json_u64(&j, "entries_not_shown", v->more);
	json_array(&j, "places");
	for (size_t i = 0; i < r->n; i++)
		if (r->place[i].wanted)
			json_place(&j, v, &r->place[i]);
	json_end_array(&j);
	json_end_object(&j);
	buf_putc(out, '\n');
	return out->failed ? err_nomem(err) : 0;
}

static void put_name(struct buf *b, const struct registers_view *v, const struct registers_cell *c)
{
	const char *name = registers_name(v->r->arch, c->bit, NULL);

	if (name)
		buf_puts(b, name);
	else
		buf_printf(b, "bit %u", c->bit);
}

/* "0 50 %, 1 50 %" */
static void put_values(struct buf *b, const struct registers_cell *c)
{
	char value[24], share[NUM_MAX];

	for (size_t i = 0; i < c->n_values; i++)
		buf_printf(b, "%s%s %s", i ? ", " : "",
			   registers_put_value(value, c->guess, c->value[i].v),
			   num_percent(share, c->value[i].share));
}

static void csv_row(struct buf *out, const struct registers_view *v,
		    const struct registers_place *p, const struct registers_cell *c, char sep)
{
	struct buf place = BUF_INIT, values = BUF_INIT;
	char text[24];

	registers_put_place(&place, p);
	put_values(&values, c);
	text_put_csv_safe(out, registers_dso(v, p), sep);
	buf_putc(out, sep);
	text_put_csv_safe(out, buf_str(&place), sep);
	buf_putc(out, sep);
	put_name(out, v, c);
	buf_printf(out, "%c%s%c%" PRIu64 "%c", sep, registers_guess_name(c->guess), sep, c->n, sep);
	buf_printf(out, "%s%c", registers_put_value(text, c->guess, c->least), sep);
	buf_printf(out, "%s%c", registers_put_value(text, c->guess, c->most), sep);
	text_put_csv_real(out, c->mean);
	buf_putc(out, sep);
	text_put_csv_real(out, c->half);
	buf_putc(out, sep);
	text_put_csv_real(out, c->rms);
	buf_putc(out, sep);
	text_put_csv_safe(out, buf_str(&values), sep);
	buf_puts(out, "\r\n");
	out->failed |= place.failed | values.failed;
	buf_free(&place);
	buf_free(&values);
}

int registers_csv(struct buf *out, const struct registers_view *v, const struct sink_opts *o,
		  struct err *err)
{
	static const char *const names[] = { "dso",  "place", "register", "guess", "count", "least",
					     "most", "mean",  "error",	  "rms",   "values" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (i)
			buf_putc(out, o->separator);
		text_put_csv(out, names[i], o->separator);
	}
	buf_puts(out, "\r\n");
	for (size_t i = 0; i < v->r->n; i++)
		for (size_t k = 0; v->r->place[i].wanted && k < v->r->place[i].n_cells; k++)
			if (registers_shown(v, &v->r->place[i], &v->r->place[i].cell[k]))
				csv_row(out, v, &v->r->place[i], &v->r->place[i].cell[k],
					o->separator);
	return out->failed ? err_nomem(err) : 0;
}

static void markdown_place(struct buf *out, const struct registers_view *v,
			   const struct registers_place *p)
{
	struct buf b = BUF_INIT;
	char text[24], n[NUM_MAX];

	registers_put_place(&b, p);
	buf_puts(out, "\n### ");
	text_put_markdown(out, registers_dso(v, p));
	buf_putc(out, ':');
	text_put_markdown(out, buf_str(&b));
	buf_printf(out, "\n\n%s samples%s\n\n", num_exact(n, p->samples),
		   p->after ? "; registers are those behind the instruction" : "");
	buf_puts(out, "| register | looks like | least | most | mean | error | rms | values |\n"
		      "|---|---|--:|--:|--:|--:|--:|---|\n");
	for (size_t i = 0; i < p->n_cells; i++) {
		const struct registers_cell *c = &p->cell[i];

		if (!registers_shown(v, p, c))
			continue;
		buf_puts(out, "| ");
		put_name(out, v, c);
		buf_printf(out, " | %s", registers_guess_name(c->guess));
		buf_printf(out, " | %s", registers_put_value(text, c->guess, c->least));
		buf_printf(out, " | %s | ", registers_put_value(text, c->guess, c->most));
		text_put_csv_real(out, c->mean);
		buf_puts(out, " | ");
		text_put_csv_real(out, c->half);
		buf_puts(out, " | ");
		text_put_csv_real(out, c->rms);
		buf_puts(out, " | ");
		if (c->more)
			buf_puts(out, "more than 16 different");
		else
			put_values(out, c);
		buf_puts(out, " |\n");
	}
	out->failed |= b.failed;
	buf_free(&b);
}

int registers_markdown(struct buf *out, const struct registers_view *v, const struct sink_opts *o,
		       struct err *err)
{
	char a[NUM_MAX], b[NUM_MAX];

	(void)o;
	buf_puts(out, "## Registers: ");
	text_put_markdown(out, v->event->name);
	buf_printf(out, "\n\n%s samples, %s of these at a function's first instruction\n",
		   num_exact(a, v->r->samples - v->r->without), num_exact(b, v->r->at_entry));
	for (size_t i = 0; i < v->r->n; i++)
		if (v->r->place[i].wanted)
			markdown_place(out, v, &v->r->place[i]);
	return out->failed ? err_nomem(err) : 0;
}
