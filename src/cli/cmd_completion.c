/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * completion - scripts for bash, zsh and fish, from the tables of commands and options.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/*
 * The meaning of words of an operand or an option's argument: "files", "programs", or commands
 * cyclade list KIND that print the names. Other words in capitals cannot be completed.
 */
static const struct value_row {
	const char *word;
	const char *values;
	bool operand; /* an option's argument of this name is something else */
} value_rows[] = {
	{ "ARGS", "files", true },
	{ "BASE", "files", true },
	{ "CMD", "programs files", false },
	{ "DIR", "files", false },
	{ "EVENT", "events", false },
	{ "FIFO", "files", false },
	{ "FILE", "files", false },
	{ "ID", "models", true },
	{ "KERNEL", "kernels", false },
	{ "METRIC", "groups metrics", false },
	{ "MODEL", "models", false },
	{ "NAME", "nodes metrics groups events", true },
	{ "NEW", "files", true },
	{ "NODE", "nodes", false },
	{ "PROGRAM", "programs files", true },
};

static void put_value_list(struct buf *values, const char *mark, const char *word, size_t n)
{
	char one[64];

	(void)snprintf(one, sizeof(one), "%s%.*s ", mark, (int)n, word);
	if (!strstr(buf_str(values), one))
		buf_puts(values, one);
}

/* A word in small letters is itself a value: "@csv". */
static void put_value_word(struct buf *values, const char *word, size_t n, bool operand)
{
	if (islower((unsigned char)*word)) {
		put_value_list(values, "@", word, n);
	} else if (operand && n == strlen("COMMAND") && !memcmp(word, "COMMAND", n)) {
		for (int c = 0; c < CMD_COUNT; c++)
			put_value_list(values, "@", command_names[c], strlen(command_names[c]));
	}
	for (size_t i = 0; i < sizeof(value_rows) / sizeof(*value_rows); i++) {
		const struct value_row *row = &value_rows[i];

		if (strlen(row->word) != n || memcmp(word, row->word, n) ||
		    (row->operand && !operand))
			continue;
		for (const char *at = row->values; *at; at += strspn(at, " ")) {
			size_t len = strcspn(at, " ");

			put_value_list(values, "", at, len);
			at += len;
		}
	}
}

/* The arguments of _cyclade_values for "text", "[FILE] FUNCTION" or "fp|dwarf"; "": none. */
static void put_values(struct buf *values, const char *text, bool operand)
{
	buf_reset(values);
	while (*text) {
		size_t n = 0;

		while (isalnum((unsigned char)text[n]) || text[n] == '-' || text[n] == '_')
			n++;
		if (n && isalpha((unsigned char)*text))
			put_value_word(values, text, n, operand);
		text += n ? n : 1;
	}
}

static void option_values(struct buf *values, const struct option_row *row)
{
	char text[OPTION_ARG_MAX];

	put_values(values, option_arg(row, text), false);
}

static bool has_argument(const struct option_row *row)
{
	return row->kind != OPT_FLAG;
}

/* The argument may be left out, so that it follows "=" only. */
static bool may_have_argument(const struct option_row *row)
{
	return row->kind == OPT_MAYBE;
}

/* 'text' within single quotes of a shell; 'special' characters get a backslash. */
static void put_quoted(struct buf *b, const char *text, const char *quote, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			buf_puts(b, quote);
			continue;
		}
		if (strchr(special, *text))
			buf_putc(b, '\\');
		buf_putc(b, *text);
	}
}

static const char BASH_BEGIN[] =
	"# bash completion for cyclade\n"
	"_cyclade_values()\n"
	"{\n"
	"\tlocal kind\n"
	"\tfor kind; do\n"
	"\t\tcase $kind in\n"
	"\t\tfiles) compopt -o filenames 2>/dev/null\n"
	"\t\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
	"\t\tprograms) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- \"$cur\") ;;\n"
	"\t\t@*) [[ ${kind#@} != \"$cur\"* ]] || COMPREPLY+=(\"${kind#@}\") ;;\n"
	"\t\t*) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(cyclade list \"$kind\" -x , "
	"2>/dev/null |\n"
	"\t\t\tCUR=$cur awk -F, 'NR > 1 && !/^\"/ && "
	"index(tolower($1), tolower(ENVIRON[\"CUR\"])) == 1 { print $1 }') ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"}\n"
	"_cyclade()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= values=\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$cur\" = = ]; then\n"
	"\t\tcur= prev+==\n"
	"\telif [ \"$prev\" = = ]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}=\n"
	"\tfi\n";

