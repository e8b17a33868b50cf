/* SPDX-License-Identifier: BSD-3-Clause */
/* Text from outside: made safe, fitted, wrapped, quoted for csv, taken apart, guessed at. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"

static const char *safe(struct buf *b, const char *s, bool ascii)
{
	buf_reset(b);
	text_put_safe(b, s, ascii);
	return buf_str(b);
}

static const char *fit(struct buf *b, const char *s, size_t w, bool keep_end, bool ascii)
{
	buf_reset(b);
	text_put_fit(b, s, w, TEXT_LEFT, keep_end, ascii);
	return buf_str(b);
}

static void lists_have_words(void **state)
{
	static const struct {
		const char *list, *words; /* each in brackets */
	} cases[] = {
		{ "a,b", "[a][b]" },
		{ " a , b c,d ", "[a][b c][d]" },
		{ "", "[]" },
		{ " ", "[]" },
		{ "a,", "[a][]" },
		{ ",,a", "[][][a]" },
		{ "\ta, ,b", "[\ta][][b]" },
	};
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *list = cases[i].list, *word;
		size_t len;

		buf_reset(&b);
		while (text_word(&list, &word, &len))
			buf_printf(&b, "[%.*s]", (int)len, word);
		assert_string_equal(buf_str(&b), cases[i].words);
	}
	buf_free(&b);
}

static void bytes_are_two_digits_each(void **state)
{
	static const uint8_t id[] = { 0x00, 0x0f, 0xf0, 0x9a, 0xff };
	char out[2 * sizeof(id) + 2];

	(void)state;
	memset(out, 'x', sizeof(out));
	text_hex(out, id, sizeof(id));
	assert_string_equal(out, "000ff09aff");
	assert_int_equal(out[sizeof(out) - 1], 'x');
	text_hex(out, id, 0);
	assert_string_equal(out, "");
}

static void text_is_made_safe(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(safe(&b, "a\x1b[31mb", false), "a\\x1b[31mb");
	assert_string_equal(safe(&b, "\xff\xc3\xa9", false), "\\xff\xc3\xa9");
	assert_string_equal(safe(&b, "\xc3\xa9", true), "\\u{e9}");
	assert_string_equal(safe(&b, "x\xe2\x80\xaey", false), "x\\u{202e}y");
	assert_string_equal(safe(&b, "\xc2\x9b", false), "\\u{9b}");
	assert_string_equal(safe(&b, "\xed\xa0\x80", false), "\\xed\\xa0\\x80");
	assert_int_equal(text_width("\xe4\xbd\xa0x\xcc\x81"), 3);
	assert_string_equal(fit(&b, "abcdef", 4, false, true), "a...");
	assert_string_equal(fit(&b, "abcdef", 4, false, false), "abc\xe2\x80\xa6");
	assert_string_equal(fit(&b, "abcdef", 4, true, false), "\xe2\x80\xa6"
							       "def");
	assert_string_equal(fit(&b, "ab", 4, true, false), "ab  ");
	for (size_t w = 0; w < 9; w++)
		for (int end = 0; end < 2; end++)
			assert_int_equal(text_width(fit(&b, "\xe4\xbd\xa0\xe4\xbd\xa0\xe4\xbd\xa0z",
							w, end, 0)),
					 w);
	buf_reset(&b);
	text_put_csv(&b, "a,\"b\"", ',');
	assert_string_equal(buf_str(&b), "\"a,\"\"b\"\"\"");
	buf_reset(&b);
	text_put_csv_safe(&b, "x\r\n\033[m;", ';');
	text_put_csv_safe(&b, NULL, ';');
	text_put_csv_real(&b, NAN);
	text_put_csv_real(&b, 0.25);
	assert_string_equal(buf_str(&b), "\"x\\x0d\\x0a\\x1b[m;\"0.25");
	buf_free(&b);
}

static void nearest_word_is_found(void **state)
{
	static const char *const words[] = { "report", "record", "annotate", "info", NULL };

	(void)state;
	assert_string_equal(text_nearest("repotr", words), "report");
	assert_string_equal(text_nearest("anotate", words), "annotate");
	assert_string_equal(text_nearest("information", words), "info");
	assert_null(text_nearest("zzzzzzzz", words));
	for (size_t i = 0; i < 3; i++) {
		struct err err = { .code = ERR_USAGE };

		assert_int_equal(
			text_suggest(&err, i ? "zzzz" : "repotr", i == 2 ? NULL : words, "%d", 7),
			-1);
		assert_string_equal(err.hint, i ? "7" : "did you mean report?");
	}
	assert_true(text_ends("a.scale", 7, ".scale"));
	assert_false(text_ends("a.scale", 6, ".scale"));
}

static void lines_are_broken_at_blanks(void **state)
{
	static const struct {
		const char *s;
		size_t indent, width;
		const char *want;
	} rows[] = {
		{ "one two three", 2, 10, "one two\n  three" }, /* "  one two": 9 columns */
		{ "one two three", 2, 9, "one two\n  three" },
		{ "one two three", 2, 8, "one\n  two\n  three" },
		{ "one two three", 2, 0, "one two three" },
		{ "unbreakable x", 4, 6, "unbreakable\n    x" },
		{ "a  b", 0, 0, "a  b" },
		{ "", 3, 9, "" },
	};
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_reset(&b);
		text_put_wrapped(&b, rows[i].s, rows[i].indent, rows[i].width);
		assert_string_equal(buf_str(&b), rows[i].want);
	}
	buf_reset(&b);
	buf_puts(&b, "x \t  ");
	buf_end_line(&b);
	assert_string_equal(buf_str(&b), "x \t\n");
	buf_reset(&b);
	buf_fill(&b, ' ', 3);
	buf_trim(&b);
	assert_int_equal(b.len, 0);
	buf_free(&b);
}

/* Quotation marks alone do not keep a spreadsheet from running a cell. */
static void no_cell_is_a_formula(void **state)
{
	static const struct {
		const char *text, *cell;
	} rows[] = {
		{ "=1+1", "\"'=1+1\"" },
		{ "@SUM(A1)", "\"'@SUM(A1)\"" },
		{ "-[View draw:]", "\"'-[View draw:]\"" },
		{ "+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\"" },
		{ " =1+1", "\"' =1+1\"" },
		{ "\xef\xbc\x9d"
		  "1+1",
		  "\"'\xef\xbc\x9d"
		  "1+1\"" },
		{ "  \xef\xbc\xa0"
		  "A1",
		  "\"'  \xef\xbc\xa0"
		  "A1\"" },
		{ "  main", "  main" },
		{ " -12.5", " -12.5" },
		{ "-12.5", "-12.5" },
		{ "+3", "+3" },
		{ "-", "-" },
		{ "operator=", "operator=" },
		{ "a-b", "a-b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf b = BUF_INIT;

		text_put_csv_safe(&b, rows[i].text, ',');
		assert_string_equal(buf_str(&b), rows[i].cell);
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_have_words),
		cmocka_unit_test(bytes_are_two_digits_each),
		cmocka_unit_test(text_is_made_safe),
		cmocka_unit_test(nearest_word_is_found),
		cmocka_unit_test(lines_are_broken_at_blanks),
		cmocka_unit_test(no_cell_is_a_formula),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
