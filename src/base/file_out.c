/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/file_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/fs.h"
#include "base/vec.h"

/* ---- inputs ------------------------------------------------------------------------------ */

struct kept_file {
	dev_t dev;
	ino_t ino;
};

/* The inputs are known to the whole process: code that opens an output need not know who opened
 * them. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static VEC(struct kept_file) kept;
static bool kept_failed;	/* one could not be remembered: nothing may be replaced */
static mode_t kept_mode = 0777; /* the permissions that all recordings allow */

static bool kept_has(const struct stat *st)
{
	vec_each (&kept, const struct kept_file *, k)
		if (k->dev == st->st_dev && k->ino == st->st_ino)
			return true;
	return false;
}

void file_keep(const struct stat *st, enum file_kind kind)
{
	struct kept_file k = { st->st_dev, st->st_ino };

	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return;
	(void)pthread_mutex_lock(&kept_lock);
	if (!kept_has(st) && vec_push(&kept, k))
		kept_failed = true;
	if (kind == FILE_SECRET) { /* a pipe has 0600 */
		if (!(st->st_mode & S_IRGRP))
			kept_mode &= ~(mode_t)S_IRWXG;
		if (!(st->st_mode & S_IROTH))
			kept_mode &= ~(mode_t)S_IRWXO;
	}
	(void)pthread_mutex_unlock(&kept_lock);
}

void file_keep_path(const char *path, enum file_kind kind)
{
	struct stat st;

	if (!stat(path, &st))
		file_keep(&st, kind);
}

bool file_is_kept(const struct stat *st)
{
	bool is;

	(void)pthread_mutex_lock(&kept_lock);
	is = kept_has(st) || (kept_failed && S_ISREG(st->st_mode));
	(void)pthread_mutex_unlock(&kept_lock);
	return is;
}

static mode_t mode_of_derived(mode_t mode)
{
	(void)pthread_mutex_lock(&kept_lock);
	mode &= kept_mode;
	(void)pthread_mutex_unlock(&kept_lock);
	return mode;
}

static int refuse_input(const char *name, struct err *err)
{
	(void)err_set(err, ERR_USAGE, "%s is also an input; nothing is written", name);
	return err_hint(err, "name another file for the output");
}

int file_out_check(const char *path, struct err *err)
{
	struct stat st;

	return stat(path, &st) || !file_is_kept(&st) ? 0 : refuse_input(path, err);
}

int file_out_check_fd(int fd, const char *name, struct err *err)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISREG(st.st_mode) || !file_is_kept(&st)
		       ? 0
		       : refuse_input(name, err);
}

/* ---- outputs ----------------------------------------------------------------------------- */

#define AT_END UINT64_MAX

static int write_bytes(int fd, const char *p, size_t len, uint64_t at, const char *name,
		       struct err *err)
{
	while (len) {
		ssize_t n = at == AT_END ? write(fd, p, len) : pwrite(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			if (poll(&wait, 1, -1) < 0 && errno != EINTR)
				return err_sys(err, "%s", name);
			continue;
		}
		if (n < 0)
			return err_sys(err, "%s", name);
		if (!n)
			return err_set(err, ERR_IO, "%s: nothing more can be written", name);
		p += n;
		len -= (size_t)n;
		if (at != AT_END)
			at += (size_t)n;
	}
	return 0;
}

int fd_write_all(int fd, const void *p, size_t len, const char *name, struct err *err)
{
	return write_bytes(fd, p, len, AT_END, name, err);
}

int fd_write_all_at(int fd, const void *p, size_t len, uint64_t at, const char *name,
		    struct err *err)
{
	return write_bytes(fd, p, len, at, name, err);
}

int file_beside(char *out, size_t size, const char *path, const char *suffix)
{
	const char *base = path_base(path);
	size_t dir = (size_t)(base - path), len = strlen(base), room = NAME_MAX - strlen(suffix);
	int n = snprintf(out, size, "%.*s%.*s%s", (int)dir, path, (int)(len < room ? len : room),
			 base, suffix);

	return n < 0 || (size_t)n >= size ? -1 : 0;
}

/* Files that may have a temporary name, for file_new_remove_temps(); beyond eight, one is not. */
static struct file_new *_Atomic open_temps[8];

static void replace_temp(struct file_new *was, struct file_new *f)
{
	for (size_t i = 0; i < sizeof(open_temps) / sizeof(*open_temps); i++) {
		struct file_new *expected = was;

		if (atomic_compare_exchange_strong(&open_temps[i], &expected, f))
			return;
	}
}

void file_new_remove_temps(void)
{
	for (size_t i = 0; i < sizeof(open_temps) / sizeof(*open_temps); i++) {
		const struct file_new *f = atomic_load(&open_temps[i]);

		if (f && f->temp[0])
			(void)unlink(f->temp);
	}
}

