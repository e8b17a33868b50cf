/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps of basic blocks: the same two functions in each form, by hand from the form's description.
 * (tests/truth/test_export.py reads what clang writes.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbol/bbmap.h"

#define ADDR_A 0x60, 0x11, 0, 0, 0, 0, 0, 0
#define ADDR_B 0x00, 0x20, 0, 0, 0, 0, 0, 0

/* Function A: a block of 13 bytes; B: 300 bytes, then 4 bytes of padding, then 7 bytes. */
static const uint8_t old[] = { ADDR_A, 1, 0, 13, 1, ADDR_B, 2, 0, 0xac, 2, 8, 0xb0, 2, 7, 1 };
static const uint8_t one[] = { 1, 0, ADDR_A, 1, 0, 13, 1, 1, 0, ADDR_B, 2, 0, 0xac, 2, 8, 4, 7, 1 };
static const uint8_t two[] = { 2, 0, ADDR_A, 1,	   0, 0, 13, 1, 2, 0, ADDR_B,
			       2, 0, 0,	     0xac, 2, 8, 5,  4, 7, 1 };

static void check(const uint8_t *p, size_t len, bool is_old, uint32_t last_id)
{
	const struct bbmap_form form = { is_old, true, false };
	struct bbmap m;

	assert_int_equal(bbmap_parse(&m, p, len, &form, NULL), 0);
	assert_int_equal(m.function.n, 2);
	assert_int_equal(m.block.n, 3);
	assert_int_equal(m.function.v[0].vaddr, 0x1160);
	assert_int_equal(m.function.v[0].n, 1);
	assert_int_equal(m.function.v[1].vaddr, 0x2000);
	assert_int_equal(m.function.v[1].first, 1);
	assert_int_equal(m.block.v[0].size, 13);
	assert_int_equal(m.block.v[0].flags, 1);
	assert_int_equal(m.block.v[1].size, 300);
	assert_int_equal(m.block.v[2].at, 304);
	assert_int_equal(m.block.v[2].size, 7);
	assert_int_equal(m.block.v[2].id, last_id);
	bbmap_free(&m);
	for (size_t cut = 1; cut < len; cut++) { /* whole functions, or nothing */
		if (!bbmap_parse(&m, p, cut, &form, NULL))
			assert_int_equal(m.function.n, 1);
		else
			assert_int_equal(m.block.n, 0);
		bbmap_free(&m);
	}
}

static void forms_are_read(void **state)
{
	(void)state;
	check(old, sizeof(old), true, 1);
	check(one, sizeof(one), false, 1);
	check(two, sizeof(two), false, 5);
}

static void others_are_refused(void **state)
{
	static const uint8_t later[] = { 3, 0, ADDR_A, 0 }, featured[] = { 2, 8, ADDR_A, 0 };
	static const uint8_t many[] = { 1, 0, ADDR_A, 0xff, 0xff, 0xff, 0xff, 0x0f, 0 };
	static const uint8_t back[] = { ADDR_A, 2, 0, 13, 1, 5, 3, 1 };
	const struct bbmap_form form = { false, true, false }, old_form = { true, true, false };
	struct err err = ERR_INIT;
	struct bbmap m;

	(void)state;
	assert_int_equal(bbmap_parse(&m, later, sizeof(later), &form, &err), -1);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_int_equal(bbmap_parse(&m, featured, sizeof(featured), &form, NULL), -1);
	err_clear(&err);
	assert_int_equal(bbmap_parse(&m, many, sizeof(many), &form, &err), -1);
	assert_int_equal(err.code, ERR_FORMAT);
	assert_int_equal(bbmap_parse(&m, back, sizeof(back), &old_form, NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_are_read),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
