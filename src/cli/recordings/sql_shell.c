/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/sql_shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/cli.h"
#include "store/sql.h"

static const char help[] =
	"A query ends with a semicolon:  SELECT count(*) FROM samples;\n"
	".tables           names of all tables\n"
	".schema [TABLE]   columns, with what they mean; also TABLE.COLUMN and '*'\n"
	".quit             end (or Ctrl-D)\n";

static const char *const commands[] = { ".tables", ".schema", ".explain", ".help", ".quit", NULL };

static bool are_of_one(const char *a, const char *b)
{
	size_t n = strcspn(a, "_");

	return !strncmp(a, b, n) && (!b[n] || b[n] == '_');
}

/* Tables of one result begin a line of their own. */
static void put_names(const char *const *names)
{
	size_t at = 0, views = 0;
	bool of_one = false;

	for (size_t i = 0; names[i]; i++) {
		bool was = of_one, again = i && are_of_one(names[i], names[i - 1]);

		if (!strncmp(names[i], "IBS_", 4)) { /* views: they are many */
			views++;
			continue;
		}
		of_one = again || (names[i + 1] && are_of_one(names[i], names[i + 1]));
		if (at && (at + strlen(names[i]) + 2 > 78 || (!again && (was || of_one)))) {
			(void)putchar('\n');
			at = again ? (size_t)printf("    ") : 0;
		}
		at += (size_t)printf("%s%s", at && !(again && at == 4) ? "  " : "", names[i]);
	}
	(void)printf("\n%zu events of IBS are tables, too: cyclade list ibs\n", views);
}

int sql_shell_command(const struct sql_shell *s, char *line)
{
	const char *word = strtok(line, " \t\n;"), *more = strtok(NULL, " \t\n;'\"");

	if (!strcmp(word, ".quit") || !strcmp(word, ".exit") || !strcmp(word, ".q"))
		return SQL_SHELL_QUIT;
	if (!strcmp(word, ".tables")) {
		put_names(s->table);
	} else if (!strcmp(word, ".help")) {
		(void)fputs(help, stdout);
	} else if (strcmp(word, ".schema") != 0 && strcmp(word, ".explain") != 0) {
		cli_warn("no command is '%s'; .help shows all", word);
		return EXIT_ERROR;
	} else if (!s->schema(s->ctx, more)) {
		cli_warn("no table or column is '%s'; .tables shows all tables", more);
		return EXIT_ERROR;
	}
	return EXIT_OK;
}

int sql_shell(const struct sql_shell *s)
{
	const struct prompt_words words = { commands, s->table, s->column };
	struct buf text = BUF_INIT;
	bool more = true;

	(void)puts("SQL over the recording: .tables shows what there is, .help the rest");
	while (more && !text.failed) {
		char *line = prompt_line(text.len ? "    ...> " : "cyclade> ", &words);
		const char *begin = line ? line + strspn(line, " \t") : "";
		bool dropped = s->interrupted(s->ctx);

		/* a line: Ctrl-C came before the prompt read, and the line begins anew */
		if (dropped)
			buf_reset(&text);
		if (!line) {
			(void)putchar('\n');
			more = dropped;
		} else if (!text.len && *begin == '.') {
			more = sql_shell_command(s, line) != SQL_SHELL_QUIT;
		} else if (text.len || *begin) {
			buf_puts(&text, line);
			buf_puts(&text, "\n");
			if (sql_complete(buf_str(&text))) {
				s->query(s->ctx, buf_str(&text));
				buf_reset(&text);
			}
		}
		free(line);
	}
	buf_free(&text);
	return EXIT_OK;
}
