/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A few bytes, which a pipe takes as a whole. */
static ssize_t tell(int fd, const void *p, size_t len)
{
	ssize_t n;

	do
		n = write(fd, p, len);
	while (n < 0 && errno == EINTR);
	return n;
}

static int silence(unsigned flags)
{
	int fd = flags ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

	if (flags && fd < 0)
		return -1;
	if (flags & WORKLOAD_NO_INPUT && dup2(fd, STDIN_FILENO) < 0)
		return -1;
	if (flags & WORKLOAD_NO_OUTPUT &&
	    (dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0))
		return -1;
	return 0;
}

static void workload_child(int go, int told, char *const *argv, char *const *env,
			   const sigset_t *mask, unsigned flags)
{
	char byte;
	ssize_t n;
	int e;

	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1) /* cancelled, or our parent is gone */
		_exit(0);
	for (; env && *env; env++)
		if (putenv(*env))
			goto failed;
	if (!silence(flags))
		execvp(argv[0], argv);
failed:
	e = errno;
	(void)tell(told, &e, sizeof(e));
	_exit(e == ENOENT ? 127 : 126);
}

int workload_prepare(struct workload *w, char *const *argv, char *const *env, const sigset_t *mask,
		     unsigned flags, struct err *err)
{
	int go[2], told[2];

	memset(w, 0, sizeof(*w));
	w->pid = -1;
	w->go = w->told = -1;
	if (pipe2(go, O_CLOEXEC))
		return err_sys(err, "pipe");
	if (pipe2(told, O_CLOEXEC)) {
		(void)err_sys(err, "pipe");
		goto close_go;
	}
	w->pid = fork();
	if (w->pid < 0) {
		(void)err_sys(err, "fork");
		(void)close(told[0]);
		(void)close(told[1]);
		goto close_go;
	}
	if (!w->pid) {
		(void)close(go[1]);
		(void)close(told[0]);
		workload_child(go[0], told[1], argv, env, mask, flags);
	}
	(void)close(go[0]);
	(void)close(told[1]);
	w->go = go[1];
	w->told = told[0];
	return 0;
close_go:
	(void)close(go[0]);
	(void)close(go[1]);
	return -1;
}

static void close_pipes(struct workload *w)
{
	if (w->go >= 0)
		(void)close(w->go);
	if (w->told >= 0)
		(void)close(w->told);
	w->go = w->told = -1;
}

int workload_start(struct workload *w, const char *name, struct err *err)
{
	ssize_t n;
	int e = 0;

	n = tell(w->go, "g", 1);
	if (n != 1) { /* it waits, and ends when the pipe is closed */
		(void)err_sys(err, "%s", name);
		workload_cancel(w);
		return -1;
	}
	do
		n = read(w->told, &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close_pipes(w);
	if (n != (ssize_t)sizeof(e))
		return 0; /* the pipe was closed by a successful exec */
	(void)workload_reap(w, true);
	(void)err_set(err, ERR_EXEC, "%s: %s", name, strerror(e));
	err->sys_errno = e;
	if (e == ENOENT && !strchr(name, '/'))
		return err_hint(err, "it is in no directory of PATH; for a program here: ./%s",
				name);
	return -1;
}

bool workload_reap(struct workload *w, bool block)
{
	int status;
	pid_t got;

	if (w->ended || w->pid <= 0)
		return true;
	do
		got = wait4(w->pid, &status, block ? 0 : WNOHANG, &w->usage);
	while (got < 0 && errno == EINTR);
	if (!got)
		return false;
	w->ended = true;
	if (got > 0 && WIFSIGNALED(status))
		w->killed_by = WTERMSIG(status);
	if (got > 0)
		w->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

void workload_leave(struct workload *w, int status)
{
	close_pipes(w);
	w->ended = true;
	w->status = status;
}

void workload_cancel(struct workload *w)
{
	close_pipes(w);
	if (w->pid > 0)
		(void)workload_reap(w, true);
}
