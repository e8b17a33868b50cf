/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * words - lists of words, and a text parted into them.
 */
#ifndef CYCLADE_BASE_WORDS_H
#define CYCLADE_BASE_WORDS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct text_list {
	const char **v; /* NULL-ended; NULL while n is 0 */
	size_t n;
};

/* The words of a text, parted by blanks; quotes and backslashes are a shell's. *argv is NULL-ended;
 * all of it is the arena's. */
int words_split(struct arena *a, const char *text, char ***argv, size_t *n,
		struct err *err) MUST_USE;

#endif
