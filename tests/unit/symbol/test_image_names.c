/* SPDX-License-Identifier: BSD-3-Clause */
/* What files are called, alone and where several have one name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fresh.h"
#include "tool.h"

static void test_names(void **state)
{
	static const struct {
		enum image_kind kind;
		uint32_t pid;
		const char *path, *name;
	} row[] = {
		{ IMAGE_FILE, 0, "/usr/lib/libc.so.6", "libc.so.6" },
		{ IMAGE_KERNEL, 0, "[kernel.kallsyms]_text", "[kernel.kallsyms]" },
		{ IMAGE_KERNEL, 0, "[guest.kernel.kallsyms]", "[guest.kernel.kallsyms]" },
		{ IMAGE_MODULE, 0, "[ext4]", "[ext4]" },
		{ IMAGE_MODULE, 0, "/lib/modules/6.1/kernel/net/nf-nat.ko.xz", "[nf_nat]" },
		{ IMAGE_VDSO, 0, "[vdso]", "[vdso]" },
		{ IMAGE_ANON, 12, "//anon", "perf-12.map" },
		{ IMAGE_ANON, 12, "[heap]", "[heap]" },
		{ IMAGE_BPF, 0, "bpf_prog_1234_x", "bpf_prog_1234_x" },
		{ IMAGE_OTHER, 0, "[vsyscall]", "[vsyscall]" },
	};
	struct images *set = fresh(NULL);
	struct err err = ERR_INIT;

	(void)state;
	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct image_key key = { .kind = row[i].kind,
					 .path = row[i].path,
					 .pid = row[i].pid };

		assert_int_equal(images_add(set, &key, &err), i);
		assert_int_equal(images_add(set, &key, &err), i);
		assert_string_equal(image_name(set, i), row[i].name);
	}
	images_free(set);
}

/* Files of one base name. */
static void test_apart(void **state)
{
#define LONG "/0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *path;
		uint8_t id; /* 0: none */
		const char *name;
	} row[] = {
		{ "/lib/alone.so", 0, "alone.so" },
		/* by as much of the path as tells them apart, and no more */
		{ "/a/v1/x.so", 1, "v1/x.so" },
		{ "/b/v1/w/x.so", 2, "w/x.so" },
		{ "/b/v2/x.so", 0, "v2/x.so" },
		{ "/x.so", 0, "/x.so" },
		{ "/q/ab/y", 3, "ab/y" },
		{ "/q/zab/y", 4, "zab/y" },
		/* by the build-id, where the path does not */
		{ "/usr/bin/new", 5, "new@05aabbcc" },
		{ "/usr/bin/new", 6, "new@06aabbcc" },
		{ "/usr/bin/new", 0, "new" },
		{ LONG "/1/long", 7, "long@07aabbcc" },
		{ LONG "/2/1/long", 8, "2/1/long" },
		/* one and the same */
		{ "/one/same", 9, "same" },
		{ "/two/same", 9, "same" },
		{ "/one/same", 0, "same" },
	};
	struct images *set = fresh(NULL);
	struct image_key guest = { .kind = IMAGE_FILE, .path = "/a/v1/x.so", .guest = true };
	struct err err = ERR_INIT;

	(void)state;
	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const uint8_t id[20] = { row[i].id, 0xaa, 0xbb, 0xcc };
		struct image_key key = { .kind = IMAGE_FILE,
					 .path = row[i].path,
					 .build_id = row[i].id ? id : NULL,
					 .build_id_len = row[i].id ? sizeof(id) : 0 };

		assert_int_equal(images_add(set, &key, &err), i);
	}
	assert_int_not_equal(images_add(set, &guest, &err), IMAGE_NONE);
	images_tell_apart(set);
	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_string_equal(image_name(set, i), row[i].name);
	assert_string_equal(image_name(set, sizeof(row) / sizeof(row[0])), "x.so [guest]");
	for (uint32_t i = 0; i < images_count(set); i++) { /* all of a name, in their order */
		uint32_t found = IMAGE_NONE;

		for (uint32_t k = 0; k < images_count(set); k++)
			if (!strcmp(image_name(set, k), image_name(set, i))) {
				found = image_named(set, image_name(set, i), found);
				assert_int_equal(found, k);
			}
		assert_int_equal(image_named(set, image_name(set, i), found), IMAGE_NONE);
	}
	assert_int_equal(image_named(set, "no such", IMAGE_NONE), IMAGE_NONE);
	images_free(set);
}

/* Files of one path without a build-id: by inode, and by generation where both are known. */
static void test_apart_by_inode(void **state)
{
	static const struct {
		struct file_identity file;
		uint32_t image;
		const char *name;
	} row[] = {
		{ { 8, 1, 12, 0 }, 0, "x@inode12.5" }, /* as /proc/PID/maps has it: no generation */
		{ { 8, 1, 12, 5 }, 0, "x@inode12.5" },
		{ { 8, 1, 12, 6 }, 1, "x@inode12.6" },
		{ { 8, 1, 13, 5 }, 2, "x@inode13.5" },
		/* devices of btrfs and overlayfs are called differently in different places */
		{ { 0, 40, 99, 0 }, 3, "x@inode12.5" },
		{ { 8, 1, 12, 6 }, 1, "x@inode12.6" },
	};
	struct images *set = fresh(NULL);
	struct err err = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct image_key key = { .kind = IMAGE_FILE, .path = "/x", .file = row[i].file };

		assert_int_equal(images_add(set, &key, &err), row[i].image);
	}
	images_tell_apart(set);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_string_equal(image_name(set, row[i].image), row[i].name);
	images_free(set);
}

static void test_late_build_id(void **state)
{
	struct images *set = fresh(NULL);
	struct image_key key = { .kind = IMAGE_FILE, .path = "/x" };
	struct err err = ERR_INIT;
	const uint8_t id[20] = { 7 };
	uint32_t im = images_add(set, &key, &err);
	struct image_key kernel = { .kind = IMAGE_KERNEL, .path = "[kernel.kallsyms]_text" };
	uint32_t k = images_add(set, &kernel, &err);

	(void)state;
	images_build_id(set, "/x", id, sizeof(id));
	assert_int_equal(image_key(set, k)->build_id_len, 0);
	images_build_id(set, "[kernel.kallsyms]", id, sizeof(id));
	assert_int_equal(image_key(set, k)->build_id_len, 20);
	assert_int_equal(image_key(set, im)->build_id_len, 20);
	assert_int_equal(images_add(set, &key, &err), im);
	key.build_id = id;
	key.build_id_len = 20;
	assert_int_not_equal(images_add(set, &key, &err), im);
	images_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_apart_by_inode),
		cmocka_unit_test(test_late_build_id),
	};

	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
