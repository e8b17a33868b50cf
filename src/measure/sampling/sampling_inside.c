/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of processes that see another root directory (containers, chroots), while these live.
 *
 * A path in a mapping's record is one that the process sees. If our file at that path is not the
 * mapped one (by inode, or by build-id if the record has one), the file is opened by way of
 * /proc/PID/map_files or, for want of the right to that, below /proc/PID/root; its build-id is
 * read; and a place of it is looked for that will be there when the process is gone: below the root
 * directory of a chroot, in a layer of an overlay, below a mount of ours of the same device. Each
 * (path, inode) is looked at once. Nothing is read but headers and notes.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file_in.h"
#include "collect/mounts.h"
#include "measure/sampling/sampling_int.h"
#include "symbol/elf_file.h"

enum { NOTES_MAX = 65536, TEXT_LIMIT = 4 << 20 };

#define SEVERAL_INODES UINT64_MAX

/* Returns the key of a path at which some process has the same file as we have. The value is its
 * inode, 0 (not known) or SEVERAL_INODES. */
static uint64_t ours_key(const char *path)
{
	return hash_pair(hash_bytes(path, strlen(path)), 3);
}

struct looking {
	struct inside *in;
	const struct inside_map *m;
	struct stat st; /* of the mapped file; st_ino 0: not known */
	char root[4096], rest[4096];
};

void inside_free(struct inside *in)
{
	u64map_free(&in->seen);
	vec_free(&in->v);
	arena_free(&in->arena);
}

const struct inside_file *inside_find(const struct inside *in, const char *path)
{
	const uint64_t *at = u64map_find(&in->seen, hash_bytes(path, strlen(path)));

	return at && *at ? &in->v.v[*at - 1] : NULL;
}

bool inside_differs(const struct inside *in, const struct inside_file *f)
{
	return f->differ || u64map_find(&in->seen, ours_key(f->path));
}

bool inside_replaced(const struct inside *in, const char *path)
{
	const uint64_t *ino = u64map_find(&in->seen, ours_key(path));
	struct stat st;

	return ino && *ino && (!file_look(path, &st) || st.st_ino != *ino);
}

/* ---- build-ids ----------------------------------------------------------------------------- */

static bool read_at(int fd, void *p, size_t n, uint64_t off)
{
	return off <= INT64_MAX && pread(fd, p, n, (off_t)off) == (ssize_t)n;
}

/* By program headers and notes alone: the file is a stranger's, and may be large. */
static size_t build_id_of(int fd, uint8_t id[BUILD_ID_MAX])
{
	static const size_t each = sizeof(Elf64_Phdr);
	uint8_t notes[NOTES_MAX];
	Elf64_Phdr ph[64];
	Elf64_Ehdr e;
	size_t n;

	if (!read_at(fd, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != each)
		return 0;
	n = e.e_phnum < 64 ? e.e_phnum : 64;
	if (!read_at(fd, ph, n * each, e.e_phoff))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *found;
		size_t len;

		if (ph[i].p_type != PT_NOTE || ph[i].p_filesz > NOTES_MAX ||
		    !read_at(fd, notes, ph[i].p_filesz, ph[i].p_offset))
			continue;
		len = elf_note_build_id(notes, ph[i].p_filesz, false, &found);
		if (len && len <= BUILD_ID_MAX) {
			memcpy(id, found, len);
			return len;
		}
	}
	return 0;
}

/* ---- is it the file at our path? --------------------------------------------------------- */

static bool same_id(const struct inside_map *m, int fd)
{
	uint8_t id[BUILD_ID_MAX];
	size_t n = build_id_of(fd, id);

	return n == m->id_len && !memcmp(id, m->id, n);
}

static bool is_mapped(const struct inside_map *m, int fd)
{
	struct stat st;

	if (m->id)
		return same_id(m, fd);
	return m->ino && !fstat(fd, &st) && st.st_ino == m->ino;
}

/* `ino`: the inode that was looked at; 0: none was. */
static bool is_ours(const struct inside_map *m, uint64_t *ino)
{
	struct stat st;
	bool ours;
	int fd;

	*ino = 0;
	if (!m->id && !m->ino) /* nothing known of it: as if it were */
		return true;
	if (!m->id) {
		*ino = m->ino;
		return file_look(m->path, &st) && st.st_ino == m->ino;
	}
	fd = file_in_open(NULL, m->path, FILE_IN_LINKS, &st, NULL);
	ours = fd >= 0 && same_id(m, fd);
	if (ours)
		*ino = st.st_ino;
	if (fd >= 0)
		(void)close(fd);
	return ours;
}

/* Keeps the inode of a file of ours, or that there were several. */
static int keep_ours(struct inside *in, const char *path, uint64_t ino, struct err *err)
{
	uint64_t *at = u64map_at(&in->seen, ours_key(path), NULL);

	if (!at)
		return err_nomem(err);
	*at = *at && ino && *at != ino ? SEVERAL_INODES : ino ? ino : *at;
	return 0;
}

