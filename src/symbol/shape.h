/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shape - a function's code, without its place and name: to find a function of one build in another
 * build.
 *
 *	shape_read(&s, arena, images, image, symbol)	decodes the function once
 *	shape_alike(&s, &other)					0 to 1
 *	shape_holds(&whole, &less, &part)			0 to 1
 *
 * Addresses in instructions are left out: targets of jumps and calls, addresses relative to the
 * instruction, and numbers that may be addresses. Padding (nop, int3) does not count.
 */
#ifndef CYCLADE_SYMBOL_SHAPE_H
#define CYCLADE_SYMBOL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "symbol/image.h"

struct shape {
	size_t insns;
	uint64_t code;	/* a hash of all instructions with their operands */
	uint64_t *pair; /* a hash for each two neighbours' mnemonics, sorted: insns + 1 of them */
	size_t n_pairs;
	const char **callee; /* names of functions that it calls directly or ends by jumping to */
	size_t n_callees;
	const char *file; /* base name of the file of its first line; NULL: not known */
};

/* Fields are NULL or 0 without code or debug information: no error. Texts are the images' or `a`'s.
 */
void shape_read(struct shape *out, struct arena *a, struct images *set, uint32_t image,
		const struct symbol *s);
/* The part of both codes' pairs of mnemonics that both have. 1: all, in the order of either. */
double shape_alike(const struct shape *a, const struct shape *b);
/* The part of `part` that `whole` has and `less` (NULL: nothing) has not. */
double shape_holds(const struct shape *whole, const struct shape *less, const struct shape *part);
bool shape_calls(const struct shape *s, const char *name);
/* The order of pairs: for shapes put together of several. */
void shape_sort(uint64_t *pair, size_t n);

#endif
