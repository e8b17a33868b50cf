/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_term - one function on a terminal: its head, the hottest lines, then source lines with
 * their instructions beneath (or, without assembly, the source in its own order). Source text and
 * instructions are cut to the width, names of inlined functions so that they differ. Everything
 * from outside is made safe.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "show/fold.h"
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"
#include "report/page.h"

enum { HOTTEST = 5, LEAST_NAME = 8, DATA_AT = 36 };

struct face {
	struct buf *out;
	struct annotate *a;
	const struct style *st;
	unsigned addr_width;
	struct annotate_rows rows;
	struct annotate_arrows arrows;
	struct folds names; /* of inlined functions */
	struct buf text, insn;
};

static void ink(struct face *f, enum ink i)
{
	style_ink(f->out, f->st, i);
}

static void put_listing_numbers(struct face *f, const struct tally *t)
{
	char n[NUM_MAX];
	double share = annotate_share(f->a, t);

	if (!t->samples) {
		buf_fill(f->out, ' ', 18);
		return;
	}
	ink(f, share >= 0.05 ? INK_HOT : share >= 0.005 ? INK_WARM : INK_PLAIN);
	buf_printf(f->out, "%6.1f %%", 100 * share);
	ink(f, INK_PLAIN);
	buf_printf(f->out, " %9s", num_exact(n, t->samples));
}

/* Puts a line of outside text, cut to the rest of the width behind `used` columns. */
static void put_listing_cut(struct face *f, const char *s, size_t used)
{
	struct buf *b = &f->text;

	buf_reset(b);
	for (; *s; s++) { /* tabs: to the next multiple of eight of the text itself */
		if (*s == '\t')
			buf_fill(b, ' ', 8 - b->len % 8);
		else
			buf_putc(b, *s);
	}
	{
		struct buf safe = BUF_INIT;

		text_put_safe(&safe, buf_str(b), f->st->ascii);
		if (f->st->width && used + 8 < f->st->width &&
		    text_width(buf_str(&safe)) > f->st->width - used)
			text_put_fit(f->out, buf_str(&safe), f->st->width - used, TEXT_LEFT, false,
				     f->st->ascii);
		else
			buf_puts(f->out, buf_str(&safe));
		buf_free(&safe);
	}
}

static void put_listing_safe(struct face *f, const char *s)
{
	text_put_safe(f->out, s, f->st->ascii);
}

/* "file.c:12"; "??" if not known. */
static void listing_place_of(struct face *f, const struct source_line *l, struct buf *b)
{
	text_put_safe(b, l->file ? annotate_file(f->a, l->file) : "??", f->st->ascii);
	if (l->line)
		buf_printf(b, ":%u", l->line);
	else
		buf_puts(b, ":?");
}

/* Returns the columns that it took. */
static size_t put_listing_place(struct face *f, const struct source_line *l)
{
	struct buf b = BUF_INIT;
	size_t width;

	listing_place_of(f, l, &b);
	buf_puts(f->out, buf_str(&b));
	width = text_width(buf_str(&b));
	buf_free(&b);
	return width;
}

/* ---- instructions ------------------------------------------------------------------------------
 */

static size_t blocks_width(const struct face *f)
{
	return (f->a->memory ? (size_t)ANNOTATE_MEMORY_WIDTH : 0) +
	       (f->a->ran ? ANNOTATE_BLOCKS_WIDTH : 0) + annotate_account_width(f->a, f->st);
}

static size_t columns_before(const struct face *f)
{
	return 20 + blocks_width(f) + f->addr_width + (f->arrows.width ? f->arrows.width + 2 : 1);
}

static void put_listing_arrow(struct face *f, size_t row)
{
	buf_putc(f->out, ' ');
	if (f->arrows.width) {
		ink(f, INK_DIM);
		buf_puts(f->out, f->arrows.cell[row]);
		ink(f, INK_PLAIN);
		buf_putc(f->out, ' ');
	}
}

