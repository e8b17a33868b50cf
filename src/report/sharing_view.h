/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharing_view - cache lines that threads share, as a document.
 */
#ifndef CYCLADE_REPORT_SHARING_VIEW_H
#define CYCLADE_REPORT_SHARING_VIEW_H

#include "analyse/sharing.h"
#include "report/source.h"
#include "show/document.h"

struct sharing_view {
	const struct sharing *s;
	const struct spaces *spaces;
	struct images *images;
	struct view_source source;
	size_t limit; /* lines for people; 0: the usual number */
};

extern const struct document_form sharing_document;
/* Tables and lines; the view must outlive the document. */
void sharing_put(struct document *d, const struct sharing_view *v);

#endif
