/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat_data - the counts of a recording that perf stat made (perf stat record): a reading of every
 * event on every CPU or thread at the end of each round.
 *
 *	stat_data_read(&s, arena, rec, &err)
 *
 * A recording has the kernel's counters, grown since they were opened; a cell has the growth in its
 * round. A round is an interval (perf stat -I) or the whole run. Memory: a cell for each STAT
 * record.
 */
#ifndef CYCLADE_PERFDATA_STAT_DATA_H
#define CYCLADE_PERFDATA_STAT_DATA_H

#include "base/arena.h"
#include "perfdata/perfdata.h"

#define STAT_CPU_NONE (-1)

struct stat_cell {
	uint32_t event;	 /* of pd_events */
	int32_t cpu;	 /* STAT_CPU_NONE: of a thread, wherever it ran */
	uint32_t thread; /* of stat_data.thread */
	uint64_t value, enabled, running;
};

struct stat_round {
	uint64_t time; /* ns since counting began, at its end */
	bool untold;   /* the recording has no time of its end: `time` is the last one in it */
	size_t first, n;
};

struct stat_thread {
	int32_t pid; /* -1: any process */
	const char *comm;
};

struct stat_data {
	const struct stat_cell *cell;
	size_t n_cells;
	const struct stat_round *round; /* at least one */
	size_t n_rounds;
	const struct stat_thread *thread;
	size_t n_threads;
	uint64_t interval_ms; /* 0: recorded without intervals */
	bool unscaled;	      /* perf stat --no-scale */
	bool cpus;	      /* counted by CPU */
	uint64_t strange;     /* STAT records of an unknown id, CPU or thread: left out */
	uint64_t backwards;   /* counts that fell from one round to the next: left out */
};

/* Returns true if pd_info() and records show that it is one of these. */
bool stat_data_is(const struct pd *rec);
/* Fails if there is no reading in it. */
int stat_data_read(struct stat_data *out, struct arena *a, const struct pd *rec,
		   struct err *err) MUST_USE;

#endif
