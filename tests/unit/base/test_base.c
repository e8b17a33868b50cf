/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/library.h"
#include "base/md5.h"
#include "base/num.h"
#include "base/task.h"
#include "base/text.h"
#include "base/vec.h"

static void first_cause_wins(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(err_set(&err, ERR_FORMAT, "first"), -1);
	assert_int_equal(err_set(&err, ERR_IO, "second"), -1);
	assert_string_equal(err.what, "first");
	assert_int_equal(err.code, ERR_FORMAT);
	(void)err_prefix(&err, "x.data");
	assert_string_equal(err.what, "x.data: first");
	(void)err_hint(&err, "try this");
	(void)err_hint(&err, "or that");
	assert_string_equal(err.hint, "try this");
	err_clear(&err);
	errno = ENOENT;
	assert_int_equal(err_sys(&err, "y"), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.what, "y: No such file or directory");
	/* by name, or as before glibc 2.32 */
	assert_true(!strcmp(err_number(ENOENT), "ENOENT") ||
		    !strcmp(err_number(ENOENT), strerror(ENOENT)));
	assert_non_null(err_number(123456));
}

static void arena_gives_zeroed_aligned_memory(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < 3000; i++) {
		uint8_t *p = arena_alloc(&a, i);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t k = 0; k < i; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xff, i);
	}
	assert_null(arena_alloc(&a, SIZE_MAX - 3));
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	arena_free(&a);
	assert_int_equal(a.total, 0);
}

static void cursor_never_runs_past_its_end(void **state)
{
	const uint8_t bytes[] = { 1, 2, 3, 4, 'a', 'b', 0, 'c' };
	struct cur c = cur_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cur_u32(&c), 0x04030201);
	assert_string_equal(cur_str(&c), "ab");
	assert_null(cur_str(&c));
	assert_true(c.bad);
	assert_int_equal(cur_u8(&c), 0);
	c = cur_of(bytes, sizeof(bytes));
	c.swap = true;
	assert_int_equal(cur_u32(&c), 0x01020304);
	assert_null(cur_take(&c, UINT64_MAX));
	assert_true(c.bad);
}

static void tables_keep_what_they_were_given(void **state)
{
	struct u64map m = U64MAP_INIT;
	struct strtab t = STRTAB_INIT;
	char name[32];

	(void)state;
	assert_null(u64map_find(&m, 0));
	for (uint64_t i = 0; i < 20000; i++) {
		bool fresh;
		uint64_t *v = u64map_at(&m, i * i, &fresh);

		assert_true(fresh);
		*v = i;
	}
	for (uint64_t i = 0; i < 20000; i++)
		assert_int_equal(*u64map_find(&m, i * i), i);
	assert_null(u64map_find(&m, 3));
	u64map_free(&m);

	assert_int_equal(strtab_find(&t, ""), STR_NONE);
	for (uint32_t i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "s%u", i);
		assert_int_equal(strtab_adds(&t, name), i + 1);
		assert_int_equal(strtab_adds(&t, name), i + 1);
	}
	assert_int_equal(strtab_adds(&t, ""), 0);
	assert_int_equal(strtab_add(&t, "s12xyz", 3), strtab_find(&t, "s12"));
	assert_string_equal(strtab_get(&t, 4999), "s4998");
	assert_string_equal(strtab_get(&t, 999999), "");
	strtab_free(&t);
}

