/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html_page - results as one HTML file that needs nothing else: no server and no request.
 *
 *	html_page_write(&buf, &page, &err)		several results
 *	html_page_document(&buf, &d, &show, &err)	one, or one more: show.page, show.more
 *
 * The file has the results twice: as HTML that is read without scripts (the first rows of `still`
 * documents), and as data for the page's script (report/page/FORMAT.md), with all rows that 12 MB
 * have room for: the largest tables end sooner, with a note. Script and style are given: the page's
 * security policy allows these two by their hashes and nothing else, so that no name in a recording
 * can run or load anything. The same documents give the same bytes.
 *
 * A page that results are added to while they come (intervals) has no end tags: HTML needs none.
 * The caller adds no more than HTML_PAGE_MOST.
 */
#ifndef CYCLADE_SHOW_HTML_PAGE_H
#define CYCLADE_SHOW_HTML_PAGE_H

#include "show/document.h"

#define HTML_PAGE_MOST 12000000u /* bytes, about: browsers become slow */

struct html_file {
	const char *text; /* UTF-8; nothing in it ends its element */
	size_t len;
	const char *hash; /* for a CSP: "sha256-..." */
};
struct html_files {
	struct html_file script, style;
};

struct html_page_part {
	const char *view; /* FORMAT.md has the list; NULL: it is none, but shown without scripts */
	const struct document *document;
	bool still; /* shown without scripts, too */
};

/* A view that the recording has no data for. */
struct html_page_absent {
	const char *view, *why;
};

/* A function with a page of its own. */
struct html_page_function {
	const char *dso, *function;
	const struct document *document;
	struct document *graph; /* NULL: none */
};

struct html_page {
	const struct html_files *files;
	const char *title;
	const char *only; /* of documents' tables the one of this name; NULL: all */
	bool later;	  /* its document goes on with the one before: show.later */
	bool source;	  /* lines of source files may be in it */
	const struct html_page_part *part;
	size_t n_parts;
	const struct html_page_absent *absent;
	size_t n_absent;
	const struct document *cube;	 /* NULL: none */
	const struct document *wall;	 /* the same of the time on and off the CPU */
	const struct document *timeline; /* both in short bins, thread by thread */
	const struct document *memory;	 /* memory operations by class, thread, CPU and time */
	const struct document *flame;	 /* differential flame graphs, one for each new side */
	size_t n_flames;
	const struct html_page_function *function;
	size_t n_functions;
	size_t n_more;	    /* functions with samples that are not among them */
	uint64_t code_most; /* bytes of all of them, about; 0: two thirds of the page */
};

/* `out` may drain. Functions that do not fit are moved from n_functions to n_more. */
int html_page_write(struct buf *out, struct html_page *page, struct err *err) MUST_USE;
int html_page_document(struct buf *out, const struct document *d, const struct show *s,
		       struct err *err) MUST_USE;

#endif
