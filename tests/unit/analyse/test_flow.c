/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What groups say of errors, by formula and by trial: intervals of 95 % hold the truth in 95 of 100
 * made recordings. What windows weigh and how much of a loop leaks through them, in against out,
 * the buckets of cycles, and who is found where in a sorted flow.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/flow/flow_int.h"
#include "analyse/flow/flow_window.h"

static void same(double got, double want, double most)
{
	if (!(fabs(got - want) <= most))
		fail_msg("got %.12g, want %.12g", got, want);
}

/* ---- by formula ---- */

static void totals(void **state)
{
	double g[FLOW_SLOTS] = { 0 }, w = 0;
	struct flow_weight weight = { .hits = 3 };
	struct flow_value v;

	(void)state;
	for (unsigned i = 0; i < FLOW_GROUPS; i++) {
		g[i] = 5;
		weight.group[i] = i;
		w += i;
	}
	v = flow_total(g);
	same(v.v, 80, 0);
	same(v.half, 0, 0);
	same(flow_sum(&weight), w, 0);
	/* 0 to 15: a variance of 68/3 each, of 16 times that in sum; t is 2.13145 */
	v = flow_total(weight.group);
	same(v.v, 120, 0);
	same(v.half, 2.13144955 * sqrt(16 * 68.0 / 3), 1e-6);
}

static void ratios(void **state)
{
	double n[FLOW_SLOTS] = { 0 }, d[FLOW_SLOTS] = { 0 };
	struct flow_value v = flow_ratio(n, d);

	(void)state;
	assert_true(isnan(v.v) && isnan(v.half));
	d[3] = 7;
	n[3] = 14;
	v = flow_ratio(n, d); /* from one group alone no spread can be seen */
	same(v.v, 2, 0);
	assert_true(isnan(v.half));
	for (unsigned i = 0; i < FLOW_GROUPS; i++) {
		d[i] = i + 1;
		n[i] = 3 * d[i];
	}
	v = flow_ratio(n, d);
	same(v.v, 3, 1e-12);
	same(v.half, 0, 1e-9);
	/* of a constant denominator the jackknife is the error of the mean */
	for (unsigned i = 0; i < FLOW_GROUPS; i++) {
		d[i] = 1;
		n[i] = i;
	}
	v = flow_ratio(n, d);
	same(v.v, 7.5, 1e-12);
	same(v.half, flow_total(n).half / FLOW_GROUPS, 1e-9);
}

static void few(void **state)
{
	double g[FLOW_SLOTS] = { 0 };
	struct flow_value v;

	(void)state;
	/* one, at the faint end of its stack: as many may have been missed as one weighs */
	g[5] = 0.01;
	v = flow_total_of(g, 1, 4);
	same(v.v, 0.01, 0);
	same(v.half, 2.13144955 * 4, 1e-6);
	v = flow_total_of(g, 9, 4);
	same(v.half, 2.13144955 * 12, 1e-6);
	v = flow_total_of(g, 64, 4); /* enough to spread */
	same(v.half, flow_total(g).half, 0);
	same(flow_total_of(g, 0, 4).half, flow_total(g).half, 0);
}

/* A ratio of one thing seen is none; of few its error is not less than chance makes it. */
static void ratio_of_few(void **state)
{
	double n[FLOW_SLOTS] = { 0 }, d[FLOW_SLOTS] = { 0 };
	struct flow_value v;

	(void)state;
	for (unsigned i = 0; i < FLOW_GROUPS; i++)
		n[i] = 2317.0 / FLOW_GROUPS;
	d[4] = 1;
	v = flow_ratio_of(n, d, 1);
	assert_true(isnan(v.v) && isnan(v.half));
	d[5] = 1; /* the groups agree, by chance */
	v = flow_ratio_of(n, d, 2);
	same(v.v, 2317.0 / 2, 1e-9);
	assert_true(v.half >= 2.13144 * v.v / sqrt(2));
	for (unsigned i = 0; i < FLOW_GROUPS; i++)
		d[i] = 10 + i % 2;
	same(flow_ratio_of(n, d, 100).half, flow_ratio(n, d).half, 0);
}

