/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * begin and end by rdpmc on counters that the test moves, takes off, resets and lets come round.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

#include <cmocka.h>

#include "fake.h"

#define PAIRS 1000000u

static struct fake f;

/* ---- the rule --------------------------------------------------------------------------- */

static void test_each_number_of_counters(void **state)
{
	(void)state;
	for (size_t n = 1; n <= FAST_READS; n++) {
		struct cyclade_region *r;
		struct table_sums s;

		fake_open(&f, n, 0);
		r = fake_region(&f);
		for (int i = 0; i < 100; i++) {
			cyclade_begin(r);
			for (size_t k = 0; k < n; k++)
				fake_counter[k] += 1000 * (k + 1) + (size_t)i;
			cyclade_end(r);
			for (size_t k = 0; k < n; k++)
				fake_counter[k] += 77; /* outside */
		}
		s = fake_sums(&f, r);
		assert_int_equal(s.runs, 100);
		assert_int_equal(s.slow, 0);
		for (size_t k = 0; k < n; k++)
			assert_true(s.total[k] == 100.0 * 1000 * (double)(k + 1) + 4950);
		fake_close(&f);
	}
}

/* 48 bits that come round while the kernel has not heard of it yet. */
static void test_wrap(void **state)
{
	struct cyclade_region *r;
	struct table_sums s;

	(void)state;
	fake_open(&f, 3, 0);
	r = fake_region(&f);
	for (size_t k = 0; k < 3; k++)
		fake_counter[k] = (1ull << 48) - 10 - k;
	cyclade_begin(r);
	for (size_t k = 0; k < 3; k++)
		fake_counter[k] = 4990 - k;
	cyclade_end(r);
	s = fake_sums(&f, r);
	for (size_t k = 0; k < 3; k++)
		assert_true(s.total[k] == 5000);
	/* and while it is folded */
	cyclade_begin(r);
	cyclade_end(r);
	fold(f.t);
	fake_counter[0] = (1ull << 48) - 1;
	cyclade_begin(r);
	fake_counter[0] = 1;
	cyclade_end(r);
	s = fake_sums(&f, r);
	assert_true(s.total[0] == 5002);
	assert_int_equal(s.slow, 0);
	fake_close(&f);
}

/* Moved to another counter, with an offset below 0, in the middle of a region. */
static void test_moved(void **state)
{
	struct cyclade_region *r;
	struct table_sums s;

	(void)state;
	fake_open(&f, 2, 0);
	r = fake_region(&f);
	fake_counter[0] = 500;
	fake_counter[1] = (1ull << 48) - 900; /* below 0 */
	cyclade_begin(r);
	/* after 1,000 and 2,000 counts: on 5 and 6, which begin as the kernel lets them begin */
	fake_counter[5] = (1ull << 48) - 5000;
	fake_page(&f, 0, 6, 1500 + 5000);
	fake_counter[6] = 123456;
	fake_page(&f, 1, 7, 1100 - 123456);
	fake_counter[0] = fake_counter[1] = 0xdeadbeef; /* somebody else's now */
	fake_counter[5] += 7000;			/* comes round */
	fake_counter[6] += 40;
	cyclade_end(r);
	s = fake_sums(&f, r);
	assert_int_equal(s.runs, 1);
	assert_int_equal(s.slow, 1);
	assert_true(s.total[0] == 8000);
	assert_true(s.total[1] == 2040);
	/* from here on by the rule again */
	cyclade_begin(r);
	fake_counter[5] += 3;
	cyclade_end(r);
	s = fake_sums(&f, r);
	assert_int_equal(s.slow, 1);
	assert_true(s.total[0] == 8003);
	fake_close(&f);
}

