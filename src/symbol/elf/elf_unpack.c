/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers are those of the ELF gABI (Elf32_Chdr, Elf64_Chdr); .zdebug_* begins with "ZLIB" and
 * the size, 8 bytes in big-endian order. */
#include "symbol/elf/elf_unpack.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define STEP ((size_t)1 << 20)

struct unpacking {
	const uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t len, cap;
};

static bool is_zdebug(const struct elf_sec *s)
{
	return !strncmp(s->name, ".zdebug_", 8);
}

bool elf_is_packed(const struct elf_sec *s)
{
	return s->flags & SHF_COMPRESSED || is_zdebug(s);
}

/* Room for one more byte at least; *why: there is too much. */
static int make_room(struct unpacking *u, const char **why, struct err *err)
{
	size_t cap = u->cap ? u->cap * 2 : STEP;
	uint8_t *more;

	if (u->len < u->cap)
		return 0;
	if (u->cap >= ELF_UNPACK_MAX) {
		*why = "unpacks to more than 256 MiB";
		return 0;
	}
	more = realloc(u->out, cap);
	if (!more)
		return err_nomem(err);
	u->out = more;
	u->cap = cap;
	return 0;
}

static int unpack_zlib(struct unpacking *u, const char **why, struct err *err)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)u->in, .avail_in = (uInt)u->in_len };
	int rc = u->in_len > UINT32_MAX ? Z_DATA_ERROR : inflateInit(&z), ret = 0;

	if (rc != Z_OK && rc != Z_MEM_ERROR) {
		*why = "is damaged";
		return 0;
	}
	while (rc == Z_OK) {
		ret = make_room(u, why, err);
		if (ret || *why)
			break;
		z.next_out = u->out + u->len;
		z.avail_out = (uInt)(u->cap - u->len);
		rc = inflate(&z, Z_NO_FLUSH);
		u->len = u->cap - z.avail_out;
	}
	(void)inflateEnd(&z);
	if (rc == Z_MEM_ERROR)
		return err_nomem(err);
	if (!ret && !*why && rc != Z_STREAM_END)
		*why = "is damaged";
	return ret;
}

static int unpack_zstd(struct unpacking *u, const char **why, struct err *err)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = { u->in, u->in_len, 0 };
	size_t rc = 1;
	int ret = 0;

	if (!z)
		return err_nomem(err);
	while (rc && !ZSTD_isError(rc)) {
		ZSTD_outBuffer out;
		size_t before = u->len, taken = in.pos;

		ret = make_room(u, why, err);
		if (ret || *why)
			break;
		out = (ZSTD_outBuffer){ u->out, u->cap, u->len };
		rc = ZSTD_decompressStream(z, &out, &in);
		u->len = out.pos;
		if (rc && u->len == before && in.pos == taken)
			*why = "is cut short";
		if (*why)
			break;
	}
	(void)ZSTD_freeDStream(z);
	if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		return err_nomem(err);
	if (ZSTD_isError(rc))
		*why = "is damaged";
	return ret;
}

int elf_unpack(const struct elf_file *f, const struct elf_sec *s, uint8_t **p, size_t *len,
	       const char **why, struct err *err)
{
	size_t head = is_zdebug(s) ? 12 : f->is64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	struct unpacking u = { .in = NULL };
	uint32_t type = ELFCOMPRESS_ZLIB;
	int ret = 0;

	*p = NULL;
	*len = 0;
	*why = NULL;
	if (!s->data || s->size < head) {
		*why = "is cut short";
		return 0;
	}
	if (!is_zdebug(s))
		type = elf_u32(f, s->data);
	else if (memcmp(s->data, "ZLIB", 4) != 0)
		type = 0;
	u.in = s->data + head;
	u.in_len = (size_t)s->size - head;
	if (type == ELFCOMPRESS_ZLIB)
		ret = unpack_zlib(&u, why, err);
	else if (type == ELFCOMPRESS_ZSTD)
		ret = unpack_zstd(&u, why, err);
	else
		*why = "is compressed in a way that is not known here";
	if (ret || *why) {
		free(u.out);
		return ret;
	}
	*p = u.out;
	*len = u.len;
	return 0;
}
