/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharing_judge - the verdict on a line, from its sampled accesses.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/sharing/sharing_int.h"
#include "base/invariant.h"

#define CHANCE 3.0 /* -ln of 5 % */
#define NOBODY UINT32_MAX
#define MANY   (UINT32_MAX - 1)
#define JUDGED 256u /* distinct threads; more count as this many */

struct user { /* a thread of the line */
	uint64_t task, samples, first, last;
	bool reads, writes;
};

struct judging {
	const struct sharing_access *a;
	size_t n;
	struct user user[JUDGED];
	size_t n_users;
	bool crowded;
	/* by byte: a place in `user`, MANY or NOBODY */
	uint32_t used[SHARING_LINE_MAX], wrote[SHARING_LINE_MAX];
	bool atomic[SHARING_LINE_MAX];
};

static uint32_t user_of(struct judging *j, const struct sharing_access *a)
{
	uint64_t task = (uint64_t)a->pid << 32 | a->tid;
	size_t i = 0;

	while (i < j->n_users && j->user[i].task != task)
		i++;
	if (i == JUDGED) {
		j->crowded = true;
		return JUDGED - 1;
	}
	if (i == j->n_users)
		j->user[j->n_users++] = (struct user){ .task = task, .first = a->first };
	return (uint32_t)i;
}

static void mark(uint32_t *who, uint32_t user)
{
	*who = *who == NOBODY || *who == user ? user : MANY;
}

static size_t width_of(const struct sharing_access *a)
{
	size_t width = a->width ? a->width : 1;

	return width < SHARING_LINE_MAX - a->offset ? width : SHARING_LINE_MAX - a->offset;
}

static void look(struct judging *j)
{
	memset(j->used, 0xff, sizeof(j->used));
	memset(j->wrote, 0xff, sizeof(j->wrote));
	for (size_t i = 0; i < j->n; i++) {
		const struct sharing_access *a = &j->a[i];
		uint32_t u = user_of(j, a);
		struct user *w = &j->user[u];

		w->samples += a->n.samples;
		w->reads |= a->n.loads != 0;
		w->writes |= a->n.stores != 0;
		w->first = a->first < w->first ? a->first : w->first;
		w->last = a->last > w->last ? a->last : w->last;
		for (size_t b = a->offset; b < a->offset + width_of(a); b++) {
			mark(&j->used[b], u);
			if (a->n.stores)
				mark(&j->wrote[b], u);
			j->atomic[b] |= a->n.locked != 0;
		}
	}
}

/* Returns true if several threads use it, and one writes. */
static bool is_shared(const struct judging *j, size_t byte)
{
	return j->used[byte] == MANY && j->wrote[byte] != NOBODY;
}

static bool is_private(const struct judging *j, const struct sharing_access *a)
{
	for (size_t b = a->offset; b < a->offset + width_of(a); b++)
		if (j->used[b] == MANY)
			return false;
	return true;
}

/* -ln of the chance that each private byte has one user all the same, if threads and bytes are
 * independent: the first sample of a byte may be of any thread, the others must be of that one. */
static double separation(const struct judging *j, uint64_t all)
{
	double chance = 0;

	for (size_t i = 0, k; i < j->n; i = k) {
		const struct sharing_access *a = &j->a[i];
		uint64_t here = 0;

		for (k = i; k < j->n && j->a[k].offset == a->offset; k++)
			here += j->a[k].n.samples;
		if (is_private(j, a))
			chance -= (double)(here - 1) *
				  log((double)j->user[j->used[a->offset]].samples / (double)all);
	}
	return chance;
}

/* Returns true if a byte has one user only, and another thread writes the line. */
static bool has_separate(const struct judging *j)
{
	uint32_t writer = NOBODY;

	for (size_t b = 0; b < SHARING_LINE_MAX; b++)
		if (j->wrote[b] != NOBODY)
			mark(&writer, j->wrote[b]);
	for (size_t b = 0; writer != NOBODY && b < SHARING_LINE_MAX; b++)
		if (j->used[b] != NOBODY && !is_shared(j, b) &&
		    (writer == MANY || j->used[b] != writer))
			return true;
	return false;
}

