/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copies - what ran, kept for later reports: programs, libraries, lists of a runtime's code.
 *
 *	DIR/copies/.build-id/4a/5a9b0a.../elf	perf's --buildid-dir reads that, too (vdso, debug)
 *	DIR/copies/.build-id/4a/5a9b0a.../map	perf-PID.map, jit-PID.dump; its id is its MD5 digest
 *	DIR/copies/.build-id/4a/5a9b0a.../name	where it was: one line
 *
 *	copies_keep(dir, &from, &err)	1: copied; 0: it was there, and counts as used now
 *	copies_gc(dir, &limit, now, &gone, &err)	after each recording that copied something
 *	copies_path(dir, id, n, COPY_ELF, path, size)	to open it; its reader compares the build-id
 *
 * Copies are reflinks where the file system has them, else copies of the bytes. Hard links are not
 * used: strip, objcopy and cp write into the file that is there, and the copy would change with it.
 * An entry appears whole or not at all; it may be removed at any time; several processes may keep
 * and remove at once. The time of an entry's directory is when it was used last. All belongs to
 * the user alone (0700, 0600). Nothing is kept if less than a twentieth of the file system would
 * stay free.
 *
 * Cost of keeping: 0.1 ms if it is there, else that of copying (1 GB a second). Of copies_gc: a
 * look at each entry.
 */
#ifndef CYCLADE_SYMBOL_COPIES_H
#define CYCLADE_SYMBOL_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

enum copy_kind { COPY_ELF, COPY_DEBUG, COPY_VDSO, COPY_MAP, COPY_KINDS };

/* The root of a place in a recording (perfdata.h) that is not a directory, but these copies. */
#define COPIES_PLACE "cyclade-copies"

struct copies_limit {
	uint64_t bytes; /* of all together */
	uint64_t days;	/* since it was used last */
};
#define COPIES_BYTES (UINT64_C(1) << 30)
#define COPIES_DAYS  90

struct copy_from {
	const uint8_t *id;
	size_t id_len; /* from 2 to 20 */
	enum copy_kind kind;
	const char *name; /* where it was */
	int fd;		  /* read from its beginning; stays open. -1: these bytes */
	const void *p;
	size_t len;
	uint64_t most; /* larger ones are not kept */
};

struct copy {
	char id[41]; /* hexadecimal */
	const char *kind, *name;
	uint64_t bytes;
	int64_t used; /* seconds since 1970 */
};

struct copies {
	struct arena arena;
	VEC(struct copy) v; /* the one used last is first */
};

struct copies_gone {
	size_t n;
	uint64_t bytes;
};

/* False: no such id or directory, or the path does not fit. */
bool copies_path(const char *dir, const uint8_t *id, size_t id_len, enum copy_kind kind, char *path,
		 size_t size);
/* The same of an id in hexadecimal, as a recording has it. */
bool copies_path_hex(const char *dir, const char *hex, enum copy_kind kind, char *path,
		     size_t size);
int copies_keep(const char *dir, const struct copy_from *from, struct err *err) MUST_USE;
/* None if there is no directory. */
int copies_list(const char *dir, struct copies *out, struct err *err) MUST_USE;
void copies_free(struct copies *c);
/* Removes what was not used for too long, then what was used longest ago, until the rest fits. */
int copies_gc(const char *dir, const struct copies_limit *limit, int64_t now,
	      struct copies_gone *gone, struct err *err) MUST_USE;

#endif
