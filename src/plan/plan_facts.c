/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts that formulas ask for. A fact that is not known is NAN; values that need it have that as
 * their reason.
 */
#include <math.h>

#include "base/cpu_list.h"
#include "collect/sysfs.h"
#include "collect/topology.h"
#include "collect/tsc.h"
#include "plan/plan.h"

/* 1: each core that is counted is counted with all of its threads. */
static double core_wide(const struct plan_scope *s, double smt)
{
	const struct machine *m = s->machine;

	if (!s->cpus || s->cgroup)
		return 0;
	if (smt == 0)
		return 1;
	for (uint32_t i = 0; i < m->cpus_online; i++) {
		uint32_t other = m->online[i];

		if (other >= m->cpus_available || cpu_list_has(s->cpus, s->n_cpus, other))
			continue;
		for (size_t c = 0; c < s->n_cpus; c++) {
			uint32_t cpu = s->cpus[c];

			if (cpu < m->cpus_available && m->cpu[cpu].core == m->cpu[other].core &&
			    m->cpu[cpu].socket == m->cpu[other].socket &&
			    m->cpu[cpu].die == m->cpu[other].die)
				return 0;
		}
	}
	return 1;
}

static double tsc_frequency(const struct plan_scope *s)
{
	int64_t khz;
	double hz;

	if (sys_number(&khz, s->root, "sys/devices/system/cpu/cpu0/tsc_freq_khz") && khz > 0)
		return (double)khz * 1e3;
	hz = *s->root ? NAN : tsc_hz();
	return isnan(hz) ? tsc_hz_of_name(s->machine->cpu_desc) : hz;
}

void plan_facts(double system[SYSTEM_COUNT], const struct plan_scope *s)
{
	const struct machine *m = s->machine;
	struct topology t;

	topology_of(&t, m, s->root);
	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = NAN;
	system[SYSTEM_SMT_ON] = t.smt;
	system[SYSTEM_CORE_WIDE] = core_wide(s, t.smt);
	system[SYSTEM_CPUS] = m->cpus_available;
	system[SYSTEM_CPUS_ONLINE] = m->cpus_online;
	system[SYSTEM_CORES] = t.cores;
	system[SYSTEM_DIES] = t.dies;
	system[SYSTEM_PACKAGES] = t.packages;
	system[SYSTEM_THREADS_PER_CORE] = t.threads_per_core;
	system[SYSTEM_TSC_FREQ] = tsc_frequency(s);
	system[SYSTEM_SLOTS] = t.slots;
	system[SYSTEM_HAS_PMEM] = sys_exists(s->root, "sys/firmware/acpi/tables/NFIT") ? 1 : 0;
}

void plan_times(double system[SYSTEM_COUNT], double seconds, size_t lps)
{
	system[SYSTEM_DURATION] = seconds;
	system[SYSTEM_TSC] = system[SYSTEM_TSC_FREQ] * seconds * (double)lps;
}
