/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the tree in a recording: nothing a terminal should not have comes out, in lines that
 * are no longer than what made them; no share below 0 or above 1; rows stand behind their parents.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/tree_saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tree_saved *t, size_t size)
{
	const struct style st = { .ascii = true };
	struct buf out = BUF_INIT;
	const struct table rows = { .form = &tree_saved_form, .ctx = t };
	struct table_row r = { 0 };
	struct table_cell x;
	size_t n, id = 0;
	const struct table_column *c = table_columns(&rows, &n);

	for (size_t v = 0; v < t->n_views; v++)
		for (size_t i = 0; i < t->view[v].n; i++)
			if (t->view[v].row[i].share < 0 || t->view[v].row[i].share > 1.00001)
				abort();
	tree_saved_put(&out, t, &st);
	for (size_t i = 0; i < out.len; i++)
		if (out.s[i] != '\n' && (out.s[i] < ' ' || out.s[i] > '~'))
			abort();
	if (out.len > 64 * size + 4096)
		abort();
	while (table_next(&rows, &r)) {
		id = r.at[1] ? id + 1 : 1;
		for (size_t i = 0; i < n; i++) {
			table_cell(&x, &rows, &c[i], &r, &out);
			if (!strcmp(c[i].key, "parent") && x.n >= id)
				abort();
			if (cell_has(&x) && x.kind == T_TEXT && !x.text)
				abort();
		}
	}
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	char *text = malloc(size ? size : 1);
	struct tree_saved t;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	if (!tree_saved_read(&t, &a, text, size, NULL))
		check(&t, size);
	free(text);
	arena_free(&a);
	return 0;
}
