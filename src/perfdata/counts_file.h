/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts_file - reads counts that another run left as text: perf stat's table, its -x and its -j,
 * and cyclade's own JSON. The form is recognised; lines of comment ("# started on") are skipped.
 *
 * Counts of several intervals or places (-I, -A, --per-core, boxes of a unit, runs of --append) are
 * summed; an event that stands twice for one piece (perf counts one in several groups) is taken
 * where it was counted longest. Events keep their modifiers ("cycles:k" is not "cycles") and the
 * kind of cores they were counted on. What was not counted is left out.
 *
 * Refused with a cause: a file without counts, runs that counted different events, several cgroups
 * of which none is chosen.
 *
 * Text from outside: nothing of it is trusted. Memory: a row for each count.
 */
#ifndef CYCLADE_PERFDATA_COUNTS_FILE_H
#define CYCLADE_PERFDATA_COUNTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct counted_event {
	const char *name; /* without its PMU where that is a kind of cores: "cycles:k" */
	const char *pmu;  /* of cores: "cpu_core", "cpu"; "" where it is not said */
	double value;
	double counted;	 /* share of the time, 0..1; NAN: not said */
	uint32_t pieces; /* intervals or places that it was counted in */
	uint32_t blank;	 /* where it never got a counter, although it was wanted */
};

#define COUNTS_MODELS 4u

struct counts_model {	      /* of cyclade's JSON: the model that was counted by */
	const char *pmu, *id; /* pmu: "" where there is one kind of cores */
};

struct counts_file {
	const struct counted_event *event; /* each name and PMU once */
	size_t n;
	double seconds; /* of the measurement, of all runs; NAN: not said */
	uint32_t runs;	/* that are summed: perf stat --append; at least 1 */
	struct counts_model model[COUNTS_MODELS];
	size_t n_models;
};

struct counts_choice {
	char separator;	    /* of -x; 0: found out */
	const char *cgroup; /* only its counts; NULL: there is one, or none */
};

/* `name`: for messages. Names are memory of `a`. */
int counts_file_parse(struct counts_file *out, struct arena *a, const char *text, size_t len,
		      const struct counts_choice *choice, const char *name,
		      struct err *err) MUST_USE;

/* A PMU of cores: cpu, cpu_core, armv8_pmuv3_0; not one of a unit outside of them. */
bool counts_core_pmu(const char *pmu, size_t len);

#endif
