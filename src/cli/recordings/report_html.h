/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report_html - all results of a recording in one HTML file: report --html, view.
 */
#ifndef CYCLADE_CLI_REPORT_HTML_H
#define CYCLADE_CLI_REPORT_HTML_H

#include "cli/cli.h"

struct html_page;

/* Writes a page that was put together, and a line to stderr: where, how large, what it left out.
 * `file` ("-": standard output) appears whole or not at all. Reports failures; returns an exit
 * code. */
int report_html_write(struct cli *cli, struct html_page *page, const char *file);
/* The same of a recording. */
int report_html(struct cli *cli, const char *input, const char *file);

#endif
