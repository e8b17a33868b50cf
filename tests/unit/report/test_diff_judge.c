/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verdicts of diff: chances by closed forms (Student's t of 1, 2 and 4 degrees of freedom, binomial
 * sums, erfc), bars by the formulas that diff.h names, families and Holm's steps by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/estimate.h"
#include "report/diff/diff_int.h"

static struct diff x;
static struct diff_side sides[3];

static void begin(size_t n_base, size_t n_new)
{
	memset(&x, 0, sizeof(x));
	sides[0].n = n_base;
	sides[1].n = sides[2].n = n_new;
	x.side = sides;
	x.n_sides = 3;
	assert_true(strtab_adds(&x.event, "cycles") != STR_NONE);
	assert_true(strtab_adds(&x.event, "misses") != STR_NONE);
}

static void end(void)
{
	for (int t = 0; t < DIFF_TABLES; t++)
		vec_free(&x.table[t]);
	strtab_free(&x.event);
	arena_free(&x.a);
}

static struct diff_amount *item(enum diff_table t, const char *event, const char *name,
				const struct diff_amount *run, size_t n)
{
	struct diff_item it = { .side = 1 };
	struct diff_amount *to = arena_alloc(&x.a, n * sizeof(*to));

	assert_non_null(to);
	memcpy(to, run, n * sizeof(*to));
	it.key[0] = event;
	it.key[1] = it.key[2] = name;
	it.run = to;
	assert_int_equal(vec_push(&x.table[t], it), 0);
	return to;
}

static const struct diff_item *at(enum diff_table t, size_t i)
{
	assert_true(i < x.table[t].n);
	return &x.table[t].v[i];
}

static void close_to(double a, double b)
{
	if (!(fabs(a - b) <= 1e-6 * fmax(fabs(b), 1e-3)))
		fail_msg("%.9g is not %.9g", a, b);
}

/* Values that were counted, without an error of their own. */
#define V(value)                                          \
	{                                                 \
		.v = (value), .var = NAN, .counted = true \
	}
/* n samples of `worth` each. */
#define S(n, worth)                                                                \
	{                                                                          \
		.v = (n) * (worth), .var = (n) * (worth) * (worth), .samples = (n) \
	}

#define NONE           \
	{              \
		.v = 0 \
	}

/* ---- one row -------------------------------------------------------------------------------- */

/* Two and two: means 10 and 14, variances 2 and 2, so t = 4 / sqrt(2) with 2 degrees of freedom,
 * whose chance is 1 - t / sqrt(2 + t^2) and whose 97.5 % point is 4.30265. */
static void two_and_two(void **state)
{
	static const struct diff_amount run[] = { V(9), V(11), V(15), V(13) };
	const struct diff_item *it;
	double t = 4 / sqrt(2);

	(void)state;
	begin(2, 2);
	item(DIFF_TOTALS, "cycles", NULL, run, 4);
	diff_judge(&x);
	it = at(DIFF_TOTALS, 0);
	close_to(it->base.v, 10);
	close_to(it->new.v, 14);
	close_to(it->difference, 4);
	close_to(it->chance, 1 - t / sqrt(2 + t * t));
	close_to(it->base.half, 4.30265273);
	close_to(it->new.half, 4.30265273);
	close_to(it->change.v, 0.4);
	close_to(it->change.half, 1.4 * hypot(4.30265273 / 10, 4.30265273 / 14));
	assert_int_equal(it->verdict, DIFF_NOISE);
	assert_null(it->change.why);
	end();
}

/* One side without repeats is as spread as the other in relation, with the other's freedom: two
 * recordings of 9 and 11 against one of 20. */
static void one_and_two(void **state)
{
	static const struct diff_amount run[] = { V(20), V(9), V(11) };
	const struct diff_item *it;
	double va = 2.0 * 4, vb = 2, t = 10 / sqrt(va + vb / 2);

	(void)state;
	begin(1, 2);
	item(DIFF_TOTALS, "cycles", NULL, run, 3);
	diff_judge(&x);
	it = at(DIFF_TOTALS, 0);
	close_to(it->difference, -10);
	close_to(it->chance, 1 - 2 / M_PI * atan(t)); /* one degree of freedom */
	close_to(it->base.half, 12.7062047 * sqrt(va));
	close_to(it->new.half, 12.7062047);
	close_to(it->change.v, -0.5);
	end();
}

