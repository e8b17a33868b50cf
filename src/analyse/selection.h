/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * selection - which samples of a recording are meant. The same for all that reads samples.
 *
 * A sample is selected if all parts of the selection that are set allow it. A part that is not set
 * (NULL or 0) allows every sample; a selection of zeros is the whole recording. Names and lists are
 * the caller's, and must outlive whatever uses the selection.
 *
 * Times are those of the recording's own clock, in ns; both ends belong to the selection, as with
 * perf's --time. In recordings without times a sample's place in the file stands in for its time,
 * so callers refuse to select by time there (pd_has_time). A sample without a CPU is on no CPU:
 * callers refuse to select by CPU if events do not record it, and by cgroup likewise.
 */
#ifndef CYCLADE_ANALYSE_SELECTION_H
#define CYCLADE_ANALYSE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pd_event;
struct pd_record;
struct err;

struct selection {
	const char *event; /* name or glob (text_means) */
	const char *comm;  /* of the thread when the sample was taken: exact */
	/* patterns of paths, or of "[unknown]" and "cgroup ID" if no record names the cgroup */
	const char *const *cgroups;
	const uint32_t *pids, *tids, *cpus;
	size_t n_cgroups, n_pids, n_tids, n_cpus;
	uint64_t time_from, time_to;
	/* Asked of samples that all else allows: 1 wanted, 0 not, -1 failed. Called on threads,
	 * each with a worker number of its own below 64. NULL: all are wanted. */
	int (*wants)(void *ctx, unsigned worker, const struct pd_event *ev,
		     const struct pd_record *r, struct err *err);
	void *wants_ctx;
};

/* Returns true if every sample is selected, but for those of other events. */
static inline bool selection_all(const struct selection *s)
{
	return !s->comm && !s->n_cgroups && !s->n_pids && !s->n_tids && !s->n_cpus &&
	       !s->time_from && !s->time_to && !s->wants;
}

static inline bool selection_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static inline bool selection_same_list(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
	return n_a == n_b && (!n_a || !memcmp(a, b, n_a * sizeof(*a)));
}

/* Returns true if both select the same samples, but for the event. */
static inline bool selection_same(const struct selection *a, const struct selection *b)
{
	for (size_t i = 0; i < a->n_cgroups && i < b->n_cgroups; i++)
		if (strcmp(a->cgroups[i], b->cgroups[i]) != 0)
			return false;
	return a->n_cgroups == b->n_cgroups && selection_same_text(a->comm, b->comm) &&
	       selection_same_list(a->pids, a->n_pids, b->pids, b->n_pids) &&
	       selection_same_list(a->tids, a->n_tids, b->tids, b->n_tids) &&
	       selection_same_list(a->cpus, a->n_cpus, b->cpus, b->n_cpus) &&
	       a->time_from == b->time_from && a->time_to == b->time_to && a->wants == b->wants &&
	       a->wants_ctx == b->wants_ctx;
}

#endif
