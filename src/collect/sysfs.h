/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sysfs - the small text files of /sys and /proc, below a root that may be a captured tree.
 *
 * For collect, and for the checks of doctor. Everything read is bounded and comes from outside:
 * only regular files are opened (a FIFO in a captured tree would hang us), a file is read up to a
 * limit and no further, and a list of CPUs cannot name more than CPU_LIST_MAX. Links
 * do not lead out of a captured tree.
 */
#ifndef CYCLADE_COLLECT_SYSFS_H
#define CYCLADE_COLLECT_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/cpu_list.h"
#include "base/err.h"

#define SYS_NAMES_MAX 65536u /* entries of a directory */
#define SYS_TEXT_MAX  65536u /* bytes of one small file */

/* The first size - 1 bytes of a file, NUL-ended, white space at the end cut. The length, or -1 if
 * it cannot be read (errno has the reason). */
ssize_t sys_read(char *out, size_t size, const char *root, const char *fmt, ...) PRINTF_(4, 5);
/* The same as a new string; NULL if the file cannot be read, is empty or memory ran out. */
char *sys_text(struct arena *a, const char *root, const char *fmt, ...) PRINTF_(3, 4) MUST_USE;
/* A file that is one number (12, -1, 0x1f). False if it is anything else. */
bool sys_number(int64_t *out, const char *root, const char *fmt, ...) PRINTF_(3, 4);
bool sys_exists(const char *root, const char *fmt, ...) PRINTF_(2, 3);
/* A PMU of the cores whose events can be counted. */
bool sys_core_pmu(const char *root, const char *name);
/* The names in a directory, sorted, those that begin with a dot left out. False if it cannot be
 * read; *n is 0 then. */
bool sys_names(struct arena *a, const char *const **out, size_t *n, const char *root,
	       const char *fmt, ...) PRINTF_(5, 6);

/* A whole text that is one number, decimal or 0x hexadecimal, perhaps negative. */
bool text_number(int64_t *out, const char *s, size_t len);
/* The same without a sign. */
bool text_natural(uint64_t *out, const char *s, size_t len);

/* One line "key : value" after the other: the value of the first line whose key is `key`, cut of
 * blanks, as a piece of the text. False if there is none. `sep` is ':' or another character. */
bool text_field(const char *text, size_t len, const char *key, char sep, const char **value,
		size_t *value_len);

#endif
