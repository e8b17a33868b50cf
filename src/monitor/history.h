/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history - what a monitor showed in its last intervals, for charts of a page.
 *
 *	history_new(&h)
 *	history_add(h, &d)		after each interval, d: its document
 *	history_document(&out, h, n)	the last n intervals; to be written before h changes
 *	history_free(h)
 *
 * A line of a chart is a metric at a place: the figure that people see, a rate if it only grows.
 * HISTORY_LINES places of a metric have lines (the first ones, as in tables), HISTORY_SERIES lines
 * there are in all, and each keeps HISTORY_INTERVALS figures. So memory has a limit (1.4 MB), and
 * so has the text (about 2 MB; 60 kB of a machine with 2 CPUs and no counters). A line without a
 * figure for as long makes room for another one.
 */
#ifndef CYCLADE_MONITOR_HISTORY_H
#define CYCLADE_MONITOR_HISTORY_H

#include "show/document.h"

enum { HISTORY_INTERVALS = 300, HISTORY_LINES = 16, HISTORY_SERIES = 768 };

extern const struct document_form history_form;

struct history;

int history_new(struct history **out, struct err *err) MUST_USE;
/* What finds no memory is left out. */
void history_add(struct history *h, const struct document *d);
void history_document(struct document *out, struct history *h, size_t intervals);
void history_free(struct history *h); /* NULL is fine */

#endif