/* The inner region hears of the move first; the outer one's begin is not forgotten. */
static void test_moved_while_nested(void **state)
{
	struct cyclade_region *outer, *inner;
	struct table_sums s;

	(void)state;
	fake_open(&f, 1, 0);
	outer = fake_region(&f);
	inner = fake_region(&f);
	cyclade_begin(outer);
	fake_counter[0] += 100;
	fake_page(&f, 0, 4, (int64_t)fake_counter[0] - 1000000);
	fake_counter[3] = 1000000;
	fake_counter[0] = 0;
	cyclade_begin(inner);
	fake_counter[3] += 10;
	cyclade_end(inner);
	fake_counter[3] += 5;
	cyclade_end(outer);
	s = fake_sums(&f, inner);
	assert_true(s.total[0] == 10);
	assert_int_equal(s.lost, 0);
	s = fake_sums(&f, outer);
	assert_true(s.total[0] == 115);
	assert_int_equal(s.lost, 0);
	/* flags are down again: a move must be seen once more */
	cyclade_begin(outer);
	fake_counter[3] += 7;
	cyclade_end(outer);
	cyclade_begin(outer);
	fake_page(&f, 0, 1, 5000);
	fake_counter[0] = 0;
	cyclade_end(outer);
	s = fake_sums(&f, outer);
	assert_int_equal(s.lost, 0);
	/* the whole count went from 122 to 5000 */
	assert_true(s.total[0] == 115 + 7 + 5000 - 122);
	fake_close(&f);
}

/* Off the counters at the end, and for a whole run. */
static void test_off(void **state)
{
	struct cyclade_region *r;
	struct table_sums s;

	(void)state;
	fake_open(&f, 1, 0);
	r = fake_region(&f);
	fake_times(&f, 1000, 1000);
	cyclade_begin(r);
	fake_counter[0] += 50;
	cyclade_end(r);
	cyclade_begin(r);
	fake_counter[0] += 30;
	fake_page(&f, 0, 0, 80);
	fake_times(&f, 1600, 1500);
	cyclade_end(r);
	s = fake_sums(&f, r);
	assert_true(s.total[0] == 80);
	assert_true(s.off_ns[0] == 100);
	cyclade_begin(r);
	fake_times(&f, 1900, 1500);
	cyclade_end(r);
	s = fake_sums(&f, r);
	assert_int_equal(s.runs, 3);
	assert_true(s.total[0] == 80);
	assert_true(s.off_ns[0] == 400);
	fake_close(&f);
}

/* ---- what a caller may do wrong --------------------------------------------------------- */

static void test_begun_twice(void **state)
{
	struct cyclade_region *r;
	struct table_sums s;

	(void)state;
	fake_open(&f, 2, 0);
	r = fake_region(&f);
	cyclade_begin(r);
	fake_counter[0] += 1;
	cyclade_begin(r);
	cyclade_begin(r);
	fake_counter[0] += 10;
	cyclade_end(r);
	cyclade_end(r);
	fake_counter[0] += 100;
	cyclade_end(r);
	cyclade_end(r); /* one too many */
	s = fake_sums(&f, r);
	assert_int_equal(s.runs, 1);
	assert_int_equal(s.nested, 2);
	assert_int_equal(s.unmatched, 1);
	assert_true(s.total[0] == 111);
	cyclade_begin(r);
	fake_counter[0] += 5;
	cyclade_end(r);
	s = fake_sums(&f, r);
	assert_int_equal(s.runs, 2);
	assert_true(s.total[0] == 116);
	fake_close(&f);
}

static void *other_thread(void *arg)
{
	cyclade_begin(arg);
	cyclade_end(arg);
	return NULL;
}

static void test_other_thread(void **state)
{
	struct cyclade_region *r;
	struct table_sums s;
	pthread_t thread;

	(void)state;
	fake_open(&f, 2, 0);
	r = fake_region(&f);
	assert_int_equal(pthread_create(&thread, NULL, other_thread, r), 0);
	pthread_join(thread, NULL);
	s = fake_sums(&f, r);
	assert_int_equal(s.runs, 0);
	assert_int_equal(s.foreign, 2);
	cyclade_begin(r);
	cyclade_end(r);
	s = fake_sums(&f, r);
	assert_int_equal(s.runs, 1);
	fake_close(&f);
}

