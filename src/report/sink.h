/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink - a view written as text. Each sink is a file sink_NAME.c and a row in sink.def.
 *
 * Sinks decide nothing: rows, order, folds and columns are the view's. They escape names for where
 * they write them, since names come from outside.
 */
#ifndef CYCLADE_REPORT_SINK_H
#define CYCLADE_REPORT_SINK_H

#include "base/buf.h"
#include "base/err.h"
#include "report/view.h"
#include "show/style.h"

struct sink_opts {
	struct style style;
	char separator; /* csv */
	bool quiet;	/* no advice */
};

struct sink {
	const char *name;
	int (*write)(struct buf *out, const struct view *v, const struct sink_opts *o,
		     struct err *err);
	bool machine; /* nothing is folded unless asked, all columns */
};

const struct sink *sink_find(const char *name, struct err *err);

#define SINK(name, write, machine)                                                  \
	int write(struct buf *out, const struct view *v, const struct sink_opts *o, \
		  struct err *err);
#include "report/profile/sink.def"
#undef SINK

/* What a fold's row is called: "(41 more)", "(left out by --focus or --hide)". */
void sink_fold_name(struct buf *b, const struct view_row *r);
/* A cell as people read it; text made safe for terminals. */
void sink_put_cell(struct buf *b, const struct cell *c, bool ascii);

#endif
