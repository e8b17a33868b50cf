/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/big.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE ((size_t)2 << 20)
#define LINE ((size_t)64)

void *big_alloc(size_t n, size_t size)
{
	size_t align = LINE, total;
	void *p;

	if (__builtin_mul_overflow(n, size, &total) || total > SIZE_MAX / 2)
		return NULL;
	if (total >= HUGE)
		align = HUGE;
	total = (total + align - 1) & ~(align - 1);
	p = aligned_alloc(align, total ? total : align);
	if (!p)
		return NULL;
	if (total >= HUGE)
		(void)madvise(p, total, MADV_HUGEPAGE); /* a wish */
	return memset(p, 0, total);
}
