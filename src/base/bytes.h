/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes - reading numbers from bytes that come from outside.
 *
 * ld16/ld32/ld64 load unaligned host-order numbers; the swapping of a foreign byte order is done
 * once, where the bytes enter (perfdata), so that no reader behind it needs to care. `struct cur`
 * is a cursor that never runs past its end: a read that does not fit sets `bad` and yields 0, so a
 * parser may read a whole structure and test `bad` once.
 */
#ifndef CYCLADE_BASE_BYTES_H
#define CYCLADE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t ld16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t ld32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t ld64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void st32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void st64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

struct cur {
	const uint8_t *p, *end;
	bool swap; /* bytes are of the other byte order */
	bool bad;  /* a read did not fit; sticky */
};

static inline struct cur cur_of(const void *p, size_t len)
{
	struct cur c = { p, (const uint8_t *)p + len, false, false };

	return c;
}

static inline size_t cur_left(const struct cur *c)
{
	return (size_t)(c->end - c->p);
}

/* A pointer to `n` bytes and past them, or NULL (and bad). */
static inline const void *cur_take(struct cur *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if (c->bad || n > cur_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

static inline uint8_t cur_u8(struct cur *c)
{
	const uint8_t *p = cur_take(c, 1);

	return p ? *p : 0;
}

static inline uint16_t cur_u16(struct cur *c)
{
	const void *p = cur_take(c, 2);
	uint16_t v = p ? ld16(p) : 0;

	return c->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t cur_u32(struct cur *c)
{
	const void *p = cur_take(c, 4);
	uint32_t v = p ? ld32(p) : 0;

	return c->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t cur_u64(struct cur *c)
{
	const void *p = cur_take(c, 8);
	uint64_t v = p ? ld64(p) : 0;

	return c->swap ? __builtin_bswap64(v) : v;
}

/* LEB128, as DWARF has it; bits beyond 64 are dropped. */
static inline uint64_t cur_uleb(struct cur *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = cur_u8(c);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80) || c->bad)
			return v;
	}
}

static inline int64_t cur_sleb(struct cur *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = cur_u8(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80 && !c->bad);
	if (b & 0x40 && shift < 64)
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

/* The NUL-ended string at the cursor, or NULL (and bad) if none ends before the end. */
static inline const char *cur_str(struct cur *c)
{
	const uint8_t *p = c->p, *nul;

	if (c->bad || !cur_left(c))
		goto bad;
	nul = memchr(p, 0, cur_left(c));
	if (!nul)
		goto bad;
	c->p = nul + 1;
	return (const char *)p;
bad:
	c->bad = true;
	return NULL;
}

#endif
