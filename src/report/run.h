/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - results of `run` as a document: the tree, and the functions that took most.
 *
 *	document_open(&d, &run_document, &report)
 *	run_report_put(&d, &report)
 *
 * A node that was not measured has no number. People read it in lines of its own (run_term.c).
 */
#ifndef CYCLADE_REPORT_RUN_H
#define CYCLADE_REPORT_RUN_H

#include "report/tree_view.h"
#include "report/where.h"

struct wait_view;
struct findings_view;

struct run_table {
	const char *event; /* that samples */
	struct where where;
};

struct run_repeat { /* a function in one of several runs */
	uint32_t run;
	const char *event, *function, *dso;
	uint64_t samples;
	double period;
};

struct run_report {
	const struct tree_report *tree; /* its head is shown with all views */
	const char *no_tree;		/* why there are none; NULL: there are */
	const struct run_table *table;
	size_t n_tables;
	bool several;			 /* events sample: each table has a heading */
	bool unwanted;			 /* the tree, by option: people know why there is none */
	const struct run_repeat *repeat; /* of several runs: each function that has samples */
	size_t n_repeat;
	const char *sampled;   /* the events */
	const char *no_cycles; /* why time is sampled in place of cycles; NULL: it is not */
	bool user_only;	       /* the kernel was not looked at */
	const char *file;      /* the recording; of several FILE.1, FILE.2, ... */
	size_t files;	       /* so many; 0: it is one, FILE */
	size_t failed;	       /* of several runs those that did not end with 0 */
	bool kept;	       /* it was written */
	double cpu_s;	       /* of all threads together; NAN: not known */
	uint64_t samples, bytes, lost, throttled;
	size_t ousted, counters;       /* of all counters those that lost their place to others */
	const struct wait_view *waits; /* of its threads, in order; NULL: see no_waits */
	const char *no_waits;
	const char *const *no_names; /* lines on code that has none, and what names it */
	size_t n_no_names;
	const struct findings_view *findings; /* NULL: none were looked for */
	const struct next *next;	      /* commands worth typing */
	size_t n_next;
};

extern const struct document_form run_document;

/* Return true if all threads together were on a CPU for less than half of the time; put a line
 * about that, which is not made safe. */
bool run_waited(const struct run_report *r);
void run_put_waited(struct buf *b, const struct run_report *r);

/* The report must outlive the document. */
void run_report_put(struct document *d, const struct run_report *r);

#endif
