/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of what ran, for reports after it was built anew, removed, or its container went away
 * (symbol/copies.h).
 *
 * When code is mapped, its file is opened and the descriptor kept: the file stays what it was
 * mapped as if its path gets another. It is copied when the recording is over, so that the draining
 * thread never waits for a copy. Files of packages (below /usr but /usr/local, /lib, ...) are not
 * kept: the package has them, and its lists take grep 17 ms a path, dpkg -S 190 ms. Files of
 * processes with another root directory are kept wherever they are.
 *
 * Root reads for others: a file is kept only if the user who ran the program may read it and pass
 * the directories to it. That is the real user, whom the program cannot choose.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/md5.h"
#include "base/text.h"
#include "collect/synth.h"
#include "measure/sampling/sampling_int.h"
#include "symbol/copies.h"
#include "symbol/elf_file.h"

enum { HELD_MOST = 128 };
#define MAP_LARGEST ((size_t)256 << 20)

struct held {
	const char *path; /* as the process sees it */
	int fd;		  /* -1: too many are open; opened again by its path */
	dev_t dev;
	ino_t ino;
	bool dump; /* a runtime writes it yet: jit-PID.dump */
};

struct made { /* a process that made code */
	uint32_t pid;
	uid_t user;
};

struct kept_map {
	const char *inside;
	char id[MD5_SIZE * 2 + 1];
};

struct copying {
	const char *dir;
	struct copies_limit limit;
	struct arena arena;
	struct u64map seen; /* device and inode */
	VEC(struct held) held;
	VEC(struct made) made;
	VEC(struct kept_map) map;
	size_t n_open, n_new;
};

int copying_new(struct copying **out, const struct measure_opts *o, struct err *err)
{
	struct copying *c;

	*out = NULL;
	if (!o->copies_dir)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_nomem(err);
	c->dir = o->copies_dir;
	c->limit.bytes = o->copies_bytes ? o->copies_bytes : COPIES_BYTES;
	c->limit.days = o->copies_days ? o->copies_days : COPIES_DAYS;
	*out = c;
	return 0;
}

void copying_free(struct copying *c)
{
	if (!c)
		return;
	vec_each (&c->held, const struct held *, h)
		if (h->fd >= 0)
			(void)close(h->fd);
	vec_free(&c->held);
	vec_free(&c->made);
	vec_free(&c->map);
	u64map_free(&c->seen);
	arena_free(&c->arena);
	free(c);
}

/* ---- while it records -------------------------------------------------------------------- */

bool copying_wants(const struct copying *c, const char *path)
{
	static const char *const packaged[] = {
		"/usr/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/bin/", "/sbin/", "/snap/",
		"/nix/", "/gnu/", "/dev/",   "/memfd:", "/SYSV",    "/i915", "/proc/"
	};
	static const char *const but[] = { "/usr/local/", "/dev/shm/" };

	if (!c)
		return false;
	for (size_t i = 0; i < sizeof(but) / sizeof(*but); i++)
		if (!strncmp(path, but[i], strlen(but[i])))
			return true;
	for (size_t i = 0; i < sizeof(packaged) / sizeof(*packaged); i++)
		if (!strncmp(path, packaged[i], strlen(packaged[i])))
			return false;
	return true;
}

/* Whether the user of the process may read the open file. `root`: below which `path` was opened;
 * `path` NULL: the process has the very file mapped, so it could reach it. */
static bool may_keep(int fd, const char *root, const char *path, const struct stat *st,
		     uint32_t pid)
{
	uid_t user;

	if (geteuid()) /* then the kernel has asked */
		return true;
	if (!synth_user((pid_t)pid, &user))
		return st->st_mode & S_IROTH && (!path || !root);
	return path ? file_shown_for(fd, root, path, st, user) : file_read_by(st, user);
}

static bool is_dump(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && !strncmp(base, "/jit-", 5) && text_ends(base, strlen(base), ".dump");
}

void copying_take(struct copying *c, const struct inside_map *m, int fd, const char *root,
		  const char *path)
{
	struct held h = { .fd = -1 };
	struct stat st;
	bool fresh;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    !u64map_at(&c->seen, hash_pair(st.st_dev, st.st_ino), &fresh) || !fresh ||
	    !may_keep(fd, root, path, &st, m->pid))
		return;
	h.path = arena_strdup(&c->arena, m->path);
	h.dev = st.st_dev;
	h.ino = st.st_ino;
	h.dump = is_dump(m->path);
	if (!h.path)
		return;
	if (c->n_open < HELD_MOST)
		h.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (vec_push(&c->held, h)) {
		if (h.fd >= 0)
			(void)close(h.fd);
		return;
	}
	c->n_open += h.fd >= 0;
}

void copying_made(struct copying *c, uint32_t pid)
{
	struct made p = { .pid = pid };

	if (synth_user((pid_t)pid, &p.user))
		(void)!vec_push(&c->made, p);
}

/* ---- at the end -------------------------------------------------------------------------- */

