/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/machine.h"
#include "collect/sysfs.h"
#include "collect/topology.h"
#include "tree.h"

#define CPU "sys/devices/system/cpu/"
#define PMU "sys/bus/event_source/devices/"

/* CPU 4 is off, there is no CPU 3, CPUs 0 and 1 share a core. */
static const struct tree_file x86[] = {
	{ "proc/sys/kernel/hostname", "box\n" },
	{ "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n" },
	{ "proc/sys/kernel/arch", "x86_64\n" },
	{ "proc/sys/kernel/perf_event_paranoid", "-1\n" },
	{ "proc/sys/kernel/kptr_restrict", "1\n" },
	{ "proc/sys/kernel/nmi_watchdog", "1\n" },
	{ "proc/sys/kernel/perf_event_max_sample_rate", "50000\n" },
	{ "proc/sys/kernel/perf_event_mlock_kb", "516\n" },
	{ "proc/self/status", "Name:\tx\nCapEff:\t0000004000000000\n" },
	{ "proc/self/uid_map", "         0          0 4294967295\n" },
	{ "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
			  "model\t\t: 151\nmodel name\t: 12th Gen Intel(R)   Core(TM)  i9-12900K \n"
			  "stepping\t: 2\nflags\t\t: fpu vme hypervisors sse\n\n"
			  "processor\t: 1\nvendor_id\t: Other\n" },
	{ "proc/meminfo", "MemTotal:       32632796 kB\nMemFree:        1 kB\n" },
	{ CPU "present", "0-2,4\n" },
	{ CPU "online", "0-2\n" },
	{ CPU "cpu0/topology/core_id", "4\n" },
	{ CPU "cpu0/topology/physical_package_id", "1\n" },
	{ CPU "cpu0/topology/die_id", "2\n" },
	{ CPU "cpu0/topology/package_cpus_list", "0-2\n" },
	{ CPU "cpu0/topology/core_cpus_list", "0-1\n" },
	{ CPU "cpu0/topology/die_cpus_list", "0-2\n" },
	{ CPU "cpu1/topology/core_id", "4\n" },
	{ CPU "cpu1/topology/core_siblings_list", "0-2\n" },
	{ CPU "cpu1/topology/thread_siblings_list", "0-1\n" },
	{ CPU "cpu2/topology/core_id", "5\n" },
	{ CPU "cpu2/topology/package_cpus_list", "0-2\n" },
	{ CPU "cpu2/topology/core_cpus_list", "2\n" },
	{ CPU "cpu0/cache/index0/level", "2\n" },
	{ CPU "cpu0/cache/index0/type", "Unified\n" },
	{ CPU "cpu0/cache/index0/size", "1280K\n" },
	{ CPU "cpu0/cache/index0/shared_cpu_list", "0-1\n" },
	{ CPU "cpu0/cache/index0/coherency_line_size", "64\n" },
	{ CPU "cpu0/cache/index0/number_of_sets", "2048\n" },
	{ CPU "cpu0/cache/index0/ways_of_associativity", "10\n" },
	{ CPU "cpu1/cache/index0/level", "2\n" },
	{ CPU "cpu1/cache/index0/type", "Unified\n" },
	{ CPU "cpu1/cache/index0/size", "1280K\n" },
	{ CPU "cpu1/cache/index0/shared_cpu_list", "0-1\n" },
	{ CPU "cpu2/cache/index0/level", "1\n" },
	{ CPU "cpu2/cache/index0/type", "Data\n" },
	{ CPU "cpu2/cache/index0/size", "48K\n" },
	{ CPU "cpu2/cache/index0/shared_cpu_list", "2\n" },
	{ "sys/devices/system/node/online", "0,2\n" },
	{ "sys/devices/system/node/node0/meminfo",
	  "Node 0 MemTotal:        100 kB\nNode 0 MemFree:  40 kB\n" },
	{ "sys/devices/system/node/node0/cpulist", "0-2\n" },
	{ "sys/devices/system/node/node2/meminfo",
	  "Node 2 MemTotal:        200 kB\nNode 2 MemFree:  50 kB\n" },
	{ PMU "cpu_core/type", "4\n" },
	{ PMU "cpu_core/cpus", "0-1\n" },
	{ PMU "cpu_core/caps/branches", "32\n" },
	{ PMU "cpu_core/caps/pmu_name", "alderlake_hybrid\n" },
	{ PMU "cpu_atom/type", "10\n" },
	{ PMU "cpu_atom/cpus", "2\n" },
	{ PMU "power/type", "20\n" },
	{ PMU "power/cpumask", "0\n" },
	{ PMU "junk/type", "zzz\n" },
	{ NULL, NULL },
};

