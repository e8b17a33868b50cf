/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns - programs that change their ways, and a kernel that gives the counters to one group of
 * events after the other: what slices.c is to see through.
 */
#ifndef CYCLADE_TESTS_TURNS_H
#define CYCLADE_TESTS_TURNS_H

#include "model/slices.h"

#define MS 1000000ull

extern uint64_t seed;
double draw(void); /* [0, 1) */
double log_draw(double lo, double hi);

enum kind { TWO_PHASES, PERIODIC, WAVES, RANDOM, STEADY, KINDS };

enum { MAX_GROUPS = 11, PER_GROUP = 2, MAX_EVENTS = MAX_GROUPS * PER_GROUP, STATES = 4 };

struct program {
	enum kind kind;
	double rate[STATES][MAX_EVENTS]; /* per ns */
	double at, period, duty, phase, dwell;
	unsigned state;
	double until;
};

void program_init(struct program *p, enum kind kind, double length);
/* The rate of each event at a time; called with rising times. */
void program_rates(struct program *p, double t, double *out);

/* Group 0 has counters of its own. */
struct machine {
	size_t groups;
	double value[MAX_EVENTS], truth[MAX_EVENTS];
	double enabled[MAX_GROUPS], running[MAX_GROUPS];
	bool on[MAX_GROUPS];
	size_t turn;
};

void machine_init(struct machine *m, size_t groups);
void machine_step(struct machine *m, const double *rate, double dt);
void machine_rotate(struct machine *m);
/* Gives what the counters say to `s`. */
void machine_read(const struct machine *m, struct slices *s, double t);
/* Runs a program under rotation; `on_from`, `on_to`: when the last group is switched on. */
void simulate(struct machine *m, struct program *p, struct slices *s, double length, double every,
	      double on_from, double on_to);

/* For `groups` groups of PER_GROUP events each. */
struct slices *slices_of(size_t groups);
void counts_of(struct slices *s, struct arena *a, struct tree_counts *c);
double variance(const struct tree_counts *c, uint32_t event);

#endif
