/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * completion - scripts for bash, zsh and fish, from the tables of commands and options.
 */
#include <string.h>

#include "cli/cli.h"

static bool takes_argument(const struct option_row *row)
{
	return row->kind != OPT_FLAG && row->kind != OPT_MAYBE;
}

static bool takes_file(const struct option_row *row)
{
	return !strcmp(row->arg, "FILE") || !strcmp(row->arg, "DIR") || !strcmp(row->arg, "FIFO");
}

/* 'text' as a single-quoted shell word, without the quotes around it. */
static void put_quoted(struct buf *b, const char *text, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_puts(b, quote);
		else
			buf_putc(b, *text);
	}
}

/* The argument is one of several words. */
static bool is_choice(const struct option_row *row)
{
	char text[OPTION_ARG_MAX];

	return strchr(option_arg(row, text), '|');
}

static void put_choices(struct buf *b, const struct option_row *row)
{
	char text[OPTION_ARG_MAX];

	for (const char *arg = option_arg(row, text); *arg; arg++)
		buf_putc(b, *arg == '|' ? ' ' : *arg);
}

/* The words before an operand's first blank, where there are several: "events|groups [PATTERN]". */
static void put_operands(struct buf *b, enum command c)
{
	size_t n = strcspn(command_operands[c], " ");

	for (size_t i = 0; memchr(command_operands[c], '|', n) && i <= n; i++)
		buf_putc(b, i == n || command_operands[c][i] == '|' ? ' ' : command_operands[c][i]);
}

/* Commands that list what the argument of an option may be; NULL: none does. */
static const char *names_for(const struct option_row *row)
{
	if (!strcmp(row->arg, "METRIC,..."))
		return "cyclade list groups -x , 2>/dev/null; cyclade list metrics -x , "
		       "2>/dev/null";
	if (!strcmp(row->name, "node"))
		return "cyclade list nodes -x , 2>/dev/null";
	return NULL;
}

static void bash_names(struct buf *b)
{
	for (size_t i = 0; i < n_option_rows; i++) {
		const struct option_row *row = &option_rows[i];

		if (!names_for(row))
			continue;
		buf_puts(b, "\t");
		for (int c = 0, n = 0; c < CMD_COUNT; c++) {
			if (!(row->commands & (1u << c)))
				continue;
			buf_printf(b, "%s%s:--%s", n++ ? "|" : "", command_names[c], row->name);
			if (row->letter)
				buf_printf(b, "|%s:-%c", command_names[c], row->letter);
		}
		buf_printf(b,
			   ") COMPREPLY=($(compgen -W \"$( (%s) | cut -d, -f1 | grep -vx name)\" "
			   "-- \"$cur\")); "
			   "return ;;\n",
			   names_for(row));
	}
}

static void bash(struct buf *b)
{
	buf_puts(b,
		 "# bash completion for cyclade\n_cyclade()\n{\n"
		 "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
		 "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords='");
	for (int c = 0; c < CMD_COUNT; c++)
		buf_printf(b, "%s ", command_names[c]);
	buf_puts(b,
		 "--help --version'\n"
		 "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n"
		 "\t\treturn\n\tfi\n\tcase \"${COMP_WORDS[1]}:$prev\" in\n");
	for (size_t i = 0; i < n_option_rows; i++) {
		const struct option_row *row = &option_rows[i];

		if (!takes_argument(row) || !is_choice(row))
			continue;
		/* an option may have a row for each of several kinds of commands */
		buf_puts(b, "\t");
		for (int c = 0, n = 0; c < CMD_COUNT; c++)
			if (row->commands & (1u << c))
				buf_printf(b, "%s%s:--%s", n++ ? "|" : "", command_names[c],
					   row->name);
		buf_puts(b, ") COMPREPLY=($(compgen -W '");
		put_choices(b, row);
		buf_puts(b, "' -- \"$cur\")); return ;;\n");
	}
	bash_names(b);
	buf_puts(b, "\tesac\n\tcase \"${COMP_WORDS[1]}\" in\n");
	for (int c = 0; c < CMD_COUNT; c++) {
		buf_printf(b, "\t%s) words='", command_names[c]);
		for (size_t i = 0; i < n_option_rows; i++)
			if (option_rows[i].commands & (1u << c))
				buf_printf(b, "--%s ", option_rows[i].name);
		if (c == CMD_HELP)
			for (int k = 0; k < CMD_COUNT; k++)
				buf_printf(b, "%s ", command_names[k]);
		put_operands(b, (enum command)c);
		buf_puts(b, "' ;;\n");
	}
	buf_puts(b, "\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		    "\tcase \"$cur\" in -*) ;; *) COMPREPLY+=($(compgen -f -- \"$cur\")) ;; esac\n"
		    "}\ncomplete -o filenames -F _cyclade cyclade\n");
}

