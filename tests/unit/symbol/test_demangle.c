/* SPDX-License-Identifier: BSD-3-Clause */
/* Demangled names against c++filt, and names made to hurt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "config.h"
#include "symbol/demangle.h"
#include "tool.h"

static const char *const names[] = {
	"main",
	"_start",
	"_",
	"__libc_start_main",
	"_ZN3foo3barEi",
	"_ZNSt6vectorIiSaIiEE9push_backEOi",
	("_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiSt4lessIS5_"
	 "ESaISt4pairIKS5_"
	 "iEEE4findERS9_"),
	"_ZN1AC1Ev",
	"_ZN1AD0Ev",
	"_ZTV3foo",
	"_ZGVZ3foovE1x",
	"_Z3fooIiEvT_.constprop.0",
	"_Z3foov.cold",
	"_Z3foov.isra.0.part.1",
	"_ZN3foo3barEv.llvm.1234567",
	"_ZZN3foo3barEvENKUlvE_clEv",
	"_ZN9__gnu_cxx13new_allocatorIcE8allocateEmPKv",
	"_ZplRK1AS1_",
	"_ZlsRSoRK1A",
	"_ZNKSt8functionIFvvEEclEv",
	"_ZN12_GLOBAL__N_13barEv",
	"_ZNHere is nothing",
	"_Z",
	"_ZN",
	/* Rust, old and new */
	"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
	"_ZN71_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h8f3c1cb8ca2f6b0dE",
	"_RNvNtCs1234_7mycrate3foo3bar",
	"_RNvC6_123foo3bar",
	"_RINvNtC3std3mem8align_ofjdE",
	"_RNCNvCsbmNqQUJIY6D_4core3foo0B3_",
	"_R",
	/* D */
	"_D3std5stdio4File5writeMFAyaZv",
	"_D4test3fooFZv",
	"_D",
	"_DYNAMIC",
};

/* One name a line in, one name a line out. */
static char *referee(const char *in, const char *how, struct buf *out)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "c++filt -p -i %s", how);
	assert_true(tool_feed(out, in, line));
	return out->s;
}

static const char *style_of(const char *name)
{
	return name[0] == '_' && name[1] == 'D' ? "-s dlang" : "";
}

static void test_against_cxxfilt(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	if (!HAVE_IBERTY)
		SKIP_BECAUSE("built without libiberty");
	if (!tool_have("c++filt"))
		SKIP_BECAUSE("no c++filt");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct buf in = BUF_INIT, out = BUF_INIT;
		const char *ours = demangle(&a, names[i]);

		buf_printf(&in, "%s\n", names[i]);
		buf_printf(&out, "%s", "");
		(void)referee(in.s, style_of(names[i]), &out);
		assert_true(out.len > 0);
		out.s[out.len - 1] = '\0';
		/* the referee knows no end of a name but a space */
		if (!strchr(names[i], ' '))
			assert_string_equal(ours, out.s);
		buf_free(&in);
		buf_free(&out);
	}
	arena_free(&a);
}

/* All names of a big C++ library, in one go. */
static void test_a_library(void **state)
{
	struct buf in = BUF_INIT, out = BUF_INIT;
	struct arena a = ARENA_INIT;
	char *p, *q, *save_p = NULL, *save_q = NULL;
	size_t n = 0, changed = 0;

	(void)state;
	if (!HAVE_IBERTY)
		SKIP_BECAUSE("built without libiberty");
	if (!tool_have("c++filt") || !tool_have("g++"))
		SKIP_BECAUSE("no c++filt or g++");
	if (!tool_run(&in, "nm -D --without-symbol-versions --defined-only "
			   "$(g++ -print-file-name=libstdc++.so.6) | cut -d' ' -f3") ||
	    !in.len)
		SKIP_BECAUSE("libstdc++ has no names to read");
	(void)referee(in.s, "", &out);
	for (p = strtok_r(in.s, "\n", &save_p), q = strtok_r(out.s, "\n", &save_q); p && q;
	     p = strtok_r(NULL, "\n", &save_p), q = strtok_r(NULL, "\n", &save_q)) {
		const char *ours = demangle(&a, p);

		assert_string_equal(ours, q);
		changed += strcmp(ours, p) != 0;
		n++;
	}
	assert_true(!p && !q);
	assert_true(n > 3000 && changed > 3000);
	arena_free(&a);
	buf_free(&in);
	buf_free(&out);
}

