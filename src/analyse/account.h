/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account - a tree of cycles over sampled events, for any set of samples.
 *
 *	account_bind(&b, arena, acc, events, n, &pmu, &err)	which event is which of the model
 *	account_whole(b, by_event)				the whole recording, once
 *	account_row(b, by_event, cells)				a function, line, instruction
 *
 * An event's occurrences in a row are the sum of its samples' periods, each corrected for the share
 * of time its counter ran just then (mux.h). A cell is those times the penalty; penalties in
 * reference cycles are turned into core cycles by the two clocks' ratio in the whole recording,
 * those in nanoseconds by the core's mean frequency in it. Nothing is forced to add up to 100 %.
 *
 * Error: samples are independent draws, so that the variance of an event's occurrences is the sum
 * of the squares of their weights (struct tally); a branch's is the sum over its events; a
 * formula's by its gradient. `half` is of the 95 % interval. An event without a sample may still
 * have happened: its own cell then has three times the weight of one sample for a half (the rule of
 * three); to its parent it adds no error, unless the parent has no sample at all. A cell whose
 * interval reaches 0, or that rests on fewer than ACCOUNT_FEW samples, is not significant. Two
 * cells are compared by the error of their difference: samples that are in both cancel.
 *
 * Costs: account_row some 10 us for a tree of 100 nodes and 60 events. A bound account is of one
 * thread at a time.
 */
#ifndef CYCLADE_ANALYSE_ACCOUNT_H
#define CYCLADE_ANALYSE_ACCOUNT_H

#include "analyse/profile.h"
#include "base/arena.h"
#include "model/account.h"

#define ACCOUNT_FEW  4
#define ACCOUNT_SURE 10 /* samples that were due of an event that has none: it is dead */

enum account_why { /* a cell has no value */
		   ACCOUNT_OK,
		   ACCOUNT_NOT_RECORDED, /* its event (`which`) is not in the recording */
		   ACCOUNT_NOT_COVERED,	 /* this CPU cannot measure it */
		   ACCOUNT_PARTS,	 /* some of its parts were not recorded: the value is a
					  * lower bound */
		   ACCOUNT_NO_CLOCK,	 /* reference cycles, and no event for their ratio */
		   ACCOUNT_NO_TIME,	 /* nanoseconds, and the core's frequency is not known */
		   ACCOUNT_DIVIDED_BY_0,
		   ACCOUNT_NO_RUNNING, /* its event never had a counter */
		   ACCOUNT_DEAD,       /* its event had no sample, though any program has it */
		   ACCOUNT_ONE_THREAD, /* it is of two threads on a core, and there was one */
		   ACCOUNT_UNKNOWN,    /* its formula needs a value that this recording lacks */
};

struct account_cell {
	double v;    /* cycles, or the node's unit; NAN: see why */
	double half; /* NAN: not known */
	uint64_t samples;
	enum account_why why;
	uint32_t which;	  /* event of the model; MODEL_NONE */
	bool significant; /* else to be greyed */
	bool overlap;	  /* more than the node it lies within (of cycles: at least the whole),
			   * beyond the errors: penalties overlapped in time */
	bool disagrees;	  /* with the node that measures the same otherwise, beyond error and
			   * tolerance */
	uint32_t failed;  /* event of the model that it rests on and that is known to count wrong
			   * (account_bound.wrong); MODEL_NONE */
};

struct account_work; /* of account.c */

struct account_bound {
	const struct account *acc;
	const int32_t *event; /* by the model's events: index of the recorded one, -1 */
	uint32_t *unknown;    /* recorded events that the tree does not use */
	size_t n_unknown;
	struct account_cell *whole; /* by node, once account_whole ran */
	double clock_ratio;	    /* core cycles in a cycle of the reference clock; NAN */
	double ghz;		    /* core cycles in a nanosecond; NAN */
	bool nominal;		    /* that is the nominal frequency: no other is known */
	bool one_thread;	    /* cores ran one thread at a time */
	double halted;		    /* share of the time between first and last sample; NAN */
	bool *dead; /* by recorded event: see account_time.turns; nodes that need it have no
		     * value */
	const char *const *wrong; /* by the model's events: the reason why its counts are wrong, or
				   * NULL; set before account_whole. NULL: none */
	struct account_work *work;
};

/* The PMU by which recorded events are recognised. */
struct account_pmu {
	const struct model_cpu *cpu; /* of the recording: vendor and the PMU's name */
	const struct pd_info *info;  /* which numbers its PMUs had; NULL: not known */
};

/* Events are recognised by their raw configuration (type, config, config1, as the PMU's formats lay
 * it out), else by name. If two recorded events are the same, one of all privilege levels goes
 * before one of some, then the one with more samples; the other is unknown. ERR_NOT_FOUND if not
 * even the cycles were recorded. */
int account_bind(struct account_bound *out, struct arena *a, const struct account *acc,
		 const struct pd_event *event, size_t n, const struct account_pmu *pmu,
		 struct err *err) MUST_USE;

/* Facts of the recording; all 0: not known. The first two are of recordings of whole CPUs only: the
 * clocks of a task do not contain the time in which a CPU was halted. */
struct account_time {
	double seconds;	  /* from the first sample to the last */
	unsigned cpus;	  /* that were sampled */
	double reference; /* Hz of the reference clock, if the account does not have it */
	double ghz;	  /* of the core while it ran, if the reference clock does not give it; 0 */
	double nominal;	  /* Hz, of any core while nothing else is known; 0: not known either */
	bool one_thread;  /* no two threads share a core */
	/* The greatest factor by which an event was corrected for the time without a counter; 0:
	 * not known. An event that has no sample in the whole recording is dead if its node has
	 * `always` (any program has such samples), and so many cycles have it ACCOUNT_SURE
	 * times. */
	double turns;
	const bool *never; /* by recorded event: it never had a counter; NULL: none is known */
	/* By recorded event, the share of its sum that makes up for when it was throttled: it may
	 * be twice as much or none, which is in the errors. NULL: none is known. */
	const double *made_up;
};
/* `by_event`: tallies by recorded event, of all samples. */
void account_whole(struct account_bound *b, struct arena *a, const struct tally *by_event,
		   const struct account_time *time);
/* cells: by node, the caller's. After account_whole. */
void account_row(const struct account_bound *b, const struct tally *by_event,
		 struct account_cell *cells);
const char *account_why_text(enum account_why why);
/* Returns true if the tree uses the recorded event. */
bool account_uses(const struct account_bound *b, size_t event);

/* account_event.c: is the recorded event the one of the model? 0: no; the more the surer. */
unsigned account_same_event(const struct model_event *m, const struct pd_event *e,
			    const struct account_pmu *pmu);

#endif
