/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runtimes - code without names that a runtime made or interpreted (V8, JVM, ...), and the switch
 * by which that runtime names it.
 *
 *	n = profile_runtimes(profile, event, NULL, 0, found)
 *	runtime_put_line(&b, &found[0])
 *	runtime_put_again(&b, &found[0], info, "", true)
 *
 * runtime.def has each runtime's switch. A runtime is only reported if it has a real share of the
 * event's samples and its code has no names: a process with a perf-PID.map or jitdump is left out,
 * even if names are missing in it.
 */
#ifndef CYCLADE_ANALYSE_RUNTIMES_H
#define CYCLADE_ANALYSE_RUNTIMES_H

#include "analyse/profile.h"
#include "base/buf.h"

#define RUNTIMES_MAX		   4
#define RUNTIMES_SHARE		   0.05 /* of the event's period, at least */
#define RUNTIMES_INTERPRETED_SHARE 0.2	/* the same in the files of an interpreter */

struct runtime {
	bool interpreted; /* its samples are in the runtime's own files */
	const char *files, *name, *env, *options, *how;
};

struct runtime_found {
	const struct runtime *runtime; /* NULL: code of a process that has none we know */
	uint32_t pid;		       /* the process with most of it */
	size_t pids;		       /* processes that made the code; of an interpreter 1 */
	uint64_t period;	       /* of those samples */
	double share;
};

/* Writes the runtimes of one event's samples, those with most first; returns how many. The profile
 * has rows of single images, else there are none. `among`: indices of the rows that the event has;
 * NULL: all rows are looked at. Names may be read: one thread at a time. */
size_t profile_runtimes(const struct profile *p, size_t event, const uint32_t *among,
			size_t n_among, struct runtime_found out[RUNTIMES_MAX]);
/* Puts "92.3 % in code that node made; to name it: NODE_OPTIONS=--perf-basic-prof". */
void runtime_put_line(struct buf *b, const struct runtime_found *f);
/* Puts its end, "; to name it: ..."; the runtime is known. */
void runtime_put_how(struct buf *b, const struct runtime_found *f);
/* Puts the command that repeats the recording with these names; false: there is none. */
bool runtime_put_again(struct buf *b, const struct runtime_found *f, const struct pd_info *info,
		       const char *options, bool same);
#define RUNTIME_AGAIN "with the names of its functions"

/* False: the functions of this image are of an interpreted program, and have no instructions. */
bool profile_image_is_code(const struct profile *p, uint32_t image);

#endif