/* The build-id of an open file. */
static size_t id_of(int fd, const char *path, uint8_t id[BUILD_ID_MAX])
{
	struct file_map map;
	struct stat st;
	size_t n = 0;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (own < 0)
		return 0;
	if (fstat(fd, &st) || lseek(own, 0, SEEK_SET) || !st.st_size) {
		(void)close(own);
		return 0;
	}
	if (file_in_map(&map, own, &st, false, path, NULL))
		return 0;
	n = elf_build_id_of(map.p, map.len, path, id);
	file_map_close(&map);
	return n;
}

static int open_held(const struct held *h)
{
	struct stat st;
	int fd;

	if (h->fd >= 0)
		return fcntl(h->fd, F_DUPFD_CLOEXEC, 3);
	fd = file_in_open(NULL, h->path, FILE_IN_LINKS, &st, NULL);
	if (fd < 0 || (st.st_dev == h->dev && st.st_ino == h->ino))
		return fd;
	(void)close(fd);
	return -1;
}

size_t copying_id(const struct copying *c, const char *path, uint8_t id[BUILD_ID_MAX])
{
	const struct held *only = NULL;
	size_t n;
	int fd;

	if (!c)
		return 0;
	vec_each (&c->held, const struct held *, h) {
		if (strcmp(h->path, path) != 0)
			continue;
		if (only) /* programs of one path: no id is that of all */
			return 0;
		only = h;
	}
	fd = only && !only->dump ? open_held(only) : -1;
	if (fd < 0)
		return 0;
	n = id_of(fd, path, id);
	(void)close(fd);
	return n;
}

/* Adds what a runtime wrote about its code to the copies, by its digest. */
static void keep_map(struct copying *c, const char *inside, int fd, const struct stat *st)
{
	struct copy_from from = {
		.kind = COPY_MAP, .name = inside, .fd = -1, .most = c->limit.bytes
	};
	struct buf text = BUF_INIT;
	uint8_t id[MD5_SIZE];
	struct kept_map k;
	int rc;

	if (file_in_slurp(&text, fd, st, MAP_LARGEST, inside, NULL) || !text.len) {
		buf_free(&text);
		return;
	}
	md5(text.s, text.len, id);
	from.id = id;
	from.id_len = sizeof(id);
	from.p = text.s;
	from.len = text.len;
	rc = copies_keep(c->dir, &from, NULL);
	buf_free(&text);
	if (rc < 0)
		return;
	c->n_new += (size_t)rc;
	text_hex(k.id, id, sizeof(id));
	k.inside = arena_strdup(&c->arena, inside);
	if (k.inside)
		(void)!vec_push(&c->map, k);
}

/* perf-PID.map. All users can write there: it is the process' own, and has no other name. */
static void keep_perf_map(struct copying *c, const struct made *p, const struct inside *in)
{
	const struct inside_file *f;
	struct stat st;
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", p->pid);
	f = inside_find(in, path);
	fd = f && f->root ? file_in_open(f->root, f->rest, FILE_IN_NO_LINK, &st, NULL)
			  : file_in_open(NULL, path, FILE_IN_NO_LINK, &st, NULL);
	if (fd < 0)
		return;
	if (st.st_uid == p->user && st.st_nlink == 1 && file_written_by(&st, p->user))
		keep_map(c, path, fd, &st);
	else
		(void)close(fd);
}

void copying_maps(struct copying *c, const struct inside *in)
{
	if (!c)
		return;
	vec_each (&c->made, const struct made *, p)
		keep_perf_map(c, p, in);
	vec_each (&c->held, const struct held *, h) {
		struct stat st;
		int fd = h->dump ? open_held(h) : -1;

		if (fd >= 0 && !fstat(fd, &st) && !lseek(fd, 0, SEEK_SET))
			keep_map(c, h->path, fd, &st);
		else if (fd >= 0)
			(void)close(fd);
	}
}

bool copying_place(const struct copying *c, size_t i, const char **inside, const char **id)
{
	if (!c || i >= c->map.n)
		return false;
	*inside = c->map.v[i].inside;
	*id = c->map.v[i].id;
	return true;
}

static void keep_program(struct copying *c, const struct held *h)
{
	uint8_t id[BUILD_ID_MAX];
	struct copy_from from = {
		.id = id, .kind = COPY_ELF, .name = h->path, .most = c->limit.bytes
	};
	int rc;

	from.fd = open_held(h);
	if (from.fd < 0)
		return;
	from.id_len = id_of(from.fd, h->path, id);
	rc = from.id_len >= 2 ? copies_keep(c->dir, &from, NULL) : 0;
	(void)close(from.fd);
	c->n_new += rc > 0;
}

void copying_finish(struct copying *c)
{
	struct copies_gone gone;

	if (!c)
		return;
	vec_each (&c->held, const struct held *, h)
		if (!h->dump)
			keep_program(c, h);
	if (c->n_new)
		(void)!copies_gc(c->dir, &c->limit, time(NULL), &gone, NULL);
}
