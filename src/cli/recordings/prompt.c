/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines by libedit, which keeps them; as the terminal gives them if libedit is not there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/library.h"
#include "cli/cli.h"
#include "cli/recordings/sql_shell.h"
#include "config.h"

#if HAVE_LIBEDIT
#include <editline/readline.h>

#define CALLS(CALL)                              \
	CALL(, add_history)                      \
	CALL(, readline)                         \
	CALL(, rl_attempted_completion_function) \
	CALL(, rl_completion_entry_function)     \
	CALL(, rl_completion_matches)

static struct {
	CALLS(LIBRARY_POINTER)
} edit;
static const char *const names[] = { CALLS(LIBRARY_NAME) };
static struct library library = LIBRARY("lines cannot be edited", LIBEDIT_SO, names, edit,
					"install libedit (Debian: libedit2)");

static const struct prompt_words *offered;

/* "b.sam" is completed as "b.sample". */
static char *joined(const char *begin, size_t len, const char *word)
{
	char *s = malloc(len + strlen(word) + 1);

	if (s) {
		memcpy(s, begin, len);
		memcpy(s + len, word, strlen(word) + 1);
	}
	return s;
}

static char *next_word(const char *begin, int state)
{
	const char *const *const lists[] = { offered->command, offered->table, offered->column };
	const char *dot = strrchr(begin, '.');
	size_t front = dot && dot > begin ? (size_t)(dot + 1 - begin) : 0;
	static size_t list, at;

	if (!state) {
		list = front ? 2 : 0;
		at = 0;
	}
	for (; list < sizeof(lists) / sizeof(*lists); list++, at = 0)
		while (lists[list][at]) {
			const char *word = lists[list][at++];

			if (!strncasecmp(word, begin + front, strlen(begin + front)))
				return joined(begin, front, word);
		}
	return NULL;
}

static char **complete_word(const char *word, int from, int to)
{
	(void)from;
	(void)to;
	return edit.rl_completion_matches(word, next_word);
}

static char *no_file(const char *word, int state)
{
	(void)word;
	(void)state;
	return NULL;
}

static bool can_edit(void)
{
	static bool failed;
	struct err err = ERR_INIT;

	if (failed || !library_open(&library, &err))
		return !failed;
	failed = true;
	cli_warn("%s; %s", err.what, err.hint);
	return false;
}

static char *edited_line(const char *prompt, const struct prompt_words *words)
{
	char *line;

	offered = words;
	*edit.rl_attempted_completion_function = complete_word;
	*edit.rl_completion_entry_function = no_file;
	line = edit.readline(prompt);
	if (line && *line)
		(void)edit.add_history(line);
	return line;
}

#else

static bool can_edit(void)
{
	return false;
}

static char *edited_line(const char *prompt, const struct prompt_words *words)
{
	(void)prompt;
	(void)words;
	return NULL;
}

#endif

static char *plain_line(const char *prompt)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	(void)fputs(prompt, stdout);
	(void)fflush(stdout);
	n = getline(&line, &size, stdin);
	if (n < 0) {
		clearerr(stdin);
		free(line);
		return NULL;
	}
	if (n && line[n - 1] == '\n')
		line[n - 1] = 0;
	return line;
}

char *prompt_line(const char *prompt, const struct prompt_words *words)
{
	return can_edit() ? edited_line(prompt, words) : plain_line(prompt);
}
