/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_term - one function on a terminal: its head, the hottest lines, then source lines with
 * their instructions beneath (or, without assembly, the source in its own order). Only source text
 * is cut to the width. Everything from outside is made safe.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "report/annotate/annotate_int.h"
#include "report/page.h"

enum { HOTTEST = 5 };

struct face {
	struct buf *out;
	struct annotate *a;
	const struct style *st;
	unsigned addr_width;
	struct annotate_rows rows;
	struct annotate_arrows arrows;
	struct buf text;
};

static void ink(struct face *f, enum ink i)
{
	style_ink(f->out, f->st, i);
}

static void put_numbers(struct face *f, const struct tally *t)
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

/* Puts a line of outside text, cut to what is left of the width when `used` columns are taken. */
static void put_cut(struct face *f, const char *s, size_t used)
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

static void put_safe(struct face *f, const char *s)
{
	text_put_safe(f->out, s, f->st->ascii);
}

/* "file.c:12", the base name only; "??" where not known. The columns it took. */
static size_t put_place(struct face *f, const struct source_line *l)
{
	struct buf b = BUF_INIT;
	size_t width;

	text_put_safe(&b, l->file ? path_base(l->file) : "??", f->st->ascii);
	if (l->line)
		buf_printf(&b, ":%u", l->line);
	else
		buf_puts(&b, ":?");
	buf_puts(f->out, buf_str(&b));
	width = text_width(buf_str(&b));
	buf_free(&b);
	return width;
}

/* ---- head ------------------------------------------------------------------------------------ */

/* Broken between words where the width ends. */
static void put_text(struct face *f, const char *text, size_t indent)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, text, f->st->ascii);
	text_put_wrapped(f->out, buf_str(&safe), indent, f->st->width);
	buf_putc(f->out, '\n');
	f->out->failed |= safe.failed;
	buf_free(&safe);
}

static void put_note(struct face *f, const char *note)
{
	ink(f, INK_WARM);
	buf_puts(f->out, " note: ");
	ink(f, INK_PLAIN);
	put_text(f, note, 7);
}

static void put_ran(struct face *f)
{
	const struct block_function *r = f->a->ran;
	const struct flow_sums *s = flow_sums(f->a->blocks->flow);
	char i[NUM_MAX], n[NUM_MAX], e[NUM_MAX], k[NUM_MAX];
	struct buf line = BUF_INIT;

	if (f->a->blocks->scaled)
		buf_printf(&line, "%s instructions, entered %s times %s, by ",
			   num_count(i, r->insns.v), page_estimate(n, r->calls.v),
			   page_error(e, r->calls));
	else
		buf_puts(&line, "weights of blocks, no runs, by ");
	buf_printf(&line, "%s branch stacks of ", num_exact(k, s->stacks));
	buf_puts(&line, s->event ? s->event : "several events");
	buf_putc(f->out, ' ');
	put_text(f, buf_str(&line), 1);
	f->out->failed |= line.failed;
	buf_free(&line);
}

static void put_head(struct face *f)
{
	const struct annotate *a = f->a;
	char n[NUM_MAX], p[NUM_MAX];

	ink(f, INK_BOLD);
	buf_putc(f->out, ' ');
	put_safe(f, a->target.name);
	ink(f, INK_PLAIN);
	buf_puts(f->out, "  ");
	put_safe(f, a->target.dso);
	buf_printf(f->out, "\n %s samples of ", num_exact(n, a->target.total.samples));
	put_safe(f, a->event);
	buf_printf(f->out, ", %s of all\n", num_percent(p, a->of_all));
	if (a->origin && *a->origin) {
		buf_putc(f->out, ' ');
		put_text(f, a->origin, 1);
	}
	annotate_account_sum(f->out, a);
	if (a->ran)
		put_ran(f);
	for (size_t i = 0; i < a->notes.n; i++)
		put_note(f, a->notes.v[i]);
}

/* The one with most samples of those that come after `last` in that order; equal ones as they
 * lie. */
static const struct annotate_insn *next_hottest(const struct annotate *a,
						const struct annotate_insn *last)
{
	const struct annotate_insn *best = NULL;

	vec_each (&a->insn, const struct annotate_insn *, i) {
		if (last && (i->t.samples > last->t.samples ||
			     (i->t.samples == last->t.samples && i <= last)))
			continue;
		if (i->t.samples && (!best || i->t.samples > best->t.samples))
			best = i;
	}
	return best;
}

