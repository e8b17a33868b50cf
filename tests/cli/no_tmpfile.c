/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_tmpfile - preloaded: a file system without nameless files (NO_TMPFILE), a signal in the middle
 * of writing a file (TERM_AT_WRITE, its number), a close() that fails (CLOSE_FAILS, of
 * files below that directory that were written).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* POSIX lets an object's address be a function's, ISO C does not. */
static void next_of(const char *name, void *out)
{
	void *p = dlsym(RTLD_NEXT, name);

	memcpy(out, &p, sizeof(p));
}

/* Compiled with 64-bit offsets, as the program is: its symbol is open64. */
int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...);
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if ((flags & O_TMPFILE) == O_TMPFILE && getenv("NO_TMPFILE")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	next_of("open64", &next);
	return next(path, flags, mode);
}

ssize_t write(int fd, const void *p, size_t len)
{
	ssize_t (*next)(int, const void *, size_t);
	const char *number = getenv("TERM_AT_WRITE");

	next_of("write", &next);
	if (number && fd > 2) {
		ssize_t n = next(fd, p, len / 2);

		(void)raise(atoi(number));
		return n;
	}
	return next(fd, p, len);
}

int close(int fd)
{
	int (*next)(int);
	const char *below = getenv("CLOSE_FAILS");
	char link[64], name[4096];
	int flags = below ? fcntl(fd, F_GETFL) : -1;
	bool fails = false;
	ssize_t n;

	next_of("close", &next);
	if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = '\0';
		fails = !strncmp(name, below, strlen(below));
	}
	if (next(fd))
		return -1;
	errno = EDQUOT;
	return fails ? -1 : 0;
}
