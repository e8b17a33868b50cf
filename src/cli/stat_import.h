/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat_import - the pieces of stat --import: the way of all files and the tree (stat_import.c),
 * names of events (stat_import_event.c), recordings of perf stat (stat_import_data.c).
 */
#ifndef CYCLADE_CLI_STAT_IMPORT_H
#define CYCLADE_CLI_STAT_IMPORT_H

#include "cli/counting_out.h"
#include "cli/model_choice.h"
#include "cli/stat_int.h"
#include "perfdata/counts_file.h"
#include "report/tree_view.h"

#define IMPORT_CORES 4u

struct import_core {	 /* a kind of cores */
	const char *pmu; /* NULL: there is one kind */
	struct model *m;
	bool *named, *wanted; /* by metric: by --node, -M; alone to be shown. NULL: all */
};

struct import {
	struct cli *cli;
	struct arena *a;   /* the cli's */
	struct arena once; /* of one printing */
	struct counting k; /* what is known of the machine that counted; nothing counts */
	bool has_machine;
	double system[SYSTEM_COUNT];
	struct import_core core[IMPORT_CORES];
	size_t n_cores;
	struct counting_out out;
	bool printed;
};

/* The counts of one place, of one kind of cores, in one span of time. */
struct import_set {
	const char *label; /* NULL: all there is */
	size_t core;	   /* of import.core */
	size_t lps;	   /* CPUs that could count at once; 0: not known */
	struct counts_file file;
	const uint32_t *known; /* by event of the file: of the model; NULL: to be found by name */
};

/* MODEL_NONE: it knows none such. */
uint32_t import_event(const struct model *m, const char *name);
/* What was said of the machine, and what k.machine and k.who tell where they are known. */
void import_facts(struct import *im);
/* Prints the trees of all sets. `time`: of an interval's end, else NAN. `notes` may be NULL. */
int import_trees(struct import *im, const struct import_set *set, size_t n, double time,
		 const char *const *notes, size_t n_notes, struct err *err) MUST_USE;
int import_put(struct import *im, const struct buf *b, struct err *err) MUST_USE;
/* The file is a recording: all of it, but for committing what was printed. */
int import_recording(struct import *im, struct err *err) MUST_USE;

#endif
