/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts_file - counts that somebody else's run left as text: perf stat's table, its -x and its -j,
 * and cyclade's own JSON, whichever it is.
 *
 * Counts of several intervals or places (-I, -A, --per-core) are summed; an event that stands twice
 * for the same piece (perf counts one in several groups) is taken where it was counted longest.
 * What was not counted is left out. Text from outside: nothing of it is trusted.
 */
#ifndef CYCLADE_PERFDATA_COUNTS_FILE_H
#define CYCLADE_PERFDATA_COUNTS_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct counted_event {
	const char *name; /* as it stands there */
	double value;
	double counted; /* share of the time, 0..1; NAN: not said */
};

struct counts_file {
	const struct counted_event *event;
	size_t n;
	double seconds; /* of the measurement; NAN: not said */
};

/* `separator`: of -x; 0: found out. `name`: for messages. */
int counts_file_parse(struct counts_file *out, struct arena *a, const char *text, size_t len,
		      char separator, const char *name, struct err *err) MUST_USE;

#endif
