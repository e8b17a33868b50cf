/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * invariant - conditions over arrays, for assert(). They are evaluated in builds with asserts only.
 *
 *	assert(all_hold(n, i, share[i] >= 0 && share[i] <= 1));
 *	assert(pairs_hold(n, i, addr[i] <= addr[i + 1]));
 */
#ifndef CYCLADE_BASE_INVARIANT_H
#define CYCLADE_BASE_INVARIANT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* For each i below n. */
#define all_hold(n, i, condition)                                  \
	__extension__({                                            \
		bool holds_ = true;                                \
		for (size_t i = 0; holds_ && i < (size_t)(n); i++) \
			holds_ = (condition);                      \
		holds_;                                            \
	})
/* For each i that has an element behind it. */
#define pairs_hold(n, i, condition)                                    \
	__extension__({                                                \
		bool holds_ = true;                                    \
		for (size_t i = 0; holds_ && i + 1 < (size_t)(n); i++) \
			holds_ = (condition);                          \
		holds_;                                                \
	})

/* NAN is not known, which is no share, but allowed. */
static inline bool is_share_or_unknown(double v)
{
	return !(v < -1e-9) && !(v > 1 + 1e-9);
}

#endif
