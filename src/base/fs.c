/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Makes a file called "PATH.xxxxxx", trying names until one is free, as mkostemp() does. Returns
 * what make() returned last. */
static int with_temp(struct file_new *f, int (*make)(const struct file_new *f, mode_t mode),
		     mode_t mode)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	char *end = f->temp + snprintf(f->temp, sizeof(f->temp), "%s.", f->path);
	uint8_t random[6];
	int rc;

	end[sizeof(random)] = '\0';
	for (unsigned i = 0; i < 100; i++) {
		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			break;
		for (size_t k = 0; k < sizeof(random); k++)
			end[k] = letters[random[k] % (sizeof(letters) - 1)];
		rc = make(f, mode);
		if (rc >= 0)
			return rc;
		if (errno != EEXIST)
			break;
	}
	f->temp[0] = '\0';
	return -1;
}

static int create_temp(const struct file_new *f, mode_t mode)
{
	return open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

static int link_temp(const struct file_new *f, mode_t mode)
{
	char fd[40];

	(void)mode;
	(void)snprintf(fd, sizeof(fd), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, fd, AT_FDCWD, f->temp, AT_SYMLINK_FOLLOW);
}

/* A file without a name in the directory of f->path; -1 where it could not be given one later. */
static int create_nameless(const struct file_new *f, mode_t mode)
{
	char dir[sizeof(f->path)];
	char *slash;

	if (access("/proc/self/fd", X_OK))
		return -1;
	memcpy(dir, f->path, sizeof(dir));
	slash = strrchr(dir, '/');
	if (!slash)
		(void)snprintf(dir, sizeof(dir), ".");
	else
		slash[slash == dir] = '\0';
	return open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
}

/* Opens the regular file that is to be replaced: by the kernel's rules for links and permissions.
 * Where the path is a link, f->path becomes the file's own name. Its fd, or -1. */
static int open_replaced(struct file_new *f, struct stat *st, struct err *err)
{
	int fd = open(f->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat at;
	char link[40];
	ssize_t n;

	if (fd < 0)
		return err_sys(err, "%s", f->path);
	if (fstat(fd, st) || lstat(f->path, &at)) {
		(void)err_sys(err, "%s", f->path);
		goto fail;
	}
	if (!S_ISLNK(at.st_mode))
		return fd;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, f->path, sizeof(f->path) - 1);
	f->path[n > 0 ? n : 0] = '\0';
	if (!stat(f->path, &at) && at.st_dev == st->st_dev && at.st_ino == st->st_ino)
		return fd;
	(void)err_set(err, ERR_IO, "the symbolic link leads to a file that cannot be named");
	(void)err_hint(err, "name the file itself");
fail:
	(void)close(fd);
	return -1;
}

/* As the file that is replaced; the owner where we may. */
static int take_after(const struct file_new *f, const struct stat *old, struct err *err)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return err_sys(err, "%s", f->path);
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(f->fd, old->st_uid, old->st_gid) && errno != EPERM)
		return err_sys(err, "%s: its owner", f->path);
	if (fchmod(f->fd, old->st_mode & 0777))
		return err_sys(err, "%s: its permissions", f->path);
	return 0;
}

static int open_new(struct file_new *f, const char *path, mode_t mode, bool keep, struct err *err)
{
	struct stat st, at;
	int n, old = -1, rc = -1;

	*f = (struct file_new)FILE_NEW_NONE;
	n = snprintf(f->path, sizeof(f->path), "%s", path);
	if (n < 0 || (size_t)n >= sizeof(f->path))
		return err_set(err, ERR_USAGE, "%.60s...: the path is too long", path);
	if (stat(path, &st)) {
		if (errno == ENOENT && !lstat(path, &at)) {
			(void)err_set(err, ERR_NOT_FOUND, "%s: a symbolic link to nothing", path);
			return err_hint(err, "name the file itself");
		}
	} else if (!S_ISREG(st.st_mode)) {
		f->direct = true;
		f->fd = open(path, O_WRONLY | O_CLOEXEC);
		return f->fd < 0 ? err_sys(err, "%s", path) : 0;
	} else {
		old = open_replaced(f, &st, err);
		if (old < 0)
			return -1;
	}
	f->fd = create_nameless(f, mode);
	if (f->fd < 0)
		f->fd = with_temp(f, create_temp, mode);
	if (f->fd < 0)
		(void)err_sys(err, "%s", f->path);
	else
		rc = old >= 0 && keep ? take_after(f, &st, err) : 0;
	if (old >= 0)
		(void)close(old);
	if (rc)
		file_new_abort(f);
	return rc;
}

int file_new_open(struct file_new *f, const char *path, mode_t mode, struct err *err)
{
	return open_new(f, path, mode, true, err);
}

int file_new_open_own(struct file_new *f, const char *path, mode_t mode, struct err *err)
{
	return open_new(f, path, mode, false, err);
}

/* Gives the file its name; no signal comes between the two steps. */
static int show(struct file_new *f, bool close_first, struct err *err)
{
	bool named = f->temp[0];
	sigset_t all, old;
	int rc = 0;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!f->direct && !f->shown && !named && with_temp(f, link_temp, 0))
		rc = err_sys(err, "%s", f->path);
	if (close_first) {
		if (close(f->fd) && !rc)
			rc = err_sys(err, "%s", f->path);
		f->fd = -1;
	}
	if (!rc && f->temp[0] && rename(f->temp, f->path))
		rc = err_sys(err, "%s", f->path);
	if (!rc) {
		f->temp[0] = '\0';
		f->shown = true;
	} else if (!named && f->temp[0]) {
		(void)unlink(f->temp);
		f->temp[0] = '\0';
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int file_new_show(struct file_new *f, struct err *err)
{
	return f->shown ? 0 : show(f, false, err);
}

int file_new_commit(struct file_new *f, struct err *err)
{
	int rc = show(f, true, err);

	if (rc)
		file_new_abort(f);
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
