/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/help.h"

#include <string.h>
#include <unistd.h>

#include "base/library.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "config.h"

static const struct {
	const char *typed, *does;
} examples[] = {
	{ "cyclade run -- ./prog args", "where did ./prog's time go?" },
	{ "cyclade report -g", "who called it? (cyclade.data, or any perf.data)" },
	{ "cyclade annotate hash_probe", "which lines, which instructions?" },
	{ "cyclade stat -- ./prog", "what held the CPU up? (the top-down tree)" },
	{ "cyclade record -a --for 10s", "the whole machine, ten seconds" },
};

/* Neighbours of commands.def: a group ends where the next begins. */
static const struct {
	const char *title;
	enum command first;
} groups[] = {
	{ "measure", CMD_RUN },	     { "explain", CMD_REPORT }, { "memory", CMD_MEM },
	{ "hand over", CMD_EXPORT }, { "look up", CMD_INFO },	{ "set up", CMD_DOCTOR },
};
#define N_GROUPS (sizeof(groups) / sizeof(*groups))

static unsigned group_end(size_t g)
{
	return g + 1 < N_GROUPS ? groups[g + 1].first : CMD_COUNT;
}

static const char *const libraries[] = {
#if HAVE_ZYDIS
	"x86 disassembly",
#else
	"no x86 disassembly (Zydis)",
#endif
#if HAVE_CAPSTONE
	"AArch64 disassembly",
#else
	"no AArch64 disassembly (Capstone)",
#endif
#if HAVE_IBERTY
	"demangling",
#else
	"no demangling (libiberty)",
#endif
#if HAVE_LZMA
	"mini debug information",
#else
	"no mini debug information (liblzma)",
#endif
#if HAVE_PFM
	"libpfm's event names",
#else
	"no libpfm event names (libpfm4)",
#endif
#if HAVE_GRAPHVIZ
	"graphs as SVG",
#else
	"no graphs as SVG (Graphviz)",
#endif
#if HAVE_SQLITE
	"SQL",
#else
	"no SQL (SQLite)",
#endif
#if HAVE_LIBEDIT
	"lines of sql edited",
#else
	"no lines of sql edited (libedit)",
#endif
#if HAVE_NCURSES
	"browse",
#else
	"no browse (ncurses)",
#endif
#if HAVE_MICROHTTPD
	"monitor --listen",
#else
	"no monitor --listen (libmicrohttpd)",
#endif
};

static int flush_help(FILE *to, int code)
{
	if (fflush(to) || ferror(to)) {
		struct err err = ERR_INIT;

		(void)err_sys(&err, "standard output");
		return cli_fail(&err);
	}
	return code;
}

/* Long lines are hard to read, however wide the terminal is. */
static unsigned help_width(const struct cli *cli, int fd)
{
	const unsigned width = cli_style(cli, fd).width;

	return width && width < 80 ? width : 80;
}

/* "  NAME  what it is", that in lines from `column` on. */
static void put_term(struct buf *b, const char *name, size_t column, const char *what,
		     unsigned width)
{
	const size_t from = b->len;

	buf_printf(b, "  %s", name);
	if (b->len - from >= column) {
		buf_putc(b, '\n');
		buf_fill(b, ' ', column);
	} else {
		buf_fill(b, ' ', column - (b->len - from));
	}
	text_put_wrapped(b, what, column, width);
	buf_putc(b, '\n');
}

static int put_help(struct buf *b, FILE *to, int code)
{
	fputs(buf_str(b), to);
	buf_free(b);
	return flush_help(to, code);
}

