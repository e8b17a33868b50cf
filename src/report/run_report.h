/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_report - what `run` found, for programs: the tree and the hot functions in one document.
 *
 * json: "cyclade.run/1", the trees as cyclade.tree/1 has them and a table of functions for each
 * event. csv: a row for each node, metric, retire latency and function; `kind` says which it is.
 * markdown: for a comment. Nothing that was not measured has a number.
 */
#ifndef CYCLADE_REPORT_RUN_REPORT_H
#define CYCLADE_REPORT_RUN_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/tree_view.h"
#include "report/where.h"

struct run_table {
	const char *event; /* that samples */
	struct where where;
};

struct run_report {
	const struct tree_report *tree; /* its head is told whatever views it has */
	const char *no_tree;		/* why there are none; NULL: there are */
	const struct run_table *table;
	size_t n_tables;
	const char *sampled;   /* the events */
	const char *no_cycles; /* why time is sampled in place of cycles; NULL: it is not */
	bool user_only;	       /* the kernel was not looked at */
	const char *file;      /* the recording */
	uint64_t samples, bytes, lost, throttled;
	size_t ousted, counters; /* of all counters those that lost their place to others */
};

struct run_format {
	const char *name;
	/* -1: out of memory; out->failed says so, too. */
	int (*write)(struct buf *out, const struct run_report *r, char separator);
};
/* json, csv or markdown. */
const struct run_format *run_format_find(const char *name, struct err *err);

#endif
