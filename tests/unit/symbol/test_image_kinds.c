/* SPDX-License-Identifier: BSD-3-Clause */
/* Images that are no files: the kernel, BPF, the vDSO, and code that a runtime made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "dump.h"
#include "fresh.h"
#include "symbol/copies.h"
#include "symbol/image/image_set.h"
#include "tool.h"

static void test_bpf_and_vdso(void **state)
{
	struct images *set = fresh(NULL);
	struct err err = ERR_INIT;
	struct image_key bpf = {
		.kind = IMAGE_BPF, .path = "bpf_prog_x", .start = 0x1000, .len = 0x80
	};
	struct image_key vdso = { .kind = IMAGE_VDSO, .path = "[vdso]" };
	uint32_t im = images_add(set, &bpf, &err);
	const uint64_t addr[] = { 0xfff, 0x1000, 0x107f, 0x1080 };
	const struct symbol *s[4], *all;
	bool found = false;
	size_t n;

	(void)state;
	image_resolve(set, im, addr, 4, s);
	assert_true(!s[0] && s[1] && s[1] == s[2] && !s[3]);
	assert_string_equal(s[1]->name, "bpf_prog_x");
	im = images_add(set, &vdso, &err);
	all = image_symbols(set, im, &n);
	if (!n)
		SKIP_BECAUSE("no vdso: emulated, or under a tool that hides it");
	for (size_t i = 0; i < n; i++)
		found |= strstr(all[i].name, "clock_gettime") != NULL;
	assert_true(found);
	images_free(set);
}

/* A list of the kernel's symbols, moved by the place of _text. */
static void test_kallsyms(void **state)
{
	char path[256];
	const struct images_opts opts = { .kallsyms = path };
	struct images *set;
	struct err err = ERR_INIT;
	struct image_key kernel = { .kind = IMAGE_KERNEL,
				    .path = "[kernel.kallsyms]_text",
				    .reloc = 0xffffffff91000000 };
	struct image_key mod = {
		.kind = IMAGE_MODULE, .path = "[nfs]", .start = 0xffffffffc0400000, .len = 0x2000
	};
	const uint64_t addr[] = { 0xffffffff90ffffff, 0xffffffff91000008, 0xffffffff91000010,
				  0xffffffff9100002f, 0xffffffff91003000 };
	/* the last symbol of the kernel: a page, what lies behind it is not its */
	const uint64_t end[] = { 0xffffffff9100101f, 0xffffffff91001020 };
	const uint64_t in_mod[] = { 0xffffffffc0400000, 0xffffffffc0400fff };
	const struct symbol *s[5];
	uint32_t im;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/kallsyms", tool_dir);
	assert_true(
		tool_feed(NULL,
			  "ffffffff81000000 T _stext\nffffffff81000000 T _text\n"
			  "ffffffff81000010 t local_one\nffffffff81000020 W weak_one\n"
			  "ffffffff81000020 T strong_one\nffffffff81000020 t "
			  "own_one\nnonsense\n\nffffffff81000030 r data\n"
			  "ffffffffc0400000 t nfs_init\t[nfs]\nffffffffc0400800 t nfs_x\t[nfs]\n"
			  "ffffffffc0500000 t other_init\t[other]",
			  "cat > kallsyms"));
	set = fresh(&opts);
	im = images_add(set, &kernel, &err);
	image_resolve(set, im, addr, 5, s);
	assert_true(!s[0] && s[1] && s[2] && s[3] && !s[4]);
	assert_string_equal(s[1]->name, "_text");
	assert_string_equal(s[2]->name, "local_one");
	assert_int_equal(s[2]->size, 0x10);
	assert_string_equal(s[3]->name, "own_one");
	assert_non_null(strstr(image_origin(set, im), "moved by 0x10000000"));
	image_resolve(set, im, end, 2, s);
	assert_string_equal(s[0]->name, "own_one");
	assert_null(s[1]);
	im = images_add(set, &mod, &err);
	image_resolve(set, im, in_mod, 2, s);
	assert_string_equal(s[0]->name, "nfs_init");
	assert_string_equal(s[1]->name, "nfs_x");
	mod.start += 0x10000;
	im = images_add(set, &mod, &err);
	image_resolve(set, im, in_mod, 2, s);
	assert_null(s[0]);
	assert_non_null(strstr(image_origin(set, im), "loaded elsewhere"));
	images_free(set);
	/* hidden from this user */
	assert_true(tool_feed(NULL, "0000000000000000 T _text\n0000000000000000 T x\n",
			      "cat > kallsyms"));
	set = fresh(&opts);
	im = images_add(set, &kernel, &err);
	image_resolve(set, im, addr, 5, s);
	assert_null(s[2]);
	assert_non_null(strstr(image_origin(set, im), "kptr_restrict"));
	images_free(set);
}

