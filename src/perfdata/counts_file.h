/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts_file - reads the text that another run left: counts, and figures that the tool itself made
 * of them. The forms are rows of a table (counts_file.c): perf stat's table, -x, -j, each with
 * --metric-only; toplev; PerfSpect; cyclade's own JSON. The form is recognised; comments are
 * skipped.
 *
 *	counts_file_parse(&f, arena, text, len, &choice, name, &err)
 *	counts_file_sums(&sums, &n, arena, &f, &span, &err)	of intervals, of places, or of all
 *
 * A sum is over intervals (-I), places (-A, --per-core, boxes of a unit) and runs (--append) of the
 * span; an event that stands twice for one piece (perf counts one in several groups) is taken where
 * it was counted longest. Events keep their modifiers ("cycles:k" is not "cycles") and the kind of
 * cores they were counted on. An event that was not counted is left out. Figures do not add up:
 * of several pieces they are the mean, unless the tool printed a summary, which goes before.
 *
 * Refused with a cause: a file without counts and figures, runs that counted different events,
 * several cgroups of which none is chosen.
 *
 * Text from outside: nothing of it is trusted. Memory: a row for each count and figure.
 */
#ifndef CYCLADE_PERFDATA_COUNTS_FILE_H
#define CYCLADE_PERFDATA_COUNTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct counted_event {
	const char *name; /* without its PMU if that is a kind of cores: "cycles:k" */
	const char *pmu;  /* of cores: "cpu_core", "cpu"; "" if unknown */
	const char *unit; /* "ns", "Joules"; "" */
	double value;
	double counted;	 /* share of the time, 0..1; NAN: unknown */
	double noise;	 /* -r: standard error of the mean, as a share of it; NAN: unknown */
	uint32_t pieces; /* intervals or places that it was counted in */
	uint32_t blank;	 /* where it never got a counter, although it was wanted */
};

struct counted_figure {
	const char *name;  /* as it was printed: "tma_backend_bound", "insn per cycle" */
	const char *unit;  /* "%", "GHz", "" */
	const char *event; /* that it stood beside; "" */
	double value;
	double error;	 /* printed as +-, in the unit; NAN: nothing */
	uint32_t pieces; /* that it is the mean of */
};

#define COUNTS_MODELS 4u

struct counts_model {	      /* the model that was counted by, or the CPU's name */
	const char *pmu, *id; /* pmu: "" if there is one kind of cores */
};

struct counts_cell;
struct counts_figure;

struct counts_file {
	const char *form; /* "perf stat -x", ... */
	/* Names by number; the first is "". */
	const char *const *name;
	const uint32_t *place; /* names of places, in the order in which they came */
	size_t n_places;       /* the first is "": none is named */
	const double *time;    /* ends of intervals; the first is NAN: none is known */
	size_t n_times;
	const struct counts_cell *cell; /* by time */
	const struct counts_figure *figure;
	size_t n_cells, n_figures;
	double seconds;	      /* of the measurement, of all runs; NAN: unknown */
	double user_s, sys_s; /* NAN: unknown */
	uint32_t runs;	      /* that are summed: perf stat --append; at least 1 */
	uint32_t unnamed;     /* figures without a name, left out */
	uint32_t repeats;     /* -r: runs that counts are the mean of; 0: unknown */
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

struct counts_span {
	size_t from, to;       /* of counts_file.time; both 0: all there is */
	const uint32_t *group; /* by place: which sum it belongs to, UINT32_MAX: none; NULL: all
				* places are one */
	size_t n_groups;
};

struct counts_sums {
	const struct counted_event *event; /* each name and PMU once */
	const struct counted_figure *figure;
	size_t n, n_figures;
};

/* One for each group, or one. Costs: sorting the rows of the span. */
int counts_file_sums(struct counts_sums **out, struct arena *a, const struct counts_file *f,
		     const struct counts_span *span, struct err *err) MUST_USE;

/* A PMU of cores: cpu, cpu_core, armv8_pmuv3_0; not one of a unit outside of them. */
bool counts_core_pmu(const char *pmu, size_t len);

#endif
