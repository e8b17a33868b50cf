/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

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
	if (!fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	(void)close(fd);
	return err_set(err, ERR_FORMAT, "%s: not a regular file", path);
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
	return out->failed ? err_nomem(err) : 0;
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

int fd_write_all(int fd, const void *p, size_t len, const char *name, struct err *err)
{
	const char *at = p;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "%s", name);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* As mkostemp() does, but with `mode` as the umask leaves it. */
static int open_temp(char *temp, mode_t mode)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	char *end = temp + strlen(temp) - 6;
	uint8_t random[6];
	int fd;

	for (unsigned i = 0; i < 100; i++) {
		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -1;
		for (size_t k = 0; k < sizeof(random); k++)
			end[k] = letters[random[k] % (sizeof(letters) - 1)];
		fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

int file_new_open(struct file_new *f, const char *path, mode_t mode, struct err *err)
{
	struct stat st;
	int n;

	f->fd = -1;
	f->temp[0] = '\0';
	n = snprintf(f->path, sizeof(f->path), "%s", path);
	if (n < 0 || (size_t)n >= sizeof(f->path))
		return err_set(err, ERR_USAGE, "%.60s...: the path is too long", path);
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		f->fd = open(path, O_WRONLY | O_CLOEXEC);
		return f->fd < 0 ? err_sys(err, "%s", path) : 0;
	}
	(void)snprintf(f->temp, sizeof(f->temp), "%s.XXXXXX", path);
	f->fd = open_temp(f->temp, mode);
	if (f->fd < 0) {
		f->temp[0] = '\0';
		return err_sys(err, "%s", path);
	}
	return 0;
}

int file_new_commit(struct file_new *f, struct err *err)
{
	int rc = 0;

	if (close(f->fd))
		rc = err_sys(err, "%s", f->path);
	f->fd = -1;
	if (!rc && f->temp[0] && rename(f->temp, f->path))
		rc = err_sys(err, "%s", f->path);
	if (rc)
		file_new_abort(f);
	f->temp[0] = '\0';
	return rc;
}

int file_put(const char *path, mode_t mode, const void *p, size_t len, struct err *err)
{
	struct file_new f;

	if (file_new_open(&f, path, mode, err))
		return -1;
	if (fd_write_all(f.fd, p, len, path, err)) {
		file_new_abort(&f);
		return -1;
	}
	return file_new_commit(&f, err);
}

void file_new_abort(struct file_new *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
	f->fd = -1;
	if (f->temp[0])
		(void)unlink(f->temp);
	f->temp[0] = '\0';
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
