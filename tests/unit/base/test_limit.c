/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits as they are typed: what they mean is written out by hand, what is refused has its caret.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limit.h"

static void what_is_read(void **state)
{
	static const struct {
		const char *text, *name;
		bool above;
		double at;
	} row[] = {
		{ "time > +2%", "time", true, 0.02 },
		{ "time>2%", "time", true, 0.02 },
		{ "  time  >  2  %  ", "time", true, 0.02 },
		{ "time > 0%", "time", true, 0 },
		{ "time > -0%", "time", true, 0 },
		{ "time < 0%", "time", false, 0 },
		{ "time < +0%", "time", false, 0 },
		{ "time < -12.5%", "time", false, -0.125 },
		{ "time < -0.5%", "time", false, -0.005 },
		{ "time > +0.25%", "time", true, 0.0025 },
		{ "a b > +0.5%", "a b", true, 0.005 },
		{ "backend.memory > +150%", "backend.memory", true, 1.5 },
		{ "function:parse < -5%", "function:parse", false, -0.05 },
		{ "function:operator<< > +5%", "function:operator<<", true, 0.05 },
		{ "function:operator> < -5%", "function:operator>", false, -0.05 },
		{ "function:f<int>::g > +5%", "function:f<int>::g", true, 0.05 },
		{ " function:x>1%", "function:x", true, 0.01 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct arena a = ARENA_INIT;
		struct err err = ERR_INIT;
		struct limit l;

		assert_int_equal(limit_parse(&l, &a, row[i].text, &err), 0);
		assert_string_equal(l.text, row[i].text);
		assert_string_equal(l.name, row[i].name);
		assert_int_equal(l.above, row[i].above);
		assert_float_equal(l.at, row[i].at, 1e-12);
		arena_free(&a);
	}
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *text, *what;
		size_t caret;
	} row[] = {
		{ "", "> or < is missing", 0 },
		{ "time", "> or < is missing", 4 },
		{ "function:x", "> or < is missing", 10 },
		{ "> 2%", "a name must stand", 0 },
		{ "  < 2%", "a name must stand", 2 },
		{ "function: > 2%", "a name must stand", 9 },
		{ "time >> 2%", "one > or <", 6 },
		{ "time<<2%", "one > or <", 5 },
		{ "time <> 2%", "one > or <", 6 },
		{ "time >< -2%", "one > or <", 6 },
		{ "time >", "a number in per cent", 6 },
		{ "time > x%", "a number in per cent", 7 },
		{ "time > +%", "a number in per cent", 8 },
		{ "time > --2%", "a number in per cent", 8 },
		{ "time > 1.2.3%", "this is no number", 7 },
		{ "time > 2", "a % must stand", 8 },
		{ "time > 2x%", "a % must stand", 8 },
		{ "time > 2% x", "nothing may stand", 10 },
		{ "time > -2%", "other side of 0", 7 },
		{ "time > -0.5%", "other side of 0", 7 },
		{ "time < +0.5%", "other side of 0", 7 },
		{ "time < 2%", "other side of 0", 7 },
		{ "time < +2%", "other side of 0", 7 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct arena a = ARENA_INIT;
		struct err err = ERR_INIT;
		const char *line;
		struct limit l;

		assert_int_equal(limit_parse(&l, &a, row[i].text, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.what, row[i].what));
		assert_int_equal(strncmp(err.hint, row[i].text, strlen(row[i].text)), 0);
		line = strchr(err.hint, '\n');
		assert_non_null(line);
		assert_int_equal(strlen(line + 1), row[i].caret + 1);
		assert_int_equal(line[1 + row[i].caret], '^');
		arena_free(&a);
	}
}

/* A text longer than what is shown, and bytes of any kind, stay within their bounds. */
static void hostile(void **state)
{
	char text[600];
	struct arena a = ARENA_INIT;

	(void)state;
	for (unsigned c = 1; c < 256; c++) {
		struct err err = ERR_INIT, again = ERR_INIT;
		struct limit l;

		memset(text, (int)c, sizeof(text) - 1);
		text[sizeof(text) - 1] = 0;
		assert_int_equal(limit_parse(&l, &a, text, &err), -1);
		memcpy(text + sizeof(text) - 6, " > 5%", 6);
		if (!limit_parse(&l, &a, text, &again)) {
			assert_int_equal(strlen(l.name), sizeof(text) - 6);
			assert_float_equal(l.at, 0.05, 1e-12);
		}
	}
	arena_free(&a);
}

/* Of a long text the beginning is shown, and no caret stands behind that. */
static void long_texts(void **state)
{
	char text[200];

	(void)state;
	for (size_t n = 100; n < 150; n++) {
		struct arena a = ARENA_INIT;
		struct err err = ERR_INIT;
		struct limit l;
		const char *line;
		size_t shown;

		memset(text, 'x', n); /* the % is missing behind all of it */
		memcpy(text + n, " > 2", 5);
		shown = strlen(text) < 120 ? strlen(text) : 120;
		assert_int_equal(limit_parse(&l, &a, text, &err), -1);
		line = strchr(err.hint, '\n');
		assert_non_null(line);
		assert_int_equal(line - err.hint, shown);
		assert_int_equal(strlen(line + 1), shown + 1);
		arena_free(&a);
	}
}

static void what_breaks_it(void **state)
{
	const struct limit up = { .above = true, .at = 0.02 }, down = { .at = -0.02 };
	const struct limit any = { .above = true, .at = 0 }, less = { .at = 0 };

	(void)state;
	assert_true(limit_broken(&up, 0.0201, true));
	assert_true(limit_broken(&up, INFINITY, true));
	assert_false(limit_broken(&up, 0.02, true)); /* up to the limit is within it */
	assert_false(limit_broken(&up, -0.5, true));
	assert_false(limit_broken(&up, 0.5, false));
	assert_false(limit_broken(&up, NAN, true));
	assert_true(limit_broken(&down, -0.0201, true));
	assert_false(limit_broken(&down, -0.02, true));
	assert_false(limit_broken(&down, 0.5, true));
	assert_false(limit_broken(&down, -0.5, false));
	assert_false(limit_broken(&down, NAN, true));
	assert_true(limit_broken(&any, 1e-9, true));
	assert_false(limit_broken(&any, 0, true));
	assert_true(limit_broken(&less, -1e-9, true));
	assert_false(limit_broken(&less, 0, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read),	  cmocka_unit_test(what_is_refused),
		cmocka_unit_test(hostile),	  cmocka_unit_test(long_texts),
		cmocka_unit_test(what_breaks_it),
	};

	return cmocka_run_group_tests_name("base/limit", tests, NULL, NULL);
}
