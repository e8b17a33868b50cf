/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/vec.h"

#include <stdint.h>

#include "base/nomem.h"

int vec_grow_(void **v, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap ? *cap : 8;
	void *p;

	while (n < want) {
		if (n > SIZE_MAX / 2)
			return -1;
		n *= 2;
	}
	if (n > SIZE_MAX / size)
		return -1;
	p = realloc(*v, n * size);
	if (!p) {
		nomem_note();
		return -1;
	}
	*v = p;
	*cap = n;
	return 0;
}
