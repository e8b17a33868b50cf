/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin: QEMU tells which TB runs, and from one to the next follows which branch was taken.
 *
 *	qemu-x86_64 -plugin oracle.so,data=FILE,truth=FILE,OPTION=VALUE,... PROGRAM [ARGUMENTS]
 *
 * Options are rows of `option` below. The newest branch of a sample is the one that made the event
 * overflow, as precise events have it.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"
#include "../../src/simulate/plugin/qemu_api.h"

int qemu_plugin_version = QEMU_API_VERSION;

struct event {
	const char *word, *name;
	uint64_t config; /* as Intel encodes it */
};
enum { EVENT_TAKEN, EVENT_RETURNS, EVENT_CALLS, EVENT_INSNS, EVENT_CYCLES, EVENTS };
static const struct event events[EVENTS] = {
	[EVENT_TAKEN] = { "taken", "br_inst_retired.near_taken", 0x20c4 },
	[EVENT_RETURNS] = { "returns", "br_inst_retired.near_return", 0x08c4 },
	[EVENT_CALLS] = { "calls", "br_inst_retired.near_call", 0x02c4 },
	[EVENT_INSNS] = { "insns", "inst_retired.any_p", 0x00c0 },
	[EVENT_CYCLES] = { "cycles", "cpu_clk_unhalted.thread", 0x003c },
};

struct filter {
	const char *word;
	uint64_t bits;
};
enum { FILTER_ANY, FILTER_RETURN, FILTER_CALL, FILTER_STACK, FILTERS };
static const struct filter filters[FILTERS] = {
	[FILTER_ANY] = { "any", PERF_SAMPLE_BRANCH_ANY },
	[FILTER_RETURN] = { "return", PERF_SAMPLE_BRANCH_ANY_RETURN },
	[FILTER_CALL] = { "call", PERF_SAMPLE_BRANCH_ANY_CALL },
	[FILTER_STACK] = { "callstack", PERF_SAMPLE_BRANCH_CALL_STACK },
};

static const uint8_t br_type[] = {
	[KIND_COND] = PERF_BR_COND,
	[KIND_JUMP] = PERF_BR_UNCOND,
	[KIND_JUMP_INDIRECT] = PERF_BR_IND,
	[KIND_CALL] = PERF_BR_CALL,
	[KIND_CALL_INDIRECT] = PERF_BR_IND_CALL,
	[KIND_RETURN] = PERF_BR_RET,
	[KIND_SYSCALL] = PERF_BR_SYSRET,
};

#define DEPTH_MOST   1024
#define KERNEL_ENTRY 0xffffffff81000000u /* where interrupts lead, and where the kernel comes */
#define KERNEL_EXIT  0xffffffff81000010u /* from: addresses, no more */

static struct {
	const char *data, *truth;
	uint64_t depth, event, filter, period, fixed, spread, often, seed, cycles, types, far, irq,
		both, skid, times;
} opt = {
	.depth = 32, .period = 100, .spread = 50, .often = 100, .seed = 1, .cycles = 1, .far = 1
};

static struct option {
	const char *word;
	uint64_t *value;
} option[] = {
	{ "depth", &opt.depth },   /* entries of a stack */
	{ "period", &opt.period }, /* of the event; the mean, where it is not fixed */
	{ "fixed", &opt.fixed },   /* 1: always the same period */
	{ "spread", &opt.spread }, /* else up to so many per cent less or more */
	{ "often", &opt.often },   /* and so many of a hundred times */
	{ "seed", &opt.seed },	   /* of the periods: the same seed, the same recording */
	{ "cycles", &opt.cycles }, /* 0: entries have no cycles */
	{ "types", &opt.types },   /* 1: entries have types */
	{ "irq", &opt.irq },	   /* instructions between interrupts, in the mean; 0: none */
	{ "both", &opt.both },	   /* 1: stacks hold the way into the kernel, too */
	{ "skid", &opt.skid },	   /* cycles from the overflow to the sample */
	{ "far", &opt.far },	   /* 0: returns of system calls are no entries */
	{ "times", &opt.times },   /* 1: the truth has each time that a span took */
};

static struct truth truth;
static struct recording rec;
static struct entry ring[DEPTH_MOST];
static unsigned newest, held;
static struct block *before;		/* the TB that ran last */
static uint64_t arrived;		/* where the last taken branch led; 0: none yet */
static uint64_t entry_cycles;		/* when the last entry was made */
static uint64_t span_cycles;		/* when the last taken branch was */
static uint64_t call_site, count, next; /* a call that is in a trampoline; of the event */
static uint64_t period_now, due;	/* due: when a sample that skids is taken; 0: none */
static uint64_t next_irq;

