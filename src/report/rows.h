/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows - the rows of a profile as a document:
 *
 *	view_build(&v, ...)
 *	document_open(&d, &rows_document, v)
 *	rows_put(&d, v)
 *
 * Table "rows" has the view's columns; rows of call trees have an id and their parent's. It has a
 * formats of its own, folded and, of call trees, svg.
 */
#ifndef CYCLADE_REPORT_ROWS_H
#define CYCLADE_REPORT_ROWS_H

#include "report/view.h"
#include "show/document.h"

extern const struct document_form rows_document;

/* The view must outlive the document, which has only one. */
void rows_put(struct document *d, const struct view *v);

/* The name of a fold's row: "(41 more)", "(left out by --focus or --hide)". */
void rows_fold_name(struct buf *b, const struct view_row *r);
/* Returns the column that has that name: the last of the view's columns that name rows. If none
 * does, returns the number of columns. */
size_t rows_fold_column(const struct view *v);

document_write_fn rows_folded, rows_svg;

#endif
