/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate with a planted machine: events count what is written here, rightly or with one of the
 * faults that real ones have. All seeds are fixed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/mempolicy.h>

#include <cmocka.h>

#include "collect/machine.h"
#include "measure/validate_kept.h"

/* What an event counts for an iteration: quantities, cycles of the chain; then a fault. */
struct counter {
	const char *name;
	double w[QUANTITIES];
	double cycles;	    /* how many of the core's */
	double factor;	    /* 0: 1 */
	double busy_factor; /* while the core's other thread is busy; 0: 1 */
	bool core;	    /* the other thread's, too */
	double extra[QUANTITIES];
	const char *only; /* the extra is in this kernel alone: `leak` of it */
	double leak;
	const char *provoked; /* counts in this kernel */
	double often;	      /* how often for each iteration; 0: once */
	double holds; /* lines, or pages, of a cache: the quantities count if they do not fit */
	bool refused;
	enum validate_verdict verdict;
	enum validate_cause cause;
	const char *with;
};

#define W(q)	  [Q_##q] = 1
#define TAKEN_ALL W(TAKEN), W(JUMPS), W(INDIRECT), W(CALLS), W(CALLS_INDIRECT), W(RETURNS)
#define BRANCHES  TAKEN_ALL, W(NOT_TAKEN)
#define LINES	  W(LINES_READ), W(LINES_WRITTEN)
#define L1	  (48 * 1024 / 64)
#define L2	  (2048 * 1024 / 64)
#define TLB	  2048

static const struct counter sound[] = {
	{ "instructions", { W(INSNS) }, .verdict = VALIDATE_EXACT },
	{ "branches", { BRANCHES }, .verdict = VALIDATE_EXACT },
	{ "BR_INST_RETIRED.COND", { W(TAKEN), W(NOT_TAKEN) }, .verdict = VALIDATE_EXACT },
	{ "BR_INST_RETIRED.COND_TAKEN", { W(TAKEN) }, .verdict = VALIDATE_EXACT },
	{ "BR_INST_RETIRED.COND_NTAKEN", { W(NOT_TAKEN) }, .verdict = VALIDATE_EXACT },
	{ "BR_INST_RETIRED.NEAR_TAKEN", { TAKEN_ALL }, .verdict = VALIDATE_EXACT },
	{ "BR_INST_RETIRED.NEAR_CALL", { W(CALLS), W(CALLS_INDIRECT) }, .verdict = VALIDATE_EXACT },
	{ "BR_INST_RETIRED.NEAR_RETURN", { W(RETURNS) }, .verdict = VALIDATE_EXACT },
	{ "MEM_INST_RETIRED.ALL_LOADS", { W(LOADS) }, .verdict = VALIDATE_EXACT },
	{ "MEM_INST_RETIRED.ALL_STORES", { W(STORES) }, .verdict = VALIDATE_EXACT },
	{ "MEM_INST_RETIRED.LOCK_LOADS", { W(LOCKED) }, .verdict = VALIDATE_EXACT },
	{ "BR_MISP_RETIRED.ALL_BRANCHES", { W(MISPREDICTS) }, .verdict = VALIDATE_EXACT },
	{ "CPU_CLK_UNHALTED.THREAD", .cycles = 1, .verdict = VALIDATE_EXACT },
	{ "page-faults", { W(FAULTS) }, .verdict = VALIDATE_EXACT },
	{ "LD_BLOCKS.STORE_FORWARD", { W(BLOCKED) }, .verdict = VALIDATE_EXACT },
	{ "ls_bad_status2.stli_other", { [Q_BLOCKED] = 3 }, .verdict = VALIDATE_WITHIN },
	{ "LD_BLOCKS.ADDRESS_ALIAS", { W(ALIASES) }, .verdict = VALIDATE_WITHIN },
	{ "L1D.REPLACEMENT", { LINES }, .holds = L1, .verdict = VALIDATE_EXACT },
	{ "L2_LINES_IN.ALL", { LINES }, .holds = L2, .verdict = VALIDATE_EXACT },
	{ "L2_TRANS.L1D_WB", { W(LINES_WRITTEN) }, .holds = L1, .verdict = VALIDATE_EXACT },
	{ "L2_TRANS.L2_WB", { W(LINES_WRITTEN) }, .holds = L2, .verdict = VALIDATE_EXACT },
	{ "DTLB_LOAD_MISSES.WALK_COMPLETED",
	  { W(PAGES) },
	  .holds = TLB,
	  .verdict = VALIDATE_EXACT },
	{ "dtlb_walk", { [Q_PAGES] = 2 }, .holds = TLB, .verdict = VALIDATE_WITHIN },
	{ "MEM_LOAD_RETIRED.L1_MISS", { W(LINES_READ) }, .holds = L1, .verdict = VALIDATE_WITHIN },
	{ "ARITH.DIV_ACTIVE", .provoked = "divide", .verdict = VALIDATE_WITHIN },
	{ "UOPS_ISSUED.ANY", { W(INSNS) }, .verdict = VALIDATE_UNTESTED },
	{ "br_retired", { BRANCHES }, .refused = true, .verdict = VALIDATE_UNTESTED },
};

