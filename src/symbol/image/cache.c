/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/image/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/big.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/file_out.h"
#include "base/hash.h"
#include "base/text.h"

/* All numbers are of the writer's byte order, known by the magic number. */
struct head {
	uint64_t magic;
	uint32_t version, id_len;
	uint8_t id[24];
	uint64_t layout, base;
	uint64_t n, names; /* symbols; bytes of names behind them */
	uint64_t check;	   /* of the head with 0 here, and of all that follows */
};

struct row {
	uint64_t start, size;
	uint64_t name; /* where it begins; the uppermost bit: others have the same */
};
#define ROW_TWIN (1ULL << 63)

static const uint64_t magic = 0x316d7953637943ULL; /* "CycSym1" */

static bool cache_path(const struct cache_key *k, char *path, size_t size, size_t *dir_len)
{
	char hex[BUILD_ID_MAX * 2 + 1];
	int n;

	if (!k->dir || k->id_len < 2 || k->id_len > BUILD_ID_MAX)
		return false;
	text_hex(hex, k->id, k->id_len);
	n = snprintf(path, size, "%s/symbols/%.2s", k->dir, hex);
	*dir_len = n < 0 ? 0 : (size_t)n;
	if (n < 0 || *dir_len >= size)
		return false;
	n = snprintf(path + n, size - *dir_len, "/%s-%s", hex + 2, k->kind);
	return n > 0 && (size_t)n < size - *dir_len;
}

static uint64_t checksum(struct head h, const void *body, size_t len)
{
	h.check = 0;
	return hash_pair(hash_bytes(&h, sizeof(h)), hash_bytes(body, len));
}

static bool head_fits(const struct head *h, size_t len, const struct cache_key *k)
{
	uint64_t rows;

	return h->magic == magic && h->version == CACHE_VERSION && h->layout == k->layout &&
	       h->id_len == k->id_len && k->id_len <= sizeof(h->id) &&
	       !memcmp(h->id, k->id, k->id_len) && h->n <= UINT32_MAX &&
	       !__builtin_mul_overflow(h->n, sizeof(struct row), &rows) &&
	       rows <= len - sizeof(*h) && h->names == len - sizeof(*h) - rows;
}

bool cache_parse(const void *p, size_t len, const struct cache_key *k, struct sym_table *t,
		 uint64_t *base)
{
	const uint8_t *body = (const uint8_t *)p + sizeof(struct head);
	const char *names;
	struct head h;

	t->sym = NULL;
	t->n = 0;
	if (len < sizeof(h))
		return false;
	memcpy(&h, p, sizeof(h));
	if (!head_fits(&h, len, k) || checksum(h, body, len - sizeof(h)) != h.check)
		return false;
	names = (const char *)body + h.n * sizeof(struct row);
	if (!h.n || !h.names || names[h.names - 1])
		return false;
	t->sym = big_alloc((size_t)h.n, sizeof(*t->sym));
	if (!t->sym)
		return false;
	t->n = (size_t)h.n;
	*base = h.base;
	for (size_t i = 0; i < t->n; i++) {
		struct symbol *s = &t->sym[i];
		struct row r;
		bool twin;

		memcpy(&r, body + i * sizeof(r), sizeof(r));
		twin = r.name & ROW_TWIN;
		r.name &= ~ROW_TWIN;
		if (r.name >= h.names || r.size > UINT64_MAX - r.start ||
		    (i && r.start <= s[-1].start)) {
			sym_table_free(t);
			return false;
		}
		*s = (struct symbol){ .linkage = names + r.name,
				      .start = r.start,
				      .size = r.size,
				      .index = (uint32_t)i,
				      .twin = twin };
	}
	return true;
}

bool cache_load(const struct cache_key *k, struct file_map *map, struct sym_table *t,
		uint64_t *base)
{
	char path[4096];
	struct stat st;
	size_t dir_len;
	int fd;

	*map = (struct file_map){ 0 };
	if (!cache_path(k, path, sizeof(path), &dir_len))
		return false;
	fd = file_in_open(NULL, path, FILE_IN_NO_LINK | FILE_IN_STATE, &st, NULL);
	if (fd < 0)
		return false;
	if (!file_written_by(&st, 0)) {
		(void)close(fd);
		return false;
	}
	if (file_in_map(map, fd, &st, false, path, NULL))
		return false;
	if (cache_parse(map->p, map->len, k, t, base))
		return true;
	file_map_close(map);
	return false;
}

int cache_store(const struct cache_key *k, const struct sym_table *t, uint64_t base,
		struct err *err)
{
	struct buf body = BUF_INIT, names = BUF_INIT;
	struct head h = { .magic = magic, .version = CACHE_VERSION, .layout = k->layout };
	struct file_new out;
	char path[4096], dir[4096];
	size_t dir_len;
	int rc = -1;

	if (!t->n || !cache_path(k, path, sizeof(path), &dir_len))
		return 0;
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)dir_len, path);
	for (size_t i = 0; i < t->n; i++) {
		const struct symbol *s = &t->sym[i];
		struct row r = { s->start, s->size, names.len | (s->twin ? ROW_TWIN : 0) };

		buf_put(&body, &r, sizeof(r));
		buf_put(&names, s->linkage, strlen(s->linkage) + 1);
	}
	buf_put(&body, names.s, names.len);
	h.id_len = (uint32_t)k->id_len;
	memcpy(h.id, k->id, k->id_len);
	h.base = base;
	h.n = t->n;
	h.names = names.len;
	h.check = checksum(h, body.s, body.len);
	if (dir_make_all(dir, 0700, err) || file_new_open(&out, path, 0600, FILE_NEW_OURS, err))
		goto out;
	if (fd_write_all(out.fd, &h, sizeof(h), path, err) ||
	    fd_write_all(out.fd, body.s, body.len, path, err))
		file_new_abort(&out);
	else
		rc = file_new_commit(&out, err);
out:
	buf_free(&body);
	buf_free(&names);
	return rc;
}