/* --name|--name=|-n of the commands that take the option; of a MAYBE only --name=. */
static void bash_option(struct buf *b, const struct option_row *row)
{
	buf_putc(b, '\t');
	for (int c = 0, n = 0; c < CMD_COUNT; c++) {
		if (!(row->commands & COMMAND_BIT(c)))
			continue;
		buf_printf(b, "%s%s:--%s=", n++ ? "|" : "", command_names[c], row->name);
		if (may_have_argument(row))
			continue;
		buf_printf(b, "|%s:--%s", command_names[c], row->name);
		if (row->letter)
			buf_printf(b, "|%s:-%c", command_names[c], row->letter);
	}
}

static void bash(struct buf *b)
{
	struct buf values = BUF_INIT;

	buf_puts(b, BASH_BEGIN);
	buf_puts(b, "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\t_cyclade_values ");
	for (int c = 0; c < CMD_COUNT; c++)
		buf_printf(b, "@%s ", command_names[c]);
	buf_puts(b, "@--help @--version files\n\t\treturn\n\tfi\n"
		    "\tcase \"${COMP_WORDS[1]}:$prev\" in\n");
	for (size_t i = 0; i < n_option_rows; i++) {
		if (!has_argument(&option_rows[i]))
			continue;
		option_values(&values, &option_rows[i]);
		bash_option(b, &option_rows[i]);
		buf_printf(b, ") _cyclade_values %s; return ;;\n", buf_str(&values));
	}
	buf_puts(b, "\tesac\n\tcase \"${COMP_WORDS[1]}\" in\n");
	for (int c = 0; c < CMD_COUNT; c++) {
		put_values(&values, command_operands[c], true);
		buf_printf(b, "\t%s) values='%s' options='", command_names[c], buf_str(&values));
		for (size_t i = 0; i < n_option_rows; i++)
			if (option_rows[i].commands & COMMAND_BIT(c))
				buf_printf(b, "@--%s ", option_rows[i].name);
		buf_puts(b, "' ;;\n");
	}
	buf_puts(b, "\tesac\n"
		    "\tcase \"$cur\" in -*) values= ;; *) [ -z \"$values\" ] || options= ;; esac\n"
		    "\t_cyclade_values $values $options\n"
		    "}\ncomplete -F _cyclade cyclade\n");
	buf_free(&values);
}

static void zsh_option(struct buf *b, const struct option_row *row, const char *values)
{
	const char *more = row->kind == OPT_LIST ? "*" : "";
	const char *end = may_have_argument(row) ? "-" : "+";

	for (int is_long = 0; is_long < 2; is_long++) {
		if (!is_long && !row->letter)
			continue;
		buf_printf(b, "\t\t\t'%s", more);
		if (is_long)
			buf_printf(b, "--%s%s", row->name, has_argument(row) ? "=" : "");
		else
			buf_printf(b, "-%c", row->letter);
		if (has_argument(row) && (!is_long || may_have_argument(row)))
			buf_puts(b, end);
		buf_putc(b, '[');
		put_quoted(b, row->help, "'\\''", "\\[]");
		buf_putc(b, ']');
		if (has_argument(row))
			buf_printf(b, "%sargument: _cyclade_values %s",
				   may_have_argument(row) ? "::" : ":", values);
		buf_puts(b, "' \\\n");
	}
}

static const char ZSH_BEGIN[] = "#compdef cyclade\n"
				"_cyclade_values()\n"
				"{\n"
				"\tlocal kind\n"
				"\tlocal -a names\n"
				"\tfor kind; do\n"
				"\t\tcase $kind in\n"
				"\t\tfiles) _files ;;\n"
				"\t\tprograms) _command_names -e ;;\n"
				"\t\t@*) compadd -- ${kind#@} ;;\n"
				"\t\t*) names=(${(f)\"$(cyclade list $kind -x , 2>/dev/null | "
				"awk -F, 'NR > 1 && !/^\"/ { print $1 }')\"})\n"
				"\t\t\tcompadd -M 'm:{a-zA-Z}={A-Za-z}' -a names ;;\n"
				"\t\tesac\n"
				"\tdone\n"
				"}\n"
				"_cyclade()\n"
				"{\n"
				"\tlocal curcontext=$curcontext\n"
				"\tlocal -a commands\n"
				"\tcommands=(\n";

