/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's list of symbols: known content, and this machine's own, where it shows its
 * addresses, against sscanf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../skip.h"
#include "base/file_in.h"
#include "symbol/image/kallsyms.h"

static void lines_are_read(void **state)
{
	char text[] = "ffffffff81000000 T _text\n"
		      "ffffffff81000000 T startup_64\n"
		      "ffffffff82000000 D data_thing\n"
		      "ffffffff81000400 t helper\n"
		      "ffffffffc0201000 t init\t[nfs]\n"
		      "ffffffff81000200 W weak\n"
		      "ffffffff81000300 t $x\n"
		      "ffffffff8100030 nonsense\n"
		      "ffffffff81000500 T cut";
	struct kallsyms k;

	(void)state;
	kallsyms_parse(&k, text, sizeof(text) - 1);
	assert_int_equal(k.n, 5);
	assert_int_equal(k.n_data, 1);
	assert_int_equal(k.n_bad, 2);
	assert_false(k.hidden);
	assert_null(kallsyms_find(&k, 0xffffffff80ffffff));
	assert_string_equal(k.sym[0].name, "_text");
	assert_string_equal(k.sym[1].name, "startup_64");
	assert_string_equal(kallsyms_find(&k, 0xffffffff810003ff)->name, "weak");
	assert_int_equal(kallsyms_find(&k, 0xffffffff81000200)->type, 'W');
	assert_string_equal(kallsyms_find(&k, 0xffffffff81000400)->name, "helper");
	assert_null(kallsyms_find(&k, 0xffffffff81000400)->module);
	assert_string_equal(kallsyms_find(&k, 0xffffffffffffffff)->name, "init");
	assert_string_equal(kallsyms_find(&k, 0xffffffffffffffff)->module, "[nfs]");
	kallsyms_free(&k);
}

static void hidden_addresses_are_noticed(void **state)
{
	char hidden[] = "0000000000000000 T _text\n0000000000000000 D x\n";
	char percpu[] = "0000000000000000 D x\nffffffff81000000 T _text\n";
	char none[] = "";
	struct kallsyms k;

	(void)state;
	kallsyms_parse(&k, hidden, sizeof(hidden) - 1);
	assert_true(k.hidden);
	kallsyms_free(&k);
	kallsyms_parse(&k, percpu, sizeof(percpu) - 1);
	assert_false(k.hidden);
	kallsyms_free(&k);
	kallsyms_parse(&k, none, 0);
	assert_false(k.hidden);
	assert_int_equal(k.n, 0);
	kallsyms_free(&k);
}

static void this_kernels_list_reads_the_same_by_sscanf(void **state)
{
	struct buf text = BUF_INIT;
	struct kallsyms k;
	char line[1024];
	size_t n = 0;
	FILE *f = fopen("/proc/kallsyms", "r");

	(void)state;
	if (!f || file_slurp(&text, "/proc/kallsyms", 256u << 20, NULL) || !text.len) {
		if (f)
			(void)fclose(f);
		SKIP_BECAUSE("/proc/kallsyms cannot be read");
	}
	kallsyms_parse(&k, text.s, text.len);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long addr;
		char type, name[600];
		const struct kallsyms_sym *s;

		if (sscanf(line, "%llx %c %599[^\t\n]", &addr, &type, name) != 3 ||
		    !strchr("tTwW", type) || name[0] == '$')
			continue;
		n++;
		if (k.hidden)
			continue;
		s = kallsyms_find(&k, addr);
		assert_non_null(s);
		assert_int_equal(s->addr, addr);
		/* one of those at this address has the name */
		while (s > k.sym && s->addr == addr && strcmp(s->name, name) != 0)
			s--;
		assert_string_equal(s->name, name);
	}
	assert_int_equal(k.n, n);
	assert_int_equal(k.n_bad, 0);
	(void)fclose(f);
	kallsyms_free(&k);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read),
		cmocka_unit_test(hidden_addresses_are_noticed),
		cmocka_unit_test(this_kernels_list_reads_the_same_by_sscanf),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
