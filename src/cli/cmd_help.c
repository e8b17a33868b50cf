/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * help - the manual's pages on a terminal: the Markdown of doc/ with its marks taken out.
 */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/pages.h"

static const struct page *find_page(const char *name)
{
	for (size_t i = 0; i < n_pages; i++)
		if (!strcmp(pages[i].name, name))
			return &pages[i];
	return NULL;
}

/* A line without the marks for bold and code. */
static void put_plain(struct buf *b, const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (line[i] == '`')
			continue;
		if (line[i] == '*' && i + 1 < len && line[i + 1] == '*') {
			i++;
			continue;
		}
		buf_putc(b, line[i]);
	}
}

/* Prose is wrapped anew; indented lines (code, screens) stay as they are. */
static bool is_prose(const char *line, size_t len)
{
	return len && *line != ' ' && *line != '#' && *line != '|' && *line != '@';
}

/* "* " begins an item of a list, ": " what the line above means. */
static bool is_item(const char *line)
{
	return !strncmp(line, "* ", 2) || !strncmp(line, ": ", 2);
}

/* An item is a paragraph, whose further lines may begin with two blanks. */
static const char *put_paragraph(struct buf *b, const char *line, size_t width)
{
	const bool item = is_item(line), meaning = *line == ':';
	struct buf text = BUF_INIT;

	line += meaning ? 2 : 0;

	for (size_t len; (len = strcspn(line, "\n")); line += len + (line[len] == '\n')) {
		size_t blanks = item ? strspn(line, " ") : 0;

		if (blanks > 2 || !is_prose(line + blanks, len - blanks) ||
		    (text.len && is_item(line)))
			break;
		if (text.len)
			buf_putc(&text, ' ');
		put_plain(&text, line + blanks, len - blanks);
	}
	buf_puts(b, meaning ? "        " : "    ");
	text_put_wrapped(b, buf_str(&text), meaning ? 8 : item ? 6 : 4, width);
	buf_putc(b, '\n');
	b->failed |= text.failed;
	buf_free(&text);
	return line;
}

static void put_page(struct buf *b, const struct page *page, enum command cmd,
		     const struct style *st)
{
	/* long lines are hard to read, however wide the terminal is */
	const unsigned width = st->width && st->width < 100 ? st->width : 80;

	for (const char *line = page->text; *line;) {
		size_t len = strcspn(line, "\n");

		if (is_prose(line, len)) {
			line = put_paragraph(b, line, width);
			continue;
		}
		if (!strncmp(line, "# ", 2)) {
			style_ink(b, st, INK_BOLD);
			buf_put(b, line + 2, len - 2);
			style_ink(b, st, INK_PLAIN);
		} else if (len == 9 && !strncmp(line, "@OPTIONS@", 9)) {
			help_options(b, cmd, width);
			b->len--; /* the last row's newline: the page has its own */
		} else {
			if (len && strncmp(line, "    ", 4))
				buf_puts(b, "    ");
			buf_put(b, line, len);
		}
		buf_putc(b, '\n');
		line += len + (line[len] == '\n');
	}
}

/* As it is: an agent reads Markdown. */
static int put_for_agents(struct cli *cli)
{
	struct buf b = BUF_INIT;
	int code;

	buf_puts(&b, find_page("llm")->text);
	code = cli_put(cli, &b, true);
	buf_free(&b);
	return code;
}

int cmd_help(struct cli *cli)
{
	struct style st = cli_style(cli, STDOUT_FILENO);
	struct buf b = BUF_INIT;
	const struct page *page;
	enum command cmd = CMD_HELP;
	struct err err = ERR_INIT;
	char name[64];
	int code;

	if (cli->opt.llm)
		return put_for_agents(cli);
	if (!cli->args.n)
		return help_commands(cli);
	(void)snprintf(name, sizeof(name), "cyclade-%s", cli->args.v[0]);
	page = find_page(name);
	if (!page) {
		(void)err_set(&err, ERR_NOT_FOUND, "there is no page on '%.40s'", cli->args.v[0]);
		(void)text_suggest(&err, cli->args.v[0], command_names,
				   "cyclade help lists the commands");
		return cli_fail(&err);
	}
	for (int i = 0; i < CMD_COUNT; i++)
		if (!strcmp(command_names[i], cli->args.v[0]))
			cmd = (enum command)i;
	put_page(&b, page, cmd, &st);
	code = cli_put(cli, &b, true);
	buf_free(&b);
	return code;
}
