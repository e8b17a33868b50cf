/* SPDX-License-Identifier: BSD-3-Clause */
/* A static function of the same name as one of twins.c, and one of the header. */
#include "truth.h"
#include "twins.h"

NOINLINE static unsigned work(unsigned x)
{
	for (unsigned i = 0; i < 5; i++) {
		x = x * 7 + i;
		KEEP;
	}
	return x;
}

unsigned other(unsigned x);
NOINLINE unsigned other(unsigned x)
{
	return work(x) + shared(x);
}