/* Welch and Satterthwaite: variances 2 / 2 and 18 / 2 of means. */
static void unequal(void **state)
{
	static const struct diff_amount run[] = { V(9), V(11), V(47), V(53) };
	const struct diff_item *it;
	double df = (1 + 9.0) * (1 + 9.0) / (1 + 81.0); /* 1.2195 */

	(void)state;
	begin(2, 2);
	item(DIFF_TOTALS, "cycles", NULL, run, 4);
	diff_judge(&x);
	it = at(DIFF_TOTALS, 0);
	close_to(it->chance, chance_t(40 / sqrt(10), df));
	close_to(it->base.half, 12.7062047); /* that of 1, the whole number below */
	close_to(it->new.half, 12.7062047 * 3);
	end();
}

/* Sampling says more than two recordings that happen to be equal. */
static void spread_or_sampling(void **state)
{
	static const struct diff_amount run[] = { S(100, 1), S(100, 1), S(140, 1), S(160, 1) };
	const struct diff_item *it;

	(void)state;
	begin(2, 2);
	item(DIFF_ROWS, "cycles", "f", run, 4);
	diff_judge(&x);
	it = at(DIFF_ROWS, 0);
	close_to(it->base_samples, 200);
	close_to(it->new_samples, 300);
	/* variances of a recording: 100 by sampling; 200 by spread, more than 150 */
	close_to(it->base.half / it->new.half, sqrt(100.0 / 200));
	close_to(it->chance,
		 chance_t(50 / sqrt(100 / 2.0 + 200 / 2.0), 150 * 150 / (50 * 50 + 100 * 100.0)));
	end();
}

static double binomial(unsigned a, unsigned b)
{
	unsigned least = a < b ? a : b;
	double sum = 0;

	for (unsigned k = 0; k <= least; k++)
		sum += exp(lgamma(a + b + 1) - lgamma(k + 1) - lgamma(a + b - k + 1.0) -
			   (a + b) * log(2));
	return fmin(1, 2 * sum);
}

/* One recording a side: as heads and tails. Samples of another worth have another coin. */
static void counts(void **state)
{
	static const struct diff_amount equal[] = { S(40, 1000), S(70, 1000) };
	static const struct diff_amount other[] = { S(40, 3000), S(70, 1000) };
	static const struct diff_amount none[] = { NONE, S(12, 1000) };
	static const struct diff_amount gone[] = { S(12, 1000), NONE };
	double p = 0.25, sum = 0;

	(void)state;
	begin(1, 1);
	item(DIFF_TOTALS, "cycles", NULL, equal, 2);
	item(DIFF_TOTALS, "misses", NULL, other, 2);
	item(DIFF_ROWS, "cycles", "new", none, 2);
	item(DIFF_ROWS, "cycles", "gone", gone, 2);
	diff_judge(&x);
	close_to(at(DIFF_TOTALS, 0)->chance, binomial(40, 70));
	close_to(at(DIFF_TOTALS, 0)->base.half, Z95 * sqrt(40) * 1000);
	close_to(at(DIFF_TOTALS, 0)->new.half, Z95 * sqrt(70) * 1000);
	close_to(at(DIFF_TOTALS, 0)->change.v, 0.75);
	close_to(at(DIFF_TOTALS, 0)->change.half, 1.75 * Z95 * sqrt(1 / 40.0 + 1 / 70.0));
	/* where nothing changed, the base has a quarter of the samples; it has more of them */
	for (unsigned k = 40; k <= 110; k++)
		sum += exp(lgamma(111) - lgamma(k + 1) - lgamma(111.0 - k) + k * log(p) +
			   (110 - k) * log(1 - p));
	close_to(at(DIFF_TOTALS, 1)->chance, 2 * sum);
	for (size_t i = 0; i < 2; i++) {
		const struct diff_item *it = at(DIFF_ROWS, i);
		bool is_new = !strcmp(it->key[1], "new");

		close_to(it->chance, 2 * pow(0.5, 12));
		assert_int_equal(it->verdict, is_new ? DIFF_NEW : DIFF_GONE);
		/* the side without samples: its bar is of one that it might have had */
		close_to((is_new ? it->base : it->new).half, Z95 * 1000);
		if (is_new) {
			assert_true(isnan(it->change.v));
			assert_string_equal(it->change.why, "the base has none");
		} else {
			close_to(it->change.v, -1);
			close_to(it->change.half, Z95 / 12);
		}
	}
	end();
}