/* Samples that come late by nobody knows how much: values as ever, no error, and the reason. */
static void late(void **state)
{
	double n[FLOW_SLOTS], d[FLOW_SLOTS];
	struct flow_value v;
	struct flow_balance b = { .apart = NAN };

	(void)state;
	for (unsigned i = 0; i < FLOW_SLOTS; i++) {
		n[i] = i < FLOW_GROUPS ? 30 + i % 3 : (double)NAN;
		d[i] = i < FLOW_GROUPS ? 10 : (double)NAN;
	}
	for (unsigned hits = 2; hits <= 200; hits += 198) {
		v = flow_total_of(d, hits, 4);
		same(v.v, 160, 0);
		assert_true(isnan(v.half) && v.leans);
		assert_ptr_equal(v.why, flow_late);
		flow_balance_add(&b, 0, v);
		v = flow_ratio_of(n, d, hits);
		same(v.v, flow_ratio(n, d).v, 0);
		assert_true(v.v > 3 && isnan(v.half) && v.leans);
		assert_ptr_equal(v.why, flow_late);
	}
	v = flow_ratio_of(n, d, 1); /* one is no ratio, late or not */
	assert_true(isnan(v.v) && !v.why);
	assert_int_equal(b.places, 2);
	assert_int_equal(b.judged, 0);
	flow_balance_add(&b, 3, (struct flow_value){ .v = 100, .half = 4 });
	flow_balance_add(&b, 5, (struct flow_value){ .v = 100, .half = 4 });
	assert_int_equal(b.judged, 2);
	assert_int_equal(b.within, 1);
}

/* ---- what times look like ---- */

static uint64_t put(struct flow_times *t, uint32_t cycles, uint32_t n)
{
	t->n[flow_time_bucket(cycles)] += n;
	return (uint64_t)cycles * n;
}

static struct flow_shape shape_of(const struct flow_times *t, uint64_t cycles, uint64_t stacks)
{
	struct flow_shape s;

	flow_shape(&s, t, cycles, stacks);
	return s;
}

static void shapes(void **state)
{
	struct flow_times one = { { 0 } }, two = { { 0 } }, tail = { { 0 } }, falls = { { 0 } },
			  none = { { 0 } };
	struct flow_shape s;
	uint64_t c;

	(void)state;
	s = shape_of(&none, 0, 0);
	assert_true(isnan(s.p50.v) && isnan(s.tail) && !s.modes && !s.several && !s.heavy);

	/* 4 to 8, most of them 6 */
	c = put(&one, 4, 50) + put(&one, 5, 200) + put(&one, 6, 500) + put(&one, 7, 200) +
	    put(&one, 8, 50);
	s = shape_of(&one, c, 1000);
	same(s.p50.v, 6, 0);
	same(s.p95.v, 7, 0);
	assert_true(s.p95.low <= 7 && s.p95.high >= 7 && s.p95.high <= 8);
	assert_true(s.modes == 1 && !s.several && !s.heavy && s.tail < 0.08);
	s = shape_of(&one, c, 40); /* too few for the slowest */
	assert_true(isnan(s.p95.high) && isnan(s.tail) && !isnan(s.p50.high));

	/* 5 of the cache, 60 of the next one */
	c = put(&two, 5, 700) + put(&two, 6, 100) + put(&two, 56, 50) + put(&two, 60, 150);
	s = shape_of(&two, c, 1000);
	assert_true(s.several && s.modes == 2);
	same(s.mode[0].at, 5, 0);
	same(s.mode[0].share, 0.8, 1e-9);
	same(s.mode[1].share, 0.2, 1e-9);
	assert_true(s.mode[1].at >= 56 && s.mode[1].at < 64);
	s = shape_of(&two, c, 20); /* so few stacks may look like that by chance */
	assert_false(s.several);

	/* one in fifty takes a thousand: a mode it is not, but it has most of the cycles */
	c = put(&tail, 10, 980) + put(&tail, 1000, 20);
	s = shape_of(&tail, c, 1000);
	assert_true(!s.several && s.heavy);
	same(s.tail, (20 * 1000.0 + 30 * 10) / (double)c, 0.02);

	/* falls evenly through where buckets begin to be wider */
	c = 0;
	for (uint32_t i = 8; i < 64; i++)
		c += put(&falls, i, 640 / i);
	s = shape_of(&falls, c, 1000);
	assert_true(s.modes == 1 && !s.several);
}

