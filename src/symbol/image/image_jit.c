/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that a process made while it ran: named by the dump its runtime wrote (jit-PID.dump), else
 * by the list it left in perf-PID.map.
 *
 * The symbols of IMAGE_ANON, a process' memory, have no time: where a runtime used memory again,
 * the code that lay there last gives the name. If the recording's times are those of the dump,
 * space_jit.c finds the code by time, which then is in an IMAGE_JIT, and dumps are no source here.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/xalloc.h"
#include "symbol/copies.h"
#include "symbol/image/image_set.h"
#include "symbol/image/jitdump.h"
#include "symbol/image/perfmap.h"

#define PERF_MAP_MAX  (1u << 30)
#define PERF_MAP_COST 12 /* bytes of memory for each byte of a list of short names */

/* Any user can leave a file under that name in /tmp, or under another process' number: only the
 * user's own and root's are believed; by root, who reads on behalf of all, those of the owner of
 * the process while it lives, too. */
static bool believed(const struct images *set, const struct stat *st, uint32_t pid)
{
	char path[32];
	struct stat its;

	(void)snprintf(path, sizeof(path), "/proc/%u", pid);
	return file_written_by(st, geteuid() || set->opts.sysroot || !pid || !file_look(path, &its)
					   ? 0
					   : its.st_uid);
}

static void put_doubt(struct buf *b, const char *path, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		buf_printf(b, "%s: not a regular file: not used", path);
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		buf_printf(b, "%s: others may write it (mode %03o): not used; chmod go-w", path,
			   (unsigned)st->st_mode & 0777);
	else
		buf_printf(b, "%s: of user %u, who is neither root nor %s: not used", path,
			   (unsigned)st->st_uid, geteuid() ? "you" : "known to own the process");
}

enum seen { ABSENT, DOUBTED, OPEN };

/* The copy that was kept of a list or dump when the recording ended: the file itself may be gone,
 * or another process' by now. `path` is set to where it is if there is one. */
static bool open_copy(const struct images *set, const char *inside, char *path, int *fd,
		      struct stat *st)
{
	const char *id = image_copy_of(set, inside);
	char copy[4096];

	if (id && set->archive && copies_path_hex("", id, COPY_MAP, copy, sizeof(copy))) {
		const char *name = copy + strlen("/copies");

		*fd = file_in_open(set->archive, name, FILE_IN_NO_LINK, st, NULL);
		if (*fd >= 0) {
			(void)snprintf(path, 4096, "%s", name);
			return true;
		}
	}
	if (!id || !copies_path_hex(set->opts.copies_dir, id, COPY_MAP, copy, sizeof(copy)))
		return false;
	*fd = file_in_open(NULL, copy, FILE_IN_NO_LINK | FILE_IN_STATE, st, NULL);
	if (*fd < 0)
		return false;
	if (owner_is_ours(st)) {
		(void)snprintf(path, 4096, "%s", copy);
		return true;
	}
	(void)close(*fd);
	return false;
}

/* Opens and judges the file at `inside`, below the sysroot: in a directory that all can write, a
 * link has no trusted owner. `path` is the whole name, of 4096 bytes; `why`: of one that cannot be
 * opened. */
static enum seen open_believed(const struct images *set, const char *inside, uint32_t pid,
			       char *path, int *fd, struct stat *st, struct err *why)
{
	const char *root = set->opts.sysroot;
	int n = snprintf(path, 4096, "%s%s", root && !set->archive ? root : "", inside);

	if (n <= 0 || n >= 4096)
		return ABSENT;
	*fd = file_in_open(root, inside, FILE_IN_NO_LINK, st, why);
	if (*fd < 0)
		return st->st_mode && !believed(set, st, pid) ? DOUBTED : ABSENT;
	if (believed(set, st, pid))
		return OPEN;
	(void)close(*fd);
	return DOUBTED;
}

static enum seen open_dump(const struct images *set, struct image *im, const char *inside,
			   uint32_t pid, char *path, int *fd, struct stat *st)
{
	struct err why = ERR_INIT;
	enum seen seen;

	if (open_copy(set, inside, path, fd, st))
		return OPEN;
	seen = open_believed(set, inside, pid, path, fd, st, &why);
	image_failed(im, &why);
	return seen;
}