/* Makes a file called "PATH.xxxxxx", trying names until one is free, as mkostemp() does. Returns
 * the last result of make(). */
static int with_temp(struct file_new *f, int (*make)(const struct file_new *f, mode_t mode),
		     mode_t mode)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	uint8_t random[6];
	char *end;
	int rc;

	if (file_beside(f->temp, sizeof(f->temp), f->path, ".xxxxxx")) {
		errno = ENAMETOOLONG;
		f->temp[0] = '\0';
		return -1;
	}
	end = f->temp + strlen(f->temp) - sizeof(random);
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

/* Fails if something has the name. */
static int link_as(const struct file_new *f, const char *name)
{
	char fd[40];

	(void)snprintf(fd, sizeof(fd), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, fd, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int link_temp(const struct file_new *f, mode_t mode)
{
	(void)mode;
	return link_as(f, f->temp);
}

/* A file without a name in the directory of f->path; -1 if it could not be given one later. */
static int create_nameless(const struct file_new *f, mode_t mode)
{
	char dir[sizeof(f->path)];

	if (access("/proc/self/fd", X_OK) || path_dir(dir, sizeof(dir), f->path))
		return -1;
	return open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
}

/* Opens the regular file that is to be replaced: by the kernel's rules for links and permissions.
 * If the path is a link, f->path becomes the file's own name. Its fd, or -1. */
static int open_replaced(struct file_new *f, struct stat *st, bool follow, struct err *err)
{
	int fd = open(f->path,
		      O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW));
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

/* File systems without owners or permissions, and owners that a user namespace does not know. */
static bool has_no_such(int why)
{
	return why == EPERM || why == EINVAL || why == EOPNOTSUPP || why == ENOSYS;
}

/* As the file that is replaced; the owner if we may. */
static int take_after(const struct file_new *f, const struct stat *old, struct err *err)
{
	mode_t mode = mode_of_derived(old->st_mode & 0777);
	struct stat st;

	if (fstat(f->fd, &st))
		return err_sys(err, "%s", f->path);
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(f->fd, old->st_uid, old->st_gid) && !has_no_such(errno))
		return err_sys(err, "%s: its owner", f->path);
	/* if permissions are all the same, the new file has the old one's */
	if ((st.st_mode & 0777) != mode && fchmod(f->fd, mode) &&
	    !(has_no_such(errno) && (st.st_mode & 0777) == (old->st_mode & 0777)))
		return err_sys(err, "%s: its permissions", f->path);
	return 0;
}

static const char *file_kind_name(mode_t mode)
{
	return S_ISLNK(mode) ? "symbolic link" : S_ISFIFO(mode) ? "FIFO" : "special file";
}

/* One link of a path of ours: f->path becomes its target. */
static int follow_one(struct file_new *f, int link, struct err *err)
{
	char to[sizeof(f->path)], dir[sizeof(f->path)];
	ssize_t n = readlinkat(link, "", to, sizeof(to) - 1);

	if (n <= 0)
		return err_sys(err, "%s", f->path);
	to[n] = '\0';
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)(path_base(f->path) - f->path), f->path);
	if (to[0] != '/' && *dir) {
		if (path_join(f->path, sizeof(f->path), dir, to))
			return err_set(err, ERR_LIMIT, "%.60s...: the path is too long", dir);
		return 0;
	}
	memcpy(f->path, to, (size_t)n + 1);
	return 0;
}

/* Follows links of this user's and of root's, each judged by the descriptor that is read. A file
 * that another put in their place is not touched. */
