/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts_file_int - rows on their way from text (counts_file_lines.c, counts_file_json.c) to sums
 * (counts_file.c).
 */
#ifndef CYCLADE_PERFDATA_COUNTS_FILE_INT_H
#define CYCLADE_PERFDATA_COUNTS_FILE_INT_H

#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "perfdata/counts_file.h"

#define COUNTS_ROWS_MAX (1u << 20)
#define COUNTS_RUNS_MAX 64u

struct piece { /* of the text */
	const char *s;
	size_t len;
};

enum counts_state {
	COUNTS_VALUE,
	COUNTS_NEVER, /* wanted, but never on a counter */
	COUNTS_IDLE,  /* never enabled, or not supported: there is nothing to miss */
};

struct counts_row { /* as text has it; lengths of 0: not said */
	struct piece event, cgroup, pmu;
	uint64_t place; /* hash of time and place */
	double value, counted;
	enum counts_state state;
};

struct counts_cell {
	uint32_t event, pmu; /* of the names */
	uint64_t place;
	double value, counted; /* counted: -1: not said */
	uint8_t run;
	bool never;
};

struct counts_reader {
	struct strtab names;
	VEC(struct counts_cell) cells;
	const struct counts_choice *choice;
	uint32_t cgroup;		  /* the first that was seen; 0: none */
	uint32_t runs;			  /* that began: "# started on" */
	double seconds;			  /* of the runs before this one */
	double elapsed;			  /* of this run; NAN */
	double last_time;		  /* when its last interval ended; NAN */
	uint32_t model[COUNTS_MODELS][2]; /* PMU, id */
	size_t n_models;
	bool failed, too_many, cgroups, metrics; /* cgroups: several; metrics: of perf, without
						    counts */
};

static inline bool piece_is(struct piece p, const char *s)
{
	return p.len == strlen(s) && !memcmp(p.s, s, p.len);
}

struct piece piece_trim(struct piece p);
/* A number: separators of thousands and a decimal comma are understood. NAN: it is none. */
double piece_number(struct piece p);
/* Per cent as a share; NAN where it is none. */
double counts_share(double percent);
/* COUNTS_VALUE for what is no "<not counted>" or "<not supported>". `share`: as printed beside. */
enum counts_state counts_state_of(struct piece p, double share);

void counts_add(struct counts_reader *r, const struct counts_row *row);
/* A comment: "# started on" begins a run. */
void counts_comment(struct counts_reader *r, struct piece line);
void counts_add_model(struct counts_reader *r, struct piece pmu, struct piece id);

void counts_read_json(struct counts_reader *r, struct piece text);
void counts_read_csv(struct counts_reader *r, struct piece text, char separator);
void counts_read_table(struct counts_reader *r, struct piece text);
/* How many lines would be rows; at most `enough` lines are tried. */
size_t counts_csv_lines(struct piece text, char separator, size_t enough);
/* The next line, without its end; false: there is none. */
bool counts_next_line(struct piece *text, struct piece *line);

#endif