/* Values with a known variance that are no counts: the normal distribution. */
static void known_errors(void **state)
{
	static const struct diff_amount run[] = { { .v = 10, .var = 9 }, { .v = 20, .var = 16 } };
	static const struct diff_amount exact[] = { { .v = 10, .var = 0 }, { .v = 20, .var = 0 } };
	static const struct diff_amount bare[] = { V(10), V(20) };
	static const struct diff_amount same[] = { V(10), V(10) };

	(void)state;
	begin(1, 1);
	item(DIFF_TOTALS, "cycles", NULL, run, 2);
	item(DIFF_TOTALS, "cycles", NULL, exact, 2);
	item(DIFF_TOTALS, "cycles", NULL, bare, 2);
	item(DIFF_TOTALS, "cycles", NULL, same, 2);
	diff_judge(&x);
	close_to(at(DIFF_TOTALS, 0)->chance, erfc(2 / sqrt(2))); /* 10 of sqrt(9 + 16) */
	assert_int_equal(at(DIFF_TOTALS, 0)->verdict, DIFF_NOISE);
	close_to(at(DIFF_TOTALS, 1)->chance, 0);
	assert_int_equal(at(DIFF_TOTALS, 1)->verdict, DIFF_MOVED);
	assert_true(isnan(at(DIFF_TOTALS, 2)->chance));
	assert_int_equal(at(DIFF_TOTALS, 2)->verdict, DIFF_NOT_COMPARABLE);
	assert_non_null(strstr(at(DIFF_TOTALS, 2)->why, "one recording a side"));
	assert_int_equal(at(DIFF_TOTALS, 3)->verdict, DIFF_SAME);
	assert_true(isnan(at(DIFF_TOTALS, 3)->chance));
	end();
}

/* A node that a recording did not count is not 0 there; a function that it has not is. */
static void not_counted(void **state)
{
	static const enum diff_table table[] = { DIFF_TREE, DIFF_BLOCKS, DIFF_MEMORY, DIFF_ROWS };

	(void)state;
	for (int lacks = 0; lacks < 3; lacks++)
		for (size_t i = 0; i < 4; i++) {
			struct diff_amount run[] = { V(9), V(11), V(15), V(13) };
			bool none = lacks && table[i] != DIFF_ROWS;
			const struct diff_item *it;

			if (lacks)
				run[lacks == 1 ? 1 : 2].counted = false;
			begin(2, 2);
			item(table[i], "cycles", "a", run, 4);
			diff_judge(&x);
			it = at(table[i], 0);
			assert_int_equal(it->verdict, none ? DIFF_NOT_COMPARABLE : DIFF_NOISE);
			assert_int_equal(isnan(it->chance) != 0, none);
			assert_int_equal(isnan(it->change.v) != 0, none);
			assert_int_equal(isnan(it->base.v) != 0, none && lacks == 1);
			assert_int_equal(isnan(it->new.v) != 0, none && lacks == 2);
			if (none)
				assert_non_null(strstr(it->why, "not counted in each"));
			end();
		}
}

