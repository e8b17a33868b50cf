/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mix_tables - the instruction mix as a document.
 *
 *	document_open(&d, &mix_document, &view)
 *	mix_put(&d, &view)
 *
 * The main table, `instructions`, has all instructions that ran and is for programs; people read
 * sums by class, width and mnemonic, the places with most executions, and the hottest lines and
 * pages.
 */
#ifndef CYCLADE_REPORT_MIX_TABLES_H
#define CYCLADE_REPORT_MIX_TABLES_H

#include "analyse/mix.h"
#include "report/blocks_view.h"

struct mix_view { /* both outlive the document */
	const struct blocks_view *v;
	const struct mix *m;
};

extern const struct document_form mix_document;
void mix_put(struct document *d, const struct mix_view *v);

#endif
