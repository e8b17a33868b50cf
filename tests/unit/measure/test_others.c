/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines that another CPU has: which CPU is chosen for each place, and verdicts on events of which
 * a planted machine counts some in one place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collect/machine.h"
#include "measure/bench_partner.h"
#include "measure/validate.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Threads 0 and 1 of a core, 2 and 3 beside it, 4 with another L3 cache, 5 with one of another
 * node, 6 and 7 of another socket. */
static const struct machine_cpu cpu[] = { { .socket = 0 }, { .socket = 0 }, { .socket = 0 },
					  { .socket = 0 }, { .socket = 0 }, { .socket = 0 },
					  { .socket = 1 }, { .socket = 1 } };
static const char *threads[] = { "0-1", "2", "3", "4", "5", "6", "7" };
static const struct machine_cache cache[] = {
	{ .level = 1, .cpus = "0-1" }, { .level = 2, .cpus = "2" }, { .level = 3, .cpus = "0-3" },
	{ .level = 3, .cpus = "4" },   { .level = 3, .cpus = "5" }, { .level = 3, .cpus = "6-7" },
};
static const struct machine_node node[] = { { .id = 0, .cpus = "0-4" },
					    { .id = 1, .cpus = "5" },
					    { .id = 2, .cpus = "6-7" } };
static const uint32_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static struct machine machine(void)
{
	return (struct machine){ .cpus_available = COUNT(cpu),
				 .cpu = cpu,
				 .thread_siblings = threads,
				 .n_thread_siblings = COUNT(threads),
				 .cache = cache,
				 .n_caches = COUNT(cache),
				 .node = node,
				 .n_nodes = COUNT(node) };
}

static void expect(const struct machine *m, unsigned from, const uint32_t *cpus, size_t n,
		   const unsigned want[VALIDATE_PAIRS])
{
	struct validate_opts o = { .quick = true };
	struct arena a = ARENA_INIT;

	validate_others(&o, &a, m, from, cpus, n);
	for (unsigned i = 0; i < VALIDATE_PAIRS; i++)
		if (o.other[i] != want[i])
			fail_msg("CPU %u, place %u: %u, not %u", from, i, o.other[i], want[i]);
	arena_free(&a);
}

static void test_places(void **state)
{
	static const unsigned of_0[] = { 0, 1 + 1, 1 + 2, 1 + 4, 1 + 6 };
	static const unsigned of_3[] = { 0, 0, 1 + 0, 1 + 4, 1 + 6 };
	static const unsigned of_7[] = { 0, 0, 1 + 6, 0, 1 + 0 };
	static const unsigned few[] = { 0, 0, 1 + 3, 0, 0 };
	static const unsigned none[VALIDATE_PAIRS];
	static const uint32_t some[] = { 3, 0, 5 };
	struct validate_opts o = { .quick = true };
	struct machine m = machine();
	struct arena a = ARENA_INIT;

	(void)state;
	expect(&m, 0, all, COUNT(all), of_0);
	expect(&m, 3, all, COUNT(all), of_3);
	expect(&m, 7, all, COUNT(all), of_7);
	expect(&m, 0, some, COUNT(some), few);
	expect(&m, 0, all, 0, none);
	expect(&m, 9, all, COUNT(all), none);
	m.hypervisor = "KVM guest";
	expect(&m, 0, all, COUNT(all), none);
	validate_others(&o, &a, &m, 0, all, COUNT(all));
	assert_non_null(strstr(o.no_other, "virtual machine"));
	arena_free(&a);
	m = machine();
	m.n_caches = 2; /* which L3 cache is not known */
	expect(&m, 2, all, COUNT(all), (const unsigned[]){ 0, 0, 0, 0, 1 + 6 });
	m.cpu = NULL;
	expect(&m, 0, all, COUNT(all), none);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

struct planted {
	const char *kernel; /* NULL: in all of them, and without another CPU */
	unsigned other;	    /* 1 + CPU; 0: any */
	const struct kernel *k[VALIDATE_SLOTS];
	unsigned now[VALIDATE_SLOTS];
};

static int open_one(void *ctx, unsigned slot, const struct kernel *k, const struct kernel_setup *s,
		    uint64_t *round, struct err *err)
{
	struct planted *m = ctx;

	(void)err;
	m->k[slot] = k;
	m->now[slot] = s->other;
	*round = 256;
	assert_int_equal(!k->before, !s->other);
	return 0;
}

static void close_one(void *ctx, unsigned slot)
{
	(void)ctx;
	(void)slot;
}

static int count(void *ctx, const size_t *event, size_t n, bool *fits, const char **why,
		 struct err *err)
{
	(void)ctx;
	(void)event;
	(void)err;
	*fits = n <= 1;
	for (size_t i = 0; i < n; i++)
		why[i] = NULL;
	return 0;
}

static int run(void *ctx, unsigned slot, uint64_t n, bool busy, struct validate_counts *out,
	       struct err *err)
{
	const struct planted *m = ctx;
	bool here = !m->kernel || (!strcmp(m->k[slot]->name, m->kernel) &&
				   (!m->other || m->other == m->now[slot]));

	(void)err;
	(void)busy;
	*out = (struct validate_counts){ .wall = (double)n / 1e6, .cpu = (double)n / 1e6 };
	out->count[0] = here && slot == SLOT_KERNEL ? (double)n * m->k[slot]->each[Q_LOADS] : 0;
	return 0;
}

struct row {
	const char *event, *kernel;
	unsigned other;
	enum validate_verdict verdict;
};

static const struct row rows[] = {
	{ "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM", "snoop-modified", 1 + 2, VALIDATE_WITHIN },
	{ "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM", "none", 0, VALIDATE_DEAD },
	{ "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM", "snoop-modified", 1 + 6, VALIDATE_UNDER },
	{ "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM", "snoop-modified", 0, VALIDATE_LEAKS },
	{ "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM", "snoop-clean", 1 + 2, VALIDATE_UNDER },
	{ "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM", NULL, 0, VALIDATE_LEAKS },
	{ "MEM_LOAD_L3_HIT_RETIRED.XSNP_HIT", "snoop-clean", 1 + 2, VALIDATE_WITHIN },
	{ "MEM_LOAD_L3_HIT_RETIRED.XSNP_HIT", "snoop-clean", 0, VALIDATE_LEAKS },
	{ "MEM_LOAD_L3_MISS_RETIRED.REMOTE_HITM", "snoop-modified", 1 + 6, VALIDATE_WITHIN },
	{ "MEM_LOAD_L3_MISS_RETIRED.REMOTE_HITM", "snoop-modified", 0, VALIDATE_LEAKS },
	{ "ls_dmnd_fills_from_sys.near_cache", "snoop-modified", 1 + 4, VALIDATE_WITHIN },
	{ "ls_dmnd_fills_from_sys.far_cache", "snoop-modified", 1 + 6, VALIDATE_WITHIN },
	{ "ls_dmnd_fills_from_sys.far_cache", "snoop-modified", 1 + 4, VALIDATE_UNDER },
};

static void test_verdicts(void **state)
{
	struct machine m = machine();

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct validate_event event = { .name = rows[i].event };
		struct planted p = { .kernel = rows[i].kernel, .other = rows[i].other };
		const struct validate_bench b = {
			.ctx = &p, .open = open_one, .close = close_one, .count = count, .run = run
		};
		struct validate_opts o = { .event = &event, .n_events = 1, .quick = true };
		struct arena a = ARENA_INIT;
		struct validate v;

		validate_others(&o, &a, &m, 0, all, COUNT(all));
		assert_int_equal(validate_run(&v, &a, &o, &b, NULL), 0);
		if (v.row[0].verdict != rows[i].verdict)
			fail_msg("row %zu: %s", i, validate_verdict_key[v.row[0].verdict]);
		arena_free(&a);
	}
}

