/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums over spans of waits: an example whose sums are written out, and quantiles of drawn spans by
 * their definition; error bars by their formula.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/wait/wait_int.h"
#include "base/xalloc.h"

static struct wait out;
static struct wait_work work;
static uint32_t at[] = { 0, 11, 12, 11 }; /* places of chains 0 to 3: two have the same */

static void begin(size_t threads)
{
	out = (struct wait){ 0 };
	work = (struct wait_work){ .out = &out, .at = at };
	out.work = &work;
	for (size_t i = 0; i < threads; i++) {
		const struct wait_thread t = { .wanted = true };

		assert_int_equal(vec_push(&work.thread, t), 0);
	}
}

static void span(struct wait_span s, uint64_t time)
{
	struct wait_thread *t = &work.thread.v[s.thread];

	s.from = t->until;
	s.until = t->until += time;
	assert_int_equal(vec_push(&work.span, s), 0);
}

static void sum(void)
{
	wait_sum(&work);
}

static void end(void)
{
	free(out.place_sum);
	free(out.chain_sum);
	free(out.waker);
	vec_free(&work.thread);
	vec_free(&work.span);
}

static void is_time(const struct wait_time *t, uint64_t n, uint64_t time, uint64_t most)
{
	assert_int_equal(t->n, n);
	assert_int_equal(t->time, time);
	assert_int_equal(t->most, most);
}

static void is_at(const struct wait_at *a, uint32_t place, uint32_t chain, uint8_t reason,
		  uint64_t n, uint64_t time, uint64_t most)
{
	assert_int_equal(a->place, place);
	if (chain)
		assert_int_equal(a->chain, chain);
	assert_int_equal(a->reason, reason);
	is_time(&a->t, n, time, most);
}

#define NONE	    .waker = WAIT_NOBODY
#define BY(who, at) .waker = (who), .waker_place = (at)

