/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate_int - the measured cells; for validate*.c.
 */
#ifndef CYCLADE_MEASURE_VALIDATE_INT_H
#define CYCLADE_MEASURE_VALIDATE_INT_H

#include "measure/validate.h"

#define VALIDATE_NAME 128u /* of an event or a glob, with its end */

const char *validate_word(const char **list, char word[VALIDATE_NAME]);
/* "cpu/INST_RETIRED.ANY/u", "instructions:u": the name in it, in small letters. Other modifiers and
 * terms make another event of it. False: it is too long for any event. */
bool validate_bare(char out[VALIDATE_NAME], const char *event);
bool validate_rule_has(const struct validate_rule *r, const char *kernel);
/* The sum of a rule for an iteration of a kernel as it usually is, its loop included. */
double validate_count(const struct validate_rule *r, const struct kernel *k);

/* A kernel as it runs for several events at once. */
struct validate_instance {
	const struct kernel *kernel, *busy;
	enum calibrate_at at, busy_at;
	struct kernel_setup setup, busy_setup;
	bool whole; /* twice as many iterations minus once, instead of minus the empty kernel */
	unsigned on_node; /* as of its cells */
	unsigned other;
	enum validate_pair pair;
	const char *why; /* it cannot run; NULL */
	uint64_t n;	 /* iterations of a repeat; 0: not known yet */
};

struct validating {
	struct validate *v;
	struct arena *a;
	const struct validate_opts *o;
	const struct validate_bench *b;
	struct err *err;
	struct validate_instance *in;
	size_t n_in;
	size_t *cell_in; /* by cell: its instance */
	size_t done, steps;
};

/* Makes the list of instances and cells to measure. */
int validate_plan(struct validating *g) MUST_USE;
/* All cells, and those that look wrong again. */
int validate_measure(struct validating *g) MUST_USE;
/* A value of a cell is out of tolerance: 1 above, -1 below. */
int validate_beyond(const struct validate_cell *c, const struct validate_rule *r, double v,
		    double part);
/* Verdicts by the cells. */
void validate_judge(struct validating *g);

#endif
