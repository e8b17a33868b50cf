/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of counter groups one by one, what machines leave free, and turns of groups.
 * (tests/model/test_schedule.py holds the rules against a second implementation.)
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "loaded.h"
#include "model/plan.h"
#include "model/rounds.h"

enum {
	SLOTS,
	FE_BOUND,
	BE_BOUND,
	CYCLES,
	INSTRUCTIONS,
	ANY_0,
	ANY_1,
	ANY_2,
	ANY_3,
	LOW_0, /* on counters 0 and 1 */
	LOW_1,
	LOW_2,
	ONLY_2,
	ALSO_ONLY_2,
	OCR_A,
	OCR_A_TOO,
	OCR_B,
	OCR_C,
	FRONTEND_1,
	FRONTEND_1_TOO,
	FRONTEND_2,
	ALONE_0,
	ALONE_1,
	BLOCKS, /* the other thread's counter */
	PAIR_0,
	PAIR_1,
	PAIR_2,
	NOWHERE,
	DURATION,
	ENERGY,
	HALF, /* on fewer counters with SMT */
	ANY_0_TOO,
	ANY_0_USER,
	N_EVENTS
};

#define EV(n, mask, fix, fl, c)                                                                   \
	{                                                                                         \
		.name = n, .pmu = "", .modifiers = "", .errata = "", .code = c, .counters = mask, \
		.counters_alone = mask, .fixed = fix, .flags = fl                                 \
	}

static const struct model_event events[N_EVENTS] = {
	[SLOTS] = EV("SLOTS", 0, 8, EVENT_SLOTS, "event=0,umask=4"),
	[FE_BOUND] = EV("FE_BOUND", 0, 0, EVENT_METRIC, "event=0,umask=0x82"),
	[BE_BOUND] = EV("BE_BOUND", 0, 0, EVENT_METRIC, "event=0,umask=0x83"),
	[CYCLES] = EV("CYCLES", 15, 2, 0, "event=0x3c"),
	[INSTRUCTIONS] = EV("INSTRUCTIONS", 15, 1, 0, "event=0xc0"),
	[ANY_0] = EV("ANY_0", 15, 0, 0, "event=1"),
	[ANY_1] = EV("ANY_1", 15, 0, 0, "event=2"),
	[ANY_2] = EV("ANY_2", 15, 0, 0, "event=3"),
	[ANY_3] = EV("ANY_3", 15, 0, 0, "event=4"),
	[LOW_0] = EV("LOW_0", 3, 0, 0, "event=5"),
	[LOW_1] = EV("LOW_1", 3, 0, 0, "event=6"),
	[LOW_2] = EV("LOW_2", 3, 0, 0, "event=7"),
	[ONLY_2] = EV("ONLY_2", 4, 0, 0, "event=8"),
	[ALSO_ONLY_2] = EV("ALSO_ONLY_2", 4, 0, 0, "event=9"),
	[OCR_A] = EV("OCR_A", 15, 0, EVENT_OFFCORE, "event=0xb7,offcore_rsp=0x10"),
	[OCR_A_TOO] = EV("OCR_A_TOO", 15, 0, EVENT_OFFCORE, "event=0xbb,offcore_rsp=0x10"),
	[OCR_B] = EV("OCR_B", 15, 0, EVENT_OFFCORE, "event=0xb7,offcore_rsp=0x11"),
	[OCR_C] = EV("OCR_C", 15, 0, EVENT_OFFCORE, "event=0xb7,offcore_rsp=0x12"),
	[FRONTEND_1] = EV("FRONTEND_1", 15, 0, EVENT_FRONTEND, "event=0xc6,frontend=1"),
	[FRONTEND_1_TOO] = EV("FRONTEND_1_TOO", 15, 0, EVENT_FRONTEND, "cmask=2,frontend=0x1"),
	[FRONTEND_2] = EV("FRONTEND_2", 15, 0, EVENT_FRONTEND, "event=0xc6,frontend=2"),
	[ALONE_0] = EV("ALONE_0", 15, 0, EVENT_TAKEN_ALONE, "event=10"),
	[ALONE_1] = EV("ALONE_1", 15, 0, EVENT_TAKEN_ALONE, "event=11"),
	[BLOCKS] = EV("BLOCKS", 15, 0, EVENT_SMT_EXCLUSIVE, "event=0xd0"),
	[PAIR_0] = EV("PAIR_0", 5, 0, EVENT_PAIR, "event=12"),
	[PAIR_1] = EV("PAIR_1", 5, 0, EVENT_PAIR, "event=13"),
	[PAIR_2] = EV("PAIR_2", 5, 0, EVENT_PAIR, "event=14"),
	[NOWHERE] = EV("NOWHERE", 0x30, 0, 0, "event=15"),
	[DURATION] = EV("DURATION", 0, 0, EVENT_SOFTWARE, ""),
	[ENERGY] = EV("ENERGY", 0, 0, EVENT_UNCORE, "event=2"),
	[HALF] = { .name = "HALF",
		   .pmu = "",
		   .code = "",
		   .modifiers = "",
		   .errata = "",
		   .counters = 1,
		   .counters_alone = 15 },
	[ANY_0_TOO] = EV("ANY_0_TOO", 15, 0, 0, "edge=0,event=0x01"),
	[ANY_0_USER] = { .name = "ANY_0_USER",
			 .pmu = "",
			 .code = "event=1",
			 .modifiers = "u",
			 .errata = "",
			 .counters = 15,
			 .counters_alone = 15 },
};

