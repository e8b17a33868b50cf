/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names - the file, function and line of addresses of one recording. Answers are remembered in a
 * table of some 10,000 entries, as samples meet the same addresses again and again.
 *
 * Texts stay as long as the images. One thread.
 */
#ifndef CYCLADE_SYMBOL_NAMES_H
#define CYCLADE_SYMBOL_NAMES_H

#include "base/err.h"
#include "symbol/source.h"
#include "symbol/space.h"

struct name {
	const char *function; /* NULL: no symbol */
	const char *dso;      /* NULL: nothing was mapped there */
	const char *file;     /* after names_line(); NULL: not known */
	uint64_t offset;      /* from the function's start */
	uint64_t address;     /* in the file, as tools for files show it */
	uint64_t image_address;
	uint32_t image, line;
	bool lined;			 /* names_line() was here */
	bool unfolded;			 /* names_inlines() was */
	uint32_t n_inl;			 /* calls inlined there, outermost first; without lines */
	const struct source_inline *inl; /* good as long as the name */
};

struct names;

/* `plain`: functions of one name in one file keep it, as other tools have them. */
struct names *names_new(const struct spaces *sp, bool plain);
/* Good until the next call. */
struct name *names_at(struct names *n, const struct process *proc, uint32_t proc_index,
		      enum space_kind kind, uint64_t ip, uint64_t time);
int names_line(struct names *n, struct name *x, struct err *err) MUST_USE;
int names_inlines(struct names *n, struct name *x, struct err *err) MUST_USE;
/* Sets the line of the frame of that level of inlining (0: the function's own): the call of the
 * next one, of the innermost the address itself. Needs x->image and x->image_address. */
int names_line_of(struct names *n, const struct name *x, uint32_t level, struct source_line *out,
		  struct err *err) MUST_USE;
void names_free(struct names *n); /* NULL is fine */

#endif
