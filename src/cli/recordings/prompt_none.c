/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines as the terminal gives them: a build without libedit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "cli/recordings/sql_shell.h"

char *prompt_line(const char *prompt, const char *const *const words[2])
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	(void)words;
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
