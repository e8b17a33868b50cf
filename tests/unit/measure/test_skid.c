/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of samples of the kernel "skid": planted distances, of which the shares and quantiles are
 * known, must lie in their bars as often as 95 % says, also if samples come in runs of one kind.
 * All seeds are fixed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "measure/validate_skid.h"

#define SAMPLES 1000u
#define TRIALS	2000u

static const struct kernel_skid place = { 0x1000, 0x1003, 96, 3, 4 };
static struct validate_seen seen[SAMPLES];

static double uniform(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return (double)(*x >> 11) / 9007199254740992.0;
}

static uint64_t ip_of(unsigned distance)
{
	return distance ? place.after + (distance - 1) * place.step : place.load;
}

/* 30 % at the load, 40 % behind it, 25 % at 5, 5 % elsewhere; each draw stands `run` times. */
static void plant(size_t n, size_t run, uint64_t *x)
{
	for (size_t i = 0; i < n; i++) {
		double u = uniform(x);

		if (i % run) {
			seen[i] = seen[i - 1];
			continue;
		}
		seen[i] = (struct validate_seen){ .ip = u < 0.3	   ? ip_of(0)
							: u < 0.7  ? ip_of(1)
							: u < 0.95 ? ip_of(5)
								   : place.load - 1,
						  .addr = 0x5000,
						  .reg = { uniform(x) < 0.9 ? 0x5000 : 0x5008 },
						  .has_regs = true };
	}
}

static const struct {
	const char *name;
	double truth;
} figures[] = { { "at", 0.3 }, { "next", 0.4 }, { "median", 1 }, { "p90", 5 }, { "right", 0.9 } };
#define FIGURES (sizeof(figures) / sizeof(*figures))

static const struct estimate *figure(const struct validate_skid *s, size_t i)
{
	const struct estimate *const e[] = { &s->at, &s->next, &s->median, &s->p90, &s->right };

	return e[i];
}

/* How often each bar holds its truth, of TRIALS; *width: the mean bar of "at". */
static void hold(size_t n, size_t run, unsigned held[FIGURES], double *width)
{
	uint64_t x = 88172645463325252u;

	*width = 0;
	for (size_t k = 0; k < FIGURES; k++)
		held[k] = 0;
	for (unsigned i = 0; i < TRIALS; i++) {
		struct validate_skid s = { .precise = 0 };

		plant(n, run, &x);
		validate_skid_sum(&s, &place, seen, n);
		assert_int_equal(s.samples, n);
		for (size_t k = 0; k < FIGURES; k++) {
			const struct estimate *e = figure(&s, k);

			assert_null(e->why);
			held[k] += fabs(e->v - figures[k].truth) <= e->half;
		}
		*width += s.at.half / TRIALS;
	}
}

static void test_bars(void **state)
{
	static const struct {
		size_t n, run;
		double least; /* batches are few, and each run is cut by some of them */
	} cases[] = { { 1000, 1, 0.94 }, { 100, 1, 0.94 }, { 30, 1, 0.94 }, { 1000, 10, 0.92 } };
	double width[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		unsigned held[FIGURES];

		hold(cases[i].n, cases[i].run, held, &width[i]);
		for (size_t k = 0; k < FIGURES; k++) {
			print_message("# %zu samples in runs of %zu: %s held %.3f\n", cases[i].n,
				      cases[i].run, figures[k].name, held[k] / (double)TRIALS);
			assert_true(held[k] >= cases[i].least * TRIALS);
		}
	}
	assert_true(width[0] < 1.2 * Z95 * sqrt(0.3 * 0.7 / 1000)); /* and not too wide */
	assert_true(width[3] > 2.5 * width[0]);			    /* sqrt(10) */
}

