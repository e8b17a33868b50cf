/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_rates - instructions per cycle, and the clock frequency, from counts that a tree has anyway.
 * No event is counted for them.
 */
#ifndef CYCLADE_MODEL_TREE_RATES_H
#define CYCLADE_MODEL_TREE_RATES_H

#include "model/plan.h"
#include "model/slices.h"
#include "model/tree.h"

struct tree_rate {
	double value;	      /* NAN: see why */
	double error;	      /* half width at 95 %; NAN: see no_error */
	double unseen;	      /* the part of it that is owed to time for which stages were closed:
			       * another run does not make it smaller */
	double counted;	      /* least share of time its events were counted; NAN without value */
	const char *why;      /* why there is no value, or NULL */
	const char *no_error; /* why there is no error bar, or NULL */
};

struct tree_rates {
	struct tree_rate ipc, frequency; /* frequency: Hz */
};

struct tree_rates_ask {
	const struct plan *plan;
	const struct slices *slices;
	uint64_t from, to; /* as of slices_counts() */
	bool timed; /* cycles were counted in all the time that targets ran: of tasks, without
			    * filters by privilege level */
};

/* The frequency is cycles by time if `timed`, else that of the time-stamp counter times cycles by
 * reference cycles. The error is that of the quotient, to the first order, with the covariance of
 * events that are in one group. In time for which stages with an event were closed, which was not
 * chosen at random, there may be anything from nothing to as many instructions as the CPU has slots
 * (from nothing to twice the frequency): the error covers that, too. With more than
 * TREE_RATES_UNSEEN of such time there is no value. Texts are static, or those of `c`. */
#define TREE_RATES_UNSEEN 0.05
void tree_rates(struct tree_rates *out, const struct model *m, const struct tree_counts *c,
		const struct tree_rates_ask *ask);

#endif
