/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that a machine must not run, by what its operating system says of itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/bench.h"
#include "../skip.h"

static char root[] = "/tmp/cyclade-bench-XXXXXX";
static const char *const made[] = { "/proc/cpuinfo", "/proc/cmdline",
				    "/proc/sys/kernel/split_lock_mitigate" };
static const char *const dirs[] = { "", "/proc", "/proc/sys", "/proc/sys/kernel" };
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static int begin(void **state)
{
	char path[128];

	(void)state;
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 1; i < COUNT(dirs); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		if (mkdir(path, 0755))
			return -1;
	}
	return 0;
}

static int end(void **state)
{
	char path[128];

	(void)state;
	for (size_t i = 0; i < COUNT(made); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", root, made[i]);
		(void)unlink(path);
	}
	for (size_t i = COUNT(dirs); i-- > 0;) {
		(void)snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		if (rmdir(path))
			return -1;
	}
	return 0;
}

/* A file below the root; NULL: none. */
static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	(void)unlink(path);
	if (!text)
		return;
	f = fopen(path, "we");
	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

struct machine_of {
	const char *flags, *boot, *mitigate;
	const char *why; /* a part of the reason; NULL: it may run */
};

static const struct machine_of machines[] = {
	{ "fpu sse2", "ro quiet", NULL, NULL },
	{ "fpu sse2", NULL, NULL, NULL },
	{ "fpu hypervisor sse2", "ro", NULL, "virtual machine" },
	{ "fpu hypervisor", "split_lock_detect=off", "0", "virtual machine" },
	{ "fpu hypervisors_not", "ro", NULL, NULL },
	{ "split_lock_detect fpu", "ro", "1", "traps split locks" },
	{ "split_lock_detect fpu", "ro", NULL, "traps split locks" },
	{ "split_lock_detect fpu", "ro", "0", NULL },
	{ "split_lock_detect fpu", "ro split_lock_detect=fatal", "0", "traps split locks" },
	{ "split_lock_detect fpu", "split_lock_detect=ratelimit:10", "0", "traps split locks" },
	{ "fpu split_lock_detect", "ro split_lock_detect=off", "1", NULL },
	{ "fpu split_lock_detect", NULL, "0", "cmdline" },
	{ "fpu bus_lock_detect", "ro", "0", "traps split locks" },
	{ "fpu bus_lock_detect", "split_lock_detect=off quiet", NULL, NULL },
	{ NULL, "ro", "0", "cpuinfo" },
};

static void test_split_locks(void **state)
{
	const struct kernel *k = kernel_find("split-lock");
	char text[256];

	(void)state;
	if (k->each[Q_SPLIT_LOCKS] <= 0) { /* AArch64: bench_prepare() has another reason */
		assert_null(bench_refuses(k, root));
		SKIP_BECAUSE("this architecture has no split locks");
	}
	for (size_t i = 0; i < COUNT(machines); i++) {
		const struct machine_of *m = &machines[i];
		const char *why;

		(void)snprintf(text, sizeof(text),
			       "processor\t: 0\nmodel name\t: split_lock_detect\n"
			       "flags\t\t: %s\nbugs\t\t: hypervisor bus_lock_detect\n",
			       m->flags ? m->flags : "");
		put("/proc/cpuinfo", m->flags ? text : NULL);
		put("/proc/cmdline", m->boot);
		put("/proc/sys/kernel/split_lock_mitigate", m->mitigate);
		why = bench_refuses(k, root);
		if (!m->why != !why || (why && !strstr(why, m->why)))
			fail_msg("machine %zu: %s", i, why ? why : "not refused");
		assert_null(bench_refuses(kernel_find("atomic"), root));
	}
	put("/proc/cpuinfo", "processor\t: 0\n");
	assert_non_null(bench_refuses(k, root));
}

/* What is refused is not prepared, and leaves no memory behind. */
static void test_prepare(void **state)
{
	static const struct kernel_setup usual;
	static const char *const all[] = { "split-lock", "walk-huge", "walk-pages-huge", "walk" };

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		const struct kernel *k = kernel_find(all[i]);
		struct err err = ERR_INIT;
		struct kernel_work w;
		int rc = bench_prepare(&w, k, &usual, &err);

		if (bench_refuses(k, ""))
			assert_int_equal(rc, -1);
		if (rc)
			assert_int_equal(err.code, ERR_UNSUPPORTED);
		else if (w.needs_huge)
			assert_true(bench_in_huge_pages(w.a, 2u << 20));
		kernel_release(&w);
		assert_null(w.map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_split_locks, begin, end),
		cmocka_unit_test(test_prepare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