static void put_line_row(struct face *f, const struct annotate_row *r, size_t row)
{
	const struct source_line *l = &f->a->insn.v[r->first].line;
	const char *text = annotate_source(f->a, l->file, l->line);
	size_t used = columns_before(f);

	put_listing_numbers(f, &r->t);
	annotate_account_cells(f->out, f->a, f->st, r->first, r->last);
	annotate_memory_blank(f->out, f->a);
	annotate_blocks_blank(f->out, f->a);
	buf_fill(f->out, ' ', 2 + f->addr_width);
	put_listing_arrow(f, row);
	ink(f, INK_BOLD);
	used += put_listing_place(f, l);
	if (text) {
		buf_puts(f->out, "  ");
		put_listing_cut(f, text, used + 2);
	}
	ink(f, INK_PLAIN);
	buf_putc(f->out, '\n');
}

/* "inlined: mix from p.c:12, in outer from p.c:20", safe. Each name has at most `room` columns (0:
 * any); SIZE_MAX: the line is made without names. */
static void listing_chain_of(struct face *f, const struct annotate_inline *c, size_t room,
			     struct buf *line)
{
	struct buf name = BUF_INIT;

	for (size_t i = c->n; i-- > 0;) {
		buf_reset(&name);
		text_put_safe(&name, room == SIZE_MAX ? "" : c->level[i].name, f->st->ascii);
		buf_puts(line, i + 1 == c->n ? "inlined: " : ", in ");
		buf_puts(line, room && room != SIZE_MAX
				       ? folds_get(&f->names, buf_str(&name), f->st->width - room)
				       : buf_str(&name));
		buf_puts(line, " from ");
		listing_place_of(f, &c->level[i].at, line);
	}
	buf_free(&name);
}

/* Columns for each name of a chain of inlined calls; 0: all have as many as they need. */
static size_t name_room(struct face *f, const struct annotate_inline *c)
{
	size_t width = f->st->width, used = columns_before(f), rest;
	struct buf line = BUF_INIT;

	if (!width)
		return 0;
	listing_chain_of(f, c, 0, &line);
	if (used + text_width(buf_str(&line)) <= width) {
		buf_free(&line);
		return 0;
	}
	buf_reset(&line);
	listing_chain_of(f, c, SIZE_MAX, &line);
	rest = used + text_width(buf_str(&line));
	buf_free(&line);
	if (width < rest + LEAST_NAME * c->n)
		return LEAST_NAME;
	return (width - rest) / c->n;
}

static void put_inline_row(struct face *f, const struct annotate_row *r, size_t row)
{
	const struct annotate_inline *c = &f->a->inl.v[f->a->insn.v[r->first].inl];
	struct buf line = BUF_INIT;

	buf_fill(f->out, ' ', 20 + blocks_width(f) + f->addr_width);
	put_listing_arrow(f, row);
	ink(f, INK_DIM);
	if (c->n) {
		listing_chain_of(f, c, name_room(f, c), &line);
		buf_puts(f->out, buf_str(&line));
	} else {
		buf_printf(&line, "in %s", f->a->target.name);
		put_listing_cut(f, buf_str(&line), columns_before(f));
	}
	ink(f, INK_PLAIN);
	buf_putc(f->out, '\n');
	buf_free(&line);
}

/* "mov 8(%rax), %rax    ; struct node, next" */
static const char *text_and_data(struct face *f, const struct annotate_insn *i)
{
	size_t len = strlen(i->in.text);

	if (!i->data.type)
		return i->in.text;
	buf_reset(&f->insn);
	buf_puts(&f->insn, i->in.text);
	buf_fill(&f->insn, ' ', len < DATA_AT ? DATA_AT - len : 1);
	buf_printf(&f->insn, "; %s%s%s", i->data.type, *i->data.field ? ", " : "", i->data.field);
	return buf_str(&f->insn);
}