bool image_jit_map(const struct images *set, struct image *im, struct file_map *map, char *path)
{
	struct err why = ERR_INIT;
	uint32_t pid = 0;
	struct stat st;
	int fd;

	*map = (struct file_map){ 0 };
	(void)jitdump_path_pid(im->key.path, &pid);
	if (open_dump(set, im, im->key.path, pid, path, &fd, &st) != OPEN)
		return false;
	if (!file_in_map(map, fd, &st, false, path, &why))
		return true;
	image_failed(im, &why);
	return false;
}

/* The dump of process `pid` is at the path that the runtime mapped, to make it known. */
static bool find_dump(const struct images *set, struct image *im, struct file_map *map, char *path)
{
	const char *found = image_dump_path(set, im->key.pid);
	struct err why = ERR_INIT;
	struct stat st;
	int fd;
	enum seen seen = found ? open_dump(set, im, found, im->key.pid, path, &fd, &st) : ABSENT;

	if (seen == DOUBTED) {
		buf_puts(&im->refusal, "; ");
		put_doubt(&im->refusal, path, &st);
	}
	if (seen != OPEN)
		return false;
	if (!file_in_map(map, fd, &st, false, path, &why))
		return true;
	buf_printf(&im->refusal, "; %s", why.what);
	image_failed(im, &why);
	return false;
}

void image_load_jit_dump(const struct images *set, struct image *im)
{
	struct jitdump j = { 0 };
	struct err why = ERR_INIT;
	struct file_map map;
	char path[4096];

	if (!image_jit_map(set, im, &map, path))
		return;
	if (!jitdump_parse(&j, map.p, map.len, &why)) {
		/* every code ever loaded, at the place of its bytes */
		vec_each (&j.code, const struct jit_code *, c)
			if (!c->moved)
				image_add_symbol(
					im, c->offset, c->size,
					arena_xstrdup(&im->list.arena, c->name ? c->name : ""));
		buf_printf(&im->origin,
			   "%s, by the samples' times, unverified (such dumps carry no build-id)%s",
			   path, j.cut ? "; cut short" : "");
		jitdump_free(&j);
	}
	file_map_close(&map);
}

static void load_dump(const struct images *set, struct image *im)
{
	struct jitdump j = { 0 };
	struct err why = ERR_INIT;
	struct file_map map;
	char path[4096];

	if (!find_dump(set, im, &map, path))
		return;
	if (jitdump_parse(&j, map.p, map.len, &why)) {
		buf_printf(&im->refusal, "; %s: %s", path, why.what);
	} else {
		/* code that was overlaid has no name in the end */
		vec_each (&j.code, const struct jit_code *, c)
			if (c->size && jitdump_find(&j, c->start, UINT64_MAX) == c)
				image_add_symbol(
					im, c->start, c->size,
					arena_xstrdup(&im->list.arena, c->name ? c->name : ""));
		buf_printf(&im->origin,
			   "%s, what lay there last (cyclade record -k mono tells by time), "
			   "unverified (such dumps carry no build-id)%s",
			   path, j.cut ? "; cut short" : "");
		jitdump_free(&j);
	}
	file_map_close(&map);
}

/* Lists of others are read only as far as there is memory for the result: the text has
 * the charge for all of it. */
static int read_map(struct buf *text, int fd, const struct stat *st, const char *path,
		    struct err *err)
{
	size_t more = file_written_by(st, 0) ? 0 : (size_t)st->st_size;

	if (more > SIZE_MAX / PERF_MAP_COST || !file_in_charge(more * (PERF_MAP_COST - 1))) {
		(void)close(fd);
		return err_set(err, ERR_LIMIT, "%s: left out: too large (%zu MB)", path,
			       more >> 20);
	}
	text->charged = more * (PERF_MAP_COST - 1);
	return file_in_slurp(text, fd, st, PERF_MAP_MAX, path, err);
}

/* The list of a process that sees another /tmp, perhaps under another number. `path` is set to
 * where it is if there is one. */
static bool open_inside(const struct images *set, const char *inside, uint32_t pid, char *path,
			int *fd, struct stat *st)
{
	const struct place_of *p = set->opts.sysroot ? NULL : image_place_of(set, inside);

	*fd = p ? file_in_open(p->root, p->rest, FILE_IN_LINKS, st, NULL) : -1;
	if (*fd < 0)
		return false;
	if (believed(set, st, pid)) {
		(void)snprintf(path, 4096, "%s%s", p->root, p->rest);
		return true;
	}
	(void)close(*fd);
	return false;
}