/* *way: 0: by the mapping, 1: by the path below the process' root, 2: as the program that it
 * runs. */
static int open_mapped(const struct inside_map *m, int *way)
{
	char path[96];
	struct stat st;
	int fd;

	*way = 0;

	(void)snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", m->pid,
		       (unsigned long long)m->addr, (unsigned long long)(m->addr + m->len));
	fd = file_in_open(NULL, path, FILE_IN_PROC, &st, NULL);
	if (fd < 0) {
		(void)snprintf(path, sizeof(path), "/proc/%u/root", m->pid);
		fd = file_in_open(path, m->path, FILE_IN_LINKS, &st, NULL);
		*way = 1;
	}
	if (fd >= 0 && is_mapped(m, fd))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	(void)snprintf(path, sizeof(path), "/proc/%u/exe", m->pid);
	fd = file_in_open(NULL, path, FILE_IN_PROC, &st, NULL);
	*way = 2;
	if (fd < 0 || is_mapped(m, fd))
		return fd;
	(void)close(fd);
	return -1;
}

/* A file of ours that is wanted as a copy. */
static void copy_ours(struct inside *in, const struct inside_map *m)
{
	struct stat st;
	int fd;

	if (!copying_wants(in->copies, m->path))
		return;
	fd = file_in_open(NULL, m->path, FILE_IN_LINKS, &st, NULL);
	if (fd < 0)
		return;
	if (is_mapped(m, fd))
		copying_take(in->copies, m, fd, NULL, m->path);
	(void)close(fd);
}

static void copy_theirs(struct inside *in, const struct inside_map *m, int fd, int way)
{
	char root[64];

	(void)snprintf(root, sizeof(root), "/proc/%u/root", m->pid);
	if (in->copies)
		copying_take(in->copies, m, fd, way == 1 ? root : NULL, way == 1 ? m->path : NULL);
}

/* ---- where it stays ---------------------------------------------------- */

/* Whether l->rest below l->root is the file; of a file that is written later, whether there is a
 * directory for it. */
static bool is_there(struct looking *l)
{
	struct stat st;
	int fd;

	if (!l->st.st_ino) {
		char dir[8192];

		(void)snprintf(dir, sizeof(dir), "%s%s", l->root, l->rest);
		*strrchr(dir, '/') = '\0';
		return file_is_dir(dir);
	}
	fd = file_in_open(l->root, l->rest, FILE_IN_LINKS, &st, NULL);
	if (fd < 0)
		return false;
	if (st.st_ino != l->st.st_ino || st.st_size != l->st.st_size)
		st.st_ino = 0;
	(void)close(fd);
	return st.st_ino;
}

static bool try_root(struct looking *l, const char *root, size_t len, const char *rest)
{
	int a = snprintf(l->root, sizeof(l->root), "%.*s", (int)len, root);
	int b = snprintf(l->rest, sizeof(l->rest), "%s%s", *rest == '/' ? "" : "/", rest);

	return a > 0 && (size_t)a < sizeof(l->root) && b > 0 && (size_t)b < sizeof(l->rest) &&
	       is_there(l);
}

/* The rest of the path behind a mount point; NULL: it is not below it. */
static const char *below(const char *path, const char *point)
{
	size_t n = strlen(point);

	if (!strcmp(point, "/"))
		return path;
	return !strncmp(path, point, n) && (path[n] == '/' || !path[n]) ? path + n : NULL;
}

/* The directories that an overlay is made of: "upperdir=A,lowerdir=B:C". */
static bool try_overlay(struct looking *l, const char *options, const char *rest)
{
	static const char *const keys[] = { "upperdir=", "lowerdir=" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *at = strstr(options, keys[i]);

		for (at = at ? at + strlen(keys[i]) : NULL; at && *at && *at != ',';) {
			size_t n = strcspn(at, ":,");

			if (n && *at == '/' && try_root(l, at, n, rest))
				return true;
			at += n;
			at += *at == ':';
		}
	}
	return false;
}

/* A mount of ours that shows the same part of the same device. */
static bool try_own_mounts(struct looking *l, const struct mount *theirs, const char *rest)
{
	struct buf text = BUF_INIT;
	char *save = NULL, inner[8192];
	bool found = false;

	(void)snprintf(inner, sizeof(inner), "%s%s", strcmp(theirs->root, "/") ? theirs->root : "",
		       rest);
	if (!file_slurp(&text, "/proc/self/mountinfo", TEXT_LIMIT, NULL))
		for (char *line = strtok_r(text.s, "\n", &save); line && !found;
		     line = strtok_r(NULL, "\n", &save)) {
			struct mount m;
			const char *tail;

			if (!mount_read(&m, line) || strcmp(m.device, theirs->device) != 0)
				continue;
			tail = below(inner, m.root);
			found = tail && try_root(l, m.point, strlen(m.point), tail);
		}
	buf_free(&text);
	return found;
}

