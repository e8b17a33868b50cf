/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_site - allocation sites: the allocating functions of an object, as names that can be shown.
 *
 *	heap_sites_new(&sites, &err)
 *	site = heap_site_of(sites, spaces, heap, object)
 *	heap_sites_free(sites)
 *
 * A site is a call chain from its first frame that is not of an allocator or a container of C++'s
 * library (std::) outwards. It ends at the first address that is in no code: code that has neither
 * call-frame tables nor frame pointers leaves such. Chains that come to the same frames are one
 * site.
 * One thread at a time. Sites stay until heap_sites_free.
 */
#ifndef CYCLADE_SYMBOL_HEAP_SITE_H
#define CYCLADE_SYMBOL_HEAP_SITE_H

#include "symbol/heap.h"
#include "symbol/space.h"

struct heap_sites;

struct heap_frame {
	uint32_t image;
	uint64_t address; /* image address, inside of the call */
	const struct symbol *symbol;
	const char *inlined; /* a function that was inlined there; NULL: none */
	const char *file;    /* NULL: not known */
	uint32_t line;
};

struct heap_site {
	uint32_t id;			/* dense, 0-based */
	uint8_t type;			/* HEAP_ALLOC, HEAP_MAP */
	uint32_t n;			/* 0: the chain is not known */
	const struct heap_frame *frame; /* innermost first */
	const char *name;		/* "node_new list.c:12 < build < main" */
};

struct heap_sites *heap_sites_new(void);
const struct heap_site *heap_site_of(struct heap_sites *sites, const struct spaces *sp,
				     const struct heap *h, const struct heap_object *o);
void heap_sites_free(struct heap_sites *sites); /* NULL is fine */

#endif
