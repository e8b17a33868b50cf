/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event grammar, row by row, against two made-up machines. What a row expects was taken from
 * the format files in machines.h by hand; tests/cli/test_event_perf.py asks perf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/events/event_int.h"
#include "machines.h"

struct row {
	int line, tree;
	const char *text;
	uint32_t type;
	uint64_t config, config1, config2;
	const char *flags;	  /* see flags_of(); every letter is one that is set */
	const char *error, *hint; /* a piece of it; type and the rest do not count then */
};

#define OK(tree, text, type, config, config1, config2, flags)                           \
	{                                                                               \
		__LINE__, tree, text, type, config, config1, config2, flags, NULL, NULL \
	}
#define BAD(tree, text, error, hint)                                \
	{                                                           \
		__LINE__, tree, text, 0, 0, 0, 0, NULL, error, hint \
	}

static const struct row rows[] = {
	/* generic names */
	OK(PLAIN, "cycles", 0, 0, 0, 0, ""),
	OK(PLAIN, "cpu-cycles", 0, 0, 0, 0, ""),
	OK(PLAIN, "instructions", 0, 1, 0, 0, ""),
	OK(PLAIN, "cache-references", 0, 2, 0, 0, ""),
	OK(PLAIN, "cache-misses", 0, 3, 0, 0, ""),
	OK(PLAIN, "branches", 0, 4, 0, 0, ""),
	OK(PLAIN, "branch-instructions", 0, 4, 0, 0, ""),
	OK(PLAIN, "branch-misses", 0, 5, 0, 0, ""),
	OK(PLAIN, "bus-cycles", 0, 6, 0, 0, ""),
	OK(PLAIN, "idle-cycles-frontend", 0, 7, 0, 0, ""),
	OK(PLAIN, "stalled-cycles-backend", 0, 8, 0, 0, ""),
	OK(PLAIN, "ref-cycles", 0, 9, 0, 0, ""),
	OK(PLAIN, "cpu-clock", 1, 0, 0, 0, ""),
	OK(PLAIN, "task-clock", 1, 1, 0, 0, ""),
	OK(PLAIN, "faults", 1, 2, 0, 0, ""),
	OK(PLAIN, "cs", 1, 3, 0, 0, ""),
	OK(PLAIN, "migrations", 1, 4, 0, 0, ""),
	OK(PLAIN, "minor-faults", 1, 5, 0, 0, ""),
	OK(PLAIN, "major-faults", 1, 6, 0, 0, ""),
	OK(PLAIN, "alignment-faults", 1, 7, 0, 0, ""),
	OK(PLAIN, "emulation-faults", 1, 8, 0, 0, ""),
	OK(PLAIN, "dummy", 1, 9, 0, 0, ""),
	OK(PLAIN, "bpf-output", 1, 10, 0, 0, ""),
	OK(PLAIN, "cgroup-switches", 1, 11, 0, 0, ""),
	OK(PLAIN, " cycles ", 0, 0, 0, 0, ""),
	/* caches */
	OK(PLAIN, "L1-dcache-loads", 3, 0, 0, 0, ""),
	OK(PLAIN, "L1-dcache", 3, 0, 0, 0, ""),
	OK(PLAIN, "L1-dcache-load-misses", 3, 0x10000, 0, 0, ""),
	OK(PLAIN, "l1d-misses-store", 3, 0x10100, 0, 0, ""),
	OK(PLAIN, "L1-icache-prefetch-misses", 3, 0x10201, 0, 0, ""),
	OK(PLAIN, "LLC-speculative-read", 3, 0x202, 0, 0, ""),
	OK(PLAIN, "dTLB-store-misses", 3, 0x10103, 0, 0, ""),
	OK(PLAIN, "iTLB-loads", 3, 4, 0, 0, ""),
	OK(PLAIN, "branch-load-misses", 3, 0x10005, 0, 0, ""),
	OK(PLAIN, "node-prefetches", 3, 0x206, 0, 0, ""),
	BAD(PLAIN, "L1-icache-stores", "no such event of this cache", "did you mean"),
	BAD(PLAIN, "L1-dcache-lods", "no such event of this cache", "did you mean L1-dcache-loads"),
	BAD(PLAIN, "iTLB-store-misses", "no such event", NULL),
	BAD(PLAIN, "L1-dcache-loads-loads", "no such event", NULL),
	BAD(PLAIN, "L1-dcache-", "no such event", NULL),
	/* raw */
	OK(PLAIN, "r1a8", 4, 0x1a8, 0, 0, ""),
	OK(PLAIN, "r0x1A8", 4, 0x1a8, 0, 0, ""),
	OK(PLAIN, "rffffffffffffffff", 4, UINT64_MAX, 0, 0, ""),
	BAD(PLAIN, "r12345678901234567", "no event of this name", NULL),
	OK(PLAIN, "1:2", 1, 2, 0, 0, ""),
	OK(PLAIN, "0xc:0x4:u", 12, 4, 0, 0, "khg"),
	BAD(PLAIN, "4294967296:1", "32 bits", NULL),
	/* modifiers */
	OK(PLAIN, "cycles:u", 0, 0, 0, 0, "kh"),
	OK(PLAIN, "cycles:k", 0, 0, 0, 0, "uh"),
	OK(PLAIN, "cycles:h", 0, 0, 0, 0, "uk"),
	OK(PLAIN, "cycles:uk", 0, 0, 0, 0, "h"),
	OK(PLAIN, "cycles:ukh", 0, 0, 0, 0, ""),
	OK(PLAIN, "cycles:G", 0, 0, 0, 0, "H-"),
	OK(PLAIN, "cycles:H", 0, 0, 0, 0, ""),
	OK(PLAIN, "cycles:GH", 0, 0, 0, 0, "-"),
	OK(PLAIN, "cycles:p", 0, 0, 0, 0, "1"),
	OK(PLAIN, "cycles:upp", 0, 0, 0, 0, "kh2"),
	OK(PLAIN, "cycles:ppp", 0, 0, 0, 0, "3"),
	OK(PLAIN, "cycles:P", 0, 0, 0, 0, "3"),
	OK(PLAIN, "cpu-clock:P", 1, 0, 0, 0, ""),
	OK(PLAIN, "cycles:I", 0, 0, 0, 0, "i"),
	OK(PLAIN, "cycles:D", 0, 0, 0, 0, "D"),
	OK(PLAIN, "cycles:e", 0, 0, 0, 0, "e"),
	OK(PLAIN, "cycles:S", 0, 0, 0, 0, "S"),
	BAD(PLAIN, "cycles:pppp", "no precision above ppp", NULL),
	BAD(PLAIN, "cycles:uu", "'u' (column 9): the modifier u stands twice", NULL),
	BAD(PLAIN, "cycles:x", "'x' (column 8): no such modifier", "u k h"),
	BAD(PLAIN, "cycles:b", "is for counting", NULL),
	BAD(PLAIN, "{cycles,cs}:W", "is for counting", NULL),
	BAD(PLAIN, "cycles:", "modifiers are missing", NULL),
	BAD(PLAIN, "cycles:u:k", "(column 9): a comma", NULL),
	/* PMU terms */
	OK(PLAIN, "cpu/event=0x3c,umask=1/", 4, 0x13c, 0, 0, ""),
	OK(PLAIN, "cpu/event=0x3c,umask=1/u", 4, 0x13c, 0, 0, "kh"),
	OK(PLAIN, "cpu/event=0x3c/:u", 4, 0x3c, 0, 0, "kh"),
	OK(PLAIN, "cpu/event=0xfff/", 4, UINT64_C(0xf000000ff), 0, 0, ""),
	OK(PLAIN, "cpu/event=0x3c,inv,cmask=2,edge=1/", 4, 0x284003c, 0, 0, ""),
	OK(PLAIN, "cpu/ event = 0x3c , umask = 2 /", 4, 0x23c, 0, 0, ""),
	OK(PLAIN, "cpu/frontend=0xab/", 4, 0, 0, 0xa0b0, ""),
	OK(PLAIN, "cpu/offcore_rsp=0xffffffffffffffff/", 4, 0, UINT64_MAX, 0, ""),
	OK(PLAIN, "cpu/config=0x1,config1=2,config2=3/", 4, 1, 2, 3, ""),
	OK(PLAIN, "cpu/umask=2,config=0xff/", 4, 0x2ff, 0, 0, ""),
	OK(PLAIN, "cpu/r1a8/", 4, 0x1a8, 0, 0, ""),
	OK(PLAIN, "cpu//", 4, 0, 0, 0, ""),
	OK(PLAIN, "cpu/cycles/", 4, 0x3c, 0, 0, ""),
	OK(PLAIN, "cpu/instructions/", 0, 1, 0, 0, ""),
	OK(PLAIN, "cpu/L1-dcache-load-misses/k", 3, 0x10000, 0, 0, "uh"),
	OK(PLAIN, "cpu/mem-loads/", 4, 0x1cd, 3, 0, ""),
	OK(PLAIN, "cpu/mem-loads,ldlat=30/P", 4, 0x1cd, 30, 0, "3"),
	OK(PLAIN, "cpu/ldlat=30,mem-loads/P", 4, 0x1cd, 30, 0, "3"),
	OK(PLAIN, "cpu/needs,umask=7/", 4, 0x710, 0, 0, ""),
	OK(PLAIN, "slots", 4, 0x400, 0, 0, ""),
	OK(PLAIN, "slots:u", 4, 0x400, 0, 0, "kh"),
	OK(PLAIN, "cpu/event=1,period=1000/", 4, 1, 0, 0, "p"),
	OK(PLAIN, "cpu/event=1,freq=99/", 4, 1, 0, 0, "f"),
	OK(PLAIN, "cycles/period=0x10/u", 0, 0, 0, 0, "khp"),
	OK(PLAIN, "cpu/event=1,percore,call-graph=dwarf,stack-size=4096,max-stack=9/", 4, 1, 0, 0,
	   ""),
	OK(PLAIN, "uncore_imc_free_running/event=1/", 14, 1, 0, 0, ""),
	BAD(PLAIN, "cpu/event=0x1000/", "'event=0x1000' (column 5): the value is too large", NULL),
	BAD(PLAIN, "cpu/inv=2/", "at most 1", NULL),
	BAD(PLAIN, "cpu/event=x/", "takes a number", NULL),
	BAD(PLAIN, "cpu/event=0x10000000000000000/", "takes a number", NULL),
	BAD(PLAIN, "cpu/evnt=1/", "no term or event 'evnt'", "did you mean event"),
	BAD(PLAIN, "cpu/broken=1/", "no term or event 'broken'", NULL),
	BAD(PLAIN, "cpu/slotz/", "no term or event 'slotz'", "did you mean slots"),
	BAD(PLAIN, "cpu/needs/", "needs umask=NUMBER", NULL),
	BAD(PLAIN, "cpu/bad/", "'nonsense=1' of that fits no format", NULL),
	BAD(PLAIN, "cpu/event=1", "closing slash is missing", NULL),
	BAD(PLAIN, "cpu/event=1,,umask=2/", "a term is missing", NULL),
	BAD(PLAIN, "cpu/event=1,period=1,freq=2/", "exclude each other", NULL),
	BAD(PLAIN, "cpu/period=0/", "between 1 and", NULL),
	BAD(PLAIN, "cpu/period/", "period=NUMBER", NULL),
	BAD(PLAIN, "cpu/name=/", "needs a value", NULL),
	BAD(PLAIN, "cpu/call-graph=foo/", "fp, dwarf, unwind, lbr", NULL),
	BAD(PLAIN, "cpu/branch_type=anny/", "no such kind of branch", "did you mean any"),
	BAD(PLAIN, "cpu/no-inherit=1/", "takes no value", NULL),
	BAD(PLAIN, "cycles/time=0/", "every sample carries its time", NULL),
	BAD(PLAIN, "cycles/overwrite/", "cannot be recorded", NULL),
	BAD(PLAIN, "cpu/event=1,aux-output/", "cannot be recorded", NULL),
	BAD(PLAIN, "cycles/config=1/", "belongs to a PMU's event", NULL),
	BAD(PLAIN, "cycles/event=1/", "has no term 'event'", NULL),
	BAD(PLAIN, "cpi/event=1/", "no PMU of this name", "did you mean cpu"),
	BAD(PLAIN, "odd/config=1/", "no PMU of this name", "did you mean odd_"),
	BAD(PLAIN, "nonsense/event=1/", "no PMU of this name", NULL),
	BAD(PLAIN, "../event=1/", "no PMU of this name", NULL),
	/* tracepoints */
	OK(PLAIN, "sched:sched_switch", 2, 372, 0, 0, ""),
	OK(PLAIN, "sched:sched_switch:k", 2, 372, 0, 0, "uh"),
	OK(PLAIN, "sched:sched_switch/call-graph=fp/u", 2, 372, 0, 0, "kh"),
	OK(PLAIN, "sched:*switch", 2, 372, 0, 0, ""),
	OK(PLAIN, "i*:*", 2, 91, 0, 0, ""),
	BAD(PLAIN, "sched:sched_swich", "no tracepoint 'sched_swich' in sched",
	    "did you mean sched:sched_switch"),
	BAD(PLAIN, "shed:sched_switch", "no tracepoint matches", "did you mean sched:"),
	BAD(PLAIN, "sched:z*", "no tracepoint 'z*' in sched", NULL),
	BAD(PLAIN, "sched:enable", "no tracepoint 'enable'", NULL),
	BAD(PLAIN, "sched:", "cannot be", NULL),
	BAD(PLAIN, "..:sched", "cannot be", NULL),
	BAD(PLAIN, "sched:*********a", "cannot be", NULL),
	BAD(HYBRID, "sched:sched_switch", "which is not there", "capture"),
	/* breakpoints */
	OK(PLAIN, "mem:0x1000", 5, 0, 0x1000, 4, "rw"),
	OK(PLAIN, "mem:4096/8", 5, 0, 0x1000, 8, "rw"),
	OK(PLAIN, "mem:0x1000:r", 5, 0, 0x1000, 4, "r"),
	OK(PLAIN, "mem:0x1000:wr:u", 5, 0, 0x1000, 4, "khrw"),
	OK(PLAIN, "mem:0x1000:x:k", 5, 0, 0x1000, sizeof(long), "uhx"),
	OK(PLAIN, "mem:0x1000/1:x", 5, 0, 0x1000, 1, "x"),
	OK(PLAIN, "mem:0x1000:u", 5, 0, 0x1000, 4, "khrw"),
	BAD(PLAIN, "mem:foo", "takes the address", "mem:0x"),
	BAD(PLAIN, "mem:0x10/9", "1 to 8 bytes", NULL),
	BAD(PLAIN, "mem:0x10/0", "1 to 8 bytes", NULL),
	BAD(PLAIN, "mem:0x10:rr", "each once", NULL),
	/* probes; a symbol of a real program is looked up in uprobe_of_ourselves */
	OK(PLAIN, "uprobe:/usr/bin/text:+0x40", 8, 0, 1, 0x40, ""),
	OK(PLAIN, "uretprobe:/usr/bin/text:+0x40:u", 8, 1, 1, 0x40, "kh"),
	OK(PLAIN, "kprobe:do_exit+8", 9, 0, 1, 8, ""),
	OK(PLAIN, "kretprobe:do_exit", 9, 1, 1, 0, ""),
	OK(PLAIN, "kprobe:0xffffffff81000000", 9, 0, 0, 0xffffffff81000000, ""),
	BAD(PLAIN, "uprobe:/usr/bin/text:main", "not an ELF file", NULL),
	BAD(PLAIN, "uprobe:/usr/bin/none:main", "No such file", NULL),
	BAD(PLAIN, "uprobe:/usr/bin/text", "function is missing", NULL),
	BAD(PLAIN, "uprobe:/usr/bin/text:", "needs a function", NULL),
	BAD(PLAIN, "uprobe:/usr/bin/text:main+x", "an offset is a number", NULL),
	BAD(HYBRID, "kprobe:do_exit", "no PMU 'kprobe'", NULL),
	/* hybrid: the first of two */
	OK(HYBRID, "cycles", 0, UINT64_C(4) << 32, 0, 0, ""),
	OK(HYBRID, "LLC-loads:u", 3, UINT64_C(4) << 32 | 2, 0, 0, "kh"),
	OK(HYBRID, "r1a8", 4, 0x1a8, 0, 0, ""),
	OK(HYBRID, "cpu_atom/cycles/", 10, 0x3c, 0, 0, ""),
	OK(HYBRID, "cpu_atom/instructions/", 0, UINT64_C(10) << 32 | 1, 0, 0, ""),
	OK(HYBRID, "cpu_core/r1a8/P", 4, 0x1a8, 0, 0, "3"),
	OK(HYBRID, "slots", 4, 0, 0, 0, ""),
	BAD(HYBRID, "cpu/event=1/", "no PMU of this name", "its cores have PMUs of their own"),
	/* lists */
	BAD(PLAIN, "", "name is missing", NULL),
	BAD(PLAIN, ",cycles", "name is missing", NULL),
	BAD(PLAIN, "cycles,", "(column 8): an event's name is missing", NULL),
	BAD(PLAIN, "cycles,,instructions", "(column 8): an event's name is missing", NULL),
	BAD(PLAIN, "cycles instructions", "(column 8): a comma", NULL),
	BAD(PLAIN, "{cycles", "closing brace is missing", NULL),
	BAD(PLAIN, "{}", "name is missing", NULL),
	BAD(PLAIN, "{cycles,{cs}}", "a group cannot hold a group", NULL),
	BAD(PLAIN, "cycles}", "a comma", NULL),
	BAD(PLAIN, "{cycles:ppp,cs}:p", "above ppp", NULL),
	BAD(PLAIN, "cycels", "'cycels' (column 1): no event of this name", "did you mean cycles"),
	BAD(PLAIN, "cs,cycels:u", "'cycels' (column 4): no event of this name",
	    "did you mean cycles"),
	BAD(PLAIN, "task-clok", "no event of this name", "did you mean task-clock"),
	BAD(PLAIN, "qqqqqqqqqqqqqqq", "no event of this name", "list events"),
	BAD(PLAIN, "duration_time", "nobody can sample", "cpu-clock"),
};

