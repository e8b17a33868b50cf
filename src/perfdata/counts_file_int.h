/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts_file_int - rows on their way from text (counts_csv.c, counts_table.c, counts_json.c,
 * counts_tools.c) to sums (counts_file.c, counts_sums.c).
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

struct counts_row { /* as text has it; lengths of 0: unknown */
	struct piece event, cgroup, pmu, place, unit;
	uint64_t apart; /* differs if rows of one place and time are different pieces */
	double time;	/* NAN */
	double value, counted, noise;
	enum counts_state state;
};

struct counts_said { /* a figure, as text has it */
	struct piece name, unit, event, place, cgroup;
	double time, value, error;
	bool summary; /* of all intervals, as the tool itself made it */
};

struct counts_cell {
	uint32_t event, pmu, unit; /* of the names */
	uint32_t place, time;	   /* of the file's */
	uint64_t piece;
	double value, counted, noise; /* -1: unknown */
	uint8_t run;
	bool never;
};

struct counts_figure {
	uint32_t name, unit, event; /* of the names */
	uint32_t place, time;
	uint32_t nth; /* of figures that are alike in all of these */
	double value, error;
	bool summary;
};

struct counts_reader {
	struct strtab names;
	VEC(struct counts_cell) cells;
	VEC(struct counts_figure) figures;
	VEC(uint32_t) places; /* names of them */
	VEC(double) times;
	struct u64map place_of, time_of; /* to their numbers */
	struct u64map alike;		 /* how many figures are alike */
	const struct counts_choice *choice;
	uint32_t cgroup;  /* the first that was seen; 0: none */
	uint32_t runs;	  /* that began: "# started on" */
	uint32_t repeats; /* "(5 runs)" */
	double seconds;	  /* of the runs before this one */
	double elapsed;	  /* of this run; NAN */
	double user_s, sys_s;
	double last_time;		  /* when its last interval ended; NAN */
	uint32_t model[COUNTS_MODELS][2]; /* PMU, id */
	size_t n_models;
	uint32_t unnamed;		/* figures that have no name */
	bool failed, too_many, cgroups; /* cgroups: several */
};

static inline bool piece_is(struct piece p, const char *s)
{
	return p.len == strlen(s) && !memcmp(p.s, s, p.len);
}

bool piece_in(struct piece p, const char *const *words, size_t n); /* one of the words */
struct piece piece_trim(struct piece p);			   /* of nothing: an empty text */
/* A number: separators of thousands and a decimal comma are understood. NAN: it is none. */
double piece_number(struct piece p);
/* Per cent as a share; NAN if it is none. */
double counts_share(double percent);
/* COUNTS_VALUE unless "<not counted>" or "<not supported>". `share`: as printed beside. */
enum counts_state counts_state_of(struct piece p, double share);

void counts_add(struct counts_reader *r, const struct counts_row *row);
/* A figure that the tool printed; those without value are skipped. */
void counts_say(struct counts_reader *r, const struct counts_said *said);
/* "%  tma_retiring", "insn per cycle", "% of all branches", "MB/s  tma_x": a unit in front becomes
 * the unit. */
void counts_unit_of(struct counts_said *said, struct piece text);
/* A comment: "# started on" begins a run. */
void counts_comment(struct counts_reader *r, struct piece line);
void counts_add_model(struct counts_reader *r, struct piece pmu, struct piece id);
/* `text` with something in front, in the reader's memory. */
struct piece counts_prefixed(struct counts_reader *r, const char *front, struct piece text);
/* Intervals end in order; the last is how long it took. */
void counts_saw_time(struct counts_reader *r, double time);

/* counts_sums.c: every run has every event; a sum of different ones would be of no run. */
int counts_check_runs(const struct counts_file *f, const char *name, struct err *err) MUST_USE;
/* Something counted, or was printed. */
bool counts_any(const struct counts_file *f);

/* ---- words of lines ---- */
/* "1.000123456": seconds with nine decimals, of an interval. */
bool counts_is_time(struct piece w);
bool counts_is_unit(struct piece w);
/* A number, or "<not counted>". */
bool counts_is_count(struct piece w);
/* A character that an event can begin with. */
bool counts_is_name(struct piece w);
/* A value with its unit: milliseconds become nanoseconds, as the kernel counts them. */
void counts_set_unit(struct counts_row *row, struct piece unit);
/* CPU0, S0, S0-D0-C1, D0, N-1, S0-D0-CLS4, COMMAND-1234. */
bool counts_is_place(struct piece w);
/* The next line, without its end; false: there is none. */
bool counts_next_line(struct piece *text, struct piece *line);

/* ---- forms ---- */
struct counts_form {
	const char *name;
	/* 0: it is none of this form; else the separator, or 1. */
	char (*is)(struct piece text, char separator);
	void (*read)(struct counts_reader *r, struct piece text, char separator);
};

/* Fields of a line, without blanks and quotes around them; returns how many, COUNTS_FIELDS at most:
 * the rest of a longer line is left out. */
#define COUNTS_FIELDS 1024u
size_t counts_fields(struct piece line, char separator, struct piece *out, size_t most);

/* How many lines of `text` are of a form, with this separator. */
typedef size_t counts_rate(struct piece text, char separator);
/* The separator with which most are; `separator`: the one that the user chose, or 0. 0: none are.
 */
char counts_separator(struct piece text, char separator, counts_rate rate);

char counts_json_is(struct piece text, char separator);
char counts_csv_is(struct piece text, char separator);
char counts_table_is(struct piece text, char separator);
char counts_toplev_is(struct piece text, char separator);
char counts_toplev_csv_is(struct piece text, char separator);
char counts_spect_is(struct piece text, char separator);
char counts_spect_summary_is(struct piece text, char separator);
void counts_read_json(struct counts_reader *r, struct piece text, char separator);
void counts_read_csv(struct counts_reader *r, struct piece text, char separator);
void counts_read_table(struct counts_reader *r, struct piece text, char separator);
void counts_read_toplev(struct counts_reader *r, struct piece text, char separator);
void counts_read_toplev_csv(struct counts_reader *r, struct piece text, char separator);
void counts_read_spect(struct counts_reader *r, struct piece text, char separator);
void counts_read_spect_summary(struct counts_reader *r, struct piece text, char separator);

#endif
