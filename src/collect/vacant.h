/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vacant - whether a group of events gets onto the counters now, beside whatever others count.
 *
 * The group is opened for real, takes turns as any other would, and is looked at until it was on
 * its counters or had been wanted for longer than the kernel lets others keep theirs. A group that
 * gets on costs its opening and a few reads; one that does not, some 5 ms of CPU time.
 */
#ifndef CYCLADE_COLLECT_VACANT_H
#define CYCLADE_COLLECT_VACANT_H

#include <stddef.h>
#include <stdint.h>

#include "base/perf_abi.h"

enum vacant {
	VACANT_UNKNOWN, /* not permitted, no such event here, or its cores cannot be had */
	VACANT_YES,	/* on every CPU asked for */
	VACANT_NO,	/* the kernel takes the events, but the group never came to its counters */
};

struct vacant_where {
	const uint32_t *cpus; /* whole CPUs; NULL: the calling thread */
	size_t n_cpus;
	/* The thread has to be on one of these CPUs (of a hybrid, those of the events' PMU); it
	 * goes there for as long as it takes. NULL: on any. */
	const uint32_t *cores;
	size_t n_cores;
};

/* Type and config of the attrs matter, and modes that they exclude; the rest is set here. */
enum vacant vacant_test(const struct perf_event_attr *attr, size_t n, const struct vacant_where *w);

#endif
