/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbols of programs built here, against what nm says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbol/image.h"
#include "tool.h"

static const char program[] =
	"cat > a.c <<'END'\n"
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"__attribute__((noinline)) static int inner(int x) { return x * 3 + (int)random(); }\n"
	"__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }\n"
	"int weak_one(int x) __attribute__((weak, alias(\"outer\")));\n"
	"int __hidden_name(int x) __attribute__((alias(\"outer\")));\n"
	"int main(int c, char **v) { printf(\"%d %s\\n\", outer(c), v[0]); return 0; }\n"
	"END\n";

static struct images *fresh(const struct images_opts *o)
{
	struct images_opts opts = o ? *o : (struct images_opts){ 0 };
	struct err err = ERR_INIT;
	struct images *set;

	opts.trust_paths = true;
	set = images_new(&opts, &err);
	assert_non_null(set);
	return set;
}

static uint32_t add_file(struct images *set, const char *name, const uint8_t *id, size_t len)
{
	char path[256];
	struct err err = ERR_INIT;
	struct image_key key = {
		.kind = IMAGE_FILE, .path = path, .build_id = id, .build_id_len = len
	};
	uint32_t im;

	(void)snprintf(path, sizeof(path), "%s/%s", tool_dir, name);
	im = images_add(set, &key, &err);
	assert_int_not_equal(im, IMAGE_NONE);
	return im;
}

/* Every function nm lists is found at its first and last byte under a name nm gives that address.
 */
static size_t check_against_nm(const char *file, const char *unstripped, const char *nm_flags)
{
	struct images *set = fresh(NULL);
	uint32_t im = add_file(set, file, NULL, 0);
	struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	char line[256];
	size_t seen = 0;

	(void)snprintf(line, sizeof(line), "nm -S %s %s", nm_flags, unstripped);
	assert_true(tool_run(&text, line));
	for (char *p = text.s, *save = NULL; (p = strtok_r(p, "\n", &save)); p = NULL) {
		unsigned long long vaddr, size;
		char type, name[128], again[160];
		const struct symbol *sym[2];
		uint64_t addr[2], back;

		if (sscanf(p, "%llx %llx %c %127s", &vaddr, &size, &type, name) != 4 ||
		    !strchr("TtWw", type))
			continue;
		assert_true(image_from_vaddr(set, im, vaddr, &addr[0]));
		assert_true(image_to_vaddr(set, im, addr[0], &back));
		assert_int_equal(back, vaddr);
		addr[1] = addr[0] + size - 1;
		assert_int_equal(image_resolve(set, im, addr, 2, sym, &err), 0);
		assert_non_null(sym[0]);
		assert_ptr_equal(sym[0], sym[1]);
		assert_int_equal(sym[0]->start, addr[0]);
		assert_int_equal(sym[0]->size, size);
		/* of several names nm knows them all */
		(void)snprintf(again, sizeof(again), "nm -S %s %s | grep -q '%016llx .* %s$'",
			       nm_flags, unstripped, vaddr, sym[0]->linkage);
		if (strcmp(name, sym[0]->linkage) != 0)
			assert_true(tool_run(NULL, again));
		seen++;
	}
	buf_free(&text);
	images_free(set);
	return seen;
}

static void test_layouts(void **state)
{
	static const char *const flags[] = {
		"-no-pie",
		"-pie -fPIE",
		"-static",
		"-pie -fPIE -Wl,-z,separate-code",
		"-no-pie -Wl,-z,noseparate-code",
		"-no-pie -Wl,-Ttext-segment=0x7000000",
		"-no-pie -Wl,-Ttext=0x123400",
	};
	char line[512];

	(void)state;
	assert_true(tool_run(NULL, program));
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		(void)snprintf(line, sizeof(line), "gcc -O2 a.c -o layout %s 2>/dev/null",
			       flags[i]);
		assert_true(tool_run(NULL, line));
		assert_true(check_against_nm("layout", "layout", "") >= 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
	};

	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
