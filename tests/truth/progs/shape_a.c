/* SPDX-License-Identifier: BSD-3-Clause */
#include "shape.h"
#include "truth.h"

unsigned shape_scale(unsigned x)
{
	KEEP;
	return x * 3 + 1;
}

static unsigned square_area(const struct shape *s)
{
	return shape_scale(s->a * s->a) + 1; /* through its own trampoline: it may be replaced */
}

static unsigned square_sides(const struct shape *s)
{
	(void)s;
	return 4;
}

static const struct shape_methods square = { square_area, square_sides };

void square_make(struct shape *s, unsigned a)
{
	s->is = &square;
	s->a = a;
}

unsigned shape_area(const struct shape *s)
{
	return s->is->area(s) ^ s->is->sides(s);
}
