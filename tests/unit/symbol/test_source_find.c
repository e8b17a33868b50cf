/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The header of line programs against hand-made bytes; which file is taken for a source file. Names
 * in debuginfod's cache are held against its own client in tests/cli/test_source.py; that of 0.192
 * was worked out by its rule in Python.
 */
#include <sys/stat.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_out.h"
#include "base/fs.h"
#include "symbol/source_find.h"
#include "../skip.h"

/* DWARF 4, two files: "a.c" in directory 1, 300 bytes; "b.c", size unknown. */
static const uint8_t v4[] = { 31, 0,  0,  0,  4, 0, 25, 0,   0, 0,  1,	1,  1, 251, 14, 1, 100, 0,
			      0,  97, 46, 99, 0, 1, 0,	172, 2, 98, 46, 99, 0, 0,   0,	0, 0 };
/* DWARF 5, one directory, two files of columns path, directory, MD5, size. */
static const uint8_t v5[] = { 78, 0,  0,  0,  5,  0,  8,  0, 70, 0, 0, 0,  1, 1,  1,  251, 14,
			      1,  1,  1,  31, 1,  0,  0,  0, 0,	 4, 1, 31, 2, 11, 5,  30,  4,
			      5,  2,  7,  0,  0,  0,  0,  1, 2,	 3, 4, 5,  6, 7,  8,  9,   10,
			      11, 12, 13, 14, 15, 16, 44, 1, 9,	 0, 0, 0,  0, 16, 15, 14,  13,
			      12, 11, 10, 9,  8,  7,  6,  5, 4,	 3, 2, 1,  0, 0 };

static void headers_are_read(void **state)
{
	const struct line_sections in4 = { .line = v4, .line_len = sizeof(v4) };
	struct line_sections in5 = { .line = v5, .line_len = sizeof(v5) };
	struct line_files s;

	(void)state;
	line_files_read(&s, &in4, 0);
	assert_int_equal(s.first, 1);
	assert_int_equal(s.v.n, 2);
	assert_int_equal(s.v.v[0].sum.size, 300);
	assert_false(s.v.v[0].sum.has_md5);
	assert_string_equal(s.v.v[0].name, "a.c");
	assert_string_equal(s.v.v[0].dir, "d");
	assert_int_equal(s.v.v[1].sum.size, 0);
	assert_string_equal(s.v.v[1].name, "b.c");
	assert_null(s.v.v[1].dir);
	vec_free(&s.v);
	line_files_read(&s, &in5, 0);
	assert_int_equal(s.first, 0);
	assert_int_equal(s.v.n, 2);
	assert_int_equal(s.v.v[0].sum.size, 300);
	assert_true(s.v.v[0].sum.has_md5);
	assert_int_equal(s.v.v[0].sum.md5[15], 16);
	assert_null(s.v.v[0].name); /* its section is not there */
	assert_int_equal(s.v.v[1].sum.size, 0);
	assert_int_equal(s.v.v[1].sum.md5[0], 16);
	vec_free(&s.v);
	in5.line_str = "/d\0a.c";
	in5.line_str_len = 7;
	line_files_read(&s, &in5, 0);
	assert_string_equal(s.v.v[0].dir, "/d");
	vec_free(&s.v);
	/* cut anywhere, or read from the middle: what there is, and no more */
	for (size_t n = 0; n < sizeof(v5); n++) {
		in5.line_len = n;
		in5.swap = false;
		line_files_read(&s, &in5, 0);
		assert_true(s.v.n <= 2);
		vec_free(&s.v);
		in5.line_len = sizeof(v5);
		in5.swap = true;
		line_files_read(&s, &in5, n);
		vec_free(&s.v);
	}
}

static void make(const char *dir, const char *name, const char *text)
{
	char path[600], *slash;

	assert_int_equal(path_join(path, sizeof(path), dir, name), 0);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	*slash = '/';
	assert_int_equal(file_put(path, 0644, FILE_NEW_NAMED, text, strlen(text), NULL), 0);
}

