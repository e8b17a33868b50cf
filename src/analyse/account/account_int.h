/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_int - for account.c and account_bind.c: a tree made ready to be evaluated often.
 *
 * Each node has a gradient: how its value changes with each source of errors: the occurrences of
 * each event that the tree uses; for a row also its inputs from the whole recording: the clocks'
 * ratio and the nodes that are `whole`. Sums and penalties have theirs exactly; a formula's is made
 * of differences, one standard error wide, and the gradients of its inputs. So errors that come
 * from the same events cancel where they should.
 */
#ifndef CYCLADE_ANALYSE_ACCOUNT_ACCOUNT_INT_H
#define CYCLADE_ANALYSE_ACCOUNT_ACCOUNT_INT_H

#include "analyse/account.h"

struct account_need { /* of a formula */
	enum expr_ref_kind kind;
	uint32_t index; /* EXPR_EVENT: into `use`; EXPR_METRIC: node */
	uint32_t event; /* of the model */
};

struct account_use { /* an event of the model that the tree uses */
	uint32_t event;
	int32_t recorded; /* -1: it was not */
	bool never;	  /* it had no counter */
	bool empty;	  /* nothing in the whole recording, selected or not, is a sample of it */
	bool dead;	  /* though it must have happened */
	double weight;	  /* of a sample, about; NAN: not known */
	double made_up;	  /* share of it that is a guess as large as itself */
};

struct account_work {
	struct account_use *use;
	size_t n_use, n_sources;
	uint32_t use_reference; /* of the reference clock's event; MODEL_NONE */
	uint32_t *source_of;	/* by node that is `whole` */
	uint32_t *use_of;	/* by node: of its event */
	uint32_t *need_from;	/* by node, n + 1 */
	struct account_need *need;
	uint32_t *child, *sibling; /* by node: those that add */
	bool *used;		   /* by recorded event */
	size_t n_recorded;
	/* of the row at hand */
	double *count;		     /* by the model's events; NAN */
	struct tally *tally;	     /* by use */
	double *variance;	     /* by source: the uses, the clocks' ratio, whole nodes */
	double *gradient;	     /* [node * n_sources + source] */
	bool *vague;		     /* by node: its error is not known */
	struct value *value;	     /* by node */
	double system[SYSTEM_COUNT]; /* known values of the machine; NAN */
};

#endif