static const struct counter faulty[] = {
	/* double counting */
	{ "instructions",
	  { W(INSNS) },
	  .factor = 2,
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_FACTOR },
	{ "branches", { BRANCHES }, .factor = 2, .verdict = VALIDATE_OVER, .cause = CAUSE_FACTOR },
	{ "CPU_CLK_UNHALTED.THREAD", .cycles = 2, .verdict = VALIDATE_OVER, .cause = CAUSE_FACTOR },
	/* dead */
	{ "inst_retired.any", .verdict = VALIDATE_DEAD },
	{ "MEM_INST_RETIRED.ALL_LOADS", .verdict = VALIDATE_DEAD },
	{ "ARITH.DIV_ACTIVE", .verdict = VALIDATE_DEAD },
	/* leaking */
	{ "BR_INST_RETIRED.NEAR_CALL",
	  { W(CALLS), W(CALLS_INDIRECT) },
	  .only = "divide",
	  .leak = 0.1,
	  .verdict = VALIDATE_LEAKS },
	{ "MEM_INST_RETIRED.LOCK_LOADS",
	  { W(LOCKED) },
	  .only = "flush",
	  .leak = 0.02,
	  .verdict = VALIDATE_LEAKS },
	{ "ARITH.IDIV_ACTIVE", .provoked = "divide", .only = "add", .leak = 0.5,
	  .verdict = VALIDATE_LEAKS },
	{ "BR_INST_RETIRED.INDIRECT_CALL",
	  { W(CALLS_INDIRECT) },
	  .extra = { [Q_LOCKED] = 0.5 },
	  .verdict = VALIDATE_LEAKS,
	  .cause = CAUSE_QUANTITY,
	  .with = "locked" },
	/* counting speculative work */
	{ "INST_RETIRED.ANY_P",
	  { W(INSNS) },
	  .extra = { [Q_MISPREDICTS] = 15 },
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_SPECULATION },
	{ "BR_INST_RETIRED.ALL_BRANCHES",
	  { BRANCHES },
	  .extra = { [Q_MISPREDICTS] = 2 },
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_SPECULATION },
	/* the core instead of the thread */
	{ "ex_ret_instr",
	  { W(INSNS) },
	  .core = true,
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_CORE },
	{ "MEM_UOPS_RETIRED.ALL_LOADS",
	  { W(LOADS) },
	  .core = true,
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_CORE },
	{ "LD_BLOCKS.STORE_FORWARD", .provoked = "blocked", .core = true, .verdict = VALIDATE_OVER,
	  .cause = CAUSE_CORE },
	{ "MEM_LOAD_RETIRED.L2_MISS", .provoked = "walk", .core = true, .verdict = VALIDATE_OVER,
	  .cause = CAUSE_CORE },
	{ "cpu-cycles", .cycles = 1, .core = true, .verdict = VALIDATE_OVER, .cause = CAUSE_CORE },
	{ "st_spec", { W(STORES) }, .core = true, .verdict = VALIDATE_OVER, .cause = CAUSE_CORE },
	/* another unit */
	{ "MEM_UOPS_RETIRED.ALL_STORES",
	  { [Q_STORE_BYTES] = 1 },
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_UNIT,
	  .with = "store_bytes" },
	{ "ld_retired",
	  { [Q_LOAD_BYTES] = 0.125 },
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_UNIT,
	  .with = "load_bytes" },
	/* something as well, something missing */
	{ "MEM_INST_RETIRED.ALL_STORES",
	  { W(STORES) },
	  .extra = { [Q_LOADS] = 1 },
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_QUANTITY,
	  .with = "loads" },
	{ "ex_ret_brn",
	  { BRANCHES },
	  .extra = { [Q_CALLS] = -1 },
	  .verdict = VALIDATE_UNDER,
	  .cause = CAUSE_QUANTITY,
	  .with = "calls" },
#ifdef __x86_64__ /* AArch64's kernels have both kinds in one proportion: it is a factor there */
	{ "ex_ret_cond",
	  { W(TAKEN), W(NOT_TAKEN) },
	  .extra = { [Q_NOT_TAKEN] = -0.02 },
	  .verdict = VALIDATE_UNDER,
	  .cause = CAUSE_QUANTITY,
	  .with = "cond_not_taken" },
#endif
	/* lines, pages and forwards */
	{ "DTLB_LOAD_MISSES.WALK_COMPLETED_4K",
	  { W(PAGES) },
	  .holds = TLB,
	  .factor = 2,
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_FACTOR },
	{ "L2_LINES_IN.ALL",
	  { LINES },
	  .holds = L2,
	  .factor = 0.5,
	  .verdict = VALIDATE_UNDER,
	  .cause = CAUSE_FACTOR },
	{ "L1D.REPLACEMENT",
	  { W(LINES_READ) },
	  .holds = L1,
	  .verdict = VALIDATE_UNDER,
	  .cause = CAUSE_QUANTITY,
	  .with = "lines_written" },
	{ "L2_TRANS.L2_WB",
	  { W(LINES_WRITTEN) },
	  .holds = L2,
	  .only = "read", /* clean ones */
	  .leak = 0.5,
	  .verdict = VALIDATE_LEAKS },
	{ "ls_l1_d_tlb_miss.all",
	  { W(PAGES) },
	  .holds = TLB,
	  .only = "add",
	  .leak = 0.2,
	  .verdict = VALIDATE_LEAKS },
	{ "cpu/LD_BLOCKS.STORE_FORWARD/", .verdict = VALIDATE_DEAD },
	{ "ls_bad_status2.stli_other",
	  { [Q_BLOCKED] = 0.5 },
	  .verdict = VALIDATE_UNDER,
	  .cause = CAUSE_FACTOR },
	{ "LD_BLOCKS.4K_ALIAS", .provoked = "alias-4k", .often = 2, .verdict = VALIDATE_OVER },
	{ "MEM_LOAD_UOPS_RETIRED.L1_MISS", .provoked = "walk", .often = 2,
	  .verdict = VALIDATE_OVER },
	/* 2 % */
	{ "inst_retired",
	  { W(INSNS) },
	  .factor = 0.98,
	  .verdict = VALIDATE_UNDER,
	  .cause = CAUSE_FACTOR },
	{ "BR_INST_RETIRED.NEAR_RETURN",
	  { W(RETURNS) },
	  .factor = 1.02,
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_FACTOR },
	/* right only while the other thread is idle */
	{ "BR_INST_RETIRED.COND_NTAKEN",
	  { W(NOT_TAKEN) },
	  .busy_factor = 0.5,
	  .verdict = VALIDATE_UNDER,
	  .cause = CAUSE_SMT },
	{ "BR_INST_RETIRED.COND_TAKEN",
	  { W(TAKEN) },
	  .busy_factor = 1.02,
	  .verdict = VALIDATE_OVER,
	  .cause = CAUSE_SMT },
};
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

