/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load - the bytes behind a path.
 *
 * A file's size is asked once; bytes appended later are not looked at. Files up to 32 MB are read
 * into memory, where no other process can take bytes away; larger ones are mapped, and must not
 * shrink while they are read (the kernel would answer with SIGBUS; no recorder shrinks its file).
 * Pipes and FIFOs are collected to their end, if they begin as recordings do; devices are refused.
 */
#include "perfdata/perfdata_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "base/invariant.h"
#include "perfdata/archive.h"

#define READ_LIMIT  ((size_t)32 << 20)
#define SPILL_LIMIT ((uint64_t)1 << 30)

void pd_source_free(struct pd_source *s)
{
	if (s->own == PD_MALLOC)
		free(s->p);
	else if (s->own == PD_MAPPED && s->p)
		(void)munmap(s->p, s->len);
	s->p = NULL;
}

int pd_source_own(struct pd_source *s, struct err *err)
{
	uint8_t *copy;

	if (s->own == PD_MALLOC || !s->len)
		return 0;
	if (s->own == PD_MAPPED) {
		if (mprotect(s->p, s->len, PROT_READ | PROT_WRITE))
			return err_sys(err, "cannot get a private copy of %zu bytes", s->len);
		return 0;
	}
	copy = malloc(s->len);
	if (!copy)
		return err_nomem(err);
	memcpy(copy, s->p, s->len);
	s->p = copy;
	s->own = PD_MALLOC;
	return 0;
}

/* Up to `want` bytes, fewer if the file has become shorter. */
static int read_source(struct pd_source *s, int fd, size_t want, const char *path, struct err *err)
{
	s->p = malloc(want);
	if (!s->p)
		return err_nomem(err);
	s->own = PD_MALLOC;
	while (s->len < want) {
		ssize_t n = pread(fd, s->p + s->len, want - s->len, (off_t)s->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "%s: cannot read at offset %zu", path, s->len);
		if (!n)
			break;
		s->len += (size_t)n;
	}
	return 0;
}

bool pd_begins(const void *p, size_t len)
{
	static const char magic[][9] = { "PERFILE2", "2ELIFREP", "PERFFILE", "ELIFFREP" };

	for (size_t i = 0; i < sizeof(magic) / sizeof(*magic); i++)
		if (len >= 8 && !memcmp(p, magic[i], 8))
			return true;
	return false;
}

/* Whether to read on: a stream that does not begin like a recording may well have no end. */
static bool stream_goes_on(const struct pd_source *s)
{
	return s->name || s->len < 32 || pd_begins(s->p, s->len) || pd_toolkit_is(s->p, s->len);
}

static int read_stream(struct pd_source *s, int fd, const char *path, struct err *err)
{
	size_t cap = 0;

	s->own = PD_MALLOC;
	for (;;) {
		ssize_t n;

		if (cap - s->len < 65536) {
			size_t bigger = cap ? cap * 2 : (size_t)1 << 20;
			uint8_t *p = realloc(s->p, bigger);

			if (!p)
				return err_nomem(err);
			s->p = p;
			cap = bigger;
		}
		n = read(fd, s->p + s->len, cap - s->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "%s: cannot read", path);
		if (!n)
			return 0;
		s->len += (size_t)n;
		if (!stream_goes_on(s))
			return 0;
	}
}

static int map_source(struct pd_source *s, int fd, size_t len, const char *path, struct err *err)
{
	void *p = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0);

	if (p == MAP_FAILED)
		return err_sys(err, "%s: cannot map %zu bytes", path, len);
	s->p = p;
	s->len = len;
	s->own = PD_MAPPED;
	return 0;
}

