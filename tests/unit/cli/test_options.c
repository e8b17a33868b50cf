/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines, CYCLADE_OPTS and a file's options: what each says is written out by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"
#include "measure/measure_opts.h"

#define WORDS 12

static struct options o;
static struct text_list rest;
static struct arena arena;
static struct err err;

static void begin(void)
{
	arena_free(&arena);
	memset(&o, 0, sizeof(o));
	rest = (struct text_list){ 0 };
	err = (struct err)ERR_INIT;
}

/* Words of a line, parted by single blanks. */
static int more(enum command cmd, const char *line)
{
	static char text[512];
	char *argv[WORDS + 1];
	int argc = 0;

	assert_true(strlen(line) < sizeof(text));
	(void)strncpy(text, line, sizeof(text) - 1);
	for (char *p = *text ? text : NULL; p; argc++) {
		assert_true(argc < WORDS);
		argv[argc] = p;
		p = strchr(p, ' ');
		if (p)
			*p++ = 0;
	}
	argv[argc] = NULL;
	return options_parse(&o, &arena, cmd, argc, argv, &rest, &err);
}

static void parse(enum command cmd, const char *line)
{
	begin();
	if (more(cmd, line))
		fail_msg("%s: %s", line, err.what);
}

static void refused(enum command cmd, const char *line, const char *what, const char *hint)
{
	begin();
	assert_int_equal(more(cmd, line), -1);
	assert_int_equal(err.code, ERR_USAGE);
	if (!strstr(err.what, what))
		fail_msg("%s: \"%s\", not \"%s\"", line, err.what, what);
	if (hint && !strstr(err.hint, hint))
		fail_msg("%s: hint \"%s\", not \"%s\"", line, err.hint, hint);
}

static void env(enum command cmd, const char *text)
{
	assert_int_equal(options_parse_text(&o, &arena, cmd, text, &err), 0);
}

static void set(enum command cmd, const char *name, const char *value, enum option_from from)
{
	const struct option_row *row = option_find(cmd, name);

	assert_non_null(row);
	assert_int_equal(option_set(&o, &arena, cmd, row, value, from, "file:1", &err), 0);
}

/* ---- units ----------------------------------------------------------------------------------- */

