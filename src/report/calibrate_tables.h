/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate_tables - tables of `cyclade calibrate`: costs, the latency curve, transfers between
 * CPUs, and the penalties of an account beside the model's own.
 */
#ifndef CYCLADE_REPORT_CALIBRATE_TABLES_H
#define CYCLADE_REPORT_CALIBRATE_TABLES_H

#include "measure/calibrate.h"
#include "show/document.h"

struct calibrate_report { /* which must outlive the document */
	const struct calibrate *c;
	const struct calibrate_penalty *penalty;
	size_t n_penalties;
	const char *cpu_desc, *hypervisor; /* or NULL */
	const char *emulator;		   /* why times are no CPU's; or NULL */
	const char *model;		   /* its id; NULL: none */
	const char *no_model;		   /* why, or NULL */
	const char *file;		   /* that the penalties went to, or NULL */
};

extern const struct document_form calibrate_document;
/* calibrate_svg.c: the curve alone. */
document_write_fn calibrate_svg;
void calibrate_put(struct document *d, const struct calibrate_report *r);

#endif
