/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event grammar, row by row, against two made-up machines. What a row expects was taken from
 * the format files below by hand; tests/cli/test_event_perf.py asks perf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/event_int.h"
#include "tree.h"

#define PMU "sys/bus/event_source/devices/"
#define TP  "sys/kernel/tracing/events/"

static const struct tree_file plain[] = {
	{ PMU "cpu/type", "4\n" },
	{ PMU "cpu/caps/max_precise", "3\n" },
	{ PMU "cpu/format/event", "config:0-7,32-35\n" },
	{ PMU "cpu/format/umask", "config:8-15\n" },
	{ PMU "cpu/format/edge", "config:18\n" },
	{ PMU "cpu/format/inv", "config:23\n" },
	{ PMU "cpu/format/cmask", "config:24-31\n" },
	{ PMU "cpu/format/ldlat", "config1:0-15\n" },
	{ PMU "cpu/format/offcore_rsp", "config1:0-63\n" },
	{ PMU "cpu/format/frontend", "config2:4-7,12-15\n" },
	{ PMU "cpu/format/fancy", "config3:0-63\n" },
	{ PMU "cpu/format/broken", "config:3-99\n" },
	{ PMU "cpu/events/cpu-cycles", "event=0x3c\n" },
	{ PMU "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n" },
	{ PMU "cpu/events/slots", "event=0x00,umask=0x4\n" },
	{ PMU "cpu/events/topdown-retiring", "event=0x00,umask=0x80\n" },
	{ PMU "cpu/events/needs", "event=0x10,umask=?\n" },
	{ PMU "cpu/events/bad", "event=0x3c,nonsense=1\n" },
	{ PMU "cpu/events/joules", "event=0x2\n" },
	{ PMU "cpu/events/joules.unit", "Joules\n" },
	{ PMU "cpu/events/joules.scale", "2.3283064365386962890625e-10\n" },
	{ PMU "uncore_imc_0/type", "12\n" },
	{ PMU "uncore_imc_0/cpumask", "0,16\n" },
	{ PMU "uncore_imc_0/format/event", "config:0-7\n" },
	{ PMU "uncore_imc_0/events/reads", "event=0x4\n" },
	{ PMU "uncore_imc_1/type", "13\n" },
	{ PMU "uncore_imc_1/cpumask", "0,16\n" },
	{ PMU "uncore_imc_1/format/event", "config:0-7\n" },
	{ PMU "uncore_imc_1/events/reads", "event=0x4\n" },
	{ PMU "uncore_imc_free_running/type", "14\n" },
	{ PMU "uncore_imc_free_running/format/event", "config:0-7\n" },
	{ PMU "breakpoint/type", "5\n" },
	{ PMU "software/type", "1\n" },
	{ PMU "uprobe/type", "8\n" },
	{ PMU "uprobe/format/retprobe", "config:0\n" },
	{ PMU "kprobe/type", "9\n" },
	{ PMU "kprobe/format/retprobe", "config:0\n" },
	{ PMU "nonsense/type", "minus one\n" },
	{ PMU "odd_/type", "30\n" },
	{ TP "sched/sched_switch/id", "372\n" },
	{ TP "sched/sched_wakeup/id", "373\n" },
	{ TP "sched/sched_waking/id", "374\n" },
	{ TP "sched/enable", "0\n" },
	{ TP "irq/irq_entry/id", "91\n" },
	{ TP "enable", "0\n" },
	{ "usr/bin/text", "no program\n" },
	{ NULL, NULL },
};

static const struct tree_file hybrid[] = {
	{ PMU "cpu_core/type", "4\n" },
	{ PMU "cpu_core/cpus", "0-15\n" },
	{ PMU "cpu_core/caps/max_precise", "3\n" },
	{ PMU "cpu_core/format/event", "config:0-7\n" },
	{ PMU "cpu_core/events/cpu-cycles", "event=0x3c\n" },
	{ PMU "cpu_core/events/slots", "event=0x00\n" },
	{ PMU "cpu_atom/type", "10\n" },
	{ PMU "cpu_atom/cpus", "16-23\n" },
	{ PMU "cpu_atom/format/event", "config:0-7\n" },
	{ PMU "cpu_atom/events/cpu-cycles", "event=0x3c\n" },
	{ NULL, NULL },
};

