/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff_html - a diff as an HTML page: its tables, a differential flame graph for each new side, and
 * the code of functions that changed.
 */
#ifndef CYCLADE_CLI_DIFF_HTML_H
#define CYCLADE_CLI_DIFF_HTML_H

#include "cli/recordings/diff_runs.h"

/* Writes the page to --html; d: the diff's document. Returns the exit code. Without call chains
 * the graphs have functions alone. */
int diff_html(const struct diff_runs *runs, const struct diff_side *side, size_t n_sides,
	      struct diff *diff, const struct document *d);

#endif
