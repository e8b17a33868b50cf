/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_view - the contents of a recording, as a document: machine and command, its events and their
 * attributes, its records, losses. Nothing but the file is looked at.
 */
#ifndef CYCLADE_REPORT_INFO_VIEW_H
#define CYCLADE_REPORT_INFO_VIEW_H

#include "perfdata/perfdata.h"
#include "report/source.h"
#include "show/document.h"

struct info_view {
	struct view_source source;
	const struct pd *rec;
	const char *file;	/* as it was named */
	const struct tally *of; /* by event: the samples that count */
	bool selects;		/* not all do */
	bool verbose;
};

extern const struct document_form info_document;
/* ERR_NOMEM. *v must outlive the document. */
int info_put(struct document *d, const struct info_view *v, struct err *err) MUST_USE;

#endif
