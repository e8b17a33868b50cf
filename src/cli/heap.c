/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/big.h"

#if defined(__SANITIZE_ADDRESS__)
#define LEAKS_COUNT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAKS_COUNT 1
#endif
#if __has_feature(thread_sanitizer)
#define RACES_COUNT 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define RACES_COUNT 1
#endif

#define HEAP_AHEAD ((size_t)128 << 20) /* of address space; nothing that is not touched costs */
#define HEAP_LARGE ((size_t)32 << 20)  /* from here on regions of their own: glibc's limit, too */

void heap_for_tables(void)
{
#if defined(__GLIBC__) && !defined(LEAKS_COUNT)
	static void *skipped; /* never freed, but reachable for leak checkers */
	uintptr_t first, from, end;
	char *p;

	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, (int)HEAP_LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, (int)HEAP_AHEAD * 2);
	(void)mallopt(M_TOP_PAD, (int)HEAP_AHEAD);
	/* more than is left now, so that the heap grows, by M_TOP_PAD */
	p = malloc((size_t)1 << 20);
	if (!p)
		return;
	first = (uintptr_t)p;
	from = (first + BIG_PAGE - 1) & ~(uintptr_t)(BIG_PAGE - 1);
	end = (uintptr_t)sbrk(0) & ~(uintptr_t)(BIG_PAGE - 1);
	free(p);
	/* a wish; not if the heap is no such thing */
	if (from >= end || end - from > HEAP_AHEAD * 2 ||
	    madvise((void *)from, end - from, MADV_HUGEPAGE))
		return;
	/* the memory before the first large page stays unused: to map it, small page by small page,
	 * takes longer than a large one */
	skipped = malloc(from - first);
	(void)skipped;
#endif
}

bool heap_ends(void)
{
#ifdef LEAKS_COUNT
	return false;
#else
	return true;
#endif
}

bool heap_is_watched(void)
{
#if defined(LEAKS_COUNT) || defined(RACES_COUNT)
	return true;
#else
	return false;
#endif
}
