/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * archive - a recording in one file with all that a report of it reads: a tar archive (ustar, long
 * names as GNU tar has them) packed with zstd.
 *
 *	recording		the recording itself
 *	files/home/u/app	files by their path on the recorded machine
 *	files/.build-id/4a/5a9b.../elf	others, as perf and symbol/copies.h have them
 *
 *	archive_open(&a, path, &err)	unpacks all of it into memory that has no name
 *	fd = archive_file(a, "recording")
 *	archive_mount(a, root, &err)	file_in_open(root, "/home/u/app", ...) finds it
 *	archive_close(a)
 *
 *	archive_new(&w, path, &err)	written by file_out: old or new, whole
 *	archive_add(w, name, p, len, &err)
 *	archive_end(w, &err)		or archive_abort(w)
 *
 * An archive is hostile: what it unpacks to is charged to the budget of file_in.h before it is
 * stored, and more is refused. Names with "..", names twice, links, devices and sparse files are
 * refused, too: nothing of it ever gets a name on this machine. No limit of the packed size.
 *
 * Sources: POSIX.1-2008 pax(1), ustar; the GNU tar manual, "L" long names.
 */
#ifndef CYCLADE_PERFDATA_ARCHIVE_H
#define CYCLADE_PERFDATA_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

struct archive_entry {
	const char *name;
	uint64_t at, len;
};

struct archive_list {
	struct arena arena;
	VEC(struct archive_entry) v;
	struct u64map by_name;
};

/* Regular files of the tar archive in these bytes. On failure the list is empty. */
int archive_parse(struct archive_list *out, const uint8_t *p, size_t len, struct err *err) MUST_USE;
const struct archive_entry *archive_find(const struct archive_list *l, const char *name);
void archive_list_free(struct archive_list *l);

struct archive;
bool archive_begins(const void *p, size_t len); /* zstd's magic number */
int archive_open(struct archive **out, const char *path, struct err *err) MUST_USE;
/* A descriptor of its own, at its beginning; -1: errno. */
int archive_file(struct archive *a, const char *name) MUST_USE;
int archive_mount(struct archive *a, const char *root, struct err *err) MUST_USE;
void archive_close(struct archive *a); /* NULL is fine */

struct archive_new;
int archive_new(struct archive_new **out, const char *path, int level, struct err *err) MUST_USE;
int archive_add(struct archive_new *w, const char *name, const void *p, size_t len,
		struct err *err) MUST_USE;
bool archive_has(const struct archive_new *w, const char *name);  /* it was added */
int archive_end(struct archive_new *w, struct err *err) MUST_USE; /* frees it */
void archive_abort(struct archive_new *w);			  /* NULL is fine */

#endif
