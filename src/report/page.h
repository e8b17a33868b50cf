/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page - shared by several results of branch stacks: figures with errors, words about them.
 */
#ifndef CYCLADE_REPORT_PAGE_H
#define CYCLADE_REPORT_PAGE_H

#include "analyse/flow.h"
#include "show/page.h"

/* Returns the meaning of ~, by flow_sums.leaning. */
const char *page_leaning(const struct flow_sums *s);
/* "+-1.2 %" of its value; with ~ behind it if the figure leans. */
const char *page_error(char out[NUM_MAX], struct flow_value v);
/* Three digits or more of an estimate: whole numbers from a hundred on. */
const char *page_estimate(char out[NUM_MAX], double v);
/* "12 %", "0.3 %"; "-" if it is not known. */
const char *page_share(char out[NUM_MAX], double v);

#endif
