/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sum - several recordings of the same program as one result: their tables joined by their keys, as
 * diff joins them, and added up.
 *
 *	sum_build(&x, run, n, &err)
 *	document_open(&d, &sum_document, x)
 *	sum_put(&d, x, limit)
 *	sum_free(x)
 *
 * Error bars are half of the 95 % interval. They come from the spread of the recordings (Student's
 * t), and are never below those of sampling alone; of one recording they are sampling's. The
 * documents of the recordings must outlive the sum.
 */
#ifndef CYCLADE_REPORT_SUM_H
#define CYCLADE_REPORT_SUM_H

#include "report/diff.h"

struct sum;

extern const struct document_form sum_document;

int sum_build(struct sum **out, const struct diff_run *run, size_t n, struct err *err) MUST_USE;
/* `limit`: rows for people; 0: those of 1 % and more. */
void sum_put(struct document *d, const struct sum *x, size_t limit);
void sum_free(struct sum *x); /* NULL is fine */

#endif