/* Set bits as letters; exclude_guest is set by default and shown as '-' where it is not. */
static void flags_of(const struct event *ev, char out[32])
{
	const struct perf_event_attr *a = &ev->attr;
	const struct {
		bool set;
		char letter;
	} bits[] = {
		{ a->exclude_user, 'u' },
		{ a->exclude_kernel, 'k' },
		{ a->exclude_hv, 'h' },
		{ a->exclude_host, 'H' },
		{ !a->exclude_guest, '-' },
		{ a->exclude_idle, 'i' },
		{ a->pinned, 'D' },
		{ a->exclusive, 'e' },
		{ ev->sample_read, 'S' },
		{ ev->has_period && a->sample_period && !a->freq, 'p' },
		{ ev->has_freq && a->sample_freq && a->freq, 'f' },
		{ a->type == 5 && a->bp_type & 1, 'r' },
		{ a->type == 5 && a->bp_type & 2, 'w' },
		{ a->type == 5 && a->bp_type & 4, 'x' },
		{ a->precise_ip, (char)('0' + a->precise_ip) },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (bits[i].set)
			out[n++] = bits[i].letter;
	out[n] = 0;
}

static int by_letter(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

static bool same_flags(const char *a, const char *b)
{
	char x[32], y[32];

	/* what rows say of exclude_guest where they need not is dropped */
	(void)snprintf(x, sizeof(x), "%s", a);
	(void)snprintf(y, sizeof(y), "%s", b);
	for (char *p = y; *p; p++)
		if (*p == 'g')
			memmove(p, p + 1, strlen(p));
	qsort(x, strlen(x), 1, by_letter);
	qsort(y, strlen(y), 1, by_letter);
	return !strcmp(x, y);
}

static int check_row(const struct row *r)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;
	const struct event *ev;
	uint64_t config1;
	char flags[32];
	int rc = event_parse(&list, roots[r->tree], r->text, &err);

	if (r->error) {
		bool fine = rc && !list.ev.n && strstr(err.what, r->error) &&
			    (!r->hint || strstr(err.hint, r->hint));

		if (!fine)
			print_message("line %d: %s: got %d \"%s\" \"%s\"\n", r->line, r->text, rc,
				      err.what, err.hint);
		event_list_free(&list);
		return !fine;
	}
	if (rc || !list.ev.n) {
		print_message("line %d: %s: %s\n", r->line, r->text, err.what);
		event_list_free(&list);
		return 1;
	}
	ev = &list.ev.v[0];
	flags_of(ev, flags);
	/* a probe's pointer: only whether there is one */
	config1 = (r->type == 8 || r->type == 9) && ev->attr.config1 ? 1 : ev->attr.config1;
	rc = ev->attr.type != r->type || ev->attr.config != r->config || config1 != r->config1 ||
	     ev->attr.config2 != r->config2 || !same_flags(flags, r->flags);
	if (rc)
		print_message("line %d: %s: got %u 0x%llx 0x%llx 0x%llx \"%s\"\n", r->line, r->text,
			      ev->attr.type, (unsigned long long)ev->attr.config,
			      (unsigned long long)config1, (unsigned long long)ev->attr.config2,
			      flags);
	event_list_free(&list);
	return rc;
}

static void every_row(void **state)
{
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bad += check_row(&rows[i]);
	assert_int_equal(bad, 0);
}

static void terms_of_their_own(void **state)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;
	const struct event *ev;

	(void)state;
	assert_int_equal(event_parse(&list, roots[PLAIN],
				     "cpu/joules,call-graph=dwarf,stack-size=4095,max-stack=9,"
				     "no-inherit,time=1,branch_type=any_call|u/",
				     &err),
			 0);
	ev = &list.ev.v[0];
	assert_string_equal(ev->pmu, "cpu");
	assert_string_equal(ev->unit, "Joules");
	assert_true(ev->scale > 2.32e-10 && ev->scale < 2.33e-10);
	assert_string_equal(ev->call_graph, "dwarf");
	assert_int_equal(ev->stack_size, 4096);
	assert_int_equal(ev->attr.sample_max_stack, 9);
	assert_int_equal(ev->inherit, -1);
	assert_int_equal(ev->attr.branch_sample_type,
			 PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER);
	event_list_free(&list);
}

