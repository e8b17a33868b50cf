/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/nomem.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)	  ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define ALIGN	  16u
#define BLOCK_MIN 4096u
#define BLOCK_MAX (1u << 20)

struct arena_block {
	struct arena_block *next;
	size_t size; /* of the whole block, this head included */
};

#define HEAD ((sizeof(struct arena_block) + ALIGN - 1) & ~(size_t)(ALIGN - 1))

static int arena_grow(struct arena *a, size_t need)
{
	size_t size = a->head ? a->head->size * 2 : BLOCK_MIN;
	struct arena_block *b;

	if (need > SIZE_MAX / 2)
		return -1;
	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	if (size < need + HEAD)
		size = need + HEAD;
	b = malloc(size);
	if (!b) {
		nomem_note();
		return -1;
	}
	b->next = a->head;
	b->size = size;
	a->head = b;
	a->at = (char *)b + HEAD;
	a->end = (char *)b + size;
	a->total += size;
	ASAN_POISON_MEMORY_REGION(a->at, (size_t)(a->end - a->at));
	return 0;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t room = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *p;

	if (room < size)
		return NULL;
	if (!room)
		room = ALIGN;
	if ((size_t)(a->end - a->at) < room && arena_grow(a, room))
		return NULL;
	p = a->at;
	a->at += room;
	assert(a->at <= a->end && !((uintptr_t)p % ALIGN));
	ASAN_UNPOISON_MEMORY_REGION(p, size);
	return memset(p, 0, size);
}

void *arena_memdup(struct arena *a, const void *p, size_t len)
{
	void *copy = arena_alloc(a, len);

	if (copy && len)
		memcpy(copy, p, len);
	return copy;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	size_t n = strnlen(s, len);
	char *copy = arena_alloc(a, n + 1);

	if (copy && n)
		memcpy(copy, s, n);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	p = arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void arena_free(struct arena *a)
{
	struct arena_block *b = a->head;

	while (b) {
		struct arena_block *next = b->next;

		ASAN_UNPOISON_MEMORY_REGION(b, b->size);
		free(b);
		b = next;
	}
	a->head = NULL;
	a->at = a->end = NULL;
	a->total = 0;
}

void arena_reset(struct arena *a)
{
	struct arena_block *head = a->head;

	if (!head)
		return;
	a->head = head->next;
	head->next = NULL;
	arena_free(a);
	a->head = head;
	a->at = (char *)head + HEAD;
	a->end = (char *)head + head->size;
	a->total = head->size;
	ASAN_POISON_MEMORY_REGION(a->at, (size_t)(a->end - a->at));
}