static int by_first(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

/* One after another, and not by chance: of all orders of the samples, those in which each thread's
 * stand together. Sorts the users: the bytes' are of no use behind it. */
static bool in_turns(struct judging *j, uint64_t all)
{
	double chance = lgamma((double)all + 1) - lgamma((double)j->n_users + 1);

	qsort(j->user, j->n_users, sizeof(*j->user), by_first);
	for (size_t i = 0; i < j->n_users; i++) {
		if (i && j->user[i].first <= j->user[i - 1].last)
			return false;
		chance -= lgamma((double)j->user[i].samples + 1);
	}
	return chance >= CHANCE;
}

static enum sharing_verdict verdict_of(struct sharing_line *l, struct judging *j, bool stores)
{
	bool shared = false, atomic = true, far;
	uint64_t hitm = l->n.hitm_local + l->n.hitm_remote;

	for (size_t b = 0; b < SHARING_LINE_MAX; b++) {
		shared |= is_shared(j, b);
		atomic &= !is_shared(j, b) || j->atomic[b];
	}
	far = has_separate(j) && separation(j, l->n.samples) >= CHANCE;
	l->why = j->n_users == 1 ? "another core had modified it; no access of that was sampled"
		 : !stores ? "the recording has no stores: which bytes are written is not known"
		 : !l->writers && hitm ? "it was modified, but no store to it was sampled"
				       : "too few samples";
	if (j->n_users == 1 || !stores || (!l->writers && hitm))
		return SHARING_UNKNOWN;
	if (!l->writers)
		return SHARING_READ;
	if (!j->crowded && in_turns(j, l->n.samples))
		return SHARING_TURNS;
	if (shared)
		return far ? SHARING_BOTH : atomic ? SHARING_LOCK : SHARING_TRUE;
	return far ? SHARING_FALSE : SHARING_UNKNOWN;
}

void sharing_judge(struct sharing_line *l, const struct sharing_access *a, bool stores)
{
	struct judging j = { .a = a, .n = l->n_accesses };

	assert(pairs_hold(j.n, i, a[i].offset <= a[i + 1].offset));
	look(&j);
	l->threads = (uint32_t)j.n_users;
	for (size_t i = 0; i < j.n_users; i++) {
		l->readers += j.user[i].reads;
		l->writers += j.user[i].writes;
	}
	l->verdict = verdict_of(l, &j, stores);
	if (l->verdict != SHARING_UNKNOWN)
		l->why = NULL;
}

#define FEW 3.0 /* the rule of three: an event that n draws did not have may be up to 3 of n */

/* Cycles of slow loads that by chance are not among the samples, if the line has few such. */
static double unseen(const struct sharing_line *l, const struct sharing *s)
{
	double slow = s->moved.n ? (double)s->moved.latency / (double)s->moved.n : 0;

	if ((double)(l->n.hitm_local + l->n.hitm_remote) >= FEW || !(slow > s->usual.v))
		return 0;
	return FEW * l->weighted[WEIGHTED_PERIOD] / (double)l->n.timed * (slow - s->usual.v);
}

void sharing_weigh(struct sharing_line *l, const struct sharing *s, double all, double all2)
{
	const double *w = l->weighted, u = s->usual.v;
	struct error_bar b;
	double se;

	l->share = l->stake = ESTIMATE_NONE("no latency was recorded");
	if (!l->n.timed)
		return;
	b = error_bar_share(l->weight, all, all2);
	l->share = (struct estimate){ .v = b.share, .half = b.half };
	if (l->verdict == SHARING_READ || l->verdict == SHARING_TURNS || isnan(u)) {
		l->stake = ESTIMATE_NONE(l->verdict == SHARING_READ ? "no thread writes it"
					 : l->verdict == SHARING_TURNS
						 ? "threads used it one after another"
						 : s->usual.why);
		return;
	}
	l->stake.v = fmax(0, l->weight - u * w[WEIGHTED_PERIOD]);
	/* the variance of a sum over samples that stand for p each: p squared times the value's */
	se = sqrt(fmax(0, l->weight2 - 2 * u * w[WEIGHTED_MIXED] + u * u * w[WEIGHTED_PERIOD2]));
	se *= skewed95(l->n.timed, sqrt(l->weight2) / l->weight);
	l->stake.half = hypot(hypot(se, s->usual.half * w[WEIGHTED_PERIOD]), unseen(l, s));
	l->stake.why = isnan(l->stake.half) ? "too few samples" : NULL;
}