/* What is wider than the attribute of our headers must not be cut off in silence. */
static void newer_words(void **state)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;
	struct pmu_set pmus;
	int rc;

	(void)state;
	assert_int_equal(pmu_set_read(&pmus, &list.arena, roots[PLAIN]), 0);
	assert_int_equal(event_parse_text(&list, &pmus, "cpu/fancy=7,config4=9/", 22, &err), 0);
	assert_int_equal(list.ev.v[0].config3, 7);
	assert_int_equal(list.ev.v[0].config4, 9);
	rc = event_parse(&list, roots[PLAIN], "cpu/fancy=7/", &err);
	if (sizeof(struct perf_event_attr) >= PERF_ATTR_SIZE_VER8) {
		assert_int_equal(rc, 0);
		assert_memory_equal((const char *)&list.ev.v[1].attr + 128, &list.ev.v[1].config3,
				    8);
	} else {
		assert_int_equal(rc, -1);
		assert_non_null(strstr(err.what, "needs config3"));
		assert_int_equal(list.ev.n, 1);
	}
	event_list_free(&list);
}

static void formats(void **state)
{
	struct pmu_format f;

	(void)state;
	assert_true(pmu_format_parse(&f, "config:0-63", 11));
	assert_int_equal(f.mask, UINT64_MAX);
	assert_int_equal(pmu_format_max(&f), UINT64_MAX);
	assert_true(pmu_format_parse(&f, "config2:1,3,5-6", 15));
	assert_int_equal(f.place, 2);
	assert_int_equal(f.mask, 0x6a);
	assert_int_equal(pmu_format_put(&f, UINT64_MAX, 5), UINT64_MAX & ~UINT64_C(0x48));
	assert_false(pmu_format_parse(&f, "config:64", 9));
	assert_false(pmu_format_parse(&f, "config:", 7));
	assert_false(pmu_format_parse(&f, "config:7-0", 10));
	assert_false(pmu_format_parse(&f, "config5:0", 9));
	assert_false(pmu_format_parse(&f, "config:0-", 9));
	assert_false(pmu_format_parse(&f, "config:0,", 9));
	assert_false(pmu_format_parse(&f, "config:0 1", 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(every_row),
		cmocka_unit_test(terms_of_their_own),
		cmocka_unit_test(newer_words),
	};

	return cmocka_run_group_tests(tests, machines_make, machines_remove);
}
