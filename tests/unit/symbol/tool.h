/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tool - what the tests of this folder share: running compilers and binutils in a scratch folder.
 */
#ifndef CYCLADE_TESTS_SYMBOL_TOOL_H
#define CYCLADE_TESTS_SYMBOL_TOOL_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../skip.h"
#include "base/buf.h"
#include "base/file_in.h"
#include "base/fs.h"

static char tool_dir[] = "/tmp/cyclade-test-XXXXXX";

/* Runs a shell script in the scratch folder with `in` on its standard input; its standard output is
 * put into out (may be NULL). True where it succeeded. */
static inline bool tool_feed(struct buf *out, const char *in, const char *script)
{
	int fds[2], status = -1;
	struct err err = ERR_INIT;
	struct buf drop = BUF_INIT;
	char input[64] = "/dev/null";
	pid_t pid;

	if (in) {
		FILE *f;

		(void)snprintf(input, sizeof(input), "%s/stdin", tool_dir);
		f = fopen(input, "w");
		if (!f || fputs(in, f) < 0 || fclose(f))
			return false;
	}
	if (pipe2(fds, O_CLOEXEC))
		return false;
	(void)fflush(NULL);
	pid = fork();
	if (!pid) {
		int fd = open(input, O_RDONLY);

		if (fd < 0 || dup2(fd, 0) < 0 || dup2(fds[1], 1) < 0 || chdir(tool_dir))
			_exit(127);
		(void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	(void)close(fds[1]);
	if (fd_slurp(out ? out : &drop, fds[0], 1u << 30, "pipe", &err))
		(void)fprintf(stderr, "%s\n", err.what);
	(void)close(fds[0]);
	buf_free(&drop);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static inline bool tool_run(struct buf *out, const char *script)
{
	return tool_feed(out, NULL, script);
}

static inline bool tool_have(const char *name)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "command -v %s >/dev/null", name);
	return tool_run(NULL, line);
}

/* Whether a compiler has headers and libraries, too: a cross compiler may have neither. */
static inline bool tool_builds(const char *cc)
{
	char line[256];

	(void)snprintf(
		line, sizeof(line),
		"echo '#include <stdlib.h>' | %s -x c -fPIC -shared -nostartfiles -o /dev/null - "
		"2>/dev/null",
		cc);
	return tool_run(NULL, line);
}

static inline int tool_setup(void **state)
{
	(void)state;
	return mkdtemp(tool_dir) ? 0 : -1;
}

static inline int tool_teardown(void **state)
{
	char line[128];

	(void)state;
	(void)snprintf(line, sizeof(line), "rm -rf %s", tool_dir);
	return tool_run(NULL, line) ? 0 : -1;
}

#endif