static void zsh(struct buf *b)
{
	struct buf values = BUF_INIT;

	buf_puts(b, ZSH_BEGIN);
	for (int c = 0; c < CMD_COUNT; c++) {
		buf_printf(b, "\t\t'%s:", command_names[c]);
		put_quoted(b, command_texts[c], "'\\''", "\\");
		buf_puts(b, "'\n");
	}
	buf_puts(b, "\t)\n\tif (( CURRENT == 2 )); then\n"
		    "\t\t_describe command commands\n\t\tcompadd -- --help --version\n"
		    "\t\t_files\n\t\treturn\n\tfi\n"
		    "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
		    "\tcase $command in\n");
	for (int c = 0; c < CMD_COUNT; c++) {
		buf_printf(b, "\t%s)\n\t\t_arguments -s \\\n", command_names[c]);
		for (size_t i = 0; i < n_option_rows; i++) {
			if (!(option_rows[i].commands & COMMAND_BIT(c)))
				continue;
			option_values(&values, &option_rows[i]);
			zsh_option(b, &option_rows[i], buf_str(&values));
		}
		put_values(&values, command_operands[c], true);
		buf_printf(b, "\t\t\t'*:operand: _cyclade_values %s'\n\t\t;;\n", buf_str(&values));
	}
	/* autoloaded: this file is the body of the function at its first call */
	buf_puts(b, "\tesac\n}\n"
		    "if [[ $funcstack[1] == _cyclade ]]; then\n\t_cyclade \"$@\"\n"
		    "else\n\tcompdef _cyclade cyclade\nfi\n");
	buf_free(&values);
}

static const char FISH_BEGIN[] =
	"# fish completion for cyclade\n"
	"function __cyclade_command\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -gt 1; and test $words[2] = $argv[1]\n"
	"end\n"
	"function __cyclade_operand\n"
	"\t__cyclade_command $argv; and not string match -q -- '-*' (commandline -ct)\n"
	"end\n"
	"function __cyclade_first\n"
	"\ttest (count (commandline -opc)) -eq 1\n"
	"end\n"
	"function __cyclade_values\n"
	"\tfor kind in $argv\n"
	"\t\tswitch $kind\n"
	"\t\tcase files\n"
	"\t\tcase programs\n"
	"\t\t\t__fish_complete_command\n"
	"\t\tcase '@*'\n"
	"\t\t\tstring sub -s 2 -- $kind\n"
	"\t\tcase '*'\n"
	"\t\t\tcyclade list $kind -x , 2>/dev/null | "
	"awk -F, 'NR > 1 && !/^\"/ { print $1 }'\n"
	"\t\tend\n"
	"\tend\n"
	"end\n";

/* fish itself completes files, also behind "="; the function completes the rest. */
static void fish_values(struct buf *b, const char *values)
{
	buf_puts(b, strstr(values, "files ") ? " -F" : " -f");
	if (*values && strcmp(values, "files "))
		buf_printf(b, " -a '(__cyclade_values %s)'", values);
}

static void fish(struct buf *b)
{
	struct buf values = BUF_INIT;

	buf_puts(b, FISH_BEGIN);
	for (int c = 0; c < CMD_COUNT; c++) {
		buf_printf(b, "complete -c cyclade -n __cyclade_first -a %s -d '",
			   command_names[c]);
		put_quoted(b, command_texts[c], "\\'", "\\");
		buf_puts(b, "'\n");
	}
	buf_puts(b, "complete -c cyclade -n __cyclade_first -l help\n"
		    "complete -c cyclade -n __cyclade_first -l version\n");
	for (int c = 0; c < CMD_COUNT; c++) {
		put_values(&values, command_operands[c], true);
		buf_printf(b, "complete -c cyclade -n '__cyclade_operand %s'", command_names[c]);
		fish_values(b, buf_str(&values));
		buf_putc(b, '\n');
		for (size_t i = 0; i < n_option_rows; i++) {
			const struct option_row *row = &option_rows[i];

			if (!(row->commands & COMMAND_BIT(c)))
				continue;
			buf_printf(b, "complete -c cyclade -n '__cyclade_command %s' -l %s",
				   command_names[c], row->name);
			if (row->letter)
				buf_printf(b, " -s %c", row->letter);
			if (has_argument(row)) {
				option_values(&values, row);
				if (!may_have_argument(row))
					buf_puts(b, " -r");
				fish_values(b, buf_str(&values));
			}
			buf_puts(b, " -d '");
			put_quoted(b, row->help, "\\'", "\\");
			buf_puts(b, "'\n");
		}
	}
	buf_free(&values);
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
