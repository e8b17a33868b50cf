/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verdicts on cache lines: each is written out by hand for a few accesses, with the chances of
 * sharing.h computed beside it; what is at stake against the sums over single samples.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/sharing/sharing_int.h"

enum { LOAD = 1, STORE = 2, ATOMIC = 4 };

struct case_of {
	enum sharing_verdict verdict;
	const char *why; /* a part of it; NULL: there is none */
	struct {
		uint32_t offset, width, tid;
		int how;
		uint32_t samples;
		uint64_t first, last;
	} a[6];
	uint32_t readers, writers;
	uint32_t hitm_local, hitm_remote;
	bool no_stores;
};

static struct sharing_line judge(const struct case_of *c)
{
	struct sharing_access a[6] = { 0 };
	struct sharing_line l = { 0 };

	for (size_t i = 0; i < 6 && c->a[i].samples; i++) {
		uint64_t n = c->a[i].samples;

		a[i] = (struct sharing_access){ .offset = c->a[i].offset,
						.width = c->a[i].width,
						.pid = 7,
						.tid = c->a[i].tid,
						.first = c->a[i].first,
						.last = c->a[i].last };
		a[i].n.samples = n;
		a[i].n.loads = c->a[i].how & LOAD ? n : 0;
		a[i].n.stores = c->a[i].how & STORE ? n : 0;
		a[i].n.locked = c->a[i].how & ATOMIC ? 1 : 0;
		l.n.samples += n;
		l.n_accesses++;
	}
	l.n.hitm_local = c->hitm_local;
	l.n.hitm_remote = c->hitm_remote;
	sharing_judge(&l, a, !c->no_stores);
	return l;
}

/* Times 0 to 9 of all: nobody has a turn. */
#define AT 0, 9

