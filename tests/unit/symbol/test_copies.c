/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of what ran: limits hold over a thousand of them, and nothing that another put in the way
 * is followed or believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "symbol/copies.h"

static char dir[] = "/tmp/cyclade-copies-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	const struct copies_limit none = { 0, 0 };
	struct copies_gone gone;
	char path[128];

	(void)state;
	if (copies_gc(dir, &none, INT64_MAX / 2, &gone, NULL))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/copies/.build-id", dir);
	(void)rmdir(path);
	(void)snprintf(path, sizeof(path), "%s/copies", dir);
	(void)rmdir(path);
	return rmdir(dir);
}

static int keep(uint32_t number, const char *text, size_t len)
{
	uint8_t id[20] = { (uint8_t)(number >> 8), (uint8_t)number, 1 };
	const struct copy_from from = { .id = id,
					.id_len = sizeof(id),
					.kind = COPY_ELF,
					.name = "/home/u/app",
					.fd = -1,
					.p = text,
					.len = len,
					.most = 1 << 20 };

	return copies_keep(dir, &from, NULL);
}

static uint64_t total(size_t *n)
{
	struct copies all;
	uint64_t sum = 0;

	assert_int_equal(copies_list(dir, &all, NULL), 0);
	vec_each (&all.v, const struct copy *, c)
		sum += c->bytes;
	*n = all.v.n;
	copies_free(&all);
	return sum;
}

static void test_thousand(void **state)
{
	const struct copies_limit limit = { 100 * 4096, 90 };
	static char text[4096];
	struct copies_gone gone;
	uint64_t sum;
	size_t n, removed = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(keep(i, text, sizeof(text)), 1);
		assert_int_equal(keep(i, text, sizeof(text)), 0); /* it is there */
		assert_int_equal(copies_gc(dir, &limit, 0, &gone, NULL), 0);
		removed += gone.n;
		if (i % 100)
			continue;
		sum = total(&n);
		assert_true(sum <= limit.bytes);
		assert_true(n + removed == i + 1);
	}
	assert_true(total(&n) <= limit.bytes && n >= 50);
	/* one that is larger than all may be leaves no room for others, and is removed itself */
	assert_int_equal(copies_gc(dir, &(struct copies_limit){ 0, 90 }, 0, &gone, NULL), 0);
	assert_true(gone.n == n && !total(&n) && !n);
}

static void test_in_the_way(void **state)
{
	const struct copies_limit none = { 0, 0 };
	char path[256], at[256], target[128];
	uint8_t id[20] = { 0xab, 0xcd, 1 };
	struct copies_gone gone;
	struct stat st;

	(void)state;
	assert_true(copies_path(dir, id, sizeof(id), COPY_ELF, path, sizeof(path)));
	assert_int_equal(path_dir(at, sizeof(at), path), 0);
	assert_int_equal(dir_make_all(at, 0700, NULL), 0);
	(void)snprintf(target, sizeof(target), "%s/target", dir);
	assert_int_equal(file_put(target, 0600, FILE_NEW_NAMED, "mine", 4, NULL), 0);
	/* a link is no copy, and removing it leaves what it leads to */
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(copies_gc(dir, &none, INT64_MAX / 2, &gone, NULL), 0);
	assert_true(file_look(target, &st) && st.st_size == 4);
	assert_false(file_look(path, NULL));
	assert_int_equal(unlink(target), 0);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "",	    "ab",
					   "abc",   "../../../etc/passwd",
					   "ABCD",  "abcg",
					   "ab/cd", "0123456789012345678901234567890123456789ab" };
	char path[256];
	uint8_t id[1] = { 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(copies_path_hex(dir, bad[i], COPY_MAP, path, sizeof(path)));
	assert_true(copies_path_hex(dir, "abcd", COPY_MAP, path, sizeof(path)));
	assert_false(copies_path_hex(NULL, "abcd", COPY_MAP, path, sizeof(path)));
	assert_false(copies_path(dir, id, 1, COPY_MAP, path, sizeof(path)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thousand),
		cmocka_unit_test(test_in_the_way),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
