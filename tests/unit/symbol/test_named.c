/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/named.h"

/* By which way a name first means a symbol; SYMBOL_WAYS: by none. */
static void test_ways(void **state)
{
	static const struct symbol work = {
		"ns::work(int)", "_ZN2ns4workEi", 0x1a40, 0x10, 0, false
	};
	static const struct {
		const char *said;
		enum symbol_way way;
	} rows[] = {
		{ "ns::work(int)", SYMBOL_EXACT },
		{ "_ZN2ns4workEi", SYMBOL_EXACT },
		{ "prog:ns::work(int)", SYMBOL_OF_DSO },
		{ "prog:_ZN2ns4workEi", SYMBOL_OF_DSO },
		{ "lib:ns::work(int)", SYMBOL_WAYS },
		{ "prog:work", SYMBOL_WAYS },
		{ "prog", SYMBOL_WAYS },
		{ "ns::work(int)@0x1a40", SYMBOL_AT },
		{ "ns::work(int)@6720", SYMBOL_AT },
		{ "ns::work(int)@0x1a41", SYMBOL_WAYS },
		{ "ns::work(int)@", SYMBOL_WAYS },
		{ "ns::work@0x1a40", SYMBOL_WAYS },
		{ "ns::*", SYMBOL_GLOB },
		{ "*work*", SYMBOL_GLOB },
		{ "work*", SYMBOL_WAYS },
		{ "work", SYMBOL_PART },
		{ "_ZN2", SYMBOL_WAYS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		enum symbol_way way = 0;

		while (way < SYMBOL_WAYS && !symbol_means(&work, "prog", rows[i].said, way))
			way++;
		if (way != rows[i].way)
			fail_msg("%s: %d", rows[i].said, (int)way);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ways) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
