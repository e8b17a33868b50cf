/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * symbol - a function, as the table of an image has it.
 */
#ifndef CYCLADE_SYMBOL_SYMBOL_H
#define CYCLADE_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct symbol {
	/* Demangled, owned by the images. Functions of one image that share a name are called
	 * NAME@FILE:LINE, or NAME@0xVADDR if their lines are the same (`apart`). */
	const char *name;
	const char *linkage;  /* as in the file, or the same pointer */
	uint64_t start, size; /* image addresses; size 0: up to the next symbol, inferred */
	uint32_t index;	      /* dense within the image: sorted by start */
	bool nameless; /* no table of symbols has it: its bounds are those of the unwind table,
			       * its name is made of the file's and its vaddr, "sort+0x5a20" */
	bool twin;     /* another symbol of the table has the same linkage name */
	bool apart;    /* `name` is the plain name, '@' and a place without '@' */
	bool settled;  /* it is known whether it needs one */
};

/* The length of a symbol's name without the place behind it. */
static inline size_t symbol_plain_len(const struct symbol *s)
{
	const char *at = s->apart ? strrchr(s->name, '@') : NULL;

	return at ? (size_t)(at - s->name) : strlen(s->name);
}

/* Whether linkers and compilers would know it. */
static inline bool symbol_has_name(const struct symbol *s)
{
	return s && !s->nameless;
}

#endif
