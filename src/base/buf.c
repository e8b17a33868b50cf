/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_in.h"
#include "base/invariant.h"
#include "base/nomem.h"
#include "base/num.h"

static bool buf_grow(struct buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 64;
	char *s;

	if (b->failed || more > SIZE_MAX / 4 || b->len > SIZE_MAX / 4)
		goto fail;
	while (cap < b->len + more + 1)
		cap *= 2;
	s = realloc(b->s, cap);
	if (!s) {
		nomem_note();
		goto fail;
	}
	b->s = s;
	b->cap = cap;
	return true;
fail:
	b->failed = true;
	return false;
}

/* Room for `more` bytes and the NUL. */
static inline bool buf_reserve(struct buf *b, size_t more)
{
	return (more < b->cap - b->len && !b->failed) || buf_grow(b, more);
}

void buf_put(struct buf *b, const void *p, size_t len)
{
	if (!buf_reserve(b, len))
		return;
	if (len)
		memcpy(b->s + b->len, p, len);
	b->len += len;
	assert(b->len < b->cap);
	b->s[b->len] = '\0';
}

void buf_put_u32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

void buf_put_u64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, sizeof(v));
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	if (!buf_reserve(b, 1))
		return;
	b->s[b->len++] = c;
	b->s[b->len] = '\0';
}

static void put_digits(struct buf *b, uint64_t v, unsigned base)
{
	char text[20];
	size_t at = sizeof(text);

	do
		text[--at] = "0123456789abcdef"[v % base];
	while (v /= base);
	buf_put(b, text + at, sizeof(text) - at);
}

void buf_put_decimal(struct buf *b, uint64_t v)
{
	put_digits(b, v, 10);
}

void buf_put_hex(struct buf *b, uint64_t v)
{
	put_digits(b, v, 16);
}

void buf_fill(struct buf *b, char c, size_t n)
{
	if (!buf_reserve(b, n))
		return;
	if (n)
		memset(b->s + b->len, c, n);
	b->len += n;
	b->s[b->len] = '\0';
}

void buf_put_right(struct buf *b, const char *s, size_t width)
{
	size_t n = strlen(s);

	buf_fill(b, ' ', n < width ? width - n : 0);
	buf_put(b, s, n);
}

void buf_put_left(struct buf *b, const char *s, size_t width)
{
	size_t n = strlen(s);

	buf_put(b, s, n);
	buf_fill(b, ' ', n < width ? width - n : 0);
}

void buf_put_fixed(struct buf *b, double v, unsigned decimals, size_t width)
{
	char text[NUM_MAX];

	(void)num_fixed(text, v, decimals);
	buf_put_right(b, text, width);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!buf_reserve(b, 128))
		return;
	va_start(ap, fmt);
	n = vsnprintf(b->s + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if ((size_t)n >= b->cap - b->len) {
		if (!buf_reserve(b, (size_t)n)) {
			b->s[b->len] = '\0';
			return;
		}
		va_start(ap, fmt);
		(void)vsnprintf(b->s + b->len, b->cap - b->len, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
}

void buf_trim(struct buf *b)
{
	while (b->len && b->s[b->len - 1] == ' ')
		b->s[--b->len] = '\0';
}

void buf_end_line(struct buf *b)
{
	buf_trim(b);
	buf_putc(b, '\n');
}

const char *buf_str(const struct buf *b)
{
	return b->s ? b->s : "";
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = b->refused = false;
	if (b->s)
		b->s[0] = '\0';
}

void buf_spill(struct buf *b)
{
	if (!b->drain || b->failed || b->len < BUF_SPILL)
		return;
	if (b->drain->take(b->drain->ctx, b->s, b->len))
		b->failed = b->refused = true;
	b->gone += b->len;
	b->len = 0;
	b->s[0] = '\0';
}

int buf_error(const struct buf *b, struct err *err)
{
	if (!b->failed)
		return 0;
	return b->refused ? err_set(err, ERR_IO, "cannot write the text") : err_nomem(err);
}

void buf_free(struct buf *b)
{
	free(b->s);
	if (b->charged)
		file_in_release(b->charged);
	*b = (struct buf)BUF_INIT;
}
