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
	size_t n, stride; /* events; cells of one reading: n * n_targets */
	enum slices_state now;
	VEC(uint8_t) state; /* of each reading: of the slice before it; empty: always on */
	VEC(uint64_t) t;    /* of each reading; the first is setup.start, all 0 */
	VEC(struct slices_cell) cell; /* [reading * stride + event * n_targets + target] */
	uint64_t *last;		      /* by cell: the value as it was read */
	bool *seen;		      /* by cell: not always missing */
	uint32_t *same;		      /* by cell: the first event that always had its times there */
	uint32_t *member; /* positions in the group: its own events, then those it shares */
	size_t n_own, n_members;
};

/* Where a time stands among a group's readings: so much of the way from this one to the next. */
struct slices_when {
	size_t reading;
	double f;
};

struct slices {
	struct arena arena, scratch; /* scratch: of one call */
	struct slices_kept *group;
	size_t n_groups, n_events, n_targets, max_bytes;
	uint32_t *shared; /* events of several groups, ascending */
	size_t n_shared;
	uint32_t *same, *member;	   /* of the group that these make: see slices_kept */
	uint32_t *out, *first;		   /* tree_counts.member and first */
	double *count, *counted, *quantum; /* of tree_counts; only events of groups change */
	double *long_count, *total;	   /* as in span: shared_count, total and ref */
	uint32_t *ref;
};

static inline const struct slices_cell *slices_at(const struct slices *s, size_t group,
						  size_t reading, size_t event, size_t target)
{
	const struct slices_kept *k = &s->group[group];

	return &k->cell.v[reading * k->stride + event * s->n_targets + target];
}

struct stratum {
	double r, w;
	double pooled;	   /* w before gaps are spread */
	double gap;	   /* time before it in which the group never ran */
	size_t begin, end; /* its slices */
	bool cut;	   /* groups came or went before it */
	bool visit;	   /* a random moment */
	double off;	   /* time before it for which the group was switched off */
	size_t follow;	   /* the next of its kind; SIZE_MAX: none */
	double near_,
		next; /* weight of a difference to the next of its kind, and the next but one */
};

/* One group between two of its readings. */
struct span {
	const struct slices *s;
	size_t group, lo, n;	/* first reading, slices */
	const uint32_t *member; /* as the group's */
	size_t n_own, n_members;
	/* of the slices' ends: [group * (n + 1) + slice]; of references, the last group, and those
	 * that gained */
	struct slices_when *when;
	const uint32_t *ref;	/* by target: the group by which the target's time is known */
	const double *total;	/* by target: how long that was in all */
	bool *cut;		/* by slice: other groups are on than in the one before */
	bool *in;		/* by slice: it belongs to it; NULL: all do */
	double *exists;		/* [target * n + slice]: how long the target ran, ns */
	struct stratum *strata; /* scratch, by slice */
	size_t n_strata, rest_begin, rest_end; /* the last one has these slices, too */
	double tail;			       /* time at the end in which it never ran */
	double tail_off;		       /* for which it was switched off at the end */
	size_t visits;			       /* of any target, the most */
	double *rate;			       /* scratch, by slice */
	uint32_t *lead;			       /* scratch: members of which the times differ */
	double *diff;  /* [slice * n_members + member]: differences of neighbours; NULL: only
				 * counts are wanted */
	double *diff2; /* the same of the next but one; NULL if it is calm */
	double *count; /* [member * n_targets + target] */
	double *cov;   /* [n_own * n_own] */
	double *running, *time; /* by member, sums over targets */
	double off;		/* time switched off, ns; of the first member */
	size_t most_strata;	/* of any target */
	double *noise, *room;	/* scratch: [n_own * n_own]; and twice that, more than n_own */
	double *extra;		/* by member: variance of targets that were never seen */
	size_t *told_by;  /* by own member: the shared one that estimates it; n_members: none */
	double *told_how; /* and its count by that one's */
	const double *shared_count; /* of shared events, the whole: [event * n_targets + target] */
	const double *shared_cov;   /* of the group of shared events; NULL: exact */
	bool sampled;		    /* not always on the counters */
	bool calm; /* a change long ago must not widen an interval's bars: see calm() */
};

#define NO_SHARED SIZE_MAX

/* slices_matrix.c: m (n rows, symmetric) without its negative directions; room for 2 * n * n. */
void slices_above_0(double *m, double *room, size_t n);

static inline enum slices_state slices_state_of(const struct slices_kept *k, size_t slice)
{
	return slice + 1 < k->state.n ? (enum slices_state)k->state.v[slice + 1] : SLICES_ON;
}
/* slices_seen.c: whether all of these groups were on at a time. */
bool slices_on_at(const struct slices *s, const uint32_t *group, size_t n, uint64_t t, bool *visit);

/* slices_strata.c */

/* The last reading that is no later than t; the first if there is none. */
size_t slices_last_before(const struct slices_kept *k, uint64_t t);

/* The reading nearest to a time. */
size_t slices_nearest(const struct slices_kept *k, uint64_t t);
/* Where n rising times stand among a group's readings. */
void slices_find(const struct slices_kept *k, const uint64_t *t, size_t n, struct slices_when *out);
/* Whether any event of a group gained anything in this time, or in a slice that it cuts. */
bool slices_gained(const struct slices *s, size_t group, uint64_t from, uint64_t to);
/* A group's cell at such a time, between its readings by straight lines. */
struct slices_cell slices_then(const struct slices *s, size_t group, size_t event, size_t target,
			       const struct slices_when *w);
/* The same, of its enabled time alone. */
static inline double slices_enabled(const struct slices *s, size_t group, size_t event,
				    size_t target, const struct slices_when *w)
{
	const struct slices_cell *a = slices_at(s, group, w->reading, event, target);

	if (!(w->f > 0))
		return a->enabled;
	return a->enabled + w->f * (a[s->group[group].stride].enabled - a->enabled);
}
/* The span's group, or another, at the end of a slice; 0: where the first begins. */
static inline const struct slices_when *slices_when(const struct span *p, size_t group, size_t i)
{
	return &p->when[group * (p->n + 1) + i];
}
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
/* Growth of an event of the span's group in a slice: value, enabled or running. */
#define OWN(p, event, target, slice, field) \
	slices_own(p, event, target, slice, offsetof(struct slices_cell, field))
/* How long targets ran, when groups came and went, counts and differences. */
void slices_strata(struct span *p);

/* Returns true if the group was on the counters all of the time, on every target: then its counts
 * are complete, and all of the span is filled, without errors. */
bool slices_whole(struct span *p);

/* slices_few.c: groups of few slices are as uncertain as all together were seen to change. `room`:
 * as long as the largest group. */
struct slices_few {
	const struct slices *s;
	size_t n_groups;
	double *const *cov; /* by group, raised; NULL: it has none */
	const size_t *n;    /* slices that they are of */
	const double *count, *counted;
};
void slices_few(const struct slices_few *x, double *room);
/* Squared: Student's 97.5 % point for so many degrees of freedom, over that of many. */
double slices_student2(double df);
/* The median of a few; the upper of two. Sorts them. */
double slices_median(double *v, size_t n);

/* slices_error.c: fills cov, and brings counts nearer by shared events. */
void slices_errors(struct span *p);
/* The counts of `q`, a part of `p`'s time, brought nearer as those of `p` were; p's cov becomes
 * that of q's counts. */
void slices_narrow(struct span *p, struct span *q);

#endif