static struct buf jitdump_of(uint32_t pid)
{
	struct buf b = BUF_INIT;

	dump_header(&b, pid, 0);
	for (uint64_t i = 0; i < 2; i++)
		dump_load(&b, 2000 + i, 0x7000000 + i * 16, 16, i, i ? "jit_two" : "jit_one");
	return b;
}

static void test_jit(void **state)
{
	const uint64_t addr[] = { 0x6ffffff, 0x7000000, 0x700001f, 0x7000020 };
	char dir[64], dump[128];
	const struct images_opts opts = { .perf_map_dir = dir };
	struct image_key anon = { .kind = IMAGE_ANON, .path = "//anon", .pid = 77 };
	struct image_key file = { .kind = IMAGE_FILE, .path = dump };
	struct images *set = NULL;
	struct err err = ERR_INIT;
	const struct symbol *s[4];
	struct buf b = jitdump_of(77);
	FILE *f;

	(void)state;
	(void)snprintf(dir, sizeof(dir), "%s", tool_dir);
	(void)snprintf(dump, sizeof(dump), "%s/jit-77.dump", tool_dir);
	/* nothing at all; then a list; then a dump as well, which comes first */
	for (int round = 0; round < 3; round++) {
		if (round == 1)
			assert_true(tool_feed(NULL, "7000000 10 map one\n7000010 10 map two\n",
					      "cat > perf-77.map"));
		if (round == 2) {
			f = fopen(dump, "w");
			assert_non_null(f);
			assert_int_equal(fwrite(b.s, 1, b.len, f), b.len);
			assert_int_equal(fclose(f), 0);
		}
		set = fresh(&opts);
		assert_int_equal(images_add(set, &anon, &err), 0);
		assert_int_equal(images_add(set, &file, &err), 1);
		image_resolve(set, 0, addr, 4, s);
		assert_true(!s[0] && !s[3]);
		assert_int_equal(s[1] != NULL, round > 0);
		if (round) {
			assert_string_equal(s[1]->name, round == 1 ? "map one" : "jit_one");
			assert_string_equal(s[2]->name, round == 1 ? "map two" : "jit_two");
		}
		assert_non_null(strstr(image_origin(set, 0), round == 2 ? "dump" : "perf-77.map"));
		images_free(set);
	}
	buf_free(&b);
}

