/* SPDX-License-Identifier: BSD-3-Clause */
/* PLT names against objdump; packed and split symbols; broken files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/xalloc.h"
#include "config.h"
#include "symbol/dwarf/cfi.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/elf_unpack.h"
#include "symbol/elf_file.h"
#include "tool.h"

struct loaded {
	struct file_map map;
	struct elf_file elf;
	struct sym_list list;
	struct sym_table table;
};

static void load(struct loaded *x, const char *name, bool dynamic)
{
	const struct addr_map vaddr = { NULL, 0, 0 };
	struct err err = ERR_INIT;
	char path[256];

	memset(x, 0, sizeof(*x));
	(void)snprintf(path, sizeof(path), "%s/%s", tool_dir, name);
	assert_int_equal(file_map_open(&x->map, path, &err), 0);
	assert_int_equal(elf_file_read(&x->elf, x->map.p, x->map.len, path, &err), 0);
	elf_symbols_read(&x->list, &x->elf, dynamic, &vaddr);
	elf_plt_read(&x->list, &x->elf, &vaddr);
	sym_table_make(&x->table, &x->list, false);
}

static void unload(struct loaded *x)
{
	sym_table_free(&x->table);
	sym_list_free(&x->list);
	elf_file_free(&x->elf);
	file_map_close(&x->map);
}

static const char source[] =
	"cat > p.c <<'END'\n"
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"
	"typedef void *(*fn)(size_t);\n"
	"fn take(void) { return malloc; }\n"
	"int main(int c, char **v) { void *p = take()(8); p = realloc(p, 16 + (size_t)c);\n"
	"if (p) memset(p, c, 16); puts(v[0]); printf(\"%f\\n\", cos(c)); free(p); malloc(4);\n"
	"return atoi(v[0]); }\n"
	"END\n";

/* Every "<name@plt>:" label of objdump is a symbol of ours at that address, and the reverse. */
static void check_plt(const char *objdump, const char *file, size_t at_least)
{
	struct buf text = BUF_INIT;
	struct loaded x;
	char line[256];
	size_t seen = 0, ours = 0, hint = 0;

	(void)snprintf(line, sizeof(line), "%s -d %s | grep '@plt>:'", objdump, file);
	assert_true(tool_run(&text, line));
	load(&x, file, false);
	for (char *p = text.s, *save = NULL; (p = strtok_r(p, "\n", &save)); p = NULL) {
		unsigned long long vaddr;
		char name[128];
		const struct symbol *s;

		assert_int_equal(sscanf(p, "%llx <%127[^>]>:", &vaddr, name), 2);
		s = sym_table_find(&x.table, vaddr, &hint);
		assert_non_null(s);
		assert_string_equal(s->linkage, name);
		assert_int_equal(s->start, vaddr);
		assert_ptr_equal(sym_table_find(&x.table, vaddr + 7, &hint), s);
		seen++;
	}
	for (size_t i = 0; i < x.table.n; i++)
		ours += strstr(x.table.sym[i].linkage, "@plt") != NULL;
	assert_true(seen >= at_least);
	assert_int_equal(ours, seen);
	unload(&x);
	buf_free(&text);
}

