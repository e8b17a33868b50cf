/* SPDX-License-Identifier: BSD-3-Clause */
/* Names made to fit: an exact table, names of columns that must not look alike, hostile names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "show/fold.h"

/* name, columns, text */
static const struct {
	const char *name;
	size_t width;
	const char *want;
} rows[] = {
	{ "memcpy", 6, "memcpy" },
	{ "plain_c_function_with_a_long_name", 20, "plain_c_function_..." },
	/* with a path, the function's name stays */
	{ "JS:*hot_js /srv/app/lib/work.js:1:16", 36, "JS:*hot_js /srv/app/lib/work.js:1:16" },
	{ "JS:*hot_js /srv/app/lib/work.js:1:16", 35, "JS:*hot_js .../work.js:1:16" },
	{ "JS:*hot_js /srv/app/lib/work.js:1:16", 26, "JS:*hot_js..." },
	{ "JS:~compile node:internal/modules/cjs/loader:1310:37", 40,
	  "JS:~compile .../loader:1310:37" },
	{ "JS:~emit node:events:466:44", 20, "JS:~emit..." },
	{ "py::Pool.work.<locals>.inner:/usr/lib/python3.12/pool.py", 50,
	  "py::Pool.work.<locals>.inner:.../pool.py" },
	{ "py::<module>:/srv/app.py", 20, "py::<module>..." },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 61,
	  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 60,
	  "std::vector<int, ...>::push_back(int const&)" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 45,
	  "std::vector<int, ...>::push_back(int const&)" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 32,
	  "std::vector<...>::push_back(...)" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 30,
	  "...vector<...>::push_back(...)" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 17,
	  "...push_back(...)" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 10, "...push..." },
	{ "bool operator< <int, long>(int const&, long const&)", 30,
	  "bool operator< <int, ...>(...)" },
	{ "ns::operator<<(std::ostream&, Big const&)", 20, "ns::operator<<(...)" },
	{ "ptr<int, long>::operator->() const", 28, "ptr<...>::operator->() const" },
	{ "Range<int, long>::operator()(int, long) const", 34,
	  "Range<...>::operator()(...) const" },
	{ "main::{lambda(int, long)#1}::operator()(int, long) const", 24,
	  "...operator()(...) const" },
	{ "(anonymous namespace)::Thing::run(int, char**)", 20, "...Thing::run(...)" },
	{ "<impl core::fmt::Display for my::Type<T>>::fmt", 15, "<impl ...>::fmt" },
	{ "<alloc::vec::Vec<T, A> as core::ops::Drop>::drop", 40,
	  "<alloc::vec::Vec<...> as ...>::drop" },
	{ "core::ops::function::FnOnce::call_once{{vtable.shim}}", 30,
	  "...call_once{{vtable.shim}}" },
	{ ">>>>))))<<<<a::b::c<int", 11, ">>>>))))..." },
	{ "a<b<c(((", 7, "a..." },
};

static void exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf b = BUF_INIT;

		fold_name(&b, rows[i].name, rows[i].width, NULL, 0, true);
		assert_string_equal(buf_str(&b), rows[i].want);
		buf_free(&b);
	}
}

/* The texts of a column, and that they fit and no two are equal. */
static void column_shows(const char *const *name, size_t n, size_t width, bool ascii,
			 const char *const *want)
{
	struct folds names = { .v = NULL };
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		folds_add(&names, name[i], 0);
	folds_settle(&names, width, ascii);
	assert_false(names.failed);
	for (size_t i = 0; i < n; i++) {
		const char *x = folds_get(&names, name[i], 0);

		assert_true(text_width(x) <= width);
		if (want)
			assert_string_equal(x, want[i]);
		for (size_t k = 0; k < i; k++)
			if (strcmp(name[i], name[k]) != 0)
				assert_string_not_equal(x, folds_get(&names, name[k], 0));
	}
	folds_free(&names, &b);
	assert_false(b.failed);
}

static void what_differs_stays(void **state)
{
	static const char *const middle[] = {
		"Hash<Alpha, std::less<int>, One>::find(std::string const&, int) const",
		"Hash<Alpha, std::less<long>, One>::find(std::string const&, int) const",
		"Hash<Alpha, std::less<long>, Two>::find(std::string const&, int) const",
	};
	static const char *const texts[] = {
		"Hash<...int...>::find(...) const",
		"Hash<...long>, One>::find(...) const",
		"Hash<...long>, Two>::find(...) const",
	};
	static const char *const literal[] = { "f<...>(int)", "f<int, int>(int)", "f<...> #2",
					       "f<long, int>(int)" };

	(void)state;
	column_shows(middle, 3, 40, true, texts);
	for (size_t width = 8; width < 70; width++)
		column_shows(middle, 3, width, true, NULL);
	for (size_t width = 7; width < 20; width++)
		column_shows(literal, 4, width, true, NULL);
}