/* Names as compilers of Debian 12 wrote them; NULL: left as it is. */
static void test_other_languages(void **state)
{
	static const struct {
		const char *name, *want;
	} row[] = {
		/* OCaml 4.13, 5.1 */
		{ "camlO__fib$27_81", "O.fib'_81" },
		{ "camlO__$2b$21_83", "O.+!_83" },
		{ "camlStdlib__List__fold_left_340", "Stdlib.List.fold_left_340" },
		{ "camlStdlib__List.map_297", "Stdlib.List.map_297" },
		{ "camlO__entry", "O.entry" },
		{ "camlO__odd$zz_1$2", "O.odd$zz_1$2" },
		{ "camlO__zero$00_1", "O.zero$00_1" },
		{ "caml_call_gc", NULL },
		{ "caml", NULL },
		{ "camlo", NULL },
		/* gfortran */
		{ "__my_solver_MOD_fib", "my_solver::fib" },
		{ "__my_solver_MOD_fib.constprop.0", "my_solver::fib.constprop.0" },
		{ "__my_solver_MOD_fib@plt", "my_solver::fib@plt" },
		{ "MAIN__", NULL },
		{ "__KERNEL_MOD_x", NULL },
		{ "___MOD_", NULL },
		{ "__a_MOD_", NULL },
		/* Free Pascal */
		{ "P$PROG_$$_FIB$LONGINT$$LONGINT", "PROG.FIB" },
		{ "P$PROG_$$_PLAIN", "PROG.PLAIN" },
		{ "P$PROG$_$TFOO_$__$$_WORK$LONGINT$$LONGINT", "PROG.TFOO.WORK" },
		{ "P$PROG$_$FIB$LONGINT$$LONGINT_$$_INNER$LONGINT$SHORTSTRING", "PROG.FIB.INNER" },
		{ "SYSTEM_$$_HALT$LONGINT", "SYSTEM.HALT" },
		{ "PASCALMAIN", NULL },
		{ "FPC_$$_", NULL },
		{ "INIT$_$SYSTEM", NULL },
		/* GNAT */
		{ "_ada_main", "main" },
		{ "ada__text_io__put_line__2", "ada.text_io.put_line.2" },
		{ "system__secondary_stack__ss_allocate", "system.secondary_stack.ss_allocate" },
		{ "system__", NULL },
		{ "pkg__sub", NULL }, /* may be C's */
		{ "address__of", NULL },
		{ "main", NULL },
		{ "c", NULL },
		{ "", NULL },
	};
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		assert_string_equal(demangle(&a, row[i].name),
				    row[i].want ? row[i].want : row[i].name);
	arena_free(&a);
}

static void test_versions(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	assert_string_equal(demangle(&a, "memcpy@@GLIBC_2.14"), "memcpy@@GLIBC_2.14");
	if (!HAVE_IBERTY)
		SKIP_BECAUSE("built without libiberty");
	assert_string_equal(demangle(&a, "_ZN3foo3barEi@@V_1"), "foo::bar@@V_1");
	assert_string_equal(demangle(&a, "_ZN3foo3barEi@plt"), "foo::bar@plt");
	arena_free(&a);
}

static void check_hostile(struct arena *a, const char *name)
{
	struct timespec t0, t1;
	const char *s;

	(void)clock_gettime(CLOCK_MONOTONIC, &t0);
	s = demangle(a, name);
	(void)clock_gettime(CLOCK_MONOTONIC, &t1);
	assert_non_null(s);
	assert_true(strlen(s) <=
		    (strlen(name) > DEMANGLE_OUT_MAX ? strlen(name) : DEMANGLE_OUT_MAX));
	assert_true(t1.tv_sec - t0.tv_sec < 5);
}

static void test_hostile(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;

	(void)state;
	/* each pair of references doubles what is printed */
	buf_puts(&b, "_Z1f1AI");
	for (int i = 0; i < 60; i++)
		buf_printf(&b, "S%c_1BIS%c_S%c_E", i ? 'A' + i % 26 : '0', '0' + i % 10,
			   '0' + i % 10);
	check_hostile(&a, b.s);
	buf_reset(&b);
	buf_puts(&b, "_Z1fISt4pairIiiE");
	for (int i = 0; i < 35; i++)
		buf_printf(&b, "St4pairIS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
			   "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
	buf_puts(&b, "EvT_");
	check_hostile(&a, b.s);
	buf_reset(&b);
	buf_puts(&b, "_RINvC1a1b");
	for (int i = 0; i < 60; i++)
		buf_printf(&b, "TB%c_B%c_E", "abcdefghij"[i % 10], "abcdefghij"[i % 10]);
	buf_puts(&b, "E");
	check_hostile(&a, b.s);
	buf_reset(&b);
	buf_puts(&b, "_Z1f");
	buf_fill(&b, 'P', 60000);
	buf_putc(&b, 'i');
	check_hostile(&a, b.s);
	buf_reset(&b);
	buf_puts(&b, "_D1a");
	for (int i = 0; i < 40; i++)
		buf_puts(&b, "G1HQaQb");
	check_hostile(&a, b.s);
	buf_reset(&b);
	buf_puts(&b, "_ZN");
	buf_fill(&b, '1', 100000);
	check_hostile(&a, b.s);
	assert_ptr_equal(demangle(&a, b.s), b.s);
	buf_free(&b);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_cxxfilt), cmocka_unit_test(test_a_library),
		cmocka_unit_test(test_other_languages), cmocka_unit_test(test_versions),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
