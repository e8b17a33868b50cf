/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_int - data that the steps of tree_eval share; for the files of tree alone.
 */
#ifndef CYCLADE_MODEL_TREE_INT_H
#define CYCLADE_MODEL_TREE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/expr_steps.h"
#include "model/tree.h"

struct tree_ref {
	enum expr_ref_kind kind;
	uint32_t index;
};

/* Something whose uncertainty reaches metrics: an event's sum, or an event's retire latency. */
struct tree_source {
	enum expr_ref_kind kind; /* EXPR_EVENT or EXPR_LATENCY */
	uint32_t index;
	uint32_t group, pos; /* of tree_counts; group MODEL_NONE: no covariance */
	double se;	     /* standard error */
	double quantum;	     /* half a step */
};

/* Members above the line follow from the model, the wanted metrics and the machine's facts, and
 * stay from tree to tree; the rest is of the tree at hand. */
struct tree_work {
	const struct model *m;
	struct arena arena; /* of all of it */
	bool *need;	    /* metrics that are evaluated */
	uint32_t *list;	    /* these, ascending: of hundreds often a few dozen */
	size_t n_list;
	VEC(struct tree_ref) refs; /* of metric i: [first[i], first[i + 1]), its formula's alone */
	uint32_t *first;
	uint32_t *row;		   /* by metric: 1 and its place in the list; 0: not evaluated */
	struct expr_steps steps;   /* formulas of the list, then their thresholds */
	struct expr_range values;  /* the former */
	struct expr_range *passed; /* by place in the list: the latter */
	bool *asks;		   /* by place in the list: its threshold asks for others */
	struct expr_reach *reach;  /* by event, then by latency: see reach_of() */
	bool *reached;		   /* whose `reach` is made */
	uint32_t *by_level;	   /* the list, those of no level first */
	uint32_t
		*child; /* of node i: [kids[i], kids[i + 1]), ascending; kids[n_metrics]: of none */
	uint32_t *kids;
	uint32_t *event; /* events whose counts or latencies are asked for */
	size_t n_events;
	bool *used; /* by event: it is among them */
	/* ---- */
	const struct tree_counts *c;
	struct tree_node *node;	      /* by metric */
	struct value *value, *passes; /* by metric; the steps' */
	VEC(struct tree_source) sources;
	VEC(double) gradient;	/* [row[metric] * n_sources + source]; NAN: unknown */
	VEC(double) slope;	/* scratch, by source */
	VEC(uint32_t) some;	/* likewise */
	double *bent;		/* scratch, by metric, and by logical processor */
	VEC(struct value) kept; /* scratch, by step */
	const char **unsure;	/* by metric: why its error is not known */
	const char **why;	/* scratch, by event */
	bool *done;		/* scratch, by event */
	bool *given;		/* by metric: its value is the counts' `given` */
	bool failed;		/* out of memory */
};

/* For each metric that is needed, in the model's order. */
#define tree_each(w, i)                                                                     \
	for (uint32_t i##_at = 0, i; i##_at < (w)->n_list && (i = (w)->list[i##_at], true); \
	     i##_at++)

/* tree_error.c */
int tree_sources(struct tree_work *w, struct err *err) MUST_USE;
int tree_gradients(struct tree_work *w, struct err *err) MUST_USE;
/* Half width at 95 % of sum of by[i] * metric[i]; NAN if it is unknown, with *why. of_steps: the
 * part of it that counts given in steps have; NULL: not wanted. */
double tree_error_of(const struct tree_work *w, const uint32_t *metric, const double *by, size_t n,
		     double *of_steps, const char **why);
/* By how much sum of by[i] * metric[i] grows with the event's count, per doubling of it. */
double tree_pull(struct tree_work *w, const uint32_t *metric, const double *by, size_t n,
		 uint32_t event);

extern const char tree_no_latency[]; /* a reason of tree_error_of() */
/* tree_parts.c */
void tree_combine(struct tree_work *w, const struct tree_part *part, size_t n);
/* tree_dead.c: an event's sum over logical processors; NAN if none counted. */
double tree_sum(const struct tree_counts *c, uint32_t event);
/* tree_judge.c */
void tree_judge(struct tree_work *w);
/* tree_path.c */
void tree_thresholds(struct tree_work *w);
void tree_path(struct tree_work *w);
void tree_path_of_means(const struct model *m, struct tree_node *node);

#define TREE_LEVELS 16 /* more than any model has */

static inline bool tree_is_node(const struct model_metric *m)
{
	return m->level > 0;
}

static inline bool tree_known(const struct tree_work *w, uint32_t metric)
{
	return w->need[metric] && w->value[metric].why == VALUE_OK;
}

#endif
