/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables as OpenMetrics 1.0 and as Prometheus' text format 0.0.4, written out by hand from the
 * specifications: names and units, kinds of families, labels and their escapes, figures.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "show/document.h"

struct row {
	const char *name;
	uint64_t cpu, read, hits, rate;
	int64_t drift;
	struct estimate share, wait, clock, flops;
	bool on;
};

static const struct row rows[] = {
	{ "a",
	  0,
	  4096,
	  7,
	  99,
	  -5,
	  { 0.25, 0.125, NULL },
	  { 1.5, 0, NULL },
	  { 3e9, 0, NULL },
	  { 0.1, 0, NULL },
	  true },
	{ "q\"\\\n",
	  12,
	  18446744073709551615u,
	  0,
	  99,
	  5,
	  { 1, 0, NULL },
	  { NAN, NAN, "no" },
	  { 1e15, 0, NULL },
	  { -2, 0, NULL },
	  false },
	{ NULL,
	  3,
	  0,
	  1,
	  99,
	  0,
	  { NAN, NAN, "no" },
	  { 0, 0, NULL },
	  { 1e300, 0, NULL },
	  { 0.30000000000000004, 0, NULL },
	  false },
};

static void list_get(const struct table *t, const struct table_column *c, const struct table_row *r,
		     struct table_cell *out)
{
	static const char *const words[] = { "x", "y" };

	(void)t;
	(void)c;
	(void)r;
	out->list = words;
	out->n_list = 2;
}

#define OF(member) TABLE_FIELD(struct row, member)
static const struct table_column columns[] = {
	{ "cpu", "cpu", T_ID, C_KEY, NULL, "its number", OF(cpu) },
	{ "name", "name", T_TEXT, C_KEY, NULL, "its name", OF(name) },
	{ "share", "share", T_SHARE, C_ERROR, NULL, "of all \\ \"these\"", OF(share) },
	{ "wait", "wait", T_SECONDS, 0, NULL, "that it waited", OF(wait) },
	{ "read_bytes", "read", T_BYTES, C_TOTAL, NULL, "that it read", OF(read) },
	{ "nbytes", "read", T_BYTES, 0, NULL, "the same", OF(read) },
	{ "hits", "hits", T_COUNT, C_TOTAL, NULL, "how often", OF(hits) },
	{ "rate", "rate", T_COUNT, C_RATE, NULL, "left out", OF(rate) },
	{ "shown", "shown", T_COUNT, C_PEOPLE, NULL, "for people", OF(rate) },
	{ "drift", "drift", T_SIGNED, 0, "us", "either way", OF(drift) },
	{ "clock_rate", "clock", T_REAL, 0, "Hz", "of it", OF(clock) },
	{ "flops", "flops", T_AMOUNT, 0, "G/s", "a unit of no word", OF(flops) },
	{ "on", "on", T_FLAG, 0, NULL, "or off", OF(on) },
};
static const struct table_form form = { "parts", "all of them", TABLE_MAIN,
					TABLE_COLUMNS(columns) };

static const struct table_column bare_columns[] = {
	{ "hits", "hits", T_COUNT, 0, NULL, "how often", OF(hits) },
	{ "name", "name", T_TEXT, 0, NULL, "no key", OF(name) },
};
static const struct table_form bare_form = { "bare", NULL, 0, TABLE_COLUMNS(bare_columns) };

static const struct table_column word_columns[] = {
	{ "name", "name", T_TEXT, 0, NULL, "a text", OF(name) },
	{ "at", "at", T_ADDRESS, 0, NULL, "an address", OF(read) },
	{ "words", "words", T_LIST, 0, NULL, "some", .get = list_get },
};
static const struct table_form word_form = { "words", "what they say", TABLE_ONE,
					     TABLE_COLUMNS(word_columns) };

static const struct table_column head_columns[] = {
	{ "wait", "wait", T_SECONDS, 0, NULL, "of all", OF(wait) },
};
static const struct table_form head_form = { "head", NULL, TABLE_ONE | TABLE_HEAD,
					     TABLE_COLUMNS(head_columns) };
#undef OF

static const struct table_form *const forms[] = { &head_form, &form, &bare_form, &word_form };
static const struct document_form document = { "demo", 1, forms, 4, NULL, 0 };