struct planted {
	const struct counter *counter;
	double noise, bursts; /* relative; share of the runs */
	size_t room;	      /* events that fit at the same time */
	size_t now[VALIDATE_GROUP], n;
	uint64_t state;
	const struct kernel *k[VALIDATE_SLOTS];
	struct kernel_setup setup; /* of SLOT_KERNEL */
	double shared;		   /* share of the runs in which others have the counters */
	double alone; /* share of the runs in which the other thread of the core gets no CPU */
	size_t most;  /* events that were counted together */
};

static double uniform(struct planted *m)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return (double)(m->state >> 11) / 9007199254740992.0;
}

static double normal(struct planted *m)
{
	return sqrt(-2 * log(1 - uniform(m))) * cos(6.283185307179586 * uniform(m));
}

/* Lines of a turn, or pages, in memory of the setup. */
static double set_of(const struct counter *c, const struct kernel *k, const struct kernel_setup *s)
{
	double bytes = s->bytes ? (double)s->bytes : (double)k->usual.bytes, streams = 0;

	if (k->usual.stride >= 64)
		return bytes / (double)k->usual.stride;
	for (unsigned q = Q_LINES_READ; q <= Q_LINES_WRITTEN; q++)
		streams += k->each[q];
	return streams * bytes / (c->w[Q_PAGES] > 0 ? 4096 : 64);
}

