/* SPDX-License-Identifier: BSD-3-Clause */
/* Archives: what goes in comes out, GNU tar reads them, and nothing that a hostile one claims is
 * believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "perfdata/archive.h"

static char dir[] = "/tmp/cyclade-archive-XXXXXX";
static char path[64], other[64];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/a.tar.zst", dir);
	(void)snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)unlink(other);
	return rmdir(dir);
}

/* A file of a tar archive: its header and its bytes. */
static size_t put_file(uint8_t *p, const char *name, char type, const char *text, size_t claimed)
{
	size_t len = strlen(text);
	unsigned sum = 0;

	memset(p, 0, 512 + (len + 511) / 512 * 512);
	memcpy(p, name, strlen(name) < 100 ? strlen(name) : 100);
	(void)snprintf((char *)p + 100, 8, "%07o", 0644u);
	(void)snprintf((char *)p + 124, 12, "%011zo", claimed);
	memset(p + 148, ' ', 8);
	p[156] = (uint8_t)type;
	memcpy(p + 257,
	       "ustar\0"
	       "00",
	       8);
	for (size_t i = 0; i < 512; i++)
		sum += p[i];
	(void)snprintf((char *)p + 148, 8, "%06o", sum);
	memcpy(p + 512, text, len);
	return 512 + (len + 511) / 512 * 512;
}

static void write_packed(const void *p, size_t len)
{
	size_t room = ZSTD_compressBound(len), n;
	uint8_t *packed = malloc(room);

	assert_non_null(packed);
	n = ZSTD_compress(packed, room, p, len, 3);
	assert_false(ZSTD_isError(n));
	(void)unlink(path);
	assert_int_equal(file_put(path, 0600, FILE_NEW_NAMED, packed, n, NULL), 0);
	free(packed);
}

static void assert_file(struct archive *a, const char *name, const char *text)
{
	char got[64] = "";
	int fd = archive_file(a, name);

	assert_true(fd >= 0);
	assert_int_equal(fd_read_full(fd, got, sizeof(got) - 1), strlen(text));
	assert_string_equal(got, text);
	(void)close(fd);
}

static void test_there_and_back(void **state)
{
	char longest[200];
	struct archive_new *w;
	struct archive *a;
	struct stat st;
	int fd;

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memcpy(longest, "files/", 6);
	longest[150] = '/';
	assert_int_equal(archive_new(&w, path, 3, NULL), 0);
	assert_int_equal(archive_add(w, "recording", "samples", 7, NULL), 0);
	assert_int_equal(archive_add(w, "files/a/b", "", 0, NULL), 0);
	assert_int_equal(archive_add(w, longest, "of a long name", 14, NULL), 0);
	assert_int_equal(archive_add(w, "files/../b", "", 0, NULL), -1);
	assert_int_equal(archive_add(w, "/etc/passwd", "", 0, NULL), -1);
	assert_true(archive_has(w, "recording"));
	assert_false(archive_has(w, "record"));
	assert_int_equal(archive_end(w, NULL), 0);

	assert_int_equal(archive_open(&a, path, NULL), 0);
	assert_file(a, "recording", "samples");
	assert_file(a, "files/a/b", "");
	assert_file(a, longest, "of a long name");
	assert_int_equal(archive_file(a, "files/a"), -1);
	assert_int_equal(archive_mount(a, "ROOT", NULL), 0);
	assert_true(file_in_mounted("ROOT"));
	fd = file_in_open("ROOT", "/x/../../a/./b", FILE_IN_LINKS, &st, NULL);
	assert_true(fd >= 0 && S_ISREG(st.st_mode) && !st.st_size);
	assert_true(file_written_by(&st, 0));
	(void)close(fd);
	assert_int_equal(file_in_open("ROOT", "/recording", FILE_IN_LINKS, &st, NULL), -1);
	assert_int_equal(file_in_open("ROOT", "/etc/passwd", FILE_IN_LINKS, &st, NULL), -1);
	archive_close(a);
	assert_false(file_in_mounted("ROOT"));
}

static void test_tar(void **state)
{
	char command[256];
	struct archive_new *w;

	(void)state;
	if (access("/bin/tar", X_OK) || access("/usr/bin/zstd", X_OK))
		skip();
	assert_int_equal(archive_new(&w, path, 3, NULL), 0);
	assert_int_equal(archive_add(w, "recording", "samples", 7, NULL), 0);
	assert_int_equal(archive_end(w, NULL), 0);
	(void)snprintf(command, sizeof(command),
		       "cd %s && zstd -qdc a.tar.zst | tar xOf - recording > other", dir);
	assert_int_equal(system(command), 0); // NOLINT
	assert_true(file_is_regular(other));
}

static void refused(const void *p, size_t len, const char *why)
{
	struct err err = ERR_INIT;
	struct archive *a;

	write_packed(p, len);
	assert_int_equal(archive_open(&a, path, &err), -1);
	assert_null(a);
	assert_non_null(strstr(err.what, why));
}

static void test_hostile(void **state)
{
	static const char *const bad[] = { "../x", "a/../../x", "/etc/passwd", "a//b",
					   "..",   "a/.",	"a/" };
	static uint8_t p[8192];
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		n = put_file(p, bad[i], '0', "x", 1);
		refused(p, n, "is called");
	}
	for (const char *type = "12346"; *type; type++) {
		n = put_file(p, "link", *type, "", 0);
		refused(p, n, "no regular file");
	}
	n = put_file(p, "twice", '0', "x", 1);
	n += put_file(p + n, "./twice", '0', "y", 1);
	refused(p, n, "two files");
	n = put_file(p, "short", '0', "x", 100000);
	refused(p, n, "cut off");
	n = put_file(p, "huge", '0', "x", 077777777777);
	refused(p, n, "cut off");
	n = put_file(p, "sum", '0', "x", 1);
	p[0] = 'S';
	refused(p, n, "damaged");
	n = put_file(p, "name", 'L', "x", 5000);
	refused(p, 8192, "name of 5000");
	refused("", 0, "nothing in it");
}

static void test_bomb(void **state)
{
	size_t len = (size_t)80 << 20;
	struct err err = ERR_INIT;
	struct archive *a;
	uint8_t *zeros = calloc(1, len);

	(void)state;
	assert_non_null(zeros);
	file_in_limit((size_t)64 << 20);
	write_packed(zeros, len);
	assert_int_equal(archive_open(&a, path, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	/* nothing of it stays charged */
	assert_true(file_in_charge(((size_t)64 << 20) - 1));
	file_in_release(((size_t)64 << 20) - 1);
	free(zeros);
}

static void test_cut(void **state)
{
	struct archive_new *w;
	struct archive *a;
	char text[40000];
	uint64_t seed = 1;
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i += 8) {
		uint64_t r = random_next(&seed);

		memcpy(text + i, &r, 8);
	}
	(void)unlink(path);
	assert_int_equal(archive_new(&w, path, 3, NULL), 0);
	assert_int_equal(archive_add(w, "recording", text, sizeof(text), NULL), 0);
	assert_int_equal(archive_end(w, NULL), 0);
	assert_true(file_look(path, &st));
	for (off_t len = st.st_size - 1; len > 4; len -= 997) {
		assert_int_equal(truncate(path, len), 0);
		assert_int_equal(archive_open(&a, path, NULL), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_tar),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