/* Adds the bytes of an open file to rec->sources. */
static int add_open_source(struct pd *rec, int fd, const struct stat *st, const char *path,
			   const char *name, struct err *err)
{
	struct pd_source s = { NULL, 0, PD_BORROWED, name };
	int rc;

	file_keep(st, FILE_SECRET);
	if (S_ISREG(st->st_mode) && !rec->info.owner)
		rec->info.owner = st->st_uid;
	/* before the bytes are read: a recorder that ends in between has written its end by then */
	if (!rec->sources.n && S_ISREG(st->st_mode))
		rec->losses.locked = pd_locked(fd);
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		rc = err_set(err, ERR_FORMAT, "%s: a device, not a recording", path);
	else if (!S_ISREG(st->st_mode))
		rc = read_stream(&s, fd, path, err);
	else if (st->st_size <= 0)
		rc = 0;
	else if ((uint64_t)st->st_size <= READ_LIMIT)
		rc = read_source(&s, fd, (size_t)st->st_size, path, err);
	else
		rc = map_source(&s, fd, (size_t)st->st_size, path, err);
	if (!rc && vec_push(&rec->sources, s))
		rc = err_nomem(err);
	if (rc)
		pd_source_free(&s);
	return rc;
}

static int add_source_path(struct pd *rec, const char *path, const char *name, struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return err_sys(err, "%s: cannot open", path);
	if (fstat(fd, &st))
		rc = err_sys(err, "%s: cannot look at", path);
	else if (S_ISDIR(st.st_mode))
		rc = err_set(err, ERR_FORMAT, "%s: is a directory", path);
	else
		rc = add_open_source(rec, fd, &st, path, name, err);
	(void)close(fd);
	return rc;
}

/* "data.N": N, else -1. */
static long data_number(const char *name)
{
	char *end;
	long n;

	if (strncmp(name, "data.", 5) || name[5] < '0' || name[5] > '9')
		return -1;
	n = strtol(name + 5, &end, 10);
	return *end ? -1 : n;
}

static int cpu_files_by_number(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

/* A directory holds `data`, a recording with a header, and data.N, records only. */
static int load_dir(struct pd *rec, const char *dir, struct err *err)
{
	VEC(long) numbers = VEC_INIT;
	char path[4096];
	struct dirent *e;
	DIR *d = NULL;
	int rc = -1;

	if (path_join(path, sizeof(path), dir, "data")) {
		(void)err_set(err, ERR_LIMIT, "%s: name too long", dir);
		goto out;
	}
	if (!file_look(path, NULL)) {
		(void)err_set(err, ERR_FORMAT, "%s: a directory without a file \"data\" in it",
			      dir);
		(void)err_hint(err, "a recording in directory form has data, data.0, data.1, ...");
		goto out;
	}
	if (add_source_path(rec, path, NULL, err))
		goto out;
	d = opendir(dir);
	if (!d) {
		(void)err_sys(err, "%s: cannot list", dir);
		goto out;
	}
	while ((e = readdir(d))) {
		long n = data_number(e->d_name);

		if (n >= 0 && vec_push(&numbers, n)) {
			(void)err_nomem(err);
			goto out;
		}
	}
	vec_sort(&numbers, cpu_files_by_number);
	assert(pairs_hold(numbers.n, i, numbers.v[i] <= numbers.v[i + 1]));
	for (size_t i = 0; i < numbers.n; i++) {
		const char *name = arena_printf(&rec->arena, "data.%ld", numbers.v[i]);
		struct err why = ERR_INIT;

		if (!name || path_join(path, sizeof(path), dir, name)) {
			(void)err_nomem(err);
			goto out;
		}
		if (add_source_path(rec, path, name, &why)) /* the others may still be read */
			pd_note(rec, "%s", why.what);
	}
	rec->info.form = PD_DIRECTORY;
	rc = 0;
out:
	if (d)
		(void)closedir(d);
	vec_free(&numbers);
	return rc;
}

/* A recording with the files that it needs (archive.h). */
static int load_archive(struct pd *rec, const char *path, struct err *err)
{
	struct stat st;
	int fd, rc;

	if (archive_open(&rec->archive, path, err))
		return -1;
	fd = archive_file(rec->archive, "recording");
	if (fd < 0) {
		(void)err_set(err, ERR_FORMAT, "%s: an archive without a recording", path);
		return err_hint(err, "cyclade archive makes archives that can be read");
	}
	/* it is as secret as the archive is */
	if (file_look(path, &st)) {
		file_keep(&st, FILE_SECRET);
		rec->info.owner = st.st_uid;
	}
	rc = fstat(fd, &st) ? err_sys(err, "%s", path)
			    : add_open_source(rec, fd, &st, path, NULL, err);
	(void)close(fd);
	rec->root = arena_strdup(&rec->arena, path);
	if (!rc && !rec->root)
		rc = err_nomem(err);
	return rc ? rc : archive_mount(rec->archive, rec->root, err);
}

int pd_load(struct pd *rec, const char *path, struct err *err)
{
	uint8_t magic[4];
	struct stat st;

	if (!strcmp(path, "-")) {
		if (fstat(STDIN_FILENO, &st))
			return err_sys(err, "standard input: cannot look at");
		if (S_ISDIR(st.st_mode))
			return err_set(err, ERR_FORMAT, "standard input: is a directory");
		return add_open_source(rec, STDIN_FILENO, &st, "standard input", NULL, err);
	}
	if (file_is_dir(path))
		return load_dir(rec, path, err);
	if (file_is_regular(path) &&
	    archive_begins(magic, file_in_head(path, magic, sizeof(magic))))
		return load_archive(rec, path, err);
	return add_source_path(rec, path, NULL, err);
}

/* ---- blocks ---- */

/* Room in an unlinked file, for recordings that unpack to more than memory should hold.
 */
static uint8_t *spill(struct pd *rec, size_t size)
{
	off_t at = (off_t)(rec->blocks.n * size);
	void *p;

	if (rec->spill_fd < 0)
		rec->spill_fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (rec->spill_fd < 0 || posix_fallocate(rec->spill_fd, at, (off_t)size))
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, rec->spill_fd, at);
	return p == MAP_FAILED ? NULL : p;
}