/* Where there are no lines to sum by. */
static void put_hottest_instructions(struct face *f)
{
	const struct annotate_insn *i = NULL;
	size_t shown = 0, sampled = 0;

	vec_each (&f->a->insn, const struct annotate_insn *, k)
		sampled += k->t.samples != 0;
	if (sampled < 2)
		return;
	buf_puts(f->out, "\n  share    samples  hottest instructions\n");
	for (; shown < HOTTEST && (i = next_hottest(f->a, i)); shown++) {
		char address[24];
		int n = snprintf(address, sizeof(address), "%" PRIx64 "  ", i->in.vaddr);

		put_numbers(f, &i->t);
		buf_printf(f->out, "  %s", address);
		put_cut(f, i->in.text, 20 + (size_t)n);
		buf_putc(f->out, '\n');
	}
	if (shown < sampled)
		buf_printf(f->out, "                    (%zu more instructions)\n",
			   sampled - shown);
}

static void put_hottest(struct face *f)
{
	struct annotate *a = f->a;
	size_t shown = 0, places = 0;

	for (size_t i = 0; i < a->line.n; i++)
		places += a->line.v[i].t.samples != 0;
	if (!a->has_lines || a->opts.no_source) {
		put_hottest_instructions(f);
		return;
	}
	if (places < 2)
		return;
	buf_puts(f->out, "\n  share    samples  hottest lines\n");
	for (size_t i = 0; i < a->line.n && shown < HOTTEST && a->line.v[i].t.samples; i++) {
		const struct annotate_line *l = &a->line.v[i];
		const char *text = annotate_source(a, l->line.file, l->line.line);
		size_t used = 20;

		put_numbers(f, &l->t);
		buf_puts(f->out, "  ");
		used += put_place(f, &l->line);
		while (text && (*text == ' ' || *text == '\t'))
			text++;
		if (text && *text) {
			buf_puts(f->out, "  ");
			put_cut(f, text, used + 2);
		}
		buf_putc(f->out, '\n');
		shown++;
	}
	if (shown < places)
		buf_printf(f->out, "                    (%zu more lines)\n", places - shown);
}

/* ---- instructions ------------------------------------------------------------------------------
 */

static size_t blocks_width(const struct face *f)
{
	return (f->a->ran ? ANNOTATE_BLOCKS_WIDTH : 0) + annotate_account_width(f->a, f->st);
}

static void put_arrow(struct face *f, size_t row)
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
	size_t used = 18 + 2 + blocks_width(f) + f->addr_width +
		      (f->arrows.width ? f->arrows.width + 2 : 1);

	put_numbers(f, &r->t);
	annotate_account_cells(f->out, f->a, f->st, r->first, r->last);
	annotate_blocks_blank(f->out, f->a);
	buf_fill(f->out, ' ', 2 + f->addr_width);
	put_arrow(f, row);
	ink(f, INK_BOLD);
	used += put_place(f, l);
	if (text) {
		buf_puts(f->out, "  ");
		put_cut(f, text, used + 2);
	}
	ink(f, INK_PLAIN);
	buf_putc(f->out, '\n');
}

static void put_inline_row(struct face *f, const struct annotate_row *r, size_t row)
{
	const struct annotate_inline *c = &f->a->inl.v[f->a->insn.v[r->first].inl];
	size_t used =
		20 + blocks_width(f) + f->addr_width + (f->arrows.width ? f->arrows.width + 2 : 1);
	struct buf line = BUF_INIT;

	buf_fill(f->out, ' ', 20 + blocks_width(f) + f->addr_width);
	put_arrow(f, row);
	if (!c->n)
		buf_printf(&line, "in %s", f->a->target.name);
	for (size_t i = c->n; i-- > 0;) {
		const struct source_line *at = &c->level[i].at;

		buf_printf(&line, "%s%s from %s:", i + 1 == c->n ? "inlined: " : ", in ",
			   c->level[i].name, at->file ? path_base(at->file) : "??");
		if (at->line)
			buf_printf(&line, "%u", at->line);
		else
			buf_putc(&line, '?');
	}
	ink(f, INK_DIM);
	put_cut(f, buf_str(&line), used); /* templates nest names of thousands of letters */
	ink(f, INK_PLAIN);
	buf_putc(f->out, '\n');
	f->out->failed |= line.failed;
	buf_free(&line);
}

