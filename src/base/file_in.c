/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/file_in.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file_out.h"
#include "base/fs.h"
#include "base/file_mount.h"
#include "base/lender.h"
#include "base/nomem.h"

/* ---- the budget ------------------------------------------------------------------------- */

#define BUDGET_LEAST ((size_t)64 << 20)

static atomic_size_t budget, charged; /* budget 0: not computed yet */

void file_in_limit(size_t bytes)
{
	atomic_store(&budget, bytes ? bytes : 1);
}

bool file_in_charge(size_t bytes)
{
	size_t most = atomic_load(&budget), had;

	if (!most) {
		long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
		size_t quarter = pages > 0 && size > 0 ? (size_t)pages / 4 * (size_t)size : 0;

		most = quarter > BUDGET_LEAST ? quarter : BUDGET_LEAST;
		file_in_limit(most);
	}
	had = atomic_fetch_add(&charged, bytes);
	if (bytes <= most && had <= most - bytes)
		return true;
	atomic_fetch_sub(&charged, bytes);
	return false;
}

void file_in_release(size_t bytes)
{
	atomic_fetch_sub(&charged, bytes);
}

static int over_budget(const char *name, struct err *err)
{
	return err_set(err, ERR_LIMIT,
		       "%s: left out: files that others can write would take more than %zu MB of "
		       "memory",
		       name, atomic_load(&budget) >> 20);
}

/* ---- opening ---------------------------------------------------------------------------- */

#define LINKS_MOST 40 /* on the way to one file, as in the kernel */

