/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule_match - whether the events of a group fit the counters.
 *
 * Kuhn's algorithm: each event in turn takes a free counter or makes the owner of one move on. The
 * fixed counters are tried first, as the kernel does. If others hold some counters and it is
 * unknown which, there must be a matching for each possibility.
 */
#include <stdlib.h>
#include <string.h>

#include "model/event_same.h"
#include "model/plan/schedule_int.h"

#define HELD_MAX   924 /* ways to lose 6 of 12 counters: far beyond any machine */
#define GROUP_MAX  64
#define VALUES_MAX 16

struct match {
	const struct sched *s;
	uint64_t avail, used, tried;
	uint16_t owner[64];
};

static const char *const register_term[REG_COUNT] = { "offcore_rsp", "frontend", "ldlat" };
static const unsigned register_flag[REG_COUNT] = { EVENT_OFFCORE, EVENT_FRONTEND, EVENT_LDLAT };
static const char *const register_rule[REG_COUNT] = {
	"more OFFCORE_RSP values than there are registers",
	"two values for the FRONTEND register",
	"two values for the load latency register",
};

static unsigned popcount(uint64_t v)
{
	return (unsigned)__builtin_popcountll(v);
}

/* Every choice of l->reserved out of the general counters that are left. */
static int held_choices(struct sched *s, struct err *err)
{
	uint64_t general = s->avail & GENERAL_BITS, v, all = 0;
	unsigned n = popcount(general), r = s->l->reserved < n ? s->l->reserved : n;
	uint8_t at[32];
	unsigned k = 0;

	for (unsigned i = 0; i < 32; i++)
		if (general >> i & 1)
			at[k++] = (uint8_t)i;
	/* asked for every group there is: without reserved counters it must cost nothing */
	s->held = arena_alloc(s->scratch, (r ? HELD_MAX : 1) * sizeof(*s->held));
	if (!s->held)
		return err_nomem(err);
	s->n_held = 0;
	if (!r) {
		s->n_held = 1;
		return 0;
	}
	if (n > 12)
		return err_set(err, ERR_LIMIT, "%u of %u counters held by others: too many ways", r,
			       n);
	/* all numbers of n bits with r of them set, ascending */
	for (v = (1ULL << r) - 1; v < 1ULL << n && s->n_held < HELD_MAX;) {
		uint64_t c = v & -v, w = v + c;

		all = 0;
		for (unsigned i = 0; i < n; i++)
			if (v >> i & 1)
				all |= 1ULL << at[i];
		s->held[s->n_held++] = all;
		v = (((w ^ v) >> 2) / c) | w;
	}
	return 0;
}

int sched_counters(struct sched *s, struct err *err)
{
	s->avail = schedule_limits_avail(s->l);
	return held_choices(s, err);
}

void sched_held(struct sched *s)
{
	for (unsigned i = 0; i < s->l->n_held; i++) {
		uint64_t mask = s->l->held[i] & s->avail;

		/* one that has no counter here, or may have none, counts beside nothing */
		if (!(mask & ~GENERAL_BITS) && popcount(mask) <= s->l->reserved)
			continue;
		bit_set(s->beside, s->n_ev);
		s->ev[s->n_ev++] = (struct sched_event){ .event = MODEL_NONE, .mask = mask };
	}
}

/* The value of a term of an event's code; if the code has no such term, a value that no other event
 * has. */
static uint64_t term_value(const char *code, const char *term, uint32_t event)
{
	size_t len = strlen(term);

	for (const char *p = code; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		if (!strncmp(p, term, len) && p[len] == '=')
			return strtoull(p + len + 1, NULL, 0) << 1 | 1;
	}
	return 1ULL << 63 | event;
}

bool sched_event_of(const struct sched *s, uint32_t event, struct sched_event *out)
{
	const struct model_event *e = &s->m->event[event];
	uint64_t mask = s->l->smt ? e->counters : e->counters_alone;

	memset(out, 0, sizeof(*out));
	out->event = event;
	out->flags = e->flags;
	out->encoding = event_encoding(e);
	for (size_t r = 0; r < REG_COUNT; r++)
		if (e->flags & register_flag[r])
			out->value[r] = term_value(e->code, register_term[r], event);
	if (e->flags & EVENT_METRIC)
		return true;
	out->mask = (mask | (uint64_t)e->fixed << 32) & s->avail;
	return out->mask;
}

