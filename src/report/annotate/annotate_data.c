/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_data - one function for other programs: CSV, JSON ("cyclade.annotate/1"), Markdown.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "report/annotate/annotate_int.h"

static void put_inlines(struct buf *b, const struct annotate *a, const struct annotate_insn *i)
{
	const struct annotate_inline *c = &a->inl.v[i->inl];

	for (size_t k = c->n; k-- > 0;)
		buf_printf(b, "%s%s", k + 1 == c->n ? "" : " < ", c->level[k].name);
}

void annotate_csv(struct buf *out, struct annotate *a, char sep)
{
	struct buf b = BUF_INIT;
	char head[] = "address,samples,period,share,file,line,inlined,instruction";

	for (char *p = head; *p; p++)
		*p = *p == ',' ? sep : *p;
	buf_puts(out, head);
	annotate_blocks_csv_head(out, a, sep);
	annotate_account_csv_head(out, a, sep);
	buf_puts(out, "\r\n");
	vec_each (&a->insn, struct annotate_insn *, i) {
		buf_printf(out, "0x%" PRIx64 "%c%" PRIu64 "%c%" PRIu64 "%c%.6f%c", i->in.vaddr, sep,
			   i->t.samples, sep, i->t.period, sep, annotate_share(a, &i->t), sep);
		text_put_csv(out, i->line.file ? i->line.file : "", sep);
		buf_putc(out, sep);
		if (i->line.line)
			buf_printf(out, "%u", i->line.line);
		buf_putc(out, sep);
		buf_reset(&b);
		put_inlines(&b, a, i);
		text_put_csv(out, buf_str(&b), sep);
		buf_putc(out, sep);
		text_put_csv(out, i->in.text, sep);
		annotate_blocks_csv(out, a, i, sep);
		annotate_account_csv(out, a, i, sep);
		buf_puts(out, "\r\n");
		buf_spill(out);
	}
	if (a->elsewhere.samples) {
		buf_printf(out, "%c%" PRIu64 "%c%" PRIu64 "%c%.6f%c%c%c%c", sep,
			   a->elsewhere.samples, sep, a->elsewhere.period, sep,
			   annotate_share(a, &a->elsewhere), sep, sep, sep, sep);
		annotate_blocks_csv(out, a, NULL, sep);
		annotate_account_csv(out, a, NULL, sep);
		buf_puts(out, "\r\n");
	}
	buf_free(&b);
}

static void put_tally(struct json *j, const struct annotate *a, const struct tally *t)
{
	json_u64(j, "samples", t->samples);
	json_u64(j, "period", t->period);
	json_real(j, "share", annotate_share(a, t));
}

static void json_place(struct json *j, const struct source_line *l)
{
	json_str(j, "file", l->file);
	if (l->line)
		json_u64(j, "line", l->line);
	else
		json_null(j, "line");
}

static void json_insn(struct json *j, const struct annotate *a, const struct annotate_insn *i)
{
	const struct annotate_inline *c = &a->inl.v[i->inl];
	static const char *const flow[] = { "other", "jump", "branch", "call", "return" };

	json_object(j, NULL);
	json_u64(j, "address", i->in.vaddr);
	put_tally(j, a, &i->t);
	annotate_blocks_json(j, a, i);
	annotate_account_json(j, a, i);
	json_place(j, &i->line);
	if (c->n) {
		json_array(j, "inlined");
		for (size_t k = c->n; k-- > 0;) {
			json_object(j, NULL);
			json_str(j, "function", c->level[k].name);
			json_place(j, &c->level[k].at);
			json_end_object(j);
		}
		json_end_array(j);
	}
	if (a->has_code) {
		json_str(j, "text", i->in.text);
		json_u64(j, "length", i->in.len);
		json_str(j, "flow", flow[i->in.flow <= INSN_RETURN ? i->in.flow : 0]);
		if (i->in.has_target)
			json_u64(j, "target", i->in.target);
	}
	json_end_object(j);
}

void annotate_json(struct buf *out, struct annotate *a)
{
	struct json j;

	json_init(&j, out, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.annotate/1");
	json_str(&j, "function", a->target.name);
	json_str(&j, "dso", a->target.dso);
	json_str(&j, "event", a->event);
	json_u64(&j, "samples", a->target.total.samples);
	json_u64(&j, "period", a->target.total.period);
	json_real(&j, "share_of_all", a->of_all);
	json_str(&j, "symbols_from", a->origin);
	annotate_blocks_json_head(&j, a);
	annotate_account_json_head(&j, a);
	json_strings(&j, "notes", a->notes.v, a->notes.n);
	json_array(&j, "instructions");
	vec_each (&a->insn, struct annotate_insn *, i)
		json_insn(&j, a, i);
	json_end_array(&j);
	if (a->elsewhere.samples) {
		json_object(&j, "elsewhere");
		put_tally(&j, a, &a->elsewhere);
		json_end_object(&j);
	}
	json_array(&j, "lines");
	vec_each (&a->line, struct annotate_line *, l) {
		if (!a->has_lines)
			break;
		json_object(&j, NULL);
		json_place(&j, &l->line);
		put_tally(&j, a, &l->t);
		json_str(&j, "source", annotate_source(a, l->line.file, l->line.line));
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	buf_putc(out, '\n');
}

/* Inside a table cell and a code span: a pipe or a backtick would end it. */
static void put_cell(struct buf *out, const char *s)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s, false);
	for (const char *p = buf_str(&safe); *p; p++) {
		if (*p == '|')
			buf_puts(out, "\\|");
		else
			buf_putc(out, *p == '`' ? '\'' : *p);
	}
	buf_free(&safe);
}

void annotate_markdown(struct buf *out, struct annotate *a)
{
	buf_puts(out, "**`");
	put_cell(out, a->target.name);
	buf_puts(out, "`** in `");
	put_cell(out, a->target.dso);
	buf_printf(out, "`: %" PRIu64 " samples of `", a->target.total.samples);
	put_cell(out, a->event);
	buf_printf(out, "`, %.1f %% of all\n\n", 100 * a->of_all);
	for (size_t i = 0; i < a->notes.n; i++) {
		buf_puts(out, "- ");
		put_cell(out, a->notes.v[i]);
		buf_puts(out, i + 1 == a->notes.n ? "\n\n" : "\n");
	}
	buf_puts(out, "| share | samples |");
	annotate_account_markdown_head(out, a, false);
	buf_printf(out, "%s address | line | instruction |\n|---:|---:|", a->ran ? " runs |" : "");
	annotate_account_markdown_head(out, a, true);
	buf_printf(out, "%s---:|---|---|\n", a->ran ? "---:|" : "");
	vec_each (&a->insn, struct annotate_insn *, i) {
		if (annotate_share(a, &i->t) < a->opts.min)
			continue;
		buf_printf(out, "| %.1f %% | %" PRIu64 " |", 100 * annotate_share(a, &i->t),
			   i->t.samples);
		annotate_account_markdown(out, a, i);
		annotate_blocks_markdown(out, a, i);
		buf_printf(out, " `%" PRIx64 "` | ", i->in.vaddr);
		if (i->line.file) {
			put_cell(out, path_base(i->line.file));
			buf_printf(out, ":%u", i->line.line);
		}
		buf_puts(out, " | `");
		put_cell(out, i->in.text);
		buf_puts(out, "` |\n");
	}
}
