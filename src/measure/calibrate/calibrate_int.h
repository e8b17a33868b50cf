/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate_int - one figure from repeats; for calibrate*.c.
 */
#ifndef CYCLADE_MEASURE_CALIBRATE_INT_H
#define CYCLADE_MEASURE_CALIBRATE_INT_H

#include "base/vec.h"
#include "measure/calibrate.h"

#define CALIBRATE_REPEATS 32u		       /* of a figure, at most */
#define CALIBRATE_ROUNDS  (2 * KERNEL_LAYOUTS) /* that they are spread over: each layout twice */
#define CALIBRATE_PIECES  10u		       /* of a repeat, at most */

struct calibrating {
	struct calibrate *c;
	struct arena *a;
	const struct calibrate_opts *o;
	const struct calibrate_bench *b;
	struct err *err;
	uint64_t clock_n;    /* iterations of the chain of additions */
	double began, ended; /* stolen seconds */
	double wall;	     /* seconds that were timed */
	uint64_t random;
	size_t steps, done; /* for progress */
};

/* A kernel, perhaps minus another, whose time is divided by `per` or, for lines, by units. */
struct job {
	const struct kernel *kernel[2]; /* [1] NULL: none */
	struct kernel_setup setup[2];
	double per[2]; /* things of an iteration; of differences per[0] alone counts */
	bool own;      /* each kernel's time is divided by its own things */
	enum calibrate_unit unit;
	double bytes; /* of CALIBRATE_GBS: moved in an iteration */
};

struct figure {
	struct estimate e;
	struct estimate cycles; /* the same in cycles */
	bool huge;
	size_t repeats, dropped;
};

/* A figure on its way. A machine has slow seconds (a neighbour on the same core, a lower clock):
 * repeats that follow each other at once all agree on them. So each round over all figures gives a
 * few, in memory that is taken anew and with another layout of the code. */
struct calibrate_sampled {
	const struct job *j;
	uint64_t n[2], warm[2]; /* iterations of a piece, and before a repeat */
	unsigned pieces[2];	/* of a repeat */
	/* Seconds for a thing: the fastest tenth of a repeat's pieces, and their middle. */
	double time[2][CALIBRATE_REPEATS], middle[2][CALIBRATE_REPEATS];
	double hz[CALIBRATE_REPEATS];
	struct calibrate_time clock; /* the chain of additions behind the last repeat */
	size_t got, dropped, wanted;
	size_t end[CALIBRATE_ROUNDS]; /* of each round's repeats */
	unsigned rounds, done;
	double longest; /* of the kernel alone, in the unit: base of a stolen share */
	bool huge;
	const char *why; /* it cannot be prepared; NULL */
};

/* The job has to stay. */
void calibrate_begin(const struct calibrating *g, struct calibrate_sampled *s, const struct job *j);
/* The next round: s->done is below s->rounds. A kernel that cannot be prepared is no failure: the
 * figure has the reason, and there are no more rounds. -1: out of memory. */
int calibrate_round(struct calibrating *g, struct calibrate_sampled *s) MUST_USE;
/* The result of the rounds so far. -1: out of memory. */
int calibrate_settle(struct calibrating *g, const struct calibrate_sampled *s,
		     struct figure *out) MUST_USE;
/* All rounds of one figure, at once. */
int calibrate_figure(struct calibrating *g, const struct job *j, struct figure *out) MUST_USE;
/* The interval of values, widened to `least`; without enough of them the reason. */
int calibrate_estimate(struct calibrating *g, const double *v, size_t n, double least,
		       struct estimate *out) MUST_USE;
/* Returns a quantile of a few values: 0.5 is the median, 0.1 the fastest tenth. */
double calibrate_quantile(const double *v, size_t n, double q);
/* Returns true if the thread did not run for a part of the time that matters. */
bool calibrate_interrupted(const struct calibrate_time *t);
/* A difference below 0 by more than its bar is no cost: it becomes the reason, and *doubt true. */
int calibrate_doubt(struct arena *a, struct estimate *e, const char *unit, bool *doubt,
		    struct err *err) MUST_USE;
double calibrate_stolen(const struct calibrating *g); /* share of the time; 0: not known */
/* False: it was asked to stop. */
bool calibrate_step(struct calibrating *g);
bool calibrate_wanted(const struct calibrate_opts *o, const char *key);
/* Bytes that this process can still have. */
uint64_t calibrate_room(const char *root);
int calibrate_pairs(struct calibrating *g) MUST_USE; /* calibrate_pairs.c */
int calibrate_nodes(struct calibrating *g) MUST_USE; /* calibrate_nodes.c */

#endif
