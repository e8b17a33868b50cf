/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout_int - shared by layout_blocks.c and layout_functions.c.
 */
#ifndef CYCLADE_ANALYSE_PGO_LAYOUT_INT_H
#define CYCLADE_ANALYSE_PGO_LAYOUT_INT_H

#include "analyse/layout.h"
#include "base/arena.h"

struct layout_whole { /* a layout is its first member */
	struct layout l;
	struct arena arena;
};

struct layout_whole *layout_new(size_t n) MUST_USE;
/* Names stand in lists between blanks, slashes and exclamation marks. */
bool layout_name_fits(const char *name);

#endif
