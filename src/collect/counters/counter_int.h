/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counter_int - the pieces of the back-end perf_event: which events share a group (counter_perf.c),
 * one counter on one place (counter_open.c), values and switching (counter_read.c).
 *
 * A place is a (CPU, task) pair. The events of a setup's group are dealt into parts, each a group
 * of the kernel's: one part, unless it had to be split.
 */
#ifndef CYCLADE_COLLECT_COUNTER_INT_H
#define CYCLADE_COLLECT_COUNTER_INT_H

#include "collect/counters/counter_backend.h"

#define NO_PART UINT32_MAX
#define ENDED	(-2) /* a file: closed, its last count stays */

struct counter_event_state {
	uint32_t part;	/* NO_PART: refused */
	int refused;	/* errno */
	bool any_guest; /* this PMU counts guests and host together */
};

struct counter_last { /* of the last reading */
	uint64_t value, enabled, running;
	uint64_t before; /* enabled, as it was read before that */
	bool gone;
	bool stopped; /* found so once: for good, as long as it is open */
};

struct counter_group_state {
	struct counter_event_state *event;
	uint32_t n_parts;
	unsigned tries;		   /* once more although nothing was changed */
	bool apart;		   /* taken apart while it counted */
	int *fd;		   /* [event * places + place], -1: none */
	struct counter_last *last; /* likewise */
};

struct perf_counters {
	/* as in the setup; its pointers must live as long */
	struct counter_setup setup;
	size_t n_cpus, n_tasks, n_places; /* at least 1 each */
	struct counter_group_state *group;
	bool *place_gone; /* nothing could be opened there any more: an ended task, a dead CPU */
	bool without_kernel;
	uint64_t *words; /* room for one read */
	size_t files;
};

/* Functions of the back-end's table, in counter_perf.c and counter_read.c. */
size_t perf_counters_targets(const void *own);
int perf_counters_enable(void *own, size_t group, bool on, struct err *err) MUST_USE;
bool perf_counters_apart(void *own, size_t group);
int perf_counters_read(void *own, size_t group, struct counter_value *out,
		       struct err *err) MUST_USE;

/* Opens event e of group g at a place behind `leader` (-1: leads). Returns the file descriptor, or
 * -errno. */
int counter_open_one(struct perf_counters *c, size_t g, size_t e, size_t place, int leader);
/* Returns true if the event can count on the place's CPU. */
bool counter_counts_on(const struct counter_event *e, const struct perf_counters *c, size_t place);
/* Reason of a refusal; static text. */
const char *counter_reason(const struct perf_counters *c, const struct counter_event *e,
			   int number);
/* As many files as we may have. */
void counter_raise_files(size_t want);

static inline bool counter_by_cgroup(const struct perf_counters *c)
{
	return c->setup.n_cgroups > 1;
}

static inline int counter_cpu(const struct perf_counters *c, size_t place)
{
	return c->setup.cpus ? (int)c->setup.cpus[place / c->n_tasks] : -1;
}

static inline int *counter_fd(const struct perf_counters *c, size_t g, size_t e, size_t place)
{
	return &c->group[g].fd[e * c->n_places + place];
}

#endif
