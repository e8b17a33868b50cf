/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"

static void first_cause_wins(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(err_set(&err, ERR_FORMAT, "first"), -1);
	assert_int_equal(err_set(&err, ERR_IO, "second"), -1);
	assert_string_equal(err.what, "first");
	assert_int_equal(err.code, ERR_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_cause_wins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
