/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * utf8 - one code point at a time.
 */
#ifndef CYCLADE_BASE_UTF8_H
#define CYCLADE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed code point at s (1 to 4), or 0 if the bytes are none: overlong forms,
 * surrogates and numbers past U+10FFFF are refused (RFC 3629). */
static inline size_t utf8_decode(const char *s, size_t len, uint32_t *cp)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t n;
	uint32_t v;

	if (!len)
		return 0;
	if (p[0] < 0x80) {
		*cp = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 && p[0] < 0xf8 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] >= 0xf8 || n > len)
		return 0;
	v = p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (p[i] & 0x3f);
	}
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 0;
	*cp = v;
	return n;
}

#endif
