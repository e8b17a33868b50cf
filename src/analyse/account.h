/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account - a tree of cycles over what was sampled, for any set of samples.
 *
 *	account_bind(&b, arena, acc, events, n, &err)	which recorded event is which of the model
 *	account_whole(b, by_event)			the whole recording, once
 *	account_row(b, by_event, cells)			one row: a function, a line, an instruction
 *
 * An event's occurrences in a row are the sum of its samples' periods, each corrected for the share
 * of time its counter ran just then (mux.h). A cell is those times the penalty; penalties in
 * reference cycles are turned into core cycles by the two clocks' ratio in the whole recording.
 * Nothing is forced to add up to 100 %.
 *
 * Error: samples are independent draws, so that the variance of an event's occurrences is the sum of
 * the squares of their weights (struct tally); a branch's is the sum over its events; a formula's by
 * its gradient. `half` is of the 95 % interval. A cell whose interval reaches 0, or that rests on
 * fewer than ACCOUNT_FEW samples, is not significant.
 */
#ifndef CYCLADE_ANALYSE_ACCOUNT_H
#define CYCLADE_ANALYSE_ACCOUNT_H

#include "analyse/profile.h"
#include "base/arena.h"
#include "model/account.h"

#define ACCOUNT_FEW 4

enum account_why { /* a cell has no value */
		   ACCOUNT_OK,
		   ACCOUNT_NOT_RECORDED, /* its event (`which`) is not in the recording */
		   ACCOUNT_NOT_COVERED,	 /* this CPU cannot measure it */
		   ACCOUNT_PARTS,	 /* of what adds to it some were not recorded: the value is
					  * there, and is a lower bound */
		   ACCOUNT_NO_CLOCK,	 /* reference cycles, and no event that tells their ratio */
		   ACCOUNT_DIVIDED_BY_0,
		   ACCOUNT_NO_RUNNING, /* its event never had a counter */
};

struct account_cell {
	double v;    /* cycles, or the node's unit; NAN: see why */
	double half; /* NAN: not known */
	uint64_t samples;
	enum account_why why;
	uint32_t which;	  /* event of the model */
	bool significant; /* else to be greyed */
	bool overlap;	  /* more than the node it lies within, beyond the errors: penalties
			   * overlapped in time */
	bool disagrees;	  /* with the node that measures the same otherwise, beyond error and
			   * tolerance */
};

struct account_bound {
	const struct account *acc;
	const int32_t *event; /* by the model's events: index of the recorded one, -1 */
	uint32_t *unknown;    /* recorded events that the tree does not use */
	size_t n_unknown;
	struct account_cell *whole; /* by node, once account_whole ran */
	double clock_ratio;	    /* core cycles in a cycle of the reference clock; NAN */
	double halted;		    /* share of the time between first and last sample; NAN */
};

/* `cpu`: of the recording, for the layout of raw configs. Events are told by their raw
 * configuration (type, config, config1, as the PMU's formats lay it out), else by name. ERR_NOT_FOUND
 * where not even the cycles are there. */
int account_bind(struct account_bound *out, struct arena *a, const struct account *acc,
		 const struct pd_event *event, size_t n, const struct model_cpu *cpu,
		 struct err *err) MUST_USE;
int account_whole(struct account_bound *b, struct arena *a, const struct tally *by_event,
		  double seconds, unsigned cpus, struct err *err) MUST_USE;
/* cells: by node, the caller's. */
void account_row(const struct account_bound *b, const struct tally *by_event,
		 struct account_cell *cells);
const char *account_why_text(enum account_why why);

#endif
