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

static void put_names(const char *const *names)
{
	size_t width = 0, at = 0;

	for (const char *const *s = names; *s; s++)
		width = strlen(*s) > width ? strlen(*s) : width;
	for (; *names; names++) {
		bool last = !names[1] || at + 2 * width + 4 > 80;

		(void)printf("%-*s%s", last ? 0 : (int)width + 2, *names, last ? "\n" : "");
		at = last ? 0 : at + width + 2;
	}
}

/* False: .quit. */
static bool command(const struct sql_shell *s, char *line)
{
	const char *word = strtok(line, " \t;"), *more = strtok(NULL, " \t;'\"");

	if (!strcmp(word, ".quit") || !strcmp(word, ".exit") || !strcmp(word, ".q"))
		return false;
	if (!strcmp(word, ".tables"))
		put_names(s->table);
	else if (strcmp(word, ".schema") != 0 && strcmp(word, ".explain") != 0)
		(void)fputs(help, stdout);
	else if (!s->schema(s->ctx, more))
		cli_warn("no table or column is '%s'; .tables shows all tables", more);
	return true;
}

int sql_shell(const struct sql_shell *s)
{
	const char *const *const words[] = { s->table, s->column };
	struct buf text = BUF_INIT;
	bool more = true;

	(void)puts("SQL over the recording: .tables shows what there is, .help the rest");
	while (more && !text.failed) {
		char *line = prompt_line(text.len ? "    ...> " : "cyclade> ", words);
		const char *begin = line ? line + strspn(line, " \t") : "";
		bool dropped = s->interrupted(s->ctx);

		/* a line: Ctrl-C came before the prompt read, and the line begins anew */
		if (dropped)
			buf_reset(&text);
		if (!line) {
			(void)putchar('\n');
			more = dropped;
		} else if (!text.len && *begin == '.') {
			more = command(s, line);
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