/* The list that a process left: its copy, that of another /tmp, then by its name. */
static enum seen open_perf_map(const struct images *set, uint32_t pid, char *path, int *fd,
			       struct stat *st, struct err *why)
{
	const char *dir = set->opts.perf_map_dir ? set->opts.perf_map_dir : "/tmp";
	char inside[4096];

	(void)snprintf(inside, sizeof(inside), "%s/perf-%u.map", dir, pid);
	if (open_copy(set, inside, path, fd, st) || open_inside(set, inside, pid, path, fd, st))
		return OPEN;
	return open_believed(set, inside, pid, path, fd, st, why);
}

#define PERF_MAP_THERE 2u

bool image_has_perf_map(struct images *set, uint32_t pid)
{
	struct stat st = { .st_mode = 0 };
	char path[4096];
	bool fresh;
	uint64_t *known = u64map_xat(&set->perf_map_of, pid, &fresh);
	int fd;

	if (!fresh)
		return *known == PERF_MAP_THERE;
	if (open_perf_map(set, pid, path, &fd, &st, NULL) == OPEN)
		(void)close(fd);
	*known = st.st_mode ? PERF_MAP_THERE : 1; /* even one that is not used */
	return *known == PERF_MAP_THERE;
}

bool image_is_jit_memory(struct images *set, const char *path, uint32_t pid)
{
	const char *root = set->opts.sysroot;
	size_t live = image_live_len(path);
	char magic[4];
	struct stat st;
	ssize_t n;
	int fd;

	if (path[0] != '/' || set->dirs.n || !image_has_perf_map(set, pid))
		return false;
	if (path[live])
		return !strstr(path_base(path), ".so");
	fd = file_in_open(root, path, FILE_IN_LINKS, &st, NULL);
	if (fd < 0)
		return false;
	n = S_ISREG(st.st_mode) ? pread(fd, magic, sizeof(magic), 0) : 0;
	(void)close(fd);
	return n == sizeof(magic) && memcmp(magic, "\177ELF", sizeof(magic)) != 0;
}

static void load_perf_map(const struct images *set, struct image *im)
{
	struct perfmap m = PERFMAP_INIT;
	struct buf text = BUF_INIT;
	struct err why = ERR_INIT;
	char path[4096];
	struct stat st;
	size_t kept;
	int fd;
	enum seen seen = open_perf_map(set, im->key.pid, path, &fd, &st, &why);

	image_failed(im, &why);
	if (seen == ABSENT) {
		buf_printf(&im->origin,
			   "%s: not there, so code that process %u made itself has no names", path,
			   im->key.pid);
	} else if (seen == DOUBTED) {
		put_doubt(&im->origin, path, &st);
	} else if (read_map(&text, fd, &st, path, &why)) {
		buf_puts(&im->origin, why.what);
		image_failed(im, &why);
	} else {
		perfmap_parse(&m, text.s, text.len);
		vec_xreserve(&im->list.raw, m.n);
		for (size_t i = 0; i < m.n; i++)
			image_add_symbol(im, m.sym[i].start, m.sym[i].end - m.sym[i].start,
					 arena_xstrdup(&im->list.arena, m.sym[i].name));
		buf_printf(&im->origin, "%s, unverified (such lists carry no build-id)", path);
		if (m.n_bad)
			buf_printf(&im->origin, "; %zu lines not understood", m.n_bad);
		/* the symbols stay with the image, the text does not */
		kept = text.len + im->list.raw.n * sizeof(*im->list.raw.v);
		kept = kept < text.charged ? kept : text.charged;
		text.charged -= kept;
		im->charged += kept;
	}
	perfmap_free(&m);
	buf_free(&text);
}

void image_load_jit(struct images *set, struct image *im)
{
	if (im->key.guest) {
		buf_printf(&im->origin, "%s: code that a guest's process made itself", im->name);
		return;
	}
	load_dump(set, im);
	/* both may be there: the dump knows more */
	if (im->list.raw.n)
		return;
	buf_reset(&im->origin);
	load_perf_map(set, im);
	buf_puts(&im->origin, buf_str(&im->refusal));
}
