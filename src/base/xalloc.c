/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the process if an allocation failed. */
static inline void *or_die(void *p)
{
	if (!p)
		nomem_die();
	return p;
}

void *xmalloc(size_t size)
{
	return or_die(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return or_die(n && size ? calloc(n, size) : calloc(1, 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	return or_die(n && size ? reallocarray(p, n, size) : realloc(p, 1));
}

void *xmemdup(const void *p, size_t len)
{
	void *copy = xmalloc(len);

	return len ? memcpy(copy, p, len) : copy;
}

char *xstrdup(const char *s)
{
	return or_die(strdup(s));
}

void *arena_xalloc(struct arena *a, size_t size)
{
	return or_die(arena_alloc(a, size));
}

void *arena_xmemdup(struct arena *a, const void *p, size_t len)
{
	return or_die(arena_memdup(a, p, len));
}

char *arena_xstrndup(struct arena *a, const char *s, size_t len)
{
	return or_die(arena_strndup(a, s, len));
}

char *arena_xstrdup(struct arena *a, const char *s)
{
	return or_die(arena_strdup(a, s));
}

char *arena_xprintf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = arena_xalloc(a, n < 0 ? 1 : (size_t)n + 1);
	va_start(ap, fmt);
	if (n > 0)
		(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void vec_xgrow_(void **v, size_t *cap, size_t want, size_t size)
{
	if (vec_grow_(v, cap, want, size))
		nomem_die();
}

uint64_t *u64map_xat(struct u64map *m, uint64_t key, bool *fresh)
{
	return or_die(u64map_at(m, key, fresh));
}

uint32_t strtab_xadd(struct strtab *t, const char *s, size_t len)
{
	uint32_t id = strtab_add(t, s, len);

	if (id == STR_NONE)
		nomem_die();
	return id;
}

uint32_t strtab_xadds(struct strtab *t, const char *s)
{
	return strtab_xadd(t, s, strlen(s));
}
