/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pages - the manual, compiled in from doc/ (tools/pages.py writes pages.c).
 */
#ifndef CYCLADE_CLI_PAGES_H
#define CYCLADE_CLI_PAGES_H

#include <stddef.h>

struct page {
	const char *name, *text; /* "cyclade-report", Markdown */
};

extern const struct page pages[];
extern const size_t n_pages;

#endif
