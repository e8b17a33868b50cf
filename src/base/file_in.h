/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_in - the door in: every file that others may have written is opened here.
 *
 *	fd = file_in_open(root, path, how, &st, &err)	once; `st` is its fstat()
 *	... judge `st`: owner, mode, size ...
 *	file_in_map(&m, fd, &st, name, &err)		or file_in_slurp(): takes over fd
 *	file_map_close(&m)
 *
 * file_map_open() and file_slurp() do all of that for a path that the user or we chose.
 *
 * - Only a regular file is opened: the name is opened without effect first (O_PATH), looked at, and
 *   that very file is then read. A device, FIFO or socket is never opened, and nothing blocks.
 * - Below a root nothing in the path leads out of it, neither ".." nor a link; absolute links begin
 *   at the root.
 * - Bytes that only root or this user can write are mapped. If the file is cut short meanwhile, the
 *   rest of the mapping reads as zeros and file_map_cut() returns true: a signal handler for SIGBUS
 *   calls file_in_fault(). All other files are read, so that their owners cannot change them later.
 * - Bytes that are read are charged to one budget of the process (file_in_charge): a quarter of the
 *   memory. More fails with ERR_LIMIT; file_map_close() and buf_free() give it back.
 *   Like the flag of nomem, the budget and the list of mappings are of the process, not of a
 *   caller.
 *
 * Threads: all functions may be called at any time from any thread.
 */
#ifndef CYCLADE_BASE_FILE_IN_H
#define CYCLADE_BASE_FILE_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct stat;

enum {
	FILE_IN_LINKS = 0,   /* links on the way are followed, but none of /proc that is a file */
	FILE_IN_NO_LINK = 1, /* the last name is no link: for directories that all can write */
	FILE_IN_PROC = 2,    /* links of /proc that are files are followed, too: /proc/PID/exe */
	FILE_IN_STATE = 4, /* a file that may be written again: all others are inputs (file_keep) */
};

/* Opens `path`, of any type, below `root` if that is not NULL, with open(2)'s flags, none of which
 * opens a device or waits (O_PATH, O_DIRECTORY, O_NONBLOCK): for trees of which the caller knows
 * that they are /sys, /proc or a copy. -1: errno. */
int file_in_below(const char *root, const char *path, int flags) MUST_USE;

/* A descriptor for reading the regular file at `path`, below `root` if that is not NULL; the caller
 * closes it. -1: err has the reason; `st` is filled even so, or st_mode is 0. */
int file_in_open(const char *root, const char *path, unsigned how, struct stat *st,
		 struct err *err) MUST_USE;

/* Files that are not in the file system: file_in_open() below a root that is called `root` asks
 * `open_at` for the file at a path ("/a/b", without "..") instead: a new descriptor, or -1 and
 * errno. It belongs to this user alone. Until file_in_unmount(ctx). */
int file_in_mount(const char *root, int (*open_at)(void *ctx, const char *path), void *ctx,
		  struct err *err) MUST_USE;
void file_in_unmount(const void *ctx);
bool file_in_mounted(const char *root); /* NULL: no */
/* From now on each file that is opened, but those of FILE_IN_STATE, is reported, by the thread that
 * opened it, one at a time: `opened` opens none itself. NULL: none is reported. */
void file_in_report(void (*opened)(void *ctx, const char *root, const char *path), void *ctx);

/* A file's bytes; `p` is NULL if len is 0. */
struct file_map {
	uint8_t *p;
	size_t len;
	struct file_watch *watch; /* of a mapping */
	struct file_copy *copy; /* of bytes that were read: one file has one, by device and inode */
};

/* These take over `fd`, and close it. `name` is for messages. `copy`: read even files of root or
 * this user, since another user has that number in a container. */
int file_in_map(struct file_map *m, int fd, const struct stat *st, bool copy, const char *name,
		struct err *err) MUST_USE;
/* As file_slurp(). */
int file_in_slurp(struct buf *out, int fd, const struct stat *st, size_t limit, const char *name,
		  struct err *err) MUST_USE;

/* Mapped private, or read, by the rule above. */
int file_map_open(struct file_map *m, const char *path, struct err *err) MUST_USE;
void file_map_close(struct file_map *m);
/* Whether the file became shorter than its mapping while that was read. */
bool file_map_cut(const struct file_map *m);
/* Whether the file, which is still at `path`, was written to since it was mapped: its bytes may be
 * of two versions. Copies never are. */
bool file_map_written(const struct file_map *m, const char *path);

/* Reads a file to its end whatever its size by stat (so /proc and /sys work), up to `limit` bytes;
 * more is ERR_LIMIT. The text is NUL-ended. Only regular files, as above. */
int file_slurp(struct buf *out, const char *path, size_t limit, struct err *err) MUST_USE;
/* Up to `len` bytes, fewer at the end of the file; -1 and errno. */
ssize_t fd_read_full(int fd, void *p, size_t len) MUST_USE;
int fd_slurp(struct buf *out, int fd, size_t limit, const char *name, struct err *err) MUST_USE;

/* The first bytes of a regular file, to recognize its format: how many were read, up to `len`; 0
 * if there is no such file. */
size_t file_in_head(const char *path, void *p, size_t len);

/* Whether something has that name, and of which type: to understand a word, or to choose a place.
 * It may be something else by the time it is opened, so check again after opening it. `st` may be
 * NULL. */
bool file_look(const char *path, struct stat *st);
bool file_is_regular(const char *path);
bool file_is_dir(const char *path);

/* It belongs to root or to this user. */
bool owner_is_ours(const struct stat *st);
/* Whether only root, this user or `other` can have written the file: it is a regular file of one of
 * them, others may not write it, and no group but the owner's own, which has his number. */
bool file_written_by(const struct stat *st, uid_t other);
/* Whether a user with that number, in no groups but those of that number, can read the file. */
bool file_read_by(const struct stat *st, uid_t user);

/* Whether the contents of an open file, found at `path` below `root`, may be shown to others
 * because a program of `user` names it: he can read it and pass all directories on the way (those
 * of `root` itself aside), or it is the person's own, who is not root (who reads on behalf of all).
 */
bool file_shown_for(int fd, const char *root, const char *path, const struct stat *st, uid_t user);

/* Takes memory for the bytes of others from the budget; false: there is not that much left. It is
 * given back with file_in_release(). */
bool file_in_charge(size_t bytes) MUST_USE;
void file_in_release(size_t bytes);
void file_in_limit(size_t bytes); /* another budget: tests, options */

/* For a handler of SIGBUS: replaces the bytes cut off behind `address`; false: that is in no
 * mapping of ours. Safe in signal handlers. */
bool file_in_fault(void *address);

#endif
