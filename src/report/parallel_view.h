/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel_view - wall time of functions (report --wall), and use of CPUs (report --concurrency),
 * as documents.
 *
 *	parallel_end(p, &err)		(analyse/parallel.h)
 *	wall_put(&document, &view), concurrency_put(&document, &view)
 */
#ifndef CYCLADE_REPORT_PARALLEL_VIEW_H
#define CYCLADE_REPORT_PARALLEL_VIEW_H

#include "analyse/halted.h"
#include "analyse/parallel.h"
#include "analyse/wall_tree.h"
#include "report/source.h"
#include "show/document.h"

struct parallel_view {
	const struct parallel *p;
	const struct wait *w;
	struct images *images;
	const char *event; /* of the samples; NULL: there is none */
	struct view_source source;
	size_t limit;	 /* rows for people; 0: as many as matter */
	uint32_t *order; /* functions, those that ran alone longest first; the caller's to free */
	size_t n_order;
	const struct halted *halted;  /* NULL: not wanted */
	const struct wall_tree *tree; /* NULL: not wanted (-g, folded, svg) */
};

void parallel_view_order(struct parallel_view *v);

/* The tree of all threads' time, as a table, and for a flame graph. */
extern const struct table_form wall_tree_form, wall_shown_form;
struct table wall_tree_table(const struct parallel_view *v);
struct table wall_shown_table(const struct parallel_view *v); /* of it, for people */
document_write_fn wall_folded, wall_svg;
/* A node as people read it: the name of a thread, a function, [reason]. */
void wall_put_name(struct buf *b, const struct parallel_view *v, const struct wall_node *x);

extern const struct document_form wall_document, concurrency_document;
void wall_put(struct document *d, const struct parallel_view *v);
void concurrency_put(struct document *d, const struct parallel_view *v);

#endif