/* Bounds of quantiles hold those of what is drawn from, and one mode rarely looks like two. */
static void shapes_by_trial(void **state)
{
	uint32_t seed = 7, held = 0, several = 0;
	const uint32_t trials = 400;

	(void)state;
	for (uint32_t i = 0; i < trials; i++) {
		struct flow_times t = { { 0 } };
		struct flow_shape s;
		uint64_t c = 0;

		for (uint32_t k = 0; k < 300; k++) { /* a sum of three dice of 20: 3 to 60 */
			uint32_t v = 3;

			for (unsigned d = 0; d < 3; d++) {
				seed = seed * 1664525 + 1013904223;
				v += (seed >> 16) % 20;
			}
			c += put(&t, v, 1);
		}
		flow_shape(&s, &t, c, 300);
		held += s.p50.low <= 32 && s.p50.high >= 31;
		held += s.p95.low <= 48 && s.p95.high >= 48;
		several += s.several;
	}
	print_message("# %u of %u hold, %u of several modes\n", held, 2 * trials, several);
	assert_true(held >= 0.95 * 2 * trials);
	assert_true(several <= 0.05 * trials);
}

/* ---- windows ---- */

static void windows(void **state)
{
	struct flow_window *w = calloc(1, sizeof(*w));

	(void)state;
	for (size_t n = 1; n <= FLOW_ENTRIES_MAX; n = n < 70 ? n + 1 : n * 3 / 2) {
		for (unsigned even = 0; even < 2; even++) {
			double edge = 0, span = 0;

			flow_window_set(w, n, even);
			for (size_t i = 0; i < n; i++) {
				edge += w->edge[i];
				span += i + 1 < n || n == 1 ? w->span[i] : 0;
				if (i + 1 >= n)
					continue;
				same(w->span[i],
				     even ? 1 / (double)(n - 1)
					  : 2 * pow(sin(M_PI * (double)(i + 1) / (double)n), 2) /
						     (double)n,
				     1e-12);
				assert_true(w->span[i] > 0);
			}
			same(edge, 1, 1e-12);
			same(span, 1, 1e-12);
		}
	}
	free(w);
}

/* Of a loop of `period` branches each counts alike, wherever the window begins; what leaks is how
 * far the most frequent and the rarest are apart. */
static double leak(const struct flow_window *w, size_t period)
{
	double least = INFINITY, most = 0;

	for (size_t at = 0; at < period; at++) {
		double sum = 0;

		for (size_t i = at; i + 1 < w->n; i += period)
			sum += w->span[i];
		least = fmin(least, sum);
		most = fmax(most, sum);
	}
	return (most - least) * (double)period;
}

static void leaks(void **state)
{
	struct flow_window *w = calloc(1, sizeof(*w));

	(void)state;
	for (size_t period = 2; period < 12; period++) {
		flow_window_set(w, 32, true); /* one more or less, of 31 */
		same(leak(w, period), (double)period / 31, 1e-12);
		flow_window_set(w, 32, false);
		assert_true(leak(w, period) < 0.03);
	}
	free(w);
}

/* ---- in = out ---- */

