/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_out - the one way by which files are written: old or new, whole, and never an input.
 *
 *	file_keep(&st, FILE_INPUT)	of each file that is read, as soon as it is known
 *	file_out_check(path, &err)	optional: refuses an output that is one of them, early
 *
 *	file_new_open(&f, path, mode, how, &err)
 *	fd_write_all(f.fd, ...)
 *	file_new_show(&f, &err)		optional: it has its name now, more is written to f.fd
 *	file_new_commit(&f, &err)	closes it, and returns errors of that; it has its name
 *	file_new_abort(&f)		instead: nothing is replaced unless it was shown
 *
 * The process remembers inputs by device and inode, so that any name of theirs is recognised: a
 * link, a hard link, /dev/stdin, a FIFO. Opening one of them for writing fails before the file is
 * touched. Nothing is ever forgotten; looking takes a microsecond for a thousand inputs.
 *
 * Until file_new_commit the file has no name (O_TMPFILE), so that no signal leaves it behind: only
 * SIGKILL between the last calls where a file is replaced leaves the new one, whole, as
 * PATH.xxxxxx. If the file system has no such files, it has this name, `temp`, from the beginning;
 * `temp` is "" otherwise.
 * A path that exists and is not a regular file (/dev/full, a FIFO) is written to directly. A
 * symbolic link to a regular file is followed, one to nothing is refused; `path` is then where the
 * file really is. The file that is replaced must be writable, as for the redirection of a shell;
 * the new one has its permissions and, if we may give it, its owner. Otherwise it has `mode`, as
 * the umask leaves it. Once a recording was read (FILE_SECRET), only users who may read the
 * recording may read the output.
 */
#ifndef CYCLADE_BASE_FILE_OUT_H
#define CYCLADE_BASE_FILE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* ---- inputs ------------------------------------------------------------------------------ */

enum file_kind {
	FILE_INPUT,
	/* A recording or results of one: files made of it are no more readable than it is; of what
	 * comes through a pipe, its owner's alone. */
	FILE_SECRET,
};

/* Regular files and FIFOs are kept, others ignored. Threads may call it side by side. */
void file_keep(const struct stat *st, enum file_kind kind);
/* The same for the target of a path; nothing if there is none. */
void file_keep_path(const char *path, enum file_kind kind);
bool file_is_kept(const struct stat *st);
/* An error if the path leads to an input. */
int file_out_check(const char *path, struct err *err) MUST_USE;
/* The same of a descriptor that is open already: standard output. */
int file_out_check_fd(int fd, const char *name, struct err *err) MUST_USE;

/* ---- outputs ----------------------------------------------------------------------------- */

/* Writes all `len` bytes or fails: if a call is interrupted, writes less than asked, or would have
 * to wait, it goes on. */
int fd_write_all(int fd, const void *p, size_t len, const char *name, struct err *err) MUST_USE;
/* The same at an offset. */
int fd_write_all_at(int fd, const void *p, size_t len, uint64_t at, const char *name,
		    struct err *err) MUST_USE;

enum file_new_how {
	FILE_NEW_NAMED = 0, /* the user named it */
	/* Owner and permissions are those of a new file, whatever is replaced. */
	FILE_NEW_FRESH = 1,
	/* A name of ours (a default, a cache, a state), where others may have put something: a
	 * link or special file of another user, but root, and any FIFO, is refused. Fresh, too. */
	FILE_NEW_OURS = 2 | FILE_NEW_FRESH,
};

struct file_new {
	int fd;
	bool direct, shown;
	char path[4096], temp[4128];
};
#define FILE_NEW_NONE    \
	{                \
		.fd = -1 \
	}
int file_new_open(struct file_new *f, const char *path, mode_t mode, enum file_new_how how,
		  struct err *err) MUST_USE;
/* Takes `bytes` of the disk, for bytes that must be written when it is full: closing the descriptor
 * gives them back. -1: there is no such thing here. */
int file_new_reserve(const struct file_new *f, uint64_t bytes);
int file_new_show(struct file_new *f, struct err *err) MUST_USE;   /* twice is fine */
int file_new_commit(struct file_new *f, struct err *err) MUST_USE; /* removes it on failure */
void file_new_abort(struct file_new *f); /* closes and removes; twice is fine */
/* Before the process ends in the middle: removes the temporary names of all that are open. May be
 * called by a signal's handler. */
void file_new_remove_temps(void);
/* All at once. */
int file_put(const char *path, mode_t mode, enum file_new_how how, const void *p, size_t len,
	     struct err *err) MUST_USE;
/* A descriptor that adds to the end of a file, created if there is none. */
int file_append_open(const char *path, mode_t mode, struct err *err) MUST_USE;

/* "PATH" and `suffix`; a name that is too long for a file is cut before it. -1: the path is. */
int file_beside(char *out, size_t size, const char *path, const char *suffix) MUST_USE;
/* Whether files of ours may be kept below a directory, which need not be there yet: it, or the
 * nearest above it that exists, is this user's or root's, and others may not change it. */
bool dir_is_ours(const char *path);

#endif
