/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/profile/profile_count.h"
#include "base/hash.h"

#define ADDRS  3001u
#define KINDS  7u
#define EVENTS 3u

/* What must come out, in a plain array. */
static struct weight want[ADDRS][KINDS];

static struct count_group key_of(unsigned kind, uint64_t period)
{
	/* two that differ only by event, two only by comm */
	return (struct count_group){ .comm = kind == 3 ? 9 : 8,
				     .image = kind / 4,
				     .event = kind % EVENTS == 2 ? 1 : kind % EVENTS,
				     .tid = kind,
				     .period = period };
}

static struct weight weight_of(const struct counts *c, const struct count_slot *o)
{
	struct weight w = { 0, 0, 0 };

	if (o->n >= COUNT_MORE)
		return c->more.v[o->n - COUNT_MORE];
	weight_add_n(&w, o->n, c->group.v[o->group].period);
	return w;
}

static void check(const struct counts *c)
{
	static struct weight have[ADDRS][KINDS];
	size_t n = 0;

	memset(have, 0, sizeof(have));
	for (size_t i = 0; i < c->cap; i++) {
		const struct count_slot *o = &c->slot[i];
		struct weight w;

		if (!o->n)
			continue;
		n++;
		w = weight_of(c, o);
		assert_true(o->addr < ADDRS);
		weight_sum(&have[o->addr][c->group.v[o->group].tid], &w);
	}
	assert_int_equal(n, c->n);
	assert_memory_equal(have, want, sizeof(have));
}

/* `periods`: how many different ones there are. */
static void run(unsigned samples, unsigned periods, uint32_t full)
{
	struct counts c;

	memset(want, 0, sizeof(want));
	assert_int_equal(counts_init(&c, EVENTS, periods), 0);
	c.full = full;
	for (unsigned i = 0; i < samples; i++) {
		uint64_t r = hash_u64(i);
		uint64_t addr = (r & 1023) * (r >> 10 & 1023) % ADDRS;
		unsigned kind = (unsigned)(r >> 20) % KINDS;
		uint64_t period = 1000 + (r >> 40) % periods;
		struct count_group key = key_of(kind, period);
		uint32_t g = counts_group(&c, &key);

		assert_true(g != ITAB_NONE);
		assert_true(counts_fits(&c, g, period));
		assert_int_equal(counts_add(&c, addr, g, period), 0);
		weight_add(&want[addr][kind], period);
	}
	assert_int_equal(counts_settle(&c), 0);
	check(&c);
	counts_free(&c);
}

static void counts_all(void **state)
{
	(void)state;
	run(0, 1, COUNT_MORE - 1);
	run(1, 1, COUNT_MORE - 1);
	run(100000, 1, COUNT_MORE - 1);
	run(100000, 5, COUNT_MORE - 1);
	run(100000, 100000, COUNT_MORE - 1);
}

static void full_slots(void **state)
{
	(void)state;
	run(100000, 1, 1);
	run(100000, 1, 3);
	run(100000, 4, 5);
}

static void few_periods_few_groups(void **state)
{
	struct counts c;

	(void)state;
	assert_int_equal(counts_init(&c, EVENTS, 0), 0);
	for (uint64_t i = 0; i < 10000; i++) {
		struct count_group key = key_of(0, 1 + i);

		assert_true(counts_group(&c, &key) != ITAB_NONE);
	}
	assert_true(c.group.n < 16);
	assert_true(vec_last(&c.group)->varies);
	counts_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_all),
		cmocka_unit_test(full_slots),
		cmocka_unit_test(few_periods_few_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