/* ---- in the middle ---------------------------------------------------------------------- */

static struct cyclade_region *handlers;
static bool move;

/* As a signal's handler does, or the kernel: counts a region of its own, moves a counter. */
static void in_the_middle(void)
{
	if (move) {
		uint64_t whole = fake_counter[0];

		fake_page(&f, 0, 4, (int64_t)whole - 777);
		fake_counter[3] = 777;
		fake_counter[0] = 424242;
	}
	if (handlers) {
		cyclade_begin(handlers);
		fake_counter[move ? 3 : 0] += 9;
		cyclade_end(handlers);
	}
}

/* Whatever happens at whichever reading of a pair: the sums are right, or the run is said to be
 * lost. */
static void test_middle_of_everything(void **state)
{
	(void)state;
	fake_hook = in_the_middle;
	for (uint64_t at = 1; at < 60; at++)
		for (int kind = 1; kind < 4; kind++) {
			struct cyclade_region *r;
			struct table_sums s;

			fake_open(&f, 4, 0);
			r = fake_region(&f);
			move = kind & 1;
			handlers = kind & 2 ? fake_region(&f) : NULL;
			fake_countdown = at;
			for (int i = 0; i < 4; i++) {
				bool moved = page_of(f.t, 0)->index == 4;

				cyclade_begin(r);
				moved = page_of(f.t, 0)->index == 4;
				fake_counter[moved ? 3 : 0] += 100;
				fake_counter[1] += 1000;
				cyclade_end(r);
			}
			s = fake_sums(&f, r);
			assert_int_equal(s.runs + s.lost, 4);
			assert_true(s.lost <= 1);
			/* what the handler counted may have fallen in */
			if (!s.lost)
				assert_true(s.total[0] == 400 || s.total[0] == 409);
			assert_true(s.total[1] == 1000.0 * (double)s.runs);
			if (handlers) {
				s = fake_sums(&f, handlers);
				assert_true(s.runs + s.lost <= 1);
				assert_true(!s.runs || s.total[0] == 9);
			}
			fake_close(&f);
		}
	fake_hook = NULL;
}

/* ---- PERF_METRICS ----------------------------------------------------------------------- */

static unsigned resets;
static uint64_t at_reset_slots, at_reset_metrics;

/* The kernel's: registers begin at 0, the page changes. */
int ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	if (request != PERF_EVENT_IOC_RESET)
		return -1;
	resets++;
	at_reset_slots = fake_counter[FAKE_SLOTS];
	at_reset_metrics = fake_counter[FAKE_METRICS];
	fake_counter[FAKE_SLOTS] = 0;
	fake_page(&f, 0, (1u << 30 | 3) + 1, 0);
	return 0;
}

