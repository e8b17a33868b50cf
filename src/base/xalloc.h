/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xalloc - allocation that does not fail: if memory runs out, the process ends (base/nomem.h).
 *
 * For code with nothing to save: reading recordings, analysis, reports. Code that counts, records
 * or runs inside of another program uses malloc(), arena_alloc() and vec_push(), and hands the
 * failure on. A size that overflows counts as lack of memory.
 *
 *	struct row *row = xcalloc(n, sizeof(*row));
 *	vec_xpush(&rows, r);
 *	*vec_xadd(&rows) = (struct row){ .key = key };
 *	name = arena_xstrdup(&arena, s);
 *	*u64map_xat(&map, key, &fresh) += weight;
 *
 * Memory is freed by free(), vec_free(), arena_free(), as that of their counterparts.
 */
#ifndef CYCLADE_BASE_XALLOC_H
#define CYCLADE_BASE_XALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/nomem.h"
#include "base/vec.h"

/* libiberty, which is linked in, has functions of these names, too. */
#define xmalloc	      base_xmalloc
#define xcalloc	      base_xcalloc
#define xreallocarray base_xreallocarray
#define xmemdup	      base_xmemdup
#define xstrdup	      base_xstrdup

#define NEVER_NULL __attribute__((returns_nonnull, warn_unused_result))

/* Never NULL, for a size of 0 neither. */
void *xmalloc(size_t size) NEVER_NULL;
void *xcalloc(size_t n, size_t size) NEVER_NULL; /* zeroed */
void *xreallocarray(void *p, size_t n, size_t size) NEVER_NULL;
void *xmemdup(const void *p, size_t len) NEVER_NULL;
char *xstrdup(const char *s) NEVER_NULL;

/* 16-byte aligned, zeroed. */
void *arena_xalloc(struct arena *a, size_t size) NEVER_NULL;
void *arena_xmemdup(struct arena *a, const void *p, size_t len) NEVER_NULL;
char *arena_xstrndup(struct arena *a, const char *s, size_t len) NEVER_NULL;
char *arena_xstrdup(struct arena *a, const char *s) NEVER_NULL;
char *arena_xprintf(struct arena *a, const char *fmt, ...) PRINTF_(2, 3) NEVER_NULL;

/* As vec_reserve(), vec_push(), vec_add(). */
void vec_xgrow_(void **v, size_t *cap, size_t want, size_t size);
#define vec_xreserve(vec, want) \
	((want) <= (vec)->cap   \
		 ? (void)0      \
		 : vec_xgrow_((void **)&(vec)->v, &(vec)->cap, (want), sizeof(*(vec)->v)))
#define vec_xpush(vec, value) \
	(vec_xreserve(vec, (vec)->n + 1), (void)((vec)->v[(vec)->n++] = (value)))
#define vec_xadd(vec) (vec_xreserve(vec, (vec)->n + 1), &(vec)->v[(vec)->n++])

uint64_t *u64map_xat(struct u64map *m, uint64_t key, bool *fresh) NEVER_NULL;
uint32_t strtab_xadd(struct strtab *t, const char *s, size_t len);
uint32_t strtab_xadds(struct strtab *t, const char *s);

#endif
