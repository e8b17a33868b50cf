/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options - the values of configuration file, CYCLADE_OPTS and command line, as one structure.
 *
 * The rows of options.def are the whole truth about which options exist. A field's zero means "not
 * given"; if 0 is a value too, OPTION_GIVEN() distinguishes.
 */
#ifndef CYCLADE_CLI_OPTIONS_H
#define CYCLADE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/words.h"
#include "measure/measure_opts.h"

enum command {
#define COMMAND(id, name, operands, text) CMD_##id,
#include "cli/commands.def"
#undef COMMAND
	CMD_COUNT
};

/* Source of an option; a later one overrides an earlier one. */
enum option_from {
	FROM_NOBODY,
	FROM_FILE,	   /* the configuration file, before its sections */
	FROM_FILE_COMMAND, /* the command's section of it */
	FROM_ENVIRONMENT,  /* CYCLADE_OPTS */
	FROM_WORDS,	   /* the command line */
};

#define OPTION_ROWS_MAX 256

struct option_said {
	enum option_from from;
	const char *where; /* "FILE:LINE"; NULL if `from` is enough */
	const char *text;  /* the last argument given; NULL: none */
};

struct options {
	struct measure_opts measure; /* by its rows; cli_measure_opts() completes it */
	/* what */
	struct text_list event, cgroup, metrics, models;
	uint64_t level;
	const char *cpu, *fields, *account;
	const char *ibs_events, *linear;
	const char *model, *backend, *prefetchers, *import, *smt, *pmem;
	bool no_tree, regions, once, allow_remote, restore, branch;
	const char *call_graph; /* NULL: no; "": default kind */
	uint64_t stack_size;
	/* format */
	bool autofdo, bolt, propeller, symbol_order, pprof, firefox, perfetto, folded, flame_svg,
		timeline_svg, text;
	const char *dso;
	/* sample */
	const char *compress, *jitter, *keep;
	/* when */
	uint64_t timeout; /* ns */
	uint64_t max_output;
	struct text_list allow_program, allow_dir;
	uint64_t memory, seed;
	/* files */
	const char *input, *output, *data_file, *sysroot, *kallsyms, *vmlinux, *listen, *capture;
	struct text_list symbols, source;
	bool no_cache, append, with_sources;
	/* show */
	bool errors;
	const char *penalties, *unit, *normalize;
	struct text_list expand, with;
	const char *sort, *focus, *hide, *comm, *time, *format, *separator, *table;
	const char *html;
	struct text_list only_pid, only_tid, at;
	uint64_t max_stack, limit, functions, line_size;
	double min;
	bool wait, sched, wall, concurrency, critical, findings;
	bool children, callers, all_registers, mix, chains, json, raw_names, no_source, no_asm;
	bool no_arrows, no_blocks, bytes, map;
	bool llm, json_schema;
	bool hide_call_graph, no_inline, nanoseconds, show_task_events, show_mmap_events,
		show_switch_events;
	/* judge */
	struct text_list fail_if;
	double effect;
	bool allow_partial, anyway, ignore_failure, show_output;
	/* talk */
	const char *spin;
	bool verbose, quiet, quick, wide, no_pager, no_sandbox, why, help, origin;
	const char *color, *require;
	uint64_t log_fd;
	struct option_said said[OPTION_ROWS_MAX]; /* by row of options.def */
};

enum option_kind {
	OPT_FLAG,
	OPT_TEXT,
	OPT_LIST,
	OPT_FILTER,
	OPT_MAYBE,
	OPT_COUNT,
	OPT_BYTES,
	OPT_TIME,
	OPT_MS,
	OPT_DELAY,
	OPT_PERCENT
};

struct option_row {
	const char *group, *name, *arg, *help;
	char letter;
	enum option_kind kind;
	size_t offset;
	uint64_t commands; /* COMMAND_BIT(CMD_x) */
};
#define COMMAND_BIT(command) (UINT64_C(1) << (command))

extern const struct option_row option_rows[];
extern const size_t n_option_rows;

enum { OPTION_ARG_MAX = 128 };
/* The argument as help has it: "FILE", "a|b|c". The word FORMATS in a row stands for the formats
 * that all results have (src/show/format.def); `out` holds the text then. */
const char *option_arg(const struct option_row *row, char out[static OPTION_ARG_MAX]);
extern const char *const command_names[CMD_COUNT + 1]; /* NULL-ended */
extern const char *const command_operands[CMD_COUNT];
extern const char *const command_texts[CMD_COUNT];

/* Its operands are a program and the program's own arguments. */
bool command_runs_program(enum command cmd);

/* Parses argv[0..argc) (the command's own words, without program and command) for `cmd` into *o.
 * Operands are left in *rest (arena memory): for run, record, stat and compare parsing stops at the
 * first operand or "--", else operands may stand anywhere. */
int options_parse(struct options *o, struct arena *a, enum command cmd, int argc, char **argv,
		  struct text_list *rest, struct err *err) MUST_USE;
/* The same with the words of CYCLADE_OPTS, parted by blanks; quotes and backslashes are a shell's.
 * Options of other commands are skipped. The command line is to be parsed later. */
int options_parse_text(struct options *o, struct arena *a, enum command cmd, const char *text,
		       struct err *err) MUST_USE;
/* The row of an option of `cmd` (CMD_COUNT: of any), or NULL. */
const struct option_row *option_find(enum command cmd, const char *name);
/* "no option --foo", with the nearest name. */
int option_unknown(enum command cmd, const char *word, struct err *err);
/* One option of `cmd` with its argument, or of a flag "true" or "false". NULL: no argument. */
int option_set(struct options *o, struct arena *a, enum command cmd, const struct option_row *row,
	       const char *value, enum option_from from, const char *where,
	       struct err *err) MUST_USE;
/* Returns true if the option whose field lies at `offset` in struct options was given. */
bool options_given(const struct options *o, size_t offset);
#define OPTION_GIVEN(o, field) options_given((o), offsetof(struct options, field))

#endif