static const struct model machine = { .event = events, .n_events = N_EVENTS, .n_used = N_EVENTS };
static const struct schedule_limits plain = { .counters = 4, .fixed = 4, .offcore = 2 };

#define LIST(...)                          \
	(const uint32_t[]){ __VA_ARGS__ }, \
		sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)
#define FITS(l, ...)   assert_true(schedule_fits(&machine, l, LIST(__VA_ARGS__), &why))
#define BREAKS(l, ...) assert_false(schedule_fits(&machine, l, LIST(__VA_ARGS__), &why))

static void test_counters(void **state)
{
	const char *why;
	struct schedule_limits l = plain;

	(void)state;
	FITS(&plain, ANY_0, ANY_1, ANY_2, ANY_3, CYCLES, INSTRUCTIONS);
	BREAKS(&plain, ANY_0, ANY_1, ANY_2, ANY_3, LOW_0);
	/* someone who takes the first free counter never finds this one */
	FITS(&plain, ANY_0, ANY_1, ONLY_2, LOW_0);
	FITS(&plain, ANY_0, LOW_0, LOW_1, ONLY_2);
	BREAKS(&plain, LOW_0, LOW_1, LOW_2);
	BREAKS(&plain, ONLY_2, ALSO_ONLY_2);
	BREAKS(&plain, NOWHERE);
	l.fixed_taken = 2;
	FITS(&l, ANY_0, ANY_1, ANY_2, CYCLES, INSTRUCTIONS);
	BREAKS(&l, ANY_0, ANY_1, ANY_2, ANY_3, CYCLES);
	l = plain;
	l.taken = 4;
	BREAKS(&l, ONLY_2);
	FITS(&l, ANY_0, LOW_0, LOW_1);
	FITS(&l, HALF, LOW_0, ANY_0);
	l = plain;
	l.smt = true;
	BREAKS(&l, HALF, LOW_0, LOW_1);
	FITS(&plain, HALF, LOW_0, LOW_1);
}

static void test_reserved(void **state)
{
	struct schedule_limits l = plain;
	const char *why;

	(void)state;
	l.reserved = 1;
	FITS(&l, ANY_0, ANY_1, ANY_2);
	BREAKS(&l, ANY_0, ANY_1, ANY_2, ANY_3);
	FITS(&l, LOW_0, ANY_0, ANY_1);
	BREAKS(&l, LOW_0, LOW_1); /* if one of theirs is held */
	assert_string_equal(why, "too few counters beside those that others hold");
	BREAKS(&l, ONLY_2);
	FITS(&l, CYCLES, INSTRUCTIONS, ANY_0, ANY_1, ANY_2);
	l.reserved = 4;
	FITS(&l, CYCLES, INSTRUCTIONS);
	BREAKS(&l, ANY_0);
}