static void zsh_option(struct buf *b, const struct option_row *row)
{
	const char *more = row->kind == OPT_LIST ? "*" : "";

	for (int is_long = 0; is_long < 2; is_long++) {
		if (!is_long && !row->letter)
			continue;
		buf_printf(b, "\t\t\t'%s", more);
		if (is_long)
			buf_printf(b, "--%s%s", row->name, takes_argument(row) ? "=" : "");
		else
			buf_printf(b, "-%c", row->letter);
		buf_putc(b, '[');
		put_quoted(b, row->help, "'\\''");
		buf_putc(b, ']');
		if (takes_argument(row)) {
			buf_puts(b, ":argument:");
			if (takes_file(row)) {
				buf_puts(b, "_files");
			} else if (is_choice(row)) {
				buf_putc(b, '(');
				put_choices(b, row);
				buf_putc(b, ')');
			}
		}
		buf_puts(b, "' \\\n");
	}
}

static void zsh(struct buf *b)
{
	buf_puts(b, "#compdef cyclade\n_cyclade()\n{\n\tlocal -a commands\n\tcommands=(\n");
	for (int c = 0; c < CMD_COUNT; c++) {
		buf_printf(b, "\t\t'%s:", command_names[c]);
		put_quoted(b, command_texts[c], "'\\''");
		buf_puts(b, "'\n");
	}
	buf_puts(b, "\t)\n\tif (( CURRENT == 2 )); then\n"
		    "\t\t_describe command commands\n\t\t_files\n\t\treturn\n\tfi\n"
		    "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
		    "\tcase $command in\n");
	for (int c = 0; c < CMD_COUNT; c++) {
		buf_printf(b, "\t%s)\n\t\t_arguments -s \\\n", command_names[c]);
		for (size_t i = 0; i < n_option_rows; i++)
			if (option_rows[i].commands & (1u << c))
				zsh_option(b, &option_rows[i]);
		buf_puts(b, "\t\t\t'*:operand:_files'\n\t\t;;\n");
	}
	buf_puts(b, "\tesac\n}\ncompdef _cyclade cyclade\n");
}

static void fish(struct buf *b)
{
	buf_puts(b, "# fish completion for cyclade\n");
	for (int c = 0; c < CMD_COUNT; c++) {
		buf_printf(b, "complete -c cyclade -n __fish_use_subcommand -a %s -d '",
			   command_names[c]);
		put_quoted(b, command_texts[c], "\\'");
		buf_puts(b, "'\n");
	}
	for (int c = 0; c < CMD_COUNT; c++) {
		for (size_t i = 0; i < n_option_rows; i++) {
			const struct option_row *row = &option_rows[i];

			if (!(row->commands & (1u << c)))
				continue;
			buf_printf(b,
				   "complete -c cyclade -n '__fish_seen_subcommand_from %s' -l %s",
				   command_names[c], row->name);
			if (row->letter)
				buf_printf(b, " -s %c", row->letter);
			if (takes_argument(row))
				buf_puts(b, takes_file(row) ? " -r -F" : " -x");
			if (takes_argument(row) && is_choice(row)) {
				buf_puts(b, " -a '");
				put_choices(b, row);
				buf_putc(b, '\'');
			} else if (names_for(row)) {
				buf_printf(b,
					   " -a '(begin; %s; end | cut -d, -f1 | grep -vx name)'",
					   names_for(row));
			}
			buf_puts(b, " -d '");
			put_quoted(b, row->help, "\\'");
			buf_puts(b, "'\n");
		}
	}
}

static const struct shell {
	const char *name;
	void (*write)(struct buf *b);
} shells[] = {
	{ "bash", bash },
	{ "zsh", zsh },
	{ "fish", fish },
};

int cmd_completion(struct cli *cli)
{
	const char *want = cli->args.n == 1 ? cli->args.v[0] : "";
	struct err err = ERR_INIT;

	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
		struct buf b = BUF_INIT;
		int code;

		if (strcmp(want, shells[i].name))
			continue;
		shells[i].write(&b);
		code = cli_put(cli, &b, false);
		buf_free(&b);
		return code;
	}
	(void)err_set(&err, ERR_USAGE, "completion needs the name of a shell: bash, zsh or fish");
	(void)err_hint(&err, "for instance: source <(cyclade completion bash)");
	return cli_fail(&err);
}
