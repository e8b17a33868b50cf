/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/style.h"

void style_ink(struct buf *b, const struct style *st, enum ink ink)
{
	static const char *const escapes[] = {
		[INK_PLAIN] = "\x1b[0m",  [INK_BOLD] = "\x1b[1m",  [INK_DIM] = "\x1b[2m",
		[INK_HOT] = "\x1b[1;31m", [INK_WARM] = "\x1b[33m", [INK_GOOD] = "\x1b[32m",
		[INK_BAD] = "\x1b[31m",
	};

	if (st->colour)
		buf_puts(b, escapes[ink]);
}
