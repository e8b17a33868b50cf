/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/named.h"

struct row {
	const char *said;
	enum symbol_way way;
};

static void check(const struct symbol *s, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum symbol_way way = 0;

		while (way < SYMBOL_WAYS && !symbol_means(s, "prog", rows[i].said, way))
			way++;
		if (way != rows[i].way)
			fail_msg("%s: %d", rows[i].said, (int)way);
	}
}

/* By which way a name first means a symbol; SYMBOL_WAYS: by none. */
static void test_ways(void **state)
{
	static const struct symbol work = {
		.name = "ns::work(int)", .linkage = "_ZN2ns4workEi", .start = 0x1a40, .size = 0x10
	};
	static const struct row rows[] = {
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
	check(&work, rows, sizeof(rows) / sizeof(*rows));
}

/* One of several functions of that name: with and without what tells it apart. */
static void test_apart(void **state)
{
	static const struct symbol work = { .name = "ns::work(int)@a.c:12",
					    .linkage = "_ZN2ns4workEi",
					    .start = 0x1a40,
					    .size = 0x10,
					    .apart = true };
	static const struct row rows[] = {
		{ "ns::work(int)@a.c:12", SYMBOL_EXACT },
		{ "ns::work(int)", SYMBOL_EXACT },
		{ "_ZN2ns4workEi", SYMBOL_EXACT },
		{ "prog:ns::work(int)@a.c:12", SYMBOL_OF_DSO },
		{ "prog:ns::work(int)", SYMBOL_OF_DSO },
		{ "ns::work(int)@a.c:13", SYMBOL_WAYS },
		{ "ns::work(int)@0x1a40", SYMBOL_AT },
		{ "*k(int)", SYMBOL_GLOB },
		{ "*k(int)@a.c:*", SYMBOL_GLOB },
		{ "work(int)@a", SYMBOL_PART },
	};

	(void)state;
	check(&work, rows, sizeof(rows) / sizeof(*rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ways),
					    cmocka_unit_test(test_apart) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
