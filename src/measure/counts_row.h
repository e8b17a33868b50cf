/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts_row - what an event came to, of all that was counted or of a part of it.
 *
 * What was not counted is never 0: `value` is NAN and `why` says why.
 */
#ifndef CYCLADE_MEASURE_COUNTS_ROW_H
#define CYCLADE_MEASURE_COUNTS_ROW_H

#include <stdbool.h>
#include <stddef.h>

struct counts_row {
	const char *where; /* "S0-C1", "CPU3", a thread; NULL: all that was counted */
	size_t n_cpus;	   /* that are in it; 0: not told */
	const char *event; /* as it was asked for */
	const char *unit;  /* "ns", "Joules", "" */
	double value;	   /* NAN: see why */
	bool whole;	   /* it is a whole number, not extrapolated and not a mean */
	double counted;	   /* share of the time it was on a counter; NAN: never or not known */
	double error;	   /* half width of the mean's 95 % (-r); NAN: none */
	double stddev;	   /* of the runs; NAN */
	size_t runs;	   /* that gave it a value */
	bool supported;	   /* false: it could not be opened */
	const char *why;   /* why there is no value, or NULL */
	const char *note;  /* what it means: "0.98 CPUs", "1.32 per cycle"; NULL */
	double derived;	   /* the same as a number, if there is a derived_unit */
	const char *derived_unit; /* "CPUs", "per cycle", "% of branches", "GHz", "/s"; NULL */
};

#endif
