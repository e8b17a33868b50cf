/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err - why a call failed, in words a user can act on.
 *
 * Every function that can fail returns 0 or -1 (or NULL) and fills the `struct err` it was handed.
 * The first cause wins: a later err_set() on a filled error only returns -1, so that callers may
 * add context without hiding the root. `hint` is the next thing for the user to type or look at.
 * Library code never prints; cli/ formats an error on at most three lines.
 */
#ifndef CYCLADE_BASE_ERR_H
#define CYCLADE_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

#define MUST_USE      __attribute__((warn_unused_result))
#define PRINTF_(f, a) __attribute__((format(printf, f, a)))

enum err_code {
	ERR_NONE = 0,
	ERR_USAGE,	 /* the user asked for something that makes no sense */
	ERR_IO,		 /* a system call on a file or pipe failed: sys_errno */
	ERR_FORMAT,	 /* bytes from outside are not of the form they claim */
	ERR_NOMEM,	 /* out of memory */
	ERR_PERM,	 /* the kernel refuses; hint names the knob */
	ERR_UNSUPPORTED, /* understood, but this machine or this build cannot */
	ERR_NOT_FOUND,	 /* a named thing does not exist */
	ERR_LIMIT,	 /* a bound that protects us was reached */
	ERR_ANSWERED,	 /* no failure: all that was asked for is printed */
	ERR_EXEC,	 /* the workload could not be started: exit code 126 or 127 */
};

struct err {
	enum err_code code;
	int sys_errno;	/* 0 if no system call failed */
	char what[512]; /* one line, no full stop, no newline: "x.data: offset 104: ..." */
	char hint[512]; /* one line, or a text and a caret below it; may be empty */
};

#define ERR_INIT                    \
	{                           \
		ERR_NONE, 0, "", "" \
	}

/* Fill `err` unless it is filled already. Always returns -1. `err` may be NULL. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_(3, 4);

/* As err_set with ERR_IO (ERR_PERM for EACCES and EPERM, ERR_NOT_FOUND for ENOENT, ERR_NOMEM for
 * ENOMEM); ": strerror(errno)" is appended. */
int err_sys(struct err *err, const char *fmt, ...) PRINTF_(2, 3);

/* "EINVAL"; in more words with glibc before 2.32. */
const char *err_number(int number);

/* Out of memory. Always returns -1. */
int err_nomem(struct err *err);

/* Set the hint of a filled error that has none yet. Always returns -1. */
int err_hint(struct err *err, const char *fmt, ...) PRINTF_(2, 3);

/* The hint is the text around `at`, and a caret below it: at most `width` bytes (100), `before` of
 * them in front. Bytes that would not be one column each are blanks. Returns -1. */
int err_point(struct err *err, const char *s, size_t len, size_t at, size_t before, size_t width);

/* Put "prefix: " before the error's text (for instance a file's name). Returns -1. */
int err_prefix(struct err *err, const char *fmt, ...) PRINTF_(2, 3);

void err_clear(struct err *err);

#endif
