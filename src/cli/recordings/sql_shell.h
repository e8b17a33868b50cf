/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sql_shell - queries typed at a terminal: lines up to a semicolon, and .tables, .schema, .help,
 * .quit. Ctrl-C drops the line, Ctrl-D ends.
 */
#ifndef CYCLADE_CLI_SQL_SHELL_H
#define CYCLADE_CLI_SQL_SHELL_H

#include <stdbool.h>

struct sql_shell {
	void *ctx;
	void (*query)(void *ctx, const char *text);	/* answers it, or prints the error */
	bool (*schema)(void *ctx, const char *pattern); /* false: there is no such table */
	bool (*interrupted)(void *ctx);			/* since the last line; asking forgets it */
	const char *const *table, *const *column;	/* names, ended by NULL */
};

/* Until .quit or the end of input. Returns the exit code. */
int sql_shell(const struct sql_shell *s);
/* One command, as .tables; changes `line`. Returns the exit code, or: */
#define SQL_SHELL_QUIT (-1)
int sql_shell_command(const struct sql_shell *s, char *line);

/* ---- lines ----------------------------------------------------------------------------------- */

/* The words that Tab completes, each list ended by NULL; after "TABLE." columns alone. */
struct prompt_words {
	const char *const *command, *const *table, *const *column;
};
/* The next line, without its newline; the caller frees it. NULL: the end, or a signal. With libedit
 * it can be edited, lines before it come again, and Tab completes `words`. */
char *prompt_line(const char *prompt, const struct prompt_words *words);

#endif
