/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts that formulas ask for. What cannot be found out is NAN, and what needs it says so.
 */
#include <math.h>

#include "collect/sysfs.h"
#include "collect/topology.h"
#include "collect/tsc.h"
#include "measure/drill.h"

/* Every thread of every core that is counted is counted. */
static double core_wide(const struct counting *k, double smt)
{
	const struct machine *m = &k->machine;

	if (!k->who.whole_cpus || k->who.cgroup_fd >= 0)
		return 0;
	if (smt == 0)
		return 1;
	for (uint32_t i = 0; i < m->cpus_online; i++) {
		uint32_t other = m->online[i];

		if (other >= m->cpus_available || cpu_list_has(k->who.cpus.v, k->who.cpus.n, other))
			continue;
		for (size_t c = 0; c < k->who.cpus.n; c++) {
			uint32_t cpu = k->who.cpus.v[c];

			if (cpu < m->cpus_available && m->cpu[cpu].core == m->cpu[other].core &&
			    m->cpu[cpu].socket == m->cpu[other].socket &&
			    m->cpu[cpu].die == m->cpu[other].die)
				return 0;
		}
	}
	return 1;
}

static double tsc_frequency(const struct drill *d, const struct machine *m)
{
	int64_t khz;
	double hz;

	if (sys_number(&khz, d->root, "sys/devices/system/cpu/cpu0/tsc_freq_khz") && khz > 0)
		return (double)khz * 1e3;
	hz = *d->root ? NAN : tsc_hz();
	return isnan(hz) ? tsc_hz_of_name(m->cpu_desc) : hz;
}

void drill_facts(double system[SYSTEM_COUNT], const struct drill *d, const struct counting *k)
{
	const struct machine *m = &k->machine;
	struct topology t;

	topology_of(&t, m, d->root);
	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = NAN;
	system[SYSTEM_SMT_ON] = t.smt;
	system[SYSTEM_CORE_WIDE] = core_wide(k, t.smt);
	system[SYSTEM_CPUS] = m->cpus_available;
	system[SYSTEM_CPUS_ONLINE] = m->cpus_online;
	system[SYSTEM_CORES] = t.cores;
	system[SYSTEM_DIES] = t.dies;
	system[SYSTEM_PACKAGES] = t.packages;
	system[SYSTEM_THREADS_PER_CORE] = t.threads_per_core;
	system[SYSTEM_TSC_FREQ] = tsc_frequency(d, m);
	system[SYSTEM_SLOTS] = t.slots;
	system[SYSTEM_HAS_PMEM] = sys_exists(d->root, "sys/firmware/acpi/tables/NFIT") ? 1 : 0;
}

void drill_times(double system[SYSTEM_COUNT], const struct drill *d, double seconds, size_t lps)
{
	(void)d;
	system[SYSTEM_DURATION] = seconds;
	system[SYSTEM_TSC] = system[SYSTEM_TSC_FREQ] * seconds * (double)lps;
}