static const struct case_of cases[] = {
	/* separate bytes: 4 more at one place, 4 more at another: chance 1/2 each; 8 ln 2 = 5.5 */
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 4, 1, STORE, 5, AT }, { 8, 4, 2, STORE, 5, AT } },
	  .readers = 0,
	  .writers = 2 },
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 4, 1, LOAD, 5, AT }, { 8, 4, 2, STORE, 5, AT } },
	  .readers = 1,
	  .writers = 1 },
	/* (2 + 2) ln 2 = 2.77 is below 3; 2 ln(7/3) + 3 ln(7/4) = 3.37 is above */
	{ SHARING_UNKNOWN,
	  "too few",
	  { { 0, 4, 1, STORE, 3, AT }, { 8, 4, 2, STORE, 3, AT } },
	  .readers = 0,
	  .writers = 2 },
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 4, 1, STORE, 3, AT }, { 8, 4, 2, STORE, 4, AT } },
	  .readers = 0,
	  .writers = 2 },
	/* one place counts once, however many instructions: 5 of 5 are like 2 + 3 */
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 4, 1, STORE, 2, AT }, { 0, 4, 1, LOAD, 3, AT }, { 8, 4, 2, STORE, 5, AT } },
	  .readers = 1,
	  .writers = 2 },
	{ SHARING_UNKNOWN, /* 2 ln 2 + 2 ln 2 again, not with 3 and 3 */
	  "too few",
	  { { 0, 4, 1, STORE, 1, AT }, { 0, 4, 1, LOAD, 2, AT }, { 8, 4, 2, STORE, 3, AT } },
	  .readers = 1,
	  .writers = 2 },
	/* one byte of both; who writes is also who reads, or not */
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE, 5, AT }, { 0, 4, 2, LOAD, 5, AT } },
	  .readers = 1,
	  .writers = 1 },
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 8, 1, STORE, 5, AT }, { 7, 1, 2, LOAD, 5, AT } },
	  .readers = 1,
	  .writers = 1 },
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 8, 1, STORE, 5, AT }, { 8, 1, 2, LOAD, 5, AT } },
	  .readers = 1,
	  .writers = 1 },
	/* without a width it is one byte */
	{ SHARING_TRUE,
	  NULL,
	  { { 3, 0, 1, STORE, 5, AT }, { 3, 0, 2, LOAD, 5, AT } },
	  .readers = 1,
	  .writers = 1 },
	{ SHARING_FALSE,
	  NULL,
	  { { 3, 0, 1, STORE, 5, AT }, { 4, 0, 2, LOAD, 5, AT } },
	  .readers = 1,
	  .writers = 1 },
	/* what reaches beyond the largest line is cut off there, not left out */
	{ SHARING_TRUE,
	  NULL,
	  { { 252, 8, 1, STORE, 5, AT }, { 255, 9, 2, LOAD, 5, AT } },
	  .readers = 1,
	  .writers = 1 },
	/* atomic at all shared bytes, or not at one of them */
	{ SHARING_LOCK,
	  NULL,
	  { { 0, 4, 1, STORE | LOAD | ATOMIC, 5, AT }, { 0, 4, 2, LOAD, 5, AT } },
	  .readers = 2,
	  .writers = 1 },
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE | ATOMIC, 5, AT },
	    { 0, 8, 2, LOAD, 5, AT },
	    { 4, 4, 1, STORE, 5, AT } },
	  .readers = 1,
	  .writers = 1 },
	{ SHARING_LOCK, /* byte 8 is atomic for nobody, but it is one thread's, who writes */
	  NULL,
	  { { 0, 4, 1, STORE | ATOMIC, 9, AT },
	    { 0, 4, 2, LOAD | ATOMIC, 9, AT },
	    { 8, 4, 1, STORE, 9, AT } },
	  .readers = 1,
	  .writers = 1 },
	/* a shared byte, and one of the reader alone; of the only writer alone: no need to move */
	{ SHARING_BOTH,
	  NULL,
	  { { 0, 4, 1, STORE, 9, AT }, { 0, 4, 2, LOAD, 9, AT }, { 8, 4, 2, LOAD, 9, AT } },
	  .readers = 1,
	  .writers = 1 },
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE, 9, AT }, { 0, 4, 2, LOAD, 9, AT }, { 8, 4, 1, LOAD, 9, AT } },
	  .readers = 2,
	  .writers = 1 },
	{ SHARING_BOTH, /* two write: then it is in the way of the other's */
	  NULL,
	  { { 0, 4, 1, STORE, 9, AT }, { 0, 4, 2, STORE, 9, AT }, { 8, 4, 1, LOAD, 9, AT } },
	  .readers = 1,
	  .writers = 2 },
	/* a byte that all read is one that keeps them on the line, as well */
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 4, 1, LOAD, 9, AT }, { 0, 4, 2, LOAD, 9, AT }, { 8, 4, 3, STORE, 9, AT } },
	  .readers = 2,
	  .writers = 1 },
	/* the first byte of a line is one like others */
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 1, 2, LOAD, 9, AT }, { 8, 4, 1, STORE, 9, AT } },
	  .readers = 1,
	  .writers = 1 },
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 1, 1, STORE, 9, AT }, { 8, 4, 2, LOAD, 9, AT } },
	  .readers = 1,
	  .writers = 1 },
	/* a thread is what all its accesses are */
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, LOAD, 5, AT }, { 0, 4, 1, STORE, 5, AT }, { 0, 4, 2, LOAD, 5, AT } },
	  .readers = 2,
	  .writers = 1 },
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE, 5, AT }, { 0, 4, 1, LOAD, 5, AT }, { 0, 4, 2, LOAD, 5, AT } },
	  .readers = 2,
	  .writers = 1 },
	/* 2 ln(7/3) + 3 ln(7/4) again: 2 and 1 are 3 of one place */
	{ SHARING_FALSE,
	  NULL,
	  { { 0, 4, 1, STORE, 2, AT }, { 0, 4, 1, LOAD, 1, AT }, { 8, 4, 2, STORE, 4, AT } },
	  .readers = 1,
	  .writers = 2 },
	/* what is one thread's ends where others' begin */
	{ SHARING_BOTH,
	  NULL,
	  { { 0, 4, 1, STORE, 9, AT }, { 4, 4, 2, STORE, 9, AT }, { 4, 4, 3, LOAD, 9, AT } },
	  .readers = 1,
	  .writers = 2 },
	{ SHARING_READ,
	  NULL,
	  { { 0, 4, 1, LOAD, 5, AT }, { 0, 4, 2, LOAD, 5, AT } },
	  .readers = 2,
	  .writers = 0 },
	{ SHARING_READ,
	  NULL,
	  { { 0, 4, 1, LOAD, 5, AT }, { 8, 4, 2, LOAD, 5, AT } },
	  .readers = 2,
	  .writers = 0 },
	/* what is not known */
	{ SHARING_UNKNOWN,
	  "another core had",
	  { { 0, 4, 1, STORE, 50, AT } },
	  .readers = 0,
	  .writers = 1 },
	{ SHARING_UNKNOWN,
	  "has no stores",
	  { { 0, 4, 1, LOAD, 50, AT }, { 8, 4, 2, LOAD, 50, AT } },
	  .readers = 2,
	  .writers = 0,
	  .no_stores = true },
	{ SHARING_UNKNOWN,
	  "no store to it",
	  { { 0, 4, 1, LOAD, 50, AT }, { 8, 4, 2, LOAD, 50, AT } },
	  .readers = 2,
	  .writers = 0,
	  .hitm_local = 1 },
	{ SHARING_UNKNOWN,
	  "no store to it",
	  { { 0, 4, 1, LOAD, 50, AT }, { 8, 4, 2, LOAD, 50, AT } },
	  .readers = 2,
	  .writers = 0,
	  .hitm_remote = 1 },
	{ SHARING_UNKNOWN,
	  "no store to it",
	  { { 0, 4, 1, LOAD, 50, AT }, { 8, 4, 2, LOAD, 50, AT } },
	  .readers = 2,
	  .writers = 0,
	  .hitm_local = 2,
	  .hitm_remote = 2 },
	{ SHARING_FALSE, /* a HITM of a line with stores is what stores do */
	  NULL,
	  { { 0, 4, 1, STORE, 5, AT }, { 8, 4, 2, LOAD, 5, AT } },
	  .readers = 1,
	  .writers = 1,
	  .hitm_remote = 3 },
	/* one after another: of 8! orders 2! 4! 4! stand so, ln 35 = 3.56; of 7! 2! 4! 3!: 2.86 */
	{ SHARING_TURNS,
	  NULL,
	  { { 0, 4, 1, STORE, 4, 0, 4 }, { 0, 4, 2, LOAD, 4, 5, 9 } },
	  .readers = 1,
	  .writers = 1 },
	{ SHARING_TURNS,
	  NULL,
	  { { 0, 4, 1, STORE, 4, 5, 9 }, { 0, 4, 2, LOAD, 4, 0, 4 } },
	  .readers = 1,
	  .writers = 1 },
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE, 4, 0, 4 }, { 0, 4, 2, LOAD, 3, 5, 9 } },
	  .readers = 1,
	  .writers = 1 },
	/* at the same time is not one after another */
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE, 9, 0, 5 }, { 0, 4, 2, LOAD, 9, 5, 9 } },
	  .readers = 1,
	  .writers = 1 },
	/* a thread's first and last are those of all its accesses */
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE, 9, 6, 7 }, { 0, 4, 2, LOAD, 9, 3, 4 }, { 4, 4, 1, LOAD, 9, 0, 1 } },
	  .readers = 2,
	  .writers = 1 },
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE, 9, 0, 1 }, { 0, 4, 2, LOAD, 9, 3, 4 }, { 4, 4, 1, LOAD, 9, 6, 7 } },
	  .readers = 2,
	  .writers = 1 },
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 1, STORE, 9, 0, 9 }, { 0, 4, 2, LOAD, 9, 2, 3 }, { 4, 4, 1, LOAD, 9, 5, 6 } },
	  .readers = 2,
	  .writers = 1 },
	/* three of them, in no order of theirs; two of these at the same time */
	{ SHARING_TURNS,
	  NULL,
	  { { 0, 4, 2, STORE, 4, 10, 14 },
	    { 0, 4, 1, LOAD, 4, 20, 24 },
	    { 0, 4, 3, LOAD, 4, 0, 4 } },
	  .readers = 2,
	  .writers = 1 },
	{ SHARING_TRUE,
	  NULL,
	  { { 0, 4, 2, STORE, 4, 10, 24 },
	    { 0, 4, 1, LOAD, 4, 20, 24 },
	    { 0, 4, 3, LOAD, 4, 0, 4 } },
	  .readers = 2,
	  .writers = 1 },
};

