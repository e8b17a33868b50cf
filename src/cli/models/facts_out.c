/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/facts_out.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"

static void put_csv(struct buf *b, const struct fact *f, char sep)
{
	if (f->kind == FACT_TEXT)
		text_put_csv(b, f->text, sep);
	else if (f->kind == FACT_BOOL)
		buf_puts(b, f->number != 0 ? "yes" : "no");
	else if (!isnan(f->number))
		buf_printf(b, "%.15g", f->number);
}

void facts_csv(struct buf *b, char sep, facts_fn *each, const void *ctx, size_t n)
{
	struct fact f[FACTS_MAX];

	for (size_t i = 0; i < n; i++) {
		size_t k = each(ctx, i, f);

		for (size_t c = 0; i == 0 && c < k; c++)
			buf_printf(b, "%s%c", f[c].key, c + 1 < k ? sep : '\n');
		for (size_t c = 0; c < k; c++) {
			put_csv(b, &f[c], sep);
			buf_putc(b, c + 1 < k ? sep : '\n');
		}
	}
}

void facts_json(struct json *j, const struct fact *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (f[i].kind == FACT_TEXT)
			json_str(j, f[i].key, *f[i].text ? f[i].text : NULL);
		else if (f[i].kind == FACT_BOOL)
			json_bool(j, f[i].key, f[i].number != 0);
		else
			json_real(j, f[i].key, f[i].number);
	}
}
