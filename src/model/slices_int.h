/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices_int - readings as they are kept; for the files of slices alone.
 */
#ifndef CYCLADE_MODEL_SLICES_INT_H
#define CYCLADE_MODEL_SLICES_INT_H

#include <string.h>

#include "base/vec.h"
#include "model/slices.h"

struct slices_cell { /* since opening, resets added up; counts to 2^53 are exact */
	double value, enabled, running;
};

struct slices_kept {
	uint32_t *event;
	bool *stepped;
	size_t n, stride;	      /* events; cells of one reading: n * n_targets */
	VEC(uint64_t) t;	      /* of each reading; the first is setup.start, all 0 */
	VEC(struct slices_cell) cell; /* [reading * stride + event * n_targets + target] */
	uint64_t *last;		      /* by cell: the value as it was read */
	bool *seen;		      /* by cell: not always missing */
};

struct slices {
	struct arena arena;
	struct slices_kept *group;
	size_t n_groups, n_events, n_targets, max_bytes;
};

static inline const struct slices_cell *slices_at(const struct slices *s, size_t group,
						  size_t reading, size_t event, size_t target)
{
	const struct slices_kept *k = &s->group[group];

	return &k->cell.v[reading * k->stride + event * s->n_targets + target];
}

struct stratum {
	double v, r, w;
	double pooled; /* w before gaps are spread */
	double gap;    /* time before it in which the group never ran */
	size_t slice;  /* its last */
	bool cut;      /* groups came or went before it */
};

/* One group between two of its readings. */
struct span {
	const struct slices *s;
	size_t group, lo, n; /* first reading, slices */
	uint32_t *member;    /* positions in the group: its own events, then those it shares */
	size_t n_own, n_members;
	const uint32_t *ref;	/* by target: the group that tells how long the target ran */
	const double *total;	/* by target: how long that was in all */
	bool *cut;		/* by slice: other groups are on than in the one before */
	double *exists;		/* by slice: how long the target at hand ran, ns */
	struct stratum *strata; /* scratch, by slice */
	double *diff;		/* [slice * n_members + member]: differences of neighbours */
	double *diff2;		/* the same of the next but one */
	double *count;		/* [member * n_targets + target] */
	double *cov;		/* [n_own * n_own] */
	double *running, *time; /* by member, sums over targets */
	double off;		/* time switched off, ns; of the first member */
	size_t most_strata;	/* of any target */
	double *noise, *room;	/* scratch: [n_own * n_own]; and twice that, more than n_own */
	double *extra;		/* by member: variance of targets that were never seen */
	size_t *told_by;	/* by own member: the shared one it is told by; n_members: none */
	double *told_how;	/* and its count by that one's */
	const double *shared_count; /* of shared events, the whole: [event * n_targets + target] */
	const double *shared_cov;   /* of the group of shared events; NULL: exact */
	bool sampled;		    /* not always on the counters */
	bool calm; /* what changed once, long ago, is not to widen an interval's bars: see calm() */
};

#define NO_SHARED SIZE_MAX

/* slices_matrix.c: m (n rows, symmetric) without its negative directions; room for 2 * n * n. */
void slices_above_0(double *m, double *room, size_t n);

/* slices_strata.c */

/* The reading nearest to a time. */
size_t slices_nearest(const struct slices_kept *k, uint64_t t);
/* A group's cell at any time, between its readings by straight lines. Times rise from call to call
 * with the same hint, which begins as 0. */
struct slices_cell slices_between(const struct slices *s, size_t group, size_t event, size_t target,
				  uint64_t t, size_t *hint);
static inline double slices_own(const struct span *p, size_t event, size_t target, size_t slice,
				size_t field_offset)
{
	const struct slices_cell *a = slices_at(p->s, p->group, p->lo + slice, event, target);
	const struct slices_cell *b = slices_at(p->s, p->group, p->lo + slice + 1, event, target);
	double va, vb;

	memcpy(&va, (const char *)a + field_offset, sizeof(va));
	memcpy(&vb, (const char *)b + field_offset, sizeof(vb));
	return vb - va;
}
/* What an event of the span's group gained in a slice: value, enabled or running. */
#define OWN(p, event, target, slice, field) \
	slices_own(p, event, target, slice, offsetof(struct slices_cell, field))
/* Fills p->exists for a target. */
void slices_exists(struct span *p, size_t target);
void slices_cuts(struct span *p);
/* Counts and differences of a target's events. */
void slices_target(struct span *p, size_t target);

/* True where the group was on the counters all the time that there was, on every target: then what it
 * counted is what there was to count, and all of the span is filled, without errors. */
bool slices_whole(struct span *p);

/* slices_error.c: fills cov, and brings counts nearer by shared events. */
void slices_errors(struct span *p);
/* The counts of `q`, a part of `p`'s time, brought nearer as those of `p` were; p's cov becomes that of
 * q's counts. */
void slices_narrow(struct span *p, struct span *q);

#endif