uint8_t *pd_block_new(struct pd *rec, size_t size)
{
	struct pd_source s = { NULL, size, PD_MAPPED, NULL };
	void *p;

	if (vec_reserve(&rec->blocks, rec->blocks.n + 1))
		return NULL;
	size = (size + 4095) & ~(size_t)4095;
	s.len = size;
	if (rec->blocks.n * (uint64_t)size >= SPILL_LIMIT)
		s.p = spill(rec, size);
	if (!s.p) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		s.p = p;
	}
	rec->blocks.v[rec->blocks.n++] = s;
	return s.p;
}

/* ---- giving back ---- */

#define DROP_STEP ((size_t)8 << 20) /* who maps something has to wait for a step */

struct pd_drop {
	const struct pd *rec;
	atomic_size_t next; /* step, over all sources */
};

static bool may_drop(const struct pd *rec, const struct pd_source *s)
{
	/* a foreign recording was turned in place: its pages are not those of the file any more */
	return s->own == PD_MAPPED && !rec->swap;
}

struct pd_drop *pd_drop_new(const struct pd *rec)
{
	struct pd_drop *d = NULL;

	vec_each (&rec->sources, const struct pd_source *, s)
		if (!d && may_drop(rec, s))
			d = calloc(1, sizeof(*d));
	if (d)
		d->rec = rec;
	return d;
}

void pd_drop_do(struct pd_drop *d)
{
	size_t mine = d ? atomic_fetch_add(&d->next, 1) : 0, step = 0;

	if (!d)
		return;
	vec_each (&d->rec->sources, const struct pd_source *, s)
		for (size_t at = 0; may_drop(d->rec, s) && at < s->len; at += DROP_STEP) {
			if (step++ != mine)
				continue;
			(void)madvise(s->p + at, s->len - at < DROP_STEP ? s->len - at : DROP_STEP,
				      MADV_DONTNEED);
			mine = atomic_fetch_add(&d->next, 1);
		}
}

void pd_drop_free(struct pd_drop *d)
{
	free(d);
}