/* Adds `name` to `out`, which has no links; NULL: too long. Returns where it begins. */
static char *go_into(char out[PATH_MAX], const char *name, size_t len)
{
	size_t have = strlen(out);

	if (have + 1 + len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	out[have] = '/';
	memcpy(out + have + 1, name, len);
	out[have + 1 + len] = '\0';
	return out + have;
}

/* Where `path` leads to below the directory `top`, as "/a/b" without links; absolute links begin at
 * `top`, and ".." ends there. If it is not there, that is no error yet. `whole`: the last name,
 * too, may be a link. */
static int without_links(int top, const char *path, bool whole, char out[PATH_MAX])
{
	char rest[2 * PATH_MAX], link[PATH_MAX], *at = rest, *name;
	unsigned links = 0;
	ssize_t n;

	out[0] = '\0';
	if (snprintf(rest, sizeof(rest), "%s", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	while (at += strspn(at, "/"), *at) {
		size_t len = strcspn(at, "/");
		const char *begin = at;

		at += len;
		if (len == 1 && begin[0] == '.')
			continue;
		if (len == 2 && begin[0] == '.' && begin[1] == '.') {
			name = strrchr(out, '/');
			if (name)
				*name = '\0';
			continue;
		}
		name = go_into(out, begin, len);
		if (!name)
			return -1;
		if (!whole && !at[strspn(at, "/")])
			return 0;
		n = readlinkat(top, out + 1, link, sizeof(link) - 1);
		if (n < 0)
			continue; /* no link */
		if (++links > LINKS_MOST || (size_t)n + strlen(at) >= PATH_MAX) {
			errno = links > LINKS_MOST ? ELOOP : ENAMETOOLONG;
			return -1;
		}
		memmove(rest + n, at, strlen(at) + 1);
		memcpy(rest, link, (size_t)n);
		at = rest;
		(link[0] == '/' ? out : name)[0] = '\0';
	}
	return 0;
}

/* If the kernel has no openat2 (before 5.6, some sandboxes): the targets of links on the way are
 * looked up beforehand, and then no link is followed. With O_NOFOLLOW the last name is left as it
 * is. */
static int open_unsure(int top, const char *path, int flags)
{
	char out[PATH_MAX], *name, *slash;
	int at = top, next;

	if (without_links(top, path, !(flags & O_NOFOLLOW), out))
		return -1;
	for (name = *out ? out + 1 : out; at >= 0 && (slash = strchr(name, '/'));
	     name = slash + 1) {
		*slash = '\0';
		next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (at != top)
			(void)close(at);
		at = next;
	}
	next = at < 0 ? -1 : openat(at, *name ? name : ".", flags | O_NOFOLLOW);
	if (at >= 0 && at != top) {
		int why = errno;

		(void)close(at);
		errno = why;
	}
	return next;
}

/* A sandbox keeps us from the files of a running program: somebody beside us is asked then. */
static int open_lent(const char *path, int fd)
{
	return fd < 0 && (errno == EACCES || errno == EPERM) ? lender_open(path) : fd;
}

/* With openat2() if the kernel has it. */
static int open_below(const char *root, const char *path, int flags, uint64_t resolve)
{
	struct open_how to = { .flags = (unsigned)flags | O_CLOEXEC, .resolve = resolve };
	int top = AT_FDCWD, fd, why;

	if (!root && !resolve)
		return open(path, flags | O_CLOEXEC);
	if (root) {
		to.resolve |= RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
		top = open_lent(root, open(root, O_PATH | O_DIRECTORY | O_CLOEXEC));
		if (top < 0)
			return -1;
	}
	/* a rename or mount meanwhile makes a path with ".." fail so: openat2(2) */
	for (int i = 0; i < 64; i++) {
		fd = (int)syscall(SYS_openat2, top, path, &to, sizeof(to));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* EPERM: some containers' filter */
		fd = root ? open_unsure(top, path, flags | O_CLOEXEC)
			  : open(path, flags | O_CLOEXEC);
	why = errno;
	if (root)
		(void)close(top);
	errno = why;
	return fd;
}

int file_in_below(const char *root, const char *path, int flags)
{
	return open_below(root, path, flags, 0);
}

static int open_name(const char *root, const char *path, unsigned how, int flags)
{
	return open_below(root, path, flags | (how & FILE_IN_NO_LINK ? O_NOFOLLOW : 0),
			  how & FILE_IN_PROC ? 0 : RESOLVE_NO_MAGICLINKS);
}

/* The file behind `at`, for reading; non-blocking: its owner may hold a lease on it. If /proc is
 * not mounted, the file of that name, if it is the same. */
static int open_same(int at, const char *root, const char *path, unsigned how,
		     const struct stat *st)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct stat now;
	char link[64];
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	fd = open(link, flags);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	fd = open_name(root, path, how, flags);
	if (fd < 0 || (!fstat(fd, &now) && now.st_dev == st->st_dev && now.st_ino == st->st_ino))
		return fd;
	(void)close(fd);
	errno = ENOENT;
	return -1;
}

static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	void (*opened)(void *ctx, const char *root, const char *path);
	void *ctx;
} report;

void file_in_report(void (*opened)(void *ctx, const char *root, const char *path), void *ctx)
{
	(void)pthread_mutex_lock(&report_lock);
	report.opened = opened;
	report.ctx = ctx;
	(void)pthread_mutex_unlock(&report_lock);
}

static void report_opened(const char *root, const char *path)
{
	(void)pthread_mutex_lock(&report_lock);
	if (report.opened)
		report.opened(report.ctx, root, path);
	(void)pthread_mutex_unlock(&report_lock);
}

int file_in_open(const char *root, const char *path, unsigned how, struct stat *st, struct err *err)
{
	int at, fd;

	memset(st, 0, sizeof(*st));
	fd = file_mount_open(root, path, st, err);
	if (fd != FILE_NOT_MOUNTED)
		return fd;
	at = open_name(root, path, how, O_PATH); /* without effect, whatever it is */
	if (how & FILE_IN_PROC)
		at = open_lent(path, at);
	if (at < 0)
		return err_sys(err, "%s", path);
	if (fstat(at, st)) {
		(void)err_sys(err, "%s", path);
		(void)close(at);
		return -1;
	}
	if (!S_ISREG(st->st_mode)) {
		(void)close(at);
		return err_set(err, ERR_FORMAT, "%s: not a regular file", path);
	}
	if (!(how & FILE_IN_STATE))
		file_keep(st, FILE_INPUT);
	fd = open_same(at, root, path, how, st);
	if (fd < 0)
		(void)err_sys(err, "%s", path);
	(void)close(at);
	if (fd >= 0 && !(how & FILE_IN_STATE))
		report_opened(root, path);
	return fd;
}

/* ---- mappings that may become shorter --------------------------------------------------- */

/* Never freed, but used again: a handler walks the list at any moment. */
struct file_watch {
	struct file_watch *next;
	atomic_bool used, cut;
	_Atomic(uint8_t *) p; /* NULL: none now */
	size_t len, page;
	dev_t dev;
	ino_t ino;
	struct timespec written;
};

static _Atomic(struct file_watch *) watches;

static struct file_watch *watch_mapping(uint8_t *p, size_t len)
{
	struct file_watch *w = atomic_load(&watches);

	while (w && atomic_exchange(&w->used, true))
		w = w->next;
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			return NULL;
		atomic_init(&w->used, true);
		w->next = atomic_load(&watches);
		while (!atomic_compare_exchange_weak(&watches, &w->next, w))
			;
	}
	atomic_store(&w->cut, false);
	w->len = len;
	w->page = (size_t)sysconf(_SC_PAGESIZE);
	atomic_store(&w->p, p);
	return w;
}

static void unwatch(struct file_watch *w)
{
	atomic_store(&w->p, NULL);
	atomic_store(&w->used, false);
}

bool file_in_fault(void *address)
{
	int kept = errno;

	for (struct file_watch *w = atomic_load(&watches); w; w = w->next) {
		uintptr_t p = (uintptr_t)atomic_load(&w->p), at = (uintptr_t)address;
		void *zeros;

		if (!p || at < p || at - p >= w->len)
			continue;
		at -= at % w->page;
		/* up to the end, so that bytes behind it cannot come back */
		zeros = mmap((void *)at, p + w->len - at, PROT_READ | PROT_WRITE, // NOLINT
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		atomic_store(&w->cut, true);
		errno = kept;
		return zeros != MAP_FAILED;
	}
	return false;
}

bool file_map_cut(const struct file_map *m)
{
	return m->watch && atomic_load(&m->watch->cut);
}

bool file_map_written(const struct file_map *m, const char *path)
{
	const struct file_watch *w = m->watch;
	struct stat st;
	int fd = w ? file_in_open(NULL, path, FILE_IN_LINKS, &st, NULL) : -1;

	if (fd < 0)
		return false;
	(void)close(fd);
	return st.st_dev == w->dev && st.st_ino == w->ino &&
	       ((size_t)st.st_size != w->len || st.st_mtim.tv_sec != w->written.tv_sec ||
		st.st_mtim.tv_nsec != w->written.tv_nsec);
}

/* ---- bytes ------------------------------------------------------------------------------ */

static int map_private(struct file_map *m, int fd, const struct stat *st, const char *name,
		       struct err *err)
{
	size_t len = (size_t)st->st_size;
	void *p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED) {
		if (errno == ENOMEM)
			nomem_note();
		return err_sys(err, "%s: mmap", name);
	}
	m->watch = watch_mapping(p, len);
	if (!m->watch) {
		(void)munmap(p, len);
		return err_nomem(err);
	}
	m->watch->dev = st->st_dev;
	m->watch->ino = st->st_ino;
	m->watch->written = st->st_mtim;
	m->p = p;
	m->len = len;
	return 0;
}

/* One file under many names is read once. A file that was changed meanwhile is another one. */
struct file_copy {
	struct file_copy *next;
	size_t users, len, size;
	dev_t dev;
	ino_t ino;
	struct timespec written, changed;
	uint8_t bytes[];
};

static pthread_mutex_t copies_lock = PTHREAD_MUTEX_INITIALIZER;
static struct file_copy *copies;

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static struct file_copy *known_copy(const struct stat *st)
{
	struct file_copy *c = copies;

	while (c &&
	       (c->dev != st->st_dev || c->ino != st->st_ino || c->size != (size_t)st->st_size ||
		!same_time(&c->written, &st->st_mtim) || !same_time(&c->changed, &st->st_ctim)))
		c = c->next;
	return c;
}

static struct file_copy *new_copy(int fd, const struct stat *st, const char *name, struct err *err)
{
	size_t size = (size_t)st->st_size;
	struct file_copy *c;
	ssize_t got;

	if (!file_in_charge(size)) {
		(void)over_budget(name, err);
		return NULL;
	}
	c = malloc(sizeof(*c) + size);
	if (!c) {
		(void)err_nomem(err);
	} else {
		*c = (struct file_copy){ .size = size,
					 .dev = st->st_dev,
					 .ino = st->st_ino,
					 .written = st->st_mtim,
					 .changed = st->st_ctim };
		got = fd_read_full(fd, c->bytes, size);
		if (got >= 0) { /* fewer if it has become shorter */
			c->len = (size_t)got;
			return c;
		}
		(void)err_sys(err, "%s", name);
	}
	free(c);
	file_in_release(size);
	return NULL;
}

static int copy_file(struct file_map *m, int fd, const struct stat *st, const char *name,
		     struct err *err)
{
	struct file_copy *c;

	(void)pthread_mutex_lock(&copies_lock);
	c = known_copy(st);
	if (!c) {
		c = new_copy(fd, st, name, err);
		if (c) {
			c->next = copies;
			copies = c;
		}
	}
	if (c) {
		c->users++;
		*m = (struct file_map){ .p = c->bytes, .len = c->len, .copy = c };
	}
	(void)pthread_mutex_unlock(&copies_lock);
	return c ? 0 : -1;
}

int file_in_map(struct file_map *m, int fd, const struct stat *st, bool copy, const char *name,
		struct err *err)
{
	int rc = 0;

	*m = (struct file_map){ 0 };
	if (st->st_size > 0)
		rc = copy || !file_written_by(st, 0) ? copy_file(m, fd, st, name, err)
						     : map_private(m, fd, st, name, err);
	(void)close(fd);
	return rc;
}

int file_map_open(struct file_map *m, const char *path, struct err *err)
{
	struct stat st;
	int fd = file_in_open(NULL, path, FILE_IN_PROC | FILE_IN_STATE, &st, err);

	*m = (struct file_map){ 0 };
	return fd < 0 ? -1 : file_in_map(m, fd, &st, false, path, err);
}

void file_map_close(struct file_map *m)
{
	if (m->watch) {
		unwatch(m->watch);
		(void)munmap(m->p, m->len);
	} else if (m->copy) {
		struct file_copy **at = &copies;

		(void)pthread_mutex_lock(&copies_lock);
		if (!--m->copy->users) {
			while (*at != m->copy)
				at = &(*at)->next;
			*at = m->copy->next;
			file_in_release(m->copy->size);
			free(m->copy);
		}
		(void)pthread_mutex_unlock(&copies_lock);
	}
	*m = (struct file_map){ 0 };
}

ssize_t fd_read_full(int fd, void *p, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(fd, (char *)p + have, len - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

/* Up to `most` bytes; more is an error, unless `cut`: then they are not read. */
static int slurp(struct buf *out, int fd, size_t most, bool cut, const char *name, struct err *err)
{
	char chunk[65536];
	size_t left = most;
	ssize_t n;

	do {
		size_t room = cut && left < sizeof(chunk) ? left : sizeof(chunk);

		n = fd_read_full(fd, chunk, room);
		if (n < 0)
			return err_sys(err, "%s", name);
		if ((size_t)n > left)
			return err_set(err, ERR_LIMIT, "%s: more than %zu bytes", name, most);
		left -= (size_t)n;
		buf_put(out, chunk, (size_t)n);
		if (out->failed)
			return err_nomem(err);
	} while (n == (ssize_t)sizeof(chunk));
	buf_put(out, "", 0);
	return buf_error(out, err);
}

int fd_slurp(struct buf *out, int fd, size_t limit, const char *name, struct err *err)
{
	return slurp(out, fd, limit, false, name, err);
}

int file_in_slurp(struct buf *out, int fd, const struct stat *st, size_t limit, const char *name,
		  struct err *err)
{
	size_t size = st->st_size > 0 && !file_written_by(st, 0) ? (size_t)st->st_size : 0;
	int rc = -1;

	if (st->st_size > 0 && (size_t)st->st_size > limit) {
		(void)err_set(err, ERR_LIMIT, "%s: more than %zu bytes", name, limit);
	} else if (!file_in_charge(size)) {
		(void)over_budget(name, err);
	} else { /* it may grow meanwhile */
		out->charged += size;
		rc = slurp(out, fd, size ? size : limit, size > 0, name, err);
	}
	(void)close(fd);
	return rc;
}

int file_slurp(struct buf *out, const char *path, size_t limit, struct err *err)
{
	struct stat st;
	int fd = file_in_open(NULL, path, FILE_IN_PROC | FILE_IN_STATE, &st, err);

	return fd < 0 ? -1 : file_in_slurp(out, fd, &st, limit, path, err);
}

/* ---- looking ---------------------------------------------------------------------------- */

size_t file_in_head(const char *path, void *p, size_t len)
{
	struct stat st;
	int fd = file_in_open(NULL, path, FILE_IN_PROC | FILE_IN_STATE, &st, NULL);
	ssize_t n = fd < 0 ? 0 : fd_read_full(fd, p, len);

	if (fd >= 0)
		(void)close(fd);
	return n > 0 ? (size_t)n : 0;
}

bool file_look(const char *path, struct stat *st)
{
	struct stat mine;

	return !stat(path, st ? st : &mine);
}

bool file_is_regular(const char *path)
{
	struct stat st;

	return file_look(path, &st) && S_ISREG(st.st_mode);
}

bool file_is_dir(const char *path)
{
	struct stat st;

	return file_look(path, &st) && S_ISDIR(st.st_mode);
}

/* ---- whose ------------------------------------------------------------------------------ */

bool owner_is_ours(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

bool file_written_by(const struct stat *st, uid_t other)
{
	bool by_group = (st->st_mode & S_IWGRP) && st->st_gid && st->st_gid != st->st_uid;

	return S_ISREG(st->st_mode) && !(st->st_mode & S_IWOTH) && !by_group &&
	       (owner_is_ours(st) || st->st_uid == other);
}

bool file_read_by(const struct stat *st, uid_t user)
{
	if (!user)
		return true;
	if (st->st_uid == user)
		return st->st_mode & S_IRUSR;
	if (st->st_gid == user)
		return st->st_mode & S_IRGRP;
	return st->st_mode & S_IROTH;
}

static bool dir_passed_by(const struct stat *st, uid_t user)
{
	if (st->st_uid == user)
		return st->st_mode & S_IXUSR;
	if (st->st_gid == user)
		return st->st_mode & S_IXGRP;
	return st->st_mode & S_IXOTH;
}

/* Where the open file really is, behind all links: below `*top`, which is set to the real name of
 * the root. Without /proc by the names. */
static bool real_place(int fd, const char *root, const char *path, char top[PATH_MAX],
		       char whole[PATH_MAX])
{
	char link[64], named[2 * PATH_MAX];
	ssize_t n;

	if (!realpath(root ? root : "/", top))
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, whole, PATH_MAX - 1);
	whole[n > 0 ? n : 0] = '\0';
	if (n > 0 && whole[0] == '/' && path_is_below(whole, top))
		return true;
	return !path_join(named, sizeof(named), root ? root : "", path) && realpath(named, whole) &&
	       path_is_below(whole, top);
}

/* From one directory into the next, so that the directory that was judged is the one that is
 * passed. */
static bool way_passed_by(int fd, const char *root, const char *path, const struct stat *st,
			  uid_t user)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char top[PATH_MAX], whole[PATH_MAX], *name, *slash;
	struct stat now;
	bool passed;
	int at;

	if (!real_place(fd, root, path, top, whole))
		return false;
	name = whole + strlen(top);
	name += strspn(name, "/");
	at = open(top, flags);
	passed = at >= 0 && (root || (!fstat(at, &now) && dir_passed_by(&now, user)));
	for (; passed && (slash = strchr(name, '/')); name = slash + 1) {
		int next;

		*slash = '\0';
		next = openat(at, name, flags);
		passed = next >= 0 && !fstat(next, &now) && dir_passed_by(&now, user);
		(void)close(at);
		at = next;
	}
	passed = passed && !fstatat(at, name, &now, AT_SYMLINK_NOFOLLOW) &&
		 now.st_dev == st->st_dev && now.st_ino == st->st_ino;
	if (at >= 0)
		(void)close(at);
	return passed;
}

bool file_shown_for(int fd, const char *root, const char *path, const struct stat *st, uid_t user)
{
	uid_t me = geteuid();

	if (file_in_mounted(root)) /* it comes with the recording */
		return true;
	if (!user || user == me || (me && st->st_uid == me))
		return true;
	return file_read_by(st, user) && way_passed_by(fd, root, path, st, user);
}
