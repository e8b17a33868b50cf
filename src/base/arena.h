/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena - memory that lives as long as one profile and is freed in one go.
 *
 * Bump allocation from blocks that double up to 1 MB; nothing is freed singly; freed memory is
 * poisoned for AddressSanitizer. Not safe for use by two threads at once: give each its own.
 */
#ifndef CYCLADE_BASE_ARENA_H
#define CYCLADE_BASE_ARENA_H

#include <stddef.h>

#include "base/err.h"

struct arena_block;

struct arena {
	struct arena_block *head;
	char *at, *end;
	size_t total; /* bytes taken from malloc */
};

#define ARENA_INIT                  \
	{                           \
		NULL, NULL, NULL, 0 \
	}

/* 16-byte aligned, zeroed. NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t size) MUST_USE;
void *arena_memdup(struct arena *a, const void *p, size_t len) MUST_USE;
/* Copies at most `len` bytes and ends them with a NUL. */
char *arena_strndup(struct arena *a, const char *s, size_t len) MUST_USE;
char *arena_strdup(struct arena *a, const char *s) MUST_USE;
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_(2, 3) MUST_USE;
/* Frees every block; the arena is ready for use again. */
void arena_free(struct arena *a);
/* As that, but keeps the newest block: if it is filled again and again. */
void arena_reset(struct arena *a);

#endif
