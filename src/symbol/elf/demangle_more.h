/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * demangle_more - names of compilers that libiberty does not know, or whose names it cannot tell
 * from C's: OCaml, gfortran's modules, Free Pascal, the run-time library and main program of GNAT.
 *
 * Each begins in a way that C names do not. Other Ada names ("pkg__sub") look like C's: left.
 * Cost: none for other names, but a search for "_$$_" in those that begin with a capital.
 */
#ifndef CYCLADE_SYMBOL_ELF_DEMANGLE_MORE_H
#define CYCLADE_SYMBOL_ELF_DEMANGLE_MORE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a name may be mangled by any compiler: most of C's are not. */
static inline bool demangle_may(const char *s)
{
	return s[0] == '_' || (s[0] >= 'A' && s[0] <= 'Z') || (s[0] == 'c' && s[1] == 'a') ||
	       (s[0] == 'a' && s[1] == 'd') || (s[0] == 's' && s[1] == 'y') ||
	       (s[0] == 'g' && s[1] == 'n') || (s[0] == 'i' && s[1] == 'n');
}

/* Writes the readable form of s[0..len) to `out`, which has room for as many bytes, and returns its
 * length; 0: it is no such name. */
size_t demangle_more(const char *s, size_t len, char *out);

#endif