static void means(void **state)
{
	static const struct diff_amount run[] = { S(100, 2), S(110, 2), S(105, 2) };
	static const struct diff_amount wide[] = { V(1), V(2), V(6) };
	struct estimate e = diff_mean(run, 3);

	(void)state;
	/* variance by sampling 4 * 105, by spread 100: the former, of so many samples */
	close_to(e.v, 210);
	close_to(e.half, fmax(Z95 * sqrt(420 / 3.0), 4.30265273 * sqrt(100 / 3.0)));
	e = diff_mean(wide, 3);
	close_to(e.v, 3);
	close_to(e.half, 4.30265273 * sqrt(7 / 3.0));
	e = diff_mean(run, 1);
	close_to(e.half, Z95 * 20);
	assert_null(e.why);
	e = diff_mean(wide, 1);
	assert_true(isnan(e.half));
	assert_string_equal(e.why, "one recording");
}

/* ---- families ------------------------------------------------------------------------------- */

/* A row whose chance is about this: t of a normal distribution, by a known variance of 1. */
static void with_chance(enum diff_table t, const char *name, double chance, bool named)
{
	struct diff_amount run[2] = { { .v = 1000, .var = 0.5 }, { .v = 1000, .var = 0.5 } };
	double low = 0, high = 40;

	for (int i = 0; i < 100; i++) {
		double mid = (low + high) / 2;

		*(erfc(mid / sqrt(2)) > chance ? &low : &high) = mid;
	}
	run[1].v += low;
	item(t, "cycles", name, run, 2);
	x.table[t].v[x.table[t].n - 1].named = named;
}

static enum diff_verdict verdict(enum diff_table t, const char *name)
{
	for (size_t i = 0; i < x.table[t].n; i++)
		if (!strcmp(at(t, i)->key[1], name))
			return at(t, i)->verdict;
	return DIFF_NOT_COMPARABLE;
}