static void test_plt(void **state)
{
	static const struct {
		const char *cc, *flags, *objdump;
	} row[] = {
		{ "gcc", "-no-pie", "objdump" },
		{ "gcc", "-pie -fPIE", "objdump" },
		{ "gcc", "-pie -fPIE -fcf-protection=full -Wl,-z,ibtplt", "objdump" },
		{ "gcc", "-pie -fPIE -Wl,-z,now", "objdump" },
		{ "gcc", "-shared -fPIC", "objdump" },
		{ "clang", "-fuse-ld=lld", "objdump" },
		{ "aarch64-linux-gnu-gcc", "-pie -fPIE", "aarch64-linux-gnu-objdump" },
		{ "aarch64-linux-gnu-gcc", "-mbranch-protection=standard -Wl,-z,force-bti",
		  "aarch64-linux-gnu-objdump" },
	};
	char line[512];

	(void)state;
	assert_true(tool_run(NULL, source));
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (!tool_builds(row[i].cc) || !tool_have(row[i].objdump))
			continue;
		(void)snprintf(line, sizeof(line),
			       "%s -O1 -fno-builtin p.c -o plt %s -lm 2>/dev/null", row[i].cc,
			       row[i].flags);
		/* a linker that is not here, or does not know the option */
		if (!tool_run(NULL, line) && i > 2)
			continue;
		/* objdump 2.44 has labels each 16 bytes, where stubs with bti have 24 */
		(void)snprintf(line, sizeof(line),
			       "%s -d plt | awk '/@plt>:/ { n++; getline; bti += /bti/ } "
			       "END { exit bti && n != bti }'",
			       row[i].objdump);
		if (!tool_run(NULL, line))
			continue;
		check_plt(row[i].objdump, "plt", 6);
	}
}

static void test_minidebug(void **state)
{
	const struct addr_map vaddr = { NULL, 0, 0 };
	struct err err = ERR_INIT;
	struct elf_file inner;
	struct loaded x, whole;
	uint8_t *p;
	size_t len;

	(void)state;
	if (!HAVE_LZMA)
		SKIP_BECAUSE("built without liblzma");
	if (!tool_have("xz"))
		SKIP_BECAUSE("no xz");
	assert_true(tool_run(NULL, source));
	assert_true(tool_run(NULL, "gcc -O1 p.c -o full -lm 2>/dev/null && cp full mini.sym && "
				   "strip -g mini.sym && xz -k mini.sym && cp full packed && "
				   "strip -s packed && objcopy --add-section "
				   ".gnu_debugdata=mini.sym.xz packed"));
	load(&whole, "full", false);
	load(&x, "packed", false);
	assert_true(x.table.n < whole.table.n);
	assert_null(elf_minidebug(&x.elf, &p, &len));
	assert_non_null(p);
	assert_int_equal(elf_file_read(&inner, p, len, "inner", &err), 0);
	sym_table_free(&x.table);
	elf_symbols_read(&x.list, &inner, false, &vaddr);
	sym_table_make(&x.table, &x.list, false);
	for (size_t i = 0, hint = 0; i < whole.table.n; i++) {
		const struct symbol *want = &whole.table.sym[i];
		const struct symbol *s = sym_table_find(&x.table, want->start, &hint);

		assert_non_null(s);
		assert_string_equal(s->linkage, want->linkage);
	}
	elf_file_free(&inner);
	free(p);
	unload(&x);
	unload(&whole);
}

/* Stripped and static: no symbol at all, but bounds of functions by the unwind table. */
static void test_bare(void **state)
{
	const struct addr_map vaddr = { NULL, 0, 0 };
	struct loaded x;

	(void)state;
	assert_true(tool_run(
		NULL, "echo 'void _start(void){for(;;);}' > s.c && gcc -O1 -static -nostdlib "
		      "-fasynchronous-unwind-tables s.c -o bare && strip -s bare"));
	load(&x, "bare", false);
	assert_int_equal(x.list.raw.n, 0);
	sym_table_free(&x.table);
	elf_bounds_read(&x.list, &x.elf, &vaddr);
	sym_table_make(&x.table, &x.list, false);
	assert_int_equal(x.table.n, 1);
	assert_true(x.table.sym[0].nameless);
	unload(&x);
}

/* ---- symbols at one address ------------------------------------------------------------------ */

struct at_one {
	const char *def[4]; /* what the assembler gets for each symbol, in every order */
	const char *want;   /* over the whole of the code */
	bool addr2line;	    /* it is a referee: it knows sizes, no bindings */
};

#define FUNCTION(name) ".type " name ", %function\n"
#define SIZED(name)    ".size " name ", 32\n"
#define LABEL(name)    name " = here\n"
#define GLOBAL(name)   ".globl " name "\n"

