/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_fit - whether the library of `record --heap` can be preloaded into a program. A program with
 * a sanitizer would end at once, as the sanitizer's runtime must be the first library. A program of
 * another C library would end, too, as its loader does not find the libraries it needs. The loader
 * of another machine or of 32 bits only complains.
 *
 *	what = heap_fit(bytes, len, interpreter)
 *	HEAP_FIT_SCRIPT		ask again for the file `interpreter`, HEAP_FIT_DEPTH times at most
 *	heap_fit_why(what)	why it cannot; NULL: it can, or has no effect (a static program)
 *
 * Used inside of programs, too: no memory is allocated, nothing is opened.
 */
#ifndef CYCLADE_SYMBOL_HEAP_FIT_H
#define CYCLADE_SYMBOL_HEAP_FIT_H

#include <stdbool.h>
#include <stddef.h>

#define HEAP_FIT_DEPTH 4 /* scripts whose interpreters are scripts */
#define HEAP_FIT_NAME  256

enum heap_fit {
	HEAP_FITS,
	HEAP_FIT_SCRIPT,
	HEAP_FIT_SANITIZER,
	HEAP_FIT_LOADER,
	HEAP_FIT_MACHINE,
};

enum heap_fit heap_fit(const void *p, size_t len, char interpreter[HEAP_FIT_NAME]);
/* Whether the text has the name of a sanitizer's runtime, or of a function of one. The text is a
 * program's dynamic names, or LD_PRELOAD, in which the runtime has to be the first. */
bool heap_fit_names_sanitizer(const char *text, size_t n);
const char *heap_fit_why(enum heap_fit what);

#endif
