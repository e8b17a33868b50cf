/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count_head - the head of every result of counting: target, end of the run, events that were not
 * counted, notes.
 *
 *	document_form.table: &count_head_form, &count_interval_form first, &count_losses_form last,
 *		before it &count_runs_form and &count_events_form or &count_nodes_form
 *	count_head_put(&d, &head)	titles, and the table "summary"
 *	... the document's own tables and facts ...
 *	count_tail_put(&d, &head)	notes, and the table "losses"
 *
 * An interval (-I; head.time is not NAN) has the table "interval" in place of "summary", and no
 * titles. The document behind the last interval (head.end) has "summary", and neither titles nor
 * losses. Several runs (-r) have the tables "times" and "repeats", for programs: the figures of
 * each run.
 *
 * Members of both tables are the document's own in json; a document may have another TABLE_HEAD for
 * more members (a CPU, a model).
 */
#ifndef CYCLADE_REPORT_COUNT_HEAD_H
#define CYCLADE_REPORT_COUNT_HEAD_H

#include "show/document.h"

struct count_run { /* of several (-r) */
	double seconds, user_s, sys_s;
	int64_t status;
};

struct count_repeat {			 /* counts of one run */
	uint32_t run;			 /* from 1 */
	const char *where, *name, *unit; /* an event, or a node by its path */
	double value;			 /* NAN: not counted in this run */
};

struct count_head {
	const char *const *command; /* NULL: no program */
	size_t n_command;
	const char *target;	     /* in words, if there is no program: "process 12", "4 CPUs" */
	double time;		     /* -I: seconds since the start, at its end; NAN: no interval */
	double seconds;		     /* of the measurement or the interval */
	double user_s, sys_s;	     /* NAN: not known */
	uint64_t tasks;		     /* threads and processes of the program; 0: not known */
	int status;		     /* of the program; -1: none, or not ended */
	int killed_by;		     /* the signal that ended it; 0: none */
	size_t runs;		     /* 1 */
	double seconds_error;	     /* over runs; NAN */
	bool interrupted;	     /* by a signal */
	bool early;		     /* ... before the program ended */
	bool outlived;		     /* children of the program still run */
	bool end;		     /* all intervals were before */
	const struct count_run *run; /* NULL: they are not kept */
	const struct count_repeat *repeat;
	size_t n_run, n_repeat;
	bool nodes;		  /* the names are those of nodes */
	const char *const *notes; /* notes below the table: one line each */
	size_t n_notes;
	struct count_losses {
		uint64_t counts;      /* asked for: events, each in so many places */
		uint64_t refused;     /* of these not opened */
		uint64_t not_counted; /* opened, but never on a counter */
		uint64_t multiplexed; /* counted part of the time */
	} lost;
};

extern const struct table_form count_head_form, count_interval_form, count_losses_form;
extern const struct table_form count_runs_form, count_events_form, count_nodes_form;

/* The head, with its texts, must outlive the document. */
void count_head_put(struct document *d, const struct count_head *h);
void count_tail_put(struct document *d, const struct count_head *h);
/* The tables of several runs alone. */
void count_repeats_put(struct document *d, const struct count_head *h);
/* For people: "./prog -x" or the target; "3.21 s wall, 3.18 s cpu, exit 0". Not escaped. */
void count_head_command(struct buf *b, const struct count_head *h);
void count_head_times(struct buf *b, const struct count_head *h);

#endif
