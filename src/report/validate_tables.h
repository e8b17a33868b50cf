/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate_tables - tables of `cyclade validate`: a verdict for each event, and the counts in each
 * kernel.
 */
#ifndef CYCLADE_REPORT_VALIDATE_TABLES_H
#define CYCLADE_REPORT_VALIDATE_TABLES_H

#include "measure/validate_address.h"
#include "measure/validate_nodes.h"
#include "measure/validate_skid.h"
#include "show/document.h"

struct validate_report { /* which must outlive the document */
	const struct validate *v;
	unsigned cpu;
	const char *cpu_desc, *hypervisor; /* or NULL */
	const char *model;		   /* its id; NULL: none */
	const char *no_model, *no_pmu;	   /* why, or NULL */
	const char *kept;		   /* the file of verdicts, or NULL */
	const struct validate_node *node;
	size_t n_nodes;
	const struct validate_skid *skid;
	size_t n_skid;
	const struct validate_address *address;
	size_t n_addresses;
};

extern const struct document_form validate_document;
extern const struct table_form validate_skid_form, validate_address_form;
void validate_put(struct document *d, const struct validate_report *r);
/* "counts 1 of load_bytes instead (walk)": a verdict for people; nothing if it needs no words. */
void validate_put_text(struct buf *b, const struct validated *v);

#endif
