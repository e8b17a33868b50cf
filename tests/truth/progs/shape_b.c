/* SPDX-License-Identifier: BSD-3-Clause */
#include "shape.h"
#include "truth.h"

static unsigned ring_area(const struct shape *s)
{
	unsigned sum = 0;

	for (unsigned i = s->b; i < s->a; i++) {
		sum += shape_scale(i);
		KEEP;
	}
	return sum;
}

static unsigned ring_sides(const struct shape *s)
{
	return s->b ? 2 : 1;
}

static const struct shape_methods ring = { ring_area, ring_sides };

void ring_make(struct shape *s, unsigned a, unsigned b)
{
	s->is = &ring;
	s->a = a;
	s->b = b;
}

unsigned shape_score(const struct shape *s)
{
	return shape_area(s) * 2 + s->is->sides(s);
}