static void test_registers(void **state)
{
	struct schedule_limits l = plain;
	const char *why;

	(void)state;
	FITS(&plain, OCR_A, OCR_A_TOO, OCR_B);
	BREAKS(&plain, OCR_A, OCR_B, OCR_C);
	assert_non_null(strstr(why, "OFFCORE_RSP"));
	l.offcore = 1;
	FITS(&l, OCR_A, OCR_A_TOO);
	BREAKS(&l, OCR_A, OCR_B);
	FITS(&plain, FRONTEND_1, FRONTEND_1_TOO);
	BREAKS(&plain, FRONTEND_1, FRONTEND_2);
	FITS(&plain, ALONE_0, ANY_0, FRONTEND_1);
	BREAKS(&plain, ALONE_0, ALONE_1);
}

static void test_special(void **state)
{
	struct schedule_limits l = plain;
	const char *why;

	(void)state;
	FITS(&plain, SLOTS, FE_BOUND, BE_BOUND, ANY_0, ANY_1, ANY_2, ANY_3, CYCLES);
	BREAKS(&plain, FE_BOUND, CYCLES);
	assert_non_null(strstr(why, "slots"));
	FITS(&plain, PAIR_0, PAIR_1);
	FITS(&plain, PAIR_0, ANY_0, ANY_1);
	BREAKS(&plain, PAIR_0, PAIR_1, ANY_0);
	BREAKS(&plain, PAIR_0, ONLY_2, ANY_0, ANY_1);
	FITS(&plain, PAIR_0, ONLY_2, ANY_0);
	FITS(&plain, BLOCKS, ANY_0, ANY_1, ANY_2);
	l.smt = true;
	BREAKS(&l, BLOCKS, ANY_0, ANY_1);
	FITS(&l, BLOCKS, ANY_0, CYCLES, INSTRUCTIONS);
	FITS(&plain, DURATION, ENERGY, ANY_0, ANY_1, ANY_2, ANY_3);
}

static void test_place(void **state)
{
	uint8_t at[5];
	const uint32_t ev[5] = { SLOTS, FE_BOUND, ANY_0, ONLY_2, CYCLES };

	(void)state;
	assert_true(schedule_place(&machine, &plain, ev, 5, at));
	assert_int_equal(at[0], SCHEDULE_FIXED + 3);
	assert_int_equal(at[1], SCHEDULE_NO_COUNTER);
	assert_true(at[2] < 4 && at[2] != 2);
	assert_int_equal(at[3], 2);
	assert_int_equal(at[4], SCHEDULE_FIXED + 1);
}

static void test_make(void **state)
{
	const uint32_t s0[] = { CYCLES, ANY_0, ANY_1 }, s1[] = { CYCLES, ANY_2, ANY_3 },
		       s2[] = { ANY_0, ANY_1, ANY_2, ANY_3, LOW_0, CYCLES }, /* too many */
		s3[] = { FE_BOUND }, s4[] = { NOWHERE, DURATION, ENERGY }, s5[] = { ANY_0 };
	const struct schedule_set set[] = { { s0, 3, 1 }, { s1, 3, 1 }, { s2, 6, 0 },
					    { s3, 1, 9 }, { s4, 3, 0 }, { s5, 1, 0 } };
	struct arena a = ARENA_INIT;
	struct schedule s;

	(void)state;
	assert_int_equal(schedule_make(&s, &a, &machine, &plain, set, 6, NULL), 0);
	assert_int_equal(s.n_core, 2);
	assert_int_equal(s.n_groups, 3); /* DURATION and ENERGY say the same PMU here */
	assert_int_equal(s.n_impossible, 1);
	assert_int_equal(s.impossible[0], NOWHERE);
	assert_int_equal(s.n_split, 1);
	assert_int_equal(s.split[0], 2);
	assert_int_equal(s.set_group[2], MODEL_NONE);
	assert_int_equal(s.set_group[0], s.set_group[5]);
	assert_int_equal(s.home[FE_BOUND], s.home[SLOTS]);
	assert_int_equal(s.group[s.home[SLOTS]].event[0], SLOTS);
	assert_int_equal(s.home[NOWHERE], MODEL_NONE);
	arena_free(&a);
}

