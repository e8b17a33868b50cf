/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_view - memory operations of a recording, as a document.
 *
 *	memory_build(...)		(analyse/memory.h)
 *	memory_put(&document, &view)
 */
#ifndef CYCLADE_REPORT_MEMORY_VIEW_H
#define CYCLADE_REPORT_MEMORY_VIEW_H

#include "analyse/memory.h"
#include "analyse/memory_objects.h"
#include "report/source.h"
#include "show/document.h"

struct memory_view {
	const struct memory *m;
	const struct memory_objects *objects;
	const struct spaces *spaces;
	struct view_source source;
	size_t limit;	 /* rows of sources and functions for people; 0: as many as matter */
	uint64_t linear; /* width of the linear histograms' bins in cycles; 0: as fits */
	bool is_linear;	 /* people see those, not those of powers of two */
	enum memop_latency latency; /* that tables show; memory_put() chooses it */
};

extern const struct document_form memory_document;
/* Returns true if threads and CPUs are shown at all (memory_opts.threads). */
bool memory_shows_threads(const struct show *s);
/* The view must outlive the document. */
void memory_put(struct document *d, struct memory_view *v);

#endif
