/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static bool keeps_fd(const struct watchdog_job *job, int fd)
{
	for (size_t i = 0; i < job->n_keep; i++)
		if (job->keep[i] == fd)
			return true;
	return false;
}

int watchdog_begin(struct watchdog *w, const struct watchdog_job *job, struct err *err)
{
	sigset_t all, had;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(err, "pipe");
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &had); /* it has them held back from its start */
	pid = fork();
	if (!pid) { /* after fork() in a process that may have threads */
		ssize_t got;
		char word;
		int most = ends[0];

		(void)close(ends[1]);
		(void)setsid();
		(void)prctl(PR_SET_NAME, job->name);
		/* Sockets, pipes and the terminal are not ours to keep open. */
		for (size_t i = 0; i < job->n_keep; i++)
			most = job->keep[i] > most ? job->keep[i] : most;
		for (int fd = 0; fd <= most; fd++)
			if (fd != ends[0] && !keeps_fd(job, fd))
				(void)close(fd);
		/* glibc has a function for it since 2.34 only; Linux has the call since 5.9 */
		if (syscall(SYS_close_range, (unsigned)most + 1, ~0u, 0u))
			for (int fd = most + 1; fd < 4096; fd++)
				(void)close(fd);
		do
			got = read(ends[0], &word, 1);
		while (got < 0 && errno == EINTR);
		if (got <= 0) /* a word calls it off */
			job->act(job->ctx);
		_exit(0);
	}
	(void)pthread_sigmask(SIG_SETMASK, &had, NULL);
	(void)close(ends[0]);
	if (pid < 0) {
		(void)err_sys(err, "fork");
		(void)close(ends[1]);
		return -1;
	}
	*w = (struct watchdog){ pid, ends[1] };
	return 0;
}

bool watchdog_lost(struct watchdog *w)
{
	if (!w->pid || waitpid(w->pid, NULL, WNOHANG) != w->pid)
		return false;
	(void)close(w->pipe);
	*w = (struct watchdog){ 0 };
	return true;
}

void watchdog_end(struct watchdog *w)
{
	if (!w->pid)
		return;
	(void)!write(w->pipe, "", 1);
	(void)close(w->pipe);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*w = (struct watchdog){ 0 };
}