static void put_insn_row(struct face *f, const struct annotate_row *r, size_t row)
{
	const struct annotate_insn *i = &f->a->insn.v[r->first];
	size_t used = columns_before(f);

	put_listing_numbers(f, &r->t);
	annotate_account_cells(f->out, f->a, f->st, r->first, r->last);
	annotate_memory_cells(f->out, f->a, i);
	annotate_blocks_cells(f->out, f->a, i);
	buf_printf(f->out, "  %*" PRIx64, (int)f->addr_width, i->in.vaddr);
	put_listing_arrow(f, row);
	if (f->a->has_lines && !f->a->opts.no_source) {
		buf_puts(f->out, "  ");
		used += 2;
	}
	if (f->a->opts.bytes && f->a->has_code) {
		for (unsigned k = 0; k < i->in.len && k < sizeof(i->bytes); k++)
			buf_printf(f->out, "%02x ", i->bytes[k]);
		if (i->in.len < 8)
			buf_fill(f->out, ' ', 3u * (8u - i->in.len));
		used += 3u * (i->in.len < 8 ? 8u : i->in.len);
	}
	put_listing_cut(f, text_and_data(f, i), used);
	buf_putc(f->out, '\n');
}

static void put_fold_row(struct face *f, const struct annotate_row *r, size_t row)
{
	size_t n = r->last - r->first;

	put_listing_numbers(f, &r->t);
	annotate_account_cells(f->out, f->a, f->st, r->first, r->last);
	annotate_memory_blank(f->out, f->a);
	annotate_blocks_blank(f->out, f->a);
	buf_fill(f->out, ' ', 2 + f->addr_width);
	put_listing_arrow(f, row);
	ink(f, INK_DIM);
	buf_printf(f->out, "(%zu instruction%s below --min)", n, n == 1 ? "" : "s");
	ink(f, INK_PLAIN);
	buf_putc(f->out, '\n');
}

static void put_elsewhere(struct face *f)
{
	if (!f->a->elsewhere.t.samples)
		return;
	put_listing_numbers(f, &f->a->elsewhere.t);
	buf_puts(f->out, "  at addresses that are no instruction of this function's code here\n");
}

static void put_account_heads(struct face *f)
{
	buf_putc(f->out, '\n');
	for (unsigned line = 0; line < 2 && annotate_account_width(f->a, f->st); line++) {
		buf_fill(f->out, ' ', 18);
		annotate_account_head(f->out, f->a, f->st, line);
		buf_trim(f->out);
		if (f->out->len && f->out->s[f->out->len - 1] != '\n')
			buf_putc(f->out, '\n');
	}
}

static void put_instructions(struct face *f)
{
	static void (*const put[])(struct face *, const struct annotate_row *, size_t) = {
		[ROW_LINE] = put_line_row,
		[ROW_INLINE] = put_inline_row,
		[ROW_INSN] = put_insn_row,
		[ROW_FOLD] = put_fold_row,
	};
	const struct annotate *a = f->a;
	char last[32];

	if (a->insn.n)
		f->addr_width = (unsigned)snprintf(last, sizeof(last), "%" PRIx64,
						   vec_last(&a->insn)->in.vaddr);
	annotate_rows(&f->rows, a);
	if (!a->opts.no_arrows && a->has_code)
		annotate_arrows(&f->arrows, a, &f->rows, f->st->ascii);
	/* All names that are cut, so that each gets a text of its own. */
	vec_each (&f->rows.v, const struct annotate_row *, r) {
		const struct annotate_inline *c = &f->a->inl.v[f->a->insn.v[r->first].inl];
		size_t room = r->kind == ROW_INLINE && c->n ? name_room(f, c) : 0;

		for (size_t i = 0; room && i < c->n; i++) {
			buf_reset(&f->text);
			text_put_safe(&f->text, c->level[i].name, f->st->ascii);
			folds_add(&f->names, buf_str(&f->text), f->st->width - room);
		}
	}
	folds_settle(&f->names, f->st->width, f->st->ascii);
	put_account_heads(f);
	buf_puts(f->out, "  share    samples");
	annotate_account_head(f->out, a, f->st, 2);
	annotate_memory_head(f->out, a);
	annotate_blocks_head(f->out, a);
	buf_printf(f->out, "  %*s\n", (int)f->addr_width, "address");
	for (size_t r = 0; r < f->rows.v.n; r++)
		put[f->rows.v.v[r].kind](f, &f->rows.v.v[r], r);
	put_elsewhere(f);
	annotate_arrows_free(&f->arrows);
	vec_free(&f->rows.v);
}