static void put_insn_row(struct face *f, const struct annotate_row *r, size_t row)
{
	const struct annotate_insn *i = &f->a->insn.v[r->first];
	size_t used =
		20 + blocks_width(f) + f->addr_width + (f->arrows.width ? f->arrows.width + 2 : 1);

	put_numbers(f, &r->t);
	annotate_account_cells(f->out, f->a, f->st, r->first, r->last);
	annotate_blocks_cells(f->out, f->a, i);
	buf_printf(f->out, "  %*" PRIx64, (int)f->addr_width, i->in.vaddr);
	put_arrow(f, row);
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
	put_cut(f, i->in.text, used);
	buf_putc(f->out, '\n');
}

static void put_fold_row(struct face *f, const struct annotate_row *r, size_t row)
{
	size_t n = r->last - r->first;

	put_numbers(f, &r->t);
	annotate_account_cells(f->out, f->a, f->st, r->first, r->last);
	annotate_blocks_blank(f->out, f->a);
	buf_fill(f->out, ' ', 2 + f->addr_width);
	put_arrow(f, row);
	ink(f, INK_DIM);
	buf_printf(f->out, "(%zu instruction%s below --min)", n, n == 1 ? "" : "s");
	ink(f, INK_PLAIN);
	buf_putc(f->out, '\n');
}

static void put_elsewhere(struct face *f)
{
	if (!f->a->elsewhere.samples)
		return;
	put_numbers(f, &f->a->elsewhere);
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
	if (annotate_rows(&f->rows, a) ||
	    (!a->opts.no_arrows && a->has_code &&
	     annotate_arrows(&f->arrows, a, &f->rows, f->st->ascii))) {
		f->out->failed = true;
		return;
	}
	put_account_heads(f);
	buf_puts(f->out, "  share    samples");
	annotate_account_head(f->out, a, f->st, 2);
	annotate_blocks_head(f->out, a);
	buf_printf(f->out, "  %*s\n", (int)f->addr_width, "address");
	for (size_t r = 0; r < f->rows.v.n; r++)
		put[f->rows.v.v[r].kind](f, &f->rows.v.v[r], r);
	put_elsewhere(f);
	annotate_arrows_free(&f->arrows);
	vec_free(&f->rows.v);
}

/* ---- source alone ---------------------------------------------------------------------------- */

static int by_place(const void *x, const void *y)
{
	const struct annotate_line *a = x, *b = y;
	int c = strcmp(a->line.file ? a->line.file : "", b->line.file ? b->line.file : "");

	return c ? c : a->line.line < b->line.line ? -1 : a->line.line > b->line.line;
}

static void put_source_line(struct face *f, const struct source_line *l, const struct tally *t)
{
	const char *text = annotate_source(f->a, l->file, l->line);

	put_numbers(f, t);
	annotate_account_line(f->out, f->a, f->st, l);
	if (l->line)
		buf_printf(f->out, "  %6u  ", l->line);
	else
		buf_puts(f->out, "       ?  ");
	put_cut(f, text ? text : "", 28 + annotate_account_width(f->a, f->st));
	buf_end_line(f->out);
}

/* The lines between two that have code: shown where they are few, to keep the text readable. */
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

static void put_source(struct face *f)
{
	struct annotate *a = f->a;
	const struct annotate_line *prev = NULL;

	vec_sort(&a->line, by_place);
	for (size_t i = 0; i < a->line.n; i++) {
		const struct annotate_line *l = &a->line.v[i];

		if (a->opts.min > 0 && annotate_share(a, &l->t) < a->opts.min)
			continue;
		if (!prev || !same_line(&(struct source_line){ .file = prev->line.file },
					&(struct source_line){ .file = l->line.file })) {
			put_account_heads(f);
			buf_puts(f->out, "  share    samples");
			annotate_account_head(f->out, a, f->st, 2);
			buf_puts(f->out, "    line  ");
			put_safe(f, l->line.file ? l->line.file : "(no line known)");
			buf_putc(f->out, '\n');
		} else if (prev->line.line) {
			put_between(f, &prev->line, l->line.line);
		}
		put_source_line(f, &l->line, &l->t);
		prev = l;
	}
	put_elsewhere(f);
}

void annotate_term(struct buf *out, struct annotate *a, const struct style *st)
{
	struct face f = { .out = out, .a = a, .st = st };

	put_head(&f);
	put_hottest(&f);
	if (a->opts.no_asm && a->has_lines)
		put_source(&f);
	else
		put_instructions(&f);
	buf_free(&f.text);
}
