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

/* In tables of cubes and timelines; -1: none. */
static inline int64_t cube_or_none(uint32_t n)
{
	return n == CUBE_NONE ? -1 : (int64_t)n;
}

extern const struct document_form cube_document, wall_cube_document;
/* Cube and name must outlive the document. */
/* event: the samples' (NULL: none); unit: that of its period, "ns" for time of threads. */
void cube_put(struct document *d, const struct cube *c, const char *event, const char *unit);

#endif
