/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "collect/latency.h"
#include "../skip.h"

#define RUN 4096

static size_t put_record(uint8_t *to, uint32_t type, uint16_t size, uint64_t a, uint64_t b)
{
	memset(to, 0, size);
	st32(to, type);
	st32(to + 4, (uint32_t)size << 16);
	if (size >= 24) {
		st64(to + 8, a);
		st64(to + 16, b);
	}
	return size;
}

/* 40 samples of 10 and 30 cycles, others of another event, and what is not a sample of ours. */
static size_t put_run(uint8_t *to)
{
	size_t n = 0;

	for (unsigned i = 0; i < 40; i++) {
		uint64_t cycles = i % 2 ? 30 : 10;

		/* the latency of the instruction and of its load stand below it */
		n += put_record(to + n, PERF_RECORD_SAMPLE, 24, 77,
				cycles << 48 | 0x1234ULL << 32 | 0x55555555);
		n += put_record(to + n, PERF_RECORD_SAMPLE, 24, 78, 0x99ULL << 32);
	}
	n += put_record(to + n, PERF_RECORD_SAMPLE, 24, 79, 5ULL << 48);
	n += put_record(to + n, PERF_RECORD_SAMPLE, 16, 77, 0);
	n += put_record(to + n, PERF_RECORD_LOST, 24, 77, 12);
	n += put_record(to + n, PERF_RECORD_COMM, 200, 77, 12);
	n += put_record(to + n, PERF_RECORD_SAMPLE, 24, 78, 0);
	return n;
}

static const uint64_t ids[] = { 77, 78 };
static const uint32_t of[] = { 0, 1 };

#define SKEW 5.0 /* how much wider than Student's, by the relative error: base/estimate */

static void check(const struct latency_parser *p)
{
	struct latency_value v;
	double se;

	latency_value_of(&p->sums[0], &v);
	assert_int_equal(v.n, 40);
	assert_int_equal(v.least, 10);
	assert_int_equal(v.most, 30);
	assert_true(fabs(v.mean - 20) < 1e-12);
	/* variance 400 / 39 * 10; Student's 97.5 % point of 39, and what skewed draws need more */
	se = sqrt(4000.0 / 39 / 40);
	assert_true(fabs(v.se - se * 2.022691 * (1 + SKEW * se / 20) / 1.959964) < 1e-4);
	latency_value_of(&p->sums[1], &v);
	assert_int_equal(v.n, 41);
	assert_true(isnan(v.mean)); /* the CPU does not tell */
	assert_int_equal(p->unknown, 2);
	assert_int_equal(p->lost, 12);
	assert_int_equal(p->have, 0);
}

static void test_cut_anywhere(void **state)
{
	uint8_t run[RUN];
	size_t n = put_run(run);

	(void)state;
	for (size_t cut = 0; cut <= n; cut++) {
		struct latency_sums sums[2];
		struct latency_parser p = { .id = ids, .of = of, .n_ids = 2, .sums = sums };

		memset(sums, 0, sizeof(sums));
		latency_parse(&p, run, cut);
		latency_parse(&p, run + cut, n - cut);
		check(&p);
	}
}

static void test_bytes_one_by_one(void **state)
{
	struct latency_sums sums[2] = { { 0 }, { 0 } };
	struct latency_parser p = { .id = ids, .of = of, .n_ids = 2, .sums = sums };
	uint8_t run[RUN];
	size_t n = put_run(run);

	(void)state;
	for (size_t i = 0; i < n; i++)
		latency_parse(&p, run + i, 1);
	check(&p);
}

static void test_few(void **state)
{
	struct latency_sums s = { .n = 29, .nonzero = 29, .sum = 290, .squares = 2900 };
	struct latency_value v;

	(void)state;
	latency_value_of(&s, &v);
	assert_true(isnan(v.mean) && isnan(v.se));
	s = (struct latency_sums){ .n = 30, .nonzero = 30, .sum = 300, .squares = 3000 };
	latency_value_of(&s, &v);
	assert_true(fabs(v.mean - 10) < 1e-12);
	assert_true(v.se < 1e-12);
}

