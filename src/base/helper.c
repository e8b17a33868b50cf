/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/helper.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

bool helper_start(struct helper *b, void (*serve)(int from, const void *ctx), const void *ctx)
{
	int ends[2];
	pid_t pid;

	if (b->end >= 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	pid = fork();
	if (!pid) {
		(void)close(ends[0]);
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGQUIT, SIG_IGN);
		serve(ends[1], ctx);
		_exit(0);
	}
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return false;
	}
	*b = (struct helper){ pid, ends[0] };
	return true;
}

bool helper_ask(const struct helper *b, const void *question, size_t len)
{
	ssize_t n;

	do
		n = write(b->end, question, len);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len;
}

void helper_end(struct helper *b)
{
	int status;

	if (b->end < 0)
		return;
	(void)close(b->end);
	b->end = -1;
	while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
		;
}