/* Groups that count anyway take in what there is room for, and keep their place. */
static void test_more(void **state)
{
	const uint32_t h0[] = { CYCLES, ANY_0, ANY_1 }, s0[] = { ANY_0, ANY_2 },
		       s1[] = { LOW_0, LOW_1, ANY_3 };
	const struct schedule_group have = { h0, 3 };
	const struct schedule_set set[] = { { s1, 3, 5 }, { s0, 2, 0 } };
	struct arena a = ARENA_INIT;
	struct schedule s;

	(void)state;
	assert_int_equal(schedule_more(&s, &a, &machine, &plain, &have, 1, set, 2, NULL), 0);
	assert_int_equal(s.n_groups, 2);
	assert_int_equal(s.set_group[1], 0);
	assert_int_equal(s.set_group[0], 1);
	assert_int_equal(s.group[0].n, 4);
	assert_int_equal(s.home[ANY_0], 0);
	arena_free(&a);
}

/* Two names of one encoding are one counter, and a group that has one of them has both. */
static void test_names(void **state)
{
	const uint32_t s0[] = { ANY_0, ANY_1, ANY_2, ANY_3 }, s1[] = { ANY_0_TOO, ANY_1 };
	const struct schedule_set set[] = { { s0, 4, 1 }, { s1, 2, 0 } };
	struct arena a = ARENA_INIT;
	const char *why;
	struct schedule s;
	uint8_t at[5];

	(void)state;
	FITS(&plain, ANY_0, ANY_1, ANY_2, ANY_3, ANY_0_TOO);
	BREAKS(&plain, ANY_0, ANY_1, ANY_2, ANY_3, ANY_0_USER);
	assert_int_equal(schedule_make(&s, &a, &machine, &plain, set, 2, NULL), 0);
	assert_int_equal(s.n_groups, 1);
	assert_int_equal(s.group[0].n, 5);
	assert_int_equal(s.home[ANY_0_TOO], 0);
	assert_int_equal(s.set_group[1], 0);
	assert_true(schedule_place(&machine, &plain, s.group[0].event, 5, at));
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < i; j++)
			assert_true((at[i] == at[j]) == (s.group[0].event[i] == ANY_0_TOO &&
							 s.group[0].event[j] == ANY_0));
	arena_free(&a);
}

/* What counts all the time is in no group, and its counters are nobody else's. */
static void test_beside(void **state)
{
	const uint32_t always[] = { SLOTS, FE_BOUND, ANY_0 };
	const uint32_t s0[] = { SLOTS, FE_BOUND, ANY_0_TOO, ANY_1, ANY_2 }, s1[] = { FE_BOUND },
		       s2[] = { ANY_3, CYCLES }, s3[] = { BE_BOUND };
	const struct schedule_set set[] = {
		{ s0, 5, 1 }, { s1, 1, 0 }, { s2, 2, 0 }, { s3, 1, 0 }
	};
	struct schedule_limits l = plain;
	struct arena a = ARENA_INIT;
	const char *why;
	struct schedule s;

	(void)state;
	l.beside = always;
	l.n_beside = 3;
	FITS(&l, ANY_1, ANY_2, ANY_3, CYCLES);
	FITS(&l, ANY_0, ANY_1, ANY_2, ANY_3, SLOTS, FE_BOUND);
	BREAKS(&l, ANY_1, ANY_2, ANY_3, LOW_0);
	BREAKS(&l, BE_BOUND); /* fields have the slots of their own group to lead them */
	assert_int_equal(schedule_make(&s, &a, &machine, &l, set, 4, NULL), 0);
	assert_int_equal(s.n_groups, 1);
	assert_int_equal(s.group[0].n, 4); /* ANY_1 ANY_2 ANY_3 CYCLES */
	assert_int_equal(s.home[SLOTS], MODEL_NONE);
	assert_int_equal(s.home[ANY_0_TOO], MODEL_NONE);
	assert_int_equal(s.set_group[0], 0);
	assert_int_equal(s.set_group[1], MODEL_NONE);
	assert_int_equal(s.n_split, 0);
	assert_int_equal(s.n_impossible, 1);
	assert_int_equal(s.impossible[0], BE_BOUND);
	arena_free(&a);
}

