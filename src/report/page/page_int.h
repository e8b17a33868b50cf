/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page_int - web/dist/page.js and page.css as bytes of the program (tools/embed_page.py).
 */
#ifndef CYCLADE_REPORT_PAGE_PAGE_INT_H
#define CYCLADE_REPORT_PAGE_PAGE_INT_H

#include <stddef.h>

struct page_file {
	const char *text; /* UTF-8; nothing in it ends its element */
	size_t len;
	const char *hash; /* for a CSP: "sha256-..." */
};
extern const struct page_file page_script, page_style;

#endif