static void hybrid_x86(void **state)
{
	char root[] = "/tmp/cyclade-machine-XXXXXX";
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct machine m;

	(void)state;
	tree_make(root, x86);
	assert_int_equal(machine_read(&m, &a, root, &err), 0);
	tree_remove(root);
	assert_string_equal(m.hostname, "box");
	assert_string_equal(m.release, "6.1.0-18-amd64");
	assert_string_equal(m.arch, "x86_64");
	assert_string_equal(m.cpu_desc, "12th Gen Intel(R) Core(TM) i9-12900K");
	assert_string_equal(m.cpuid, "GenuineIntel,6,151,2");
	assert_string_equal(m.vendor, "GenuineIntel");
	assert_int_equal(m.paranoid, -1);
	assert_int_equal(m.kptr_restrict, 1);
	assert_int_equal(m.nmi_watchdog, 1);
	assert_int_equal(m.max_sample_rate, 50000);
	assert_int_equal(m.mlock_kb, 516);
	assert_true(m.privileged);
	assert_null(m.hypervisor); /* "hypervisors" is another word */
	assert_int_equal(m.mem_total_kb, 32632796);
	assert_int_equal(m.cpus_available, 5);
	assert_int_equal(m.cpus_online, 3);
	assert_int_equal(m.online[2], 2);
	assert_int_equal(m.cpu[0].core, 4);
	assert_int_equal(m.cpu[0].socket, 1);
	assert_int_equal(m.cpu[0].die, 2);
	assert_int_equal(m.cpu[1].socket, -1);
	assert_int_equal(m.cpu[4].core, -1);
	assert_int_equal(m.n_core_siblings, 1);
	assert_string_equal(m.core_siblings[0], "0-2");
	assert_int_equal(m.n_thread_siblings, 2);
	assert_string_equal(m.thread_siblings[0], "0-1");
	assert_string_equal(m.thread_siblings[1], "2");
	assert_int_equal(m.n_die_siblings, 1);
	assert_int_equal(m.n_caches, 2);
	assert_int_equal(m.cache[0].level, 1);
	assert_string_equal(m.cache[0].size, "48K");
	assert_int_equal(m.cache[1].sets, 2048);
	assert_int_equal(m.cache[1].ways, 10);
	assert_string_equal(m.cache[1].cpus, "0-1");
	assert_int_equal(m.n_nodes, 2);
	assert_int_equal(m.node[1].id, 2);
	assert_int_equal(m.node[1].mem_total_kb, 200);
	assert_int_equal(m.node[1].mem_free_kb, 50);
	assert_null(m.node[1].cpus);
	assert_int_equal(m.n_pmus, 3);
	assert_string_equal(m.pmu[0].name, "cpu_atom");
	assert_string_equal(m.pmu[1].cap_name[0], "branches");
	assert_string_equal(m.pmu[1].cap_value[0], "32");
	assert_string_equal(m.pmu[1].cpus, "0-1");
	assert_int_equal(m.pmu[1].n_caps, 2);
	assert_string_equal(m.pmu[2].cpus, "0");
	arena_free(&a);
}

