/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fs - files mapped or read whole, and paths. What is written goes through base/file_out.h.
 */
#ifndef CYCLADE_BASE_FS_H
#define CYCLADE_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* A file's bytes, mapped private (writable copy-on-write if asked); `p` is NULL where len is 0. */
struct file_map {
	uint8_t *p;
	size_t len;
};

/* Only regular files; a directory, FIFO or device is refused by name. */
int file_map_open(struct file_map *m, const char *path, bool writable, struct err *err) MUST_USE;
void file_map_close(struct file_map *m);

/* Reads a file to its end whatever stat says of its size (so /proc and /sys work), up to `limit`
 * bytes; more is ERR_LIMIT. The text is NUL-ended. By name only regular files, as above. */
int file_slurp(struct buf *out, const char *path, size_t limit, struct err *err) MUST_USE;
int fd_slurp(struct buf *out, int fd, size_t limit, const char *name, struct err *err) MUST_USE;

/* Opens a regular file for reading as a process sees it whose root directory is `root`: nothing in
 * `path`, be it ".." or a symbolic link, leads out of it, so that whoever owns what is below cannot
 * make us read another file; no device or FIFO is ever opened. The caller closes the descriptor. -1
 * also where the kernel has no openat2 (before 5.6). */
int fd_open_below(const char *root, const char *path, struct err *err) MUST_USE;
/* The regular file that `path` leads to, a link in /proc as a rule; nothing else is opened. */
int fd_open_regular(const char *path, struct err *err) MUST_USE;

struct stat;
/* Whether only root, this user or `other` can have written the file: it is a regular file of one of
 * them, others may not write it, and no group but the owner's own, which has his number. */
bool file_written_by(const struct stat *st, uid_t other);

int dir_make_all(const char *path, mode_t mode, struct err *err) MUST_USE; /* mkdir -p */
/* "a/b" with exactly one slash between. -1 where it does not fit. */
int path_join(char *out, size_t size, const char *a, const char *b) MUST_USE;
const char *path_base(const char *path); /* what follows the last slash */
/* The path without empty parts, "." and "NAME/..", by its letters alone: symbolic links are not
 * looked at. ".." at the root is the root; a relative path keeps leading ".."s, and may become "".
 * -1 where it does not fit. */
int path_lexical(char *out, size_t size, const char *path) MUST_USE;

#endif
