/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_view - waits of the threads of a recording, as a document.
 *
 *	wait_build(&w, ...)		(analyse/wait.h)
 *	wait_view_order(&view, w, &err)
 *	wait_put(&document, &view)
 *	wait_view_free(&view)		after the document
 */
#ifndef CYCLADE_REPORT_WAIT_VIEW_H
#define CYCLADE_REPORT_WAIT_VIEW_H

#include "analyse/wait.h"
#include "report/source.h"
#include "show/document.h"

struct wait_view {
	const struct wait *w;
	struct images *images;
	struct view_source source;
	size_t limit;	 /* rows for people; 0: as many as matter */
	uint32_t *order; /* wanted threads, those that waited longest first */
	size_t n;
	struct wait_process *process; /* of these threads, in the same order */
	size_t n_processes;
};

struct wait_process {
	uint32_t pid;
	const char *comm; /* of its first thread */
	uint64_t threads, time[WAIT_STATES];
};

void wait_view_order(struct wait_view *v, const struct wait *w);
void wait_view_free(struct wait_view *v);

/* A row per thread, for documents that have other things, too; of NULL none. */
extern const struct table_form wait_threads_form;
void wait_put_threads(struct document *d, const struct wait_view *v);

extern const struct document_form wait_document;
void wait_put(struct document *d, const struct wait_view *v);

#endif