static void units(void **state)
{
	(void)state;
	parse(CMD_RECORD, "-F 20k -D 150 --for 2m -m 64 --warmup=3");
	assert_int_equal(o.measure.freq, 20000);
	assert_int_equal(o.measure.delay, 150000000);
	assert_int_equal(o.measure.for_time, 120000000000);
	assert_int_equal(o.measure.mmap_pages, 64);
	assert_int_equal(o.measure.warmup, 3);
	parse(CMD_RECORD, "-D 2s --for=10ms --stack-size 4k");
	assert_int_equal(o.measure.delay, 2000000000);
	assert_int_equal(o.measure.for_time, 10000000);
	assert_int_equal(o.stack_size, 4096);
	parse(CMD_REPORT, "--min 2.5");
	assert_true(fabs(o.min - 2.5) < 1e-12);
	parse(CMD_SQL, "--memory 2G --timeout 90s");
	assert_int_equal(o.memory, UINT64_C(2) << 30);
	assert_int_equal(o.timeout, 90000000000);
	refused(CMD_RECORD, "--for 5", "--for", NULL); /* of what? */
	refused(CMD_RECORD, "-F many", "--freq", NULL);
	refused(CMD_REPORT, "--min x", "--min", NULL);
	parse(CMD_STAT, "--delay -1");
	assert_true(o.measure.delay == DELAY_FOR_EVER);
	refused(CMD_STAT, "--delay -2", "--delay", NULL);
	refused(CMD_STAT, "--interval -1", "--interval", NULL);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void words(void **state)
{
	(void)state;
	parse(CMD_RECORD, "-aF99 -e cycles,x --event=instructions:u -o file");
	assert_true(o.measure.all);
	assert_int_equal(o.measure.freq, 99);
	assert_int_equal(o.measure.event.n, 2);
	assert_string_equal(o.measure.event.v[0], "cycles,x");
	assert_string_equal(o.measure.event.v[1], "instructions:u");
	assert_string_equal(o.output, "file");
	assert_int_equal(rest.n, 0);
	parse(CMD_RECORD, "-F=99"); /* "=" is no part of it */
	assert_int_equal(o.measure.freq, 99);
	/* of programs: the first operand ends options, or -- */
	parse(CMD_RECORD, "-a prog -a --foo -- x");
	assert_int_equal(rest.n, 5);
	assert_string_equal(rest.v[0], "prog");
	assert_string_equal(rest.v[1], "-a");
	assert_string_equal(rest.v[4], "x");
	parse(CMD_STAT, "-- -a -- y");
	assert_false(o.measure.all);
	assert_int_equal(rest.n, 3);
	assert_string_equal(rest.v[0], "-a");
	/* of files: anywhere, and - is one */
	parse(CMD_REPORT, "one -q - --json two -- -x");
	assert_true(o.quiet && o.json);
	assert_int_equal(rest.n, 4);
	assert_string_equal(rest.v[1], "-");
	assert_string_equal(rest.v[3], "-x");
	for (enum command c = 0; c < CMD_COUNT; c++) {
		bool program = c == CMD_RUN || c == CMD_RECORD || c == CMD_STAT ||
			       c == CMD_COMPARE || c == CMD_SIMULATE;

		parse(c, "x -q");
		assert_int_equal(o.quiet, !program);
		assert_int_equal(rest.n, program ? 2 : 1);
	}
}

/* An argument that may be left out is never the next word, unless it can only be that. */
static void maybe(void **state)
{
	static const struct {
		const char *line, *graph;
		size_t rest;
		bool quiet;
	} row[] = {
		{ "-g dwarf", "", 1, false },
		{ "-gdwarf x", "dwarf", 1, false },
		{ "-g=lbr", "lbr", 0, false },
		{ "--call-graph=fp", "fp", 0, false },
		{ "--call-graph lbr x", "lbr", 1, false },
		{ "--call-graph xy z", "", 2, false },
		{ "-gq", "", 0, true },
		{ "-qg", "", 0, true },
		{ "-qgdwarf", "dwarf", 0, true },
		{ "--call-graph", "", 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		parse(CMD_RECORD, row[i].line);
		assert_string_equal(o.measure.call_graph, row[i].graph);
		assert_int_equal(rest.n, row[i].rest);
		assert_int_equal(o.quiet, row[i].quiet);
	}
	refused(CMD_RECORD, "-g=dwarv", "'dwarv' is not one of fp|dwarf|unwind|lbr", NULL);
	refused(CMD_RECORD, "--call-graph=dwar", "is not one of fp|dwarf|unwind|lbr", NULL);
	parse(CMD_RECORD, "-z");
	assert_string_equal(o.compress, "");
	parse(CMD_RECORD, "-z3");
	assert_string_equal(o.compress, "3");
}

static void errors(void **state)
{
	(void)state;
	refused(CMD_RECORD, "--evnet x", "record has no option --evnet", "did you mean --event?");
	refused(CMD_REPORT, "--evnet=x", "report has no option --evnet", "did you mean --event?");
	refused(CMD_RECORD, "-Y", "record has no option -Y", "cyclade record --help");
	refused(CMD_RECORD, "-aY", "record has no option -aY", NULL);
	refused(CMD_RECORD, "--json", "record has no option --json", NULL); /* a report's */
	refused(CMD_RECORD, "--all=yes", "--all takes no argument", NULL);
	refused(CMD_RECORD, "-F", "--freq needs HZ", "samples a second");
	refused(CMD_RECORD, "--event", "--event needs", NULL);
	refused(CMD_REPORT, "--color maybe", "'maybe' is not one of auto|always|never", NULL);
	refused(CMD_REPORT, "--color auto|always", "is not one of", NULL);
	refused(CMD_REPORT, "--color al", "is not one of", NULL);
	refused(CMD_REPORT, "--format xml", "report has no format 'xml'", "svg");
	assert_non_null(strstr(err.hint, ", folded or svg"));
	refused(CMD_STAT, "--per core|die", "is not one of", NULL);
	parse(CMD_REPORT, "--color never");
	assert_string_equal(o.color, "never");
	parse(CMD_REPORT, "--format svg");
	assert_string_equal(o.format, "svg");
	parse(CMD_REPORT, "--format csv");
}

/* A directory that is not there is no directory to read from; help is there all the same. */
static void directories(void **state)
{
	(void)state;
	parse(CMD_REPORT, "--symbols / --symbols /tmp");
	refused(CMD_REPORT, "--symbols / --symbols /nonexistent/x", "/nonexistent/x: No such",
		"--focus /nonexistent/x selects a function");
	refused(CMD_REPORT, "--symbols /dev/null", "/dev/null: not a directory", NULL);
	refused(CMD_REPORT, "--sysroot /nonexistent/x", "/nonexistent/x: No such", "root");
	parse(CMD_DOCTOR, "--capture /nonexistent/x"); /* it will be made */
	parse(CMD_REPORT, "--help --symbols /nonexistent/x");
	assert_true(o.help);
	begin(); /* a configuration may be of several machines */
	env(CMD_REPORT, "--symbols /nonexistent/x");
	assert_int_equal(more(CMD_REPORT, "-q"), 0);
}

/* ---- who says it ----------------------------------------------------------------------------- */

static void sources(void **state)
{
	size_t quiet = (size_t)(option_find(CMD_RECORD, "quiet") - option_rows);

	(void)state;
	begin();
	set(CMD_RECORD, "event", "a", FROM_FILE);
	set(CMD_RECORD, "event", "b", FROM_FILE);
	assert_int_equal(o.measure.event.n, 2); /* from one place: together */
	set(CMD_RECORD, "event", "c", FROM_FILE_COMMAND);
	assert_int_equal(o.measure.event.n, 1); /* from another one: in its place */
	assert_string_equal(o.measure.event.v[0], "c");
	env(CMD_RECORD, "-e d -q --json --format csv");
	assert_int_equal(o.measure.event.n, 1);
	assert_string_equal(o.measure.event.v[0], "d");
	assert_true(o.quiet);
	assert_false(o.json); /* of other commands: passed over */
	assert_int_equal(o.said[quiet].from, FROM_ENVIRONMENT);
	assert_true(OPTION_GIVEN(&o, quiet) && OPTION_GIVEN(&o, measure.event));
	assert_false(OPTION_GIVEN(&o, json) || OPTION_GIVEN(&o, measure.freq));
	assert_int_equal(more(CMD_RECORD, "-e e -e f"), 0);
	assert_int_equal(o.measure.event.n, 2);
	assert_string_equal(o.measure.event.v[1], "f");
	begin(); /* flags can be taken back */
	set(CMD_RECORD, "quiet", "true", FROM_FILE);
	assert_true(o.quiet);
	assert_string_equal(o.said[quiet].where, "file:1");
	set(CMD_RECORD, "quiet", "false", FROM_FILE_COMMAND);
	assert_false(o.quiet || OPTION_GIVEN(&o, quiet));
	set(CMD_RECORD, "quiet", NULL, FROM_FILE_COMMAND);
	assert_true(o.quiet);
	for (size_t i = 0; i < 8; i++) {
		static const char *const word[] = { "no", "yes", "off",	  "on",
						    "0",  "1",	 "false", "true" };

		set(CMD_RECORD, "quiet", word[i], FROM_FILE);
		assert_int_equal(o.quiet, i % 2);
	}
	assert_int_equal(option_set(&o, &arena, CMD_RECORD, option_find(CMD_RECORD, "quiet"),
				    "perhaps", FROM_FILE, NULL, &err),
			 -1);
	assert_non_null(strstr(err.what, "neither true nor false"));
	err = (struct err)ERR_INIT;
	assert_int_equal(option_set(&o, &arena, CMD_RECORD, option_find(CMD_RECORD, "freq"), NULL,
				    FROM_FILE, NULL, &err),
			 -1);
	assert_non_null(strstr(err.what, "freq needs HZ"));
	begin();
	set(CMD_RECORD, "call-graph", NULL, FROM_FILE); /* may be left out */
	assert_string_equal(o.measure.call_graph, "");
	begin();
	assert_int_equal(options_parse_text(&o, &arena, CMD_RECORD, "-q prog", &err), -1);
	assert_non_null(strstr(err.what, "'prog' is no option"));
}

/* -F and -c, -u and -k, -j and --format: what is said later counts; of one command line both, for
 * who reads it to refuse. */
static void rivals(void **state)
{
	(void)state;
	begin();
	set(CMD_RECORD, "count", "100", FROM_FILE);
	set(CMD_RECORD, "user", NULL, FROM_FILE);
	env(CMD_RECORD, "-F 99");
	assert_int_equal(o.measure.period, 0);
	assert_int_equal(o.measure.freq, 99);
	assert_true(o.measure.user_only);
	assert_int_equal(more(CMD_RECORD, "-c 7 --kernel"), 0);
	assert_int_equal(o.measure.period, 7);
	assert_int_equal(o.measure.freq, 0);
	assert_true(o.measure.kernel_only && !o.measure.user_only);
	begin();
	assert_int_equal(more(CMD_RECORD, "-c 7 -F 9"), 0);
	assert_int_equal(o.measure.period, 7);
	assert_int_equal(o.measure.freq, 9);
	begin();
	env(CMD_REPORT, "--format csv");
	assert_int_equal(more(CMD_REPORT, "-j"), 0);
	assert_true(o.json && !o.format);
	begin();
	env(CMD_REPORT, "-j");
	assert_int_equal(more(CMD_REPORT, "--format csv"), 0);
	assert_true(!o.json && o.format);
}

/* perf's words mean ours, or are refused with what to type. */
static void perf(void **state)
{
	(void)state;
	parse(CMD_STAT, "--topdown");
	assert_int_equal(o.level, 1);
	parse(CMD_STAT, "--td-level 3 -q");
	assert_int_equal(o.level, 3);
	assert_true(o.quiet);
	parse(CMD_STAT, "--td-level=2");
	assert_int_equal(o.level, 2);
	parse(CMD_STAT, "-A -q");
	assert_string_equal(o.measure.per, "cpu");
	assert_true(o.quiet);
	parse(CMD_STAT, "--timeout 1500 x");
	assert_int_equal(o.measure.for_time, 1500000000);
	assert_int_equal(rest.n, 1);
	parse(CMD_STAT, "-B x"); /* so anyway */
	assert_int_equal(rest.n, 1);
	refused(CMD_STAT, "--topdown=1", "--topdown takes no argument", NULL);
	refused(CMD_STAT, "--td-level", "--td-level needs an argument", NULL);
	refused(CMD_STAT, "--metric-only", "stat has no option --metric-only", "-M METRIC");
	refused(CMD_STAT, "-d", "stat has no option -d", "-e L1-dcache-loads");
	refused(CMD_RECORD, "--topdown", "record has no option", NULL); /* stat's alone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units),  cmocka_unit_test(words),   cmocka_unit_test(maybe),
		cmocka_unit_test(errors), cmocka_unit_test(sources), cmocka_unit_test(directories),
		cmocka_unit_test(rivals), cmocka_unit_test(perf),
	};
	int rc = cmocka_run_group_tests_name("cli/options", tests, NULL, NULL);

	arena_free(&arena);
	return rc;
}
