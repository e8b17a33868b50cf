/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat_import - the pieces of stat --import: the tree of a set of counts (stat_import.c), text
 * (stat_import_text.c), recordings of perf stat (stat_import_data.c), names of events
 * (stat_import_event.c), facts that come with counts (stat_import_facts.c), counts and figures that
 * are no tree's (stat_import_rows.c), figures that a tool printed, and formulas that need fewer
 * counts (stat_import_given.c), the model of the counts (stat_import_guess.c).
 */
#ifndef CYCLADE_CLI_STAT_IMPORT_H
#define CYCLADE_CLI_STAT_IMPORT_H

#include "cli/counting_out.h"
#include "cli/model_choice.h"
#include "cli/stat.h"
#include "perfdata/counts_file.h"
#include "report/counts.h"
#include "report/tree_view.h"

#define IMPORT_CORES 4u
#define IMPORT_NOTES 16u

/* Whether two names of the model are one event. */
enum import_alike { IMPORT_ASK, IMPORT_SAME, IMPORT_OTHER };

struct import_core {	 /* a kind of cores */
	const char *pmu; /* NULL: there is one kind */
	struct model *m;
	bool *named, *wanted; /* by metric: by --node, -M; alone to be shown. NULL: all */
	/* made once for all sets */
	struct tree_maker *maker;
	uint8_t *alike; /* [used * n_events + event], of enum import_alike */
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
	double scale;	 /* the printed number times this is the event's count */
	bool generic;	 /* a name that means something on every CPU: cycles */
	unsigned levels; /* enum import_level */
	uint32_t own;	 /* the event that formulas ask for at this level alone; MODEL_NONE */
};

struct import {
	struct cli *cli;
	struct measure_opts opts;
	struct arena *a;   /* the cli's */
	struct arena once; /* of one printing */
	struct counting k; /* known facts of the machine that counted; no counter is open */
	bool has_machine;
	bool no_pmem; /* true: unknown whether there is persistent memory */
	double system[SYSTEM_COUNT];
	struct import_core core[IMPORT_CORES];
	size_t n_cores;
	const char *form; /* of text: who printed it */
	bool levels_known;
	unsigned levels; /* of which counts make the tree */
	struct counting_out out;
};

/* The counts of one place, of one kind of cores, in one span of time. */
struct import_set {
	const char *label; /* NULL: all there is */
	size_t core;	   /* of import.core */
	size_t lps;	   /* CPUs that could count at once; 0: not known */
	double seconds;
	struct counts_sums sums;
	const struct import_known *known; /* by event of the sums */
	uint32_t repeats;		  /* -r: that counts are the mean of; 0: not known */
	bool first; /* of its place: values that belong to no kind of cores are shown with it */
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
/* Sets import.levels: as --user or --kernel ask, else the levels that most of the tree can be made
 * of. Call once; fails if there are only events of different levels. */
int import_levels(struct import *im, const struct import_set *set, size_t n,
		  struct err *err) MUST_USE;

/* The machine's facts: those given, and those of k.machine and k.who if they are known. */
void import_facts(struct import *im);
/* Bits for import_slots(), or'ed over all events: how an event counts slots, by its name. */
unsigned import_slots_by(const char *event);
/* Before models are loaded: chooses formulas without the counter of slots if these events show that
 * another program had it. */
void import_slots(struct import *im, unsigned by);
struct import_smt {
	double on;	 /* 0, 1; NAN: the counts do not show it */
	const char *why; /* how it was found; arena memory, or NULL */
};

/* Whether SMT was on, by events that show it; count and share by event of the model. */
int import_smt(struct import_smt *out, struct arena *a, const struct model *m, const double *count,
	       const double *share, struct err *err) MUST_USE;
/* Some metric of the model asks for persistent memory. */
bool import_asks_pmem(const struct model *m);

/* By its name and that of the PMU ("" if it is not given), privilege levels included. */
struct counts_kind import_kind(const char *name, const char *pmu);

/* ---- stat_import_rows.c ---- */

/* Rows of a set: all events, or those alone that are none of its model's (`beside`). */
int import_rows(struct counts_row **out, size_t *n, struct import *im, const struct import_set *set,
		bool beside, struct err *err) MUST_USE;
/* The same of figures; `m`: whose nodes some are, NULL: nobody's. */
int import_printed_rows(struct counts_printed **out, size_t *n, struct import *im,
			const struct import_set *set, const struct model *m,
			struct err *err) MUST_USE;
/* Prints sets as events and figures, without a tree. */
int import_counted(struct import *im, const struct import_set *set, size_t n,
		   const struct count_head *head, struct err *err) MUST_USE;
/* Prints the events in `c` as a document of its own. */
int import_put_events(struct import *im, struct counts *c, bool last, struct err *err) MUST_USE;
/* The set's place and kind of cores; NULL: there is one. */
const char *import_label(struct import *im, const struct import_set *s);

/* ---- stat_import_given.c ---- */

/* The metric that a figure's name means; MODEL_NONE. */
uint32_t import_metric(const struct model *m, const char *figure);
struct import_given {
	double *value;	 /* by metric: tree_counts.given */
	const char **by; /* tree_counts.given_by */
	size_t n;	 /* how many */
};
/* Adds figures of the set that are nodes of the model, if these have no value yet. */
int import_take_figures(struct import_given *out, struct arena *a, const struct model *m,
			const struct counts_sums *s, const char *form, struct err *err) MUST_USE;
/* Figures that differ from the tree's: *note in words, or NULL. */
int import_disagreement(const char **note, struct arena *a, const struct tree *t,
			const struct counts_sums *s, struct err *err) MUST_USE;
/* Nodes that miss nothing but small corrections, which perf stat's own figures leave out, without
 * these. `counts` has the rest. Begins `given`. */
int import_without_corrections(struct import_given *given, struct import *im, size_t core,
			       const struct tree *t, const struct tree_counts *counts,
			       const char **note, struct err *err) MUST_USE;

/* ---- stat_import_guess.c ---- */

/* The model that fits the text's events and figures: *id NULL if none does; *why: in words. */
int import_guess(const char **id, const char **why, struct import *im,
		 const struct counts_file *file, const char *kind, struct err *err) MUST_USE;

/* Prints the trees of all sets. `time`: of an interval's end, else NAN. `notes` may be NULL. */
int import_trees(struct import *im, const struct import_set *set, size_t n,
		 const struct count_head *head, struct err *err) MUST_USE;
/* Head of a span: `time` is an interval's end, else NAN. */
struct count_head import_head(const struct import *im, double time, double seconds);
/* Prints a document; it is the last one if r->head.time is NAN. */
int import_report(struct import *im, const struct tree_report *r, struct err *err) MUST_USE;
/* The file is text: prints all of it; the caller commits the output. */
int import_printed(struct import *im, struct err *err) MUST_USE;
/* The same of a recording. */
int import_recording(struct import *im, struct err *err) MUST_USE;
/* The tree of counts of this kind of cores, in the arena of a set. */
int import_tree(struct import *im, size_t core, const struct tree_counts *counts, struct tree *out,
		struct err *err) MUST_USE;

#endif
