/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat_import - the pieces of stat --import: the tree of a set of counts (stat_import.c), text
 * (stat_import_text.c), recordings of perf stat (stat_import_data.c), names of events
 * (stat_import_event.c), what counts say beside their values (stat_import_facts.c).
 */
#ifndef CYCLADE_CLI_STAT_IMPORT_H
#define CYCLADE_CLI_STAT_IMPORT_H

#include "cli/counting_out.h"
#include "cli/model_choice.h"
#include "cli/stat.h"
#include "perfdata/counts_file.h"
#include "report/tree_view.h"

#define IMPORT_CORES 4u
#define IMPORT_NOTES 16u

struct import_core {	 /* a kind of cores */
	const char *pmu; /* NULL: there is one kind */
	struct model *m;
	bool *named, *wanted; /* by metric: by --node, -M; alone to be shown. NULL: all */
};

/* Privilege levels that a name's modifiers ask for; 0: all of them. */
enum import_level {
	IMPORT_USER = 1,
	IMPORT_KERNEL = 2,
	IMPORT_HYPERVISOR = 4,
	IMPORT_GUEST = 8,
};

struct import_known {
	uint32_t event;	 /* of the model; MODEL_NONE: it knows none such */
	unsigned levels; /* enum import_level */
	uint32_t own;	 /* the event that formulas ask for at this level alone; MODEL_NONE */
};

struct import {
	struct cli *cli;
	struct ask ask;
	struct arena *a;   /* the cli's */
	struct arena once; /* of one printing */
	struct counting k; /* what is known of the machine that counted; nothing counts */
	bool has_machine;
	bool no_pmem; /* nothing says that there is persistent memory, or not */
	double system[SYSTEM_COUNT];
	struct import_core core[IMPORT_CORES];
	size_t n_cores;
	bool levels_known;
	unsigned levels; /* of which counts make the tree */
	struct counting_out out;
};

/* The counts of one place, of one kind of cores, in one span of time. */
struct import_set {
	const char *label; /* NULL: all there is */
	size_t core;	   /* of import.core */
	size_t lps;	   /* CPUs that could count at once; 0: not known */
	struct counts_file file;
	const struct import_known *known; /* by event of the file */
};

struct import_notes {
	struct arena *a;
	const char *v[IMPORT_NOTES];
	size_t n;
};

/* Arena memory; NULL (no memory) is dropped. */
void import_add_note(struct import_notes *l, const char *text);

struct import_known import_event(const struct model *m, const char *name);
/* "user space", ... */
const char *import_levels_text(unsigned levels);
/* Sets import.levels: what --user or --kernel say, else what most of the tree can be made of. Asked
 * once; refused where events of different levels are all there is. */
int import_levels(struct import *im, const struct import_set *set, size_t n,
		  struct err *err) MUST_USE;

/* What was said of the machine, and what k.machine and k.who tell where they are known. */
void import_facts(struct import *im);
struct import_smt {
	double on;	 /* 0, 1; NAN: the counts do not show it */
	const char *why; /* how it was found; arena memory, or NULL */
};

/* Whether SMT was on, by events that show it; count and share by event of the model. */
int import_smt(struct import_smt *out, struct arena *a, const struct model *m, const double *count,
	       const double *share, struct err *err) MUST_USE;
/* Some metric of the model asks for persistent memory. */
bool import_asks_pmem(const struct model *m);

/* Prints the trees of all sets. `time`: of an interval's end, else NAN. `notes` may be NULL. */
int import_trees(struct import *im, const struct import_set *set, size_t n, double time,
		 const char *const *notes, size_t n_notes, struct err *err) MUST_USE;
/* What was not counted has none of these: the end of intervals. */
int import_report(struct import *im, const struct tree_report *r, struct err *err) MUST_USE;
/* The file is text: all of it, but for committing what was printed. */
int import_printed(struct import *im, struct err *err) MUST_USE;
/* The same of a recording. */
int import_recording(struct import *im, struct err *err) MUST_USE;

#endif
