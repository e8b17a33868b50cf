/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "base/num.h"
#include "base/text.h"
#include "report/account/account_int.h"

#define FACTS 64

static void put_rows(struct buf *b, struct account_view *v)
{
	const struct account *acc = v->source.bound->acc;
	const struct profile_opts *o = profile_options(v->source.profile);
	double all = v->source.bound->whole[0].v;
	struct buf text = BUF_INIT;
	char num[NUM_MAX];

	buf_puts(b, "| cycles |");
	for (size_t i = 0; i < v->n_columns; i++) {
		buf_putc(b, ' ');
		for (unsigned k = 0; k < v->indent[i]; k++)
			buf_puts(b, "..");
		text_put_markdown(b, acc->node[v->column[i]].name);
		buf_puts(b, " |");
	}
	for (size_t k = 0; k < o->n_keys; k++)
		buf_printf(b, " %s |", column_table[column_of_key(o->key[k])].name);
	buf_puts(b, "\n|---:|");
	for (size_t i = 0; i < v->n_columns; i++)
		buf_puts(b, "---:|");
	for (size_t k = 0; k < o->n_keys; k++)
		buf_puts(b, "---|");
	buf_putc(b, '\n');
	for (size_t r = 0; r < v->n_rows; r++) {
		const struct account_row *row = &v->row[r];
		const struct account_cell *c = account_view_cells(v, row);

		buf_printf(b, "| %s |", all > 0 ? num_percent(num, c[0].v / all) : "?");
		for (size_t i = 0; i < v->n_columns; i++) {
			buf_reset(&text);
			account_put_cell(&text, v, v->column[i], &c[v->column[i]], c[0].v);
			buf_putc(b, ' ');
			text_put_markdown(b, buf_str(&text));
			buf_puts(b, " |");
		}
		for (size_t k = 0; k < o->n_keys; k++) {
			buf_reset(&text);
			account_put_key(&text, v, row, k);
			if (!row->row && k + 1 == o->n_keys)
				buf_printf(&text, row->left_out ? "(left out)" : "(%llu more)",
					   (unsigned long long)row->folded);
			buf_putc(b, ' ');
			text_put_markdown(b, buf_str(&text));
			buf_puts(b, " |");
		}
		buf_putc(b, '\n');
	}
	b->failed |= text.failed;
	buf_free(&text);
}

static void put_tree(struct buf *b, struct account_view *v)
{
	const struct account_bound *bd = v->source.bound;
	char num[NUM_MAX];

	buf_puts(b, "\n| node | share | +- | value | unit | cover | "
		    "|\n|---|---:|---:|---:|---|---|---|\n");
	for (uint32_t i = 0; i < bd->acc->n; i++) {
		const struct account_node *t = &bd->acc->node[i];
		const struct account_cell *c = &bd->whole[i];

		if (!account_shows(v, i))
			continue;
		buf_puts(b, "| ");
		for (unsigned k = 0; k < t->depth; k++)
			buf_puts(b, "&nbsp;&nbsp;");
		text_put_markdown(b, t->name);
		buf_puts(b, " | ");
		if (t->cycles && !isnan(c->v))
			buf_printf(b, "%.1f %%", 100 * c->v / bd->whole[0].v);
		buf_puts(b, " | ");
		if (t->cycles && !isnan(c->half))
			buf_printf(b, "%.1f", 100 * c->half / bd->whole[0].v);
		buf_printf(b, " | %s | ", isnan(c->v) ? "not measured" : num_count(num, c->v));
		text_put_markdown(b, t->cycles ? "cycles" : t->unit);
		buf_printf(b, " | %s | %s |\n", account_cover_text(t->cover),
			   account_why_text(c->why));
	}
}

static void put_view(struct buf *b, struct account_view *v)
{
	const char *label[FACTS], *text[FACTS];
	struct arena a = ARENA_INIT;
	size_t n = account_view_facts(v, &a, label, text, FACTS);

	if (v->source.n_all > 1) {
		buf_puts(b, "## ");
		text_put_markdown(b, v->source.bound->acc->model->title);
		buf_puts(b, " (");
		text_put_markdown(b, v->source.pmu);
		buf_puts(b, ")\n\n");
	}
	if (v->source.bound->whole[0].v > 0) {
		put_rows(b, v);
		put_tree(b, v);
	} else {
		buf_puts(b, "No cycles: nothing to account for.\n");
	}
	buf_putc(b, '\n');
	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "- %s: ", label[i]);
		text_put_markdown(b, text[i]);
		buf_putc(b, '\n');
	}
	arena_free(&a);
}

void account_markdown(struct buf *b, struct account_view *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_putc(b, '\n');
		put_view(b, v[i]);
	}
}
