/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main - finds the command, reads its options, runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/lender.h"
#include "base/nomem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/config_file.h"
#include "cli/heap.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "cli/model_choice.h"
#include "cli/perf_words.h"
#include "cli/sandboxing.h"
#include "cli/screen/screen.h"
#include "cli/temp_dir.h"

static int (*const run_command[CMD_COUNT])(struct cli *) = {
#define COMMAND(id, name, operands, text) cmd_##name,
#include "cli/commands.def"
#undef COMMAND
};

/* The command's number, or CMD_COUNT. */
static enum command find_command(const char *word)
{
	for (int i = 0; i < CMD_COUNT; i++)
		if (!strcmp(word, command_names[i]))
			return (enum command)i;
	return CMD_COUNT;
}

static int no_such_command(const char *word)
{
	struct err err = ERR_INIT;

	(void)err_set(&err, ERR_USAGE, "there is no command '%.60s'", word);
	(void)text_suggest(&err, word, command_names,
			   "cyclade --help lists them; a program to measure needs a slash (./prog) "
			   "or `cyclade run prog`");
	return cli_fail(&err);
}

/* A program's path stands for `run`: no command has a slash or a dot in its name. */
static bool is_program(const char *word)
{
	return word[0] != '-' && (strchr(word, '/') || strchr(word, '.'));
}

/* The configuration file, CYCLADE_OPTS, then the words, which are parsed first: help and usage
 * errors are printed even if the file is wrong. */
static int read_options(struct cli *cli, int argc, char **argv, struct err *err)
{
	struct options typed = { 0 };
	const char *unread;
	struct config c;
	int rc;

	if (options_parse(&typed, &cli->arena, cli->command, argc, argv, &cli->args, err)) {
		cli->opt.import = typed.import; /* with it nothing is measured */
		return -1;
	}
	if (typed.help || !config_concerns(cli->command)) {
		cli->opt = typed;
		return 0;
	}
	if (config_read(&c, &cli->arena, err))
		return -1;
	rc = config_apply(&c, &cli->opt, &cli->arena, cli->command, err);
	unread = c.unread;
	config_free(&c);
	cli->args = (struct text_list){ 0 };
	if (rc || cli_environment(&cli->opt, cli, cli->command, err))
		return -1;
	if (options_parse(&cli->opt, &cli->arena, cli->command, argc, argv, &cli->args, err))
		return -1;
	if (unread)
		cli_note(cli, "%s: your configuration is passed over", unread);
	return 0;
}

static volatile sig_atomic_t stack_grows;
static volatile sig_atomic_t failed = EXIT_ERROR; /* the exit code if cyclade fails */

/* The exit code of a command that ended with `code`: no success if names or lines are missing for
 * lack of memory. */
static int without_losses(int code)
{
	struct err err = ERR_INIT;

	if (code != EXIT_OK || !nomem_noted())
		return code;
	(void)err_set(&err, ERR_NOMEM, "out of memory: what was written is incomplete");
	return cli_fail_as(&err, failed);
}

/* Printed if memory runs out: made beforehand, as a handler may do little. */
static char no_memory[512] = "cyclade: out of memory\n";

/* The policy of base/nomem.h: commands that only read end here at once; others save their results
 * first, except in their use of base/xalloc.h. */
static void end_without_memory(void)
{
	screen_close();
	file_new_remove_temps();
	temp_dir_remove();
	_exit(write(STDERR_FILENO, no_memory, strlen(no_memory)) < 0 ? EXIT_TOOL : failed);
}

/* Returns true if the command runs a program whose exit code is its own. The options are not read
 * yet: memory may run out while they are. */
static bool measures(enum command command, int argc, char *const *argv)
{
	for (int i = 0; command == CMD_STAT && i < argc; i++)
		if (!strncmp(argv[i], "--import", strlen("--import")))
			return false;
	return command_runs_program(command);
}

