/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout - in which order code would best lie: the blocks of each function, and functions.
 *
 *	layout_blocks(&l, flow, images, image, map, &err)	each function's hot blocks, in order
 *	layout_functions(&l, flow, images, image, &err)		hot functions, in order
 *	layout_free(l)
 *
 * Blocks: the edges between them, taken or not, are looked at by weight; each joins the chain that
 * its first block ends with the one that its second begins, if both are free (Pettis and Hansen
 * 1990). The chain of the entry comes first, then the others, hottest first. Blocks that never ran
 * are left out.
 *
 * Functions: from the hottest on, each one's cluster is put behind that of its most frequent
 * caller, unless that makes it larger than LAYOUT_CLUSTER or much less dense; then clusters are put
 * in order of density, weight by byte (Ottoni and Maher 2017).
 */
#ifndef CYCLADE_ANALYSE_LAYOUT_H
#define CYCLADE_ANALYSE_LAYOUT_H

#include "analyse/flow.h"
#include "symbol/bbmap.h"

#define LAYOUT_CLUSTER (1u << 20) /* bytes */

struct layout_function {
	const char *name; /* as linkers know it; the images' */
	double weight;
	const uint32_t *id; /* of blocks, the compiler's; NULL for layout_functions */
	size_t n;
};

struct layout {
	struct layout_function *f;
	size_t n;
	/* Functions left out: no such symbol, or a name that no list has room for. */
	size_t strange;
};

int layout_blocks(struct layout **out, const struct flow *f, struct images *images, uint32_t image,
		  const struct bbmap *map, struct err *err) MUST_USE;
int layout_functions(struct layout **out, const struct flow *f, struct images *images,
		     uint32_t image, struct err *err) MUST_USE;
void layout_free(struct layout *l); /* NULL is fine */

#endif
