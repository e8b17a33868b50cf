/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file_in.h"
#include "base/file_out.h"

enum { BLOCK = 512, NAME_LONGEST = 4096, ENTRIES_MOST = 1 << 18 };

/* The header of a file: ustar. All numbers are octal text. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], check[8], type, link[100];
	char magic[8], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};

/* ---- reading a tar archive ---------------------------------------------------------------- */

static bool octal(const char *s, size_t n, uint64_t *out)
{
	size_t i = 0;

	*out = 0;
	while (i < n && s[i] == ' ')
		i++;
	if (i == n || s[i] < '0' || s[i] > '7') /* GNU's numbers of 256 are of files over 8 GB */
		return false;
	for (; i < n && s[i] >= '0' && s[i] <= '7'; i++)
		*out = *out << 3 | (uint64_t)(s[i] - '0');
	return i == n || !s[i] || s[i] == ' ';
}

static uint64_t header_sum(const struct header *h)
{
	const uint8_t *p = (const uint8_t *)h;
	uint64_t sum = 8 * ' ';

	for (size_t i = 0; i < BLOCK; i++)
		if (i < offsetof(struct header, check) || i >= offsetof(struct header, type))
			sum += p[i];
	return sum;
}

static bool all_zero(const uint8_t *p)
{
	for (size_t i = 0; i < BLOCK; i++)
		if (p[i])
			return false;
	return true;
}

