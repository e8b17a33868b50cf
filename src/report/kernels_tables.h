/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels_tables - tables of `cyclade list kernels`: the kernels, and the counts of an iteration.
 */
#ifndef CYCLADE_REPORT_KERNELS_TABLES_H
#define CYCLADE_REPORT_KERNELS_TABLES_H

#include "base/err.h"
#include "show/document.h"

extern const struct document_form kernels_document;

/* Puts those whose name fits the pattern, as text_glob() or a part of it (NULL: all); returns how
 * many. */
size_t kernels_put(struct document *d, const char *pattern);

#endif
