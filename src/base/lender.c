/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/lender.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_MOST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int asks = -1; /* our end */
static pid_t lender;

/* "/proc/DIGITS/exe" or "/proc/DIGITS/root", and nothing else. */
static bool may_be_lent(const char *path)
{
	size_t digits;

	if (strncmp(path, "/proc/", strlen("/proc/")) != 0 || strlen(path) >= PATH_MOST)
		return false;
	path += strlen("/proc/");
	digits = strspn(path, "0123456789");
	return digits && (!strcmp(path + digits, "/exe") || !strcmp(path + digits, "/root"));
}

/* One answer: errno, 0 with a descriptor. */
union answer_room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static bool lender_answer(int to, int fd, int why)
{
	union answer_room room;
	struct iovec data = { .iov_base = &why, .iov_len = sizeof(why) };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t n;

	memset(&room, 0, sizeof(room));
	if (fd >= 0) {
		m.msg_control = room.bytes;
		m.msg_controllen = sizeof(room.bytes);
		room.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS,
					      .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(&room.head), &fd, sizeof(fd));
	}
	do
		n = sendmsg(to, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n >= 0;
}

/* Until our parent is gone. */
static void lend(int from)
{
	char path[PATH_MOST];
	bool there = true;

	while (there) {
		ssize_t n = read(from, path, sizeof(path) - 1);
		int fd = -1, why = EACCES;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		path[n] = '\0';
		if (may_be_lent(path)) {
			fd = open(path, O_PATH | O_CLOEXEC);
			why = fd < 0 ? errno : 0;
		}
		there = lender_answer(from, fd, why);
		if (fd >= 0)
			(void)close(fd);
	}
	_exit(0);
}

bool lender_start(void)
{
	int ends[2];
	pid_t pid;

	if (asks >= 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	pid = fork();
	if (!pid) {
		(void)close(ends[0]);
		(void)signal(SIGINT, SIG_IGN); /* ours to answer */
		(void)signal(SIGQUIT, SIG_IGN);
		lend(ends[1]);
	}
	(void)close(ends[1]);
	if (pid > 0) {
		asks = ends[0];
		lender = pid;
	} else {
		(void)close(ends[0]);
	}
	return pid > 0;
}

void lender_end(void)
{
	int status;

	if (asks < 0)
		return;
	(void)close(asks);
	asks = -1;
	while (waitpid(lender, &status, 0) < 0 && errno == EINTR)
		;
}

/* The last request; the lock is held. */
static int take_answer(void)
{
	union answer_room room;
	int why = 0, fd = -1;
	struct iovec data = { .iov_base = &why, .iov_len = sizeof(why) };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = room.bytes,
			    .msg_controllen = sizeof(room.bytes) };
	ssize_t n;

	do
		n = recvmsg(asks, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(why) && !why && m.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    room.head.cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(&room.head), sizeof(fd));
	errno = why ? why : EACCES;
	return fd;
}

int lender_open(const char *path)
{
	int fd = -1;
	ssize_t n;

	if (asks < 0 || !may_be_lent(path))
		return -1;
	(void)pthread_mutex_lock(&lock);
	do
		n = write(asks, path, strlen(path));
	while (n < 0 && errno == EINTR);
	if (n > 0)
		fd = take_answer();
	(void)pthread_mutex_unlock(&lock);
	return fd;
}
