/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache of symbol tables: kept, found again, and never believed when broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config.h"
#include "symbol/image/cache.h"
#include "symbol/image.h"
#include "tool.h"

static const uint8_t id[20] = { 0xab, 0xcd, 1, 2, 3 };

static struct symbol rows[] = {
	{ .linkage = "one", .start = 0x10, .size = 0x10, .index = 0 },
	{ .linkage = "two", .start = 0x20, .size = 0, .index = 1 },
	{ .linkage = "three", .start = 0xfffffffffffffff0, .size = 0xf, .index = 2 },
};
static const struct sym_table table = { rows, 3 };

static struct cache_key key_of(void)
{
	return (struct cache_key){ tool_dir, id, sizeof(id), "test", 42 };
}

static bool found(const struct cache_key *k)
{
	struct file_map map;
	struct sym_table t;
	uint64_t base;

	if (!cache_load(k, &map, &t, &base))
		return false;
	sym_table_free(&t);
	file_map_close(&map);
	return true;
}

static void test_round_trip(void **state)
{
	struct cache_key k = key_of();
	struct err err = ERR_INIT;
	struct file_map map;
	struct sym_table t;
	uint64_t base;

	(void)state;
	assert_false(found(&k));
	assert_int_equal(cache_store(&k, &table, 99, &err), 0);
	assert_true(cache_load(&k, &map, &t, &base));
	assert_int_equal(base, 99);
	assert_int_equal(t.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(t.sym[i].linkage, rows[i].linkage);
		assert_int_equal(t.sym[i].start, rows[i].start);
		assert_int_equal(t.sym[i].size, rows[i].size);
		assert_int_equal(t.sym[i].index, i);
	}
	sym_table_free(&t);
	file_map_close(&map);
	/* another key is another table */
	k.layout++;
	assert_false(found(&k));
	k = key_of();
	k.kind = "other";
	assert_false(found(&k));
	k = key_of();
	k.id_len = 16;
	assert_false(found(&k));
	/* no build-id, no folder: no cache, and no failure */
	k.id_len = 0;
	assert_int_equal(cache_store(&k, &table, 0, &err), 0);
	k = key_of();
	k.dir = NULL;
	assert_int_equal(cache_store(&k, &table, 0, &err), 0);
	assert_false(found(&k));
	/* nothing half-written lies about */
	assert_false(tool_run(NULL, "ls symbols/ab | grep -v -- '-test$'"));
}

/* Every byte turned over and every length: refused, and written anew. */
static void test_broken(void **state)
{
	struct cache_key k = key_of();
	struct err err = ERR_INIT;
	struct buf text = BUF_INIT;
	uint8_t *p;
	struct sym_table t;
	uint64_t base;
	char path[256];

	(void)state;
	assert_int_equal(cache_store(&k, &table, 7, &err), 0);
	(void)snprintf(path, sizeof(path),
		       "%s/symbols/ab/cd010203000000000000000000000000000000"
		       "-test",
		       tool_dir);
	assert_int_equal(file_slurp(&text, path, 1u << 20, &err), 0);
	p = (uint8_t *)text.s;
	assert_true(cache_parse(p, text.len, &k, &t, &base));
	sym_table_free(&t);
	for (size_t i = 0; i < text.len; i++) {
		assert_false(cache_parse(p, i, &k, &t, &base));
		p[i] ^= 0x41;
		assert_false(cache_parse(p, text.len, &k, &t, &base));
		p[i] ^= 0x41;
	}
	buf_free(&text);
	assert_int_equal(truncate(path, 50), 0);
	assert_false(found(&k));
	assert_int_equal(cache_store(&k, &table, 7, &err), 0);
	assert_true(found(&k));
}

/* A stripped program's packed symbols: the same from the cache as from the file. */
static void test_minidebug(void **state)
{
	char path[256];
	const struct images_opts opts = { .cache_dir = tool_dir, .trust_paths = true };
	struct err err = ERR_INIT;
	struct image_key key = { .kind = IMAGE_FILE, .path = path };
	const struct symbol *first, *again;
	size_t n_first, n_again;
	struct images *a, *b;

	(void)state;
	if (!HAVE_LZMA)
		SKIP_BECAUSE("built without liblzma");
	if (!tool_have("xz"))
		SKIP_BECAUSE("no xz");
	assert_true(tool_run(NULL, "echo 'static int f(int x){return x+1;} int (*p)(int) = f;"
				   "int main(void){return p(1);}' > c.c && "
				   "gcc -O0 -Wl,--build-id=0xab000001 c.c -o mini && cp mini m && "
				   "strip -g m && xz -f m && strip -s mini && "
				   "objcopy --add-section .gnu_debugdata=m.xz mini"));
	(void)snprintf(path, sizeof(path), "%s/mini", tool_dir);
	a = images_new(&opts, &err);
	b = images_new(&opts, &err);
	assert_true(a && b);
	assert_int_equal(images_add(a, &key, &err), 0);
	assert_int_equal(images_add(b, &key, &err), 0);
	first = image_symbols(a, 0, &n_first);
	assert_null(strstr(image_origin(a, 0), "cached"));
	again = image_symbols(b, 0, &n_again);
	assert_non_null(strstr(image_origin(b, 0), "cached"));
	assert_true(n_first > 3);
	assert_int_equal(n_first, n_again);
	for (size_t i = 0; i < n_first; i++) {
		assert_string_equal(first[i].name, again[i].name);
		assert_string_equal(first[i].linkage, again[i].linkage);
		assert_int_equal(first[i].start, again[i].start);
		assert_int_equal(first[i].size, again[i].size);
	}
	images_free(a);
	images_free(b);
}

/* The list of a kernel that does not run any more. */
static void test_old_kernel(void **state)
{
	static struct symbol old[] = {
		{ .linkage = "_text", .start = 0xffffffff81000000, .size = 0x100, .index = 0 },
		{ .linkage = "schedule", .start = 0xffffffff81000100, .size = 0x40, .index = 1 },
	};
	const struct sym_table t = { old, 2 };
	const struct images_opts opts = { .cache_dir = tool_dir };
	const struct cache_key k = { tool_dir, id, sizeof(id), "kernel", 0 };
	const uint64_t addr = 0xffffffff9a000120;
	struct image_key key = { .kind = IMAGE_KERNEL,
				 .path = "[kernel.kallsyms]_text",
				 .build_id = id,
				 .build_id_len = sizeof(id),
				 .reloc = 0xffffffff9a000000 };
	struct err err = ERR_INIT;
	const struct symbol *s;
	struct images *set;

	(void)state;
	set = images_new(&opts, &err);
	assert_non_null(set);
	assert_int_equal(images_add(set, &key, &err), 0);
	image_resolve(set, 0, &addr, 1, &s);
	assert_null(s);
	assert_true(image_mismatch(set, 0));
	images_free(set);
	assert_int_equal(cache_store(&k, &t, 0xffffffff81000000, &err), 0);
	set = images_new(&opts, &err);
	assert_non_null(set);
	assert_int_equal(images_add(set, &key, &err), 0);
	image_resolve(set, 0, &addr, 1, &s);
	assert_non_null(s);
	assert_string_equal(s->name, "schedule");
	assert_false(image_mismatch(set, 0));
	images_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_minidebug),
		cmocka_unit_test(test_old_kernel),
	};

	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