static void balance(void **state)
{
	/* Round and round 10 -> 20 -> 10, and once out of it to 90. */
	struct flow_edge edge[] = {
		{ .from = { 1, 15, 0 }, .to = { 1, 20, 0 }, .w = { 160, { 0 } } },
		{ .from = { 1, 25, 0 }, .to = { 1, 10, 0 }, .w = { 160, { 0 } } },
		{ .from = { 1, 25, 0 }, .to = { 1, 90, 0 }, .w = { 1, { 0 } } },
	};
	struct flow_span span[] = {
		{ .image = 1, .start = 10, .end = 15, .w = { 160, { 0 } } },
		{ .image = 1, .start = 20, .end = 25, .w = { 144, { 0 } } },
	};
	struct flow f = { .edge = edge, .span = span, .n_edges = 3, .n_spans = 2 };
	struct flow_balance b;
	struct err err = ERR_INIT;

	(void)state;
	for (unsigned g = 0; g < FLOW_GROUPS; g++) {
		edge[0].w.group[g] = edge[1].w.group[g] = 10;
		span[0].w.group[g] = g % 2 ? 9 : 11;
		span[1].w.group[g] = 9;
	}
	edge[2].w.group[0] = 1;
	assert_int_equal(flow_balance(&b, &f, 100, &err), 0);
	/* 10 and 15 are in balance, 20 lacks 16 of 160 and 25 lacks 17 of 161; 90 was seen too
	 * seldom */
	assert_int_equal(b.places, 4);
	assert_int_equal(b.within, 2);
	same(b.apart, (16 + 17) / (160. + 160 + 160 + 161), 1e-12);
	/* as many as asked for are enough; one more, and only 25 has them */
	assert_int_equal(flow_balance(&b, &f, 160, &err), 0);
	assert_int_equal(b.places, 4);
	assert_int_equal(flow_balance(&b, &f, 161, &err), 0);
	assert_int_equal(b.places, 1);
	assert_int_equal(flow_balance(&b, &f, 1000, &err), 0);
	assert_true(isnan(b.apart) && !b.places);
}

/* ---- by trial ---- */

static uint64_t random_state;

static double uniform(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

/* A run of many stacks, of which one in 50 is seen. In each stack the thing that is counted comes
 * in clusters: 0 to 30 of 31 spans, as loops do it. */
struct trial {
	double total, half;
	double ratio, ratio_half;
};

#define STACKS	 4000
#define SPARE	 50
#define SPANS	 31
#define CLUSTERS 0.4 /* of stacks that have any */

static struct trial try_once(void)
{
	double a[FLOW_SLOTS] = { 0 }, b[FLOW_SLOTS] = { 0 };
	struct flow_value t, r;

	for (unsigned i = 0; i < STACKS; i++) {
		double in_loop = 0, entries = 1 + floor(uniform() * 3);

		if (uniform() < CLUSTERS)
			in_loop = floor(uniform() * SPANS);
		a[i % FLOW_GROUPS] += in_loop * SPARE / SPANS;
		b[i % FLOW_GROUPS] += entries * SPARE / SPANS;
	}
	t = flow_total(a);
	r = flow_ratio(a, b);
	return (struct trial){ t.v, t.half, r.v, r.half };
}

static void coverage(void **state)
{
	/* the means of what is drawn above */
	const double total = (double)STACKS * SPARE * CLUSTERS * 15 / SPANS,
		     ratio = CLUSTERS * 15 / 2;
	unsigned hold = 0, hold_ratio = 0;
	const unsigned n = 2000;

	(void)state;
	random_state = 20240607;
	for (unsigned i = 0; i < n; i++) {
		struct trial t = try_once();

		hold += fabs(t.total - total) <= t.half;
		hold_ratio += fabs(t.ratio - ratio) <= t.ratio_half;
	}
	printf("# totals hold in %u of %u, ratios in %u\n", hold, n, hold_ratio);
	/* 95 % within four of its own standard errors */
	assert_in_range(hold, 1860, 1940);
	assert_in_range(hold_ratio, 1860, 1940);
}

/* ---- buckets ---- */

static void buckets(void **state)
{
	unsigned last = 0;

	(void)state;
	for (uint32_t c = 0; c <= UINT16_MAX; c++) {
		unsigned b = flow_time_bucket(c);

		assert_true(b == last || b == last + 1);
		last = b;
		assert_true(flow_time_from(b) <= c && c < flow_time_from(b + 1));
		/* none is wider than a quarter of where it begins */
		assert_true(c < 16 ? flow_time_from(b) == c
				   : (flow_time_from(b + 1) - flow_time_from(b)) * 4 <=
					     flow_time_from(b));
	}
	assert_int_equal(last, FLOW_TIME_BUCKETS - 1);
	assert_int_equal(flow_time_bucket(UINT32_MAX), FLOW_TIME_BUCKETS - 1);
}

/* ---- order ---- */

#define N 3000

static bool before(const struct flow_place *a, const struct flow_place *b)
{
	return a->image != b->image ? a->image < b->image : a->addr < b->addr;
}

static size_t count_from(const struct flow *f, uint32_t image, uint64_t start, uint64_t end,
			 bool to)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_edges; i++) {
		const struct flow_place *p = to ? &f->edge[i].to : &f->edge[i].from;

		n += p->image == image && p->addr >= start && p->addr < end;
	}
	return n;
}