static void is_written(const char *format, const struct table_form *f, size_t n, const char *want)
{
	const struct table t = { .form = f, .array = rows, .stride = sizeof(*rows), .n = n };
	struct show s = { .separator = ',' };
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	struct document d;

	assert_int_equal(show_choose(&s, &document, format, NULL, &err), 0);
	document_open(&d, &document, NULL);
	document_table(&d, &t);
	assert_int_equal(document_write(&b, &d, &s, &err), 0);
	document_close(&d);
	assert_string_equal(buf_str(&b), want);
	buf_free(&b);
}

#define A "{cpu=\"0\",name=\"a\"} "
#define Q "{cpu=\"12\",name=\"q\\\"\\\\\\\\x0a\"} " /* what a terminal obeys is \x0a, in text */
#define N "{cpu=\"3\"} "

static void openmetrics(void **state)
{
	(void)state;
	is_written("openmetrics", &form, 3,
		   "# HELP cyclade_parts_share_ratio of all \\\\ \\\"these\\\"\n"
		   "# TYPE cyclade_parts_share_ratio gauge\n"
		   "# UNIT cyclade_parts_share_ratio ratio\n"
		   "cyclade_parts_share_ratio" A "0.25\n"
		   "cyclade_parts_share_ratio" Q "1\n"
		   "# HELP cyclade_parts_share_error_ratio half of the 95 % interval of: "
		   "of all \\\\ \\\"these\\\"\n"
		   "# TYPE cyclade_parts_share_error_ratio gauge\n"
		   "# UNIT cyclade_parts_share_error_ratio ratio\n"
		   "cyclade_parts_share_error_ratio" A "0.125\n"
		   "# HELP cyclade_parts_wait_seconds that it waited\n"
		   "# TYPE cyclade_parts_wait_seconds gauge\n"
		   "# UNIT cyclade_parts_wait_seconds seconds\n"
		   "cyclade_parts_wait_seconds" A "1.5\n"
		   "cyclade_parts_wait_seconds" N "0\n"
		   "# HELP cyclade_parts_read_bytes that it read\n"
		   "# TYPE cyclade_parts_read_bytes counter\n"
		   "# UNIT cyclade_parts_read_bytes bytes\n"
		   "cyclade_parts_read_bytes_total" A "4096\n"
		   "cyclade_parts_read_bytes_total" Q "18446744073709551615\n"
		   "cyclade_parts_read_bytes_total" N "0\n"
		   "# HELP cyclade_parts_nbytes_bytes the same\n"
		   "# TYPE cyclade_parts_nbytes_bytes gauge\n"
		   "# UNIT cyclade_parts_nbytes_bytes bytes\n"
		   "cyclade_parts_nbytes_bytes" A "4096\n"
		   "cyclade_parts_nbytes_bytes" Q "18446744073709551615\n"
		   "cyclade_parts_nbytes_bytes" N "0\n"
		   "# HELP cyclade_parts_hits how often\n"
		   "# TYPE cyclade_parts_hits counter\n"
		   "cyclade_parts_hits_total" A "7\n"
		   "cyclade_parts_hits_total" Q "0\n"
		   "cyclade_parts_hits_total" N "1\n"
		   "# HELP cyclade_parts_drift_us either way\n"
		   "# TYPE cyclade_parts_drift_us gauge\n"
		   "# UNIT cyclade_parts_drift_us us\n"
		   "cyclade_parts_drift_us" A "-5\n"
		   "cyclade_parts_drift_us" Q "5\n"
		   "cyclade_parts_drift_us" N "0\n"
		   "# HELP cyclade_parts_clock_rate_hertz of it\n"
		   "# TYPE cyclade_parts_clock_rate_hertz gauge\n"
		   "# UNIT cyclade_parts_clock_rate_hertz hertz\n"
		   "cyclade_parts_clock_rate_hertz" A "3000000000\n"
		   "cyclade_parts_clock_rate_hertz" Q "1e+15\n"
		   "cyclade_parts_clock_rate_hertz" N "1e+300\n"
		   "# HELP cyclade_parts_flops a unit of no word\n"
		   "# TYPE cyclade_parts_flops gauge\n"
		   "cyclade_parts_flops" A "0.1\n"
		   "cyclade_parts_flops" Q "-2\n"
		   "cyclade_parts_flops" N "0.30000000000000004\n"
		   "# HELP cyclade_parts_on or off\n"
		   "# TYPE cyclade_parts_on gauge\n"
		   "cyclade_parts_on" A "1\n"
		   "cyclade_parts_on" Q "0\n"
		   "cyclade_parts_on" N "0\n"
		   "# EOF\n");
	/* rows without a key have their number; the document's own figures have no label */
	is_written("openmetrics", &bare_form, 3,
		   "# HELP cyclade_bare_hits how often\n"
		   "# TYPE cyclade_bare_hits gauge\n"
		   "cyclade_bare_hits{row=\"0\"} 7\n"
		   "cyclade_bare_hits{row=\"1\"} 0\n"
		   "cyclade_bare_hits{row=\"2\"} 1\n"
		   "# EOF\n");
	is_written("openmetrics", &head_form, 1,
		   "# HELP cyclade_demo_wait_seconds of all\n"
		   "# TYPE cyclade_demo_wait_seconds gauge\n"
		   "# UNIT cyclade_demo_wait_seconds seconds\n"
		   "cyclade_demo_wait_seconds 1.5\n"
		   "# EOF\n");
	is_written("openmetrics", &word_form, 1,
		   "# HELP cyclade_words what they say\n"
		   "# TYPE cyclade_words info\n"
		   "cyclade_words_info{name=\"a\",at=\"0x1000\",words=\"x; y\"} 1\n"
		   "# EOF\n");
	is_written("openmetrics", &form, 0, "# EOF\n");
}

