/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fs - paths and file systems. Foreign files come in through base/file_in.h, written ones go out
 * through base/file_out.h.
 */
#ifndef CYCLADE_BASE_FS_H
#define CYCLADE_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

int dir_make_all(const char *path, mode_t mode, struct err *err) MUST_USE; /* mkdir -p */
/* "a/b" with exactly one slash between. -1 if it does not fit. */
int path_join(char *out, size_t size, const char *a, const char *b) MUST_USE;
const char *path_base(const char *path); /* the part behind the last slash */
/* The directory that a path's last name is in: "." if there is no slash. -1: it does not fit. */
int path_dir(char *out, size_t size, const char *path) MUST_USE;
/* Whether a path is `top` or leads below it, by its letters: both as realpath() gives them. */
bool path_is_below(const char *path, const char *top);
/* The path without empty parts, "." and "NAME/..", by its letters alone: symbolic links are not
 * looked at. ".." at the root is the root; a relative path keeps leading ".."s, and may become "".
 * -1 if it does not fit. */
int path_lexical(char *out, size_t size, const char *path) MUST_USE;

/* Whether an open file is on one of `n` file systems, by statfs.f_type: 1 or 0; -1: errno. */
int fs_type_in(int fd, const uint32_t *type, size_t n);

#endif