static int follow_ours(struct file_new *f, struct err *err)
{
	for (int hop = 0; hop < 16; hop++) {
		int fd = open(f->path, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc;
		struct stat st;

		if (fd < 0 && errno == ENOENT && hop)
			break;
		if (fd < 0)
			return errno == ENOENT ? 0 : err_sys(err, "%s", f->path);
		if (fstat(fd, &st))
			rc = err_sys(err, "%s", f->path);
		else if (S_ISREG(st.st_mode))
			rc = 0;
		else if (!owner_is_ours(&st))
			rc = err_set(err, ERR_PERM,
				     "%s: this %s belongs to another user; it is not written",
				     f->path, file_kind_name(st.st_mode));
		else
			rc = S_ISLNK(st.st_mode) ? 1 : 0;
		if (rc > 0 && follow_one(f, fd, err))
			rc = -1;
		(void)close(fd);
		if (rc <= 0)
			return rc;
	}
	(void)err_set(err, ERR_NOT_FOUND, "%s: a symbolic link to nothing", f->path);
	return err_hint(err, "name the file itself");
}

int file_new_open(struct file_new *f, const char *path, mode_t mode, enum file_new_how how,
		  struct err *err)
{
	bool ours = how == FILE_NEW_OURS;
	struct stat st, at;
	int n, old = -1, rc = -1;

	*f = (struct file_new)FILE_NEW_NONE;
	n = snprintf(f->path, sizeof(f->path), "%s", path);
	if (n < 0 || (size_t)n >= sizeof(f->path))
		return err_set(err, ERR_USAGE, "%.60s...: the path is too long", path);
	if (ours && follow_ours(f, err))
		return -1;
	if (ours ? lstat(f->path, &st) : stat(f->path, &st)) {
		if (errno != ENOENT) /* a link to itself, too */
			return err_sys(err, "%s", path);
		if (!lstat(f->path, &at)) {
			(void)err_set(err, ERR_NOT_FOUND, "%s: a symbolic link to nothing", path);
			return err_hint(err, "name the file itself");
		}
	} else if (file_is_kept(&st)) {
		return refuse_input(path, err);
	} else if (ours && S_ISFIFO(st.st_mode)) {
		return err_set(err, ERR_PERM,
			       "%s: a FIFO that nobody named as an output: writing would wait for "
			       "its reader",
			       path);
	} else if (!S_ISREG(st.st_mode)) {
		/* not a regular file: written as it is. */
		f->direct = true;
		f->fd = open(f->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | (!ours ? 0 : O_NOFOLLOW));
		return f->fd < 0 ? err_sys(err, "%s", f->path) : 0;
	} else {
		old = open_replaced(f, &st, !ours, err);
		if (old < 0)
			return -1;
	}
	mode = mode_of_derived(mode);
	f->fd = create_nameless(f, mode);
	if (f->fd < 0) {
		replace_temp(NULL, f); /* before there is a name to remove */
		f->fd = with_temp(f, create_temp, mode);
	}
	if (f->fd < 0)
		(void)err_sys(err, "%s", f->path);
	else
		rc = old >= 0 && !(how & FILE_NEW_FRESH) ? take_after(f, &st, err) : 0;
	if (old >= 0)
		(void)close(old);
	if (rc)
		file_new_abort(f);
	return rc;
}

int file_new_reserve(const struct file_new *f, uint64_t bytes)
{
	int fd = f->direct ? -1 : create_nameless(f, 0600);

	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)bytes)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* Gives the file its name; no signal comes between the steps. If nothing has the name there is one
 * step, so that SIGKILL leaves no other. */
static int give_new_name(struct file_new *f, bool close_first, struct err *err)
{
	bool temp = f->temp[0], linked = false;
	sigset_t all, old;
	int rc = 0;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!f->direct && !f->shown && !temp) {
		linked = !link_as(f, f->path);
		if (!linked && with_temp(f, link_temp, 0))
			rc = err_sys(err, "%s", f->path);
	}
	if (close_first) {
		if (close(f->fd) && !rc)
			rc = err_sys(err, "%s", f->path);
		f->fd = -1;
	}
	if (rc && linked)
		(void)unlink(f->path);
	if (!rc && f->temp[0] && rename(f->temp, f->path))
		rc = err_sys(err, "%s", f->path);
	if (!rc) {
		f->temp[0] = '\0';
		replace_temp(f, NULL);
		f->shown = true;
	} else if (!temp && f->temp[0]) {
		(void)unlink(f->temp);
		f->temp[0] = '\0';
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int file_new_show(struct file_new *f, struct err *err)
{
	return f->shown ? 0 : give_new_name(f, false, err);
}

int file_new_commit(struct file_new *f, struct err *err)
{
	int rc = give_new_name(f, true, err);

	if (rc)
		file_new_abort(f);
	return rc;
}

int file_put(const char *path, mode_t mode, enum file_new_how how, const void *p, size_t len,
	     struct err *err)
{
	struct file_new f;

	if (file_new_open(&f, path, mode, how, err))
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
	replace_temp(f, NULL);
}

int file_append_open(const char *path, mode_t mode, struct err *err)
{
	struct stat st;
	int fd;

	if (file_out_check(path, err))
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | O_NOCTTY,
		  mode_of_derived(mode));
	if (fd < 0)
		return err_sys(err, "%s", path);
	if (fstat(fd, &st) || !file_is_kept(&st))
		return fd;
	(void)close(fd);
	return refuse_input(path, err);
}

bool dir_is_ours(const char *path)
{
	char dir[PATH_MAX];
	struct stat st;
	bool there = true;
	char *slash;

	if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return false;
	while (stat(dir, &st)) {
		slash = strrchr(dir, '/');
		if (errno != ENOENT || !slash)
			return errno == ENOTDIR; /* it can hold nothing */
		there = false;
		if (slash == dir)
			return !stat("/", &st) && owner_is_ours(&st);
		*slash = '\0';
	}
	if (!owner_is_ours(&st))
		return false;
	/* below /tmp a new directory is safe from others, who cannot rename it */
	return !(st.st_mode & S_IWOTH) || (!there && (st.st_mode & S_ISVTX));
}