/* Others alone have all of 1 in 200: a third of it, half of it, then 1 of it. */
static void holm(void **state)
{
	static const struct {
		double chance[3];
		size_t changed;
	} row[] = {
		{ { 0.0016, 0.0024, 0.0049 }, 3 }, { { 0.0016, 0.0026, 0.0027 }, 1 },
		{ { 0.0017, 0.0001, 0.9 }, 2 },	   { { 0.0018, 0.0018, 0.0018 }, 0 },
		{ { 0.0049, 0.0016, 0.0024 }, 3 }, { { 0.0016, 0.0024, 0.0051 }, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		begin(1, 1);
		with_chance(DIFF_ROWS, "a", row[i].chance[0], false);
		with_chance(DIFF_LINES, "b", row[i].chance[1], false);
		with_chance(DIFF_ROWS, "c", row[i].chance[2], false);
		diff_judge(&x);
		assert_int_equal(x.family[DIFF_OTHERS].n, 3);
		assert_int_equal(x.family[DIFF_OTHERS].changed, row[i].changed);
		close_to(x.family[DIFF_OTHERS].level, 0.005);
		end();
	}
	begin(1, 1); /* smallest first, whatever their order */
	with_chance(DIFF_ROWS, "a", 0.9, false);
	with_chance(DIFF_ROWS, "b", 0.001, false);
	with_chance(DIFF_ROWS, "c", 0.003, false);
	diff_judge(&x);
	assert_int_equal(verdict(DIFF_ROWS, "a"), DIFF_NOISE);
	assert_int_equal(verdict(DIFF_ROWS, "b"), DIFF_MOVED);
	assert_int_equal(verdict(DIFF_ROWS, "c"), DIFF_NOISE);
	close_to(x.family[DIFF_OTHERS].needed, 0.005 / 2);
	end();
}

/* What limits name has half, totals a quarter, the others the rest; what is not used, or all
 * changed, goes on to the next. */
static void families(void **state)
{
	static const struct {
		double named, total, other; /* chances; above 1: there is none */
		double level[3];
	} row[] = {
		{ 0.9, 0.9, 0.9, { 0.0025, 0.00125, 0.00125 } },
		{ 2, 0.9, 0.9, { 0, 0.00125, 0.00375 } },
		{ 0.9, 2, 0.9, { 0.0025, 0, 0.0025 } },
		{ 0.9, 0.9, 2, { 0.0025, 0.0025, 0 } },
		{ 0.9, 2, 2, { 0.005, 0, 0 } },
		{ 2, 0.9, 2, { 0, 0.005, 0 } },
		{ 0.002, 0.9, 0.9, { 0.0025, 0.00125, 0.00375 } },
		{ 0.9, 0.001, 0.9, { 0.0025, 0.00125, 0.0025 } },
		{ 0.002, 0.001, 0.9, { 0.0025, 0.00125, 0.005 } },
		{ 0.002, 0.004, 2, { 0.0025, 0.005, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		begin(1, 1);
		if (row[i].named <= 1)
			with_chance(DIFF_TOTALS, "n", row[i].named, true);
		if (row[i].total <= 1)
			with_chance(DIFF_TOTALS, "t", row[i].total, false);
		if (row[i].other <= 1)
			with_chance(DIFF_ROWS, "o", row[i].other, false);
		diff_judge(&x);
		for (int k = 0; k < 3; k++)
			close_to(x.family[k].level, row[i].level[k]);
		assert_int_equal(x.family[DIFF_NAMED].n, row[i].named <= 1);
		assert_int_equal(x.family[DIFF_OF_TOTALS].n, row[i].total <= 1);
		assert_int_equal(x.family[DIFF_NAMED].changed, row[i].named < row[i].level[0]);
		end();
	}
}

/* A bar that excludes 0 beside "noise", and one that does not beside a change, say why. */
static void why(void **state)
{
	const struct diff_item *it;

	(void)state;
	begin(1, 1);
	with_chance(DIFF_ROWS, "a", 1 / 100.5, false);
	with_chance(DIFF_ROWS, "b", 0.9, false);
	diff_judge(&x);
	for (size_t i = 0; i < 2; i++) {
		it = at(DIFF_ROWS, i);
		assert_int_equal(it->verdict, DIFF_NOISE);
		assert_int_equal(diff_outside(it), !strcmp(it->key[1], "a"));
		if (diff_outside(it))
			assert_string_equal(it->why,
					    "chance 1 in 100; 2 figures together take 1 in 400");
		else
			assert_null(it->why);
	}
	end();
	begin(1, 1);
	with_chance(DIFF_ROWS, "a", 1 / 150.5, false);
	diff_judge(&x);
	assert_string_equal(at(DIFF_ROWS, 0)->why, "chance 1 in 150; it takes 1 in 200");
	end();
}

/* ---- order ---------------------------------------------------------------------------------- */

/* By side, then changed ones, those that differ, equal ones; event by event; the largest first. */
static void order(void **state)
{
	static const struct diff_amount moved[] = { S(100, 1), S(300, 1) };
	static const struct diff_amount more[] = { S(900, 1), S(500, 1) };
	static const struct diff_amount noise[] = { S(1000, 1), S(1001, 1) };
	static const struct diff_amount less[] = { S(20, 1), S(21, 1) };
	static const struct diff_amount same[] = { S(5000, 1), S(5000, 1) };
	static const char *const want[] = { "more",  "moved", "moved of misses",
					    "noise", "less",  "same",
					    "a",     "b",     "second side" };

	(void)state;
	begin(1, 1);
	item(DIFF_TOTALS, "cycles", NULL, same, 2);
	item(DIFF_TOTALS, "misses", NULL, same, 2);
	item(DIFF_ROWS, "cycles", "second side", more, 2);
	x.table[DIFF_ROWS].v[0].side = 2;
	item(DIFF_ROWS, "misses", "b", same, 2);
	item(DIFF_ROWS, "misses", "a", same, 2);
	item(DIFF_ROWS, "cycles", "less", less, 2);
	item(DIFF_ROWS, "cycles", "same", same, 2);
	item(DIFF_ROWS, "misses", "moved of misses", more, 2);
	item(DIFF_ROWS, "cycles", "moved", moved, 2);
	item(DIFF_ROWS, "cycles", "noise", noise, 2);
	item(DIFF_ROWS, "cycles", "more", more, 2);
	diff_judge(&x);
	for (size_t i = 0; i < x.table[DIFF_ROWS].n; i++)
		assert_string_equal(at(DIFF_ROWS, i)->key[1], want[i]);
	assert_int_equal(at(DIFF_ROWS, 0)->event, 1);
	assert_int_equal(at(DIFF_ROWS, 2)->event, 2);
	end();
}

/* A single event is not numbered; what totals do not have is behind all that they have. */
static void numbers(void **state)
{
	static const struct diff_amount run[] = { S(900, 1), S(500, 1) };

	(void)state;
	begin(1, 1);
	item(DIFF_TOTALS, "misses", NULL, run, 2);
	item(DIFF_TOTALS, "cycles", NULL, run, 2);
	for (int i = 0; i < 3; i++)
		item(DIFF_LINES, "cycles", "a", run, 2);
	for (int i = 0; i < 3; i++)
		item(DIFF_ROWS, "misses", "a", run, 2);
	item(DIFF_ROWS, "unknown", "b", run, 2);
	item(DIFF_ROWS, "cycles", "c", run, 2);
	diff_judge(&x);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(at(DIFF_LINES, i)->event, 0);
		assert_int_equal(at(DIFF_ROWS, i)->event, 1);
	}
	assert_string_equal(at(DIFF_ROWS, 3)->key[0], "cycles");
	assert_int_equal(at(DIFF_ROWS, 3)->event, 2);
	assert_int_equal(at(DIFF_ROWS, 4)->event, 3);
	end();
}

/* Matches side by side, those with a row that is reported first, then by their names. */
static void matches(void **state)
{
	static const char *name[][1] = { { "b" }, { "d" }, { "a" }, { "c" } };
	static const struct diff_amount moved[] = { S(100, 1), S(300, 1) };
	static const struct diff_amount noise[] = { S(100, 1), S(101, 1) };
	struct diff_match m[4] = { { .side = 1 }, { .side = 1 }, { .side = 2 }, { .side = 1 } };

	(void)state;
	begin(1, 1);
	for (size_t i = 0; i < 4; i++) {
		m[i].of[1] = name[i];
		assert_int_equal(vec_push(&x.match, &m[i]), 0);
		item(DIFF_ROWS, "cycles", name[i][0], i == 1 ? moved : noise, 2);
		x.table[DIFF_ROWS].v[i].match = &m[i];
	}
	diff_judge(&x);
	assert_ptr_equal(x.match.v[0], &m[1]);
	assert_ptr_equal(x.match.v[1], &m[0]);
	assert_ptr_equal(x.match.v[2], &m[3]);
	assert_ptr_equal(x.match.v[3], &m[2]);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(m[i].reported, i == 1);
	vec_free(&x.match);
	end();
}

/* Small figures have a change as great ones have, and what is no longer counted as what was. */
static void small_and_gone(void **state)
{
	static const struct diff_amount small[] = { V(0.009), V(0.011), V(0.015), V(0.013) };
	static const struct diff_amount gone[] = { V(9), V(11), V(0), V(0) };
	const struct diff_item *it;

	(void)state;
	begin(2, 2);
	item(DIFF_TOTALS, "cycles", NULL, small, 4);
	item(DIFF_TOTALS, "misses", NULL, gone, 4);
	x.table[DIFF_TOTALS].v[1].counts = true;
	diff_judge(&x);
	close_to(at(DIFF_TOTALS, 0)->change.v, 0.4);
	it = at(DIFF_TOTALS, 1);
	close_to(it->change.v, -1);
	close_to(it->change.half, 1.27062047); /* all of the spread is one side's */
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_and_two),
		cmocka_unit_test(one_and_two),
		cmocka_unit_test(unequal),
		cmocka_unit_test(spread_or_sampling),
		cmocka_unit_test(counts),
		cmocka_unit_test(known_errors),
		cmocka_unit_test(not_counted),
		cmocka_unit_test(means),
		cmocka_unit_test(holm),
		cmocka_unit_test(families),
		cmocka_unit_test(why),
		cmocka_unit_test(order),
		cmocka_unit_test(numbers),
		cmocka_unit_test(matches),
		cmocka_unit_test(small_and_gone),
	};

	return cmocka_run_group_tests_name("report/diff_judge", tests, NULL, NULL);
}
