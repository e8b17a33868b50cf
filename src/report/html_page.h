/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html_page - results as one HTML file that needs nothing else: no server and no request.
 *
 *	html_page_write(&buf, &page, &err)
 *
 * The file has the results twice: as HTML that is read without scripts (the first rows of `still`
 * documents), and as data for the page's script (page/FORMAT.md), with all rows. Script and style
 * are those of web/dist, compiled in; the page's security policy allows these two by their hashes
 * and nothing else, so that no name in a recording can run or load anything. The same documents
 * give the same bytes.
 */
#ifndef CYCLADE_REPORT_HTML_PAGE_H
#define CYCLADE_REPORT_HTML_PAGE_H

#include "show/document.h"

struct html_page_part {
	const char *view; /* page/FORMAT.md has the list */
	struct document *document;
	bool still; /* shown without scripts, too */
};

/* A view that the recording has no data for. */
struct html_page_absent {
	const char *view, *why;
};

/* A function with a page of its own. */
struct html_page_function {
	const char *dso, *function;
	struct document *document;
	struct document *graph; /* NULL: none */
};

struct html_page {
	const char *title;
	bool source; /* lines of source files may be in it */
	const struct html_page_part *part;
	size_t n_parts;
	const struct html_page_absent *absent;
	size_t n_absent;
	const struct document *cube; /* NULL: none */
	const struct html_page_function *function;
	size_t n_functions;
};

/* `out` may drain. */
int html_page_write(struct buf *out, const struct html_page *page, struct err *err) MUST_USE;

#endif