static char roots[2][64] = { "/tmp/cyclade-event-XXXXXX", "/tmp/cyclade-hybrid-XXXXXX" };

enum { PLAIN, HYBRID };

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
	BAD(PLAIN, "cpu/call-graph=foo/", "fp, dwarf, lbr", NULL),
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

/* Names, leaders and CPUs of all events of a text: "name=leader@cpus ..." */
static const struct {
	int line, tree;
	const char *text, *events;
} lists[] = {
	{ __LINE__, PLAIN, "cycles:u,cs", "cycles:u=0@- cs=1@-" },
	{ __LINE__, PLAIN, "{cycles,cs}:S , faults", "cycles=0@- cs=0@- faults=2@-" },
	{ __LINE__, PLAIN, "cs,{cycles , instructions:k}", "cs=0@- cycles=1@- instructions:k=1@-" },
	{ __LINE__, PLAIN, "cpu/event=1,name=foo/u", "foo=0@-" },
	{ __LINE__, PLAIN, "cpu/event=1,name='a b,c'/u", "a b,c=0@-" },
	{ __LINE__, PLAIN, "sched:sched_wak*:u", "sched:sched_wakeup=0@- sched:sched_waking=1@-" },
	{ __LINE__, PLAIN, "uncore_imc/reads/",
	  "uncore_imc_0/reads/=0@0,16 uncore_imc_1/reads/=1@0,16" },
	{ __LINE__, PLAIN, "imc/reads/", "uncore_imc_0/reads/=0@0,16 uncore_imc_1/reads/=1@0,16" },
	{ __LINE__, PLAIN, "imc_1/reads/", "uncore_imc_1/reads/=0@0,16" },
	{ __LINE__, PLAIN, "reads", "uncore_imc_0/reads/=0@0,16 uncore_imc_1/reads/=1@0,16" },
	{ __LINE__, PLAIN, "*imc*/event=1/",
	  "uncore_imc_0/event=1/=0@0,16 uncore_imc_1/event=1/=1@0,16 "
	  "uncore_imc_free_running/event=1/=2@-" },
	{ __LINE__, PLAIN, "{imc/reads/,imc/event=2/}",
	  "uncore_imc_0/reads/=0@0,16 uncore_imc_1/reads/=1@0,16 "
	  "uncore_imc_0/event=2/=0@0,16 uncore_imc_1/event=2/=1@0,16" },
	{ __LINE__, HYBRID, "cycles:u", "cpu_core/cycles/u=0@0-15 cpu_atom/cycles/u=1@16-23" },
	{ __LINE__, HYBRID, "cycles/period=5/",
	  "cpu_core/cycles,period=5/=0@0-15 cpu_atom/cycles,period=5/=1@16-23" },
	{ __LINE__, HYBRID, "{cs,cycles,instructions}:S",
	  "cs=0@- cpu_core/cycles/=0@0-15 cpu_atom/cycles/=2@16-23 "
	  "cpu_core/instructions/=0@0-15 cpu_atom/instructions/=2@16-23" },
	{ __LINE__, HYBRID, "slots", "slots=0@0-15" },
};

static void names_and_groups(void **state)
{
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct event_list list = EVENT_LIST_INIT;
		struct err err = ERR_INIT;
		char got[1024] = "";
		size_t n = 0;

		if (event_parse(&list, roots[lists[i].tree], lists[i].text, &err))
			n = (size_t)snprintf(got, sizeof(got), "!%s", err.what);
		vec_each (&list.ev, struct event *, ev)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s=%d@%s", n ? " " : "",
					      ev->name, ev->group, ev->cpus ? ev->cpus : "-");
		if (strcmp(got, lists[i].events)) {
			print_message("line %d: %s: got %s\n", lists[i].line, lists[i].text, got);
			bad++;
		}
		event_list_free(&list);
	}
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

