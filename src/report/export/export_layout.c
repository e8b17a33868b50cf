/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts of code. For clang -fbasic-block-sections=list=FILE: "!NAME" and a line "!!" with the
 * numbers of its hot blocks in order. For lld --symbol-ordering-file: a name a line.
 */
#include "report/export.h"

int export_blocks(struct buf *out, const struct layout *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		buf_printf(out, "!%s\n!!", l->f[i].name);
		for (size_t k = 0; k < l->f[i].n; k++)
			buf_printf(out, "%s%u", k ? " " : "", l->f[i].id[k]);
		buf_putc(out, '\n');
	}
	return buf_error(out, err);
}

int export_order(struct buf *out, const struct layout *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++)
		buf_printf(out, "%s\n", l->f[i].name);
	return buf_error(out, err);
}
