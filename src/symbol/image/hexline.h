/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hexline - hex numbers in long lists of symbols, read without a NUL behind them and several times
 * faster than by strtoull.
 */
#ifndef CYCLADE_SYMBOL_HEXLINE_H
#define CYCLADE_SYMBOL_HEXLINE_H

#include <stdbool.h>
#include <stdint.h>

static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Takes a number of 1 to 16 digits at *p and steps behind it; false if there is none or it is
 * too long. */
static inline bool hex_take(char **p, const char *end, uint64_t *out)
{
	char *at = *p;
	uint64_t v = 0;
	int d;

	while (at < end && (d = hex_digit(*at)) >= 0) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)d;
		at++;
	}
	if (at == *p)
		return false;
	*p = at;
	*out = v;
	return true;
}

#endif