static void numbers_read_as_people_write_them(void **state)
{
	static const struct {
		double v;
		const char *text;
	} counts[] = { { 0, "0" },
		       { 12712, "12,712" },
		       { 999999, "999,999" },
		       { 1e6, "1.00 M" },
		       { 11.9e9, "11.90 G" },
		       { 842.13e6, "842.1 M" },
		       { 999.96e6, "1.00 G" },
		       { NAN, "?" } };
	static const struct {
		double v;
		const char *text;
	} times[] = { { 3.21, "3.21 s" },  { 0.0124, "12.4 ms" }, { 0.000981, "981 us" },
		      { 200, "3 m 20 s" }, { 0, "0.00 s" },	  { 7260, "2 h 1 m" } };
	char out[NUM_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		assert_string_equal(num_count(out, counts[i].v), counts[i].text);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		assert_string_equal(num_seconds(out, times[i].v), times[i].text);
	assert_string_equal(num_exact(out, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(num_bytes(out, 1800000), "1.80 MB");
	assert_string_equal(num_bytes(out, 999), "999 B");
	assert_string_equal(num_percent(out, 0.623), "62.3 %");
}

enum how { SCALED, BYTES, DURATION, WHOLE };

static void numbers_are_parsed_whole_or_refused(void **state)
{
	static const struct {
		enum how how;
		const char *s;
		int rc;
		uint64_t v;
	} rows[] = {
		{ SCALED, "4000", 0, 4000 },
		{ SCALED, "20k", 0, 20000 },
		{ SCALED, "1.5M", 0, 1500000 },
		{ SCALED, "1.5Mx", -1, 0 },
		{ SCALED, "-1", -1, 0 },
		{ SCALED, "", -1, 0 },
		{ SCALED, "1e9", -1, 0 },
		{ SCALED, "99999999T", -1, 0 },
		{ BYTES, "64K", 0, 65536 },
		{ BYTES, "1g", 0, 1ULL << 30 },
		{ BYTES, "1.2.3", -1, 0 },
		{ DURATION, "10ms", 0, 10000000 },
		{ DURATION, "2m", 0, 120000000000 },
		{ DURATION, "5", -1, 0 },
		{ DURATION, "5parsec", -1, 0 },
		{ WHOLE, "0x1f", 0, 31 },
		{ WHOLE, "18446744073709551615", 0, UINT64_MAX },
		{ WHOLE, "18446744073709551616", -1, 0 },
		{ WHOLE, " 1", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t v = 0;
		int rc = rows[i].how == SCALED	   ? num_parse_scaled(&v, rows[i].s, NULL)
			 : rows[i].how == BYTES	   ? num_parse_bytes(&v, rows[i].s, NULL)
			 : rows[i].how == DURATION ? num_parse_duration(&v, rows[i].s, 0, NULL)
						   : num_parse_u64(&v, rows[i].s, NULL);

		if (rc != rows[i].rc || (!rc && v != rows[i].v))
			fail_msg("'%s' gave %d, %llu", rows[i].s, rc, (unsigned long long)v);
	}
}

static int sum_list(void *ctx, uint64_t v)
{
	*(uint64_t *)ctx = *(uint64_t *)ctx * 100 + v;
	return 0;
}

static void lists_are_bounded(void **state)
{
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(num_parse_list("0-2,8", 10, sum_list, &sum, NULL), 0);
	assert_int_equal(sum, 10208);
	assert_int_equal(num_parse_list("0-4000000000", 1000, sum_list, &sum, NULL), -1);
	assert_int_equal(num_parse_list("3-1", 10, sum_list, &sum, NULL), -1);
	assert_int_equal(num_parse_list("1,", 10, sum_list, &sum, NULL), -1);
	assert_int_equal(num_parse_list("", 10, sum_list, &sum, NULL), -1);
	assert_int_equal(num_parse_list("99999999999999999999", 10, sum_list, &sum, NULL), -1);
}

/* Whole numbers, with and without printf. */
static void whole_numbers(void **state)
{
	static const double reals[] = { 0,    -0.0,	  1,  7.5,  999999999,
					1e9,  4294967296, -3, 1e15, 123456789012345,
					1e-7, 0.1 };
	struct buf b = BUF_INIT;
	char want[40];

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t v = UINT64_MAX >> i;

		buf_reset(&b);
		buf_put_decimal(&b, v);
		buf_putc(&b, ' ');
		buf_put_hex(&b, v - 1);
		(void)snprintf(want, sizeof(want), "%" PRIu64 " %" PRIx64, v, v - 1);
		assert_string_equal(buf_str(&b), want);
	}
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
		buf_reset(&b);
		text_put_csv_real(&b, reals[i]);
		(void)snprintf(want, sizeof(want), "%.9g", reals[i]);
		assert_string_equal(buf_str(&b), want);
	}
	buf_free(&b);
}

struct drained {
	size_t n, calls, fail_at;
	unsigned sum;
};

static int take(void *ctx, const char *p, size_t len)
{
	struct drained *d = ctx;

	d->n += len;
	for (size_t i = 0; i < len; i++)
		d->sum = d->sum * 31 + (unsigned char)p[i];
	return ++d->calls == d->fail_at ? -1 : 0;
}

static void text_leaves_through_a_drain(void **state)
{
	struct drained d = { 0 };
	const struct buf_drain drain = { take, &d };
	struct buf b = { .drain = &drain }, plain = BUF_INIT;
	unsigned sum = 0;

	(void)state;
	buf_spill(&plain); /* nothing to do, nowhere to go */
	for (unsigned i = 0; i < 200000; i++) {
		buf_printf(&b, "row %u\n", i);
		buf_printf(&plain, "row %u\n", i);
		buf_spill(&b);
		buf_spill(&plain);
	}
	assert_true(d.calls > 3 && b.cap <= 2 * BUF_SPILL);
	take(&d, buf_str(&b), b.len);
	for (size_t i = 0; i < plain.len; i++)
		sum = sum * 31 + (unsigned char)plain.s[i];
	assert_int_equal(d.n, plain.len);
	assert_int_equal(d.sum, sum);
	assert_false(b.failed);
	/* a drain that fails is asked no more */
	d = (struct drained){ .fail_at = 2 };
	for (unsigned i = 0; i < 200000; i++) {
		buf_puts(&b, "a row\n");
		buf_spill(&b);
	}
	assert_true(b.failed);
	assert_int_equal(d.calls, 2);
	buf_free(&b);
	buf_free(&plain);
}

static void reals_read_back(void **state)
{
	static const struct {
		double v;
		const char *want;
	} rows[] = {
		{ 0.1, "0.1" },
		{ 1e6, "1000000" },
		{ -2.5, "-2.5" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1e22, "1e+22" },
		{ 5e-324, "4.94065645841247e-324" },
		{ 123456789, "123456789" },
		{ 72000108.04000239, "72000108.04000239" },
	};
	struct buf b = BUF_INIT;
	struct json j;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		buf_reset(&b);
		json_init(&j, &b, false);
		json_real(&j, NULL, rows[i].v);
		assert_string_equal(buf_str(&b), rows[i].want);
		assert_true(strtod(buf_str(&b), NULL) == rows[i].v);
	}
	/* a row on a line of a table that is laid out */
	buf_reset(&b);
	json_init(&j, &b, true);
	json_array(&j, NULL);
	json_object(&j, NULL);
	assert_true(json_pretty(&j, false));
	json_u64(&j, "a", 1);
	json_u64(&j, "b", 2);
	json_end_object(&j);
	assert_false(json_pretty(&j, true));
	json_u64(&j, NULL, 3);
	json_end_array(&j);
	assert_string_equal(buf_str(&b), "[\n  {\"a\":1,\"b\":2},\n  3\n]\n");
	buf_free(&b);
}

static void json_is_well_formed(void **state)
{
	struct buf b = BUF_INIT;
	struct json j;

	(void)state;
	json_init(&j, &b, false);
	json_object(&j, NULL);
	json_str(&j, "s", "q\"\\\n\x01\xff");
	json_array(&j, "a");
	json_u64(&j, NULL, UINT64_MAX);
	json_hex(&j, NULL, 0x1f);
	json_real(&j, NULL, 0.1);
	json_real(&j, NULL, INFINITY);
	json_end_array(&j);
	json_strings(&j, "t", (const char *const[]){ "x", NULL }, 2);
	json_object(&j, "o");
	json_end_object(&j);
	json_bool(&j, "b", true);
	/* what a terminal would obey or reorder: of one, two, three and four bytes */
	json_str(&j, "c",
		 "\x7f\xc2\x9b\xe2\x80\xae"
		 "\xf3\xa0\x80\x81\xc3\xa9");
	json_end_object(&j);
	assert_string_equal(
		buf_str(&b),
		"{\"s\":\"q\\\"\\\\\\n\\u0001\xef\xbf\xbd\","
		"\"a\":[18446744073709551615,\"0x1f\",0.1,null],\"t\":[\"x\",null],\"o\":{},"
		"\"b\":true,"
		"\"c\":\"\\u007f\\u009b\\u202e\\udb40\\udc01\xc3\xa9\"}\n");
	buf_free(&b);
}

static void too_many_files_are_told(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	errno = EMFILE;
	assert_int_equal(err_sys(&err, "x"), -1);
	assert_non_null(strstr(err.hint, "ulimit -n"));
}

static void new_files_appear_whole(void **state)
{
	char dir[] = "/tmp/cyclade-test-XXXXXX", path[64], sub[96];
	struct err err = ERR_INIT;
	struct file_new f;
	struct buf b = BUF_INIT;
	struct file_map m;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(path_join(path, sizeof(path), dir, "/x"), 0);
	assert_int_equal(file_new_open(&f, path, 0644, FILE_NEW_NAMED, &err), 0);
	assert_int_equal(fd_write_all(f.fd, "hello", 5, path, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(file_new_commit(&f, &err), 0);
	assert_int_equal(file_slurp(&b, path, 5, &err), 0);
	assert_string_equal(buf_str(&b), "hello");
	assert_int_equal(file_slurp(&b, path, 4, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(file_map_open(&m, path, NULL), 0);
	assert_memory_equal(m.p, "hello", 5);
	file_map_close(&m);
	assert_int_equal(file_map_open(&m, dir, NULL), -1);
	assert_int_equal(file_new_open(&f, path, 0644, FILE_NEW_NAMED, NULL), 0);
	file_new_abort(&f);
	file_new_abort(&f);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(path_join(sub, sizeof(sub), dir, "p/q/r"), 0);
	assert_int_equal(dir_make_all(sub, 0755, NULL), 0);
	assert_int_equal(dir_make_all(sub, 0755, NULL), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(unlink(path), 0);
	buf_free(&b);
}

static void new_files_heed_the_umask(void **state)
{
	static const struct {
		mode_t umask, asked, got;
	} rows[] = {
		{ 022, 0666, 0644 }, { 077, 0644, 0600 }, { 0, 0666, 0666 }, { 022, 0600, 0600 }
	};
	char dir[] = "/tmp/cyclade-test-XXXXXX", path[64];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(path_join(path, sizeof(path), dir, "x"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		mode_t was = umask(rows[i].umask);
		int rc = file_put(path, rows[i].asked, FILE_NEW_NAMED, "xyz", i, NULL);

		(void)umask(was);
		assert_int_equal(rc, 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, rows[i].got);
		assert_int_equal(st.st_size, i);
		/* a file that is replaced keeps its own */
		assert_int_equal(chmod(path, 0640), 0);
		assert_int_equal(file_put(path, rows[i].asked, FILE_NEW_NAMED, "", 0, NULL), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0640);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(dir), 0); /* nothing else was left there */
}

static int count_task(void *ctx, unsigned worker, size_t i, struct err *err)
{
	atomic_size_t *sum = ctx;

	(void)worker;
	if (i == 777777)
		return err_set(err, ERR_LIMIT, "enough");
	atomic_fetch_add(sum, i);
	return 0;
}

static void tasks_run_once_each(void **state)
{
	atomic_size_t sum = 0;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(task_for(10000, 4, count_task, &sum, &err), 0);
	assert_int_equal(sum, 10000u * 9999u / 2);
	assert_int_equal(task_for(0, 4, count_task, &sum, &err), 0);
	assert_int_equal(task_for(1000000, 4, count_task, &sum, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
}

/* By the C library's printf: random numbers, ties and their neighbours, both signs. */
static void fixed_numbers(void **state)
{
	static const double odd[] = { 0,	 -0.0,	    0.5,    1.5,      2.5,    0.25,
				      0.35,	 0.045,	    0.005,  1e-9,     99.995, 999.95,
				      999999999, 1e9,	    1e300,  INFINITY, NAN,    0.125,
				      0.0625,	 1234.5675, 5e-324, 0.9995,   0.05,   99.95 };
	uint64_t r = 88172645463325252u;
	char ours[NUM_MAX], theirs[400];

	(void)state;
	for (unsigned i = 0; i < 300000; i++) {
		unsigned decimals = i % 7;
		double v;

		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		v = i < 14 * 24 ? odd[i / 14] * (i / 7 % 2 ? -1 : 1)
		    : i % 3	? (double)(r >> 40) / 512
				: (double)(r >> 11) * 1e-10;
		(void)snprintf(theirs, sizeof(theirs), "%.*f", (int)decimals, v);
		theirs[NUM_MAX - 1] = '\0'; /* of 1e300 that is all there is room for */
		assert_int_equal(num_fixed(ours, v, decimals), strlen(theirs));
		assert_string_equal(ours, theirs);
	}
}

/* RFC 1321, A.5, and lengths around a block's end by md5sum. */
static void digests(void **state)
{
	static const struct {
		const char *text, *digest;
	} known[] = {
		{ "", "d41d8cd98f00b204e9800998ecf8427e" },
		{ "abc", "900150983cd24fb0d6963f7d28e17f72" },
		{ "1234567890123456789012345678901234567890123456789012345678901234567890123456789"
		  "0",
		  "57edf4a22be3c955ac49da2e2107b67a" },
		{ "1234567890123456789012345678901234567890123456789012345",
		  "c9ccf168914a1bcfc3229f1948e67da0" },
		{ "12345678901234567890123456789012345678901234567890123456",
		  "49f193adce178490e34d1b3a4ec0064c" },
		{ "1234567890123456789012345678901234567890123456789012345678901234",
		  "eb6c4179c0a7c82cc2828c1e6338e165" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint8_t d[MD5_SIZE];
		char hex[2 * MD5_SIZE + 1];

		md5(known[i].text, strlen(known[i].text), d);
		for (size_t k = 0; k < MD5_SIZE; k++)
			(void)snprintf(hex + 2 * k, 3, "%02x", d[k]);
		assert_string_equal(hex, known[i].digest);
	}
}

static void paths_are_shortened(void **state)
{
	static const char *const pair[][2] = {
		{ "/a/b/../c", "/a/c" },   { "/a//b/./c/", "/a/b/c" }, { "/../..//x", "/x" },
		{ "../x", "../x" },	   { "a/../../x", "../x" },    { "./x/..", "" },
		{ "..a/../b", "b" },	   { "a/..b/../c", "a/c" },    { "/", "/" },
		{ "../../x/..", "../.." },
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < sizeof(pair) / sizeof(*pair); i++) {
		assert_int_equal(path_lexical(out, sizeof(out), pair[i][0]), 0);
		assert_string_equal(out, pair[i][1]);
	}
	for (size_t size = 0; size < 5; size++)
		assert_int_equal(path_lexical(out, size, "/a/b"), -1);
	assert_int_equal(path_lexical(out, 5, "/a/b"), 0);
}

static void libraries_are_opened_once(void **state)
{
	static struct {
		__typeof__(&cos) cos;
		__typeof__(&sin) sin;
	} calls;
	static const char *const names[] = { "cos", "sin" }, *const wrong[] = { "cos", "no_such" };
	struct library good = LIBRARY("sums", "libm.so.6", names, calls, "install it");
	struct library none = LIBRARY("sums", "libno_such.so.6", names, calls, "install it");
	struct library less = LIBRARY("sums", "libm.so.6", wrong, calls, "install it");
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(library_open(&less, &err), -1);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.what, "no_such"));
	err_clear(&err);
	assert_int_equal(library_open(&none, &err), -1);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_int_equal(strncmp(err.what, "sums: libno_such.so.6", 21), 0);
	assert_string_equal(err.hint, "install it");
	for (int i = 0; i < 2; i++)
		assert_int_equal(library_open(&good, NULL), 0);
	assert_true(calls.cos(0) == 1 && calls.sin(0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_opened_once),
		cmocka_unit_test(fixed_numbers),
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(first_cause_wins),
		cmocka_unit_test(arena_gives_zeroed_aligned_memory),
		cmocka_unit_test(cursor_never_runs_past_its_end),
		cmocka_unit_test(tables_keep_what_they_were_given),
		cmocka_unit_test(numbers_read_as_people_write_them),
		cmocka_unit_test(numbers_are_parsed_whole_or_refused),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(text_leaves_through_a_drain),
		cmocka_unit_test(reals_read_back),
		cmocka_unit_test(json_is_well_formed),
		cmocka_unit_test(too_many_files_are_told),
		cmocka_unit_test(new_files_appear_whole),
		cmocka_unit_test(new_files_heed_the_umask),
		cmocka_unit_test(tasks_run_once_each),
		cmocka_unit_test(digests),
		cmocka_unit_test(paths_are_shortened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
