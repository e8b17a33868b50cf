/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * begin and end by read(2), a call for each group of counters; and by the time alone, if there is
 * no counter.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "region/region_int.h"

struct reading { /* PERF_FORMAT_GROUP with both times */
	uint64_t n, enabled, running, value[TABLE_EVENTS];
};

static bool read_one(struct thread *t, uint32_t group, uint64_t *value, uint64_t *enabled,
		     uint64_t *off)
{
	const struct cyclade_set *s = t->set;
	struct reading now;
	ssize_t got = -1;
	uint64_t n = 0;

	for (size_t e = 0; e < s->n_events; e++) {
		if (s->event[e].group != group || t->fd[e] < 0)
			continue;
		if (!n) { /* the leader */
			got = read(t->fd[e], &now, sizeof(now));
			if (!got) { /* pinned, and off its counters for good */
				enabled[group] = off[group] = 0;
				return true;
			}
			if (got < 24 || now.n > TABLE_EVENTS || (uint64_t)got < 24 + 8 * now.n)
				return false;
			enabled[group] = now.enabled;
			off[group] = now.enabled - now.running;
		}
		if (n >= now.n)
			return false;
		value[e] = now.value[n++];
	}
	return true;
}

/* All groups: values by event, times by group. */
static bool read_groups(struct thread *t, uint64_t *value, uint64_t *enabled, uint64_t *off)
{
	int number = errno;
	bool good = true;

	uint64_t most = 0;

	memset(enabled, 0, t->set->n_groups * sizeof(*enabled));
	for (uint32_t g = 0; g < t->set->n_groups && good; g++) {
		good = read_one(t, g, value, enabled, off);
		most = enabled[g] > most ? enabled[g] : most;
	}
	for (uint32_t g = 0; g < t->set->n_groups; g++)
		if (!enabled[g]) /* all of the time, as the other groups have it */
			off[g] = most;
	errno = number;
	return good && most;
}

static bool not_mine(struct region *r)
{
	if (r->thread->self == thread_pointer())
		return false;
	add_u64(&r->slot->foreign, 1);
	return true;
}

/* Returns true if this begin is the first of several. */
static bool opens(struct region *r)
{
	depth_set(r, depth_of(r) + 1);
	if (depth_of(r) == 1)
		return true;
	add_u64(&r->slot->nested, 1);
	return false;
}

/* Returns true if this end is the last of several. */
static bool closes(struct region *r)
{
	if (!depth_of(r)) {
		add_u64(&r->slot->unmatched, 1);
		return false;
	}
	depth_set(r, depth_of(r) - 1);
	return !depth_of(r);
}

static void begin_read(struct cyclade_region *pub)
{
	struct region *r = region_of(pub);

	if (not_mine(r) || !opens(r))
		return;
	r->lost = !read_groups(r->thread, r->st, r->enabled, r->off);
	r->t0 = time_stamp();
}

/* No group lost its counters in between. */
static bool all_as_before(const struct region *r, const uint64_t *enabled)
{
	for (uint32_t g = 0; g < r->thread->set->n_groups; g++)
		if (!enabled[g] != !r->enabled[g])
			return false;
	return true;
}

static uint64_t time_on_cpu(const struct region *r, const uint64_t *enabled)
{
	uint64_t most = 0;

	for (uint32_t g = 0; g < r->thread->set->n_groups; g++)
		if (enabled[g] - r->enabled[g] > most)
			most = enabled[g] - r->enabled[g];
	return most;
}

static void add_plain_run(struct region *r, const uint64_t *enabled, const uint64_t *off,
			  uint64_t now)
{
	const struct cyclade_set *set = r->thread->set;
	struct table_slot *s = r->slot;

	slot_seq(&s->seq);
	for (size_t e = 0; e < set->n_events; e++) {
		uint64_t counted = r->en[e] - r->st[e];

		if (r->thread->fd[e] < 0)
			continue;
		add_u64(&s->total[set->head->event[e].at], counted);
		if (set->event[e].kind == COUNTS_SLOTS) /* each read begins PERF_METRICS anew */
			add_error(s, counted, 0);
	}
	for (size_t g = 0; g < set->n_groups; g++)
		add_u64(&s->off_ns[g], off[g] - r->off[g]);
	add_u64(&s->tsc, now - r->t0);
	add_u64(&s->slow_tsc, now - r->t0);
	add_u64(&s->slow_ns, time_on_cpu(r, enabled));
	slot_seq(&s->seq);
}

static void end_read(struct cyclade_region *pub)
{
	uint64_t now = time_stamp(), enabled[TABLE_GROUPS], off[TABLE_GROUPS];
	struct region *r = region_of(pub);

	if (not_mine(r) || !closes(r))
		return;
	memset(enabled, 0, sizeof(enabled));
	memset(off, 0, sizeof(off));
	if (r->lost || !read_groups(r->thread, r->en, enabled, off) || !all_as_before(r, enabled))
		add_u64(&r->slot->lost, 1);
	else
		add_plain_run(r, enabled, off, now);
	r->lost = false;
}

static void begin_time(struct cyclade_region *pub)
{
	struct region *r = region_of(pub);

	if (!not_mine(r) && opens(r))
		r->t0 = time_stamp();
}

static void end_time(struct cyclade_region *pub)
{
	uint64_t now = time_stamp();
	struct region *r = region_of(pub);

	if (not_mine(r) || !closes(r))
		return;
	slot_seq(&r->slot->seq);
	add_u64(&r->slot->tsc, now - r->t0);
	slot_seq(&r->slot->seq);
}

struct cyclade_region plain_ops(enum region_mode mode)
{
	return mode == MODE_READ ? (struct cyclade_region){ begin_read, end_read }
				 : (struct cyclade_region){ begin_time, end_time };
}