/* Lists of code that another user may have written. */
static void test_whose_map(void **state)
{
	static const struct {
		unsigned uid, gid, mode;
		const char *name, *says;
	} row[] = {
		{ 0, 0, 0644, "one", "unverified" },
		{ 0, 0, 0664, "one", "unverified" },
		{ 0, 1234, 0664, "none", "others may write it (mode 664)" },
		{ 0, 0, 0666, "none", "others may write it (mode 666)" },
		{ 1234, 1234, 0644, "none", "of user 1234" },
	};
	const struct images_opts opts = { .perf_map_dir = tool_dir };
	/* a process that there is not: above the largest number */
	struct image_key anon = { .kind = IMAGE_ANON, .path = "//anon", .pid = 4194305 };
	const uint64_t addr = 0x7000000;
	struct err err = ERR_INIT;
	char path[256];

	(void)state;
	if (geteuid())
		SKIP_BECAUSE("only root can give files away");
	assert_true(tool_feed(NULL, "7000000 10 one\n", "cat > perf-4194305.map"));
	(void)snprintf(path, sizeof(path), "%s/perf-4194305.map", tool_dir);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct images *set = fresh(&opts);
		const struct symbol *s;

		assert_int_equal(chown(path, row[i].uid, row[i].gid), 0);
		assert_int_equal(chmod(path, row[i].mode), 0);
		assert_int_equal(images_add(set, &anon, &err), 0);
		image_resolve(set, 0, &addr, 1, &s);
		assert_string_equal(s ? s->name : "none", row[i].name);
		if (!strstr(image_origin(set, 0), row[i].says))
			fail_msg("%zu: %s", i, image_origin(set, 0));
		images_free(set);
	}
}

static const char *name_in_list(const struct images_opts *opts, bool copy, bool other, bool *has)
{
	static char name[64];
	struct image_key anon = { .kind = IMAGE_ANON, .path = "//anon", .pid = 4194306 };
	struct images *set = fresh(opts);
	const uint64_t addr = 0x7000000;
	struct err err = ERR_INIT;
	const struct symbol *s;
	char inside[256], root[128];

	(void)snprintf(inside, sizeof(inside), "%s/perf-4194306.map", tool_dir);
	(void)snprintf(root, sizeof(root), "%s/root", tool_dir);
	if (other)
		images_place(set, inside, root, "/tmp/perf-5.map");
	if (copy)
		images_place(set, inside, COPIES_PLACE, "abcd");
	*has = image_has_perf_map(set, 4194306);
	assert_int_equal(images_add(set, &anon, &err), 0);
	image_resolve(set, 0, &addr, 1, &s);
	(void)snprintf(name, sizeof(name), "%s", s ? s->name : "none");
	images_free(set);
	return name;
}

/* A list is its copy, if there is one, else that of the process' own /tmp, else that of its name.
 */
static void test_kept_map(void **state)
{
	const struct images_opts opts = { .perf_map_dir = tool_dir, .copies_dir = tool_dir };
	const struct copies_limit none = { 0, 0 };
	struct copy_from from = { .id = (const uint8_t *)"\xab\xcd",
				  .id_len = 2,
				  .kind = COPY_MAP,
				  .name = "perf-4194306.map",
				  .fd = -1,
				  .p = "7000000 10 copied\n",
				  .len = 18,
				  .most = 4096 };
	struct copies_gone gone;
	bool has;

	(void)state;
	assert_string_equal(name_in_list(&opts, true, true, &has), "none");
	assert_false(has);
	if (copies_keep(tool_dir, &from, NULL) != 1)
		SKIP_BECAUSE("no room for a copy");
	assert_string_equal(name_in_list(&opts, true, false, &has), "copied");
	assert_true(has);
	assert_string_equal(name_in_list(&opts, false, false, &has), "none");
	assert_false(has);
	assert_true(tool_feed(NULL, "7000000 10 inside\n",
			      "umask 022; mkdir -p root/tmp; cat > root/tmp/perf-5.map"));
	assert_string_equal(name_in_list(&opts, true, true, &has), "copied");
	assert_int_equal(copies_gc(tool_dir, &none, INT64_MAX / 2, &gone, NULL), 0);
	assert_int_equal(gone.n, 1);
	assert_string_equal(name_in_list(&opts, true, true, &has), "inside");
	assert_true(has);
	assert_true(tool_feed(NULL, "7000000 10 by_name\n", "umask 022; cat > perf-4194306.map"));
	assert_string_equal(name_in_list(&opts, true, true, &has), "inside");
	assert_string_equal(name_in_list(&opts, true, false, &has), "by_name");
	assert_true(has);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bpf_and_vdso), cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_jit),	     cmocka_unit_test(test_whose_map),
		cmocka_unit_test(test_kept_map),
	};

	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
