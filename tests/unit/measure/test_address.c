/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of samples of the kernel "address": right ones and planted faults, each with its verdict;
 * and the kernel itself, whose words tell where they are.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "measure/validate_address.h"
#include "../skip.h"

#define SAMPLES 1000u
#define MEMORY	UINT64_C(0x7f0000400000)
#define BYTES	16384u

/* registers 3, 4 and 5: the second load's base, the first one's, and the index */
static const struct kernel_address loads = { { { 0x1000, 0x1005, 4, 5, 8, 8, false },
					       { 0x1030, 0x1035, 3, 5, 8, 16, true } } };
static const struct validate_address_place place = { &loads, MEMORY, BYTES, 0x38, false };
static struct validate_seen seen[SAMPLES];

enum { BASE_2, BASE_1, INDEX };

/* Sample i: at a load of some line, with the registers before it. */
static void plant(void)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		const struct kernel_load *l = &loads.load[i % 2];
		uint64_t index = i * 5 % (BYTES / 64) * 8;

		seen[i] = (struct validate_seen){ .ip = l->load,
						  .addr = MEMORY + index * 8 + (i % 2 ? 16 : 8),
						  .reg = { MEMORY, MEMORY, index },
						  .has_regs = true };
	}
}

static struct validate_address sum(unsigned precise)
{
	struct validate_address a = { .precise = precise };

	validate_address_sum(&a, &place, seen, SAMPLES);
	return a;
}

static void behind(size_t i)
{
	if (i % 2)
		seen[i].reg[BASE_2] = kernel_word_of(seen[i].addr);
}

static void later(size_t i)
{
	seen[i].reg[i % 2 ? INDEX : BASE_1] = 0;
	seen[i].reg[BASE_2] = i % 2 ? kernel_word_of(seen[i].addr) : MEMORY;
}

static void off(size_t i)
{
	seen[i].addr += 8;
}

static void line(size_t i)
{
	seen[i].addr &= ~UINT64_C(63);
}

static void page(size_t i)
{
	seen[i].addr &= ~UINT64_C(4095);
}

static void anywhere(size_t i)
{
	seen[i].addr = UINT64_C(0x1000000) + i * 24;
}

static void none(size_t i)
{
	seen[i].addr = 0;
}

static void next(size_t i)
{
	seen[i].ip += 5;
}

static void elsewhere(size_t i)
{
	seen[i].ip += 9;
}

static void no_regs(size_t i)
{
	seen[i].has_regs = false;
}

static const struct {
	const char *name;
	void (*fault)(size_t i), (*more)(size_t i); /* one of `every` samples has both */
	size_t every;
	enum validate_address_verdict verdict;
	enum validate_address_off off;
	double kept, overwritten, right; /* NAN: cannot be known */
} cases[] = {
	{ "all right", NULL, NULL, 1, ADDRESS_RIGHT, OFF_NOTHING, 1, 1, 1 },
	{ "behind", behind, NULL, 1, ADDRESS_BEHIND, OFF_NOTHING, 1, 0, 1 },
	{ "later", later, NULL, 1, ADDRESS_LATER, OFF_NOTHING, 0, 0, 1 },
	{ "off", off, NULL, 1, ADDRESS_WRONG, OFF_FIXED, 0, 0, 0 },
	{ "line", line, NULL, 1, ADDRESS_WRONG, OFF_LINE, 0, 0, 0 },
	{ "page", page, NULL, 1, ADDRESS_WRONG, OFF_PAGE, 0, 0, 0 },
	{ "anywhere", anywhere, NULL, 1, ADDRESS_WRONG, OFF_VARIES, 0, 0, 0 },
	{ "none", none, NULL, 1, ADDRESS_NONE, OFF_NOTHING, 0, 0, NAN },
	{ "next", next, NULL, 1, ADDRESS_SKIDS, OFF_NOTHING, 1, 1, 1 },
	{ "elsewhere", elsewhere, NULL, 1, ADDRESS_SKIDS, OFF_NOTHING, NAN, NAN, NAN },
	{ "no registers", no_regs, NULL, 1, ADDRESS_LATER, OFF_NOTHING, 0, 0, NAN },
	{ "behind, off", behind, off, 1, ADDRESS_WRONG, OFF_FIXED, 0, 0, 0 },
	{ "off, no registers", anywhere, no_regs, 1, ADDRESS_WRONG, OFF_NOTHING, 0, 0, 0 },
	{ "3 % off", off, NULL, 33, ADDRESS_WRONG, OFF_FIXED, 1 - 1. / 33, 1 - 1. / 33,
	  1 - 1. / 33 },
};

static bool is(struct estimate e, double want)
{
	return isnan(want) ? isnan(e.v) && e.why : fabs(e.v - want) < 0.005 && e.half < 0.05;
}

static void test_faults(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		struct validate_address a;

		plant();
		for (size_t i = 0; cases[k].fault && i < SAMPLES; i += cases[k].every) {
			cases[k].fault(i);
			if (cases[k].more)
				cases[k].more(i);
		}
		a = sum(3);
		print_message("# %s: %s, recomputed %.3f +-%.3f, right %.3f +-%.3f\n",
			      cases[k].name, validate_address_key[a.verdict], a.kept.v, a.kept.half,
			      a.right.v, a.right.half);
		assert_int_equal(a.verdict, cases[k].verdict);
		assert_int_equal(a.off, cases[k].off);
		assert_true(is(a.kept, cases[k].kept) && is(a.overwritten, cases[k].overwritten));
		assert_true(is(a.right, cases[k].right));
		if (a.off == OFF_FIXED)
			assert_int_equal(a.by, 8);
	}
}

/* What was not sampled has its reason; few samples accuse nobody. */
static void test_none(void **state)
{
	struct validate_address a = { .why = "not here" };

	(void)state;
	validate_address_sum(&a, &place, seen, 0);
	assert_int_equal(a.verdict, ADDRESS_UNTESTED);
	assert_string_equal(a.right.why, "not here");
	plant();
	for (size_t i = 0; i < SAMPLES; i++)
		none(i);
	a = sum(0);
	assert_int_equal(a.verdict, ADDRESS_UNTESTED);
	assert_non_null(strstr(a.why, "not precise"));
	plant();
	off(0);
	a = (struct validate_address){ .precise = 3 };
	validate_address_sum(&a, &place, seen, 20); /* 1 of 20 is off: up to 24 % or next to none */
	assert_true(a.right.half > 0.05 && a.right.half < 0.3);
}

static void test_kernel(void **state)
{
	const struct kernel *k = kernel_find("address");
	const struct kernel_setup usual = { .bytes = 0 };
	struct kernel_address at;
	struct kernel_work w;

	(void)state;
	if (!kernel_address_place(&at))
		SKIP_BECAUSE("this architecture has no kernels");
	assert_int_equal(kernel_prepare(&w, k, &usual, NULL), 0);
	for (size_t i = 0; i <= w.mask; i += 8) {
		uint64_t word;

		memcpy(&word, w.a + i, sizeof(word));
		assert_true(kernel_word_of(word) == (uintptr_t)(w.a + i));
	}
	k->run(&w, 1000);
	assert_true(w.at < (w.mask + 1) / 8 && w.at % 8 == 0);
	assert_true(at.load[0].load < at.load[0].after && at.load[0].after < at.load[1].load &&
		    at.load[1].load < at.load[1].after);
	kernel_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