static uint64_t lcg(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

struct expected {
	uint64_t field[TABLE_FIELDS], slots;
};

static void expect(struct expected *e, uint64_t s0, uint64_t m0, uint64_t s1, uint64_t m1)
{
	for (size_t i = 0; i < TABLE_FIELDS; i++)
		e->field[i] += (m1 >> 8 * i & 255) * s1 - (m0 >> 8 * i & 255) * s0;
	e->slots += s1 - s0;
}

static void check(struct cyclade_region *r, const struct expected *e, size_t fields)
{
	struct table_sums s = fake_sums(&f, r);

	for (size_t i = 0; i < fields; i++)
		assert_true(s.field[i] == (double)(int64_t)e->field[i] / 255);
	assert_true(s.total[0] == (double)e->slots);
	assert_int_equal(s.lost, 0);
}

/* A million pairs over a register that says something else each time, begun anew again and again in
 * the middle; an outer region is open over all of it. */
static void scripted(size_t reads, size_t fields)
{
	struct cyclade_region *outer, *inner;
	struct expected in = { .slots = 0 }, out = { .slots = 0 };
	uint64_t seed = 42, plain = 0, s0, m0, out_s, out_m;

	fake_open(&f, reads, fields);
	resets = 0;
	f.t->reset_fd = 99;
	outer = fake_region(&f);
	inner = fake_region(&f);
	out_s = fake_counter[FAKE_SLOTS];
	out_m = fake_counter[FAKE_METRICS] = 0x0102030405060708;
	cyclade_begin(outer);
	for (uint32_t i = 0; i < PAIRS; i++) {
		unsigned before = resets;

		/* a reset is due at a begin, at an end, or at neither */
		f.t->next = i % 1000 == 500 ? 0 : UINT64_MAX;
		fake_counter[FAKE_METRICS] = lcg(&seed) << 33 ^ lcg(&seed) << 7;
		fake_counter[FAKE_SLOTS] += lcg(&seed) % 100000;
		cyclade_begin(inner);
		if (resets != before) {
			expect(&out, out_s, out_m, at_reset_slots, at_reset_metrics);
			out_s = 0;
			out_m = fake_counter[FAKE_METRICS];
		}
		before = resets;
		s0 = fake_counter[FAKE_SLOTS];
		m0 = fake_counter[FAKE_METRICS];
		fake_counter[FAKE_METRICS] = lcg(&seed) << 33 ^ lcg(&seed) << 9;
		fake_counter[FAKE_SLOTS] += lcg(&seed) % 100000;
		fake_counter[2] += 3;
		plain += 3;
		expect(&in, s0, m0, fake_counter[FAKE_SLOTS], fake_counter[FAKE_METRICS]);
		f.t->next = i % 1000 == 0 ? 0 : UINT64_MAX;
		cyclade_end(inner);
		if (resets != before) {
			expect(&out, out_s, out_m, at_reset_slots, at_reset_metrics);
			out_s = 0;
			out_m = fake_counter[FAKE_METRICS];
		}
	}
	expect(&out, out_s, out_m, fake_counter[FAKE_SLOTS], fake_counter[FAKE_METRICS]);
	cyclade_end(outer);
	assert_int_equal(resets, 2 * (PAIRS / 1000));
	check(inner, &in, fields);
	check(outer, &out, fields);
	assert_int_equal(fake_sums(&f, inner).runs, PAIRS);
	if (reads > 2) {
		assert_true(fake_sums(&f, inner).total[2] == (double)plain);
		assert_true(fake_sums(&f, outer).total[2] == (double)plain);
	}
	fake_close(&f);
}

static void test_level_1(void **state)
{
	(void)state;
	scripted(2, 4);
}

static void test_level_2(void **state)
{
	(void)state;
	scripted(4, 8);
}

/* Somebody else begins the register anew: no number is made up. */
static void test_reset_by_others(void **state)
{
	struct cyclade_region *r;
	struct table_sums s;

	(void)state;
	fake_open(&f, 2, 4);
	r = fake_region(&f);
	fake_counter[FAKE_SLOTS] = 1000000;
	cyclade_begin(r);
	(void)ioctl(0, PERF_EVENT_IOC_RESET, 0);
	fake_counter[FAKE_SLOTS] = 500;
	cyclade_end(r);
	s = fake_sums(&f, r);
	assert_int_equal(s.runs, 0);
	assert_int_equal(s.lost, 1);
	fake_close(&f);
}

/* The squares for the error bar: each reading's slots since the last reset. */
static void test_error(void **state)
{
	struct cyclade_region *r;
	uint64_t slots = 1ull << 36;

	(void)state;
	fake_open(&f, 2, 8);
	r = fake_region(&f);
	fake_counter[FAKE_SLOTS] = slots;
	for (int i = 0; i < 3; i++) {
		cyclade_begin(r);
		cyclade_end(r);
	}
	assert_true(fake_sums(&f, r).err2 == 6 * (double)slots * (double)slots);
	fake_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_number_of_counters),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_moved_while_nested),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_begun_twice),
		cmocka_unit_test(test_other_thread),
		cmocka_unit_test(test_middle_of_everything),
		cmocka_unit_test(test_level_1),
		cmocka_unit_test(test_level_2),
		cmocka_unit_test(test_reset_by_others),
		cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