static void arm_guest(void **state)
{
	static const struct tree_file files[] = {
		{ "proc/sys/kernel/arch", "aarch64\n" },
		{ "proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n"
				  "CPU architecture: 8\nCPU variant\t: 0x3\n"
				  "CPU part\t: 0xd0c\nCPU revision\t: 1\n" },
		{ "proc/self/status", "CapEff:\t000001ffffffffff\n" },
		{ "proc/self/uid_map", "0 0 1\n" },
		{ CPU "online", "1-2\n" },
		{ CPU "cpu1/topology/die_cpus_list", "0-1\n" },
		{ "sys/class/dmi/id/product_name", "KVM Virtual Machine\n" },
		{ NULL, NULL },
	};
	char root[] = "/tmp/cyclade-machine-XXXXXX";
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct machine m;

	(void)state;
	tree_make(root, files);
	assert_int_equal(machine_read(&m, &a, root, &err), 0);
	assert_string_equal(m.vendor, "ARM");
	assert_string_equal(m.cpuid, "0x00000000413fd0c1");
	assert_int_equal(m.model, 0xd0c);
	assert_int_equal(m.stepping, 0x31);
	assert_string_equal(m.hypervisor, "KVM guest");
	assert_int_equal(m.n_die_siblings, 0);
	assert_int_equal(m.cpus_available, 3);
	assert_int_equal(m.paranoid, -100);
	assert_int_equal(m.nmi_watchdog, -1);
	assert_int_equal(m.kptr_restrict, -1);
	assert_false(m.privileged); /* all capabilities, in a user namespace of its own */
	assert_null(m.hostname);
	assert_null(m.cpu_desc);
	/* the register itself comes before what is put together from cpuinfo */
	tree_put(root, CPU "cpu1/regs/identification/midr_el1", "0x00000000410fd0c0\n");
	assert_int_equal(machine_read(&m, &a, root, &err), 0);
	assert_string_equal(m.cpuid, "0x00000000410fd0c0");
	assert_false(m.privileged);
	tree_put(root, "proc/self/uid_map", "0 1000 4294967295\n");
	assert_int_equal(machine_read(&m, &a, root, &err), 0);
	assert_false(m.privileged);
	tree_put(root, "proc/self/uid_map", "0 0 4294967295\n");
	assert_int_equal(machine_read(&m, &a, root, &err), 0);
	assert_true(m.privileged);
	tree_remove(root);
	arena_free(&a);
}

/* A part by itself says what it says among the others, and the others are as if not readable. */
static void parts(void **state)
{
	char root[] = "/tmp/cyclade-machine-XXXXXX";
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct machine all, m;

	(void)state;
	tree_make(root, x86);
	assert_int_equal(machine_read(&all, &a, root, &err), 0);
	assert_int_equal(machine_read_parts(&m, &a, root, 0, &err), 0);
	assert_int_equal(m.cpus_online, all.cpus_online);
	assert_int_equal(m.cpus_available, all.cpus_available);
	assert_null(m.hostname);
	assert_null(m.cpuid);
	assert_null(m.cpu);
	assert_null(m.cache);
	assert_null(m.pmu);
	assert_int_equal(m.paranoid, -100);
	assert_int_equal(m.nmi_watchdog, -1);
	assert_false(m.privileged);
	assert_int_equal(m.mem_total_kb, 0);
	assert_int_equal(machine_read_parts(&m, &a, root, MACHINE_PMUS | MACHINE_TOPOLOGY, &err),
			 0);
	assert_int_equal(m.n_pmus, all.n_pmus);
	assert_string_equal(m.pmu[0].name, all.pmu[0].name);
	assert_memory_equal(m.cpu, all.cpu, all.cpus_available * sizeof(*m.cpu));
	assert_int_equal(m.n_core_siblings, 0);
	assert_int_equal(machine_read_parts(&m, &a, root, MACHINE_MODEL | MACHINE_KNOBS, &err), 0);
	assert_string_equal(m.cpuid, all.cpuid);
	assert_int_equal(m.mlock_kb, all.mlock_kb);
	assert_true(m.privileged);
	assert_int_equal(m.n_pmus, 0);
	tree_remove(root);
	arena_free(&a);
}

/* What the C library says of the machine at hand. */
static void this_machine(void **state)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct machine m;
	struct utsname u;

	(void)state;
	assert_int_equal(uname(&u), 0);
	assert_int_equal(machine_read(&m, &a, "", &err), 0);
	assert_string_equal(m.hostname, u.nodename);
	assert_string_equal(m.release, u.release);
	assert_string_equal(m.arch, u.machine);
	assert_int_equal(m.cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(m.cpus_available >= m.cpus_online);
	assert_int_equal(m.mem_total_kb, sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024));
	arena_free(&a);
}

