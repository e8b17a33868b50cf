/* SPDX-License-Identifier: BSD-3-Clause */
/* shape - objects with methods, of which two shared objects each bring a kind. */
#ifndef TRUTH_SHAPE_H
#define TRUTH_SHAPE_H

struct shape;
struct shape_methods {
	unsigned (*area)(const struct shape *s);
	unsigned (*sides)(const struct shape *s);
};
struct shape {
	const struct shape_methods *is;
	unsigned a, b;
};

void square_make(struct shape *s, unsigned a); /* of shape_a */
unsigned shape_area(const struct shape *s);
unsigned shape_scale(unsigned x);
void ring_make(struct shape *s, unsigned a, unsigned b); /* of shape_b, which calls shape_a */
unsigned shape_score(const struct shape *s);

#endif
