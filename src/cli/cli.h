/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cli - the argument of every command, and the few things they share: exit codes, messages, the
 * choice of the input file, colour and pager.
 *
 * A command is `int cmd_NAME(struct cli *)`; it returns the exit code. Only this room prints, reads
 * the environment and ends the process.
 */
#ifndef CYCLADE_CLI_CLI_H
#define CYCLADE_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "base/num.h"
#include "cli/starter.h"
#include "cli/options.h"
#include "show/style.h"

enum { /* exit codes, as documented */
       EXIT_OK = 0,
       EXIT_NO = 1,	  /* the answer is "no" */
       EXIT_ERROR = 2,	  /* usage or run-time error, no workload involved */
       EXIT_TOOL = 125,	  /* with a workload: we failed */
       EXIT_CANNOT = 126, /* the workload cannot be executed */
       EXIT_ABSENT = 127, /* the workload was not found */
};

struct document; /* show/document.h */
struct document_form;
struct show;

struct cli {
	enum command command;
	struct options opt;
	struct text_list args;		     /* operands */
	struct arena arena;		     /* for the command's own use; freed at exit */
	const struct ibs_own *ibs_own;	     /* derived.h: the user's own events, if read */
	const struct ibs_event *derived[2];  /* that -e names: of ops, of fetches */
	struct text_list beside_derived;     /* its other names */
	double progress_from, progress_last; /* seconds, monotonic; 0: not begun */
	bool progress_shown;
	size_t progress_wide; /* columns of the line that is there */
	struct starter pager;
};

#define COMMAND(id, name, operands, text) int cmd_##name(struct cli *cli);
#include "cli/commands.def"
#undef COMMAND

/* "cyclade: MESSAGE" and, if any, " hint" to stderr, made safe for terminals. Returns
 * EXIT_ERROR. */
int cli_fail(const struct err *err);
/* The same with another code. */
int cli_fail_as(const struct err *err, int code);
/* A limit of this process that may be why memory was refused; false: none of that kind. */
#define CLI_MEMORY_LIMITS 2u
bool cli_memory_limit(unsigned which, char *line, size_t room);
/* A line to stderr, "cyclade: ...", unless -q. */
void cli_note(const struct cli *cli, const char *fmt, ...) PRINTF_(2, 3);
/* The same if the output is incomplete: with -q, too. */
void cli_warn(const char *fmt, ...) PRINTF_(1, 2);

/* The options of CYCLADE_OPTS for a command. */
int cli_environment(struct options *o, struct cli *cli, enum command cmd, struct err *err) MUST_USE;

/* The recording to read: -i, else the next operand, else cyclade.data or perf.data if there.
 * Takes the operand off cli->args. */
const char *cli_input(struct cli *cli, struct err *err);
/* The last of these; NULL: there is none. */
const char *cli_usual_input(void);

/* The operands of a command that takes [FILE] [FUNCTION]: one of them is a recording if there is
 * such a file, else a function of the usual recording. */
struct cli_operands {
	const char *path, *function; /* function NULL: none */
	const char *input;	     /* the recording as it was named; NULL: it was not */
};
int cli_file_function(struct cli *cli, struct cli_operands *out, struct err *err) MUST_USE;
/* The same for [FILE] alone. */
int cli_one_recording(struct cli *cli, struct cli_operands *out, struct err *err) MUST_USE;

/* Lists the functions that a name may mean, and the words to type for one of them. Returns
 * EXIT_ERROR. */
struct cli_choice {
	const char *dso, *name;
	uint64_t start;		   /* distinguishes those of the same file and name */
	char weight[NUM_MAX + 16]; /* "      12 samples" */
};
int cli_choices(const struct cli *cli, const char *said, const struct cli_choice *c, size_t n);

/* How to write to `fd`: by --color, NO_COLOR, CLICOLOR_FORCE, TERM, COLUMNS, the locale. */
struct style cli_style(const struct cli *cli, int fd);

/* The user is at a terminal on which browse works. */
bool cli_can_browse(void);

/* The format that the options name: "json", "csv", ...; "term" if they name none. */
const char *cli_format(const struct cli *cli);

/* How a result is to be shown where cli_put will: format and table, refused if it has none such. */
int cli_show(struct cli *cli, struct show *out, const struct document_form *f,
	     struct err *err) MUST_USE;
/* Prints the JSON Schema of the result, for --json-schema; cli_show() does so and then returns -1,
 * with ERR_ANSWERED. Returns an exit code. */
int cli_schema(struct cli *cli, const struct document_form *f);
/* Writes a finished document as cli_put does, and to standard error the notes and losses that its
 * format had no place for. Returns an exit code. */
int cli_document(struct cli *cli, struct document *d, const struct show *s);
/* That last part alone, also with -q; `notes`: notes as well as losses. */
void cli_say_unsaid(const struct document *d, const struct show *s, bool notes);

/* The separator of -x: one character, or \t; a comma without -x. */
int cli_separator(const struct cli *cli, char *out, struct err *err) MUST_USE;

/* Writes a finished text as the options ask: -o FILE (appears whole or not at all), else standard
 * output, through a pager if that is due. A reader that went away (EPIPE) is no error. Prints the
 * failure; returns an exit code. */
int cli_put(struct cli *cli, const struct buf *text, bool may_page);
/* Starts the pager for long texts on a terminal, if one is wanted; cli_put does so by itself while
 * that is still allowed. */
void cli_pager(struct cli *cli);

/* A text that may be large: to where cli_put writes and by the same rules, but of one for programs
 * (`machine`) parts leave while it is made, at each call of buf_spill. Open it first, have it
 * written to `text`, then end it once, by either way:
 *	cli_out_put	all of it was put; returns as cli_put does
 *	cli_out_fail	it was not: `why`, unless writing failed before; there is no file of -o's
 * It must not be moved in between. */
struct cli_out {
	struct cli *cli;
	struct buf text;
	struct buf_drain drain;
	struct file_new file;
	bool machine, begun;
	uint64_t size;	/* bytes of the whole text, once it was put */
	struct err err; /* of writing */
};
void cli_out_open(struct cli_out *o, struct cli *cli, bool machine);
int cli_out_put(struct cli_out *o);
int cli_out_fail(struct cli_out *o, const struct err *why);

/* Progress on stderr: one line, only on a terminal, only after half a second. NAN: how much is
 * done is not known, the time is shown. */
void cli_progress(void *cli, double fraction);
/* The same with a line of the caller's, of at most CLI_PROGRESS_WIDE columns, without an end. */
enum { CLI_PROGRESS_WIDE = 72 };
void cli_progress_line(struct cli *cli, const char *line);
void cli_progress_end(struct cli *cli);

/* Directories by XDG and HOME, in the cli's arena; NULL if there is none, or it is not this
 * user's. */
const char *cli_cache_dir(struct cli *cli);
/* perf's cache if its configuration names one ([buildid] dir); else NULL. */
const char *cli_perf_cache(struct cli *cli);
/* HOME, if the cache that perf has there by default is this user's. */
const char *cli_perf_home(struct cli *cli);
const char *cli_data_dir(struct cli *cli);
/* The cache of elfutils' debuginfod client (debuginfod_find_debuginfo(3)); it need
 * not exist. NULL: nowhere. */
const char *cli_debuginfod_dir(struct cli *cli);

#endif