static int drop(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static enum source_outcome look(const struct source_places *w, const char *name,
				const struct source_sum *sum, const char *text)
{
	struct source_shelf shelf = SOURCE_SHELF_INIT;
	struct source_found found;
	enum source_outcome o = source_find(w, name, sum, &shelf, &found);

	if (o == SOURCE_FOUND && text)
		assert_string_equal(source_text_line(found.text, 1), text);
	source_shelf_free(&shelf);
	return o;
}

/* One file under several names is read once; its lines are those of a plain walk over the bytes. */
static void lines_of_a_text_kept_once(void **state)
{
	char dir[] = "/tmp/test_source_text_XXXXXX", name[2][64];
	struct source_shelf shelf = SOURCE_SHELF_INIT;
	struct source_found found[2];
	struct source_places w = { 0 };
	struct source_sum right = { .has_md5 = true }, wrong = right;
	struct buf text = BUF_INIT;
	char want[16];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (int i = 1; i <= 3 * SOURCE_STEP;
	     i++) /* every third is empty, every fifth ends by \r\n */
		buf_printf(&text, "%.*d%s\n", i % 3 ? 5 : 0, i % 3 ? i : 0, i % 5 ? "" : "\r");
	buf_puts(&text, "\rlast");
	make(dir, "a.c", buf_str(&text));
	(void)snprintf(name[0], sizeof(name[0]), "%s/a.c", dir);
	(void)snprintf(name[1], sizeof(name[1]), "%s/./a.c", dir);
	w.owner = w.recorder = geteuid();
	for (int i = 0; i < 2; i++)
		assert_int_equal(source_find(&w, name[i], NULL, &shelf, &found[i]), SOURCE_FOUND);
	assert_ptr_equal(found[0].text, found[1].text);
	assert_int_equal(found[0].text->lines, 3 * SOURCE_STEP + 1);
	for (int i = 1; i <= 3 * SOURCE_STEP; i++) {
		(void)snprintf(want, sizeof(want), "%.*d", i % 3 ? 5 : 0, i % 3 ? i : 0);
		assert_string_equal(source_text_line(found[0].text, (size_t)i), want);
	}
	assert_string_equal(source_text_line(found[0].text, 3 * SOURCE_STEP + 1), "\rlast");
	assert_null(source_text_line(found[0].text, 3 * SOURCE_STEP + 2));
	assert_null(source_text_line(found[0].text, 0));
	/* units that say different things of it: each is judged by its own */
	md5(buf_str(&text), text.len, right.md5);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(source_find(&w, name[i], &right, &shelf, &found[1]), SOURCE_FOUND);
		assert_string_equal(source_text_line(found[1].text, 1), "00001");
		assert_int_equal(source_find(&w, name[i], &wrong, &shelf, &found[1]),
				 SOURCE_DIFFERS);
		assert_true(found[1].by_md5);
	}
	/* written anew: another text */
	buf_puts(&text, "!");
	assert_int_equal(unlink(name[0]), 0);
	make(dir, "a.c", buf_str(&text));
	assert_int_equal(source_find(&w, name[0], NULL, &shelf, &found[1]), SOURCE_FOUND);
	assert_string_equal(source_text_line(found[1].text, 3 * SOURCE_STEP + 1), "\rlast!");
	source_shelf_free(&shelf);
	buf_free(&text);
	assert_int_equal(nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void the_right_file_is_taken(void **state)
{
	char dir[] = "/tmp/test_source_find_XXXXXX", sub[64], map[128], cache[64];
	const char *said[3] = { NULL, NULL, NULL };
	const uint8_t id[] = { 0xab, 0xcd };
	struct source_places w = { .said = said };
	struct source_sum sum = { .has_md5 = true };

	(void)state;
	assert_non_null(mkdtemp(dir));
	make(dir, "secret", "S");
	make(dir, "src/lib/x.c", "X");
	make(dir, "src/x.c", "Y");
	(void)snprintf(sub, sizeof(sub), "%s/src", dir);
	said[0] = sub;
	/* the longest tail wins, and no ".." leads out */
	assert_int_equal(look(&w, "/build/o/../lib/x.c", NULL, "X"), SOURCE_FOUND);
	assert_int_equal(look(&w, "../lib/x.c", NULL, "X"), SOURCE_FOUND);
	assert_int_equal(look(&w, "../secret", NULL, NULL), SOURCE_ABSENT);
	assert_int_equal(look(&w, "/a/../../secret", NULL, NULL), SOURCE_ABSENT);
	said[0] = NULL;
	assert_int_equal(look(&w, "lib/x.c", NULL, NULL), SOURCE_ABSENT);
	w.sysroot = sub;
	assert_int_equal(look(&w, "/../secret", NULL, NULL), SOURCE_ABSENT);
	assert_int_equal(look(&w, "/lib/x.c", NULL, "X"), SOURCE_FOUND);
	w.sysroot = NULL;
	/* maps: of whole parts; "." and "" mean names that are still relative */
	said[0] = map;
	(void)snprintf(map, sizeof(map), "/build=%s/src", dir);
	assert_int_equal(look(&w, "/build/lib/x.c", NULL, "X"), SOURCE_FOUND);
	assert_int_equal(look(&w, "/build2/lib/x.c", NULL, NULL), SOURCE_ABSENT);
	assert_int_equal(look(&w, "/o/../build/lib/x.c", NULL, "X"), SOURCE_FOUND);
	(void)snprintf(map, sizeof(map), ".=%s/src", dir);
	assert_int_equal(look(&w, "./lib/x.c", NULL, "X"), SOURCE_FOUND);
	assert_int_equal(look(&w, "lib/x.c", NULL, "X"), SOURCE_FOUND);
	assert_int_equal(look(&w, "/lib/x.c", NULL, NULL), SOURCE_ABSENT);
	/* by what is in it */
	said[0] = sub;
	md5("Y", 1, sum.md5);
	assert_int_equal(look(&w, "/q/lib/x.c", &sum, "Y"), SOURCE_FOUND);
	md5("Z", 1, sum.md5);
	assert_int_equal(look(&w, "/q/lib/x.c", &sum, NULL), SOURCE_DIFFERS);
	sum = (struct source_sum){ .size = 2 };
	assert_int_equal(look(&w, "/q/lib/x.c", &sum, NULL), SOURCE_DIFFERS);
	said[0] = NULL;
	/* debuginfod's cache, as before and since 0.192 */
	(void)snprintf(cache, sizeof(cache), "%s/cache", dir);
	make(cache, "abcd/source##usr##src##a#_b.c", "old");
	make(cache, "abcd/source-acc7dfd6-#usr#src#a#b.cc", "new");
	w = (struct source_places){
		.said = said, .debuginfod = cache, .build_id = id, .build_id_len = sizeof(id)
	};
	assert_int_equal(look(&w, "/usr/src/a#b.c", NULL, "old"), SOURCE_FOUND);
	assert_int_equal(look(&w, "/usr/src/a+b.cc", NULL, "new"), SOURCE_FOUND);
	assert_int_equal(look(&w, "/usr/src/c.c", NULL, NULL), SOURCE_ABSENT);
	assert_int_equal(nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* A file that some other user left where the source once lay. */
static void other_users_files_are_not_sources(void **state)
{
	char dir[] = "/tmp/test_source_find_XXXXXX", name[64];
	const char *said[2] = { NULL, NULL };
	struct source_places w = { .said = said };
	struct source_sum sum = { .has_md5 = true };

	(void)state;
	if (geteuid())
		SKIP_BECAUSE("only root can give files away");
	if (has_other_root())
		SKIP_BECAUSE("an emulator opens another directory for /");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0711), 0);
	make(dir, "x.c", "X");
	(void)snprintf(name, sizeof(name), "%s/x.c", dir);
	assert_int_equal(look(&w, name, NULL, "X"), SOURCE_FOUND);
	assert_int_equal(chown(name, 1234, 1234), 0);
	assert_int_equal(look(&w, name, NULL, NULL), SOURCE_ANOTHERS);
	w.owner = 1234; /* as the program */
	assert_int_equal(look(&w, name, NULL, "X"), SOURCE_FOUND);
	assert_int_equal(chmod(name, 0664), 0); /* by his own group */
	assert_int_equal(look(&w, name, NULL, "X"), SOURCE_FOUND);
	assert_int_equal(chown(name, 1234, 1235), 0);
	assert_int_equal(look(&w, name, NULL, NULL), SOURCE_ANOTHERS);
	assert_int_equal(chown(name, 0, 0), 0); /* root's, but all may write it */
	assert_int_equal(chmod(name, 0646), 0);
	assert_int_equal(look(&w, name, NULL, NULL), SOURCE_ANOTHERS);
	w.owner = 0;
	md5("X", 1, sum.md5);
	assert_int_equal(look(&w, name, &sum, "X"), SOURCE_FOUND);
	said[0] = dir; /* named by the user */
	assert_int_equal(look(&w, name, NULL, "X"), SOURCE_FOUND);
	assert_int_equal(nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* A program can name any file: its user sees no more by our rights than by his own. */
static void no_more_than_its_user_may_read(void **state)
{
	char dir[] = "/tmp/test_source_find_XXXXXX", name[64];
	struct source_places w = { .owner = 1234 };
	struct source_sum sum = { .has_md5 = true };

	(void)state;
	if (geteuid())
		SKIP_BECAUSE("only root can give files away");
	if (has_other_root())
		SKIP_BECAUSE("an emulator opens another directory for /");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0711), 0);
	make(dir, "x.c", "X");
	(void)snprintf(name, sizeof(name), "%s/x.c", dir);
	assert_int_equal(chmod(name, 0604), 0);
	assert_int_equal(look(&w, name, NULL, "X"), SOURCE_FOUND);
	assert_int_equal(chmod(name, 0600), 0);
	assert_int_equal(look(&w, name, NULL, NULL), SOURCE_SECRET);
	md5("X", 1, sum.md5);
	assert_int_equal(look(&w, name, &sum, NULL), SOURCE_SECRET);
	w.owner = (uid_t)-1; /* nobody knows */
	assert_int_equal(look(&w, name, NULL, NULL), SOURCE_SECRET);
	w.owner = 0;
	assert_int_equal(look(&w, name, NULL, "X"), SOURCE_FOUND);
	w.recorder = 1234; /* a recording can name any program */
	assert_int_equal(look(&w, name, NULL, NULL), SOURCE_SECRET);
	assert_int_equal(chmod(name, 0604), 0);
	assert_int_equal(look(&w, name, NULL, "X"), SOURCE_FOUND);
	assert_int_equal(chmod(dir, 0700), 0); /* he cannot get there */
	assert_int_equal(look(&w, name, NULL, NULL), SOURCE_SECRET);
	assert_int_equal(nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* What has the right name here need not be what was compiled there. */
static void another_machines_source_is_not_here(void **state)
{
	char dir[] = "/tmp/test_source_find_XXXXXX", name[64];
	const char *said[2] = { NULL, NULL };
	struct source_places w = { .said = said, .elsewhere = true };
	struct source_sum sum = { .has_md5 = true };

	(void)state;
	assert_non_null(mkdtemp(dir));
	make(dir, "x.c", "X");
	(void)snprintf(name, sizeof(name), "%s/x.c", dir);
	assert_int_equal(look(&w, name, NULL, NULL), SOURCE_ELSEWHERE);
	md5("Y", 1, sum.md5);
	assert_int_equal(look(&w, name, &sum, NULL), SOURCE_DIFFERS);
	md5("X", 1, sum.md5);
	assert_int_equal(look(&w, name, &sum, "X"), SOURCE_FOUND);
	said[0] = dir;
	assert_int_equal(look(&w, name, NULL, "X"), SOURCE_FOUND);
	assert_int_equal(nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Neither a sysroot nor a directory of --source has links that lead out of it. */
static void links_end_at_their_root(void **state)
{
	char dir[] = "/tmp/test_source_find_XXXXXX", root[64], secret[64], name[96];
	const char *said[2] = { root, NULL };
	struct source_places by_root = { .sysroot = root }, by_word = { .said = said };

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(root, sizeof(root), "%s/root", dir);
	make(dir, "secret", "S");
	make(root, "a/x.c", "X");
	(void)snprintf(secret, sizeof(secret), "%s/secret", dir);
	(void)snprintf(name, sizeof(name), "%s/a/out.c", root);
	assert_int_equal(symlink(secret, name), 0);
	(void)snprintf(name, sizeof(name), "%s/a/up.c", root);
	assert_int_equal(symlink("../../secret", name), 0);
	assert_int_equal(look(&by_root, "/a/x.c", NULL, "X"), SOURCE_FOUND);
	assert_int_equal(look(&by_word, "/a/x.c", NULL, "X"), SOURCE_FOUND);
	assert_int_equal(look(&by_root, "/a/out.c", NULL, NULL), SOURCE_ABSENT);
	assert_int_equal(look(&by_root, "/a/up.c", NULL, NULL), SOURCE_ABSENT);
	assert_int_equal(look(&by_word, "/a/out.c", NULL, NULL), SOURCE_ABSENT);
	assert_int_equal(look(&by_word, "/a/up.c", NULL, NULL), SOURCE_ABSENT);
	assert_int_equal(nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_read),
		cmocka_unit_test(lines_of_a_text_kept_once),
		cmocka_unit_test(the_right_file_is_taken),
		cmocka_unit_test(other_users_files_are_not_sources),
		cmocka_unit_test(no_more_than_its_user_may_read),
		cmocka_unit_test(another_machines_source_is_not_here),
		cmocka_unit_test(links_end_at_their_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
