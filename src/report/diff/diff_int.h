/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of diff: joined items, and the three steps of a diff - join, judge, put.
 */
#ifndef CYCLADE_REPORT_DIFF_INT_H
#define CYCLADE_REPORT_DIFF_INT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "perfdata/perfdata.h"
#include "report/diff.h"

enum diff_table {
	DIFF_TOTALS,
	DIFF_TREE,
	DIFF_ROWS,
	DIFF_SUMMED, /* those that sum has, too */
	DIFF_LINES = DIFF_SUMMED,
	DIFF_BLOCKS,
	DIFF_MEMORY,
	DIFF_TABLES
};

enum { DIFF_KEYS = 4 };

enum diff_verdict {
	DIFF_NOISE,
	DIFF_MOVED,
	DIFF_NEW,
	DIFF_GONE,
	DIFF_NOT_COMPARABLE, /* see item.why */
	DIFF_SAME,	     /* every figure is the same */
	DIFF_VERDICTS
};
extern const char *const diff_verdicts[DIFF_VERDICTS];

/* A value of one recording. */
struct diff_amount {
	double v;	/* 0: it has none */
	double var;	/* its variance by sampling; NAN: not known */
	double samples; /* that it is worth: a count with Poisson's error; 0: not a count */
	double whole;	/* of the tree: all slots; else 0 */
	bool counted;	/* of the tree and of counts: it has a value, which others may not have */
};

/* Names made of addresses are one function's only within a build. */
enum diff_alone { DIFF_OF_BOTH, DIFF_OF_BASE, DIFF_OF_NEW };

struct diff_item {
	/* totals: name; tree: where, node; rows: event, dso, function; lines: the same, line within
	 * the function; blocks: dso, function, block; memory: group, key, figure */
	const char *key[DIFF_KEYS];
	const char *shown; /* lines: FILE:LINE, of the newest side that has it */
	const char *unit;
	size_t event; /* rows, lines: of several events the number of this one in totals; else 0 */
	bool seconds; /* of the unit */
	bool ratio;   /* is no amount of which parts may be added up */
	bool named;   /* by a limit */
	bool counts;  /* was counted, not sampled: a run without a value has none, not 0 */
	unsigned depth;
	enum diff_alone alone;
	size_t side;		 /* the new one, from 1 */
	struct diff_amount *run; /* the base's recordings, then the new side's */
	/* judged: */
	struct estimate base, new, change;
	double difference, chance;
	double base_samples, new_samples;
	enum diff_verdict verdict;
	const char *why; /* why it is not comparable, or why bar and verdict differ; NULL */
	struct diff_match *match; /* functions: joined by it, or with a doubt not; NULL */
};

enum diff_match_kind {
	DIFF_RENAMED,
	DIFF_FILE_RENAMED,
	DIFF_INLINED,	/* base functions are inlined into new ones */
	DIFF_UNINLINED, /* the other way round */
	DIFF_SPLIT,
	DIFF_MERGED,
};

/* Functions of the two sides that are the same code under other names, or its parts. */
struct diff_match {
	enum diff_match_kind kind;
	size_t side;	    /* the new one */
	bool certain;	    /* else nothing is joined */
	bool reported;	    /* a row of it is */
	const char *dso;    /* the new side's */
	const char **of[2]; /* names in the base and on the new side, the main one first */
	size_t n[2];
	double alike; /* of their code; NAN: not compared */
	const char *why;
};

struct diff_file {   /* a program or library that has another name on a side */
	size_t side; /* the new one */
	const char *base, *new;
	bool certain; /* else nothing is joined */
	double alike; /* NAN: not compared */
	const char *why;
};

struct diff_side_sum { /* figures of a side, for people and programs */
	const char *name, *inputs, *command, *host, *arch, *os_release, *cpu, *recorder;
	uint64_t recordings;
	bool unknown; /* it does not have the machine */
	struct estimate seconds;
};

struct diff_limit {
	const char *expr, *side, *what;
	bool exceeded;
	struct estimate change;
};

/* The totals of an event in a recording. */
struct diff_total {
	double period, samples;
	bool counted; /* not sampled: samples is 0 */
};

enum diff_kind { DIFF_ABSENT, DIFF_SAMPLED, DIFF_COUNTED };

typedef VEC(struct diff_item) diff_items;

/* Comparisons that are corrected together. */
enum { DIFF_NAMED, DIFF_OF_TOTALS, DIFF_OTHERS, DIFF_FAMILIES };

struct diff_family {
	const char *name;
	size_t n, changed; /* figures that could be compared, and those that are reported */
	double level;	   /* chance of any false report */
	double needed;	   /* below it the next figure would be reported */
};

