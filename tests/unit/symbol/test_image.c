/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbols of programs built here, against what nm says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "config.h"
#include "fresh.h"
#include "symbol/elf_file.h"
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

/* Whether nm's output has a line of that address and name. */
static bool nm_has(const char *text, uint64_t vaddr, const char *name)
{
	char at[32];
	size_t len = strlen(name);

	(void)snprintf(at, sizeof(at), "\n%016llx ", (unsigned long long)vaddr);
	for (const char *p = text; (p = strstr(p, at)); p++) {
		const char *end = strchr(p + 1, '\n');

		if (end && (size_t)(end - p) > len && !strncmp(end - len, name, len) &&
		    end[-(ptrdiff_t)len - 1] == ' ')
			return true;
	}
	return false;
}

/* Every function nm lists is found at its first and last byte under a name nm gives that address.
 */
static size_t check_against_nm(const char *file, const char *unstripped, const char *nm_flags)
{
	struct images *set = fresh(NULL);
	uint32_t im = add_file(set, file, NULL, 0);
	struct buf text = BUF_INIT, whole = BUF_INIT;
	char line[256];
	size_t seen = 0;

	(void)snprintf(line, sizeof(line), "nm -S %s %s", nm_flags, unstripped);
	assert_true(tool_run(&text, line));
	buf_printf(&whole, "\n%s", text.s);
	for (char *p = text.s, *save = NULL; (p = strtok_r(p, "\n", &save)); p = NULL) {
		unsigned long long vaddr, size;
		char type, name[128];
		const struct symbol *sym[2];
		uint64_t addr[2], back;

		if (sscanf(p, "%llx %llx %c %127s", &vaddr, &size, &type, name) != 4 ||
		    !strchr("TtWw", type))
			continue;
		assert_true(image_from_vaddr(set, im, vaddr, &addr[0]));
		assert_true(image_to_vaddr(set, im, addr[0], &back));
		assert_int_equal(back, vaddr);
		addr[1] = addr[0] + size - 1;
		image_resolve(set, im, addr, 2, sym);
		assert_non_null(sym[0]);
		assert_ptr_equal(sym[0], sym[1]);
		assert_int_equal(sym[0]->start, addr[0]);
		assert_int_equal(sym[0]->size, size);
		assert_true(nm_has(whole.s, vaddr, sym[0]->linkage));
		seen++;
	}
	buf_free(&text);
	buf_free(&whole);
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

/* ---- which file is taken --------------------------------------------------------------- */

static size_t hex_id(const char *file, uint8_t id[64])
{
	struct buf text = BUF_INIT;
	char line[256];
	size_t n = 0;

	(void)snprintf(line, sizeof(line), "readelf -n %s | sed -n 's/.*Build ID: //p'", file);
	assert_true(tool_run(&text, line));
	for (const char *p = text.s; p && sscanf(p, "%2hhx", &id[n]) == 1; p += 2)
		n++;
	buf_free(&text);
	return n;
}

/* The name of the symbol that `inner` of the program has by nm. */
static const char *name_of_inner(struct images *set, uint32_t im, const char *unstripped)
{
	static char name[128];
	struct buf text = BUF_INIT;
	const struct symbol *sym;
	unsigned long long vaddr;
	uint64_t addr;
	char line[256];

	(void)snprintf(line, sizeof(line), "nm %s | grep ' inner$'", unstripped);
	assert_true(tool_run(&text, line));
	assert_int_equal(sscanf(text.s, "%llx", &vaddr), 1);
	buf_free(&text);
	if (!image_from_vaddr(set, im, vaddr, &addr))
		addr = vaddr; /* nothing was found: any address has no name */
	image_resolve(set, im, &addr, 1, &sym);
	(void)snprintf(name, sizeof(name), "%s", symbol_has_name(sym) ? sym->name : "none");
	return name;
}

/* Labels of assembler code at a function's beginning, in it, and before its last byte: glibc's
 * __syscall_cancel_arch_end is one. */
static void test_labels(void **state)
{
	static const char code[] = "cat > labels.s <<'END'\n"
				   ".text\n.globl code_begin_of_inner, inner, middle, inner_end\n"
				   "code_begin_of_inner:\n.type inner, %function\n"
				   "inner: nop\nmiddle: nop\ninner_end: ret\n.size inner, .-inner\n"
				   ".globl last\n.type last, %function\nlast: ret\nmark: ret\n"
				   ".size last, .-last\nafter: ret\n"
				   "END\n"
				   "gcc -shared -nostartfiles -o labels labels.s";
	struct images *set = fresh(NULL);
	uint32_t im;

	(void)state;
	assert_true(tool_run(NULL, code));
	assert_int_equal(check_against_nm("labels", "labels", ""), 2);
	im = add_file(set, "labels", NULL, 0);
	assert_string_equal(name_of_inner(set, im, "labels"), "inner");
	images_free(set);
}

static void expect(const struct images_opts *o, const char *file, const uint8_t *id, size_t len,
		   const char *name, const char *origin, bool mismatch)
{
	struct images *set = fresh(o);
	uint32_t im = add_file(set, file, id, len);

	assert_string_equal(image_origin(set, im), "");
	assert_string_equal(name_of_inner(set, im, "full"), name);
	if (!strstr(image_origin(set, im), origin))
		fail_msg("origin is \"%s\", not \"%s\"", image_origin(set, im), origin);
	assert_int_equal(image_mismatch(set, im), mismatch);
	images_free(set);
}

static void test_which_file(void **state)
{
	char dir[128], home[128];
	const char *dirs[] = { dir, NULL };
	const struct images_opts with_dir = { .symbol_dirs = dirs }, with_home = { .home = home };
	uint8_t id[64], other[20] = { 1, 2, 3, 4 };
	char line[1024];
	size_t n;

	(void)state;
	(void)snprintf(dir, sizeof(dir), "%s/syms", tool_dir);
	(void)snprintf(home, sizeof(home), "%s/home", tool_dir);
	assert_true(tool_run(NULL, program));
	assert_true(tool_run(NULL, "gcc -g -O2 a.c -o full && cp full prog && strip -s prog && "
				   "mkdir -p syms home"));
	n = hex_id("full", id);
	if (!n)
		SKIP_BECAUSE("this compiler gives no build-ids");

	/* with its symbols, with the right id, with none, with another's */
	expect(NULL, "full", id, n, "inner", "build-id verified", false);
	expect(NULL, "full", NULL, 0, "inner", "unverified", false);
	expect(NULL, "full", other, 20, "none",
	       "the recording's is 0102030400000000000000000000000000000000: not used", true);
	expect(NULL, "prog", id, n, "none", "stripped: no symbols", false);
	expect(NULL, "nowhere", id, n, "none", "nowhere: not found here", false);

	/* --symbols: by name, and by build-id; a file of another build there is not taken */
	assert_true(tool_run(NULL, "objcopy --only-keep-debug full syms/prog.debug"));
	expect(&with_dir, "prog", id, n, "inner", "syms/prog.debug, build-id verified", false);
	expect(&with_dir, "prog", other, 20, "none", "not used", true);
	assert_true(tool_run(NULL, "rm syms/prog.debug && cp full syms/prog"));
	expect(&with_dir, "prog", id, n, "inner", "syms/prog, build-id verified", false);
	(void)snprintf(line, sizeof(line),
		       "rm syms/prog && i=$(readelf -n full | sed -n 's/.*Build ID: //p') && "
		       "f=$(echo $i | cut -c1-2) && r=$(echo $i | cut -c3-) && "
		       "mkdir -p syms/.build-id/$f home/.debug/.build-id/$f/$r && "
		       "objcopy --only-keep-debug full syms/.build-id/$f/$r.debug && "
		       "cp full home/.debug/.build-id/$f/$r/elf");
	assert_true(tool_run(NULL, line));
	expect(&with_dir, "prog", id, n, "inner", ".debug, build-id verified", false);
	/* the cache of perf: also for a file that is gone, or was built anew */
	expect(&with_home, "prog", id, n, "inner", "/elf, build-id verified", false);
	expect(&with_home, "gone", id, n, "inner", "/elf, build-id verified", false);
	assert_true(tool_run(NULL, "gcc -O0 -Wl,--build-id=0x112233445566 a.c -o gone"));
	expect(&with_home, "gone", id, n, "inner", "has build-id 112233445566", false);
	/* only debug information of a program that is gone: said, and still right here */
	expect(&with_dir, "vanished", id, n, "inner", "the program itself was not found", false);
}

static void test_debuglink(void **state)
{
	struct images *set;
	uint32_t im;
	char path[256];

	(void)state;
	assert_true(tool_run(NULL, program));
	assert_true(tool_run(NULL,
			     "gcc -g -O2 -Wl,--build-id=none a.c -o full && cp full linked && "
			     "mkdir -p .debug && "
			     "objcopy --only-keep-debug full .debug/linked.dbg && "
			     "strip -s linked && cd .debug && "
			     "objcopy --add-gnu-debuglink=linked.dbg ../linked"));
	expect(NULL, "linked", NULL, 0, "inner", ".debug/linked.dbg", false);
	set = fresh(NULL);
	im = add_file(set, "linked", NULL, 0);
	(void)snprintf(path, sizeof(path), "%s/.debug/linked.dbg", tool_dir);
	assert_string_equal(image_debug_file(set, im), path);
	(void)snprintf(path, sizeof(path), "%s/linked", tool_dir);
	assert_string_equal(image_code_file(set, im), path);
	images_free(set);
	/* one byte more: the checksum is wrong */
	assert_true(tool_run(NULL, "echo >> .debug/linked.dbg"));
	expect(NULL, "linked", NULL, 0, "none", "checksum", false);
	/* holes belong to the file, but are not read */
	assert_true(tool_run(NULL, "truncate -s +3M .debug/linked.dbg && "
				   "echo end >> .debug/linked.dbg && "
				   "truncate -s +70001 .debug/linked.dbg && "
				   "cp full linked && strip -s linked && cd .debug && "
				   "objcopy --add-gnu-debuglink=linked.dbg ../linked"));
	expect(NULL, "linked", NULL, 0, "inner", ".debug/linked.dbg", false);
	assert_true(tool_run(NULL, "truncate -s 1T .debug/linked.dbg"));
	expect(NULL, "linked", NULL, 0, "none", "checksum", false);
}

static void test_minidebug(void **state)
{
	(void)state;
	if (!HAVE_LZMA)
		SKIP_BECAUSE("built without liblzma");
	if (!tool_have("xz"))
		SKIP_BECAUSE("no xz");
	assert_true(tool_run(NULL, program));
	assert_true(tool_run(NULL, "gcc -O2 a.c -o full && cp full m && strip -g m && xz -f m && "
				   "cp full mini && strip -s mini && "
				   "objcopy --add-section .gnu_debugdata=m.xz mini"));
	expect(NULL, "mini", NULL, 0, "inner", ".dynsym and .gnu_debugdata", false);
	assert_true(tool_run(NULL, "objcopy --remove-section .gnu_debugdata mini && "
				   "head -c 300 m.xz > cut && "
				   "objcopy --add-section .gnu_debugdata=cut mini"));
	expect(NULL, "mini", NULL, 0, "none", ".gnu_debugdata is broken", false);
}

/* Functions of the stripped file that the whole file's nm knows: found from end to end by its
 * unwind table, called after their place. What has a name all the same keeps it. */
static void expect_bounds(const char *stripped, const char *whole, bool names)
{
	struct images *set = fresh(NULL);
	uint32_t im = add_file(set, stripped, NULL, 0);
	struct buf text = BUF_INIT;
	char line[256];
	size_t seen = 0;

	(void)snprintf(line, sizeof(line), "nm -S %s", whole);
	assert_true(tool_run(&text, line));
	for (char *p = text.s, *save = NULL; (p = strtok_r(p, "\n", &save)); p = NULL) {
		unsigned long long vaddr, size;
		char type, name[128], want[256];
		const struct symbol *sym[3];
		uint64_t addr[3];
		bool named;

		if (sscanf(p, "%llx %llx %c %127s", &vaddr, &size, &type, name) != 4 ||
		    !strchr("TtWw", type))
			continue;
		assert_true(image_from_vaddr(set, im, vaddr, &addr[0]));
		addr[1] = addr[0] + size / 2;
		addr[2] = addr[0] + size - 1;
		image_resolve(set, im, addr, 3, sym);
		assert_non_null(sym[0]);
		assert_ptr_equal(sym[0], sym[1]);
		assert_ptr_equal(sym[0], sym[2]);
		assert_int_equal(sym[0]->start, addr[0]);
		assert_int_equal(sym[0]->size, size);
		named = names && type == 'T';
		assert_int_equal(sym[0]->nameless, !named);
		(void)snprintf(want, sizeof(want), "%s+0x%llx", stripped, vaddr);
		assert_string_equal(sym[0]->name, named ? name : want);
		assert_string_equal(sym[0]->linkage, sym[0]->name);
		seen++;
	}
	assert_int_equal(seen, 5);
	assert_non_null(strstr(image_origin(set, im), "functions from its unwind table"));
	buf_free(&text);
	images_free(set);
}

static void test_bounds(void **state)
{
	static const char functions[] = "cat > b.c <<'END'\n"
					"#include <stdlib.h>\n"
					"__attribute__((noinline)) static int one(int x) { return "
					"x * 3 + (int)random(); }\n"
					"__attribute__((noinline,cold)) static int two(int x) { if "
					"(x > 8) abort(); return one(x); }\n"
					"__attribute__((noinline)) static int three(int x) { "
					"return two(x) + one(x + 1); }\n"
					"int four(int x) { return three(x) + 1; }\n"
					"int five(int x) { return four(x) + three(x); }\n"
					"END\n";
	static const struct {
		const char *cc, *strip, *flags;
	} build[] = {
		{ "gcc", "strip", "" },
		{ "gcc", "strip", "-Wl,--no-eh-frame-hdr" },
		{ "gcc", "strip", "-Wl,-z,noseparate-code -Wl,-Ttext-segment=0x7000000" },
		{ "clang", "strip", "" },
		{ "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-strip", "" },
	};
	char line[512];

	(void)state;
	assert_true(tool_run(NULL, functions));
	for (size_t i = 0; i < 2 * sizeof(build) / sizeof(build[0]); i++) {
		const char *cc = build[i / 2].cc;

		if (!tool_builds(cc) || !tool_have(build[i / 2].strip))
			continue;
		/* what a library exports keeps its name */
		(void)snprintf(line, sizeof(line),
			       "%s -O2 -fPIC -shared -nostartfiles %s %s b.c -o whole && "
			       "cp whole gone && %s -s gone",
			       cc, build[i / 2].flags, i % 2 ? "-fvisibility=hidden" : "",
			       build[i / 2].strip);
		assert_true(tool_run(NULL, line));
		expect_bounds("gone", "whole", !(i % 2));
	}
}

/* ---- a large program ------------------------------------------------------------------- */

/* addr2line reads other tables than we do (DWARF's functions, not the ELF's symbols). */
static void test_against_addr2line(void **state)
{
	struct images *set;
	struct buf in = BUF_INIT, out = BUF_INIT;
	const struct symbol *all, **sym;
	struct err err = ERR_INIT;
	size_t n, count = 0, seen = 0;
	uint64_t *addr, seed = 12345;
	char *q, *save = NULL, big[64];
	const struct elf_sec *code;
	struct file_map map;
	struct elf_file elf;
	uint32_t im;

	(void)state;
	if (!tool_have("addr2line"))
		SKIP_BECAUSE("no addr2line");
	/* this very program, which has debug information and all of the room in it */
	{
		char self[4096], line[8300];
		ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

		assert_true(len > 0);
		self[len] = '\0';
		(void)snprintf(line, sizeof(line), "cp %s big", self);
		assert_true(tool_run(NULL, line));
	}
	set = fresh(NULL);
	im = add_file(set, "big", NULL, 0);
	all = image_symbols(set, im, &n);
	if (!image_debug_file(set, im) || n < 200)
		SKIP_BECAUSE("the file has no debug information or too few symbols");
	(void)snprintf(big, sizeof(big), "%s/big", tool_dir);
	assert_int_equal(file_map_open(&map, big, &err), 0);
	assert_int_equal(elf_file_read(&elf, map.p, map.len, big, &err), 0);
	code = elf_section(&elf, ".text");
	assert_non_null(code);
	addr = calloc(1000, sizeof(*addr));
	sym = calloc(1000, sizeof(*sym));
	assert_true(addr && sym);
	for (size_t i = 0; i < 1000; i++) {
		const struct symbol *s;
		uint64_t vaddr;

		do {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			s = &all[(seed >> 33) % n];
			/* C++ is a sanitizer's runtime, with several names for one place */
		} while (s->size < 4 || s->size > 100000 || strchr(s->linkage, '@') ||
			 !strncmp(s->linkage, "_Z", 2) ||
			 !image_to_vaddr(set, im, s->start, &vaddr) || vaddr < code->addr ||
			 vaddr - code->addr >= code->size);
		vaddr += (seed >> 20) % s->size;
		assert_true(image_from_vaddr(set, im, vaddr, &addr[i]));
		buf_printf(&in, "%llx\n", (unsigned long long)vaddr);
	}
	assert_true(tool_feed(&out, in.s,
			      "addr2line -e big -f -s -i -a | "
			      "awk '/^0x/ { if (f) print f; next } "
			      "{ f = $1; getline; if (/^[?]/) f = \"??\" } "
			      "END { print f }'"));
	for (q = strtok_r(out.s, "\n", &save); q; q = strtok_r(NULL, "\n", &save)) {
		uint64_t one = addr[count++];
		const struct symbol *s;
		size_t len;

		image_resolve(set, im, &one, 1, &s);
		assert_non_null(s);
		if (!strcmp(q, "??") || *q == '$')
			continue; /* data, code without debug information, AArch64's marks */
		/* "f.cold" and "f.localalias" are of f, whichever of the two says so */
		len = strcspn(q, ".");
		if (strncmp(s->linkage, q, len) != 0 || (s->linkage[len] && s->linkage[len] != '.'))
			fail_msg("%s is %s by addr2line", s->linkage, q);
		seen++;
	}
	assert_int_equal(count, 1000);
	assert_true(seen > 300);
	elf_file_free(&elf);
	file_map_close(&map);
	free(addr);
	free(sym);
	buf_free(&in);
	buf_free(&out);
	images_free(set);
}

/* ---- what is no file ------------------------------------------------------------------- */

/* Linkers make ids of 8 bytes, too (--build-id=fast); recordings fill them up to 20. */
static void test_short_build_id(void **state)
{
	uint8_t id[20] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };

	(void)state;
	assert_true(tool_run(NULL, program));
	assert_true(tool_run(NULL, "gcc -O2 -Wl,--build-id=0x1122334455667788 a.c -o short"));
	expect(NULL, "short", id, 8, "inner", "build-id verified", false);
	expect(NULL, "short", id, 20, "inner", "build-id verified", false);
	id[7]++;
	expect(NULL, "short", id, 8, "none", "has build-id 1122334455667788", true);
	id[7]--;
	id[8]++;
	expect(NULL, "short", id, 20, "none", "has build-id 1122334455667788", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),		  cmocka_unit_test(test_labels),
		cmocka_unit_test(test_which_file),	  cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_minidebug),	  cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_against_addr2line), cmocka_unit_test(test_short_build_id),
	};

	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
