/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade view [FILE] - the HTML report, written to a place of the user's own, in a browser.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/recordings/report_html.h"
#include "cli/sandboxing.h"

/* A directory that belongs to this user and that no other user can enter. */
static bool is_private_dir(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

/* $XDG_RUNTIME_DIR/cyclade, else a new directory below $TMPDIR. */
static int view_file_place(char *dir, size_t size, struct err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *temp = getenv("TMPDIR");

	if (runtime && *runtime == '/' && is_private_dir(runtime) &&
	    !path_join(dir, size, runtime, "cyclade") &&
	    (mkdir(dir, 0700) == 0 || errno == EEXIST) && is_private_dir(dir))
		return 0;
	if (path_join(dir, size, temp && *temp == '/' ? temp : "/tmp", "cyclade-XXXXXX"))
		return err_set(err, ERR_LIMIT, "the name of the directory is too long");
	return mkdtemp(dir) ? 0 : err_sys(err, "%s", dir);
}

/* The same recording is the same file, so that looking again leaves no second one. */
static int name_page(char *path, size_t size, const char *input, struct err *err)
{
	char dir[3000], name[300];

	if (view_file_place(dir, sizeof(dir), err))
		return -1;
	(void)snprintf(name, sizeof(name), "%.200s.html", path_base(input));
	return path_join(path, size, dir, name)
		       ? err_set(err, ERR_LIMIT, "the name of the page is too long")
		       : 0;
}

/* Whether a program could be started that showed it. It may go on after us; if it fails it names
 * all browsers that it did not find, and if it does not, browsers print warnings. */
static bool show_in_browser(const char *path)
{
	char program[] = "xdg-open", *file = strdup(path);
	char *argv[] = { program, file, NULL };
	int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int status = -1;
	pid_t pid = file ? fork() : -1;

	if (pid == 0) {
		if (silent >= 0)
			(void)dup2(silent, STDERR_FILENO);
		(void)execvp(program, argv);
		_exit(EXIT_ABSENT);
	}
	free(file);
	if (silent >= 0)
		(void)close(silent);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* In a process of its own: the browser is started by one that has all rights. Returns an exit
 * code. */
static int make_page(struct cli *cli, const char *input, const char *path, struct err *err)
{
	int status = -1;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid < 0) {
		(void)err_sys(err, "a process that makes the page");
		return cli_fail(err);
	}
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		cli_sandbox(cli, path);
		status = report_html(cli, input, path);
		cli_end_fetching(cli);
		_exit(status);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) { /* as it would have ended us */
		(void)signal(WTERMSIG(status), SIG_DFL);
		(void)raise(WTERMSIG(status));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ERROR;
}

int cmd_view(struct cli *cli)
{
	struct err err = ERR_INIT;
	const char *input = cli_input(cli, &err);
	char path[4096];
	int code;

	if (!input)
		return cli_fail(&err);
	if (cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "'%.60s': one recording at a time", cli->args.v[0]);
		return cli_fail(&err);
	}
	if (name_page(path, sizeof(path), input, &err))
		return cli_fail(&err);
	code = make_page(cli, input, path, &err);
	if (code != EXIT_OK) {
		*strrchr(path, '/') = '\0';
		(void)rmdir(path); /* if there is nothing else in it */
		return code;
	}
	if (!show_in_browser(path)) /* report_html() told the path */
		cli_warn("no browser could be started; open this file in one, here or elsewhere: "
			 "%s",
			 path);
	return EXIT_OK;
}
