/* SPDX-License-Identifier: BSD-3-Clause */
/* The command that records once more: from command lines as cyclade and perf keep them. */
#include "analyse/again.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 24

/* `said` split at blanks; "" is none. */
static bool of(const char *said, const char *with, bool same, char *out, size_t size)
{
	char text[4096];
	const char *word[WORDS];
	struct pd_info info = { .cmdline = word };
	struct buf b = BUF_INIT;
	char *save, *w;
	bool known;

	(void)snprintf(text, sizeof(text), "%s", said);
	for (w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(info.n_cmdline < WORDS);
		word[info.n_cmdline++] = w;
	}
	known = again_put(&b, &info, with, same);
	(void)snprintf(out, size, "%s", buf_str(&b));
	buf_free(&b);
	return known;
}

static void check(const char *said, const char *with, bool same, const char *want)
{
	char got[4096];

	assert_true(of(said, with, same, got, sizeof(got)));
	assert_string_equal(got, want);
}

static void unknown(const char *said)
{
	char got[4096];

	assert_false(of(said, "-b", false, got, sizeof(got)));
	assert_string_equal(got, "cyclade record -b -- ./prog");
}

static void test_programs(void **state)
{
	(void)state;
	check("/usr/bin/cyclade record -- ./prog 1 -a", "-g", false,
	      "cyclade record -g -- ./prog 1 -a");
	check("cyclade record ./prog -p 7", "-g", false, "cyclade record -g -- ./prog -p 7");
	check("cyclade run -o x.txt --data d ./prog", "--wait", false,
	      "cyclade record --wait -- ./prog");
	check("perf record -F 99 -g -o x sleep 1", "-b", false, "cyclade record -b -- sleep 1");
	check("perf record --call-graph dwarf,4096 sleep 1", "-b", false,
	      "cyclade record -b -- sleep 1");
	/* commands that record have options of their own; the others' are those of record */
	check("perf mem record -t load ./p", "--mem", false, "cyclade record --mem -- ./p");
	check("perf mem record -p --ldlat 30 ./p", "--mem", false, "cyclade record --mem -- ./p");
	check("perf mem -t load record ./p", "--mem", false, "cyclade record --mem -- ./p");
	check("perf mem --type=store -p -D record -a", "--mem", false, "cyclade record --mem -a");
	check("perf kvm --host record -p 12", "-g", false, "cyclade record -g -p 12");
	unknown("perf mem -t record ./p");
	unknown("perf mem --buildid-dir x record ./p");
	check("perf mem record --type load ./p", "--mem", false, "cyclade record --mem -- ./p");
	check("perf c2c record -u -k -l 30 -p 12", "--mem", false, "cyclade record --mem -p 12");
	check("perf sched record -t 12", "--wait", false, "cyclade record --wait -t 12");
	check("perf record -z3 -j any,u --synth no ./p;q", "", false, "cyclade record -- './p;q'");
	/* values of `run`, flags of record */
	check("cyclade record --data ./p", "-g", false, "cyclade record -g -- ./p");
	check("perf record --data --latency ./p", "-g", false, "cyclade record -g -- ./p");
	check("cyclade run --latency off ./p", "-g", false, "cyclade record -g -- ./p");
	check("perf record --off-cpu --off-cpu-thresh 9 --setup-filter x ./p", "-g", false,
	      "cyclade record -g -- ./p");
	check("perf record --pfm-events cycles ./p", "-g", false, "cyclade record -g -- ./p");
	/* a program's path stands for `run`; what follows is its own */
	check("cyclade ./prog 12", "-g", false, "cyclade record -g -- ./prog 12");
	check("cyclade ./prog record -a -p 7", "-b", false,
	      "cyclade record -b -- ./prog record -a -p 7");
	check("cyclade prog.sh x run -e y", "-b", true, "cyclade record -b -- prog.sh x run -e y");
	/* cyclade's -j has no value */
	check("cyclade run -j ./p", "-g", false, "cyclade record -g -- ./p");
	check("/usr/lib/linux-tools/perf_6.1 record -ga -- ./p", "-g", false,
	      "cyclade record -g -a -- ./p");
}

