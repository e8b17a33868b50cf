/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fs - files: mapped, read whole, or written so that nothing half-written is ever seen.
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

/* Writes all `len` bytes or fails; EINTR and short writes are handled. */
int fd_write_all(int fd, const void *p, size_t len, const char *name, struct err *err) MUST_USE;

/* A file that appears under its name only when committed: written beside it, then renamed. A path
 * that exists and is not a regular file (/dev/full, a FIFO) is written to directly. The umask takes
 * of `mode` what it takes of any file. */
struct file_new {
	int fd;
	char path[4096], temp[4128]; /* temp is "" when written to directly */
};
int file_new_open(struct file_new *f, const char *path, mode_t mode, struct err *err) MUST_USE;
int file_new_commit(struct file_new *f, struct err *err) MUST_USE; /* closes; removes on failure */
void file_new_abort(struct file_new *f); /* closes and removes; safe twice */
/* All at once. */
int file_put(const char *path, mode_t mode, const void *p, size_t len, struct err *err) MUST_USE;

int dir_make_all(const char *path, mode_t mode, struct err *err) MUST_USE; /* mkdir -p */
/* "a/b" with exactly one slash between. -1 where it does not fit. */
int path_join(char *out, size_t size, const char *a, const char *b) MUST_USE;
const char *path_base(const char *path); /* what follows the last slash */

#endif
