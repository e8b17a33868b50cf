/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_map - where in memory samples fell, and when: regions of addresses, with or without an
 * object, each parted into rows of addresses, threads and columns of time.
 *
 * A region is the pages of a process that have samples, with gaps of at most MEMORY_MAP_GAP
 * bytes between them; an object of MEMORY_MAP_LARGE bytes or more is not put together with
 * others. Costs: one look-up a sample; memory of pages x threads x columns that have samples.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MAP_H
#define CYCLADE_ANALYSE_MEMORY_MAP_H

#include <stddef.h>
#include <stdint.h>

enum {
	MEMORY_MAP_GAP = 1 << 20,
	MEMORY_MAP_LARGE = 1 << 16, /* bytes */
	MEMORY_MAP_TIMES = 48,	    /* columns */
	MEMORY_MAP_ROWS = 16,	    /* of addresses, in a region */
	MEMORY_MAP_THREADS = 4,	    /* of a region, those with most samples; the others are one */
	MEMORY_MAP_REGIONS = 256,   /* that have rows */
};

struct memory_region {
	uint32_t pid;	     /* 0: the kernel */
	uint32_t object;     /* of memory_objects: that with most samples in it */
	uint64_t start, end; /* of its pages */
	uint64_t samples, stores, threads, pages;
	size_t first_row, n_rows;
};

struct memory_map_row {
	uint32_t region, tid; /* tid 0: the others */
	uint64_t address, size;
	uint64_t samples;
	uint32_t at[MEMORY_MAP_TIMES]; /* samples by time */
};

struct memory_map {
	struct memory_region *region; /* most samples first */
	struct memory_map_row *row;   /* by region, address, tid */
	size_t n, n_rows;
	uint64_t first, last; /* ns: of the columns */
};

#endif
