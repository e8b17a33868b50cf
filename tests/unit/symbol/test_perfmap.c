/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of JIT code against known content, and against a plain array of bytes that says for each
 * address which line came last.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbol/image.h"
#include "symbol/image/perfmap.h"

static const char *at(const struct perfmap *m, uint64_t addr)
{
	const struct perfmap_sym *s = perfmap_find(m, addr);

	return s ? s->name : "-";
}

static void lines_are_read(void **state)
{
	char text[] = "7f0000001000 20 int Foo::bar(int, char const*)\n"
		      "0x7f0000002000 0x10 js:~f /x.js:1\r\n"
		      "\n"
		      "zz 10 bad\n"
		      "1000 0 empty\n"
		      "1000 10\n"
		      "11112222333344445 1 too-long\n"
		      "fffffffffffffff0 20 last\n"
		      "3000 10 cut-short";
	struct perfmap m;

	(void)state;
	perfmap_parse(&m, text, sizeof(text) - 1);
	assert_int_equal(m.n, 3);
	assert_int_equal(m.n_bad, 4);
	assert_string_equal(at(&m, 0x7f0000001000), "int Foo::bar(int, char const*)");
	assert_string_equal(at(&m, 0x7f000000101f), "int Foo::bar(int, char const*)");
	assert_string_equal(at(&m, 0x7f0000001020), "-");
	assert_string_equal(at(&m, 0x7f0000000fff), "-");
	assert_string_equal(at(&m, 0x7f0000002000), "js:~f /x.js:1");
	assert_string_equal(at(&m, 0xfffffffffffffff8), "last");
	perfmap_free(&m);
}

static void later_lines_win(void **state)
{
	enum { SPACE = 400, LINES = 300 };

	(void)state;
	srand(11);
	for (int round = 0; round < 200; round++) {
		char text[LINES * 32];
		int last[SPACE];
		size_t len = 0;
		struct perfmap m;

		memset(last, -1, sizeof(last));
		for (int i = 0; i < 1 + round % LINES; i++) {
			int start = rand() % (SPACE - 40), size = 1 + rand() % 40;

			len += (size_t)snprintf(text + len, sizeof(text) - len, "%x %x %d\n", start,
						size, i);
			for (int k = start; k < start + size; k++)
				last[k] = i;
		}
		perfmap_parse(&m, text, len);
		for (int k = 0; k < SPACE; k++) {
			const struct perfmap_sym *s = perfmap_find(&m, (uint64_t)k);

			assert_int_equal(s ? atoi(s->name) : -1, last[k]);
		}
		for (size_t i = 1; i < m.n; i++)
			assert_true(m.sym[i - 1].end <= m.sym[i].start);
		perfmap_free(&m);
	}
}

static void images_take_names_from_it(void **state)
{
	char dir[] = "/tmp/cyclade-perfmap-XXXXXX", path[128];
	struct images_opts opts = { .raw_names = true };
	struct image_key key = { .kind = IMAGE_ANON, .path = "//anon", .pid = 4711 };
	const uint64_t addr[] = { 0x1000, 0x1010, 0x1030 };
	const struct symbol *out[3];
	struct images *set;
	uint32_t id;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/perf-4711.map", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fputs("1000 30 old one\n1010 10 new one\n", f);
	(void)fclose(f);
	opts.perf_map_dir = dir;
	set = images_new(&opts, NULL);
	id = images_add(set, &key, NULL);
	image_resolve(set, id, addr, 3, out);
	assert_string_equal(out[0]->name, "old one");
	assert_string_equal(out[1]->name, "new one");
	assert_null(out[2]);
	assert_non_null(strstr(image_origin(set, id), "perf-4711.map, unverified"));
	images_free(set);
	(void)unlink(path);
	set = images_new(&opts, NULL);
	id = images_add(set, &key, NULL);
	image_resolve(set, id, addr, 3, out);
	assert_null(out[0]);
	assert_non_null(strstr(image_origin(set, id), "not there"));
	images_free(set);
	(void)rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read),
		cmocka_unit_test(later_lines_win),
		cmocka_unit_test(images_take_names_from_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
