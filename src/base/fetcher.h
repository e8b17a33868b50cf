/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetcher - a process beside that asks debuginfod's servers for files, for one in a sandbox.
 *
 *	fetcher_start(cache)			before sandbox_enter() and before there are threads
 *	fetcher_get(FETCH_DEBUG, id, name)	FETCH_HAD: the file is in the client's cache now
 *	fetcher_tally()				what was fetched, and why no more is
 *	fetcher_end()				optional: it ends with us, too
 *
 * It starts only if DEBUGINFOD_URLS is set, and opens libdebuginfod.so.1 at the first question. The
 * client keeps files in its cache, where they are found again without a server, and keeps for ten
 * minutes that the servers do not have one. It does not check whether a file has the build-id that
 * was asked for: the caller does.
 *
 * Bounded, so that no server can hold up a report: a file may keep us waiting 30 s for its first
 * byte (DEBUGINFOD_TIMEOUT), take 300 s (DEBUGINFOD_MAXTIME) and have 4 GiB (DEBUGINFOD_MAXSIZE);
 * all files together take 300 s. After a failure that the next file would meet as well (no
 * connection, no answer, a full disk, the time is up) no server is asked again. Meanwhile a line on
 * standard error shows the progress, if that is a terminal.
 *
 * Threads: fetcher_get() at any time from any thread; one file at a time.
 * Source of the calls: debuginfod_find_debuginfo(3) of elfutils 0.188.
 */
#ifndef CYCLADE_BASE_FETCHER_H
#define CYCLADE_BASE_FETCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fetch_kind { FETCH_DEBUG, FETCH_PROGRAM, FETCH_SOURCE };

enum fetch_outcome {
	FETCH_ABSENT, /* the servers do not have it; or there is no fetcher */
	FETCH_HAD,
	FETCH_FAILED, /* of this file: broken off, too large */
	FETCH_OVER,   /* nothing more is fetched */
};

enum { FETCH_WHY = 256 };

struct fetch_tally {
	unsigned files, failed, not_asked;
	uint64_t bytes;
	double seconds;
	char why[FETCH_WHY]; /* the first failure; empty: none */
};

/* `cache` is the client's cache directory (NULL: none), and stays. false: DEBUGINFOD_URLS is not
 * set, or no process could be started. */
bool fetcher_start(const char *cache);
bool fetcher_running(void);
/* `id` is a build-id in hexadecimal digits, `name` the program's, for messages and the progress; of
 * FETCH_SOURCE the source file's, as the debug information has it. */
enum fetch_outcome fetcher_get(enum fetch_kind kind, const char *id, const char *name);
struct fetch_tally fetcher_tally(void);
void fetcher_end(void); /* without a fetcher: nothing */

/* Whether libdebuginfod can be opened: loads it. */
bool fetcher_possible(void);
/* DEBUGINFOD_URLS, or NULL if it is not set, or empty. */
const char *fetcher_urls(void);

#endif
