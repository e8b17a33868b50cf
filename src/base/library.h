/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * library - a shared library that is opened at the first need.
 *
 * Few commands use an optional library, but if the program were linked with it, every start would
 * load and relocate it, and all that it needs: libmicrohttpd brings 13 more, which take longer than
 * the rest of the start. A library is linked as usual only if most commands use it.
 *
 * Its functions are a structure of pointers, with the types that its header declares:
 *
 *	#define CALLS(CALL) CALL(cs_, open) CALL(cs_, close)
 *	static struct {
 *		CALLS(LIBRARY_POINTER)
 *	} capstone;
 *	static const char *const names[] = { CALLS(LIBRARY_NAME) };
 *	static struct library library = LIBRARY("AArch64", "libcapstone.so.4", names, capstone,
 *						"install Capstone (libcapstone4)");
 *
 *	if (library_open(&library, err))
 *		return -1;
 *	capstone.open(...);
 *
 * A variable of the library is a pointer to it. Once open it stays open. Any thread may open it.
 */
#ifndef CYCLADE_BASE_LIBRARY_H
#define CYCLADE_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define LIBRARY_POINTER(prefix, name) __typeof__(&prefix##name) name;
#define LIBRARY_NAME(prefix, name)    #prefix #name,

struct library {
	const char *use;  /* "AArch64": begins the message if it cannot be opened */
	const char *file; /* "libcapstone.so.4" */
	const char *hint; /* of that message */
	const char *const *name;
	size_t n;
	void *calls; /* n pointers, in the order of the names */
	bool open;
};

/* The sizes differ if the structure has something besides the pointers. */
#define LIBRARY(use_, file_, names_, calls_, hint_)                                \
	{                                                                          \
		.use = (use_), .file = (file_), .hint = (hint_), .name = (names_), \
		.n = sizeof(names_) / sizeof(*(names_)),                           \
		.calls = sizeof(calls_) == sizeof(names_) ? &(calls_) : NULL,      \
	}

/* ERR_UNSUPPORTED: it is not there, or lacks one of the functions. */
int library_open(struct library *l, struct err *err) MUST_USE;

/* What the static binary (ci/static.sh) leaves out; NULL in a program that opens libraries. */
const char *library_static(void);

#endif