static bool augment(struct match *k, uint16_t e)
{
	uint64_t mask = k->s->ev[e].mask & k->avail & ~k->tried, vacant = mask & ~k->used;

	if (vacant) {
		unsigned c = vacant >> 32 ? 32 + (unsigned)__builtin_ctzll(vacant >> 32)
					  : (unsigned)__builtin_ctzll(vacant);

		k->used |= 1ULL << c;
		k->tried |= 1ULL << c;
		k->owner[c] = e;
		return true;
	}
	while (mask) {
		unsigned c = (unsigned)__builtin_ctzll(mask);

		k->tried |= 1ULL << c;
		if (augment(k, k->owner[c])) {
			k->owner[c] = e;
			return true;
		}
		mask &= ~k->tried;
	}
	return false;
}

/* The most of these events that counters of `avail` can take. */
static unsigned match_most(struct match *k, const struct sched *s, uint64_t avail,
			   const uint16_t *ev, size_t n)
{
	unsigned most = 0;

	k->s = s;
	k->avail = avail;
	k->used = 0;
	for (size_t i = 0; i < n; i++) {
		k->tried = 0;
		most += augment(k, ev[i]);
	}
	return most;
}

/* Pairs take an even counter and the next: try each way for the first pair, then the rest. */
static bool match_pairs(struct match *k, const struct sched *s, uint64_t avail,
			const uint16_t *pair, size_t n_pairs, const uint16_t *ev, size_t n)
{
	if (!n_pairs)
		return match_most(k, s, avail, ev, n) == n;
	for (unsigned c = 0; c < 32; c += 2) {
		if ((s->ev[*pair].mask & avail) >> c & 1 && avail >> (c + 1) & 1 &&
		    match_pairs(k, s, avail & ~(3ULL << c), pair + 1, n_pairs - 1, ev, n)) {
			k->owner[c] = *pair;
			k->used |= 1ULL << c;
			return true;
		}
	}
	return false;
}

struct group {
	uint16_t ev[GROUP_MAX], pair[GROUP_MAX];
	size_t n, n_pairs, n_metrics, n_slots, n_alone, n_exclusive;
	uint64_t value[REG_COUNT][VALUES_MAX];
	size_t n_values[REG_COUNT];
};

static bool register_add(struct group *g, const struct sched *s, size_t r, uint64_t value)
{
	size_t most = r == REG_OFFCORE ? s->l->offcore : 1;

	for (size_t i = 0; i < g->n_values[r]; i++)
		if (g->value[r][i] == value)
			return true;
	if (g->n_values[r] >= most || g->n_values[r] == VALUES_MAX)
		return false;
	g->value[r][g->n_values[r]++] = value;
	return true;
}

/* Sorts the group's events by kind. Returns a broken rule, or NULL. */
static const char *matching_group_of(const struct sched *s, const uint64_t *bits, struct group *g)
{
	g->n = g->n_pairs = g->n_metrics = g->n_slots = g->n_alone = g->n_exclusive = 0;
	memset(g->n_values, 0, sizeof(g->n_values));
	for (size_t w = 0; w < s->words; w++) {
		for (uint64_t b = bits[w] | SCHED_BESIDE(s, w); b; b &= b - 1) {
			uint16_t i = (uint16_t)(w * 64 + (size_t)__builtin_ctzll(b));
			const struct sched_event *e = &s->ev[i];

			/* slots lead the fields of their own group only */
			g->n_metrics += e->flags & EVENT_METRIC && bit_test(bits, i);
			g->n_slots += e->flags & EVENT_SLOTS && bit_test(bits, i);
			g->n_alone += !!(e->flags & EVENT_TAKEN_ALONE);
			g->n_exclusive += !!(e->flags & EVENT_SMT_EXCLUSIVE);
			for (size_t r = 0; r < REG_COUNT; r++)
				if (e->value[r] && !register_add(g, s, r, e->value[r]))
					return register_rule[r];
			if (e->flags & EVENT_METRIC)
				continue;
			if (!e->mask)
				return "an event that no counter here can count";
			if (g->n + g->n_pairs >= GROUP_MAX)
				return "more events than counters";
			if (e->flags & EVENT_PAIR)
				g->pair[g->n_pairs++] = i;
			else
				g->ev[g->n++] = i;
		}
	}
	if (g->n_metrics && !g->n_slots)
		return "fields of PERF_METRICS without slots to lead them";
	if (g->n_alone > 1)
		return "two events that must each be alone of their kind";
	return NULL;
}

