/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sched_view - what the scheduler did (analyse/scheduler.h), as a document.
 *
 *	wait_view_order(&waits, w)		(report/wait_view.h)
 *	sched_view_make(&view, &waits, &sched)
 *	sched_put(&document, &view)
 *	sched_view_free(&view)			after the document
 */
#ifndef CYCLADE_REPORT_SCHED_VIEW_H
#define CYCLADE_REPORT_SCHED_VIEW_H

#include "analyse/scheduler.h"
#include "report/wait_view.h"

struct sched_view {
	const struct wait_view *waits;
	const struct sched *s;
	char *mark; /* by thread of the waits: its letter in the map; 0: it has none */
};

void sched_view_make(struct sched_view *v, const struct wait_view *waits, const struct sched *s);
void sched_view_free(struct sched_view *v);

extern const struct document_form sched_document;
void sched_put(struct document *d, const struct sched_view *v);

#endif