/* What samples moves about as a group needs it to, but always has a counter. */
static void test_held(void **state)
{
	struct schedule_limits l = plain;
	double system[SYSTEM_COUNT];
	struct model *m;
	const char *why;

	(void)state;
	l.held[l.n_held++] = UINT32_MAX; /* any general one */
	FITS(&l, ANY_0, ANY_1, ANY_2, CYCLES);
	FITS(&l, LOW_0, LOW_1, ONLY_2); /* 3 is left to it */
	FITS(&l, ONLY_2);
	BREAKS(&l, ANY_0, ANY_1, ANY_2, ANY_3);
	l.held[l.n_held++] = 4; /* and just that one */
	BREAKS(&l, ONLY_2);
	FITS(&l, ANY_0, LOW_0);
	BREAKS(&l, ANY_0, ANY_1, ANY_2);
	l = plain;
	l.held[l.n_held++] = UINT32_MAX | 2ULL << 32; /* cycles have their fixed one */
	FITS(&l, ANY_0, ANY_1, ANY_2, ANY_3, INSTRUCTIONS);
	FITS(&l, ANY_0, ANY_1, ANY_2, CYCLES);
	BREAKS(&l, ANY_0, ANY_1, ANY_2, ANY_3, CYCLES);
	l.fixed_taken = 2; /* the watchdog has it */
	FITS(&l, ANY_0, ANY_1, ANY_2);
	BREAKS(&l, ANY_0, ANY_1, ANY_2, ANY_3);

	/* precise cycles: any counter where all are precise, the first four before that, one alone
	 * for the most precise */
	load(&m, &l, system, "skl", true);
	l.n_held = 0;
	for (unsigned precise = 0; precise < 4; precise++)
		schedule_limits_cycles(&l, m, precise);
	assert_int_equal(l.n_held, 4);
	assert_true(l.held[0] == (UINT32_MAX | 2ULL << 32) && l.held[1] == 0xf);
	assert_true(l.held[2] == 0xf && l.held[3] == 2);
	schedule_limits_cycles(&l, m, 0); /* no room: one more is not free, whichever */
	assert_int_equal(l.reserved, 1);
	schedule_limits_event(&l);
	assert_int_equal(l.reserved, 2);
	model_free(m);
	load(&m, &l, system, "spr", true);
	l.n_held = 0;
	schedule_limits_cycles(&l, m, 2);
	schedule_limits_cycles(&l, m, 3);
	assert_true(l.held[0] == (UINT32_MAX | 2ULL << 32) && l.held[1] == 1);
	model_free(m);
	load(&m, &l, system, "glm", false); /* one of its counters is precise */
	l.n_held = 0;
	schedule_limits_cycles(&l, m, 1);
	assert_true(l.held[0] == 1);
	model_free(m);
}

