/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config_file - the user's defaults: $XDG_CONFIG_HOME/cyclade/config, else
 * ~/.config/cyclade/config.
 *
 *	config_read(&c, &arena, &err)		the file, if there is one
 *	config_apply(&c, &opt, &arena, cmd, &err)	its options for a command
 *
 * A line is "key = value", "key" alone, "[command]", blank, or begins with #. Keys are long
 * options. Before the first section they are for every command that has them. Values go to the
 * line's end, blanks around them do not count, there are no quotes. Every key and value is checked
 * when the file is read, for every command, so that applying it can only fail for lack of memory.
 * Errors name FILE:LINE. Lists are a line for each element.
 */
#ifndef CYCLADE_CLI_CONFIG_FILE_H
#define CYCLADE_CLI_CONFIG_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/options.h"

#define CONFIG_SIZE_MAX ((size_t)64 << 10)

struct config_line {
	enum command cmd; /* CMD_COUNT: before the sections */
	const char *key, *value, *where;
};

struct config {
	const char *path; /* NULL: no home and no XDG_CONFIG_HOME */
	bool there;
	const char *unread; /* why an existing file is ignored, or NULL; arena's */
	VEC(struct config_line) line;
};

/* A file that cannot be read counts as none, except for `unread`. */
int config_read(struct config *c, struct arena *a, struct err *err) MUST_USE;
int config_parse(struct config *c, struct arena *a, const char *path, const char *text, size_t len,
		 struct err *err) MUST_USE;
int config_apply(const struct config *c, struct options *o, struct arena *a, enum command cmd,
		 struct err *err) MUST_USE;
/* A file of another name in the same directory; NULL: no directory, or no memory. */
const char *config_beside(struct arena *a, const char *name);
/* Reads a file that we chose, not the user, and whose content decides what is done or shown: it
 * must belong to this user or root, and nobody else may write it. The configuration may even name
 * programs to run (pre, post). */
int config_slurp(struct buf *text, const char *path, size_t limit, struct err *err) MUST_USE;
/* Help and completions must work whatever the file holds, and `config` reads it by itself. */
bool config_concerns(enum command cmd);
void config_free(struct config *c);

#endif