static int dispatch(struct cli *cli, int argc, char **argv)
{
	struct err err = ERR_INIT;
	int skip = 2, rc;

	if (argc < 2)
		return help_overview(cli, stderr, EXIT_ERROR);
	if (argc > 2 && !strcmp(argv[1], "--version")) {
		(void)err_set(&err, ERR_USAGE, "--version takes nothing more, and no format");
		return cli_fail(&err);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help_overview(cli, stdout, EXIT_OK);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version") ||
	    !strcmp(argv[1], "-v") || !strcmp(argv[1], "-V"))
		return help_version();
	if (perf_command_refused(argv[1], argc > 2 ? argv[2] : NULL, &err))
		return cli_fail(&err);
	if (is_program(argv[1])) {
		cli->command = CMD_RUN;
		skip = 1;
	} else {
		cli->command = find_command(argv[1]);
		if (cli->command == CMD_COUNT)
			return no_such_command(argv[1]);
	}
	failed = measures(cli->command, argc - skip, argv + skip) ? EXIT_TOOL : EXIT_ERROR;
	rc = read_options(cli, argc - skip, argv + skip, &err);
	if (cli->opt.import)
		failed = EXIT_ERROR;
	if (rc)
		return cli_fail_as(&err, failed);
	if (cli->opt.help)
		return help_command(cli);
	if (cli_model_name(cli, &err) || cli_inputs(cli, &err))
		return cli_fail_as(&err, failed);
	if (cli->command == CMD_ARCHIVE)
		cli_archive_output(cli);
	if (cli_only_reads(cli)) {
		nomem_policy(end_without_memory, true);
		cli_sandbox(cli, NULL);
	}
	rc = without_losses(run_command[cli->command](cli));
	cli_end_fetching(cli);
	lender_end(); /* first: it has copies of the other's descriptors */
	starter_end(&cli->pager);
	return rc;
}

/* Recordings and programs are mapped. That one of them shrinks while it is read is the one fault
 * which no check beforehand rules out: a program goes on as zeros, a recording ends us. */
static void file_shrank(int sig, siginfo_t *info, void *context)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	static const char text[] = "cyclade: a file became shorter while it was being read\n"
				   "  wait until its writer is done, then try again\n";

	(void)sig;
	(void)context;
	if (info->si_code > 0 && file_in_fault(info->si_addr))
		return;
	/* several readers meet it at once; one speaks, and ends them all */
	while (atomic_flag_test_and_set(&said))
		(void)pause();
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? EXIT_TOOL : EXIT_ERROR);
}

static void name_limits(void)
{
	char line[128];
	size_t at = strlen(no_memory);

	for (unsigned i = 0; i < CLI_MEMORY_LIMITS; i++)
		if (cli_memory_limit(i, line, sizeof(line)))
			at += (size_t)snprintf(no_memory + at, sizeof(no_memory) - at, "  %s\n",
					       line);
}

/* libdw, among others, uses the result of malloc() without looking, or asserts that it is there.
 * malloc() leaves ENOMEM in this thread's errno; a fault of any other cause, or a signal that
 * another process sends, ends us as it would. */
static void fault(int sig, siginfo_t *info, void *context)
{
	bool sent = info->si_code <= 0 && info->si_pid != getpid();

	(void)context;
	if ((errno == ENOMEM || stack_grows) && !sent)
		_exit(write(STDERR_FILENO, no_memory, strlen(no_memory)) < 0 ? EXIT_TOOL : failed);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig); /* delivered when this returns */
}

/* Takes the standard descriptors that are closed, so that no file or socket of ours gets their
 * numbers: reading 0 and writing 1 and 2 fail as before. A program that we start finds them
 * closed. */
static void hold_closed(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) != fd)
			return; /* without /dev there is nothing to hold them with */
}

static bool space_is_limited(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_AS, &r) || r.rlim_cur != RLIM_INFINITY;
}

/* If address space is limited, the stack could not grow any more once the rest is used up, and
 * libdw takes up to 230 kB of it for a unit's lines: it grows now, by its lowest page. If it
 * cannot, that is a fault for want of memory. */
static __attribute__((noinline)) void grow_stack(void)
{
	volatile char room[512 << 10]; /* each page, where stack clashes are guarded against */

	room[0] = 0;
	(void)room[0];
}

int main(int argc, char **argv)
{
	/* if the stack cannot grow, there is no room on it for a handler */
	static char other_stack[64 << 10];
	const stack_t other = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };
	const struct sigaction faults = { .sa_sigaction = fault,
					  .sa_flags = SA_SIGINFO | SA_ONSTACK };
	const struct sigaction shrank = { .sa_sigaction = file_shrank, .sa_flags = SA_SIGINFO };
	struct cli cli = { .arena = ARENA_INIT };
	int code;

	hold_closed();
	/* a reader that goes away is met as EPIPE where we write */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* EFBIG */
	(void)sigaction(SIGBUS, &shrank, NULL);
	if (!heap_is_watched()) {
		name_limits();
		(void)sigaltstack(&other, NULL);
		(void)sigaction(SIGSEGV, &faults, NULL);
		(void)sigaction(SIGABRT, &faults, NULL);
	}
	if (space_is_limited()) {
		stack_grows = 1;
		grow_stack();
		stack_grows = 0;
	}
	nomem_policy(end_without_memory, false); /* options are read first */
	code = dispatch(&cli, argc, argv);
	arena_free(&cli.arena);
	return code;
}
