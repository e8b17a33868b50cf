/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/lender.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/helper.h"

enum { PATH_MOST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct helper lender = HELPER_NONE;

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

static void lend(int from, const void *ctx)
{
	char path[PATH_MOST];
	bool there = true;

	(void)ctx;
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
}

bool lender_start(void)
{
	return helper_start(&lender, lend, NULL);
}

void lender_end(void)
{
	helper_end(&lender);
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
		n = recvmsg(lender.end, &m, MSG_CMSG_CLOEXEC);
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

	if (lender.end < 0 || !may_be_lent(path))
		return -1;
	(void)pthread_mutex_lock(&lock);
	if (helper_ask(&lender, path, strlen(path)))
		fd = take_answer();
	(void)pthread_mutex_unlock(&lock);
	return fd;
}
