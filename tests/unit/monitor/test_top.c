/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model behind `top` without a terminal: texts of /proc, records of an interval, changes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/top/top_int.h"

/* ---- /proc ----------------------------------------------------------------------------------- */

#define REST " S 1 2 3 4 5 6 70 8 9 10 400 200 13 14 15 16 5 18 7777 20 21\n"

static void test_stat(void **state)
{
	static const struct {
		const char *text, *comm;
	} names[] = {
		{ "12 (sh)" REST, "sh" },
		{ "12 (a) (b))" REST, "a) (b)" },
		{ "12 (\033[31m\nx)" REST, "\033[31m\nx" },
		{ "12 ()" REST, "" },
		{ "12 (\xff\xfe) S 9)" REST, "\xff\xfe) S 9" },
	};
	struct top_stat s;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_true(top_stat_parse(&s, names[i].text, strlen(names[i].text)));
		assert_string_equal(s.comm, names[i].comm);
		assert_int_equal(s.state, 'S');
		assert_int_equal(s.faults, 70);
		assert_int_equal(s.major, 9);
		assert_int_equal(s.ticks, 600);
		assert_int_equal(s.threads, 5);
		assert_int_equal(s.start, 7777);
	}
	/* cut anywhere: no more than what is there is read */
	for (size_t n = 0; n + 12 < strlen(names[0].text); n++)
		assert_false(top_stat_parse(&s, names[0].text, n));
	assert_false(top_stat_parse(&s, ")(", 2));
	assert_false(top_stat_parse(&s, "1 (x) S x x x x x x x x x x x x x x x x x x x", 44));
}

static void test_switches(void **state)
{
	static const char text[] = "Name:\tx\nvoluntary_ctxt_switches:\t70\n"
				   "nonvoluntary_ctxt_switches:\t7\n";
	uint64_t n;

	(void)state;
	assert_true(top_switches_parse(&n, text, strlen(text)));
	assert_int_equal(n, 77);
	assert_false(top_switches_parse(&n, text, 40));
	assert_false(top_switches_parse(&n, "", 0));
}

static void test_cgroup(void **state)
{
	static const struct {
		const char *text, *path;
	} texts[] = {
		{ "0::/system.slice/x.service\n", "/system.slice/x.service" },
		{ "0::/\n", "/" },
		{ "4:cpu,cpuacct:/docker/ab\n0::/\n", "/docker/ab" },
		{ "4:cpu:/\n3:memory:/a:b\n0::/c\n", "/c" },
		{ "nonsense\n", NULL },
		{ "", NULL },
	};
	const char *path;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		bool found = top_cgroup_parse(&path, &n, texts[i].text, strlen(texts[i].text));

		assert_int_equal(found, texts[i].path != NULL);
		if (found) {
			assert_int_equal(n, strlen(texts[i].path));
			assert_memory_equal(path, texts[i].path, n);
		}
	}
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_cgroup_names(void **state)
{
	static const struct {
		const char *path, *name;
	} names[] = {
		{ "/", "/" },
		{ "/system.slice/nginx.service", "nginx.service" },
		{ "/system.slice/docker-" ID ".scope", "docker 0123456789ab" },
		{ "/docker/" ID, "container 0123456789ab" },
		{ "/kubepods/burstable/pod12/" ID, "pod 0123456789ab" },
		{ "/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope",
		  "pod crio 0123456789ab" },
		{ "/deadbeef", "deadbeef" },
	};
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_string_equal(top_cgroup_name(&a, names[i].path), names[i].name);
	arena_free(&a);
}

/* ---- changes --------------------------------------------------------------------------------- */

static struct top_function function(uint64_t key, double share, double half)
{
	return (struct top_function){ .key = key, .share = { share, half, NULL } };
}

