/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/screen/screen.h"
#include "cli/screen/sheet.h"

void sheet_draw_heads(const struct sheet *s, const struct table *t, unsigned at, size_t sort,
		      bool reverse)
{
	struct buf word = BUF_INIT;

	for (unsigned line = 0; line < s->heads; line++)
		for (size_t i = 0; i < s->n; i++) {
			const struct sheet_column *c = &s->on[i];

			buf_reset(&word);
			sheet_head(s, &word, t, i, line);
			screen_put(at + line, c->at, buf_str(&word), INK_BOLD, false);
			if (c->column == sort && line + 1 == s->heads && c->at)
				screen_put(at + line, c->at - 1,
					   s->ascii  ? (reverse ? "^" : "v")
					   : reverse ? "\xe2\x96\xb4"
						     : "\xe2\x96\xbe",
					   INK_BOLD, false);
		}
	buf_free(&word);
}

void sheet_draw_row(const struct sheet *s, const struct pager *p, unsigned at, size_t line,
		    const struct table_row *r, bool chosen)
{
	struct buf word = BUF_INIT;

	for (size_t i = 0; i < s->n; i++) {
		enum ink ink;

		buf_reset(&word);
		ink = sheet_cell(s, &word, p, i, line, r);
		screen_put(at, s->on[i].at, buf_str(&word), ink, false);
	}
	if (chosen)
		screen_bar(at);
	buf_free(&word);
}
