/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * style - abilities of the output: colour, width, character set. Decided once by cli/, from
 * options, environment and terminal; everything behind only obeys it.
 */
#ifndef CYCLADE_SHOW_STYLE_H
#define CYCLADE_SHOW_STYLE_H

#include <stdbool.h>

#include "base/buf.h"

struct style {
	bool colour;	/* escape sequences may be written */
	bool ascii;	/* nothing beyond ASCII */
	unsigned width; /* columns; 0: no bound (a pipe, a file) */
};

enum ink { INK_PLAIN, INK_BOLD, INK_DIM, INK_HOT, INK_WARM, INK_GOOD, INK_BAD };

/* Puts the escape for `ink`, or nothing without colour. INK_PLAIN resets. */
void style_ink(struct buf *b, const struct style *st, enum ink ink);

#endif