static void test_changes(void **state)
{
	struct top t = { .before_none = NAN };
	struct top_function one[] = { function(1, 0.5, 0.03), function(2, 0.3, 0.03) };
	struct top_function two[] = { function(2, 0.6, 0.04), function(1, 0.47, 0.03),
				      function(3, 0.2, 0.02) };
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(top_changes(&t, one, 2, 1000, 1000, &err), 0);
	assert_true(isnan(one[0].change.v) && one[0].change.why);
	assert_int_equal(top_changes(&t, two, 3, 1000, 1000, &err), 0);
	assert_true(fabs(two[0].change.v - 0.3) < 1e-12 && !two[0].noise);
	assert_true(fabs(two[0].change.half - 0.05) < 1e-12);
	assert_true(fabs(two[1].change.v + 0.03) < 1e-12 && two[1].noise);
	/* it had no sample of 1000 before */
	assert_true(fabs(two[2].change.v - 0.2) < 1e-12 && !two[2].noise);
	assert_true(two[2].change.half > 0.02 && two[2].change.half < 0.021);
	assert_int_equal(t.before.n, 3);
	vec_free(&t.before);
}

/* ---- records --------------------------------------------------------------------------------- */

static void put(struct top_records *r, uint32_t type, uint32_t a, uint32_t b, size_t size)
{
	uint8_t p[512] = { 0 };
	struct perf_event_header h = { .type = type, .size = (uint16_t)size };

	memcpy(p, &h, sizeof(h));
	memcpy(p + 8, &a, 4);
	memcpy(p + 12, &b, 4);
	assert_int_equal(top_record(r, p, size, NULL), 0);
}

static void test_bounds(void **state)
{
	struct top_records r = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct err err = ERR_INIT;
	const size_t room = TOP_SAMPLES / 512;

	(void)state;
	for (size_t i = 0; i < room + 5; i++)
		put(&r, PERF_RECORD_SAMPLE, 0, 0, 512);
	put(&r, PERF_RECORD_LOST_SAMPLES, 7, 0, 16);
	for (size_t i = 0; i < 2 * TOP_SIDE / 512; i++)
		put(&r, PERF_RECORD_FORK, 0, 0, 512);
	put(&r, PERF_RECORD_THROTTLE, 0, 0, 32);
	put(&r, 4711, 0, 0, 32);
	assert_int_equal(r.now.samples, room);
	assert_int_equal(r.now.dropped, 5);
	assert_int_equal(r.now.lost, 7);
	assert_int_equal(r.now.throttled, 1);
	assert_true(r.now.side.len <= TOP_SIDE);
	assert_int_equal(top_records_take(&r, true, &err), 0);
	assert_int_equal(r.now.samples, 0);
	assert_true(r.gaps);
	assert_int_equal(r.last.samples, 0);
	top_records_free(&r);
}

/* Of what nobody asked about no record stays; children of those that are known are known. */
static void test_sifting(void **state)
{
	struct top_records r = { .lock = PTHREAD_MUTEX_INITIALIZER };
	const uint32_t nobody = 0x7ffffff0;
	struct err err = ERR_INIT;

	(void)state;
	put(&r, PERF_RECORD_MMAP2, nobody, nobody, 128);
	put(&r, PERF_RECORD_EXIT, nobody, nobody, 64);
	put(&r, PERF_RECORD_FORK, nobody + 1, nobody + 1, 64); /* a thread */
	put(&r, PERF_RECORD_FORK, nobody + 3, nobody + 2, 64);
	put(&r, PERF_RECORD_MMAP2, nobody + 3, nobody + 3, 128);
	assert_int_equal(top_records_take(&r, false, &err), 0);
	assert_int_equal(r.last.side.len, 64 + 128);
	/* what was last is past then */
	assert_int_equal(top_records_take(&r, false, &err), 0);
	assert_int_equal(r.last.side.len, 0);
	assert_int_equal(r.past.len, 64 + 128);
	for (size_t i = 0; i < 2 * TOP_PAST / 128; i++) {
		put(&r, PERF_RECORD_MMAP2, nobody + 3, 0, 128);
		if (i % 1000 == 0)
			assert_int_equal(top_records_take(&r, false, &err), 0);
	}
	assert_true(r.past.len <= TOP_PAST);
	top_records_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat),	cmocka_unit_test(test_switches),
		cmocka_unit_test(test_cgroup),	cmocka_unit_test(test_cgroup_names),
		cmocka_unit_test(test_changes), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_sifting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
