/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels_tables - what `cyclade list kernels` shows: the kernels, and what an iteration counts.
 */
#ifndef CYCLADE_REPORT_KERNELS_TABLES_H
#define CYCLADE_REPORT_KERNELS_TABLES_H

#include "base/err.h"
#include "show/document.h"

extern const struct document_form kernels_document;

/* Those whose name fits the pattern, as text_glob() or a part of it (NULL: all); how many. */
size_t kernels_put(struct document *d, const char *pattern);

#endif
