/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff_counted - results of counting (stat -j, run -j) for diff and sum: one recording for each run
 * of the result (-r), with its counts.
 *
 *	diff_counted_open(&c, &list, result, "new.json", &err)	adds to the list
 *	diff_counted_free(c) after the diff or sum of the list
 *
 * The tables of a run are named as those of a recording ("recording", "events", "tree", "rows"),
 * and are joined alike. Counts are no samples: "events" has no number of them, so that errors come
 * from the spread of the runs alone. A value that a run lacks is a row without a value.
 */
#ifndef CYCLADE_REPORT_DIFF_COUNTED_H
#define CYCLADE_REPORT_DIFF_COUNTED_H

#include "report/diff.h"

struct diff_counted;

/* The results that can be read: their forms, for readers of files. */
enum { DIFF_COUNTED_FORMS = 3 };
extern const struct document_form *const diff_counted_forms[DIFF_COUNTED_FORMS];

/* `of`: of one of these forms; it need not outlive the call. */
int diff_counted_open(struct diff_counted **out, diff_run_list *list, const struct document *of,
		      const char *input, struct err *err) MUST_USE;
void diff_counted_free(struct diff_counted *c); /* NULL is fine */

#endif
