/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * critical_view - the critical path of a recording (report --critical), as a document.
 *
 *	critical_end(c, &err)		(analyse/critical.h)
 *	critical_put(&document, &view)
 */
#ifndef CYCLADE_REPORT_CRITICAL_VIEW_H
#define CYCLADE_REPORT_CRITICAL_VIEW_H

#include "analyse/critical.h"
#include "report/source.h"
#include "show/document.h"

struct critical_view {
	const struct critical *c;
	const struct wait *w;
	struct images *images;
	const char *event; /* of the samples; NULL: there is none */
	struct view_source source;
	size_t limit; /* rows for people; 0: as many as matter */
};

extern const struct document_form critical_document;
void critical_put(struct document *d, const struct critical_view *v);

#endif
