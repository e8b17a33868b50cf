/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline_view - a timeline as a document: for the page's picture over time.
 *
 *	document_open(&d, &timeline_document, NULL)
 *	timeline_put(&d, t)
 */
#ifndef CYCLADE_REPORT_TIMELINE_VIEW_H
#define CYCLADE_REPORT_TIMELINE_VIEW_H

#include "analyse/timeline.h"
#include "show/document.h"

extern const struct document_form timeline_document;
/* The timeline must outlive the document. */
void timeline_put(struct document *d, const struct timeline *t);

#endif