int help_overview(const struct cli *cli, FILE *to, int code)
{
	const unsigned width = help_width(cli, fileno(to));
	struct buf b = BUF_INIT;

	text_put_wrapped(&b, "cyclade shows where a CPU's cycles go, with error bars.", 0, width);
	buf_puts(&b, "\n\n");
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
		put_term(&b, examples[i].typed, width < 60 ? 6 : 32, examples[i].does, width);
	buf_puts(&b, "\nusage: ");
	text_put_wrapped(&b, "cyclade COMMAND [options] [--] [program [args]]", 7, width);
	buf_puts(&b, "\n       ");
	text_put_wrapped(&b, "COMMAND --help: its options; cyclade help COMMAND: its manual", 7,
			 width);
	buf_puts(&b, "\n\n");
	for (size_t g = 0; g < N_GROUPS; g++) {
		struct buf names = BUF_INIT;

		for (unsigned i = groups[g].first; i < group_end(g); i++)
			buf_printf(&names, "%s%s", names.len ? " " : "", command_names[i]);
		put_term(&b, groups[g].title, 12, buf_str(&names), width);
		buf_free(&names);
	}
	buf_puts(&b, "\n  cyclade help   what each of them does\n");
	return put_help(&b, to, code);
}

int help_commands(const struct cli *cli)
{
	const unsigned width = help_width(cli, STDOUT_FILENO);
	struct buf b = BUF_INIT;

	for (size_t g = 0; g < N_GROUPS; g++) {
		buf_printf(&b, "%s%s\n", g ? "\n" : "", groups[g].title);
		for (unsigned i = groups[g].first; i < group_end(g); i++)
			put_term(&b, command_names[i], 14, command_texts[i], width);
	}
	buf_puts(&b, "\ncyclade help COMMAND: its manual\n");
	return put_help(&b, stdout, EXIT_OK);
}

int help_version(void)
{
	const char *without = library_static();
	char sandbox[SANDBOX_WORDS];

	fputs("cyclade " CYCLADE_VERSION "\nwith:", stdout);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		fprintf(stdout, "%s %s%s", i ? "," : "",
			without && strstr(without, libraries[i]) ? "no " : "", libraries[i]);
	if (without)
		fprintf(stdout, "\nstatic binary; left out: %s", without);
	fprintf(stdout, "\nsandbox: %s\n", sandbox_words(sandbox, sandbox_can()));
	return flush_help(stdout, EXIT_OK);
}

/* "-g, --call-graph[=fp|dwarf|unwind|lbr]" */
static void put_spelling(struct buf *b, const struct option_row *row)
{
	char arg[OPTION_ARG_MAX];

	if (row->letter)
		buf_printf(b, "-%c, ", row->letter);
	else
		buf_puts(b, "    ");
	buf_printf(b, "--%s", row->name);
	if (row->kind == OPT_MAYBE)
		buf_printf(b, "[=%s]", option_arg(row, arg));
	else if (row->kind != OPT_FLAG)
		buf_printf(b, " %s", option_arg(row, arg));
}

void help_options(struct buf *b, enum command cmd, unsigned width)
{
	const char *group = "";
	const size_t column = width < 60 ? 8 : 30;

	for (size_t i = 0; i < n_option_rows; i++) {
		const struct option_row *row = &option_rows[i];
		struct buf spelling = BUF_INIT;

		if (!(row->commands & COMMAND_BIT(cmd)))
			continue;
		if (strcmp(group, row->group)) {
			buf_printf(b, "%s%s\n", *group ? "\n" : "", row->group);
			group = row->group;
		}
		put_spelling(&spelling, row);
		buf_printf(b, "  %s", buf_str(&spelling));
		if (spelling.len + 2 >= column) {
			buf_putc(b, '\n');
			buf_fill(b, ' ', column);
		} else {
			buf_fill(b, ' ', column - spelling.len - 2);
		}
		text_put_wrapped(b, row->help, column, width);
		buf_putc(b, '\n');
		buf_free(&spelling);
	}
}

int help_command(const struct cli *cli)
{
	const unsigned width = help_width(cli, STDOUT_FILENO);
	struct buf b = BUF_INIT, usage = BUF_INIT;

	buf_printf(&usage, "usage: cyclade %s [options] %s", command_names[cli->command],
		   command_operands[cli->command]);
	text_put_wrapped(&b, buf_str(&usage), 0, width);
	buf_putc(&b, '\n');
	text_put_wrapped(&b, command_texts[cli->command], 0, width);
	buf_puts(&b, "\n\n");
	buf_free(&usage);
	help_options(&b, cli->command, width);
	buf_printf(&b, "\ncyclade help %s is the manual.\n", command_names[cli->command]);
	return put_help(&b, stdout, EXIT_OK);
}