static const struct at_one at_one[] = {
	{ { LABEL("code_begin") GLOBAL("code_begin"),
	    LABEL("first_1") FUNCTION("first_1") SIZED("first_1"),
	    LABEL("code_end") GLOBAL("code_end") },
	  "first_1",
	  true },
	{ { LABEL("marker") GLOBAL("marker"), LABEL("entry") FUNCTION("entry"),
	    LABEL("zz_marker") },
	  "entry",
	  false },
	{ { LABEL("local") FUNCTION("local") SIZED("local"),
	    LABEL("global") GLOBAL("global") FUNCTION("global") SIZED("global"),
	    LABEL("weak_one") ".weak weak_one\n" FUNCTION("weak_one") SIZED("weak_one") },
	  "global",
	  false },
	{ { LABEL("table") GLOBAL("table") ".type table, %object\n" SIZED("table"),
	    LABEL("code") FUNCTION("code") SIZED("code") },
	  "code",
	  true },
	{ { LABEL("small_part") GLOBAL("small_part") FUNCTION("small_part") ".size small_part, 8\n",
	    LABEL("all") GLOBAL("all") FUNCTION("all") SIZED("all") },
	  "all",
	  false },
	{ { LABEL("__copy") GLOBAL("__copy") FUNCTION("__copy") SIZED("__copy"),
	    LABEL("copy") GLOBAL("copy") FUNCTION("copy") SIZED("copy"),
	    LABEL("copx") GLOBAL("copx") FUNCTION("copx") SIZED("copx"),
	    LABEL("_copies") GLOBAL("_copies") FUNCTION("_copies") SIZED("_copies") },
	  "copx",
	  false },
	{ { LABEL("label_b") GLOBAL("label_b"), LABEL("label_a") GLOBAL("label_a"),
	    LABEL("label") GLOBAL("label"), LABEL("longer_label") },
	  "label_a",
	  false },
};

static size_t n_defs(const struct at_one *c)
{
	size_t n = 0;

	while (n < 4 && c->def[n])
		n++;
	return n;
}

/* One file for `order`, the digits of which take definitions away from those that are left. */
static void write_defs(const struct at_one *c, size_t order)
{
	const char *left[4];
	size_t n = n_defs(c);
	FILE *f;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/one.s", tool_dir);
	f = fopen(path, "w");
	assert_non_null(f);
	memcpy(left, c->def, sizeof(left));
	(void)fputs(".text\n.type before, %function\nbefore: .skip 16, 0x90\n"
		    ".size before, 16\nhere = .\n",
		    f);
	for (; n; n--) {
		size_t at = order % n;

		order /= n;
		(void)fputs(left[at], f);
		memmove(left + at, left + at + 1, (n - at - 1) * sizeof(*left));
	}
	/* "here" itself is no symbol of the file */
	(void)fputs(".skip 32, 0x90\n.globl after\n.type after, %function\nafter: ret\n"
		    ".size after, 1\n",
		    f);
	assert_int_equal(fclose(f), 0);
}

static void test_at_one(void **state)
{
	(void)state;
	if (!tool_have("as") || !tool_have("addr2line"))
		SKIP_BECAUSE("no binutils");
	for (size_t i = 0; i < sizeof(at_one) / sizeof(*at_one); i++) {
		size_t orders = 1;

		for (size_t n = n_defs(&at_one[i]); n > 1; n--)
			orders *= n;
		for (size_t order = 0; order < orders; order++) {
			struct buf text = BUF_INIT;
			struct loaded x;

			write_defs(&at_one[i], order);
			assert_true(tool_run(NULL, "as one.s -o one.o && strip -N here one.o && "
						   "ld -Ttext 0x10000 -e after one.o -o one"));
			load(&x, "one", false);
			for (uint64_t off = 16; off < 48; off++) {
				size_t hint = 0;
				const struct symbol *s =
					sym_table_find(&x.table, 0x10000 + off, &hint);

				assert_non_null(s);
				if (strcmp(s->linkage, at_one[i].want) != 0)
					fail_msg("order %zu at %d: %s, not %s", order, (int)off,
						 s->linkage, at_one[i].want);
			}
			unload(&x);
			if (!at_one[i].addr2line)
				continue;
			assert_true(tool_run(&text, "addr2line -f -e one 0x10020"));
			assert_int_equal(strncmp(text.s, at_one[i].want, strlen(at_one[i].want)),
					 0);
			buf_free(&text);
		}
	}
}