static uint64_t now(void)
{
	return 1000 + truth.quarters / 4;
}

/* At least one: no cycles would mean that they were not counted. */
static uint64_t cycles_since(uint64_t then)
{
	uint64_t n = truth.quarters / 4 - then;

	return n ? n : 1;
}

static uint64_t random_number(void)
{
	static uint64_t s;

	s = (s ? s : opt.seed * 0x9e3779b97f4a7c15u + 1);
	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return s * 0x2545f4914f6cdd1du >> 32;
}

static void choose_period(void)
{
	uint64_t p = opt.period, by = p * opt.spread / 100;

	if (!opt.fixed && (opt.often >= 100 || random_number() % 100 < opt.often))
		p = p - by + random_number() % (by * 2 + 1);
	period_now = p ? p : 1;
	next += period_now;
}

static void take(uint64_t ip)
{
	recording_sample(&rec, ip, now(), period_now, ring, (unsigned)opt.depth, newest, held);
	truth.samples++;
}

static void sample(uint64_t ip)
{
	if (!opt.skid)
		take(ip);
	else if (!due)
		due = truth.quarters + 4 * opt.skid;
	choose_period();
}

static void tick(unsigned event, uint64_t ip)
{
	if (opt.event == event && ++count >= next)
		sample(ip);
}

/* ---- branch records ---- */

static bool recorded(enum kind kind)
{
	switch (opt.filter) {
	case FILTER_RETURN:
		return kind == KIND_RETURN || kind == KIND_SYSCALL;
	case FILTER_CALL:
		return kind == KIND_CALL || kind == KIND_CALL_INDIRECT;
	default:
		return true;
	}
}

static void push(enum kind kind, uint64_t from, uint64_t to, bool wrong)
{
	struct entry e = { from, to, wrong ? ENTRY_MISPREDICTED : ENTRY_PREDICTED };

	if (opt.cycles)
		e.flags |= ENTRY_CYCLES(cycles_since(entry_cycles));
	if (opt.types)
		e.flags |= ENTRY_TYPE(br_type[kind]);
	entry_cycles = truth.quarters / 4;
	if (++newest == opt.depth)
		newest = 0;
	ring[newest] = e;
	if (held < opt.depth)
		held++;
}

/* Call-stack mode: calls that were not returned from. */
static void push_or_pop(enum kind kind, uint64_t from, uint64_t to, bool wrong)
{
	if (kind == KIND_CALL || kind == KIND_CALL_INDIRECT) {
		push(kind, from, to, wrong);
	} else if (kind == KIND_RETURN && held) {
		newest = newest ? newest - 1 : (unsigned)opt.depth - 1;
		held--;
	}
}

/* ---- what happened ---- */

/* A call, and the function that it reached: through trampolines, by their indirect jumps. */
static void follow_call(const struct block *b, uint64_t to)
{
	if (b->kind == KIND_CALL || b->kind == KIND_CALL_INDIRECT)
		call_site = b->last;
	else if (!call_site)
		return;
	if (map_is_plt(map_known(to), to))
		return;
	pairs_get(&truth.calls, call_site, to)->n++;
	call_site = 0;
}

static struct pair *cached(struct pair **at, struct pairs *all, uint64_t a, uint64_t b)
{
	if (!*at || (*at)->a != a || (*at)->b != b)
		*at = pairs_get(all, a, b);
	return *at;
}

/* A processor retires one taken branch in a cycle: the next comes a cycle later at the earliest. */
static void retire_taken(void)
{
	static uint64_t last; /* when the last one did, in quarters of a cycle */

	if (truth.quarters < last + 4)
		truth.quarters = last + 4;
	last = truth.quarters;
}

static void count_time(uint64_t cycles, uint64_t last)
{
	cycles = cycles > 0xffff ? 0xffff : cycles;
	pairs_get(&truth.times, arrived, last | cycles << TIME_SHIFT)->n++;
}