static void failure_leaves_the_list_alone(void **state)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(event_parse(&list, roots[PLAIN], "cycles", &err), 0);
	assert_int_equal(event_parse(&list, roots[PLAIN], "{cs,faults},nothing-like-it", &err), -1);
	assert_int_equal(list.ev.n, 1);
	err_clear(&err);
	assert_int_equal(event_parse(&list, roots[PLAIN], "{cs,faults}", &err), 0);
	assert_int_equal(list.ev.n, 3);
	assert_int_equal(list.ev.v[2].group, 1);
	event_list_free(&list);
}

__attribute__((noinline, used)) int cyclade_test_place_of_a_probe(int x);
__attribute__((noinline, used)) int cyclade_test_place_of_a_probe(int x)
{
	return x * 3 + 1;
}

/* The bytes at the offset found in the file must be those of the function in memory. */
static void symbol_of_ourselves(void **state)
{
	struct err err = ERR_INIT;
	uint8_t bytes[8];
	uint64_t offset;
	FILE *f;

	(void)state;
	assert_int_equal(
		elf_symbol_offset("/proc/self/exe", "cyclade_test_place_of_a_probe", &offset, &err),
		0);
	f = fopen("/proc/self/exe", "rb");
	assert_non_null(f);
	assert_int_equal(fseek(f, (long)offset, SEEK_SET), 0);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), f), sizeof(bytes));
	(void)fclose(f);
	assert_memory_equal(bytes, (const void *)(uintptr_t)cyclade_test_place_of_a_probe,
			    sizeof(bytes));
	assert_int_equal(
		elf_symbol_offset("/proc/self/exe", "cyclade_test_place_of_a_prob", &offset, &err),
		-1);
	assert_non_null(strstr(err.hint, "did you mean cyclade_test_place_of_a_probe?"));
}

