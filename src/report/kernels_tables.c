/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels as tables: one row for each, and for programs one for each quantity of it.
 */
#include "report/kernels_tables.h"

#include <string.h>

#include "base/text.h"
#include "kernels/kernel.h"

static bool fits(const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	return strpbrk(pattern, "*?[") ? text_glob(pattern, name) : strstr(name, pattern) != NULL;
}

static bool next_kernel(const struct table *t, struct table_row *r)
{
	while (r->at[0] < n_kernels) {
		r->p = &kernels[r->at[0]++];
		if (fits(t->ctx, ((const struct kernel *)r->p)->name))
			return true;
	}
	return false;
}

/* "3 instructions, 1 loads", without zeros */
static void put_counts(struct buf *b, const double *count)
{
	const char *comma = "";

	for (unsigned q = 0; q < QUANTITIES; q++) {
		if (!(count[q] > 0)) /* or it has no exact count */
			continue;
		buf_printf(b, "%s%g %s", comma, count[q], kernel_quantity_key[q]);
		comma = ", ";
	}
}

TABLE_GET(counts)
{
	const struct kernel *k = r->p;

	put_counts(out->scratch, k->each);
	if (k->unit) {
		buf_printf(out->scratch, "; for each %s ", k->unit);
		put_counts(out->scratch, k->per_unit);
	}
	out->text = buf_str(out->scratch);
}

#define OF(member) TABLE_FIELD(struct kernel, member)
static const struct table_column kernel_columns[] = {
	COLUMN("kernel", "kernel", T_TEXT, C_KEY, "its name", OF(name)),
	COLUMN("text", "what it provokes", T_TEXT, C_FLEX | C_CUT, "what it provokes", OF(means)),
	COLUMN("counts", "an iteration counts", T_TEXT, C_PEOPLE | C_FLEX | C_CUT | C_DROP,
	       "all that is not zero", .get = counts),
	COLUMN("unit", "unit", T_TEXT, C_DATA, "what more counts depend on: line, level", OF(unit)),
	COLUMN("units", "units", T_COUNT, C_DATA | C_0_IS_NONE,
	       "how many of it, if not asked for otherwise", OF(usual.units)),
};
#undef OF
static const struct table_form kernels_form = { "kernels",	     NULL,
						TABLE_MAIN,	     TABLE_COLUMNS(kernel_columns),
						.next = next_kernel, .rest = "kernel" };

/* A quantity of a kernel: at[1] is the next one. */
static bool next_count(const struct table *t, struct table_row *r)
{
	if (r->p && r->at[1] < QUANTITIES)
		return r->at[1]++, true;
	r->at[1] = 1;
	return next_kernel(t, r);
}

#define KERNEL_OF(r) ((const struct kernel *)(r)->p)
#define UNSURE	     "pages come again within a turn: no exact count"
#define EXACTLY(n)   ((struct estimate){ (n), 0, (n) >= 0 ? NULL : UNSURE })
/* clang-format off */
TABLE_CELL(count_quantity, out->text = kernel_quantity_key[r->at[1] - 1])
TABLE_CELL(count_text, out->text = kernel_quantity_text[r->at[1] - 1])
TABLE_CELL(count_each, cell_estimate(out, EXACTLY(KERNEL_OF(r)->each[r->at[1] - 1])))
TABLE_CELL(count_unit, cell_estimate(out, EXACTLY(KERNEL_OF(r)->per_unit[r->at[1] - 1])))
/* clang-format on */
static const struct table_column count_columns[] = {
	COLUMN("kernel", "kernel", T_TEXT, C_KEY, "its name", TABLE_FIELD(struct kernel, name)),
	COLUMN("quantity", "quantity", T_TEXT, C_KEY, "what is counted", .get = count_quantity),
	COLUMN("iteration", "iteration", T_REAL, C_WHY,
	       "exact count of an iteration; 0 is exact, too", .get = count_each),
	COLUMN("each_unit", "each unit", T_REAL, 0, "more of it for each unit", .get = count_unit),
	COLUMN("text", "meaning", T_TEXT, C_FLEX, "what is counted", .get = count_text),
};
static const struct table_form counts_form = { "counts", NULL, TABLE_DATA,
					       TABLE_COLUMNS(count_columns), .next = next_count };

static const struct table_form *const forms[] = { &kernels_form, &counts_form };
const struct document_form kernels_document = { "kernels", 1, forms, 2, NULL, 0 };

size_t kernels_put(struct document *d, const char *pattern)
{
	const struct table rows = { .form = &kernels_form, .ctx = pattern };
	size_t n = table_rows(&rows);

	document_title(d, INK_BOLD, "kernels (%zu)", n);
	document_table(d, &rows);
	document_table(d, &(struct table){ .form = &counts_form, .ctx = pattern });
	return n;
}