static void test_limits(void **state)
{
	struct schedule_machine at = { .smt = true, .watchdog = true };
	struct schedule_limits l;
	double system[SYSTEM_COUNT];
	struct model *m;

	(void)state;
	load(&m, &l, system, "skl", true);
	schedule_limits_of(&l, m, &at);
	assert_int_equal(l.counters, 4);
	assert_int_equal(l.fixed, 3);
	assert_int_equal(l.fixed_taken, 2);
	assert_int_equal(l.reserved, 0);
	assert_int_equal(l.taken, 0);
	at = (struct schedule_machine){ .general = 4, .fixed = 1, .no_tsx_abort = true };
	schedule_limits_of(&l, m, &at); /* threads put to sleep, not switched off */
	assert_int_equal(l.counters, 4);
	assert_int_equal(l.fixed, 1);
	assert_int_equal(l.taken, 8);
	assert_false(l.smt);
	at = (struct schedule_machine){ .fixed = 1, .watchdog = true };
	schedule_limits_of(&l, m, &at); /* no fixed counter for its cycles */
	assert_int_equal(l.counters, 8);
	assert_int_equal(l.fixed_taken, 0);
	assert_int_equal(l.reserved, 1);
	model_free(m);
	load(&m, &l, system, "zen4", true);
	at = (struct schedule_machine){ .watchdog = true };
	schedule_limits_of(&l, m, &at);
	assert_int_equal(l.counters, 6);
	assert_int_equal(l.reserved, 1);
	model_free(m);
}

/* Where turns have equal lengths and an order that is always the same, each of two groups sees one
 * half of a program whose period is two turns. */
static double half_seen(struct rounds *r, const struct plan *p, const bool *wants, double period)
{
	double now = 0, seen = 0, of = 0;

	for (int i = 0; i < 4000; i++) {
		rounds_begin(r, p, &machine, &plain, wants);
		do {
			double end = now + (double)rounds_length(&r->chance, 4000) / 1000;

			for (; now < end; now += 0.05) {
				of += rounds_on(r, 0);
				seen += rounds_on(r, 0) && fmod(now, period) < period / 2;
			}
		} while (rounds_next(r));
	}
	return seen / of;
}

static void test_rounds(void **state)
{
	const struct plan_group two[] = { { LIST(ANY_0, ANY_1, ANY_2, CYCLES), true, false },
					  { LIST(ANY_3, ANY_0, LOW_0, CYCLES), true, false } };
	const struct plan_group more[] = { { LIST(ANY_0, ANY_1), true, false },
					   { LIST(ANY_3, LOW_0), true, false },
					   { LIST(ANY_0), true, false },
					   { LIST(LOW_1, ANY_1), true, false } };
	const struct plan p = { .group = two, .n_groups = 2 }, q = { .group = more, .n_groups = 4 };
	const bool wants[] = { true, true, false, true };
	struct arena a = ARENA_INIT;
	struct rounds r;
	size_t first = 0;

	(void)state;
	assert_false(rounds_new(&r, &a, &p, 1, NULL));
	for (double period = 2; period < 40; period++)
		assert_true(fabs(half_seen(&r, &p, wants, period) - 0.5) < 0.05);
	for (int i = 0; i < 1000; i++) {
		rounds_begin(&r, &p, &machine, &plain, wants);
		assert_int_equal(r.n, 2);
		assert_int_equal(rounds_on(&r, 0), !rounds_on(&r, 1));
		first += rounds_on(&r, 0);
		assert_true(rounds_next(&r) && !rounds_next(&r));
	}
	assert_true(first > 400 && first < 600);
	/* four counters: two of these at a time, whichever come first */
	assert_false(rounds_new(&r, &a, &q, 1, NULL));
	for (int i = 0; i < 1000; i++) {
		rounds_begin(&r, &q, &machine, &plain, wants);
		assert_int_equal(r.n, 2);
		assert_true(r.turn[2] == ROUNDS_NONE);
		assert_true(r.turn[0] != ROUNDS_NONE && r.turn[1] != ROUNDS_NONE &&
			    r.turn[3] != ROUNDS_NONE);
	}
	arena_free(&a);
}