/* Ten rounds of ten samples, in each all the same: what they differ by is the rounds' alone. */
static void test_rounds(void **state)
{
	struct latency_sums s = { 0 }, half;
	struct latency_value v;
	double se;

	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 10; i++) {
			double cycles = round % 2 ? 30 : 10;

			s.n++;
			s.nonzero++;
			s.sum += cycles;
			s.squares += cycles * cycles;
			s.round_n++;
			s.round_sum += cycles;
		}
		latency_round(&s);
		latency_round(&s); /* without samples it is none */
		if (round == 4)
			half = s;
	}
	assert_int_equal(s.rounds, 10);
	latency_value_of(&s, &v);
	assert_true(fabs(v.mean - 20) < 1e-12);
	/* not 10 / sqrt(99), but 10 / sqrt(9); 1.984217: Student's 97.5 % point of 99 */
	se = 10 / sqrt(9);
	assert_true(fabs(v.se - se * 1.984217 * (1 + SKEW * se / 20) / 1.959964) < 1e-4);
	latency_since(&s, &half);
	latency_value_of(&s, &v);
	assert_int_equal(v.n, 50);
	assert_true(fabs(v.mean - 22) < 1e-12); /* three of five were slow */
	latency_add(&s, &half);
	latency_value_of(&s, &v);
	assert_int_equal(v.n, 100);
	assert_true(fabs(v.mean - 20) < 1e-12);
}

/* Each of many events by its id, and none for what lies between. */
static void test_ids(void **state)
{
	enum { N = 9 };
	static const uint64_t id[N] = { 3, 5, 8, 20, 21, 22, 1000, 1002, UINT64_MAX - 1 };
	static const uint32_t to[N] = { 4, 0, 8, 1, 7, 2, 3, 6, 5 };
	uint8_t b[24];

	(void)state;
	for (size_t n = 0; n <= N; n++) {
		struct latency_sums sums[N] = { { 0 } };
		struct latency_parser p = { .id = id, .of = to, .n_ids = n, .sums = sums };

		for (size_t i = 0; i < N; i++)
			for (int off = -1; off <= 1; off++)
				latency_parse(&p, b,
					      put_record(b, PERF_RECORD_SAMPLE, 24,
							 id[i] + (uint64_t)off,
							 (uint64_t)(i + 1) << 48));
		for (size_t i = 0; i < N; i++) {
			bool next = i + 1 < N && id[i + 1] == id[i] + 1;
			bool last = i && id[i - 1] == id[i] - 1;
			uint64_t want = i < n ? 1u + next + last : 0;

			assert_int_equal(sums[to[i]].n, want);
			if (i < n && !next && !last)
				assert_true(fabs(sums[to[i]].sum - (double)(i + 1)) < 1e-12);
		}
	}
}

/* One sample that says something, wherever it stands, is not silence. */
static void test_nearly_silent(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 50; at += 7) {
		struct latency_sums sums[2] = { { 0 }, { 0 } };
		struct latency_parser p = { .id = ids, .of = of, .n_ids = 2, .sums = sums };
		struct latency_value v;
		uint8_t b[24];

		for (unsigned i = 0; i < 50; i++)
			latency_parse(&p, b,
				      put_record(b, PERF_RECORD_SAMPLE, 24, 77,
						 i == at ? 0xffffULL << 48 : 0xffffffffffffULL));
		latency_value_of(&sums[0], &v);
		assert_false(v.silent);
		assert_int_equal(v.least, 0);
		assert_int_equal(v.most, 0xffff);
		assert_true(fabs(v.mean - 65535 / 50.0) < 1e-9);
	}
}

static void is_same(const struct latency_sums *a, const struct latency_sums *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->nonzero, b->nonzero);
	assert_true(fabs(a->sum - b->sum) < 1e-9 && fabs(a->squares - b->squares) < 1e-9);
	assert_int_equal(a->rounds, b->rounds);
	assert_true(fabs(a->nn - b->nn) < 1e-9 && fabs(a->ns - b->ns) < 1e-9 &&
		    fabs(a->ss - b->ss) < 1e-9);
}

