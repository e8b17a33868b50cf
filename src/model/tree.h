/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree - the metrics of a model over counts: values, error bars, and doubts.
 *
 *	tree_eval(&t, arena, model, &counts, wanted, &err)
 *	tree_maker_new(&k, model, wanted, &err), tree_make(&t, k, &counts, &err), ...
 *					the same again and again, as for each interval
 *	tree_open(&t, open)		which nodes' children are worth counting next
 *
 * Counts come with the variance that multiplexing gave them and the covariance within their group
 * (events of a group count the same time slices, so their ratio is better known than each). Errors
 * reach a metric by its gradient (central differences over the formulas, one standard error wide,
 * so that a condition which flips within the error shows): var = sum over groups of g' C g.
 * PERF_METRICS fields carry their 8 bits (half a step of slots/255) as a further error.
 *
 * A printed share is always valid: inside [0, 1] within its error, and of nodes that divide slots,
 * no more than the parent and siblings in sum no more than the parent. Nodes in another domain than
 * their parent's (stalls, clocks) are not parts that add up: only [0, 1] holds for them. Else the
 * node is `doubtful` and names the pair of counters that disagrees.
 *
 * Costs: for each event with an error, two evaluations of the formulas that depend on it; memory of
 * metrics times events.
 */
#ifndef CYCLADE_MODEL_TREE_H
#define CYCLADE_MODEL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/counts.h"
#include "model/expr.h"
#include "model/model.h"

enum tree_doubt {
	DOUBT_NONE,
	DOUBT_NEGATIVE, /* below 0 by more than its error */
	DOUBT_OVER,	/* above 1 (or its parent) by more than its error */
	DOUBT_CHILDREN, /* with its siblings more than the parent by more than the errors */
	DOUBT_PARENT,	/* the parent is doubtful, and so are its parts */
	DOUBT_DEAD,	/* against[0], which it depends on, counts nothing on this machine, or
			 * is known to be wrong */
};

struct tree_node {
	uint32_t metric;
	struct value value;   /* unclamped: other formulas use it */
	double shown;	      /* value to print: shares (nodes, metrics in per cent) clamped to
		       * 0..Metric Max within the error; NAN if not measured or doubtful */
	double error;	      /* half width at 95 %; NAN if it is not known: see no_error */
	double unseen;	      /* the part of it from time that was not sampled: another
			       * run does not make it smaller */
	double steps;	      /* likewise: to counts that the CPU gives in steps (PERF_METRICS) */
	const char *no_error; /* why there is no error bar, or NULL */
	double open;	      /* its value while it was counted, if that was a part of the
			       * run by choice (tree_parts.c); NAN: not so */
	double open_error;    /* half width of that; NAN: not known */
	double counted;	      /* least share of time its events were counted; NAN without events */
	enum tree_doubt doubt;
	uint32_t against[2]; /* events that disagree, MODEL_NONE */
	bool over;	     /* over its threshold: look here (its parent, too) */
	bool path;	     /* on the path to follow: `<==` */
	bool tie;   /* the path ends before it: another one is as large, within the errors */
	bool maybe; /* over, or too unsure to be ruled out; doubtful ones are */
};

/* By how much a share may miss [0, 1] or its parent before its error is asked: counters of one
 * group do not start in the same cycle, and formulas approximate. */
#define TREE_SLACK 0.01
/* Whether all that is known of a node is between which shares it lies: it was counted for too
 * little of the run, and the middle is no measurement. */
bool tree_bound(const struct tree_node *n, double *low, double *high);

/* Siblings that are nearer to each other end the path (toplev's rule). */
#define TREE_TIE 0.05

struct tree {
	const struct model *model;
	const struct tree_node *node; /* by metric index */
	size_t n;
	const uint32_t *list; /* the metrics that were evaluated, ascending; NULL: unknown */
	size_t n_list;
	const char *const *dead, *const *wrong; /* the counts' */
};

/* `wanted`: by metric, which to evaluate (with those that they need); NULL: all. */
int tree_eval(struct tree *out, struct arena *a, const struct model *m, const struct tree_counts *c,
	      const bool *wanted, struct err *err) MUST_USE;

/* Results that depend on the model and `wanted` alone are made once; `wanted` must stay. */
struct tree_maker;
int tree_maker_new(struct tree_maker **out, const struct model *m, const bool *wanted,
		   struct err *err) MUST_USE;
/* The nodes are the maker's, until the next is made. */
int tree_make(struct tree *out, struct tree_maker *k, const struct tree_counts *c,
	      struct err *err) MUST_USE;
/* Children of one node that were counted for a part of the time. In the rest their share is between
 * 0 and the node's. */
struct tree_part {
	uint32_t under;	   /* the node */
	double weight;	   /* share of the whole (slots) that falls into that time, 0..1 */
	double under_seen; /* the node's value in it */
	const uint32_t *metric;
	const double *value, *error; /* by metric of it: its value in that time, NAN: not known */
	size_t n;
	unsigned visits; /* random moments in that time: a sample of the rest */
	bool never;	 /* there is no such time */
	uint32_t event;	 /* one that it takes */
};
/* As tree_make(). `c` is of all of the time, with estimates from visits for the rest. Parts come in
 * any order. tree_parts.c has the formulas. */
int tree_make_parts(struct tree *out, struct tree_maker *k, const struct tree_counts *c,
		    const struct tree_part *part, size_t n, struct err *err) MUST_USE;
void tree_maker_free(struct tree_maker *k); /* NULL is fine */

/* A node's value while it was counted differs from its value of the whole run by more than both
 * error bars. False if one of them is not known. */
bool tree_open_differs(const struct tree_node *n);
/* A value that is believed as it may be printed: a share is none below 0 or beyond the whole. */
double tree_shown(const struct model_metric *m, double v);
/* Nodes that are means of several trees, `over` set by the caller: parts that are more than their
 * whole (some runs had no value to believe) are doubtful. The path to follow is that of the means.
 */
void tree_judge_means(const struct model *m, struct tree_node *node);

/*
 * Marks events (by event, room for m->n_used) whose count of 0 needs a reason: a node of the first
 * level is exactly 0 and depends on the event, which was on a counter and counted 0. A program that
 * runs for long has some of everything on that level: each entry to the kernel and each
 * mispredicted branch refills the pipeline. Nodes that may be 0 all the same are marked in the
 * model (`zero`). Fields of PERF_METRICS are left out: 0 may be less than their step. Returns how
 * many; whether a counter is dead is for the caller to find out (collect/alive.h).
 */
size_t tree_suspects(const struct tree *t, const struct tree_counts *c, bool *suspect);
/* An untested suspect is dead if cycles counted at least this: 30 ms at 3 GHz, over which the timer
 * alone enters the kernel several times. */
#define TREE_LONG 1e8
/* The count of cycles of the time that `c` is of; NAN if they were not counted. */
double tree_cycles(const struct model *m, const struct tree_counts *c);

/* Where nothing can be tested any more, as counts are read after the run: suspects are
 * dead if cycles counted TREE_LONG, and the tree is made again. `a`, `wanted`: as of
 * tree_eval(), which made it. */
int tree_doubt_zeros(struct tree *t, struct arena *a, struct tree_counts *c, const bool *wanted,
		     struct err *err) MUST_USE;

/* The metrics whose children are worth counting now: nodes over threshold (or too unsure to rule
 * out) that have children. Fills `open` (by metric). */
void tree_open(const struct tree *t, bool *open);

#endif