/* Six places that differ; two walks keep four of them. */
static const char *six_places(char name[200], unsigned i)
{
	(void)snprintf(name, 200,
		       "f<%u, less<int>, %u, less<int>, %u, less<int>, %u, less<int>, %u, "
		       "less<int>, %u>()",
		       i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6 & 3, i >> 8 & 3, i >> 10 & 3);
	return name;
}

/* The number of a name is the same in every row, however deep it stands. */
static void numbers_stay(void **state)
{
	struct folds names = { .v = NULL };
	struct buf b = BUF_INIT;
	size_t numbered = 0;
	char name[200];

	(void)state;
	for (unsigned i = 0; i < 4096; i++)
		folds_add(&names, six_places(name, i), 0);
	for (unsigned i = 4096; i-- > 0;)
		folds_add(&names, six_places(name, i), 1);
	folds_settle(&names, 20, true);
	for (unsigned i = 0; i < 4096; i++) {
		const char *outer, *inner;

		outer = strstr(folds_get(&names, six_places(name, i), 0), " #");
		inner = strstr(folds_get(&names, name, 1), " #");
		if (outer && inner)
			assert_string_equal(outer, inner);
		numbered += outer && inner;
	}
	assert_true(numbered > 0);
	folds_free(&names, &b);
	assert_false(b.failed);
}

/* Random names of few words, so that many begin, end and nest alike. */
static void put_random(struct buf *b, unsigned depth)
{
	static const char *const words[] = {
		"std",
		"a",
		"b",
		"Allocator",
		"\xe4\xb8\xad\xe6\x96\x87",
		"operator<",
		"::x",
		"int",
		"unsigned long",
		"operator()",
		"{lambda(int)#1}",
		"->",
		"const",
		"> >::f(",
		"<impl X for Y>",
		"...",
		"\xe2\x80\xa6",
		"#2",
	};

	for (int n = rand() % 4 + 1; n > 0; n--) {
		buf_puts(b, words[(size_t)rand() % (sizeof(words) / sizeof(*words))]);
		if (depth < 4 && rand() % 3 == 0) {
			buf_putc(b, rand() % 3 ? '<' : '(');
			put_random(b, depth + 1);
			buf_puts(b, ", ");
			put_random(b, depth + 1);
			buf_putc(b, rand() % 3 ? '>' : ')');
		}
		buf_puts(b, rand() % 2 ? "::" : ", ");
	}
}

static void never_alike(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 400; round++) {
		const char *name[24];
		struct buf b[24];

		for (size_t i = 0; i < 24; i++) {
			b[i] = (struct buf)BUF_INIT;
			put_random(&b[i], 0);
			name[i] = buf_str(&b[i]);
		}
		column_shows(name, 24, 8 + (size_t)round % 60, round % 2, NULL);
		for (size_t i = 0; i < 24; i++)
			buf_free(&b[i]);
	}
}

/* Long runs of one thing, twice, different at the end or in the middle. */
static void hostile(void **state)
{
	static const char *const runs[] = { "<",	"(",	 ">", "a::", "a<",
					    "f(b, ",	"{<",	 ",", " ",   "operator<",
					    "\xcc\x81", "\\x1b", "<)" };

	(void)state;
	for (size_t r = 0; r < sizeof(runs) / sizeof(*runs); r++) {
		struct buf b[2] = { BUF_INIT, BUF_INIT };
		const char *name[2];

		for (size_t i = 0; i < 2; i++) {
			while (b[i].len < 10000)
				buf_puts(&b[i], runs[r]);
			buf_puts(&b[i], i ? "one" : "two");
			while (b[i].len < 20000)
				buf_puts(&b[i], runs[r]);
			name[i] = buf_str(&b[i]);
		}
		column_shows(name, 2, 30, true, NULL);
		column_shows(name, 2, 9, false, NULL);
		buf_free(&b[0]);
		buf_free(&b[1]);
	}
}

static void alike_by_thousands(void **state)
{
	struct folds names = { .v = NULL };
	struct buf b = BUF_INIT;
	struct u64map seen = U64MAP_INIT;
	char name[200];

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < 5000; i++) {
			bool fresh = true;
			const char *x;

			(void)snprintf(name, sizeof(name),
				       "f<%u, std::less<std::string>, %u, int>()", i * 7919 % 5000,
				       i);
			if (!pass) {
				folds_add(&names, name, 0);
				continue;
			}
			x = folds_get(&names, name, 0);
			assert_non_null(u64map_at(&seen, hash_bytes(x, strlen(x)), &fresh));
			assert_true(fresh && text_width(x) <= 12);
		}
		if (!pass)
			folds_settle(&names, 12, true);
	}
	u64map_free(&seen);
	folds_free(&names, &b);
	assert_false(b.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact),
		cmocka_unit_test(what_differs_stays),
		cmocka_unit_test(never_alike),
		cmocka_unit_test(hostile),
		cmocka_unit_test(alike_by_thousands),
		cmocka_unit_test(numbers_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
