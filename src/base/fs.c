/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file_out.h"
#include "base/nomem.h"

/* Many of these names come from recordings and from debug information. Opening a device may do
 * things, and opening a FIFO may wait for ever: hence the look beforehand, and O_NONBLOCK for what
 * is put there in between. */
static int open_regular(const char *path, struct stat *st, struct err *err)
{
	int fd;

	if (stat(path, st))
		return err_sys(err, "%s", path);
	if (!S_ISREG(st->st_mode))
		return err_set(err, ERR_FORMAT, "%s: not a regular file", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_sys(err, "%s", path);
	if (fstat(fd, st))
		(void)err_sys(err, "%s", path);
	else if (!S_ISREG(st->st_mode))
		(void)err_set(err, ERR_FORMAT, "%s: not a regular file", path);
	else
		return fd;
	(void)close(fd);
	return -1;
}

int file_map_open(struct file_map *m, const char *path, bool writable, struct err *err)
{
	int fd, rc = -1;
	struct stat st;
	void *p;

	m->p = NULL;
	m->len = 0;
	fd = open_regular(path, &st, err);
	if (fd < 0)
		return -1;
	if (st.st_size > 0) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | (writable ? PROT_WRITE : 0),
			 MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED) {
			if (errno == ENOMEM)
				nomem_note();
			(void)err_sys(err, "%s: mmap", path);
			goto out;
		}
		m->p = p;
		m->len = (size_t)st.st_size;
	}
	rc = 0;
out:
	(void)close(fd);
	return rc;
}

void file_map_close(struct file_map *m)
{
	if (m->p)
		(void)munmap(m->p, m->len);
	m->p = NULL;
	m->len = 0;
}

int fd_slurp(struct buf *out, int fd, size_t limit, const char *name, struct err *err)
{
	char chunk[65536];
	size_t start = out->len;

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "%s", name);
		if (!n)
			break;
		if (out->len - start + (size_t)n > limit)
			return err_set(err, ERR_LIMIT, "%s: more than %zu bytes", name, limit);
		buf_put(out, chunk, (size_t)n);
		if (out->failed)
			return err_nomem(err);
	}
	buf_put(out, "", 0);
	return buf_error(out, err);
}

int file_slurp(struct buf *out, const char *path, size_t limit, struct err *err)
{
	struct stat st;
	int fd = open_regular(path, &st, err);
	int rc;

	if (fd < 0)
		return -1;
	rc = fd_slurp(out, fd, limit, path, err);
	(void)close(fd);
	return rc;
}

/* Looks at what an O_PATH descriptor stands for before it is opened: opening a device may do
 * things. Takes over `at`. */
static int open_seen(int at, const char *name, struct err *err)
{
	char link[64];
	struct stat st;
	int fd;

	if (at < 0)
		return err_sys(err, "%s", name);
	if (fstat(at, &st) || !S_ISREG(st.st_mode)) {
		(void)close(at);
		return err_set(err, ERR_FORMAT, "%s: not a regular file", name);
	}
	file_keep(&st, FILE_INPUT);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		(void)err_sys(err, "%s", name);
	(void)close(at);
	return fd;
}

int fd_open_regular(const char *path, struct err *err)
{
	return open_seen(open(path, O_PATH | O_CLOEXEC), path, err);
}

int fd_open_below(const char *root, const char *path, struct err *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (dir < 0)
		return err_sys(err, "%s", root);
	fd = open_seen((int)syscall(SYS_openat2, dir, path, &how, sizeof(how)), path, err);
	(void)close(dir);
	return fd;
}

bool file_written_by(const struct stat *st, uid_t other)
{
	bool by_group = (st->st_mode & S_IWGRP) && st->st_gid && st->st_gid != st->st_uid;

	return S_ISREG(st->st_mode) && !(st->st_mode & S_IWOTH) && !by_group &&
	       (!st->st_uid || st->st_uid == geteuid() || st->st_uid == other);
}

int dir_make_all(const char *path, mode_t mode, struct err *err)
{
	char part[4096];
	size_t len = strlen(path);

	if (!len || len >= sizeof(part))
		return err_set(err, ERR_USAGE, "%.60s: not a usable directory name", path);
	memcpy(part, path, len + 1);
	for (char *s = part + 1;; s++) {
		char c = *s;

		if (c && c != '/')
			continue;
		*s = '\0';
		if (mkdir(part, mode) && errno != EEXIST)
			return err_sys(err, "%s", part);
		if (!c)
			return 0;
		*s = c;
	}
}

int path_join(char *out, size_t size, const char *a, const char *b)
{
	size_t len = strlen(a);
	int n;

	while (len && a[len - 1] == '/')
		len--;
	while (*b == '/')
		b++;
	n = snprintf(out, size, "%.*s/%s", (int)len, a, b);
	return n < 0 || (size_t)n >= size ? -1 : 0;
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether the last part of out[0..n) may be taken back by "..": there is one, and it is none. */
static bool can_drop(const char *out, size_t n)
{
	return n &&
	       !(n >= 2 && out[n - 1] == '.' && out[n - 2] == '.' && (n == 2 || out[n - 3] == '/'));
}

int path_lexical(char *out, size_t size, const char *path)
{
	bool absolute = path[0] == '/';
	size_t root = absolute, n = root;

	if (size < root + 1)
		return -1;
	if (absolute)
		out[0] = '/';
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.' &&
		    (absolute || can_drop(out, n))) {
			while (n > root && out[n - 1] != '/')
				n--;
			if (n > root)
				n--;
		} else if (len && !(len == 1 && path[0] == '.')) {
			if (n + 1 + len >= size)
				return -1;
			if (n > root)
				out[n++] = '/';
			memcpy(out + n, path, len);
			n += len;
		}
		path += len;
		path += *path == '/';
	}
	out[n] = '\0';
	return 0;
}