/* A machine on which somebody has counters: those of `taken`, or any `moving` of them. */
struct others {
	uint32_t taken, fixed;
	unsigned moving, tries;
};

/* Every way to give the events counters is tried: few events, and no rule but their masks. */
static bool find_room(const uint32_t *event, size_t n, uint32_t general, uint32_t fixed,
		      unsigned spare)
{
	const struct model_event *e;

	if (!n)
		return (unsigned)__builtin_popcount(general) >= spare;
	e = &events[*event];
	for (unsigned c = 0; c < 4; c++)
		if ((e->counters & general) >> c & 1 &&
		    find_room(event + 1, n - 1, general & ~(1U << c), fixed, spare))
			return true;
	for (unsigned c = 0; c < 4; c++)
		if ((e->fixed & fixed) >> c & 1 &&
		    find_room(event + 1, n - 1, general, fixed & ~(1U << c), spare))
			return true;
	return false;
}

static enum schedule_tried others_leave(void *ctx, const uint32_t *event, size_t n)
{
	struct others *o = ctx;

	o->tries++;
	return find_room(event, n, 15 & ~o->taken, 15 & ~o->fixed, o->moving) ? SCHEDULE_FITS
									      : SCHEDULE_NO_ROOM;
}

static enum schedule_tried not_allowed(void *ctx, const uint32_t *event, size_t n)
{
	(void)ctx, (void)event, (void)n;
	return SCHEDULE_NOT_TRIED;
}

static void test_what_is_free(void **state)
{
	struct schedule_try how = { .fits = others_leave };
	struct schedule_limits l;

	(void)state;
	/* whichever are held, what is left is what can be planned with */
	for (uint32_t taken = 0; taken < 15; taken++)
		for (uint32_t fixed = 0; fixed < 16; fixed++) {
			struct others o = { .taken = taken, .fixed = fixed };
			const char *why;

			how.ctx = &o;
			l = plain;
			l.reserved = 1; /* a guess, before trying */
			schedule_limits_try(&l, &machine, &how);
			assert_true(l.tried);
			assert_int_equal(l.reserved, 0);
			assert_int_equal(__builtin_popcount(l.taken), __builtin_popcount(taken));
			assert_int_equal(l.general_held, __builtin_popcount(taken));
			/* nothing counts on the last of them here: no event says it is held */
			assert_int_equal(l.fixed_taken, fixed & 11);
			assert_true(taken || fixed & 11 ? o.tries > 1 : o.tries == 1);
			for (uint32_t e = ANY_0; e <= ONLY_2; e++)
				assert_int_equal(schedule_fits(&machine, &l, &e, 1, &why),
						 find_room(&e, 1, 15 & ~taken, 0, 0));
		}
	/* all of them: a plan for one is ready for when it is free */
	how.ctx = &(struct others){ .taken = 15 };
	l = plain;
	schedule_limits_try(&l, &machine, &how);
	assert_int_equal(l.general_held, 4);
	assert_int_equal(l.reserved, 3);
	/* who makes room keeps no event off, but takes a counter */
	how.ctx = &(struct others){ .moving = 1 };
	l = plain;
	schedule_limits_try(&l, &machine, &how);
	assert_int_equal(l.general_held, 1);
	{
		const char *why;

		FITS(&l, ONLY_2, LOW_0, LOW_1);
		FITS(&l, ANY_0, ANY_1, ANY_2);
		BREAKS(&l, ANY_0, ANY_1, ANY_2, ANY_3);
	}
	/* nobody may ask: then it stays as supposed */
	how.fits = not_allowed;
	l = plain;
	l.reserved = 1;
	schedule_limits_try(&l, &machine, &how);
	assert_false(l.tried);
	assert_int_equal(l.reserved, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),     cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_registers),    cmocka_unit_test(test_special),
		cmocka_unit_test(test_place),	     cmocka_unit_test(test_make),
		cmocka_unit_test(test_more),	     cmocka_unit_test(test_limits),
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_beside),
		cmocka_unit_test(test_held),	     cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_what_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
