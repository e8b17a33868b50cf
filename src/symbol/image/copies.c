/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "base/text.h"
#include "symbol/image.h"

static const char *const kind_file[COPY_KINDS] = { "elf", "debug", "vdso", "map" };
static const char top_format[] = "%s/copies/.build-id";

/* ---- paths ------------------------------------------------------------------------------ */

static bool is_hex(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

bool copies_path_hex(const char *dir, const char *hex, enum copy_kind kind, char *path, size_t size)
{
	size_t len = strlen(hex);
	int n;

	if (!dir || len < 4 || len > BUILD_ID_MAX * (size_t)2 || len % 2 || !is_hex(hex, len))
		return false;
	n = snprintf(path, size, "%s/copies/.build-id/%.2s/%s/%s", dir, hex, hex + 2,
		     kind_file[kind]);
	return n > 0 && (size_t)n < size;
}

bool copies_path(const char *dir, const uint8_t *id, size_t id_len, enum copy_kind kind, char *path,
		 size_t size)
{
	char hex[BUILD_ID_MAX * 2 + 1];

	if (id_len > BUILD_ID_MAX)
		return false;
	text_hex(hex, id, id_len);
	return copies_path_hex(dir, hex, kind, path, size);
}

/* ---- keeping ---------------------------------------------------------------------------- */

static bool has_room(int fd, uint64_t bytes)
{
	struct statvfs s;
	uint64_t all, left;

	if (fstatvfs(fd, &s))
		return false;
	all = (uint64_t)s.f_blocks * s.f_frsize;
	left = (uint64_t)s.f_bavail * s.f_frsize;
	return left > bytes && left - bytes >= all / 20;
}

static int copy_bytes(int from, int to, const char *path, struct err *err)
{
	char chunk[65536];
	ssize_t n;

	if (!ioctl(to, FICLONE, from))
		return 0;
	do
		n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0);
	while (n > 0 || (n < 0 && errno == EINTR));
	if (!n)
		return 0;
	/* file systems that cannot copy; it goes on where it came to */
	for (;;) {
		n = fd_read_full(from, chunk, sizeof(chunk));
		if (n < 0)
			return err_sys(err, "%s", path);
		if (!n)
			return 0;
		if (fd_write_all(to, chunk, (size_t)n, path, err))
			return -1;
	}
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* One that is written meanwhile is not kept. */
static int fill(int to, const struct copy_from *from, const struct stat *st, const char *path,
		struct err *err)
{
	struct stat now;

	if (from->fd < 0)
		return fd_write_all(to, from->p, from->len, path, err);
	if (lseek(from->fd, 0, SEEK_SET))
		return err_sys(err, "%s", from->name);
	if (copy_bytes(from->fd, to, path, err))
		return -1;
	if (fstat(from->fd, &now) || !same_file(st, &now))
		return err_set(err, ERR_IO, "%s changes while it is copied", from->name);
	return fstat(to, &now) || now.st_size != st->st_size
		       ? err_set(err, ERR_IO, "%s: not all of it could be copied", from->name)
		       : 0;
}

static bool is_there(const char *path, const struct stat *want)
{
	struct stat st;
	int fd = file_in_open(NULL, path, FILE_IN_NO_LINK | FILE_IN_STATE, &st, NULL);

	if (fd < 0)
		return false;
	(void)close(fd);
	return owner_is_ours(&st) && st.st_size == want->st_size;
}

static void touch_dir(const char *dir)
{
	(void)utimensat(AT_FDCWD, dir, NULL, AT_SYMLINK_NOFOLLOW);
}

/* For people; that it is missing is no failure. */
static void put_name(const char *dir, const char *name)
{
	char path[4096];

	if (!path_join(path, sizeof(path), dir, "name"))
		(void)!file_put(path, 0600, FILE_NEW_OURS, name, strlen(name), NULL);
}

int copies_keep(const char *dir, const struct copy_from *from, struct err *err)
{
	struct stat st = { .st_size = (off_t)from->len };
	struct file_new out;
	char path[4096], at[4096];

	if (!copies_path(dir, from->id, from->id_len, from->kind, path, sizeof(path)) ||
	    path_dir(at, sizeof(at), path))
		return err_set(err, ERR_USAGE, "%s: no name for a copy", from->name);
	if (from->fd >= 0 && fstat(from->fd, &st))
		return err_sys(err, "%s", from->name);
	if (is_there(path, &st)) {
		touch_dir(at);
		return 0;
	}
	if ((uint64_t)st.st_size > from->most)
		return err_set(err, ERR_LIMIT, "%s: larger than all copies may be", from->name);
	if (dir_make_all(at, 0700, err) || file_new_open(&out, path, 0600, FILE_NEW_OURS, err))
		return -1;
	if (!has_room(out.fd, (uint64_t)st.st_size)) {
		file_new_abort(&out);
		return err_set(err, ERR_LIMIT, "%s: the disk is nearly full", dir);
	}
	if (fill(out.fd, from, &st, path, err)) {
		file_new_abort(&out);
		return -1;
	}
	if (file_new_commit(&out, err))
		return -1;
	put_name(at, from->name);
	touch_dir(at);
	return 1;
}

/* ---- looking through -------------------------------------------------------------------- */

static const char *read_name(struct arena *a, const char *dir)
{
	struct buf text = BUF_INIT;
	char path[4096];
	const char *name = NULL;

	if (!path_join(path, sizeof(path), dir, "name") && !file_slurp(&text, path, 4096, NULL))
		name = arena_strdup(a, buf_str(&text));
	buf_free(&text);
	return name ? name : "";
}

static bool look(const char *path, struct stat *st)
{
	int fd = file_in_below(NULL, path, O_PATH | O_NOFOLLOW);
	bool is = fd >= 0 && !fstat(fd, st);

	if (fd >= 0)
		(void)close(fd);
	return is;
}

static int add_copy(struct copies *out, const char *dir, const char *first, const char *rest,
		    struct err *err)
{
	struct copy c = { .kind = NULL };
	char path[4096];
	struct stat st;

	if (!look(dir, &st) || !S_ISDIR(st.st_mode))
		return 0;
	c.used = st.st_mtim.tv_sec;
	(void)snprintf(c.id, sizeof(c.id), "%.2s%.38s", first, rest);
	for (int k = 0; k < COPY_KINDS; k++) {
		if (path_join(path, sizeof(path), dir, kind_file[k]) || !look(path, &st) ||
		    !S_ISREG(st.st_mode))
			continue;
		c.kind = c.kind ? c.kind : kind_file[k];
		c.bytes += (uint64_t)st.st_blocks * 512;
	}
	c.name = read_name(&out->arena, dir);
	return vec_push(&out->v, c) ? err_nomem(err) : 0;
}

static int add_dir(struct copies *out, const char *top, const char *first, struct err *err)
{
	char dir[4096], path[4096];
	const struct dirent *e;
	int rc = 0;
	DIR *d;

	if (path_join(dir, sizeof(dir), top, first) || !(d = opendir(dir)))
		return 0;
	while (!rc && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len >= 2 && len <= 38 && is_hex(e->d_name, len) &&
		    !path_join(path, sizeof(path), dir, e->d_name))
			rc = add_copy(out, path, first, e->d_name, err);
	}
	(void)closedir(d);
	return rc;
}

