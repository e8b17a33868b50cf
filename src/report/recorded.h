/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorded - shared by the documents of recordings: the command, the machine, losses.
 *
 *	document_form.table: &recorded_form first, ..., &recorded_losses_form last
 *	recorded_head(&d, &source)		titles, and the table "recording"
 *	... the document's own tables and facts ...
 *	recorded_tail(&d, &source)		facts, notes, and the table "losses"
 */
#ifndef CYCLADE_REPORT_RECORDED_H
#define CYCLADE_REPORT_RECORDED_H

#include "analyse/flow.h"
#include "report/source.h"
#include "show/document.h"

extern const struct table_form recorded_form, recorded_stacks_form, recorded_losses_form;

/* The source must outlive the document. */
void recorded_head(struct document *d, const struct view_source *source);
void recorded_tail(struct document *d, const struct view_source *source);

/* For results made of branch stacks: the table "stacks", how many samples had some, and the meaning
 * of ~ behind an error, if figures lean. */
void recorded_stacks(struct document *d, const struct view_source *source,
		     const struct flow_sums *s);
/* Returns why there are none: flow_sums.stacks is 0. */
const char *recorded_no_stacks(const struct view_source *source, const struct flow_sums *s);
/* A figure made of branch stacks. */
void cell_flow(struct table_cell *out, struct flow_value v);

#endif