static void test_who(void **state)
{
	(void)state;
	check("cyclade record -a --for 50ms", "-g", false, "cyclade record -g -a --for 50ms");
	check("perf record --all-cpus sleep 1", "-g", false,
	      "cyclade record -g --all-cpus -- sleep 1");
	check("perf record -p 12", "-b", false, "cyclade record -b -p 12");
	check("perf record -p12", "-b", false, "cyclade record -b -p 12");
	check("perf record --pid=12", "-b", false, "cyclade record -b --pid 12");
	check("perf record --pid 12", "-b", false, "cyclade record -b --pid 12");
	check("cyclade record -gdwarf -t 3,4", "-b", false, "cyclade record -b -t 3,4");
	check("cyclade record -u mail -C0-3", "-b", false, "cyclade record -b -u mail -C 0-3");
	check("cyclade record -ag", "-b", false, "cyclade record -b -a");
	/* letters behind -g are its value only if they can be */
	check("cyclade record -gaF99", "-b", false, "cyclade record -b -a");
	check("cyclade record -gdwarf -a", "-b", false, "cyclade record -b -a");
	check("cyclade record -g=dwarf -ap7", "-b", false, "cyclade record -b -a -p 7");
	/* a value that looks like an option is none */
	check("cyclade record -o -a ./p", "-b", false, "cyclade record -b -- ./p");
	/* another machine's files and model stay */
	check("cyclade record --sysroot /s --model skx ./p", "-b", false,
	      "cyclade record -b --sysroot /s --model skx -- ./p");
}

static void test_events(void **state)
{
	(void)state;
	check("cyclade record -e page-faults -c 1 -d ./p", "-g", true,
	      "cyclade record -g -e page-faults -c 1 -- ./p");
	check("perf record -ecycles:u -F99 ./p", "-g", true,
	      "cyclade record -g -e cycles:u -F 99 -- ./p");
	check("perf record -e cycles -F 99 ./p", "-F 10000", true,
	      "cyclade record -F 10000 -e cycles -- ./p");
	/* perf's "as often as may be" */
	check("perf record -F max -e cycles ./p", "-g", true, "cyclade record -g -e cycles -- ./p");
	check("perf record --freq=max ./p", "-g", true, "cyclade record -g -- ./p");
	check("perf record --pfm-events=cycles,inst ./p", "-g", true,
	      "cyclade record -g -e cycles,inst -- ./p");
	check("cyclade record --account ./p", "-g", true, "cyclade record -g --account -- ./p");
	check("cyclade record --mem=loads ./p", "-g", true, "cyclade record -g --mem=loads -- ./p");
	check("cyclade record --mem=loads ./p", "-g", false, "cyclade record -g -- ./p");
	check("cyclade record --event=a,b --freq=7 ./p", "-g", true,
	      "cyclade record -g --event a,b --freq 7 -- ./p");
}

static void test_unknown(void **state)
{
	char many[1200];

	(void)state;
	unknown("");
	unknown("perf");
	unknown("perf script -i x");
	unknown("cyclade top");
	unknown("cyclade top record -a");
	unknown("cyclade record");
	unknown("cyclade record -p");
	unknown("perf record -F 99");
	unknown("cyclade record -- ./a\033[31m"); /* cannot be typed */
	memset(many, 'x', sizeof(many));
	memcpy(many, "cyclade record ", 15);
	many[sizeof(many) - 1] = '\0';
	unknown(many);
}

/* `said` split at blanks. */
static bool starts(const char *said)
{
	char text[256], *save, *w;
	const char *word[WORDS];
	struct pd_info info = { .cmdline = word };

	(void)snprintf(text, sizeof(text), "%s", said);
	for (w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		word[info.n_cmdline++] = w;
	return again_starts(&info);
}

/* Variables in front of the command reach the recorded program. */
static void test_starts(void **state)
{
	(void)state;
	assert_true(starts("cyclade record ./p"));
	assert_true(starts("cyclade run --no-tree -- node x.js -p 3"));
	assert_true(starts("perf record -g -F 99 ./p"));
	assert_false(starts("cyclade record -p 12"));
	assert_false(starts("cyclade record -p 12 -- sleep 5"));
	assert_false(starts("perf record -a sleep 5"));
	assert_false(starts("cyclade record"));
	assert_false(starts("perf"));
	assert_false(starts(""));
}

static void test_branches(void **state)
{
	struct pd_info info = { .cpuid = NULL };

	(void)state;
	assert_string_equal(again_branches(&info, AGAIN_TAKEN), "-b");
	info.cpuid = "AuthenticAMD,25,17,1";
	assert_non_null(strstr(again_branches(&info, AGAIN_TAKEN), "ex_ret_brn_tkn"));
	assert_non_null(strstr(again_branches(&info, AGAIN_RETURNS), "ex_ret_near_ret"));
	info.cpuid = "GenuineIntel,6,143,8";
	assert_non_null(strstr(again_branches(&info, AGAIN_RETURNS), "near_return"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs), cmocka_unit_test(test_who),
		cmocka_unit_test(test_events),	 cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_branches), cmocka_unit_test(test_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
