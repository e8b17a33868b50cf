/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * saved - results that commands saved as JSON (stat -j, compare -j, calibrate -j), read again as
 * documents: the same tables, columns and cells. For results that no recording has.
 *
 *	saved_open(&s, path, forms, n, &err)	the file is read at once
 *	saved_document(s)
 *	saved_free(s)
 *
 * A file may have several documents of one kind (stat -I): their rows follow one another. Members
 * that the form does not know are left out; columns that the file lacks have no value. Numbers are
 * doubles: above 2^53 they are rounded. From outside: nothing of the text is trusted.
 */
#ifndef CYCLADE_STORE_SAVED_H
#define CYCLADE_STORE_SAVED_H

#include "show/document.h"

struct saved;

/* Returns true if the file begins as JSON does, and a recording does not. */
bool saved_is(const char *path);
/* Opens a saved result, in the form that the file's schema names. */
int saved_open(struct saved **out, const char *path, const struct document_form *const *forms,
	       size_t n, struct err *err) MUST_USE;
const struct document *saved_document(const struct saved *s);
void saved_free(struct saved *s); /* NULL is fine */

#endif
