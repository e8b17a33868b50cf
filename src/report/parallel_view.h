/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel_view - which functions took wall time (report --wall), and what CPUs did
 * (report --concurrency), as documents.
 *
 *	parallel_build(&p, ...)		(analyse/parallel.h)
 *	wall_put(&document, &view), concurrency_put(&document, &view)
 */
#ifndef CYCLADE_REPORT_PARALLEL_VIEW_H
#define CYCLADE_REPORT_PARALLEL_VIEW_H

#include "analyse/parallel.h"
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
};

int parallel_view_order(struct parallel_view *v, struct err *err) MUST_USE;

extern const struct document_form wall_document, concurrency_document;
void wall_put(struct document *d, const struct parallel_view *v);
void concurrency_put(struct document *d, const struct parallel_view *v);

#endif
