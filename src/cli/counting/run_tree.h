/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_tree - the tree that `run` counts beside its samples, where the CPU has counters and a model.
 *
 *	t = (struct run_tree)RUN_TREE_INIT(cli)
 *	sampling_open(..., run_tree_beside(&t), ...)	the samples keep their counters
 *	sampling_run(...)
 *	run_tree_report(&t, &report, &err)		before sampling_close
 *	run_tree_free(&t)				after sampling_close
 *
 * The recording comes first: where the tree cannot be had, `why` says so and the samples are taken
 * all the same; without a model cycles and instructions are counted in its place.
 */
#ifndef CYCLADE_CLI_RUN_TREE_H
#define CYCLADE_CLI_RUN_TREE_H

#include "measure/drill.h"
#include "measure/sampling.h"
#include "report/tree_view.h"

#define RUN_TREE_HELD 8 /* events that sample beside a tree, at most */

struct run_tree_plain {	     /* a count in place of a tree */
	double value, share; /* share: of the time it was on a counter, the least of all */
	bool known;
};

struct run_tree {
	struct cli *cli;
	struct sampling_beside beside;
	struct counting *k; /* sampling's */
	struct drill d;
	struct drill_held held[RUN_TREE_HELD];
	size_t n_held;
	bool drilling, plain; /* the tree is counted; cycles and instructions are */
	struct counter_setup plain_setup;
	struct event_list plain_events;
	struct arena a;		 /* of one report */
	struct tree_report made; /* of the whole run, as the recording has it */
	bool is_made;
	bool again;    /* a further run (-r): what is said before the first one was said */
	char why[256]; /* there is no tree: why */
};

#define RUN_TREE_INIT(c)                                                     \
	{                                                                    \
		.cli = (c), .plain_events = EVENT_LIST_INIT, .a = ARENA_INIT \
	}

const struct sampling_beside *run_tree_beside(struct run_tree *t);
/* Views, CPU, notes and next commands; n_views is 0 without a tree, cpu NULL where nothing is
 * known. Lives as long as `t`. */
int run_tree_report(struct run_tree *t, struct tree_report *r, struct err *err) MUST_USE;
/* Without a model: cycles and instructions; known is false where there are none. */
int run_tree_plain(struct run_tree *t, struct run_tree_plain of[2], struct err *err) MUST_USE;
/* Of them the report's line on the CPU. */
int run_tree_plain_line(struct run_tree *t, const struct run_tree_plain of[2],
			struct tree_report *r, struct err *err) MUST_USE;
/* The report again, after the trees' nodes became others: means of several runs. */
int run_tree_report_again(struct run_tree *t, struct tree_report *r, struct err *err) MUST_USE;
/* The tree of a piece of the run, in ns since it began; n_views 0: there is none. Lives until the
 * next is made. */
int run_tree_interval(struct run_tree *t, uint64_t from, uint64_t to, struct tree_report *r,
		      struct err *err) MUST_USE;
/* The level worth counting down to in a run of its own; 0: none is. */
unsigned run_tree_deeper(const struct run_tree *t);
/* --dry-run: the plan and its counters. */
void run_tree_describe(const struct run_tree *t, struct buf *out);
void run_tree_free(struct run_tree *t);

#endif