static int later_first(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	if (x->used != y->used)
		return x->used < y->used ? 1 : -1;
	return strcmp(x->id, y->id);
}

int copies_list(const char *dir, struct copies *out, struct err *err)
{
	char top[4096];
	const struct dirent *e;
	int rc = 0;
	DIR *d;

	*out = (struct copies){ 0 };
	if (snprintf(top, sizeof(top), top_format, dir) >= (int)sizeof(top) || !(d = opendir(top)))
		return 0;
	while (!rc && (e = readdir(d)))
		if (is_hex(e->d_name, 2))
			rc = add_dir(out, top, e->d_name, err);
	(void)closedir(d);
	vec_sort(&out->v, later_first);
	return rc;
}

void copies_free(struct copies *c)
{
	vec_free(&c->v);
	arena_free(&c->arena);
	*c = (struct copies){ 0 };
}

/* ---- removing --------------------------------------------------------------------------- */

static void remove_copy(const char *dir, const char *id)
{
	char path[4096], file[4096];
	int n = snprintf(path, sizeof(path), "%s/copies/.build-id/%.2s/%s", dir, id, id + 2);

	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	for (int k = 0; k < COPY_KINDS; k++)
		if (!path_join(file, sizeof(file), path, kind_file[k]))
			(void)unlink(file);
	if (!path_join(file, sizeof(file), path, "name"))
		(void)unlink(file);
	(void)rmdir(path);
	*strrchr(path, '/') = '\0';
	(void)rmdir(path); /* the last one of it */
}

int copies_gc(const char *dir, const struct copies_limit *limit, int64_t now,
	      struct copies_gone *gone, struct err *err)
{
	struct copies all;
	uint64_t sum = 0;
	int rc = copies_list(dir, &all, err);

	*gone = (struct copies_gone){ 0 };
	vec_each (&all.v, const struct copy *, c) {
		int64_t age = now - c->used;
		bool old = age > 0 && (uint64_t)(age - 1) / 86400 >= limit->days;

		/* one that is larger than what is left makes room for smaller ones behind it */
		if (!rc && (old || c->bytes > limit->bytes - sum)) {
			remove_copy(dir, c->id);
			gone->n++;
			gone->bytes += c->bytes;
			continue;
		}
		sum += c->bytes;
	}
	copies_free(&all);
	return rc;
}