/* A program whose code is loaded elsewhere than it lies in the file, with names that need care. */
static void made_up_program(void **state)
{
	static const char names[] = "\0glob\0twice\0ver@@V_1\0data\0far\0undef";
	static const struct {
		unsigned name;
		unsigned char info;
		uint16_t section;
		uint64_t value;
	} syms[] = {
		{ 0, 0, 0, 0 },
		{ 1, 0x02, 1, 0x400010 },  /* glob, local: the global one goes before */
		{ 1, 0x12, 1, 0x400020 },  /* glob */
		{ 6, 0x02, 1, 0x400030 },  /* twice, local */
		{ 6, 0x02, 1, 0x400038 },  /* twice, local, elsewhere */
		{ 12, 0x12, 1, 0x400040 }, /* ver@@V_1 */
		{ 21, 0x11, 1, 0x400050 }, /* data: no function */
		{ 26, 0x12, 1, 0x900000 }, /* far: in no segment */
		{ 30, 0x12, 0, 0x400060 }, /* undef */
	};
	static const struct {
		const char *symbol;
		uint64_t offset; /* 0: refused with */
		const char *error;
	} want[] = {
		{ "glob", 0x1020, NULL },	   { "ver", 0x1040, NULL },
		{ "twice", 0, "has 2 functions" }, { "data", 0, "no function" },
		{ "undef", 0, "no function" },	   { "far", 0, "in no loaded segment" },
		{ "glo", 0, "no function" },
	};
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph;
		Elf64_Shdr sh[4];
		Elf64_Sym sym[sizeof(syms) / sizeof(syms[0])];
		char names[sizeof(names)];
	} f;
	char path[] = "/tmp/cyclade-elf-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	memset(&f, 0, sizeof(f));
	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f.eh.e_ident[EI_VERSION] = EV_CURRENT;
	f.eh.e_version = EV_CURRENT;
	f.eh.e_type = ET_EXEC;
	f.eh.e_machine = EM_X86_64;
	f.eh.e_ehsize = sizeof(f.eh);
	f.eh.e_phoff = offsetof(__typeof__(f), ph);
	f.eh.e_phentsize = sizeof(f.ph);
	f.eh.e_phnum = 1;
	f.eh.e_shoff = offsetof(__typeof__(f), sh);
	f.eh.e_shentsize = sizeof(f.sh[0]);
	f.eh.e_shnum = 4;
	f.ph = (Elf64_Phdr){ .p_type = PT_LOAD,
			     .p_offset = 0x1000,
			     .p_vaddr = 0x400000,
			     .p_filesz = 0x100,
			     .p_memsz = 0x100 };
	f.sh[2] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				.sh_offset = offsetof(__typeof__(f), sym),
				.sh_size = sizeof(f.sym),
				.sh_entsize = sizeof(f.sym[0]),
				.sh_link = 3 };
	f.sh[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(__typeof__(f), names),
				.sh_size = sizeof(names) };
	for (size_t i = 0; i < sizeof(syms) / sizeof(syms[0]); i++)
		f.sym[i] = (Elf64_Sym){ .st_name = syms[i].name,
					.st_info = syms[i].info,
					.st_shndx = syms[i].section,
					.st_value = syms[i].value };
	memcpy(f.names, names, sizeof(names));
	assert_int_equal(write(fd, &f, sizeof(f)), sizeof(f));
	(void)close(fd);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct err err = ERR_INIT;
		uint64_t offset = 0;
		int rc = elf_symbol_offset(path, want[i].symbol, &offset, &err);

		if (want[i].error ? !rc || !strstr(err.what, want[i].error)
				  : rc || offset != want[i].offset)
			fail_msg("%s: 0x%llx \"%s\"", want[i].symbol, (unsigned long long)offset,
				 err.what);
	}
	(void)unlink(path);
}

/* The same through the grammar: the place of the function, and what stands behind '+'. */
static void uprobe_of_ourselves(void **state)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;
	char link[128], self[4096];
	uint64_t offset;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(len > 0);
	self[len] = 0;
	(void)snprintf(link, sizeof(link), "%s/usr/bin/self", roots[PLAIN]);
	assert_int_equal(symlink(self, link), 0);
	assert_int_equal(elf_symbol_offset(self, "cyclade_test_place_of_a_probe", &offset, &err),
			 0);
	assert_int_equal(event_parse(&list, roots[PLAIN],
				     "uprobe:/usr/bin/self:cyclade_test_place_of_a_probe+2:u",
				     &err),
			 0);
	assert_int_equal(list.ev.v[0].attr.config2, offset + 2);
	assert_string_equal((const char *)(uintptr_t)list.ev.v[0].attr.config1, self);
	event_list_free(&list);
}

static volatile int watched;

/* Opens the first event of `text` for ourselves; -1 where this machine or its rules forbid it. */
static int open_first(const char *text)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;
	struct perf_event_attr attr;
	int fd = -1;

	if (!event_parse(&list, "", text, &err)) {
		attr = list.ev.v[0].attr;
		attr.size = sizeof(attr);
		fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	}
	if (fd < 0)
		print_message("%s: %s\n", text, err.what[0] ? err.what : strerror(errno));
	event_list_free(&list);
	return fd;
}

