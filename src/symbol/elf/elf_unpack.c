/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers are those of the ELF gABI (Elf32_Chdr, Elf64_Chdr); .zdebug_* begins with "ZLIB" and
 * the size, 8 bytes in big-endian order. */
#include "symbol/elf/elf_unpack.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/xalloc.h"
#include "config.h"
#if HAVE_LZMA
#include <lzma.h>
#endif

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define STEP ((size_t)1 << 20)

static const char *const too_large = "unpacks to more than its header or its size allow";

struct unpacking {
	const uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t len, cap, most;
};

static bool is_zdebug(const struct elf_sec *s)
{
	return !strncmp(s->name, ".zdebug_", 8);
}

bool elf_is_packed(const struct elf_sec *s)
{
	return s->flags & SHF_COMPRESSED || is_zdebug(s);
}

/* Room for one more byte at least. The size that a file has written is a claim, not a fact: the
 * buffer doubles. False: there is too much. */
static bool make_unpack_room(struct unpacking *u)
{
	if (u->len < u->cap)
		return true;
	if (u->cap >= u->most)
		return false;
	u->cap = u->cap ? u->cap * 2 : STEP;
	if (u->cap > u->most)
		u->cap = u->most;
	u->out = xreallocarray(u->out, u->cap, 1);
	return true;
}

static const char *unpack_zlib(struct unpacking *u)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)u->in, .avail_in = (uInt)u->in_len };
	int rc = u->in_len > UINT32_MAX ? Z_DATA_ERROR : inflateInit(&z);
	bool room = true;

	while (rc == Z_OK && (room = make_unpack_room(u))) {
		uInt part = (uInt)(u->cap - u->len < UINT32_MAX ? u->cap - u->len : UINT32_MAX);

		z.next_out = u->out + u->len;
		z.avail_out = part;
		rc = inflate(&z, Z_NO_FLUSH);
		u->len += part - z.avail_out;
	}
	(void)inflateEnd(&z);
	if (rc == Z_MEM_ERROR)
		nomem_die();
	return !room ? too_large : rc != Z_STREAM_END ? "is damaged" : NULL;
}

static const char *unpack_zstd(struct unpacking *u)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = { u->in, u->in_len, 0 };
	const char *why = NULL;
	size_t rc = 1;

	if (!z)
		nomem_die();
	while (rc && !ZSTD_isError(rc) && !why) {
		ZSTD_outBuffer out;
		size_t before = u->len, taken = in.pos;

		if (!make_unpack_room(u)) {
			why = too_large;
			break;
		}
		out = (ZSTD_outBuffer){ u->out, u->cap, u->len };
		rc = ZSTD_decompressStream(z, &out, &in);
		u->len = out.pos;
		if (rc && u->len == before && in.pos == taken)
			why = "is cut short";
	}
	(void)ZSTD_freeDStream(z);
	if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		nomem_die();
	return ZSTD_isError(rc) ? "is damaged" : why;
}

/* Hands the bytes out if `why` is NULL. */
static const char *unpacked(struct unpacking *u, const char *why, uint8_t **p, size_t *len)
{
	if (why)
		free(u->out);
	*p = why ? NULL : u->out;
	*len = why ? 0 : u->len;
	return why;
}

static size_t packed_head(const struct elf_file *f, const struct elf_sec *s)
{
	return is_zdebug(s) ? 12 : f->is64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
}

uint64_t elf_unpacked_size(const struct elf_file *f, const struct elf_sec *s)
{
	uint64_t size;

	if (!s->data || s->size < packed_head(f, s))
		return 0;
	if (!is_zdebug(s))
		return f->is64 ? elf_u64(f, s->data + offsetof(Elf64_Chdr, ch_size))
			       : elf_u32(f, s->data + offsetof(Elf32_Chdr, ch_size));
	memcpy(&size, s->data + 4, sizeof(size));
	return be64toh(size);
}

static size_t unpack_most(size_t packed)
{
	size_t most;

	if (__builtin_mul_overflow(packed, (size_t)ELF_UNPACK_RATIO, &most))
		return SIZE_MAX / 2;
	return most > ELF_UNPACK_MAX ? most : ELF_UNPACK_MAX;
}

const char *elf_unpack(const struct elf_file *f, const struct elf_sec *s, uint8_t **p, size_t *len)
{
	size_t head = packed_head(f, s);
	uint64_t claim = elf_unpacked_size(f, s);
	struct unpacking u = { .in = NULL };
	uint32_t type = ELFCOMPRESS_ZLIB;

	if (!s->data || s->size < head)
		return unpacked(&u, "is cut short", p, len);
	if (!is_zdebug(s))
		type = elf_u32(f, s->data);
	else if (memcmp(s->data, "ZLIB", 4) != 0)
		type = 0;
	u.in = s->data + head;
	u.in_len = (size_t)s->size - head;
	u.most = unpack_most(u.in_len);
	if (claim < u.most) /* one more shows that there is more */
		u.most = (size_t)claim + 1;
	return unpacked(&u,
			type == ELFCOMPRESS_ZLIB ? unpack_zlib(&u)
			: type == ELFCOMPRESS_ZSTD
				? unpack_zstd(&u)
				: "is compressed in a way that is not known here",
			p, len);
}

/* ---- .gnu_debugdata -------------------------------------------------------------------------- */

#if HAVE_LZMA
static const char *unpack_lzma(struct unpacking *u)
{
	lzma_stream st = LZMA_STREAM_INIT;
	lzma_ret rc = lzma_stream_decoder(&st, 128u << 20, 0);

	st.next_in = u->in;
	st.avail_in = u->in_len;
	while (rc == LZMA_OK) {
		if (!make_unpack_room(u)) {
			rc = LZMA_MEMLIMIT_ERROR;
			break;
		}
		st.next_out = u->out + u->len;
		st.avail_out = u->cap - u->len;
		rc = lzma_code(&st, LZMA_FINISH);
		u->len = u->cap - st.avail_out;
	}
	lzma_end(&st);
	if (rc == LZMA_MEM_ERROR)
		nomem_die();
	return rc == LZMA_STREAM_END	   ? NULL
	       : rc == LZMA_MEMLIMIT_ERROR ? ".gnu_debugdata is too large"
					   : ".gnu_debugdata is broken";
}
#else
static const char *unpack_lzma(struct unpacking *u)
{
	(void)u;
	return ".gnu_debugdata: built without liblzma";
}
#endif

const char *elf_minidebug(const struct elf_file *f, uint8_t **p, size_t *len)
{
	const struct elf_sec *s = elf_section(f, ".gnu_debugdata");
	struct unpacking u = { .in = s ? s->data : NULL,
			       .in_len = s ? (size_t)s->size : 0,
			       .most = ELF_UNPACK_MAX };

	return unpacked(&u, s ? unpack_lzma(&u) : NULL, p, len);
}
