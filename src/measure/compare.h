/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare - two programs run in turns, and the differences that this shows.
 *
 *	compare_begin(&c, pairs, seed)
 *	compare_series(&c, &runner, &err)	`pairs` pairs of runs, each in random order
 *	compare_judge(&c, &err)			c.metric[].effect
 *	compare_wants_more(&c)			a change was found that nothing confirms yet:
 *						another series, and judge again
 *	compare_free(&c)
 *
 * compare_run() is all of it. The runner makes a run: compare_programs (below) starts programs and
 * counts; tests plant figures.
 *
 * A second series follows if the first finds a hint (COMPARE_GO). The verdict is of all pairs: a
 * change whose chance is below COMPARE_LEVEL, corrected by Holm's method for the figures of its
 * family. The main family are user time, cycles (or CPU time) and wall clock, and figures with
 * limits; the functions are one; so are all other figures, which never ask for a second series.
 * There is no verdict before the last look, so looking twice makes no false alarm. The null control
 * compares runs of the same program with each other, by the same method, and stands in the way of a
 * figure's verdict if it finds a difference at 99 % that is a tenth of the change or more.
 */
#ifndef CYCLADE_MEASURE_COMPARE_H
#define CYCLADE_MEASURE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/paired.h"
#include "base/vec.h"

struct measure_opts;

enum { COMPARE_SIDES = 2, COMPARE_SERIES = 2 };
/* The first metrics of every comparison. */
/* Share of comparisons without a change in which a family has a verdict; and of those that go
 * on. */
#define COMPARE_LEVEL 0.00125
#define COMPARE_GO    0.25
enum { COMPARE_TIME, COMPARE_USER, COMPARE_SYSTEM, COMPARE_TIMES };

enum compare_verdict {
	COMPARE_UNKNOWN,     /* no figures: effect.why */
	COMPARE_FEW,	     /* too few pairs for an interval */
	COMPARE_NOISE,	     /* no change was found */
	COMPARE_UNCONFIRMED, /* one was found, but chance makes it more often than COMPARE_LEVEL */
	COMPARE_DOUBTFUL,    /* the null control finds one, too */
	COMPARE_LESS,
	COMPARE_MORE,
};

/* Changes are B's as a part of A's figure: 0.02 is 2 % more. */
struct compare_effect {
	enum compare_verdict verdict;
	const char *why;
	size_t pairs;	    /* in which both have a figure */
	double base, fresh; /* medians of A and of B */
	double change, low, high;
	double series[COMPARE_SERIES]; /* change by series; NAN: not made */
	bool found[COMPARE_SERIES];    /* its interval excludes 0 */
	double chance, chance_first;   /* of all pairs, of the first series */
	double chance_needed;	       /* below it there is a verdict; NAN: no figures */
	bool sure;		       /* chance is below it */
	bool control_differs;	       /* at 99 % */
	size_t control_pairs;
	double control, control_low, control_high; /* a program against itself */
	double least;				   /* change found in 9 of 10 comparisons like it */
	struct paired all;			   /* in logarithms if `relative` */
	bool relative, nothing;			   /* nothing: A has none of it */
	size_t wanted; /* pairs that find compare.aim in 9 of 10 comparisons; 0: not known */
};

struct compare_metric {
	const char *name, *unit; /* "time", "s"; an event and its unit */
	bool main;		 /* user time, cycles or CPU time, wall clock */
	bool decides;		 /* a change of it is worth a second series */
	bool many;		 /* one of the functions */
	const char *why;	 /* of the last run without a figure */
	struct compare_effect effect;
};

struct compare_one { /* a run */
	uint32_t series, pair;
	uint8_t side;
	bool second; /* of its pair */
	int status;
	double *value; /* by metric; NAN: none */
};

struct compare {
	struct arena *a;
	uint32_t pairs; /* of a series */
	uint64_t seed;	/* of the order, and of the control's */
	double aim;	/* the change that `wanted` is for */
	struct compare_metric *metric;
	size_t n_metrics; /* set by the runner until the first run has ended */
	VEC(struct compare_one) run;
	uint32_t n_series;
	/* By the runner, which then fails: the pairs that are complete are judged. */
	bool interrupted;
	size_t failed;			      /* runs that did not end with 0 */
	void (*news)(void *ctx, double done); /* after each run; NULL */
	void *news_ctx;
};

struct compare_runner {
	/* A run of a side, without warm-up: fills in value and status. Before the first, metrics
	 * are not known. */
	int (*run)(void *ctx, struct compare *c, struct compare_one *one, struct err *err);
	void *ctx;
	/* After each series: the runner may replace the metrics, from data kept of the runs, and
	 * gives all runs their values. NULL: metrics are those of the first run. */
	int (*series)(void *ctx, struct compare *c, struct err *err);
};

/* By its name; of a node the last part of its path is enough. */
bool compare_named(const struct compare_metric *m, const char *name);
/* The figures that decide together: how many have figures, and how many runs the first needs. */
size_t compare_family(const struct compare *c, const struct compare_metric *m);
/* Room for metrics, COMPARE_TIMES first. To be called by the first run. */
int compare_metrics(struct compare *c, size_t n, struct err *err) MUST_USE;

void compare_begin(struct compare *c, struct arena *a, uint32_t pairs, uint64_t seed);
int compare_series(struct compare *c, const struct compare_runner *r, struct err *err) MUST_USE;
int compare_judge(struct compare *c, struct err *err) MUST_USE;
bool compare_wants_more(const struct compare *c);
int compare_run(struct compare *c, const struct compare_runner *r, struct err *err) MUST_USE;
void compare_free(struct compare *c);

/* ---- programs -------------------------------------------------------------------------------- */

struct compare_opts {
	struct measure_opts *side[COMPARE_SIDES]; /* differ in their program only */
	bool tree;				  /* nodes of the tree, not events */
	bool anyway;				  /* go on if the machine's setting changes */
	bool may_fail;				  /* a program's exit code does not matter */
	const char *const *decide;		  /* names of metrics that decide beside time */
	size_t n_decide;
	/* Functions, not events: each run is sampled into the file `record` (NULL: no). sampled()
	 * keeps data of it, run after run; functions() makes metrics of them once a series has
	 * ended: compare_more(), then their names and the runs' values. */
	const char *record;
	int (*sampled)(void *ctx, struct err *err);
	int (*functions)(void *ctx, struct compare *c, struct err *err);
	void *ctx;
};

/* As compare_metrics(), for figures beside those that there are: runs' values beyond are NAN. */
int compare_more(struct compare *c, size_t n, struct err *err) MUST_USE;

struct compare_found {
	const char *setting; /* "governor performance, Linux 6.1.0, ..." */
	const char *changed; /* how it changed meanwhile (anyway); NULL */
	bool user_only;	     /* the kernel may not be counted */
	int status;	     /* of the program that stopped it; 0 */
	bool interrupted;
};

/* Warm-up, series, verdict. A program that fails stops it (ERR_EXEC: could not be executed). */
int compare_programs(struct compare *c, const struct compare_opts *opts,
		     struct compare_found *found, struct err *err) MUST_USE;

#endif