static struct flow_place any_place(void)
{
	static const uint32_t image[] = { 0, 1, 2, 300, IMAGE_NONE };

	return (struct flow_place){ image[(unsigned)(uniform() * 5)],
				    (uint64_t)(uniform() * 50) * 0x1000000000ULL, 0 };
}

static void order(void **state)
{
	struct flow f = { .n_edges = N, .n_spans = N };
	struct err err = ERR_INIT;
	size_t first, n;

	(void)state;
	f.edge = calloc(N, sizeof(*f.edge));
	f.span = calloc(N, sizeof(*f.span));
	random_state = 7;
	for (size_t i = 0; i < N; i++) {
		struct flow_place p = any_place();

		f.edge[i] = (struct flow_edge){ .from = any_place(), .to = any_place() };
		f.span[i] = (struct flow_span){ .image = p.image, .start = p.addr, .end = p.addr };
	}
	assert_int_equal(flow_sort(&f, &err), 0);
	for (size_t i = 1; i < N; i++) {
		const struct flow_edge *a = &f.edge[i - 1], *b = &f.edge[i];
		const struct flow_edge *x = &f.edge[f.into[i - 1]], *y = &f.edge[f.into[i]];

		assert_false(before(&b->from, &a->from));
		assert_true(before(&a->from, &b->from) || !before(&b->to, &a->to));
		assert_false(before(&y->to, &x->to));
		assert_true(before(&x->to, &y->to) || !before(&y->from, &x->from));
		assert_true(f.span[i - 1].image < f.span[i].image ||
			    (f.span[i - 1].image == f.span[i].image &&
			     f.span[i - 1].start <= f.span[i].start));
	}
	for (unsigned i = 0; i < 200; i++) {
		struct flow_place p = any_place();
		uint64_t end = p.addr + (uint64_t)(uniform() * 5) * 0x1000000000ULL;

		n = flow_edges_from(&f, p.image, p.addr, end, &first);
		assert_int_equal(n, count_from(&f, p.image, p.addr, end, false));
		assert_true(!n || (f.edge[first].from.image == p.image &&
				   f.edge[first].from.addr >= p.addr));
		n = flow_edges_to(&f, p.image, p.addr, end, &first);
		assert_int_equal(n, count_from(&f, p.image, p.addr, end, true));
		assert_true(!n || f.edge[f.into[first]].to.addr >= p.addr);
		n = flow_spans_of(&f, p.image, p.addr, end, &first);
		for (size_t k = 0; k < N; k++)
			n -= f.span[k].image == p.image && f.span[k].start >= p.addr &&
			     f.span[k].start < end;
		assert_int_equal(n, 0);
	}
	assert_int_equal(flow_edges_from(&f, 1, 100, 50, &first), 0);
	free(f.edge);
	free(f.span);
	free(f.into);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals),
		cmocka_unit_test(ratios),
		cmocka_unit_test(coverage),
		cmocka_unit_test(buckets),
		cmocka_unit_test(order),
		cmocka_unit_test(few),
		cmocka_unit_test(ratio_of_few),
		cmocka_unit_test(shapes),
		cmocka_unit_test(shapes_by_trial),
		cmocka_unit_test(windows),
		cmocka_unit_test(leaks),
		cmocka_unit_test(balance),
		cmocka_unit_test(late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
