/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sched_of - random events, limits and sets, and what the scheduler makes of them, as text for a
 * second implementation to judge.
 *
 *	sched_of SEED
 *
 * limits/event lines as plan_of; "verdict" lines: 1 or 0, and events that were asked about alone;
 * "set" lines: weight, group or -1, events; "split", "impossible", "group"; "beside": what always
 * counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/schedule.h"

#define EVENTS 24
#define SETS   12

static uint64_t state;
static unsigned number; /* of an encoding */

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 20) % n;
}

static uint32_t random_mask(unsigned counters)
{
	uint32_t all = (1U << counters) - 1;

	switch (below(6)) {
	case 0:
		return 1U << below(counters);
	case 1:
		return all & 15;
	case 2:
		return (below(all) + 1) & all;
	case 3:
		return all & ~1U;
	default:
		return all;
	}
}

static void random_event(struct model_event *e, char code[64], unsigned counters)
{
	static const struct {
		unsigned flag;
		const char *term;
	} reg[] = { { EVENT_OFFCORE, "offcore_rsp" },
		    { EVENT_FRONTEND, "frontend" },
		    { EVENT_LDLAT, "ldlat" } };
	unsigned r = below(12);

	memset(e, 0, sizeof(*e));
	e->pmu = e->modifiers = e->errata = "";
	e->name = "E";
	e->code = code;
	e->counters = e->counters_alone = random_mask(counters);
	snprintf(code, 64, "event=0x%x", ++number);
	if (r < 3) {
		e->flags = reg[r].flag;
		snprintf(code, 64, "event=0x%x,%s=0x%x", number, reg[r].term, below(4));
	} else if (r == 3) {
		e->flags = EVENT_TAKEN_ALONE;
	} else if (r == 4) {
		e->flags = EVENT_SMT_EXCLUSIVE;
	} else if (r == 5) {
		e->fixed = 1U << below(3);
		e->counters = e->counters_alone = below(2) ? (1U << counters) - 1 : 0;
	} else if (r == 6 && below(2)) {
		e->flags = EVENT_PAIR;
	}
	if (below(40) == 0)
		e->counters = e->counters_alone = 0;
}

/* The same event under another name: terms in another order, and written otherwise. */
static void twin(struct model_event *e, char code[64], const struct model_event *of)
{
	const char *rest = strchr(of->code, ',');

	if (of->flags & EVENT_METRIC || strstr(of->code, "edge"))
		return;
	*e = *of;
	e->code = code;
	snprintf(code, 64, "%s%sevent=%lu,edge=0x0", rest ? rest + 1 : "", rest ? "," : "",
		 strtoul(of->code + 6, NULL, 0));
}

static void put_events(const char *what, long v, const uint32_t *ev, size_t n)
{
	printf("%s\t%ld", what, v);
	for (size_t i = 0; i < n; i++)
		printf("\t%u", ev[i]);
	printf("\n");
}

static size_t random_set(uint32_t *ev, size_t most)
{
	size_t n = 0, want = 1 + below((unsigned)most);

	for (size_t i = 0; i < EVENTS && n < want; i++)
		if (below(EVENTS) < want)
			ev[n++] = (uint32_t)i;
	return n;
}

/* A few that fit. */
static size_t random_beside(const struct model *m, const struct schedule_limits *l, uint32_t *ev)
{
	size_t n = random_set(ev, 4);
	const char *why;

	return schedule_fits(m, l, ev, n, &why) ? n : 0;
}

int main(int argc, char **argv)
{
	struct model_event event[EVENTS];
	char code[EVENTS][64];
	uint32_t beside[EVENTS];
	uint32_t members[SETS][EVENTS];
	struct schedule_set set[SETS];
	struct model m = { .event = event, .n_events = EVENTS, .n_used = EVENTS };
	struct schedule_limits l = { .offcore = 2 };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct schedule s;
	const char *why;

	if (argc != 2)
		return 2;
	state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ULL + 88172645463325252ULL;
	l.counters = 3 + below(6);
	l.fixed = 3 + below(2);
	l.smt = below(2);
	l.reserved = below(3) ? 0 : 1 + below(2);
	l.taken = below(4) ? 0 : 1U << below(l.counters);
	l.fixed_taken = below(4) ? 0 : 2;
	for (size_t i = 0; i < EVENTS; i++) {
		random_event(&event[i], code[i], l.counters);
		if (i > 4 && below(6) == 0)
			twin(&event[i], code[i], &event[4 + below((unsigned)i - 4)]);
	}
	if (below(2)) { /* PERF_METRICS */
		event[0].flags = EVENT_SLOTS;
		event[0].counters = event[0].counters_alone = 0;
		event[0].fixed = 4;
		for (size_t i = 1; i < 4; i++)
			event[i].flags = EVENT_METRIC;
	}
	for (size_t i = 4; i < EVENTS; i++)
		if (below(20) == 0)
			event[i].flags = below(2) ? EVENT_SOFTWARE : EVENT_UNCORE,
			event[i].pmu = below(2) ? "x" : "y";
	printf("limits\t%u\t%u\t%u\t%u\t%u\t%u\t%u\n", l.counters, l.fixed, l.smt, l.reserved,
	       l.taken, l.fixed_taken, l.offcore);
	if (below(2)) {
		l.n_beside = random_beside(&m, &l, beside);
		l.beside = beside;
	}
	printf("beside");
	for (size_t i = 0; i < l.n_beside; i++)
		printf("\t%u", beside[i]);
	printf("\n");
	for (size_t i = 0; i < EVENTS; i++)
		printf("event\t%zu\t%s\t%u\t%u\t%u\t%s\t%s\n", i, event[i].name, event[i].counters,
		       event[i].fixed, event[i].flags, event[i].pmu, event[i].code);
	for (unsigned i = 0; i < 60; i++) {
		uint32_t ev[EVENTS];
		size_t n = random_set(ev, 1 + i % 9);

		put_events("verdict", schedule_fits(&m, &l, ev, n, &why), ev, n);
	}
	for (size_t i = 0; i < SETS; i++) {
		set[i].event = members[i];
		set[i].n = random_set(members[i], 7);
		set[i].weight = below(3);
	}
	if (schedule_make(&s, &a, &m, &l, set, SETS, &err)) {
		fprintf(stderr, "%s\n", err.what);
		return 1;
	}
	for (size_t i = 0; i < SETS; i++)
		put_events("set", s.set_group[i] == MODEL_NONE ? -1 : (long)s.set_group[i],
			   set[i].event, set[i].n);
	for (size_t i = 0; i < s.n_groups; i++)
		put_events("group", i < s.n_core, s.group[i].event, s.group[i].n);
	put_events("split", 0, s.split, s.n_split);
	put_events("impossible", 0, s.impossible, s.n_impossible);
	arena_free(&a);
	return 0;
}
