/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * big - memory for tables that are met in no order: in large pages if the kernel has some, and
 * always aligned to a cache line. free() gives it back; realloc() moves it to small pages.
 */
#ifndef CYCLADE_BASE_BIG_H
#define CYCLADE_BASE_BIG_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/nomem.h"

#define BIG_PAGE  ((size_t)2 << 20)
#define BIG_LINE  ((size_t)64)
#define BIG_LEAST ((size_t)64) /* elements */

static inline MUST_USE void *big_alloc(size_t n, size_t size)
{
	uintptr_t from, end;
	void *p;

	if (size && n > (SIZE_MAX - BIG_PAGE) / size)
		return NULL;
	n *= size;
	/* one after another: a piece that begins with a large page leaves the one before to a few
	 * bytes of the allocator's, and that is cleared, too */
	p = aligned_alloc(BIG_LINE, (n + BIG_LINE) & ~(BIG_LINE - 1));
	if (!p) {
		nomem_note();
		return NULL;
	}
	from = ((uintptr_t)p + BIG_PAGE - 1) & ~(uintptr_t)(BIG_PAGE - 1);
	end = ((uintptr_t)p + n) & ~(uintptr_t)(BIG_PAGE - 1);
	if (from < end) /* a wish */
		(void)madvise((void *)from, end - from, MADV_HUGEPAGE);
	return p;
}

/* As vec_reserve() for one more, or for `want` in all, in such memory. -1: out of memory. */
#define big_reserve(vec) big_reserve_all(vec, (vec)->n + 1)
#define big_reserve_all(vec, want) \
	big_more_of((void **)&(vec)->v, (vec)->n, &(vec)->cap, want, sizeof(*(vec)->v))
static inline MUST_USE int big_more_of(void **v, size_t n, size_t *cap, size_t want, size_t size)
{
	void *p;

	if (want <= *cap)
		return 0;
	if (want < *cap * 2)
		want = *cap * 2;
	if (want < BIG_LEAST)
		want = BIG_LEAST;
	p = big_alloc(want, size);
	if (!p)
		return -1;
	if (n)
		memcpy(p, *v, n * size);
	free(*v);
	*v = p;
	*cap = want;
	return 0;
}

/* All zero. Not by calloc: pages that are read before they are written would first be mapped to the
 * kernel's page of zeros, and each be replaced with a call to all processors. */
static inline MUST_USE void *big_zeros(size_t n, size_t size)
{
	void *p = big_alloc(n, size);

	return p ? memset(p, 0, n * size) : NULL;
}

#endif
