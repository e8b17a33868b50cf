/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of several rings in rounds come out in the order of time, as a sort of all has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyse/in_order.h"

#define RINGS  5
#define ROUNDS 60
#define MANY   (RINGS * ROUNDS * 20)

static uint32_t drawn(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % below;
}

static int by_time(const void *a, const void *b)
{
	const struct in_order_record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->r.seq < y->r.seq ? -1 : 1;
}

static struct in_order_record all[MANY], out[MANY];

static size_t take(struct in_order *o, size_t n)
{
	while (in_order_next(o, &out[n]))
		n++;
	return n;
}

/* Each ring is in order; what a ring has when a round ends is written with it. */
static void test_rounds(void **unused)
{
	uint64_t now[RINGS] = { 0 };
	uint32_t state = 1;
	struct in_order o = { 0 };
	size_t n = 0, got = 0, most = 0;

	(void)unused;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t end = (round + 1) * 1000;

		for (unsigned ring = 0; ring < RINGS; ring++) {
			for (unsigned i = drawn(&state, 20); i && now[ring] < end; i--) {
				now[ring] += drawn(&state, 300);
				all[n] = (struct in_order_record){ { .seq = n }, now[ring], ring };
				in_order_put(&o, &all[n++]);
			}
			if (now[ring] < end)
				now[ring] = end;
		}
		in_order_round(&o);
		got = take(&o, got);
		most = n - got > most ? n - got : most;
	}
	in_order_finish(&o);
	got = take(&o, got);
	in_order_free(&o);
	assert_int_equal(got, n);
	assert_in_range(most, 1, 3 * RINGS * 20);
	qsort(all, n, sizeof(*all), by_time);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(all[i].r.seq, out[i].r.seq);
}

static void test_late(void **unused)
{
	const uint64_t times[] = { 10, 10, 30, 20, 5 };
	const uint64_t expected[] = { 0, 1, 4, 3, 2 };
	struct in_order o = { 0 };
	size_t got;

	(void)unused;
	for (size_t i = 0; i < 5; i++) {
		const struct in_order_record r = { { .seq = i }, times[i], 0 };

		if (i == 2) {
			in_order_round(&o);
			assert_int_equal(take(&o, 0), 0);
			in_order_round(&o);
			assert_int_equal(take(&o, 0), 2);
		}
		in_order_put(&o, &r);
	}
	in_order_finish(&o);
	got = take(&o, 2);
	assert_int_equal(got, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(out[i].r.seq, expected[i]);
	in_order_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