static void branch(struct block *b, uint64_t to, bool wrong)
{
	struct pair *edge = cached(&b->taken, &truth.edges, b->last, to);

	retire_taken();
	edge->kind = b->kind;
	edge->n++;
	edge->mispredicted += wrong;
	if (arrived) {
		struct pair *span = cached(&b->span, &truth.spans, arrived, b->last);

		span->n++;
		span->kind = b->kind;
		span->cycles += cycles_since(span_cycles);
		if (opt.times)
			count_time(cycles_since(span_cycles), b->last);
	}
	span_cycles = truth.quarters / 4;
	arrived = to;
	truth.taken++;
	truth.calls_n += b->kind == KIND_CALL || b->kind == KIND_CALL_INDIRECT;
	truth.returns += b->kind == KIND_RETURN;
	if (opt.filter == FILTER_STACK)
		push_or_pop(b->kind, b->last, to, wrong);
	else if (recorded(b->kind))
		push(b->kind, b->last, to, wrong);
	follow_call(b, to);
	tick(EVENT_TAKEN, b->last);
	if (b->kind == KIND_RETURN)
		tick(EVENT_RETURNS, b->last);
	if (b->kind == KIND_CALL || b->kind == KIND_CALL_INDIRECT)
		tick(EVENT_CALLS, b->last);
}

static void not_taken(struct block *b, bool wrong)
{
	struct pair *edge = cached(&b->fall, &truth.edges, b->last, b->behind);

	edge->kind = KIND_FALL;
	edge->n++;
	edge->mispredicted += wrong;
}

/* The kernel returns by a branch that ends in user space, which is an entry, and no event of ours.
 * Where entries say so the span begins anew, so it does in the truth. */
static void from_kernel(uint64_t to)
{
	if (!opt.far || opt.filter == FILTER_STACK || !recorded(KIND_SYSCALL))
		return;
	push(KIND_SYSCALL, KERNEL_EXIT, to, false);
	if (opt.filter == FILTER_ANY) {
		arrived = to;
		span_cycles = truth.quarters / 4;
	}
}

/* An instruction that reaches into the next page is shown to us as the last of a TB that in the end
 * stops before it: it runs as the first of the next one. */
static void forget_last(struct block *b)
{
	b->n--;
	b->behind = b->last;
	b->last = b->start + b->at[b->n - 1];
	b->kind = KIND_NONE;
	b->cost--;
	truth.insns--;
	truth.quarters--;
}

static void leave(struct block *b, uint64_t to)
{
	if (to == b->last && b->n > 1)
		forget_last(b);

	bool wrong = cpu_mispredicts(b->kind, b->last, b->behind, to);

	switch (b->kind) {
	case KIND_NONE:
	case KIND_REPEAT:
		truth.odd += to != b->behind;
		break;
	case KIND_SYSCALL:
		truth.odd += to != b->behind;
		from_kernel(to);
		break;
	case KIND_COND:
		if (to == b->behind)
			not_taken(b, wrong);
		else
			branch(b, to, wrong);
		break;
	default:
		branch(b, to, wrong);
	}
	truth.mispredicted += wrong;
	if (wrong)
		truth.quarters += COST_MISPREDICT;
}

static uint64_t insn_at(const struct block *b, uint64_t back)
{
	return b->start + b->at[back < b->n ? b->n - 1 - back : 0];
}

/* The branch that no event here counts: from the instruction that was to run next. */
static void to_kernel(uint64_t from)
{
	if (opt.both && opt.filter == FILTER_ANY)
		push(KIND_NONE, from, KERNEL_ENTRY, false);
}

/* Interrupts that were due in this TB: the kernel returns to an instruction anywhere in it. */
static void interrupt(const struct block *b)
{
	while (opt.irq && truth.insns >= next_irq) {
		if (next_irq) {
			uint64_t at = insn_at(b, truth.insns - next_irq);

			to_kernel(at);
			from_kernel(at);
		}
		next_irq = truth.insns + 1 + opt.irq / 2 + random_number() % opt.irq;
	}
}

static void on_run(unsigned cpu, void *ctx)
{
	struct block *b = ctx;

	(void)cpu;
	if (before && before->kind == KIND_REPEAT && b->start == before->last) {
		before = b; /* one instruction, however often it repeats */
		return;
	}
	if (before)
		leave(before, b->start);
	b->runs++;
	truth.insns += b->n;
	truth.quarters += b->cost;
	before = b;
	interrupt(b);
	if (due && truth.quarters >= due) {
		due = 0;
		take(b->last); /* it waits for the longest instruction, as a rule the last */
	}
	while (opt.event == EVENT_INSNS && truth.insns >= next)
		sample(insn_at(b, truth.insns - next));
	/* Costs are known by TB: long instructions are last where the interrupt waits for them. */
	while (opt.event == EVENT_CYCLES && truth.quarters / 4 >= next)
		sample(b->last);
}