/* Sums of two times add up to those of both, and the later is what is more than the earlier. */
static void test_parts(void **state)
{
	static const uint64_t cycles[12] = { 9, 0, 4, 12, 7, 7, 0, 30, 2, 5, 8, 1 };
	struct latency_sums first, second = { 0 }, all = { 0 }, x;

	(void)state;
	for (size_t i = 0; i < 12; i++)
		for (int which = 0; which < 2; which++) {
			struct latency_sums *one = which ? &second : &all;
			struct latency_parser p = { .id = ids, .of = of, .n_ids = 1, .sums = one };
			uint8_t b[24];

			if (which && i < 5)
				continue;
			latency_parse(&p, b,
				      put_record(b, PERF_RECORD_SAMPLE, 24, 77, cycles[i] << 48));
			if (i % 3 == 1 || i == 4)
				latency_round(one);
			if (i == 4)
				first = all;
		}
	assert_int_equal(all.rounds, 4); /* 2, 3, 3, 3 samples, and one that is open */
	x = all;
	latency_since(&x, &first);
	is_same(&x, &second);
	x = first;
	latency_add(&x, &second);
	is_same(&x, &all);
	assert_int_equal(x.least, 0);
	assert_int_equal(x.most, 30);
	assert_int_equal(x.round_n, 1);
	assert_true(fabs(x.round_sum - 1) < 1e-12);
	second.least = 1; /* the least of either */
	first.least = 3;
	x = first;
	latency_add(&x, &second);
	assert_int_equal(x.least, 1);
	x = second;
	latency_add(&x, &first);
	assert_int_equal(x.least, 1);
	x = (struct latency_sums){ 0 }; /* nothing has no least */
	latency_add(&x, &first);
	assert_int_equal(x.least, 3);
	latency_add(&x, &(struct latency_sums){ 0 });
	assert_int_equal(x.least, 3);
	x.round_n = 2; /* both have a round that is open: one of both */
	x.round_sum = 5;
	latency_add(&x, &x);
	assert_int_equal(x.round_n, 4);
	assert_true(fabs(x.round_sum - 10) < 1e-12);
}

static void spin(double seconds)
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	while ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec) < seconds);
}

/* A clock is sampled, but has no retire latency; an event that does not exist is refused alone. */
static void test_kernel(void **state)
{
	const struct latency_event ev[] = {
		{ .attr = { .type = PERF_TYPE_SOFTWARE,
			    .config = PERF_COUNT_SW_TASK_CLOCK,
			    .exclude_kernel = 1 }, /* permitted to all */
		  .period = 100000,
		  .name = "task-clock" },
		{ .attr = { .type = 0x7ffffff0, .config = 1, .exclude_kernel = 1 },
		  .group = 1,
		  .name = "none" },
	};
	const pid_t self = getpid();
	const struct latency_setup s = {
		.event = ev, .n_events = 2, .tasks = &self, .n_tasks = 1, .cgroup_fd = -1
	};
	struct err err = ERR_INIT;
	struct latency_sums sum[2];
	struct latency_value v;
	struct latency *l;

	(void)state;
	if (latency_open(&l, &s, &err))
		fail_msg("%s", err.what);
	latency_read(l, sum);
	if (latency_refused(l, 0)) { /* no perf events here, or not for us */
		latency_close(l);
		SKIP_BECAUSE("no perf events here, or not for this user");
	}
	assert_int_equal(latency_refused(l, 1), ENOENT);
	assert_int_equal(sum[0].n, 0);
	assert_int_equal(latency_switch(l, 0, true, &err), 0);
	/* the kernel may hold back samples where others take many */
	for (int i = 0; i < 40 && sum[0].n < 2 * LATENCY_FEW; i++) {
		spin(0.05);
		latency_read(l, sum);
	}
	assert_int_equal(latency_switch(l, 0, false, &err), 0);
	assert_int_equal(latency_stop(l, &err), 0);
	latency_read(l, sum);
	latency_value_of(&sum[0], &v);
	assert_true(v.n >= LATENCY_FEW);
	assert_true(v.silent && isnan(v.mean));
	assert_int_equal(v.most, 0);
	latency_close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_bytes_one_by_one),
		cmocka_unit_test(test_few),	     cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_ids),	     cmocka_unit_test(test_nearly_silent),
		cmocka_unit_test(test_parts),	     cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