/* 0.0.4 has no units, no kind "info", no end; a family has its samples' name. */
static void prometheus(void **state)
{
	(void)state;
	is_written("prometheus", &bare_form, 1,
		   "# HELP cyclade_bare_hits how often\n"
		   "# TYPE cyclade_bare_hits gauge\n"
		   "cyclade_bare_hits{row=\"0\"} 7\n");
	is_written("prometheus", &word_form, 1,
		   "# HELP cyclade_words_info what they say\n"
		   "# TYPE cyclade_words_info gauge\n"
		   "cyclade_words_info{name=\"a\",at=\"0x1000\",words=\"x; y\"} 1\n");
	is_written("prometheus", &form, 1,
		   "# HELP cyclade_parts_share_ratio of all \\\\ \"these\"\n"
		   "# TYPE cyclade_parts_share_ratio gauge\n"
		   "cyclade_parts_share_ratio" A "0.25\n"
		   "# HELP cyclade_parts_share_error_ratio half of the 95 % interval of: "
		   "of all \\\\ \"these\"\n"
		   "# TYPE cyclade_parts_share_error_ratio gauge\n"
		   "cyclade_parts_share_error_ratio" A "0.125\n"
		   "# HELP cyclade_parts_wait_seconds that it waited\n"
		   "# TYPE cyclade_parts_wait_seconds gauge\n"
		   "cyclade_parts_wait_seconds" A "1.5\n"
		   "# HELP cyclade_parts_read_bytes_total that it read\n"
		   "# TYPE cyclade_parts_read_bytes_total counter\n"
		   "cyclade_parts_read_bytes_total" A "4096\n"
		   "# HELP cyclade_parts_nbytes_bytes the same\n"
		   "# TYPE cyclade_parts_nbytes_bytes gauge\n"
		   "cyclade_parts_nbytes_bytes" A "4096\n"
		   "# HELP cyclade_parts_hits_total how often\n"
		   "# TYPE cyclade_parts_hits_total counter\n"
		   "cyclade_parts_hits_total" A "7\n"
		   "# HELP cyclade_parts_drift_us either way\n"
		   "# TYPE cyclade_parts_drift_us gauge\n"
		   "cyclade_parts_drift_us" A "-5\n"
		   "# HELP cyclade_parts_clock_rate_hertz of it\n"
		   "# TYPE cyclade_parts_clock_rate_hertz gauge\n"
		   "cyclade_parts_clock_rate_hertz" A "3000000000\n"
		   "# HELP cyclade_parts_flops a unit of no word\n"
		   "# TYPE cyclade_parts_flops gauge\n"
		   "cyclade_parts_flops" A "0.1\n"
		   "# HELP cyclade_parts_on or off\n"
		   "# TYPE cyclade_parts_on gauge\n"
		   "cyclade_parts_on" A "1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openmetrics),
		cmocka_unit_test(prometheus),
	};

	return cmocka_run_group_tests_name("show/openmetrics", tests, NULL, NULL);
}
