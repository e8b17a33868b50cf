/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines by libedit. What it keeps between lines is its own.
 */
#include <editline/readline.h>
#include <stdlib.h>
#include <string.h>

#include "cli/recordings/sql_shell.h"

static const char *const *const *offered;

static char *next_word(const char *begin, int state)
{
	static size_t list, at;

	if (!state)
		list = at = 0;
	for (; list < 2; list++, at = 0)
		while (offered[list][at]) {
			const char *word = offered[list][at++];

			if (!strncasecmp(word, begin, strlen(begin)))
				return strdup(word);
		}
	return NULL;
}

static char **complete(const char *word, int from, int to)
{
	(void)from;
	(void)to;
	return rl_completion_matches(word, next_word);
}

static char *no_file(const char *word, int state)
{
	(void)word;
	(void)state;
	return NULL;
}

char *prompt_line(const char *prompt, const char *const *const words[2])
{
	char *line;

	offered = words;
	rl_attempted_completion_function = complete;
	rl_completion_entry_function = no_file;
	line = readline(prompt);
	if (line && *line)
		(void)add_history(line);
	return line;
}
