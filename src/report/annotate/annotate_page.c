/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_page - one function as a page of HTML: its part of the report's page, with the graph of
 * its blocks.
 */
#include <string.h>

#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"
#include "report/block_graph.h"
#include "show/html_page.h"

/* The document again, for a note of its own. */
static void copy_notes(struct document *to, const struct document *d)
{
	*to = *d;
	to->a = (struct arena)ARENA_INIT;
	memset(&to->note, 0, sizeof(to->note));
	vec_each (&d->note, const char *const *, n)
		vec_xpush(&to->note, *n);
}

int annotate_html(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	const struct annotate_view *v = d->ctx;
	struct document with, *graph = NULL;
	struct html_page_part part = { NULL, &with, true };
	struct html_page_function f = { v->a->target.dso, v->a->target.name, &with, NULL };
	struct html_page page = { .files = s->page,
				  .title = v->a->target.name,
				  .source = !v->a->opts.no_source,
				  .part = &part,
				  .n_parts = 1,
				  .function = &f,
				  .n_functions = 1 };
	int ret;

	if (s->table || !s->page)
		return format_html(out, d, s, err);
	copy_notes(&with, d);
	ret = 0;
	ret = ret ? ret : block_graph_of(&graph, &with, err);
	f.graph = graph;
	ret = ret ? ret : html_page_write(out, &page, err);
	block_graph_free(graph);
	vec_free(&with.note);
	arena_free(&with.a);
	return ret;
}