/* What the kernel counts must be what was done: calls, returns, writes, system calls. */
static void the_kernel_counts_it(void **state)
{
	char self[3800], text[4][4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	uint64_t count[4];
	int fd[4], sum = 0;

	(void)state;
	assert_true(len > 0);
	self[len] = 0;
	(void)snprintf(text[0], 4096, "uprobe:%s:cyclade_test_place_of_a_probe:u", self);
	(void)snprintf(text[1], 4096, "uretprobe:%s:cyclade_test_place_of_a_probe:u", self);
	(void)snprintf(text[2], 4096, "mem:%p/4:w:u", (const volatile void *)&watched);
	(void)snprintf(text[3], 4096, "syscalls:sys_enter_getppid");
	for (int i = 0; i < 4; i++)
		fd[i] = open_first(text[i]);
	for (int i = 0; i < 7; i++) {
		sum += cyclade_test_place_of_a_probe(i);
		watched = sum;
		(void)syscall(SYS_getppid);
	}
	for (int i = 0; i < 4; i++) {
		if (fd[i] < 0)
			continue;
		assert_int_equal(read(fd[i], &count[i], sizeof(count[i])), sizeof(count[i]));
		assert_int_equal(count[i], 7);
		(void)close(fd[i]);
	}
}

static void default_of_a_captured_machine(void **state)
{
	static const struct tree_file nothing[] = { { PMU "software/type", "1\n" },
						    { NULL, NULL } };
	char root[] = "/tmp/cyclade-default-XXXXXX", why[256];
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(event_default(&list, roots[PLAIN], why, &err), 0);
	assert_int_equal(list.ev.n, 1);
	assert_int_equal(list.ev.v[0].attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(list.ev.v[0].attr.precise_ip, 3);
	assert_string_equal(why, "");
	event_list_free(&list);
	tree_make(root, nothing);
	assert_int_equal(event_default(&list, root, why, &err), 0);
	assert_string_equal(list.ev.v[0].name, "cpu-clock");
	assert_non_null(strstr(why, "sys/bus/event_source/devices/cpu is absent"));
	event_list_free(&list);
	tree_remove(root);
}

static bool has_name(const struct event_name *names, size_t n, const char *name, const char *kind)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i].name, name) && !strcmp(names[i].kind, kind))
			return true;
	return false;
}

/* Every name that is listed must be one that the grammar takes. */
static void names_are_events(void **state)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event_name *names;
	size_t n, parsed = 0;

	(void)state;
	assert_int_equal(event_names(&a, roots[PLAIN], &names, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		struct event_list list = EVENT_LIST_INIT;

		if (strcmp(names[i].kind, "raw") == 0 || strcmp(names[i].kind, "breakpoint") == 0 ||
		    strcmp(names[i].kind, "probe") == 0 || strstr(names[i].name, "needs") ||
		    strstr(names[i].name, "bad"))
			continue;
		if (event_parse(&list, roots[PLAIN], names[i].name, &err))
			fail_msg("%s: %s", names[i].name, err.what);
		event_list_free(&list);
		parsed++;
	}
	assert_true(parsed > 60);
	assert_true(has_name(names, n, "cycles", "hardware"));
	assert_true(has_name(names, n, "L1-dcache-load-misses", "cache"));
	assert_true(has_name(names, n, "cpu-clock", "software"));
	assert_true(has_name(names, n, "cpu/mem-loads/", "pmu"));
	assert_true(has_name(names, n, "sched:sched_switch", "tracepoint"));
	assert_false(has_name(names, n, "cpu/joules.unit/", "pmu"));
	arena_free(&a);
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
		cmocka_unit_test(names_and_groups),
		cmocka_unit_test(terms_of_their_own),
		cmocka_unit_test(newer_words),
		cmocka_unit_test(failure_leaves_the_list_alone),
		cmocka_unit_test(symbol_of_ourselves),
		cmocka_unit_test(made_up_program),
		cmocka_unit_test(uprobe_of_ourselves),
		cmocka_unit_test(the_kernel_counts_it),
		cmocka_unit_test(default_of_a_captured_machine),
		cmocka_unit_test(names_are_events),
	};
	int rc;

	tree_make(roots[PLAIN], plain);
	tree_make(roots[HYBRID], hybrid);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	tree_remove(roots[PLAIN]);
	tree_remove(roots[HYBRID]);
	return rc;
}
