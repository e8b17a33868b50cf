/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `run` for people: how the program ended, the tree, the functions, the next commands, the
 * reliability.
 */
#include <stdio.h>

#include "base/num.h"
#include "base/text.h"
#include "report/findings_view.h"
#include "report/run.h"
#include "report/tree/tree_parts.h"

static void put_run_page_head(struct buf *b, const struct run_report *r, const struct style *st)
{
	struct buf line = BUF_INIT;

	tree_put_head(b, &r->tree->head, st);
	if (r->tree->cpu)
		tree_put_line(b, r->tree->cpu, st);
	if (r->no_cycles)
		buf_puts(&line, "time only: no tree without cycle counters");
	else
		buf_printf(&line, "sampled: %s%s", r->sampled,
			   r->tree->n_views ? "; the tree was counted beside" : "");
	tree_put_line(b, buf_str(&line), st);
	buf_reset(&line);
	if (run_waited(r)) {
		run_put_waited(&line, r);
		tree_put_line(b, buf_str(&line), st);
	}
	if (r->failed) {
		buf_reset(&line);
		buf_printf(&line, "%zu of %zu runs did not end with 0", r->failed,
			   r->tree->head.runs);
		tree_put_line(b, buf_str(&line), st);
	}
	buf_free(&line);
	if (r->no_tree && !r->no_cycles && !r->unwanted) {
		buf_puts(b, " no tree: ");
		text_put_wrapped(b, r->no_tree, 10, st->width);
		buf_putc(b, '\n');
	}
	if (!r->tree->n_views)
		return;
	buf_putc(b, '\n');
	tree_put_views(b, r->tree, st);
	buf_putc(b, '\n');
}

static void put_run_page_samples(struct buf *b, const struct run_report *r, const struct style *st)
{
	char n[NUM_MAX], size[NUM_MAX], lost[NUM_MAX];
	struct buf line = BUF_INIT;

	if (!r->kept) {
		buf_printf(&line, "interrupted before the first sample: %s was not written",
			   r->file);
	} else {
		buf_printf(&line, "%s samples in ", num_exact(n, r->samples));
		/* "base.data", "base.data.1 to .5" */
		buf_puts(&line, r->file);
		if (r->files)
			buf_puts(&line, ".1");
		if (r->files > 1)
			buf_printf(&line, " to .%zu", r->files);
		buf_printf(&line, " (%s)", num_bytes(size, r->bytes));
	}
	if (r->lost)
		buf_printf(&line, "; %s lost: larger rings (-m 512) or fewer samples (-F 1000)",
			   num_exact(lost, r->lost));
	else if (r->kept)
		buf_puts(&line, "; none lost");
	if (r->throttled)
		buf_printf(&line, "; throttled %s times", num_exact(lost, r->throttled));
	if (r->user_only)
		buf_puts(&line, "; the kernel was not looked at");
	tree_put_line(b, buf_str(&line), st);
	buf_free(&line);
}

int run_write_term(struct buf *b, const struct document *d, const struct show *s, struct err *err)
{
	const struct run_report *r = d->ctx;
	const struct style *st = &s->style;
	char line[160];

	if (s->table)
		return format_term(b, d, s, err);
	put_run_page_head(b, r, st);
	if (findings_above(r->findings, run_waited(r))) {
		if (!r->tree->n_views)
			buf_putc(b, '\n');
		findings_put_above(b, r->findings, run_waited(r), st);
		buf_putc(b, '\n');
	}
	if (!r->samples)
		buf_puts(b,
			 " not one sample: it ended too soon for the frequency (-F), or slept\n");
	else {
		for (size_t i = 0; i < r->n_tables; i++) {
			if (r->several && r->table[i].event) {
				buf_puts(b, i ? "\n " : " ");
				text_put_safe(b, r->table[i].event, st->ascii);
				buf_putc(b, '\n');
			}
			where_put(b, &r->table[i].where, st);
		}
	}
	for (size_t i = 0; i < r->n_no_names; i++) {
		buf_puts(b, " no names: ");
		text_put_wrapped(b, r->no_names[i], 11, st->width);
		buf_putc(b, '\n');
	}
	buf_putc(b, '\n');
	next_put(b, r->next, r->n_next, st);

	tree_put_notes(b, &r->tree->head, st);
	if (r->ousted) {
		(void)snprintf(line, sizeof(line),
			       "%zu of %zu counters lost their place to others: samples are "
			       "missing; --no-tree",
			       r->ousted, r->counters);
		tree_put_line(b, line, st);
	}
	put_run_page_samples(b, r, st);
	return 0;
}