/* Relative, no empty part, "." or "..": the name of one thing. A leading "./" is dropped. */
static const char *clean_name(const char *name)
{
	while (!strncmp(name, "./", 2))
		name += 2;
	for (const char *p = name; *p;) {
		size_t n = strcspn(p, "/");

		if (!n || (n == 1 && *p == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return NULL;
		p += n;
		if (*p && !*++p)
			return NULL;
	}
	return *name ? name : NULL;
}

static int add_entry(struct archive_list *l, const char *name, uint64_t at, uint64_t len,
		     struct err *err)
{
	const char *clean = clean_name(name);
	struct archive_entry e = { .at = at, .len = len };
	uint64_t *place;
	bool fresh;

	if (!clean)
		return err_set(err, ERR_FORMAT, "a file in it is called '%.100s'", name);
	if (l->v.n >= ENTRIES_MOST)
		return err_set(err, ERR_LIMIT, "more than %d files", ENTRIES_MOST);
	e.name = arena_strdup(&l->arena, clean);
	place = u64map_at(&l->by_name, hash_bytes(clean, strlen(clean)), &fresh);
	if (!e.name || !place || vec_push(&l->v, e))
		return err_nomem(err);
	if (!fresh)
		return err_set(err, ERR_FORMAT, "two files in it are called '%.100s'", name);
	*place = l->v.n - 1;
	return 0;
}

static void header_name(const struct header *h, char *name, size_t size)
{
	bool prefix = !memcmp(h->magic, "ustar", 6) && h->prefix[0]; /* GNU's have a blank there */

	(void)snprintf(name, size, "%.*s%s%.*s", prefix ? (int)sizeof(h->prefix) : 0, h->prefix,
		       prefix ? "/" : "", (int)sizeof(h->name), h->name);
}

/* One file at *at, which then is behind it. `name` holds a long name for the next one, or "". */
static int parse_one(struct archive_list *l, const uint8_t *p, size_t len, size_t *at, char *name,
		     struct err *err)
{
	struct header h;
	uint64_t size, sum;
	size_t body = *at + BLOCK;

	memcpy(&h, p + *at, sizeof(h));
	if (!octal(h.check, sizeof(h.check), &sum) || sum != header_sum(&h) ||
	    !octal(h.size, sizeof(h.size), &size))
		return err_set(err, ERR_FORMAT, "no tar archive, or damaged at byte %zu", *at);
	if (size > len - body)
		return err_set(err, ERR_FORMAT, "cut off in a file of %llu bytes",
			       (unsigned long long)size);
	*at = body + (size_t)size;
	*at = len - *at < BLOCK ? len : (*at + BLOCK - 1) / BLOCK * BLOCK;
	switch (h.type) {
	case 'L':
		if (size >= NAME_LONGEST)
			return err_set(err, ERR_LIMIT, "a name of %llu bytes",
				       (unsigned long long)size);
		memcpy(name, p + body, (size_t)size);
		name[size] = '\0';
		return 0;
	case '5': /* directories: names of files have them */
	case 'g': /* what applies to all that follow */
		name[0] = '\0';
		return 0;
	case '0':
	case '7':
	case '\0':
		if (!name[0])
			header_name(&h, name, NAME_LONGEST);
		if (add_entry(l, name, body, size, err))
			return -1;
		name[0] = '\0';
		return 0;
	default:
		return err_set(err, ERR_FORMAT,
			       "it holds what is no regular file (type '%c'): links and devices "
			       "are refused",
			       h.type > ' ' && h.type < 127 ? h.type : '?');
	}
}

int archive_parse(struct archive_list *out, const uint8_t *p, size_t len, struct err *err)
{
	char *name = calloc(1, NAME_LONGEST);
	size_t at = 0;
	int rc = name ? 0 : err_nomem(err);

	*out = (struct archive_list){ 0 };
	while (!rc && len - at >= BLOCK && !all_zero(p + at))
		rc = parse_one(out, p, len, &at, name, err);
	free(name);
	if (rc)
		archive_list_free(out);
	return rc;
}

const struct archive_entry *archive_find(const struct archive_list *l, const char *name)
{
	const uint64_t *at = u64map_find(&l->by_name, hash_bytes(name, strlen(name)));

	return at && !strcmp(l->v.v[*at].name, name) ? &l->v.v[*at] : NULL;
}

void archive_list_free(struct archive_list *l)
{
	vec_free(&l->v);
	u64map_free(&l->by_name);
	arena_free(&l->arena);
	*l = (struct archive_list){ 0 };
}

/* ---- opening ---------------------------------------------------------------------------- */

struct archive {
	int fd; /* all of it, unpacked */
	uint8_t *p;
	size_t len, charged;
	struct archive_list list;
	bool mounted;
};

bool archive_begins(const void *p, size_t len)
{
	static const uint8_t magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };

	return len >= sizeof(magic) && !memcmp(p, magic, sizeof(magic));
}

static int charge(struct archive *a, size_t bytes, const char *path, struct err *err)
{
	if (!file_in_charge(bytes))
		return err_set(err, ERR_LIMIT, "%s: it unpacks to more than %zu MB: refused", path,
			       (a->charged + bytes) >> 20);
	a->charged += bytes;
	return 0;
}

static int unpack_all(struct archive *a, ZSTD_DStream *z, const struct file_map *m, uint8_t *room,
		      size_t size, const char *path, struct err *err)
{
	ZSTD_inBuffer in = { m->p, m->len, 0 };
	size_t left = 0, had;

	do {
		ZSTD_outBuffer out = { room, size, 0 };

		had = in.pos;
		left = ZSTD_decompressStream(z, &out, &in);
		if (ZSTD_isError(left))
			return err_set(err, ERR_FORMAT, "%s: damaged: %s", path,
				       ZSTD_getErrorName(left));
		if (charge(a, out.pos, path, err) || fd_write_all(a->fd, room, out.pos, path, err))
			return -1;
		a->len += out.pos;
		if (in.pos == had && !out.pos)
			break;
	} while (in.pos < in.size || left);
	return left ? err_set(err, ERR_FORMAT, "%s: it is cut off", path) : 0;
}

static int unpack(struct archive *a, const char *path, struct err *err)
{
	size_t size = ZSTD_DStreamOutSize();
	uint8_t *room = malloc(size);
	ZSTD_DStream *z = ZSTD_createDStream();
	struct file_map m = { 0 };
	int rc = -1;
	void *p;

	if (!room || !z || ZSTD_isError(ZSTD_initDStream(z))) {
		(void)err_nomem(err);
		goto out;
	}
	(void)ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, 27);
	if (file_map_open(&m, path, err))
		goto out;
	a->fd = memfd_create("cyclade-archive", MFD_CLOEXEC);
	if (a->fd < 0) {
		(void)err_sys(err, "%s: memfd_create", path);
		goto out;
	}
	if (unpack_all(a, z, &m, room, size, path, err))
		goto out;
	p = a->len ? mmap(NULL, a->len, PROT_READ, MAP_SHARED, a->fd, 0) : MAP_FAILED;
	if (p == MAP_FAILED) {
		(void)err_set(err, ERR_FORMAT, "%s: there is nothing in it", path);
		goto out;
	}
	a->p = p;
	rc = archive_parse(&a->list, a->p, a->len, err);
	if (rc)
		rc = err_prefix(err, "%s", path);
out:
	file_map_close(&m);
	(void)ZSTD_freeDStream(z);
	free(room);
	return rc;
}

int archive_open(struct archive **out, const char *path, struct err *err)
{
	struct archive *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (!a)
		return err_nomem(err);
	a->fd = -1;
	if (unpack(a, path, err)) {
		archive_close(a);
		return -1;
	}
	*out = a;
	return 0;
}

int archive_file(struct archive *a, const char *name)
{
	const struct archive_entry *e = archive_find(&a->list, name);
	int fd;

	if (!e) {
		errno = ENOENT;
		return -1;
	}
	/* it stays in memory as long as somebody has it mapped: charged until the archive goes */
	if (charge(a, (size_t)e->len, name, NULL)) {
		errno = ENOMEM;
		return -1;
	}
	fd = memfd_create("cyclade-file", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!fd_write_all(fd, a->p + e->at, (size_t)e->len, name, NULL) && !lseek(fd, 0, SEEK_SET))
		return fd;
	(void)close(fd);
	errno = EIO;
	return -1;
}

static int open_at(void *ctx, const char *path)
{
	char name[NAME_LONGEST + 8];

	(void)snprintf(name, sizeof(name), "files%s", path);
	return archive_file(ctx, name);
}

