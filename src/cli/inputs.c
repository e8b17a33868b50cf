/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/inputs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/config_file.h"
#include "collect/process.h"

bool cli_program_path(char out[CLI_PATH_MAX], const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return (size_t)snprintf(out, CLI_PATH_MAX, "%s", name) < CLI_PATH_MAX;
	for (const char *p = path && *name ? path : ""; *p;) {
		size_t len = strcspn(p, ":");
		int n = snprintf(out, CLI_PATH_MAX, "%.*s%s%s", (int)len, p, len ? "/" : "", name);

		if (n > 0 && (size_t)n < CLI_PATH_MAX && !access(out, X_OK) && file_is_regular(out))
			return true;
		p += len;
		p += *p == ':';
	}
	return false;
}

static void keep_program(const char *name)
{
	char path[CLI_PATH_MAX];

	if (cli_program_path(path, name))
		file_keep_path(path, FILE_INPUT);
}

/* The first word of a command line. */
static void keep_command(const char *line)
{
	char word[CLI_PATH_MAX];
	size_t len;

	line += strspn(line ? line : "", " \t");
	len = strcspn(line, " \t\n");
	if (!len || len >= sizeof(word))
		return;
	memcpy(word, line, len);
	word[len] = '\0';
	keep_program(word);
}

/* Numbers or, of processes, names. */
static void keep_processes(const struct text_list *pid)
{
	char name[256], exe[64];

	for (size_t i = 0; i < pid->n; i++) {
		const char *list = pid->v[i], *word;
		size_t len;

		while (text_word(&list, &word, &len)) {
			pid_t found;

			if (!len || len >= sizeof(name))
				continue;
			memcpy(name, word, len);
			name[len] = '\0';
			if (strspn(name, "0123456789-") == len)
				found = (pid_t)strtol(name, NULL, 10);
			else if (process_find(&found, name, NULL))
				continue;
			(void)snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)found);
			file_keep_path(exe, FILE_INPUT);
		}
	}
}

/* The words that begin a program: the first, and one behind a "--" that stands alone. */
static void keep_programs(const struct cli *cli)
{
	const struct text_list *args = &cli->args;

	if (args->n)
		keep_program(args->v[0]);
	for (size_t i = 0; cli->command == CMD_COMPARE && i + 1 < args->n; i++)
		if (!strcmp(args->v[i], "--"))
			keep_program(args->v[i + 1]);
	if (cli->opt.measure.pre)
		keep_command(cli->opt.measure.pre);
	if (cli->opt.measure.post)
		keep_command(cli->opt.measure.post);
	keep_processes(&cli->opt.measure.pid);
	keep_processes(&cli->opt.measure.tid);
}

/* Recordings that operands name; diff takes several between commas. */
static void keep_operand(const char *word)
{
	char part[CLI_PATH_MAX];

	file_keep_path(word, FILE_INPUT);
	while (strchr(word, ',')) {
		size_t len = strcspn(word, ",");

		if (len < sizeof(part)) {
			memcpy(part, word, len);
			part[len] = '\0';
			file_keep_path(part, FILE_INPUT);
		}
		word += len + 1;
		file_keep_path(word, FILE_INPUT);
	}
}

static void keep_options(struct cli *cli)
{
	const struct options *o = &cli->opt;
	const char *const file[] = { o->input,		 o->import,
				     o->penalties,	 o->ibs_events,
				     o->measure.control, config_beside(&cli->arena, "config"),
				     o->kallsyms,	 o->vmlinux };

	for (size_t i = 0; i < sizeof(file) / sizeof(*file); i++)
		if (file[i])
			file_keep_path(file[i], FILE_INPUT);
	for (size_t i = 0; i < o->models.n; i++)
		file_keep_path(o->models.v[i], FILE_INPUT);
}

int cli_inputs(struct cli *cli, struct err *err)
{
	const struct options *o = &cli->opt;
	const char *const output[] = { o->output, o->html, o->data_file };
	struct stat in;

	keep_options(cli);
	if (command_runs_program(cli->command)) {
		keep_programs(cli);
	} else {
		for (size_t i = 0; i < cli->args.n; i++)
			keep_operand(cli->args.v[i]);
		if (cli_usual_input())
			file_keep_path(cli_usual_input(), FILE_INPUT);
	}
	if (!fstat(STDIN_FILENO, &in) && S_ISREG(in.st_mode))
		file_keep(&in, FILE_INPUT);
	for (size_t i = 0; i < sizeof(output) / sizeof(*output); i++)
		if (output[i] && strcmp(output[i], "-") != 0 && file_out_check(output[i], err))
			return -1;
	return file_out_check_fd(STDOUT_FILENO, "standard output", err);
}

void cli_archive_output(struct cli *cli)
{
	const char *name = cli->opt.input ? cli->opt.input
			   : cli->args.n  ? cli->args.v[0]
					  : cli_usual_input();

	if (!cli->opt.output && name)
		cli->opt.output = arena_xprintf(&cli->arena, "%s.tar.zst", name);
}

const char *cli_companion(struct cli *cli, const char *built, const char *beside,
			  const char *installed)
{
	const char *const at[] = { built, beside };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *end;

	self[n > 0 ? n : 0] = '\0';
	end = strrchr(self, '/');
	for (size_t i = 0; end && i < sizeof(at) / sizeof(*at); i++) {
		const char *path =
			arena_printf(&cli->arena, "%.*s/%s", (int)(end - self), self, at[i]);
		char real[PATH_MAX];

		if (path && realpath(path, real) && !access(real, R_OK))
			return arena_strdup(&cli->arena, real);
	}
	return access(installed, R_OK) ? NULL : installed;
}