static double sum_of(const double *w, const struct kernel *k)
{
	double sum = 0;

	for (unsigned q = 0; q < QUANTITIES; q++)
		if (w[q] != 0)
			sum += w[q] * kernel_count(k, (enum kernel_quantity)q, k->usual.units);
	return sum;
}

static double of_busy(const struct counter *c, const struct kernel *k)
{
	double one = c->cycles * (!strcmp(k->name, "add") ? 16 : 1);

	return one + (c->provoked && !strcmp(c->provoked, k->name) ? 1 : 0);
}

static double counted(struct planted *m, const struct counter *c, const struct kernel *k, double n,
		      double busy)
{
	bool stays = c->holds > 0 && set_of(c, k, &m->setup) <= c->holds;
	double one = stays ? 0 : sum_of(c->w, k) + sum_of(c->extra, k), x;

	if (c->cycles > 0)
		one += c->cycles * (!strcmp(k->name, "add") ? 16 : 1);
	if (c->provoked && !strcmp(c->provoked, k->name))
		one += c->often > 0 ? c->often : 1;
	if (c->only && !strcmp(c->only, k->name))
		one += c->leak;
	x = n * one * (c->factor > 0 ? c->factor : 1);
	if (busy > 0) {
		x *= c->busy_factor > 0 ? c->busy_factor : 1;
		if (c->core)
			x += busy * (sum_of(c->w, m->k[SLOT_BUSY]) + of_busy(c, m->k[SLOT_BUSY]));
	}
	if (c->w[Q_INSNS] > 0)
		x += 40; /* the call */
	if (m->noise > 0)
		x *= 1 + m->noise * normal(m);
	return uniform(m) < m->bursts ? x * (1 + 0.2 * uniform(m)) : x;
}

static int open_one(void *ctx, unsigned slot, const struct kernel *k, const struct kernel_setup *s,
		    uint64_t *round, struct err *err)
{
	(void)err;
	((struct planted *)ctx)->k[slot] = k;
	if (slot == SLOT_KERNEL)
		((struct planted *)ctx)->setup = *s;
	*round = 1000;
	return 0;
}

static void close_one(void *ctx, unsigned slot)
{
	((struct planted *)ctx)->k[slot] = NULL;
}

static int count(void *ctx, const size_t *event, size_t n, bool *fits, const char **why,
		 struct err *err)
{
	struct planted *m = ctx;

	(void)err;
	m->n = n;
	m->most = n > m->most ? n : m->most;
	*fits = n <= m->room;
	for (size_t i = 0; i < n; i++) {
		m->now[i] = event[i];
		why[i] = m->counter[event[i]].refused ? "refused" : NULL;
	}
	return 0;
}

