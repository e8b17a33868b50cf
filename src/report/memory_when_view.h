/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_when_view - cells of memory operations as a document, for the page's filters.
 *
 *	document_open(&d, &memory_when_document, NULL)
 *	memory_when_put(&d, w)		w must outlive the document
 */
#ifndef CYCLADE_REPORT_MEMORY_WHEN_VIEW_H
#define CYCLADE_REPORT_MEMORY_WHEN_VIEW_H

#include "analyse/memory_when.h"
#include "show/document.h"

extern const struct document_form memory_when_document;
void memory_when_put(struct document *d, const struct memory_when *w);

#endif
