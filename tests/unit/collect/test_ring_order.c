/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of several rings, cut by their ends or not, come in the order of their times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "collect/counters/ring_order.h"

enum { RINGS = 5, SIZE = 4096, RECORDS = 4000, CUT = 1 << 16 };

struct made {
	uint64_t time, number;
};

struct got {
	VEC(struct made) v;
	uint8_t part[CUT];
	size_t have;
	size_t time_at, time_back;
};

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A record, or the first part of one, whose rest comes next. */
static int take(void *ctx, const void *p, size_t len, struct err *err)
{
	struct got *g = ctx;
	struct made m;
	size_t size;

	(void)err;
	assert_true(g->have + len <= sizeof(g->part));
	memcpy(g->part + g->have, p, len);
	g->have += len;
	size = ld16(g->part + 6);
	assert_true(g->have <= size);
	if (g->have < size)
		return 0;
	m.time = ld32(g->part) == PERF_RECORD_SAMPLE ? ld64(g->part + g->time_at)
						     : ld64(g->part + size - g->time_back);
	m.number = ld32(g->part + 8); /* behind the head, in all of them */
	g->have = 0;
	return vec_push(&g->v, m);
}

struct test_ring {
	struct perf_event_mmap_page page;
	uint8_t data[SIZE];
};

static void put(struct test_ring *r, uint64_t at, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->data[(at + i) & (SIZE - 1)] = p[i];
}

/* False: no room. */
static bool write_record(struct test_ring *r, const struct got *g, uint64_t time, uint32_t number)
{
	uint8_t b[512] = { 0 };
	bool sample = any() & 1;
	size_t size = 64 + any() % 50 * 8;
	uint16_t n = (uint16_t)size;

	if (r->page.data_head + size - r->page.data_tail > SIZE)
		return false;
	st32(b, sample ? PERF_RECORD_SAMPLE : PERF_RECORD_MMAP2);
	memcpy(b + 6, &n, sizeof(n));
	st32(b + 8, number);
	st64(b + (sample ? g->time_at : size - g->time_back), time);
	put(r, r->page.data_head, b, size);
	r->page.data_head += size;
	return true;
}

static void check_fields(uint64_t type, size_t time_at, size_t time_back)
{
	const struct recorder_sink sink = { .data = take };
	struct recorder_sink mine = sink;
	const struct perf_event_attr attr = { .sample_type = type };
	struct test_ring *ring = calloc(RINGS, sizeof(*ring));
	struct got *g = calloc(1, sizeof(*g));
	struct ring_order o = { 0 };
	uint64_t time = 1000, written = 0, last = 0;
	uint8_t *seen = calloc(RECORDS, 1);

	assert_true(ring && g && seen);
	mine.ctx = g;
	g->time_at = time_at;
	g->time_back = time_back;
	ring_order_fields(&o, &attr);
	for (size_t i = 0; i < RINGS; i++)
		ring[i].page.data_head = ring[i].page.data_tail = any() % 1000 * 8;
	while (written < RECORDS) {
		for (size_t left = 1 + any() % 40; left && written < RECORDS; left--) {
			struct test_ring *r = &ring[any() % (RINGS - 1)]; /* one stays empty */

			time += any() % 3;
			written += write_record(r, g, time, (uint32_t)written);
		}
		for (size_t i = 0; i < RINGS; i++)
			assert_int_equal(
				ring_order_add(&o, &ring[i].page, ring[i].data, SIZE, NULL), 0);
		assert_int_equal(ring_order_drain(&o, &mine, NULL), 0);
		for (size_t i = 0; i < RINGS; i++)
			assert_int_equal(ring[i].page.data_tail, ring[i].page.data_head);
	}
	assert_int_equal(g->v.n, RECORDS);
	for (size_t i = 0; i < g->v.n; i++) {
		assert_true(g->v.v[i].time >= last);
		last = g->v.v[i].time;
		assert_true(g->v.v[i].number < RECORDS && !seen[g->v.v[i].number]);
		seen[g->v.v[i].number] = 1;
	}
	vec_free(&g->v);
	ring_order_free(&o);
	free(ring);
	free(seen);
	free(g);
}

static void test_order(void **state)
{
	uint64_t usual = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

	(void)state;
	check_fields(usual, 24, 8);
	check_fields(usual | PERF_SAMPLE_CPU, 24, 16);
	check_fields(usual | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER, 32, 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