static int run(void *ctx, unsigned slot, uint64_t n, bool busy, struct validate_counts *out,
	       struct err *err)
{
	struct planted *m = ctx;
	const struct kernel *k = m->k[slot];
	bool alone = busy && uniform(m) < m->alone;

	(void)err;
	/* how much the other thread runs is up to the scheduler */
	*out = (struct validate_counts){ .busy = busy && !alone
							 ? (0.1 + 1.6 * uniform(m)) * (double)n
							 : 0 };
	/* what a call costs is no reason to take the machine for an emulator */
	out->wall = out->cpu = (double)n * (!strcmp(k->name, "add") ? 16 : 1) / 3e9 + 5.4e-6;
	for (size_t i = 0; i < m->n; i++)
		out->count[i] = counted(m, &m->counter[m->now[i]], k, (double)n, out->busy);
	out->shared = uniform(m) < m->shared;
	out->alone = alone;
	return 0;
}

static void test(struct validate *v, struct arena *a, struct planted *m, size_t n)
{
	struct validate_event *event = arena_alloc(a, n * sizeof(*event));
	const struct validate_bench b = {
		.ctx = m, .open = open_one, .close = close_one, .count = count, .run = run
	};
	struct validate_opts o = { .event = event,
				   .n_events = n,
				   .sizes = { .l1 = 48u << 10,
					      .l1i = 32u << 10,
					      .l2 = 2u << 20,
					      .l3 = 64u << 20,
					      .most = 1u << 30 } };

	m->room = m->room ? m->room : VALIDATE_GROUP;
	m->state = m->state ? m->state : 88172645463325252u;
	for (size_t i = 0; i < n; i++)
		event[i].name = m->counter[i].name;
	assert_int_equal(validate_run(v, a, &o, &b, NULL), 0);
	assert_int_equal(v->n_rows, n);
	assert_false(v->emulated);
}

static void expect(const struct validated *v, const struct counter *c)
{
	if (v->verdict != c->verdict || v->cause != c->cause ||
	    (c->with && (!v->with || strcmp(v->with, c->with) != 0)))
		fail_msg("%s: %s, %s %s %g; wanted %s, %s %s", c->name,
			 validate_verdict_key[v->verdict], validate_cause_key[v->cause],
			 v->with ? v->with : "", v->weight, validate_verdict_key[c->verdict],
			 validate_cause_key[c->cause], c->with ? c->with : "");
}

/* True counts: every event passes, however many fit at the same time. */
static void test_sound(void **state)
{
	(void)state;
	for (size_t room = 1; room <= VALIDATE_GROUP; room++) {
		struct planted m = { .counter = sound, .room = room, .shared = 0.05 };
		struct arena a = ARENA_INIT;
		struct validate v;

		test(&v, &a, &m, COUNT(sound));
		for (size_t i = 0; i < COUNT(sound); i++) {
			expect(&v.row[i], &sound[i]);
			if (v.row[i].verdict == VALIDATE_EXACT)
				assert_true(v.row[i].deviation < 1e-6 &&
					    v.row[i].limit <=
						    v.row[i].rule->within +
							    (sound[i].holds > 0 ? 0.07 : 1e-6));
			if (v.row[i].verdict == VALIDATE_UNTESTED)
				assert_non_null(v.row[i].why);
		}
		assert_true(v.dropped > 0);
		for (size_t i = 0; i < v.n_cells; i++)
			assert_false(v.cell[i].wrong);
		arena_free(&a);
	}
}

/* Each fault has its name, also where counts are noisy. */
static void test_faults(void **state)
{
	static const double noise[] = { 0, 0.001, 0.004 };

	(void)state;
	assert_true(COUNT(faulty) >= 20);
	for (size_t k = 0; k < COUNT(noise); k++) {
		struct planted m = {
			.counter = faulty, .noise = noise[k], .bursts = 0.05, .alone = 0.4
		};
		struct arena a = ARENA_INIT;
		struct validate v;

		test(&v, &a, &m, COUNT(faulty));
		for (size_t i = 0; i < COUNT(faulty); i++)
			expect(&v.row[i], &faulty[i]);
		arena_free(&a);
	}
}

