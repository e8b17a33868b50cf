/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bisect - where a sorted array begins to be beyond something.
 *
 *	size_t at;
 *
 *	bisect(at, k->n, i, k->sym[i].addr > addr);
 *	return at ? &k->sym[at - 1] : NULL;		the last that begins at or before `addr`
 *
 * Sets `at` to the first `i` of [0, n) for which `beyond` is true, to n if it is of none. All
 * behind such an i must be beyond, too. `beyond` is evaluated some log2(n) times, `n` once.
 */
#ifndef CYCLADE_BASE_BISECT_H
#define CYCLADE_BASE_BISECT_H

#include <stddef.h>

#define bisect(at, n, i, beyond)                             \
	do {                                                 \
		size_t end_ = (n);                           \
                                                             \
		(at) = 0;                                    \
		while ((at) < end_) {                        \
			size_t i = (at) + (end_ - (at)) / 2; \
                                                             \
			if (beyond)                          \
				end_ = i;                    \
			else                                 \
				(at) = i + 1;                \
		}                                            \
	} while (0)

#endif
