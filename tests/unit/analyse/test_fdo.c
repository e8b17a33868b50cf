/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discriminators as LLVM lays three numbers into one, against an encoder that is written here.
 * (What profiles hold is tested on whole recordings: tests/truth/test_export.py.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/fdo.h"

/* Appends a number: 0 is a set bit; up to 31 seven bits, a clear one first; up to 4095 fourteen. */
static void append(uint32_t *word, unsigned *at, uint32_t v)
{
	uint32_t bits = 1;
	unsigned n = 1;

	if (v && v < 32) {
		bits = v << 1;
		n = 7;
	} else if (v) {
		bits = (v & 31) << 1 | 1u << 6 | (v >> 5) << 7;
		n = 14;
	}
	if (*at < 32)
		*word |= bits << *at;
	*at += n;
}

static uint32_t encode(uint32_t base, uint32_t copies, uint32_t copy)
{
	uint32_t word = 0;
	unsigned at = 0;

	/* what is not needed at the end is not there */
	append(&word, &at, base);
	if (copies > 1 || copy)
		append(&word, &at, copies > 1 ? copies : 0);
	if (copy)
		append(&word, &at, copy);
	return at <= 32 ? word : 0;
}

static void known_values(void **state)
{
	(void)state;
	assert_int_equal(fdo_base_discriminator(0), 0);
	assert_int_equal(fdo_duplication(0), 1);
	assert_int_equal(fdo_base_discriminator(2), 1);
	assert_int_equal(fdo_base_discriminator(0x3e), 31);
	assert_int_equal(fdo_base_discriminator(0xc0), 32);
	/* no base, four copies */
	assert_int_equal(fdo_base_discriminator(0x11), 0);
	assert_int_equal(fdo_duplication(0x11), 4);
}

static void all_numbers(void **state)
{
	(void)state;
	for (uint32_t base = 0; base < 4096; base++) {
		for (uint32_t copies = 1; copies < 200; copies++) {
			uint32_t d = encode(base, copies, 0);

			assert_int_equal(fdo_base_discriminator(d), base);
			assert_int_equal(fdo_duplication(d), copies);
		}
		if (base < 32) {
			uint32_t d = encode(base, 8, 3);

			assert_int_equal(fdo_base_discriminator(d), base);
			assert_int_equal(fdo_duplication(d), 8);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(all_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