static void verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct case_of *c = &cases[i];
		struct sharing_line l = judge(c);

		if (l.verdict != c->verdict)
			fail_msg("case %zu: verdict %s, not %s", i, sharing_verdict_name(l.verdict),
				 sharing_verdict_name(c->verdict));
		if (!l.why != !c->why || (l.why && !strstr(l.why, c->why)))
			fail_msg("case %zu: \"%s\"", i, l.why ? l.why : "");
		if (l.readers != c->readers || l.writers != c->writers)
			fail_msg("case %zu: %u readers, %u writers", i, l.readers, l.writers);
	}
}

/* Up to 256 threads are told apart; more are at no time one after another for sure. */
static void crowd(void **state)
{
	static struct sharing_access a[300];

	(void)state;
	for (uint32_t n = 255; n <= 300; n += n < 258 ? 1 : 42) {
		struct sharing_line l = { .n_accesses = n };

		for (uint32_t i = 0; i < n; i++) {
			a[i] = (struct sharing_access){ .pid = 1 + i / 2,
							.tid = i % 2, /* both tell them apart */
							.width = 4,
							.first = 10 * i,
							.last = 10 * i + 5 };
			a[i].n.samples = a[i].n.loads = 4;
			a[i].n.stores = i == 3 ? 4 : 0;
			l.n.samples += 4;
		}
		sharing_judge(&l, a, true);
		assert_int_equal(l.threads, n < 256 ? n : 256);
		assert_int_equal(l.readers, l.threads);
		assert_int_equal(l.writers, 1);
		assert_int_equal(l.verdict, n <= 256 ? SHARING_TURNS : SHARING_TRUE);
	}
}