static void by_hand(void **state)
{
	(void)state;
	begin(3);
	work.thread.v[2].wanted = false;
	span((struct wait_span){ .reason = WAIT_RAN, NONE }, 1000);
	span((struct wait_span){ .reason = WAIT_LOCK, .chain = 1, BY(1, 5) }, 64);
	span((struct wait_span){ .reason = WAIT_WOKEN, .chain = 1, BY(1, 5) }, 1);
	span((struct wait_span){ .reason = WAIT_LOCK, .chain = 3, BY(1, 5) }, 300);
	span((struct wait_span){ .reason = WAIT_LOCK, .chain = 2, BY(1, 6) }, 127);
	span((struct wait_span){ .reason = WAIT_SLEEP, .chain = 1, .guessed = true, NONE }, 128);
	span((struct wait_span){ .reason = WAIT_IDLE, .chain = 2, NONE }, 9000);
	span((struct wait_span){ .reason = WAIT_LOST, .chain = 2, NONE }, 70);
	span((struct wait_span){ .reason = WAIT_PREEMPTED, .thread = 1, NONE }, 5);
	span((struct wait_span){ .reason = WAIT_BEGUN, .thread = 1, NONE }, 3);
	span((struct wait_span){ .reason = WAIT_RAN, .thread = 1, NONE }, 2000);
	span((struct wait_span){ .reason = WAIT_LOCK, .thread = 1, .chain = 1, .waker_place = 5 },
	     10);
	span((struct wait_span){ .reason = WAIT_LOCK, .thread = 2, .chain = 1, .waker_place = 5 },
	     99);
	sum();
	/* of the thread itself, wanted or not */
	assert_int_equal(work.thread.v[0].time[WAIT_LOCK], 491);
	assert_int_equal(work.thread.v[0].time[WAIT_RAN], 1000);
	assert_int_equal(work.thread.v[2].time[WAIT_LOCK], 99);
	/* blocked or preempted, of those wanted: 4 locks, a sleep, an idle one, a preemption */
	assert_int_equal(out.waits, 7);
	assert_int_equal(out.guessed, 1);
	assert_int_equal(out.chainless, 1);
	is_time(&out.reason[WAIT_LOCK].t, 4, 501, 300);
	is_time(&out.reason[WAIT_RAN].t, 2, 3000, 2000);
	is_time(&out.reason[WAIT_LOST].t, 1, 70, 70);
	is_time(&out.reason[WAIT_POLL].t, 0, 0, 0);
	/* 10 is of 8 to 15, 64 and 127 of 64 to 127, 300 of 256 to 511 */
	assert_int_equal(out.reason[WAIT_LOCK].bucket[3], 1);
	assert_int_equal(out.reason[WAIT_LOCK].bucket[6], 2);
	assert_int_equal(out.reason[WAIT_LOCK].bucket[8], 1);
	assert_int_equal(out.reason[WAIT_SLEEP].bucket[7], 1);
	assert_int_equal(out.reason[WAIT_WOKEN].bucket[0], 1);
	/* by place: chains 1 and 3 are one; idle ones are last; running, lost ones are none */
	assert_int_equal(out.n_place_sums, 7);
	is_at(&out.place_sum[0], 11, 0, WAIT_LOCK, 3, 374, 300);
	is_at(&out.place_sum[1], 11, 1, WAIT_SLEEP, 1, 128, 128);
	is_at(&out.place_sum[2], 12, 2, WAIT_LOCK, 1, 127, 127);
	is_at(&out.place_sum[3], 0, 0, WAIT_PREEMPTED, 1, 5, 5);
	is_at(&out.place_sum[4], 0, 0, WAIT_BEGUN, 1, 3, 3);
	is_at(&out.place_sum[5], 11, 1, WAIT_WOKEN, 1, 1, 1);
	is_at(&out.place_sum[6], 12, 2, WAIT_IDLE, 1, 9000, 9000);
	assert_int_equal(out.n_chain_sums, 8);
	is_at(&out.chain_sum[0], 11, 3, WAIT_LOCK, 1, 300, 300);
	is_at(&out.chain_sum[1], 11, 1, WAIT_SLEEP, 1, 128, 128);
	is_at(&out.chain_sum[3], 11, 1, WAIT_LOCK, 2, 74, 64);
	/* who ended what of whom, from where; a wake-up's wait is of the CPU */
	assert_int_equal(out.n_wakers, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(out.waker[i].reason, WAIT_LOCK);
	is_time(&out.waker[0].t, 2, 364, 300);
	assert_int_equal(out.waker[0].waker, 1);
	assert_int_equal(out.waker[0].thread, 0);
	assert_int_equal(out.waker[0].place, 5);
	is_time(&out.waker[1].t, 1, 127, 127);
	assert_int_equal(out.waker[1].place, 6);
	is_time(&out.waker[2].t, 1, 10, 10);
	assert_int_equal(out.waker[2].waker, 0);
	assert_int_equal(out.waker[2].thread, 1);
	end();
}

/* What lasted as long stands in the order of its numbers; idle ones behind all others. */
static void equal_times(void **state)
{
	static const uint8_t reason[] = { WAIT_BEFORE, WAIT_IDLE, WAIT_POLL, WAIT_LOCK };

	(void)state;
	begin(2);
	for (uint32_t chain = 3; chain > 0; chain--)
		for (size_t i = 0; i < 4; i++)
			for (uint32_t waker = 4; waker > 2; waker--)
				span((struct wait_span){ .reason = reason[i],
							 .chain = chain,
							 .thread = waker % 2,
							 .waker = waker },
				     16);
	sum();
	assert_int_equal(out.n_chain_sums, 12);
	for (size_t i = 1; i < 12; i++) {
		const struct wait_at *a = &out.chain_sum[i - 1], *b = &out.chain_sum[i];
		bool ia = a->reason == WAIT_IDLE || a->reason == WAIT_BEFORE;
		bool ib = b->reason == WAIT_IDLE || b->reason == WAIT_BEFORE;

		is_time(&b->t, 2, 32, 16);
		assert_true(ia <= ib);
		if (ia != ib)
			continue;
		assert_true(a->place <= b->place);
		if (a->place != b->place)
			continue;
		assert_true(a->reason <= b->reason);
		if (a->reason == b->reason)
			assert_true(a->chain < b->chain);
	}
	assert_int_equal(out.n_wakers, 8); /* two pairs of threads, four reasons; any chain */
	for (size_t i = 0; i < 8; i++) {
		is_time(&out.waker[i].t, 3, 48, 16);
		assert_int_equal(out.waker[i].thread, i / 2 % 2);
		assert_int_equal(out.waker[i].waker, i / 2 % 2 ? 3 : 4);
		assert_int_equal(out.waker[i].reason == WAIT_IDLE ||
					 out.waker[i].reason == WAIT_BEFORE,
				 i >= 4);
	}
	end();
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The least that at least so many per cent of the spans do not exceed. */
static uint64_t quantile(const uint64_t *v, size_t n, size_t percent)
{
	for (size_t i = 0; i < n; i++)
		if ((i + 1) * 100 >= percent * n)
			return v[i];
	return 0;
}

static void quantiles(void **state)
{
	static uint64_t v[220];
	uint32_t seed = 99;

	(void)state;
	for (size_t n = 1; n <= 220; n += n < 12 ? 1 : 29) {
		begin(2);
		work.thread.v[1].wanted = false;
		for (size_t i = 0; i < n; i++) {
			seed = seed * 1664525 + 1013904223;
			v[i] = 1 + (seed >> 16) % 5000;
			span((struct wait_span){ .reason = WAIT_POLL, NONE }, v[i]);
			span((struct wait_span){ .reason = WAIT_POLL, .thread = 1, NONE }, 1);
			span((struct wait_span){ .reason = WAIT_PIPE, NONE }, 7000);
			span((struct wait_span){ .reason = WAIT_RAN, NONE }, 2);
		}
		qsort(v, n, sizeof(*v), by_number);
		sum();
		assert_int_equal(out.reason[WAIT_POLL].p50, quantile(v, n, 50));
		assert_int_equal(out.reason[WAIT_POLL].p90, quantile(v, n, 90));
		assert_int_equal(out.reason[WAIT_POLL].p99, quantile(v, n, 99));
		assert_int_equal(out.reason[WAIT_PIPE].p50, 7000);
		assert_int_equal(out.reason[WAIT_RAN].p99, 2);
		assert_int_equal(out.reason[WAIT_LOCK].p99, 0);
		end();
	}
}

/* ---- error bars ------------------------------------------------------------------------------ */

static double bar_of(double variance)
{
	return 1.959963984540054 * sqrt(variance);
}

static void has_bar(const struct wait_time *t, double variance)
{
	assert_true(fabs(t->bar - bar_of(variance)) < 1e-6 * (1 + bar_of(variance)));
}

/* Four slices, whose variances T^2 p (1 - p) / n with p = (x + 1/2) / (n + 1) are written out. */
static void bars(void **state)
{
	enum { A = WAIT_SLEEP, B = WAIT_PIPE };
	static uint32_t place[] = { 0, 11, 12, 11, 13 };
	static uint8_t reason[] = { 0, A, B, A, WAIT_THROTTLED };
	static const uint32_t donors[] = { 1, 1, 2, 3, 2, 4, 2 };
	const struct donor_slice slices[] = {
		{ .thread = 0, .first = 0, .n = 4, .time = 1000, .woken = 200 },
		{ .thread = 0, .preempted = true, .first = 4, .n = 1, .time = 300, .woken = 100 },
		{ .thread = 0, .preempted = true, .first = 5, .n = 1, .time = 10 },
		{ .thread = 1, .first = 6, .n = 1, .time = 1e9, .woken = 1e9 }, /* not wanted */
	};
	struct wait_at by_place[] = { { .place = 11, .reason = A },
				      { .place = 12, .reason = B },
				      { .place = 12, .reason = WAIT_PREEMPTED },
				      { .place = 11, .reason = WAIT_WOKEN },
				      { .place = 12, .reason = WAIT_WOKEN },
				      { .place = 13, .reason = WAIT_THROTTLED },
				      { .place = 13, .reason = A } };
	struct wait_at by_chain[] = { { .chain = 1, .reason = A },
				      { .chain = 2, .reason = B },
				      { .chain = 3, .reason = A },
				      { .chain = 2, .reason = WAIT_PREEMPTED },
				      { .chain = 1, .reason = WAIT_WOKEN } };

	(void)state;
	begin(2);
	work.thread.v[1].wanted = false;
	work.at = place;
	work.reason = reason;
	for (size_t i = 0; i < sizeof(donors) / sizeof(*donors); i++)
		vec_xpush(&work.donor, donors[i]);
	for (size_t i = 0; i < sizeof(slices) / sizeof(*slices); i++)
		vec_xpush(&work.slice, slices[i]);
	out.place_sum = by_place;
	out.n_place_sums = sizeof(by_place) / sizeof(*by_place);
	out.chain_sum = by_chain;
	out.n_chain_sums = sizeof(by_chain) / sizeof(*by_chain);
	wait_bars(&work);
	has_bar(&out.reason[A].t, 1e6 * 0.7 * 0.3 / 4); /* 3 of 4 */
	has_bar(&out.reason[B].t, 1e6 * 0.3 * 0.7 / 4);
	has_bar(&out.reason[WAIT_PREEMPTED].t, 9e4 * 0.75 * 0.25);
	has_bar(&out.reason[WAIT_THROTTLED].t, 100 * 0.75 * 0.25);
	has_bar(&out.reason[WAIT_WOKEN].t, 0);
	has_bar(&by_place[0].t, 1e6 * 0.7 * 0.3 / 4);
	has_bar(&by_place[1].t, 1e6 * 0.3 * 0.7 / 4);
	has_bar(&by_place[2].t, 9e4 * 0.75 * 0.25);
	has_bar(&by_place[3].t, 4e4 * 0.7 * 0.3 / 4);
	has_bar(&by_place[4].t, 4e4 * 0.3 * 0.7 / 4 + 1e4 * 0.75 * 0.25);
	has_bar(&by_place[5].t, 100 * 0.75 * 0.25);
	has_bar(&by_place[6].t, 0);
	has_bar(&by_chain[0].t, 1e6 * 0.5 * 0.5 / 4); /* 2 of 4 */
	has_bar(&by_chain[1].t, 1e6 * 0.3 * 0.7 / 4);
	has_bar(&by_chain[2].t, 1e6 * 0.3 * 0.7 / 4);
	has_bar(&by_chain[3].t, 9e4 * 0.75 * 0.25);
	has_bar(&by_chain[4].t, 4e4 * 0.5 * 0.5 / 4);
	vec_free(&work.donor);
	vec_free(&work.slice);
	vec_free(&work.thread);
	vec_free(&work.span);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(equal_times),
		cmocka_unit_test(quantiles),
		cmocka_unit_test(bars),
	};

	return cmocka_run_group_tests_name("analyse/wait_sum", tests, NULL, NULL);
}