/* Without such a CPU: not tested, and why. */
static void test_without(void **state)
{
	const struct validate_event event = { .name = "MEM_LOAD_L3_MISS_RETIRED.REMOTE_HITM" };
	struct planted p = { .kernel = "none" };
	const struct validate_bench b = {
		.ctx = &p, .open = open_one, .close = close_one, .count = count, .run = run
	};
	struct validate_opts o = { .event = &event, .n_events = 1, .quick = true };
	struct machine m = machine();
	struct arena a = ARENA_INIT;
	struct validate v;

	(void)state;
	validate_others(&o, &a, &m, 0, all, 4);
	assert_int_equal(validate_run(&v, &a, &o, &b, NULL), 0);
	assert_int_equal(v.row[0].verdict, VALIDATE_UNTESTED);
	assert_string_equal(v.row[0].why, "no CPU of another socket may be used");
	assert_int_equal(v.n_cells, 0);
	arena_free(&a);
}

/* ---- the other thread ------------------------------------------------------------------------ */

static unsigned there, here;

static void before(struct kernel_work *w, bool other)
{
	(void)w;
	*(other ? &there : &here) += 1;
}

/* First there, then here, each time; on one CPU, too. */
static void test_partner(void **state)
{
	struct kernel k = *kernel_find("snoop-shared");
	struct bench_partner p = { .running = false };
	struct kernel_work w = { .map = NULL };
	cpu_set_t set;
	unsigned at = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(at, &set))
		at++;
	k.before = before;
	for (unsigned i = 1; i <= 20; i++) {
		assert_int_equal(bench_partner_has(&p, at, &k, &w, NULL), 0);
		assert_int_equal(there, i);
		assert_int_equal(here, i);
	}
	bench_partner_end(&p);
	bench_partner_end(&p);
	assert_false(p.running);
}

/* What each does to the lines can be seen in memory only of those that write. */
static void test_lines(void **state)
{
	static const char *const names[] = { "snoop-clean", "snoop-modified", "snoop-shared",
					     "snoop-flushed" };
	static const struct kernel_setup usual;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		const struct kernel *k = kernel_find(names[i]);
		struct kernel_work w;
		uint64_t lines = 0;

		if (kernel_prepare(&w, k, &usual, NULL))
			return; /* no kernels for this CPU */
		assert_int_equal(w.round, 256);
		for (unsigned n = 0; n < 3; n++) {
			k->before(&w, true);
			k->before(&w, false);
			k->run(&w, w.round);
			assert_ptr_equal(w.here, w.a);
		}
		for (size_t at = 0; at < 65536; at += 256)
			lines += (unsigned char)w.a[at + 32];
		assert_int_equal(lines, i % 2 ? 3 * 256 : 0);
		kernel_release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),	cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_without), cmocka_unit_test(test_partner),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
