/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/holders.h"
#include "tree.h"

static const struct tree_file held[] = {
	{ "proc/sys/kernel/nmi_watchdog", "1\n" },
	{ "sys/devices/system/cpu/smt/active", "1\n" },
	{ "sys/bus/event_source/devices/cpu/type", "4\n" },
	{ "sys/bus/event_source/devices/cpu/allow_tsx_force_abort", "0\n" },
	{ "sys/bus/event_source/devices/cpu_core/type", "4\n" },
	{ NULL, NULL },
};

static const struct tree_file odd[] = {
	{ "proc/sys/kernel/nmi_watchdog", "yes\n" },
	{ "sys/devices/system/cpu/smt/active", "" },
	{ "sys/bus/event_source/devices/cpu/allow_tsx_force_abort", "1\n" },
	{ NULL, NULL },
};

static void test_held(void **state)
{
	char root[] = "/tmp/cyclade-holders-XXXXXX";
	struct holders h;

	(void)state;
	tree_make(root, held);
	holders_read(&h, root, "cpu");
	assert_int_equal(h.watchdog, 1);
	assert_int_equal(h.smt, 1);
	assert_int_equal(h.tsx_force_abort, 0);
	/* the CPU we run on is not the one captured */
	assert_int_equal(h.general, 0);
	assert_int_equal(h.fixed, 0);
	holders_read(&h, root, "cpu_core");
	assert_int_equal(h.tsx_force_abort, -1);
	tree_remove(root);
}

static void test_not_known(void **state)
{
	char root[] = "/tmp/cyclade-holders-XXXXXX";
	struct holders h;

	(void)state;
	tree_make(root, odd);
	holders_read(&h, root, "cpu");
	assert_int_equal(h.watchdog, -1);
	assert_int_equal(h.smt, -1);
	assert_int_equal(h.tsx_force_abort, 1);
	tree_remove(root);
	holders_read(&h, "/nonexistent", "cpu");
	assert_int_equal(h.watchdog, -1);
	assert_int_equal(h.tsx_force_abort, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
