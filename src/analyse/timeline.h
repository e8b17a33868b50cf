/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline - what each thread and each CPU did in short bins of time: for pictures of recordings of
 * any size.
 *
 *	cube_begin(), the walk, cube_end()
 *	timeline_of(&t, cube, wait)	wait: NULL without switches
 *	timeline_free(t)		before cube_free() and wait_free()
 *
 * The axis is the cube's, in TIMELINE_FINER times as many bins: below 10 ms for recordings up to
 * 40 s. A track has two rows of things, each in ascending bins:
 *
 * moments: the bins that have samples. Each has the node of the cube that stands for the bin: of
 * the function that most of the bin's period is in, the chain with most of it. A chain that is
 * folded in the cube is its innermost node there.
 *
 * spans: the reason (wait.h) in which the thread was for most of a bin, and for how many bins in a
 * row. Threads only.
 *
 * Detail. The busiest TIMELINE_SHARP tracks of each kind have bins that are joined by two at most;
 * of the others 2^level bins are one where there would be too much: then the moment with most
 * samples stays. So the size has a bound, whatever the recording; sums of samples are exact.
 *
 * Marks are forks, execs and losses, summed by bin. The same recording gives the same timeline.
 */
#ifndef CYCLADE_ANALYSE_TIMELINE_H
#define CYCLADE_ANALYSE_TIMELINE_H

#include "analyse/cube.h"

enum { TIMELINE_FINER = 8, TIMELINE_SHARP = 48 };

struct timeline_moment {
	uint32_t bin, node; /* bin: of this level; node: CUBE_NONE: only folded ones */
	uint64_t samples;   /* of the bin, whatever function they are in */
};
struct timeline_span {
	uint32_t bin, bins, reason; /* enum wait_reason */
};
struct timeline_track {
	uint32_t pid, tid; /* of a thread */
	uint32_t cpu;	   /* of a CPU; else CUBE_NONE */
	uint32_t level, span_level;
	const char *comm;
	uint64_t samples;
	size_t n_moments, n_spans;
};
enum timeline_kind { MARK_FORK, MARK_THREAD, MARK_EXEC, MARK_LOST, MARK_THROTTLE, MARK_KINDS };
struct timeline_mark {
	uint32_t bin, kind;
	uint32_t pid, tid; /* of the first one */
	uint64_t n;	   /* how many; of losses: records */
	const char *comm;  /* of the first exec; else NULL */
};

struct timeline {
	uint64_t from, width; /* as the cube's; ns of a bin of level 0 */
	uint32_t n_bins;
	struct timeline_track *track; /* threads, then CPUs, each the busiest first */
	size_t n_tracks;
	struct timeline_moment *moment; /* track by track */
	size_t n_moments;
	struct timeline_span *span; /* track by track */
	size_t n_spans;
	struct timeline_mark *mark;
	size_t n_marks;
};

extern const char *const timeline_kinds[MARK_KINDS];

/* NULL: the recording has no times. */
void timeline_of(struct timeline **out, const struct cube *c, const struct wait *w);
void timeline_free(struct timeline *t); /* NULL is fine */

#endif
