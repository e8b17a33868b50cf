/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts_row - the count of an event, everywhere or in one place.
 *
 * If an event was not counted, `value` is NAN, never 0, and `why` has the reason.
 */
#ifndef CYCLADE_MEASURE_COUNTS_ROW_H
#define CYCLADE_MEASURE_COUNTS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct counts_row {
	const char *where; /* "S0-C1", "CPU3", a thread; NULL: all that was counted */
	size_t n_cpus;	   /* that are in it; 0: not known */
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
	const char *note;  /* as a rate: "0.98 CPUs", "1.32 per cycle"; NULL */
	double derived;	   /* the same as a number, if there is a derived_unit */
	const char *derived_unit; /* "CPUs", "per cycle", "% of branches", "GHz", "/s"; NULL */
};

/* Which event a row is of, as far as another one has to do with it. */
struct counts_kind {
	uint32_t type;	 /* PERF_TYPE_HARDWARE, ...; COUNTS_KIND_NONE: of no meaning here */
	uint64_t config; /* the upper half: which PMU of a hybrid */
	unsigned levels; /* privilege levels, in numbers of the caller's */
};
#define COUNTS_KIND_NONE UINT32_MAX

/* counting_mean.c: note and derived of the rows of one place, by the others: cycles over time are a
 * frequency, instructions over cycles the IPC. Rows that have a note keep it. */
void counts_rows_mean(struct counts_row *row, const struct counts_kind *kind, size_t n,
		      struct arena *a, double seconds);

#endif
