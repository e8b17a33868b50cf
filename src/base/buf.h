/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buf - a growable string.
 *
 * Failure is sticky: when memory runs out the buffer keeps what it has and `failed` is set, so that
 * a long run of puts needs one test at its end. Always NUL-ended once something was put.
 *
 * A text that may be larger than memory leaves by the way: its writer calls buf_spill() between
 * rows, when the rows before are not looked at again. Only a buffer with a drain spills; others
 * grow. A drain that fails sets `failed` and `refused` (the drain keeps the reason), and a loop
 * over many rows ends by that.
 */
#ifndef CYCLADE_BASE_BUF_H
#define CYCLADE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf_drain {
	int (*take)(void *ctx, const char *p, size_t len); /* all of it, or not 0 */
	void *ctx;
};

struct buf {
	char *s; /* NULL while empty and never put to; buf_str() is never NULL */
	size_t len, cap;
	bool failed, refused;
	const struct buf_drain *drain; /* NULL: nothing leaves */
	uint64_t gone;		       /* bytes that the drain took */
	size_t charged; /* to the budget of base/file_in.h; buf_free() gives it back */
};

#define BUF_INIT                                     \
	{                                            \
		NULL, 0, 0, false, false, NULL, 0, 0 \
	}
#define BUF_SPILL ((size_t)1 << 18) /* less is kept for the next time */

void buf_put(struct buf *b, const void *p, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
/* The number's bytes in host order, as records and file headers have them. */
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
/* %llu and %llx, several times as fast. */
void buf_put_decimal(struct buf *b, uint64_t v);
void buf_put_hex(struct buf *b, uint64_t v);
void buf_fill(struct buf *b, char c, size_t n);
/* As printf's %*s: blanks before it until it is `width` bytes. And with %-*s behind it. */
void buf_put_right(struct buf *b, const char *s, size_t width);
void buf_put_left(struct buf *b, const char *s, size_t width);
void buf_put_fixed(struct buf *b, double v, unsigned decimals, size_t width); /* %*.*f */
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_(2, 3);
const char *buf_str(const struct buf *b);
void buf_trim(struct buf *b);	  /* takes off the blanks at its end */
void buf_end_line(struct buf *b); /* the same, and puts a newline */
void buf_reset(struct buf *b);	  /* empty, memory kept */
void buf_spill(struct buf *b);	  /* to the drain, if there is one and enough to be worth it */
void buf_free(struct buf *b);
/* 0; -1 if the text is incomplete: memory ran out, or (ERR_IO) the drain failed. */
int buf_error(const struct buf *b, struct err *err);

#endif
