/* SPDX-License-Identifier: BSD-3-Clause */
/* Places in objects: which ones are kept where there are too many, against counts by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyse/memory/memory_places_int.h"

enum { MANY = 3 * PLACES_MOST, FEW = 100, WORKERS = 3 };

static void want(struct memory_places *w)
{
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(
			vec_push(&w->of, ((struct places_of){ .wanted = true, .object = i })), 0);
}

/* Offset i of object 0 has 1 + i % 4 samples, of object 1 one of the first FEW. */
static void add(struct memory_places *w, uint32_t object, uint64_t off)
{
	const struct memop op = { .has = MEMOP_HAS_ADDRESS, .address = off };
	const uint64_t access[2] = { off % 7, 0 };

	assert_int_equal(memory_places_add(w, object, &op, access, 0, MANY), 0);
}

/* One of three workers sees few samples, one many. */
static unsigned worker_of(uint32_t i, unsigned workers)
{
	i %= 16;
	return workers == 1 ? 0 : i < 1 ? 0 : i < 3 ? 1 : 2;
}

static void add_some(struct memory_places *w, unsigned worker, unsigned workers, bool backwards)
{
	for (uint32_t k = 0; k < MANY; k++) {
		uint32_t i = backwards ? MANY - 1 - k : k;

		for (uint32_t turn = 0; turn < 1 + i % 4; turn++)
			if (worker_of(i + turn, workers) == worker)
				add(w, 0, i);
		if (i < FEW && worker_of(i, workers) == worker)
			add(w, 1, i);
	}
}

/* By offset the samples of object 0; how many places it has. */
static size_t samples_of(struct memory_places *w, uint64_t *samples)
{
	uint64_t kept = 0, all = 0;
	size_t n = 0, others = 0;

	memory_places_pack(w);
	vec_each (&w->v, const struct memory_place *, p) {
		others += p->object == 1;
		if (p->object)
			continue;
		samples[p->off] += p->n.samples;
		kept += p->n.samples;
		n++;
	}
	for (uint32_t i = 0; i < MANY; i++) {
		assert_true(!samples[i] || samples[i] == 1 + i % 4);
		all += 1 + i % 4;
	}
	assert_int_equal(kept + w->of.v[0].left_out, all);
	assert_int_equal(others, FEW);
	assert_int_equal(w->of.v[1].left_out, 0);
	return n;
}

static void any_order(void **state)
{
	struct memory_places one = { .at = ITAB_INIT }, all = one, part[WORKERS] = { one };
	const uint32_t to[] = { 0, 1 };
	uint64_t *x = calloc(MANY, sizeof(*x)), *y = calloc(MANY, sizeof(*y));
	size_t n;

	(void)state;
	assert_non_null(x);
	assert_non_null(y);
	want(&one);
	add_some(&one, 0, 1, false);
	n = samples_of(&one, x);
	assert_in_range(n, PLACES_MOST / 4, PLACES_MOST);
	for (unsigned i = 0; i < WORKERS; i++) {
		want(&part[i]);
		add_some(&part[i], i, WORKERS, i & 1);
	}
	for (unsigned i = WORKERS; i-- > 0;) {
		assert_int_equal(memory_places_join(&all, &part[i], to), 0);
		memory_places_free(&part[i]);
	}
	assert_int_equal(samples_of(&all, y), n);
	assert_memory_equal(x, y, MANY * sizeof(*x));
	memory_places_free(&one);
	memory_places_free(&all);
	free(x);
	free(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(any_order) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
