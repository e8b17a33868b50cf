/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kallsyms - the kernel's own list of its symbols, as /proc/kallsyms prints it.
 *
 *	kallsyms_parse(&k, text, len, &err)	text is cut in place and must outlive k
 *	kallsyms_find(&k, addr)
 *	kallsyms_free(&k)
 *
 * One line per symbol: address in hex, one letter for its kind, name, and for symbols of modules
 * "[module]" behind a tab ("[bpf]", "[__builtin__ftrace]", ... too). Addresses are absolute, of the
 * boot they were printed in. Only code is kept: letters t, T, w and W. A line that is no symbol is
 * left out and counted. To a reader without rights the kernel prints every address as 0: `hidden`
 * is set then, and nothing should be named from such a list.
 *
 * Costs: one pass over the text and one sort; 10 MB take a few hundredths of a second.
 */
#ifndef CYCLADE_SYMBOL_KALLSYMS_H
#define CYCLADE_SYMBOL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct kallsyms_sym {
	uint64_t addr;
	const char *name;   /* into the text */
	const char *module; /* "[name]" into the text; NULL: the kernel's own */
	char type;	    /* t, T, w or W */
};

struct kallsyms {
	struct kallsyms_sym *sym; /* by address; those at one address in the order of the text */
	size_t n;
	size_t n_data, n_bad; /* lines left out: of other kinds; not understood */
	bool hidden;	      /* addresses hidden by kptr_restrict */
};

#define KALLSYMS_INIT                \
	{                            \
		NULL, 0, 0, 0, false \
	}

/* `text` needs no NUL at its end; it is written to. */
void kallsyms_parse(struct kallsyms *k, char *text, size_t len);
/* The last symbol at or below `addr`, or NULL. The list has no sizes: it reaches up to the next
 * one's address at most. */
const struct kallsyms_sym *kallsyms_find(const struct kallsyms *k, uint64_t addr);
void kallsyms_free(struct kallsyms *k);

#endif