struct diff {
	struct arena a;
	const struct diff_side *side;
	size_t n_sides;
	struct diff_opts opts;
	struct strtab event; /* names of events of all recordings */
	struct u64map total_at, kind;
	VEC(struct diff_total) total;
	diff_items table[DIFF_TABLES];
	struct diff_family family[DIFF_FAMILIES];
	VEC(struct diff_match *) match; /* of the arena */
	VEC(struct diff_file) file;
	struct diff_side_sum *sum;
	VEC(const char *) note;
	VEC(struct diff_limit) limit;
	struct pd_losses losses;
	bool exceeded; /* a limit */
};

/* Reads the recordings' totals of each event: before the functions that use them. */
void diff_read_totals(struct diff *x);
/* Returns the totals in recording `run` of a side; all 0: it does not have the event. */
struct diff_total diff_total(const struct diff *x, size_t side, size_t run, const char *event);
/* Returns how a side has it. */
enum diff_kind diff_kind(const struct diff *x, size_t side, const char *event);
/* Fills the tables with the amounts of all recordings; of a single side those of its own. */
int diff_join(struct diff *x, struct err *err) MUST_USE;
/* Looks for the functions of one side alone on the other one, and joins the certain matches. */
void diff_match(struct diff *x, size_t side);
/* Returns true if the name is made of an address: "sort+0x5a20", "0x5a20". */
bool diff_is_address(const char *dso, const char *function);
/* Looks for files of the base alone among those of a side alone, before anything is joined. */
void diff_match_files(struct diff *x, size_t side);
/* Return the name that a file of the base has on a side, and the other way round: mostly its
 * own. */
const char *diff_file_new(const struct diff *x, size_t side, const char *dso);
const char *diff_file_base(const struct diff *x, size_t side, const char *dso);
/* Compares the builds of two files, by their names on each side. */
enum diff_builds { DIFF_BUILDS_UNKNOWN, DIFF_BUILDS_SAME, DIFF_BUILDS_DIFFER };
enum diff_builds diff_builds(const struct diff_side *a, const char *dso_a,
			     const struct diff_side *b, const char *dso_b);
/* Sides as a whole, and notes on missing comparisons. */
void diff_sides(struct diff *x);
/* Recordings of a single side, each alone, and notes of how they differ: for a sum. */
void diff_recordings(struct diff *x);
/* Marks the items that limits name: before diff_judge(). */
int diff_mark_named(struct diff *x, struct err *err) MUST_USE;
/* Error bars and verdicts; orders the rows. */
void diff_judge(struct diff *x);
/* Makes the rows of the limits: after it. */
int diff_gates(struct diff *x, struct err *err) MUST_USE;
/* Returns true if it is more than chance: moved, new or gone. */
bool diff_reported(const struct diff_item *it);
/* Returns true if the change's error bar, which is of this row alone, excludes 0. */
bool diff_outside(const struct diff_item *it);
/* Returns the mean of a side's recordings, with its error. */
struct estimate diff_mean(const struct diff_amount *run, size_t n);
/* The order of their first `n` keys. */
int diff_by_keys(const struct diff_item *p, const struct diff_item *q, int n);
/* Numbers the rows or lines (their key[0]) of several events. */
void diff_number_events(struct diff *x, enum diff_table t);
/* "old -> new", "f + g -> g". A function without a match: its name. */
const char *diff_function_name(struct arena *a, const struct diff_item *it);
/* Frees all but *x itself. */
void diff_clear(struct diff *x);

/* Returns a symbol by its name in the side's file `dso`, and sets its image. NULL: none. */
const struct symbol *diff_symbol(const struct diff_run *r, const char *dso, const char *function,
				 uint32_t *image);
/* Returns the table from a recording's documents; NULL: none has it. */
const struct table *diff_find(const struct diff_run *r, const char *table);
/* Returns SIZE_MAX if the table has no such column. */
size_t diff_column(const struct table *t, const char *key);
/* Returns a number of any kind, NAN if there is none; and its error, half of 95 %. */
struct estimate diff_number(const struct table *t, size_t column, const struct table_row *r);
/* Returns a copy of a text; NULL: there is none. */
const char *diff_text(struct arena *a, const struct table *t, size_t column,
		      const struct table_row *r);

/* ---- chance: how likely a difference is if nothing changed ----------------------------------- */

/* Two counts, of which an equal value makes the first a share `p` of both. */
double chance_counts(double a, double b, double p);
/* Student's t, two-sided. */
double chance_t(double t, double freedom);

#endif
