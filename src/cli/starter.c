/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"

enum { NOT_STARTED = 127, KILLED = 255 };

static bool read_all(int fd, void *to, size_t len)
{
	return fd_read_full(fd, to, len) == (ssize_t)len;
}

static bool write_all(int fd, const void *from, size_t len)
{
	return !fd_write_all(fd, from, len, "", NULL);
}

static void become(char *const argv[], int input)
{
	if (input >= 0)
		(void)dup2(input, STDIN_FILENO);
	(void)execvp(argv[0], argv);
	_exit(NOT_STARTED);
}

/* Hands on all that comes, to the end, also if the program reads no further. */
static bool hand_on(int from, uint64_t len, int to)
{
	char part[65536];
	bool wanted = to >= 0;

	while (len) {
		size_t n = len < sizeof(part) ? (size_t)len : sizeof(part);

		if (!read_all(from, part, n))
			return false;
		wanted = wanted && write_all(to, part, n);
		len -= n;
	}
	return true;
}

static uint8_t status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_STARTED;
	return WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : KILLED;
}

/* One program: the terminal's signals interrupt it, not us. */
static bool run_one(char *const argv[], uint64_t len, int from, uint8_t *status)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	struct sigaction interrupt, quit;
	int ends[2] = { -1, -1 };
	bool whole = false;
	pid_t pid;

	if (len && pipe(ends))
		return false;
	(void)sigaction(SIGINT, &ignored, &interrupt);
	(void)sigaction(SIGQUIT, &ignored, &quit);
	pid = fork();
	if (!pid) {
		(void)sigaction(SIGINT, &interrupt, NULL);
		(void)sigaction(SIGQUIT, &quit, NULL);
		if (len)
			(void)close(ends[1]);
		become(argv, ends[0]);
	}
	if (len)
		(void)close(ends[0]);
	if (pid > 0)
		whole = hand_on(from, len, ends[1]);
	if (len)
		(void)close(ends[1]);
	if (pid > 0)
		*status = status_of(pid);
	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)sigaction(SIGQUIT, &quit, NULL);
	return whole;
}

/* Until our parent is gone. */
static void serve(char *const argv[], int from, int to)
{
	uint8_t status;
	uint64_t len;

	while (read_all(from, &len, sizeof(len)) && run_one(argv, len, from, &status) &&
	       write_all(to, &status, sizeof(status)))
		;
	_exit(0);
}

bool starter_start(struct starter *b, char *const argv[])
{
	int there[2], back[2];

	*b = (struct starter){ .pid = 0 };
	if (pipe2(there, O_CLOEXEC))
		return false;
	if (pipe2(back, O_CLOEXEC)) {
		(void)close(there[0]);
		(void)close(there[1]);
		return false;
	}
	b->pid = fork();
	if (!b->pid) {
		(void)close(there[1]);
		(void)close(back[0]);
		serve(argv, there[0], back[1]);
	}
	(void)close(there[0]);
	(void)close(back[1]);
	b->to = there[1];
	b->from = back[0];
	if (b->pid > 0)
		return true;
	starter_end(b);
	return false;
}

int starter_run(struct starter *b, const char *text, size_t len)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	struct sigaction interrupt, quit;
	uint64_t n = len;
	uint8_t status = NOT_STARTED;

	if (b->pid <= 0)
		return -1;
	(void)sigaction(SIGINT, &ignored, &interrupt); /* while the program runs, they are its */
	(void)sigaction(SIGQUIT, &ignored, &quit);
	if (!write_all(b->to, &n, sizeof(n)) || !write_all(b->to, text, len) ||
	    !read_all(b->from, &status, sizeof(status)))
		status = NOT_STARTED;
	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)sigaction(SIGQUIT, &quit, NULL);
	return status == NOT_STARTED ? -1 : status;
}

void starter_end(struct starter *b)
{
	int status;

	if (!b->pid)
		return;
	(void)close(b->to);
	(void)close(b->from);
	if (b->pid > 0)
		while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
			;
	*b = (struct starter){ .pid = 0 };
}
