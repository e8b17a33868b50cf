/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_rows - the instructions cut into runs of one source line, as rows to be shown: a row for
 * the inlined calls when they change, one for the source line, one for each instruction; runs below
 * --min are folded, neighbours into one row. If no line is known, each instruction is a run to
 * --min.
 */
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"

static bool same_run(const struct annotate *a, size_t x, size_t y)
{
	const struct annotate_insn *i = &a->insn.v[x], *j = &a->insn.v[y];

	if (a->opts.min > 0 && (!i->line.file || a->opts.no_source))
		return false;
	return i->inl == j->inl && same_line(&i->line, &j->line);
}

static void put_listed_row(struct annotate_rows *out, enum annotate_row_kind kind, size_t first,
			   size_t last, const struct tally *t)
{
	struct annotate_row row = { kind, first, last, *t };

	vec_xpush(&out->v, row);
}

static void put_listed_run(struct annotate_rows *out, const struct annotate *a, size_t first,
			   size_t last, const struct tally *t, uint32_t *inl)
{
	if (a->has_lines && !a->opts.no_source) {
		if (*inl != a->insn.v[first].inl)
			put_listed_row(out, ROW_INLINE, first, last, t);
		*inl = a->insn.v[first].inl;
		put_listed_row(out, ROW_LINE, first, last, t);
	}
	for (size_t i = first; i < last; i++)
		put_listed_row(out, ROW_INSN, i, i + 1, &a->insn.v[i].t);
}

void annotate_rows(struct annotate_rows *out, const struct annotate *a)
{
	uint32_t inl = 0;

	for (size_t first = 0, last; first < a->insn.n; first = last) {
		struct tally t = a->insn.v[first].t;
		struct annotate_row *prev;

		for (last = first + 1; last < a->insn.n && same_run(a, first, last); last++)
			tally_add(&t, &a->insn.v[last].t);
		if (annotate_share(a, &t) >= a->opts.min) {
			put_listed_run(out, a, first, last, &t, &inl);
			continue;
		}
		prev = out->v.n ? vec_last(&out->v) : NULL;
		if (prev && prev->kind == ROW_FOLD) {
			prev->last = last;
			tally_add(&prev->t, &t);
		} else
			put_listed_row(out, ROW_FOLD, first, last, &t);
	}
}
