/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sampling - shared by `record` and `run`: counters and workload on one side, a file on the
 * other.
 *
 *	sampling_open(&r, opts, path, NULL, &err)	events and the plan; nothing is opened yet
 *	sampling_prepare(r, &err)		the program, which waits; its counters, the file
 *	sampling_next(r, &what, &err)		until COUNTING_OVER
 *	sampling_keep(r, rc, &tree, &err)	the file is whole
 *	sampling_result(r)			counts, losses, the program's end
 *	sampling_close(r)
 *
 * Everything that can fail before the program executes anything fails in the first two;
 * sampling_close after these cancels the program. The tree beside samples (sampling_tree.h) can be
 * looked at until then.
 *
 * Without a path there is no file: records go to the sink `live` as they come; the caller finds out
 * about older processes and mappings (synth.h). Some records can be made a recording in memory
 * (sampling_head) or on disk (sampling_save).
 */
#ifndef CYCLADE_MEASURE_SAMPLING_H
#define CYCLADE_MEASURE_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/buf.h"
#include "collect/event.h"
#include "collect/recorder.h"
#include "measure/measure_opts.h"
#include "measure/counting.h"

struct sampling;

struct sampling_result {
	uint64_t samples, bytes;
	bool kept;		 /* in the file; else an older file of this name is still there */
	uint64_t lost;		 /* events the kernel dropped because a ring was full */
	uint64_t no_room;	 /* ... and of these those for which the disk had no room */
	uint64_t not_kept;	 /* samples that opts.keep did not want */
	uint64_t cut_bytes;	 /* of parts that only opts.keep read */
	uint64_t left_out;	 /* samples of others, if the kernel gave those of all */
	uint64_t throttled;	 /* times the kernel held a counter back */
	uint64_t aux_lost;	 /* pieces of a trace that were cut, or in which samples collided */
	size_t ousted, counters; /* of all counters those that lost their place to others */
	double wall_s, cpu_s;	 /* cpu_s: user and system of the program; 0 without one */
	double user_s;		 /* of it */
	uint64_t tasks;		 /* threads and processes that were looked at; 0: not known */
	bool has_program;
	int status;		/* of the program, as exit codes go */
	int killed_by;		/* the signal that ended it; 0: none */
	bool began;		/* sampling was on at some time */
	bool interrupted;	/* by the user, before the time ended it */
	bool early;		/* ... and before the program ended */
	bool outlived;		/* its children go on */
	bool user_only;		/* the kernel was left out because we may not look at it */
	const char *no_cycles;	/* why time is sampled instead of cycles; "" if it is not */
	const char *hypervisor; /* "KVM guest"; NULL: none known */
	const char *event;	/* their names */
	bool chains;		/* call chains are with the samples */
	/* -g=unwind: of how many samples of user space the callers were looked for; whole: up to
	 * the thread's beginning; cut: the copied piece of the stack was too short. */
	uint64_t unwound, unwound_whole, unwound_cut;
	uint64_t unwound_without; /* samples without callers, since memory ran out */
	uint64_t unwound_rate; /* samples a second, to which large copies lowered it; 0: did not */
	/* --python: samples with frames of Python; of these, whose native calls contradict them,
	 * that were read 1 ms late or later; samples that could not be read; the mean delay in ns;
	 * why a process was not read, "" or NULL: all were. */
	uint64_t python, python_contradicted, python_late, python_unread, python_delay;
	const char *no_python;
	/* Several files: of the newest, NULL: one file; bytes are then of all that are kept */
	const char *path;
	size_t files, files_removed;
};

/* One of `path` and `live` is NULL; live: whole records one by one, each end of a round. Their
 * targets stay until sampling_close. */
int sampling_open(struct sampling **out, const struct measure_opts *opts, const char *path,
		  const struct recorder_sink *live, struct err *err) MUST_USE;
/* The i-th event that samples and its attribute; NULL beyond the last. */
const struct event *sampling_event(const struct sampling *r, size_t i,
				   const struct perf_event_attr **attr);
int sampling_prepare(struct sampling *r, struct err *err) MUST_USE;
/* counting_next(), without intervals; with a path a full disk ends it early. */
int sampling_next(struct sampling *r, enum counting_event *what, struct err *err) MUST_USE;
/* The line of SIGUSR1: how much has reached the file. */
void sampling_so_far(const struct sampling *r, struct buf *out);
/* What has reached the file, as of the last round. */
uint64_t sampling_samples(const struct sampling *r);
uint64_t sampling_bytes(const struct sampling *r);
/* After a run that came to `rc`, which it returns unless keeping fails. `tree`: text of
 * CYCLADE_TREE for the file's head; NULL, or empty: none. */
int sampling_keep(struct sampling *r, int rc, const struct buf *tree, struct err *err) MUST_USE;
/* Whom, when, the program; `due` of it is the caller's, and `wake` if there is no path. */
struct counting *sampling_counting(struct sampling *r);
const struct sampling_result *sampling_result(const struct sampling *r);
/* ---- without a path -------------------------------------------------------------------------- */

/* The beginning of a recording: whole records follow, sampling_head_size() sets how many bytes. */
int sampling_head(struct sampling *r, struct buf *out, struct err *err) MUST_USE;
void sampling_head_size(struct buf *head, uint64_t data);
/* Bytes of the trailer of records made up for processes that ran before (synth.h). */
size_t sampling_trailer(const struct sampling *r);
/* A recording of these records, with a header as any: `data` whole ones, in order of rounds. Not
 * while a recording is saved. */
int sampling_save(struct sampling *r, const char *path, const struct buf *data,
		  struct err *err) MUST_USE;

/* --dry-run: the attributes in words, and the perf line like it. */
void sampling_describe(const struct sampling *r, bool verbose, struct buf *out);
/* --post. */
int sampling_after(struct sampling *r, struct err *err) MUST_USE;
void sampling_close(struct sampling *r); /* NULL is fine */

#endif
