/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block_graph - the control flow of a function, laid out: from the document of annotate.
 *
 *	document_open(&d, &block_graph_document, NULL)
 *	block_graph_put(&d, annotate, &err)	no tables: there is no code to see
 * or, for a page:
 *	block_graph_of(&graph, annotate, &err)	NULL: none, and annotate has a note with the reason
 *	block_graph_free(graph)
 *
 * At most 250 blocks, those with most samples; a note has the number of the others. ERR_UNSUPPORTED
 * without Graphviz.
 */
#ifndef CYCLADE_REPORT_BLOCK_GRAPH_H
#define CYCLADE_REPORT_BLOCK_GRAPH_H

#include "show/document.h"

extern const struct document_form block_graph_document;
/* All that it needs is copied. */
int block_graph_put(struct document *d, const struct document *function, struct err *err) MUST_USE;
/* Without Graphviz, and for code that it fails on, there is none. Only memory is a failure. */
int block_graph_of(struct document **graph, struct document *function, struct err *err) MUST_USE;
void block_graph_free(struct document *graph);

#endif
