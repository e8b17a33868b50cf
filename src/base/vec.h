/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vec - a growable array of any type, as a macro over plain malloc memory.
 *
 *	VEC(struct map) maps = VEC_INIT;
 *	if (vec_push(&maps, m))		// -1 when out of memory
 *	vec_each(&maps, struct map *, it)
 *		use(it);
 *	vec_free(&maps);
 *
 * Pointers to elements are valid until the next push.
 */
#ifndef CYCLADE_BASE_VEC_H
#define CYCLADE_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"

#define VEC(type)              \
	struct {               \
		type *v;       \
		size_t n, cap; \
	}
#define VEC_INIT           \
	{                  \
		NULL, 0, 0 \
	}

/* Makes room for `want` elements of `size` bytes in *v. -1 when out of memory; *v stays valid. */
int vec_grow_(void **v, size_t *cap, size_t want, size_t size) MUST_USE;

#define vec_reserve(vec, want) \
	((want) <= (vec)->cap  \
		 ? 0           \
		 : vec_grow_((void **)&(vec)->v, &(vec)->cap, (want), sizeof(*(vec)->v)))
#define vec_push(vec, value) \
	(vec_reserve(vec, (vec)->n + 1) ? -1 : ((vec)->v[(vec)->n++] = (value), 0))
/* A pointer to a new, uninitialised last element, or NULL. */
#define vec_add(vec)		(vec_reserve(vec, (vec)->n + 1) ? NULL : &(vec)->v[(vec)->n++])
#define vec_last(vec)		(&(vec)->v[(vec)->n - 1])
#define vec_free(vec)		(free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)
#define vec_each(vec, type, it) for (type it = (vec)->v; it && it < (vec)->v + (vec)->n; it++)
#define vec_sort(vec, cmp)                                                   \
	do {                                                                 \
		if ((vec)->n > 1)                                            \
			qsort((vec)->v, (vec)->n, sizeof(*(vec)->v), (cmp)); \
	} while (0)

#endif
