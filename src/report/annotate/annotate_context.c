/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_context - source lines around those of the code: all of the function's own file, from
 * its first line to its last; of files that are inlined there a few around each line with samples.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"

enum {
	AROUND = 3,	     /* lines above and below */
	GAP_OWN = 200,	     /* lines between two of the own file that are all shown */
	CONTEXT_MOST = 1000, /* of a function */
};

/* The file that the function itself is in: that of code which nothing is inlined into. */
static const char *own_file(const struct annotate *a)
{
	for (size_t i = 0; i < a->insn.n; i++) {
		const struct annotate_insn *in = &a->insn.v[i];
		const struct annotate_inline *inl = &a->inl.v[in->inl];

		if (inl->n && inl->level[0].at.file)
			return inl->level[0].at.file;
		if (!inl->n && in->line.file)
			return in->line.file;
	}
	return NULL;
}

static void add_wanted(struct annotate *a, const char *file, uint32_t line)
{
	if (file && line)
		vec_xpush(&a->context, ((struct annotate_context){ file, line }));
}

static int by_place(const void *va, const void *vb)
{
	const struct annotate_context *a = va, *b = vb;
	int order = a->file == b->file ? 0 : strcmp(a->file, b->file);

	return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* Lines of code: of the own file all, of others those with samples. */
static void list_wanted(struct annotate *a, const char *own)
{
	for (size_t i = 0; i < a->line.n; i++) {
		const struct annotate_line *l = &a->line.v[i];

		if (l->line.file && (l->t.samples || (own && !strcmp(l->line.file, own))))
			add_wanted(a, l->line.file, l->line.line);
	}
	for (size_t i = 0; i < a->inl.n; i++) /* where something is inlined into the function */
		if (a->inl.v[i].n)
			add_wanted(a, a->inl.v[i].level[0].at.file, a->inl.v[i].level[0].at.line);
	vec_sort(&a->context, by_place);
}

void annotate_make_context(struct annotate *a)
{
	const char *own = own_file(a);
	struct annotate_context *wanted;
	size_t n;

	if (a->context.n || a->opts.no_source)
		return;
	list_wanted(a, own);
	wanted = a->context.v;
	n = a->context.n;
	memset(&a->context, 0, sizeof(a->context));
	for (size_t i = 0; i < n; i++) {
		const struct annotate_context *w = &wanted[i], *last = NULL;
		bool mine = own && !strcmp(w->file, own);
		uint32_t from = w->line > AROUND ? w->line - AROUND : 1, gap = mine ? GAP_OWN : 1;

		if (a->context.n)
			last = vec_last(&a->context);
		if (last && !strcmp(last->file, w->file) && last->line + gap >= from)
			from = last->line + 1;
		for (uint32_t k = from; k <= w->line + AROUND && a->context.n < CONTEXT_MOST; k++)
			if (annotate_source(a, w->file, k))
				add_wanted(a, w->file, k);
	}
	free(wanted);
}

TABLE_ROW_AS(context_of, struct annotate_context)
TABLE_CELL(context_text,
	   out->text = annotate_source(annotated_of(t), context_of(r)->file, context_of(r)->line))

#define OF(member) TABLE_FIELD(struct annotate_context, member)
static const struct table_column context_columns[] = {
	COLUMN("file", "file", T_TEXT, C_KEY, "with its directory", OF(file)),
	COLUMN("line", "line", T_ID, C_KEY, "in the file", OF(line)),
	COLUMN("source", "source", T_TEXT, 0, "its text", .get = context_text),
};
#undef OF
const struct table_form annotate_context_form = { "source", NULL, TABLE_DATA,
						  TABLE_COLUMNS(context_columns) };