/* Versions of one name that share their code, as a library's .symtab has them. */
static void test_versions(void **state)
{
	static const struct {
		const char *one, *other, *want;
	} row[] = {
		{ "pthread_sigmask@GLIBC_2.2.5", "pthread_sigmask@@GLIBC_2.32",
		  "pthread_sigmask@@GLIBC_2.32" },
		{ "f@GLIBC_2.2.5", "f@@V2", "f@@V2" }, /* though it is shorter */
		{ "__f@V1", "__f@@V2", "__f@@V2" },
		{ "f@@V2", "longer@V1", "longer@V1" }, /* other names: by their lengths */
		{ "_f@@V1", "f@V1", "f@V1" },
		{ "f@V1", "f@V2", "f@V1" },
		{ "f", "f@@V1", "f@@V1" },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(row) / sizeof(*row); i++) {
		struct sym_list l = SYM_LIST_INIT;
		struct sym_table t;

		for (size_t k = 0; k < 2; k++)
			vec_xpush(&l.raw,
				  ((struct raw_sym){ .start = 4096,
						     .size = 16,
						     .bind = RAW_GLOBAL,
						     .kind = RAW_FUNCTION,
						     .name = (i ^ k) & 1 ? row[i / 2].one
									 : row[i / 2].other }));
		sym_table_make(&t, &l, false);
		assert_int_equal(t.n, 1);
		assert_string_equal(t.sym[0].linkage, row[i / 2].want);
		sym_table_free(&t);
		sym_list_free(&l);
	}
}

/* Cut at every length, and with every byte of the head and the section table turned over: an answer
 * or a refusal, never more (the sanitizers watch). */
static void test_broken(void **state)
{
	const struct addr_map vaddr = { NULL, 0, 0 };
	struct loaded x;

	(void)state;
	assert_true(tool_run(NULL, "echo 'int main(void){return 0;}' > t.c && gcc t.c -o t && "
				   "objcopy -R .debug_info t"));
	load(&x, "t", false);
	for (size_t i = 0; i < x.map.len; i += i < 256 ? 1 : 97) {
		size_t tail = x.map.len - (i % x.map.len) - 1;
		uint8_t *copy = malloc(x.map.len);

		assert_non_null(copy);
		for (int way = 0; way < 3; way++) {
			size_t len = way ? x.map.len : i + 1;
			struct sym_list l = SYM_LIST_INIT;
			struct sym_table t = { NULL, 0 };
			struct err err = ERR_INIT;
			struct elf_file f;
			uint32_t crc;
			const uint8_t *id;

			memcpy(copy, x.map.p, x.map.len);
			if (way)
				copy[way == 1 ? i : tail] ^= 0xff;
			if (!elf_file_read(&f, copy, len, "broken", &err)) {
				elf_symbols_read(&l, &f, false, &vaddr);
				elf_plt_read(&l, &f, &vaddr);
				sym_table_make(&t, &l, false);
				(void)elf_build_id(&f, &id);
				(void)elf_debuglink(&f, &crc);
				elf_file_free(&f);
			}
			sym_table_free(&t);
			sym_list_free(&l);
		}
		free(copy);
	}
	unload(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plt),	 cmocka_unit_test(test_minidebug),
		cmocka_unit_test(test_bare),	 cmocka_unit_test(test_at_one),
		cmocka_unit_test(test_versions), cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