/* ---- source alone ---------------------------------------------------------------------------- */

static int listing_by_place(const void *x, const void *y)
{
	const struct annotate_line *a = x, *b = y;
	int c = strcmp(a->line.file ? a->line.file : "", b->line.file ? b->line.file : "");

	return c ? c : a->line.line < b->line.line ? -1 : a->line.line > b->line.line;
}

static void put_source_line(struct face *f, const struct source_line *l, const struct tally *t)
{
	const char *text = annotate_source(f->a, l->file, l->line);

	put_listing_numbers(f, t);
	annotate_account_line(f->out, f->a, f->st, l);
	if (l->line)
		buf_printf(f->out, "  %6u  ", l->line);
	else
		buf_puts(f->out, "       ?  ");
	put_listing_cut(f, text ? text : "", 28 + annotate_account_width(f->a, f->st));
	buf_end_line(f->out);
}

/* The lines between two that have code: shown if they are few, to keep the text readable. */
static void put_between(struct face *f, const struct source_line *from, uint32_t to)
{
	static const struct tally none = { 0 };
	struct source_line l = *from;

	if (to - from->line > 12 || f->a->opts.min > 0) {
		if (to - from->line > 1)
			buf_printf(f->out, "%26s\n", "...");
		return;
	}
	while (++l.line < to)
		put_source_line(f, &l, &none);
}

static void put_listing_source(struct face *f)
{
	struct annotate *a = f->a;
	const struct annotate_line *prev = NULL;
	VEC(struct annotate_line) lines = VEC_INIT;

	vec_each (&a->line, const struct annotate_line *, l)
		vec_xpush(&lines, *l);
	vec_sort(&lines, listing_by_place);
	vec_each (&lines, const struct annotate_line *, l) {
		if (a->opts.min > 0 && annotate_share(a, &l->t) < a->opts.min)
			continue;
		if (!prev || !same_line(&(struct source_line){ .file = prev->line.file },
					&(struct source_line){ .file = l->line.file })) {
			put_account_heads(f);
			buf_puts(f->out, "  share    samples");
			annotate_account_head(f->out, a, f->st, 2);
			buf_puts(f->out, "    line  ");
			put_listing_safe(f, l->line.file ? l->line.file : "(no line known)");
			buf_putc(f->out, '\n');
		} else if (prev->line.line) {
			put_between(f, &prev->line, l->line.line);
		}
		put_source_line(f, &l->line, &l->t);
		prev = l;
	}
	put_elsewhere(f);
	vec_free(&lines);
}

/* The tables above the code. */
static void put_hottest(struct face *f, const struct document *d, const struct show *s)
{
	const struct table *t;
	size_t at = 0;

	while ((t = document_next_table(d, s, TABLE_DATA, &at)) && t->form->title) {
		struct table hottest = *t;

		if (!hottest.people)
			hottest.people = HOTTEST;
		term_table(f->out, &hottest, f->st);
	}
}

int annotate_term(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	const struct annotate_view *v = d->ctx;
	struct face f = { .out = out, .a = v->a, .st = &s->style };

	if (s->table)
		return format_term(out, d, s, err);
	term_titles(out, d, &s->style);
	put_hottest(&f, d, s);
	if (f.a->opts.no_asm && f.a->has_lines)
		put_listing_source(&f);
	else
		put_instructions(&f);
	buf_putc(out, '\n');
	term_facts(out, d, &s->style);
	term_notes(out, d, &s->style);
	out->failed |= f.text.failed || f.insn.failed;
	folds_free(&f.names, out);
	buf_free(&f.text);
	buf_free(&f.insn);
	return 0;
}
