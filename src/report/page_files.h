/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page_files - web/dist/page.js and page.css as bytes of the program (tools/embed_page.py).
 */
#ifndef CYCLADE_REPORT_PAGE_FILES_H
#define CYCLADE_REPORT_PAGE_FILES_H

#include "show/html_page.h"

extern const struct html_files page_files;

#endif