static bool find_mounted(struct looking *l, const char *path)
{
	struct mount best = { .point = NULL };
	struct buf text = BUF_INIT;
	char name[64], *save = NULL;
	const char *rest;
	bool found = false;

	(void)snprintf(name, sizeof(name), "/proc/%u/mountinfo", l->m->pid);
	if (file_slurp(&text, name, TEXT_LIMIT, NULL))
		goto out;
	for (char *line = strtok_r(text.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mount m;

		/* of several at one place the last lies over the others */
		if (mount_read(&m, line) && below(path, m.point) &&
		    (!best.point || strlen(m.point) >= strlen(best.point)))
			best = m;
	}
	rest = best.point ? below(path, best.point) : NULL;
	found = rest && (!strcmp(best.type, "overlay") ? try_overlay(l, best.options, rest)
						       : try_own_mounts(l, &best, rest));
out:
	buf_free(&text);
	return found;
}

/* Puts a place that outlives the process into l->root and l->rest. */
static bool find_inside_place(struct looking *l, const char *path)
{
	char link[64], root[4096];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%u/root", l->m->pid);
	n = readlink(link, root, sizeof(root) - 1);
	if (n > 1 && try_root(l, root, (size_t)n, path))
		return true;
	return find_mounted(l, path);
}

/* ---- notes ---------------------------------------------------- */

static int keep_inside_file(struct looking *l, const char *path, const struct inside_file *found,
			    struct err *err)
{
	struct inside *in = l->in;
	uint64_t *at = u64map_at(&in->seen, hash_bytes(path, strlen(path)), NULL);
	struct inside_file f = *found;

	if (!at)
		return err_nomem(err);
	if (*at) {
		struct inside_file *o = &in->v.v[*at - 1];

		o->differ |= o->id_len != f.id_len || memcmp(o->id, f.id, f.id_len) != 0;
	}
	f.path = arena_strdup(&in->arena, path);
	if (f.root) {
		f.root = arena_strdup(&in->arena, l->root);
		f.rest = arena_strdup(&in->arena, l->rest);
	}
	if (!f.path || (found->root && (!f.root || !f.rest)) || vec_push(&in->v, f))
		return err_nomem(err);
	if (!*at)
		*at = in->v.n;
	return 0;
}

static int note_file(struct looking *l, struct err *err)
{
	struct inside_file f = { .id_len = 0 };
	uint64_t ino;
	int fd, way;

	if (is_ours(l->m, &ino)) {
		copy_ours(l->in, l->m);
		return keep_ours(l->in, l->m->path, ino, err);
	}
	fd = open_mapped(l->m, &way);
	if (fd < 0) /* it is gone, but ours at that path is not the one: nobody has its build-id */
		return keep_ours(l->in, l->m->path, l->m->ino ? l->m->ino : SEVERAL_INODES, err);
	copy_theirs(l->in, l->m, fd, way);
	if (fstat(fd, &l->st))
		l->st.st_ino = 0;
	f.id_len = build_id_of(fd, f.id);
	(void)close(fd);
	if (l->st.st_ino && find_inside_place(l, l->m->path))
		f.root = l->root;
	return keep_inside_file(l, l->m->path, &f, err);
}

uint32_t inside_number(uint32_t pid, uint32_t tid)
{
	struct buf text = BUF_INIT;
	uint32_t inner = tid;
	char path[64];
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	if (!file_slurp(&text, path, TEXT_LIMIT, NULL) && (at = strstr(buf_str(&text), "\nNSpid:")))
		for (at += 7; *at == '\t' || *at == ' '; at += strcspn(at, "\t \n"))
			inner = (uint32_t)strtoul(++at, NULL, 10);
	buf_free(&text);
	return inner;
}

/* Code without a file: the list of names that a runtime writes is in the process' own /tmp, under
 * the number that it has there. */
static int note_perf_map(struct looking *l, struct err *err)
{
	struct inside_file f = { .id_len = 0 };
	uint32_t inner = inside_number(l->m->pid, l->m->pid);
	char ours[64], theirs[64];

	(void)snprintf(ours, sizeof(ours), "/tmp/perf-%u.map", l->m->pid);
	(void)snprintf(theirs, sizeof(theirs), "/tmp/perf-%u.map", inner);
	if (!find_inside_place(l, theirs) || (!strcmp(l->root, "/") && !strcmp(l->rest, ours)))
		return 0;
	f.root = l->root;
	return keep_inside_file(l, ours, &f, err);
}

int inside_note(struct inside *in, const struct inside_map *m, struct err *err)
{
	struct looking l = { .in = in, .m = m };
	bool anon = m->path[0] == '/' && m->path[1] == '/', fresh;
	uint64_t key = hash_bytes(m->path, strlen(m->path));

	if (anon)
		key = hash_pair(m->pid, 1);
	else
		key = hash_pair(key, m->id ? hash_bytes(m->id, m->id_len) : m->ino);
	if (!u64map_at(&in->seen, hash_pair(key, 2), &fresh))
		return err_nomem(err);
	if (!fresh)
		return 0;
	if (anon && in->copies)
		copying_made(in->copies, m->pid);
	return anon ? note_perf_map(&l, err) : note_file(&l, err);
}