/* What there is none of has a reason, and shares of nothing but others are 0. */
static void test_none(void **state)
{
	struct validate_skid s = { .why = "not here" };

	(void)state;
	validate_skid_sum(&s, &place, seen, 0);
	for (size_t k = 0; k < FIGURES; k++) {
		assert_true(isnan(figure(&s, k)->v));
		assert_string_equal(figure(&s, k)->why, "not here");
	}
	for (size_t i = 0; i < 100; i++)
		seen[i] = (struct validate_seen){ .ip = place.load + 1 };
	s = (struct validate_skid){ .precise = 1 };
	validate_skid_sum(&s, &place, seen, 100);
	assert_int_equal(s.outside, 100);
	assert_true(s.at.v <= 0 && s.at.half > 0.03 && s.at.half < 0.05); /* 3.7 of 100 */
	assert_true(isnan(s.median.v) && s.median.why && isnan(s.right.v) && s.right.why);
	for (size_t i = 0; i < 100; i++)
		seen[i] = (struct validate_seen){ .ip = ip_of(0) };
	validate_skid_sum(&s, &place, seen, 100);
	assert_true(s.at.v >= 1 && s.at.half > 0.03 && s.at.half < 0.05);
	assert_true(s.median.v <= 0 && s.median.half <= 0 && !s.median.why);
	assert_true(s.most.v <= 0 && isnan(s.most.half) && s.most.why);
	assert_int_equal(s.addresses, 0);
}

/* What is how far from the load, and what is elsewhere: 96 instructions of 3 bytes from 0x1003 on,
 * the end of the iteration behind them. */
static void test_distances(void **state)
{
	static const struct {
		uint64_t ip;
		int d; /* -1: elsewhere */
	} row[] = {
		{ 0x0fff, -1 }, { 0x1000, 0 },	{ 0x1001, -1 }, { 0x1002, -1 }, { 0x1003, 1 },
		{ 0x1004, -1 }, { 0x1006, 2 },	{ 0x1007, -1 }, { 0x1009, 3 },	{ 0x111d, 95 },
		{ 0x1120, 96 }, { 0x1123, -1 }, { 0x1126, -1 }, { 0, -1 },	{ UINT64_MAX, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct validate_skid s = { .precise = 1 };

		for (size_t k = 0; k < 40; k++)
			seen[k] = (struct validate_seen){ .ip = row[i].ip };
		validate_skid_sum(&s, &place, seen, 40);
		assert_int_equal(s.outside, row[i].d < 0 ? 40 : 0);
		assert_int_equal(s.samples, 40);
		if (row[i].d < 0)
			assert_true(isnan(s.most.v) && isnan(s.p90.v));
		else
			assert_true(fabs(s.most.v - row[i].d) < 0.5 &&
				    fabs(s.median.v - row[i].d) < 0.5);
		assert_true(s.at.v >= (row[i].d == 0) && s.at.v <= (row[i].d == 0));
		assert_true(s.next.v >= (row[i].d == 1) && s.next.v <= (row[i].d == 1));
	}
}

/* Shares and quantiles of 1000 samples in turns of ten: their places are known exactly, and the
 * interval of a quantile is where Wilson's interval of its share ends. */
static void test_exact(void **state)
{
	static const unsigned at[10] = { 0, 0, 1, 1, 1, 2, 2, 3, 7, 999 }; /* 999: elsewhere */
	struct validate_skid s = { .precise = 1 };

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		seen[i] = (struct validate_seen){
			.ip = at[i % 10] == 999 ? place.load - 1 : ip_of(at[i % 10]),
			.addr = i % 10 == 3 ? 0 : 0x5000, /* 0: it has none */
			.reg = { i % 10 == 5 ? 0x5008 : 0x5000, 0x5000 },
			.has_regs = i % 10 != 4,
		};
	validate_skid_sum(&s, &place, seen, 1000);
	assert_int_equal(s.outside, 100);
	assert_true(fabs(s.at.v - 0.2) < 1e-12);
	assert_true(fabs(s.next.v - 0.3) < 1e-12);
	/* of 900: 500 are at 1 or before, 700 at 2 or before, 800 at 3 or before */
	assert_true(fabs(s.median.v - 1) < 1e-12 && s.median.half <= 1);
	assert_true(fabs(s.p90.v - 7) < 1e-12 && s.p90.half <= 4);
	assert_true(fabs(s.most.v - 7) < 1e-12);
	/* elsewhere, without an address and without registers are left out: 700; wrong are 100 */
	assert_int_equal(s.addresses, 700);
	assert_true(fabs(s.right.v - 6.0 / 7) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bars),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