/* Where the other thread never gets a CPU an event that counts the core passes, but says so. */
static void test_starved(void **state)
{
	struct planted m = { .counter = faulty, .alone = 1 };
	struct arena a = ARENA_INIT;
	struct validate v;
	size_t core = 0;

	(void)state;
	test(&v, &a, &m, COUNT(faulty));
	for (size_t i = 0; i < COUNT(faulty); i++) {
		if (!faulty[i].core)
			continue;
		assert_true(validate_passed(v.row[i].verdict));
		assert_string_equal(v.row[i].not_beside, "the other thread of the core got no CPU");
		core++;
	}
	assert_true(core > 0);
	arena_free(&a);
}

/* A run accuses a sound event at most once in 50 runs. */
static void test_chance(void **state)
{
	size_t accused = 0, runs = getenv("CYCLADE_LONG") ? 1000 : 50, limits = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		struct planted m = { .counter = sound,
				     .noise = 0.01,
				     .bursts = 0.1,
				     .state = seed * 0x9e3779b97f4a7c15u };
		struct arena a = ARENA_INIT;
		struct validate v;
		bool wrong = false;

		test(&v, &a, &m, COUNT(sound));
		for (size_t i = 0; i < COUNT(sound); i++) {
			wrong |= validate_failed(v.row[i].verdict);
			limits += v.row[i].limit > 0.01;
		}
		accused += wrong;
		arena_free(&a);
	}
	assert_true(limits > runs); /* they are stated, and wider than without noise */
	if (accused * 50 > runs)
		fail_msg("%zu of %zu runs accuse", accused, runs);
}

/* What was kept is read again; what is not as it should be is refused with its line. */
static void test_kept(void **state)
{
	static const char good[] = "cyclade verdicts 1\nmachine m\nwhen 1795404130\n"
				   "INST_RETIRED.ANY\texact\t0.001\ttree\t\n"
				   "X\tnot tested\tnan\t-\tno PMU\n";
	static const struct {
		const char *text, *what;
	} bad[] = {
		{ "", "f:1: this is no file of verdicts" },
		{ "cyclade verdicts 2\n", "f:1: this is no file" },
		{ "cyclade verdicts 1\nmachine m\nwhen 1\nX\texact\t0\t-\t", "f:3: it is cut off" },
		{ "cyclade verdicts 1\nmachine n\nwhen 1\n", "f:2: it is of another machine" },
		{ "cyclade verdicts 1\nmachine m\nwhen x\n", "f:3: no time" },
		{ "cyclade verdicts 1\nmachine m\nwhen 1\nX\texact\n",
		  "f:4: it has too few fields" },
		{ "cyclade verdicts 1\nmachine m\nwhen 1\nX\tgreat\t0\t-\t\n",
		  "f:4: this is no verdict" },
		{ "cyclade verdicts 1\nmachine m\nwhen 1\nX\texact\t0y\t-\t\n",
		  "f:4: this is no verdict" },
	};
	struct validate_kept k = { .path = "f", .machine = "m" };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(validate_kept_parse(&k, &a, good, sizeof(good) - 1, &err), 0);
	assert_int_equal(k.n, 2);
	assert_int_equal(k.when, 1795404130);
	assert_ptr_equal(validate_kept_find(&k, "cpu/inst_retired.any/u"), &k.v[0]);
	assert_true(k.v[0].used && k.v[0].deviation > 0 && k.v[0].verdict == VALIDATE_EXACT);
	assert_true(isnan(k.v[1].deviation) && k.v[1].verdict == VALIDATE_UNTESTED);
	assert_string_equal(k.v[1].text, "no PMU");
	assert_null(validate_kept_find(&k, "INST_RETIRED"));
	for (size_t i = 0; i < COUNT(bad); i++) {
		err = (struct err)ERR_INIT;
		assert_int_equal(
			validate_kept_parse(&k, &a, bad[i].text, strlen(bad[i].text), &err), -1);
		if (!strstr(err.what, bad[i].what))
			fail_msg("%s: %s", bad[i].text, err.what);
	}
	arena_free(&a);
}

