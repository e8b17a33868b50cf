/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * named - the functions that a name stands for.
 *
 * There are several ways to take it, and the first counts by which any function is meant:
 *
 *	for (enum symbol_way way = 0; way < SYMBOL_WAYS && NONE YET; way++)
 *		for (EACH SYMBOL)
 *			if (symbol_means(symbol, dso, said, way)) ...
 */
#ifndef CYCLADE_SYMBOL_NAMED_H
#define CYCLADE_SYMBOL_NAMED_H

#include <stdbool.h>

#include "symbol/image.h"

enum symbol_way {
	SYMBOL_EXACT,  /* NAME as it is shown, without @FILE:LINE too, or as in the file */
	SYMBOL_OF_DSO, /* DSO:NAME, the file as image_name() has it, or its base name */
	SYMBOL_AT,     /* NAME@0xADDRESS, if one file has the name twice */
	SYMBOL_GLOB,   /* a pattern */
	SYMBOL_PART,   /* a part of the name */
	SYMBOL_WAYS,
};

bool symbol_means(const struct symbol *s, const char *dso, const char *said, enum symbol_way way);

#endif