/* ---- what is at stake ------------------------------------------------------------------------ */

static void close_to(double a, double b)
{
	if (!(fabs(a - b) <= 1e-6 * fabs(b)))
		fail_msg("%.9g is not %.9g", a, b);
}

enum { N = 13 };
static const double latency[N] = { 90, 100, 250, 40, 310, 120, 75, 500, 60, 220, 180, 130, 95 };

static struct sharing_line timed(double period)
{
	struct sharing_line l = { .verdict = SHARING_FALSE };

	l.n.timed = N;
	for (size_t i = 0; i < N; i++) {
		double p = i % 2 ? period : 2 * period;

		l.weight += p * latency[i];
		l.weight2 += p * p * latency[i] * latency[i];
		l.weighted[WEIGHTED_PERIOD] += p;
		l.weighted[WEIGHTED_PERIOD2] += p * p;
		l.weighted[WEIGHTED_MIXED] += p * p * latency[i];
	}
	return l;
}

static void at_stake(void **state)
{
	struct sharing_line l = timed(100);
	const struct sharing s = { .usual = { 50, 4, NULL } };
	const double all = 4 * l.weight, all2 = 3 * l.weight2;
	double excess = 0, squares = 0, periods = 0, n, z2 = 1.959963985 * 1.959963985, wide;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		double p = i % 2 ? 100 : 200;

		excess += p * (latency[i] - 50);
		squares += p * p * (latency[i] - 50) * (latency[i] - 50);
		periods += p;
	}
	sharing_weigh(&l, &s, all, all2);
	close_to(l.stake.v, excess);
	/* Student's 97.5 % point of 12, wider for skewed draws: base/estimate.h */
	wide = 2.17881283 * (1 + 5 * sqrt(l.weight2) / l.weight);
	close_to(l.stake.half, hypot(wide * sqrt(squares), 4 * periods));
	assert_null(l.stake.why);
	/* Wilson's interval of a quarter, of as many draws as the weights are worth */
	n = all * all / all2;
	close_to(l.share.v, 0.25);
	close_to(l.share.half, sqrt(z2) * sqrt(0.25 * 0.75 / n + z2 / (4 * n * n)) / (1 + z2 / n));
	assert_null(l.share.why);
}