/* Names: case, PMUs and modifiers do not matter; options and other events do. */
static void test_names(void **state)
{
	(void)state;
	assert_non_null(validate_rule_of("INST_RETIRED.ANY"));
	assert_ptr_equal(validate_rule_of("cpu/inst_retired.any/u"),
			 validate_rule_of("instructions:u"));
	assert_ptr_equal(validate_rule_of("MEM_INST_RETIRED.ALL_LOADS_PS"),
			 validate_rule_of("mem_inst_retired.all_loads"));
	assert_null(validate_rule_of("INST_RETIRED.ANY:c1"));
	assert_null(validate_rule_of("INST"));
	assert_null(validate_rule_of(""));
	for (size_t i = 0; i < COUNT(faulty); i++)
		if (!validate_rule_of(faulty[i].name))
			fail_msg("%s", faulty[i].name);
}

/* Local is the node of the CPU, remote are those of other sockets: not the other half of its own
 * (sub-NUMA clusters), no node without memory, none without CPUs (it may be of any socket). */
static void test_memory(void **state)
{
	static const struct machine_cpu cpu[] = { { .socket = 0 }, { .socket = 0 }, { .socket = 0 },
						  { .socket = 0 }, { .socket = 1 }, { .socket = 1 },
						  { .socket = 2 } };
	static const struct machine_node node[] = {
		{ .id = 0, .mem_total_kb = 1, .cpus = "0-1" },
		{ .id = 1, .mem_total_kb = 1, .cpus = "2-3" },
		{ .id = 2, .mem_total_kb = 1, .cpus = "4-5" },
		{ .id = 3, .mem_total_kb = 0, .cpus = "6" },
		{ .id = 4, .mem_total_kb = 1, .cpus = "" },
	};
	struct machine m = {
		.cpus_available = 7, .cpu = cpu, .node = node, .n_nodes = COUNT(node)
	};
	struct arena a = ARENA_INIT;
	struct validate_opts o = { .quick = true };

	(void)state;
	assert_int_equal(validate_memory(&o, &a, &m, 2, NULL), 0);
	assert_int_equal(o.own_node, 1 + 1);
	assert_int_equal(o.n_remote, 1);
	assert_int_equal(o.remote[0], 1 + 2);
	o = (struct validate_opts){ .quick = true };
	assert_int_equal(validate_memory(&o, &a, &m, 5, NULL), 0);
	assert_int_equal(o.own_node, 1 + 2);
	assert_int_equal(o.n_remote, 2);
	m.n_nodes = 1;
	o = (struct validate_opts){ .quick = true };
	assert_int_equal(validate_memory(&o, &a, &m, 0, NULL), 0);
	assert_int_equal(o.n_remote, 0);
	assert_string_equal(o.no_remote, "this machine has one NUMA node");
	arena_free(&a);
}

/* Memory of a kernel is bound to the node, as the operating system says itself. */
static void test_bound(void **state)
{
	const struct kernel_setup first = { .bytes = 65536, .on_node = 1 + 0 };
	const struct kernel_setup none = { .bytes = 65536, .on_node = 1 + 1000 };
	struct err err = ERR_INIT;
	struct kernel_work w;
	int policy = -1;

	(void)state;
	assert_int_equal(kernel_prepare(&w, kernel_find("walk"), &none, &err), -1);
	assert_non_null(strstr(err.what, "NUMA node 1000"));
	kernel_release(&w);
	err = (struct err)ERR_INIT;
	if (!kernel_prepare(&w, kernel_find("walk"), &first, &err)) {
		assert_int_equal(
			syscall(SYS_get_mempolicy, &policy, NULL, 0UL, w.a, (long)MPOL_F_ADDR), 0);
		assert_int_equal(policy, MPOL_BIND);
	} else {
		print_message("# not bound: %s\n", err.what); /* containers forbid it */
	}
	kernel_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),	cmocka_unit_test(test_faults),
		cmocka_unit_test(test_chance),	cmocka_unit_test(test_names),
		cmocka_unit_test(test_starved), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_bound),	cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