int archive_mount(struct archive *a, const char *root, struct err *err)
{
	if (file_in_mount(root, open_at, a, err))
		return -1;
	a->mounted = true;
	return 0;
}

void archive_close(struct archive *a)
{
	if (!a)
		return;
	if (a->mounted)
		file_in_unmount(a);
	archive_list_free(&a->list);
	if (a->p)
		(void)munmap(a->p, a->len);
	if (a->fd >= 0)
		(void)close(a->fd);
	file_in_release(a->charged);
	free(a);
}

/* ---- writing ---------------------------------------------------------------------------- */

struct archive_new {
	struct file_new out;
	ZSTD_CStream *z;
	uint8_t *room;
	size_t size;
	struct u64map names;
};

int archive_new(struct archive_new **out, const char *path, int level, struct err *err)
{
	struct archive_new *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (!w)
		return err_nomem(err);
	w->out = (struct file_new)FILE_NEW_NONE;
	w->size = ZSTD_CStreamOutSize();
	w->room = malloc(w->size);
	w->z = ZSTD_createCStream();
	if (!w->room || !w->z || ZSTD_isError(ZSTD_initCStream(w->z, level))) {
		(void)err_nomem(err);
	} else if (!file_new_open(&w->out, path, 0600, FILE_NEW_NAMED, err)) {
		(void)ZSTD_CCtx_setParameter(w->z, ZSTD_c_checksumFlag, 1);
		*out = w;
		return 0;
	}
	archive_abort(w);
	return -1;
}

static int pack(struct archive_new *w, const void *p, size_t len, ZSTD_EndDirective how,
		struct err *err)
{
	ZSTD_inBuffer in = { p, len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { w->room, w->size, 0 };

		left = ZSTD_compressStream2(w->z, &out, &in, how);
		if (ZSTD_isError(left))
			return err_set(err, ERR_IO, "%s: zstd: %s", w->out.path,
				       ZSTD_getErrorName(left));
		if (fd_write_all(w->out.fd, w->room, out.pos, w->out.path, err))
			return -1;
	} while (in.pos < in.size || (how == ZSTD_e_end && left));
	return 0;
}

static int put_padding(struct archive_new *w, size_t len, struct err *err)
{
	static const uint8_t zeros[BLOCK];

	return len % BLOCK ? pack(w, zeros, BLOCK - len % BLOCK, ZSTD_e_continue, err) : 0;
}

static int put_header(struct archive_new *w, const char *name, size_t len, char type,
		      struct err *err)
{
	struct header h = { .type = type };
	size_t n = strlen(name);
	char sum[16];

	memcpy(h.name, name, n < sizeof(h.name) ? n : sizeof(h.name));
	(void)snprintf(h.mode, sizeof(h.mode), "%07o", 0600u);
	(void)snprintf(h.uid, sizeof(h.uid), "%07o", 0u);
	(void)snprintf(h.gid, sizeof(h.gid), "%07o", 0u);
	(void)snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)len);
	(void)snprintf(h.mtime, sizeof(h.mtime), "%011o", 0u);
	memcpy(h.magic,
	       "ustar\0"
	       "00",
	       sizeof(h.magic));
	(void)snprintf(sum, sizeof(sum), "%06o", (unsigned)header_sum(&h));
	memcpy(h.check, sum, 7);
	h.check[7] = ' ';
	return pack(w, &h, sizeof(h), ZSTD_e_continue, err);
}

bool archive_has(const struct archive_new *w, const char *name)
{
	return u64map_find(&w->names, hash_bytes(name, strlen(name)));
}

int archive_add(struct archive_new *w, const char *name, const void *p, size_t len, struct err *err)
{
	size_t n = strlen(name) + 1;

	if (!clean_name(name) || n > NAME_LONGEST || (uint64_t)len >> 33)
		return err_set(err, ERR_LIMIT, "%.100s: cannot be stored in an archive", name);
	if (!u64map_at(&w->names, hash_bytes(name, n - 1), NULL))
		return err_nomem(err);
	if (n > sizeof(((struct header *)0)->name) &&
	    (put_header(w, "././@LongLink", n, 'L', err) ||
	     pack(w, name, n, ZSTD_e_continue, err) || put_padding(w, n, err)))
		return -1;
	return put_header(w, name, len, '0', err) || pack(w, p, len, ZSTD_e_continue, err) ||
			       put_padding(w, len, err)
		       ? -1
		       : 0;
}

int archive_end(struct archive_new *w, struct err *err)
{
	static const uint8_t end[2 * BLOCK];
	int rc = pack(w, end, sizeof(end), ZSTD_e_end, err);

	if (!rc)
		rc = file_new_commit(&w->out, err);
	archive_abort(w);
	return rc;
}

void archive_abort(struct archive_new *w)
{
	if (!w)
		return;
	file_new_abort(&w->out);
	(void)ZSTD_freeCStream(w->z);
	free(w->room);
	u64map_free(&w->names);
	free(w);
}