static void hostile_trees(void **state)
{
	static const struct tree_file files[] = {
		{ "proc/cpuinfo", "" },
		{ CPU "online", "0-4294967295\n" },
		{ CPU "present", "9-3\n" },
		{ "sys/devices/system/node/online", "0-65535\n" },
		{ "sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: -5 kB\n" },
		{ PMU "a/type", "99999999999999999999\n" },
		{ PMU "b/type", NULL },
		{ NULL, NULL },
	};
	char root[] = "/tmp/cyclade-machine-XXXXXX", fifo[128];
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct machine m;

	(void)state;
	tree_make(root, files);
	(void)snprintf(fifo, sizeof(fifo), "%s/%s", root, "proc/meminfo");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(machine_read(&m, &a, root, &err), 0);
	assert_int_equal(m.cpus_online, 0);
	assert_int_equal(m.mem_total_kb, 0);
	assert_int_equal(m.n_pmus, 0);
	assert_int_equal(m.n_nodes, 1);
	assert_int_equal(m.node[0].mem_total_kb, 0);
	tree_remove(root);
	assert_int_equal(machine_read(&m, &a, root, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	arena_free(&a);
}

static void cpu_lists(void **state)
{
	static const struct {
		const char *text;
		int n; /* -1: refused */
		uint32_t last;
	} rows[] = {
		{ "0", 1, 0 },
		{ "0-3,8", 5, 8 },
		{ "8,0-3,2", 5, 8 },
		{ "", 0, 0 },
		{ "65535", 1, 65535 },
		{ "65536", -1, 0 },
		{ "3-1", -1, 0 },
		{ "1,", -1, 0 },
		{ ",1", -1, 0 },
		{ "1-", -1, 0 },
		{ "1-2-3", -1, 0 },
		{ "a", -1, 0 },
		{ "0-65535", 65536, 65535 },
		{ "99999999999999999999", -1, 0 },
		{ "0-65535,0-65535,0-65535,0-65535,0-65535", -1, 0 },
	};
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint32_t *list;
		size_t n;
		int rc = cpu_list_parse(&a, rows[i].text, strlen(rows[i].text), &list, &n);

		if (rc != (rows[i].n < 0 ? -1 : 0) || (!rc && n != (size_t)rows[i].n) ||
		    (!rc && n && list[n - 1] != rows[i].last))
			fail_msg("%s: %d, %zu numbers", rows[i].text, rc, n);
		if (!rc)
			assert_int_equal(cpu_list_has(list, n, rows[i].last), n > 0);
	}
	arena_free(&a);
}

static void test_list_has(void **state)
{
	static const uint32_t list[] = { 0, 2, 3, 4, 8 };

	(void)state;
	for (uint32_t cpu = 0; cpu < 12; cpu++)
		assert_int_equal(cpu_list_has(list, 5, cpu),
				 strchr("02348", '0' + (int)cpu) != NULL);
	assert_false(cpu_list_has(list, 0, 0));
	assert_false(cpu_list_has(NULL, 0, 0));
}

/* Two packages of two cores, one of them with two threads; the last CPU is off. */
static void test_topology(void **state)
{
	static const struct machine_cpu cpu[] = { { 0, 0, 0 }, { 0, 0, 0 }, { 1, 0, 1 },
						  { 0, 1, 0 }, { 1, 1, 0 }, { -1, -1, -1 } };
	static const uint32_t online[] = { 0, 1, 2, 3, 4, 5 };
	static const struct tree_file off[] = { { CPU "smt/active", "0\n" }, { NULL, NULL } };
	char root[] = "/tmp/cyclade-machine-XXXXXX";
	struct machine m = { .cpus_available = 6, .cpus_online = 5, .online = online, .cpu = cpu };
	struct topology t;

	(void)state;
	topology_of(&t, &m, "/nonexistent");
	assert_true(t.cores == 4 && t.dies == 3 && t.packages == 2);
	assert_true(t.smt == 1 && t.threads_per_core == 2 && isnan(t.slots));
	tree_make(root, off);
	topology_of(&t, &m, root);
	tree_remove(root);
	assert_true(t.cores == 4 && t.smt == 0 && t.threads_per_core == 1);
	m.cpus_online = 6; /* one of which nothing is known */
	topology_of(&t, &m, "/nonexistent");
	assert_true(isnan(t.cores) && isnan(t.dies) && isnan(t.packages));
	assert_true(isnan(t.smt) && isnan(t.threads_per_core));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_lists),	 cmocka_unit_test(hybrid_x86),
		cmocka_unit_test(arm_guest),	 cmocka_unit_test(this_machine),
		cmocka_unit_test(hostile_trees), cmocka_unit_test(parts),
		cmocka_unit_test(test_topology), cmocka_unit_test(test_list_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