/* Errata of threads that share a core: while one of these events counts, the kernel lets a thread
 * use half of the general counters, so that the other can get on. */
static bool exclusive_fits(struct match *k, const struct sched *s, const struct group *g)
{
	unsigned half = s->l->counters / 2, general;

	general = (unsigned)g->n - match_most(k, s, s->avail & ~GENERAL_BITS, g->ev, g->n) +
		  2 * (unsigned)g->n_pairs;
	return general + s->l->reserved <= (half ? half : 1);
}

const char *sched_broken(const struct sched *s, const uint64_t *bits)
{
	struct group g;
	struct match k;
	const char *why = matching_group_of(s, bits, &g);

	if (why)
		return why;
	for (size_t i = 0; i < s->n_held; i++)
		if (!match_pairs(&k, s, s->avail & ~s->held[i], g.pair, g.n_pairs, g.ev, g.n))
			return s->held[i] ? "too few counters beside those that others hold"
					  : "too few counters that can take these events";
	if (g.n_exclusive && s->l->smt && !exclusive_fits(&k, s, &g))
		return "an event that blocks the other thread's counters (erratum)";
	return NULL;
}

bool sched_assign(const struct sched *s, const uint64_t *bits, uint8_t *counter)
{
	struct group g;
	struct match k;

	if (matching_group_of(s, bits, &g) ||
	    !match_pairs(&k, s, s->avail & ~s->held[s->n_held - 1], g.pair, g.n_pairs, g.ev, g.n))
		return false;
	memset(counter, SCHEDULE_NO_COUNTER, s->n_ev);
	for (unsigned c = 0; c < 64; c++)
		if (k.used >> c & 1)
			counter[k.owner[c]] = (uint8_t)c;
	return true;
}

static unsigned hall_cap(const struct sched *s, uint64_t within)
{
	unsigned general = popcount(within & GENERAL_BITS);
	unsigned lost = s->l->reserved < general ? s->l->reserved : general;

	return popcount(within) - lost;
}

/* A bound for each different mask, and for each two of them together, as long as there is room. */
static int hall_add(struct sched *s, uint64_t within, struct err *err)
{
	struct sched_hall *h = &s->hall[s->n_halls];
	size_t inside = 0;

	if (s->n_halls == SCHED_HALLS)
		return 0;
	for (size_t i = 0; i < s->n_halls; i++)
		if (s->hall[i].within == within)
			return 0;
	h->within = within;
	h->cap = hall_cap(s, within);
	h->events = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	if (!h->events)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_ev; i++) {
		if (s->ev[i].mask && !(s->ev[i].mask & ~within)) {
			bit_set(h->events, i);
			inside++;
		}
	}
	s->n_halls += inside > h->cap;
	return 0;
}

int sched_bounds(struct sched *s, struct err *err)
{
	s->n_halls = 0;
	if (hall_add(s, s->avail & GENERAL_BITS, err) || hall_add(s, s->avail, err))
		return -1;
	for (size_t i = 0; i < s->n_ev; i++)
		if (s->ev[i].mask && hall_add(s, s->ev[i].mask, err))
			return -1;
	return 0;
}

bool sched_fits(struct sched *s, const uint64_t *bits)
{
	for (size_t h = 0; h < s->n_halls; h++) {
		unsigned n = 0;

		for (size_t w = 0; w < s->words; w++)
			n += popcount((bits[w] | SCHED_BESIDE(s, w)) & s->hall[h].events[w]);
		if (n > s->hall[h].cap)
			return false;
	}
	s->steps -= 10;
	return !sched_broken(s, bits);
}
