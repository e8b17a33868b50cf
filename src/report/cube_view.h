/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cube_view - a cube as a document: for the page's filters.
 *
 *	document_open(&d, &cube_document, NULL)		of time: &wall_cube_document
 *	cube_put(&d, cube, event)
 */
#ifndef CYCLADE_REPORT_CUBE_VIEW_H
#define CYCLADE_REPORT_CUBE_VIEW_H

#include "analyse/cube.h"
#include "show/document.h"

extern const struct document_form cube_document, wall_cube_document;
/* Cube and name must outlive the document. */
/* event: the samples' (NULL: none); unit: that of its period, "ns" for time of threads. */
void cube_put(struct document *d, const struct cube *c, const char *event, const char *unit);

#endif
