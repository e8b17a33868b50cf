/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * series - the files of one recording that goes on: when the next one begins, which names they get,
 * and how much room they take together.
 *
 *	series_new(&s, path, &limit, &err)
 *	series_begin(s, now)		a file is begun at `path`
 *	series_due(s, now, bytes)	it is old or long enough
 *	series_room(s, bytes)		it may grow to that; the oldest files are removed
 *	series_keep(s, wall, &err)	it is whole: PATH.YYYYMMDDhhmmssNN, a name of perf's
 *
 * Only files that this series has kept are ever removed. With `most_bytes` their sizes and that
 * which series_room() was last asked for never add up to more. Clocks are the caller's.
 */
#ifndef CYCLADE_PERFDATA_SERIES_H
#define CYCLADE_PERFDATA_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

struct series_limit {			/* 0: none */
	uint64_t every_ns, every_bytes; /* of a file */
	uint64_t most_bytes,
		most_files; /* of all: those that are kept, and the one being written */
};

#define SERIES_STAMP 16 /* digits of a name */

struct series;

int series_new(struct series **out, const char *path, const struct series_limit *limit,
	       struct err *err) MUST_USE;
void series_begin(struct series *s, uint64_t now);
bool series_due(const struct series *s, uint64_t now, uint64_t bytes);
/* False: there is no room, even without all others. */
bool series_room(struct series *s, uint64_t bytes);
int series_keep(struct series *s, struct timespec wall, struct err *err) MUST_USE;
/* Of the last one; NULL: none was kept. */
const char *series_last(const struct series *s);
size_t series_kept(const struct series *s, size_t *removed, uint64_t *bytes);
void series_free(struct series *s); /* NULL is fine */

/* The newest PATH.YYYYMMDDhhmmssNN; false: there is none. */
bool series_newest(char *out, size_t size, const char *path);

#endif