/* ---- what QEMU asks ---- */

static void on_translate(uint64_t plugin, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct block *b = calloc(1, sizeof(*b) + n * sizeof(b->at[0]));
	bool fresh;

	(void)plugin;
	if (!b)
		abort();
	b->start = qemu_plugin_tb_vaddr(tb);
	b->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const uint8_t *p = qemu_plugin_insn_data(insn);
		size_t len = qemu_plugin_insn_size(insn);

		b->last = qemu_plugin_insn_vaddr(insn);
		b->behind = b->last + len;
		b->at[i] = (uint16_t)(b->last - b->start);
		b->cost += cpu_cost(p, len);
		b->kind = cpu_kind(p, len);
	}
	const struct map *m = map_of(b->start, &fresh);

	if (m && fresh)
		recording_map(&rec, m, now());
	b->older = truth.blocks;
	truth.blocks = b;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_run, 0, b);
}

static void on_exit_of_program(uint64_t plugin, void *ctx)
{
	(void)plugin;
	(void)ctx;
	if (recording_end(&rec, now()))
		fprintf(stderr, "oracle: cannot write %s\n", opt.data);
	if (truth_write(&truth, opt.truth))
		fprintf(stderr, "oracle: cannot write %s\n", opt.truth);
}

static bool set_word(const char *word, const char *value)
{
	if (!strcmp(word, "event"))
		for (opt.event = 0; opt.event < EVENTS; opt.event++)
			if (!strcmp(value, events[opt.event].word))
				return true;
	if (!strcmp(word, "filter"))
		for (opt.filter = 0; opt.filter < FILTERS; opt.filter++)
			if (!strcmp(value, filters[opt.filter].word))
				return true;
	for (size_t i = 0; i < sizeof(option) / sizeof(*option); i++)
		if (!strcmp(word, option[i].word)) {
			char *end;

			*option[i].value = strtoull(value, &end, 10);
			return *value && !*end;
		}
	return false;
}

/* Where QEMU's own options end, as its command line has it: the program. */
static const char *program_name(void)
{
	static char all[4096];
	FILE *f = fopen("/proc/self/cmdline", "re");
	size_t n = f ? fread(all, 1, sizeof(all) - 1, f) : 0, i = 0;

	if (f)
		fclose(f);
	for (i += strlen(all) + 1; i < n && all[i] == '-'; i += strlen(all + i) + 1)
		i += strlen(all + i) + 1; /* options of QEMU used here have a value each */
	return i < n ? all + i : "program";
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return -1;
		*value++ = 0;
		if (!strcmp(argv[i], "data"))
			opt.data = strdup(value);
		else if (!strcmp(argv[i], "truth"))
			opt.truth = strdup(value);
		else if (!set_word(argv[i], value)) {
			fprintf(stderr, "oracle: what is %s=%s?\n", argv[i], value);
			return -1;
		}
	}
	if (!opt.data || !opt.truth || !opt.depth || opt.depth > DEPTH_MOST || !opt.period) {
		fprintf(stderr, "oracle: data= and truth= are needed; depth to %d, a period\n",
			DEPTH_MOST);
		return -1;
	}
	rec = (struct recording){
		.path = opt.data,
		.program = program_name(),
		.config = events[opt.event].config,
		.period = opt.period,
		.branch_filter = filters[opt.filter].bits | PERF_SAMPLE_BRANCH_USER |
				 (opt.both ? PERF_SAMPLE_BRANCH_KERNEL : 0) |
				 (opt.cycles ? 0 : PERF_SAMPLE_BRANCH_NO_CYCLES) |
				 (opt.types ? PERF_SAMPLE_BRANCH_TYPE_SAVE : 0),
		.pid = (uint32_t)getpid(),
		.precise = !opt.skid,
	};
	(void)snprintf(rec.event, sizeof(rec.event), "%s:%s", events[opt.event].name,
		       opt.skid ? "u" : "upp");
	if (recording_begin(&rec)) {
		fprintf(stderr, "oracle: cannot write %s\n", opt.data);
		return -1;
	}
	choose_period();
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_translate);
	qemu_plugin_register_atexit_cb(plugin, on_exit_of_program, NULL);
	return 0;
}
