/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line_sums - what the header of a DWARF line program knows of its source files beside their names:
 * their MD5 digest (DWARF 5, section 6.2.4.1) and their size. libdw hands out neither digest nor
 * the size of DWARF 5.
 *
 * Sums are in the order of the header's file table: the first is file 0 in DWARF 5, file 1 before.
 */
#ifndef CYCLADE_SYMBOL_LINE_SUMS_H
#define CYCLADE_SYMBOL_LINE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/md5.h"
#include "base/vec.h"

struct source_sum {
	uint64_t size; /* bytes; 0: not recorded */
	bool has_md5;
	uint8_t md5[MD5_SIZE];
};

struct line_sums {
	VEC(struct source_sum) v;
	unsigned first; /* the number of v[0] */
};

/* Reads the header at `off` of the bytes of .debug_line. Returns -1 only if memory runs out; a
 * broken header gives the files before the damage. The caller frees out->v with vec_free(). */
int line_sums_read(struct line_sums *out, const void *debug_line, size_t len, uint64_t off,
		   bool swap) MUST_USE;

#endif
