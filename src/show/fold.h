/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold - names of functions made to fit a column, so that different names look different.
 *
 *	fold_name(&b, "std::vector<int, A<int>>::push_back(int)", 26, ...)
 *						-> "std::vector<...>::push_back(...)"
 *
 * A column's names, in two walks over the rows that are shown:
 *
 *	folds_add(&n, name, taken)		each row, before the width is known
 *	folds_settle(&n, width, ascii)	once
 *	folds_get(&n, name, taken)		each row again
 *
 * Every text must be safe (text_put_safe) before.
 */
#ifndef CYCLADE_SHOW_FOLD_H
#define CYCLADE_SHOW_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"

/* Columns that names of pages and Markdown have, which have no width of their own. */
enum { FOLD_PAGE = 48 };

/* Of a stack, the function that matters stands first: "f < caller < main | callee". Its callers are
 * dropped from the end, before anything of its own name. */
#define FOLD_CALLER " < "
#define FOLD_INNER  " | "

/* Bytes [from, to) of a name that stay if they fit. */
struct fold_keep {
	size_t from, to;
};
enum { FOLD_KEEPS = 4 };

/* Puts `s` in at most `width` columns, without padding. Dropped first: the innermost argument
 * lists, of template arguments and parameters, the longest first, each from its last argument on;
 * then the result type and namespaces from the left; then the part behind the function's name.
 * Before all of these the folders of a path at the end, then the path ("JS:*hot /srv/app.js:1:16",
 * "py::hot:/srv/app.py"): the function's name stays. Time
 * is n log n in the bytes of `s`, whatever its brackets. */
void fold_name(struct buf *b, const char *s, size_t width, const struct fold_keep *keep,
	       size_t n_keep, bool ascii);

struct fold;
struct folds {
	struct arena arena;
	struct fold *v;
	size_t n, cap, width;
	struct u64map at; /* hash of name and columns taken -> place in v */
	struct buf scratch;
	bool failed; /* memory ran out: names may look alike */
};

/* `taken`: columns of the cell that other text needs (an indent, a suffix). `name` is copied. */
void folds_add(struct folds *n, const char *name, size_t taken);
/* Names that would look alike in `width` columns keep the part that differs; those that still do
 * end in a number. */
void folds_settle(struct folds *n, size_t width, bool ascii);
/* The same for formats whose columns have no width of their own: FOLD_PAGE columns. */
void folds_settle_page(struct folds *n);
/* The text for the cell, of at most width - taken columns; `name` itself if it fits or was not
 * added. Valid until folds_free(). */
const char *folds_get(const struct folds *n, const char *name, size_t taken);
/* Empty again, ready for another column. `out`, which has the texts, fails if memory ran out. */
void folds_free(struct folds *n, struct buf *out);

#endif