/* Lines of two kinds of loads, in which slow ones are rare: bars of 15 samples hold the truth. */
static unsigned held_of(unsigned rounds, double rare, bool knows_slow)
{
	const struct sharing s = { .usual = { 50, 0, NULL },
				   .moved = { knows_slow ? 100 : 0, 40000 } };
	uint64_t x = 88172645463325252u;
	unsigned held = 0;

	for (unsigned r = 0; r < rounds; r++) {
		struct sharing_line l = { .verdict = SHARING_FALSE, .n.timed = 15 };

		for (unsigned i = 0; i < 15; i++) {
			double v, y;

			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			y = (double)(x >> 11) / 9007199254740992.0;
			v = y < rare ? 300 + 200 * y / rare : 45 + 10 * y;
			l.n.hitm_local += y < rare;
			l.weight += 100 * v;
			l.weight2 += 1e4 * v * v;
			l.weighted[WEIGHTED_PERIOD] += 100;
			l.weighted[WEIGHTED_PERIOD2] += 1e4;
			l.weighted[WEIGHTED_MIXED] += 1e4 * v;
		}
		sharing_weigh(&l, &s, l.weight, l.weight2);
		/* the mean of the slow is 400, of the others 50 + 5 x rare */
		held += fabs(l.stake.v - 1500 * (rare * 350 + (1 - rare) * 5 * rare)) <=
			l.stake.half;
	}
	return held;
}

static void at_stake_by_chance(void **state)
{
	const double rare[] = { 0.02, 0.05, 0.1, 0.2, 0.4 };

	(void)state;
	for (size_t i = 0; i < sizeof(rare) / sizeof(*rare); i++)
		assert_true(held_of(1000, rare[i], true) >= 950);
	/* where no load is known to be slow there is nothing to tell how slow one would be */
	assert_true(held_of(1000, 0.1, false) < 850);
}

static void at_stake_of_none(void **state)
{
	struct sharing_line l = timed(100);
	struct sharing s = { .usual = { 1000, 4, NULL } };

	(void)state;
	sharing_weigh(&l, &s, l.weight, l.weight2);
	assert_true(l.stake.v <= 0 && l.stake.v >= 0); /* faster than usual costs nothing */
	assert_true(l.stake.half > 0);
	l.n.timed = N - 1;
	sharing_weigh(&l, &s, l.weight, l.weight2);
	assert_true(isnan(l.stake.half));
	assert_string_equal(l.stake.why, "too few samples");
	l.n.timed = N;
	for (int v = 0; v <= SHARING_UNKNOWN; v++) {
		bool none = v == SHARING_READ || v == SHARING_TURNS;

		l.verdict = (enum sharing_verdict)v;
		sharing_weigh(&l, &s, l.weight, l.weight2);
		assert_int_equal(isnan(l.stake.v) != 0, none);
		close_to(l.share.v, 1);
		if (none)
			assert_non_null(
				strstr(l.stake.why, v == SHARING_READ ? "writes it" : "one after"));
	}
	l.verdict = SHARING_TRUE;
	s.usual = ESTIMATE_NONE("no line of one thread");
	sharing_weigh(&l, &s, l.weight, l.weight2);
	assert_true(isnan(l.stake.v) && isnan(l.stake.half));
	assert_string_equal(l.stake.why, "no line of one thread");
	l.n.timed = 0;
	sharing_weigh(&l, &s, 1, 1);
	assert_true(isnan(l.stake.v) && isnan(l.share.v));
	assert_non_null(strstr(l.share.why, "no latency"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts),	    cmocka_unit_test(crowd),
		cmocka_unit_test(at_stake),	    cmocka_unit_test(at_stake_by_chance),
		cmocka_unit_test(at_stake_of_none),
	};

	return cmocka_run_group_tests_name("analyse/sharing", tests, NULL, NULL);
}
