/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts that formulas ask for. What cannot be found out is NAN, and what needs it says so.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "cli/drill.h"
#include "collect/sysfs.h"
#include "collect/tsc.h"

static bool is_online(const struct machine *m, uint32_t cpu)
{
	for (uint32_t i = 0; i < m->cpus_online; i++)
		if (m->online[i] == cpu)
			return true;
	return false;
}

/* Different (socket, die, core) among the CPUs that are online; NAN where one is not known. */
static double different(const struct machine *m, bool die, bool core)
{
	double n = 0;

	for (uint32_t i = 0; i < m->cpus_available; i++) {
		const struct machine_cpu *a = &m->cpu[i];
		bool fresh = true;

		if (!is_online(m, i))
			continue;
		if (a->socket < 0 || (core && a->core < 0))
			return NAN;
		for (uint32_t j = 0; j < i && fresh; j++) {
			const struct machine_cpu *b = &m->cpu[j];

			fresh = !is_online(m, j) || a->socket != b->socket ||
				(die && a->die != b->die) || (core && a->core != b->core);
		}
		n += fresh;
	}
	return n > 0 ? n : NAN;
}

static double smt_on(const struct drill *d, const struct machine *m, double cores)
{
	int64_t active;

	if (sys_number(&active, d->root, "sys/devices/system/cpu/smt/active"))
		return active ? 1 : 0;
	return isnan(cores) ? NAN : m->cpus_online > cores;
}

static bool counted_here(const struct counting *k, uint32_t cpu)
{
	for (size_t i = 0; i < k->who.cpus.n; i++)
		if (k->who.cpus.v[i] == cpu)
			return true;
	return false;
}

/* Every thread of every core that is counted is counted. */
static double core_wide(const struct counting *k, double smt)
{
	const struct machine *m = &k->machine;

	if (!k->who.whole_cpus || k->who.cgroup_fd >= 0)
		return 0;
	if (smt == 0)
		return 1;
	for (uint32_t i = 0; i < m->cpus_available; i++)
		for (size_t c = 0; c < k->who.cpus.n; c++) {
			uint32_t cpu = k->who.cpus.v[c];

			if (cpu < m->cpus_available && is_online(m, i) && !counted_here(k, i) &&
			    m->cpu[cpu].core == m->cpu[i].core &&
			    m->cpu[cpu].socket == m->cpu[i].socket &&
			    m->cpu[cpu].die == m->cpu[i].die)
				return 0;
		}
	return 1;
}

/* "@ 2.60GHz" of the CPU's name is the frequency of its time-stamp counter. */
static double hz_of_name(const char *name)
{
	const char *at = name ? strstr(name, "@ ") : NULL;
	char *end;
	double ghz = at ? strtod(at + 2, &end) : 0;

	return ghz > 0 && !strncmp(end, "GHz", 3) ? ghz * 1e9 : NAN;
}

static double tsc_frequency(const struct drill *d, const struct machine *m)
{
	int64_t khz;
	double hz;

	if (sys_number(&khz, d->root, "sys/devices/system/cpu/cpu0/tsc_freq_khz") && khz > 0)
		return (double)khz * 1e3;
	hz = *d->root ? NAN : tsc_hz();
	return isnan(hz) ? hz_of_name(m->cpu_desc) : hz;
}

static double slots_of_arm(const struct machine *m)
{
	for (size_t i = 0; i < m->n_pmus; i++)
		for (size_t c = 0; c < m->pmu[i].n_caps; c++)
			if (!strcmp(m->pmu[i].cap_name[c], "slots"))
				return (double)strtoul(m->pmu[i].cap_value[c], NULL, 0);
	return NAN;
}

void drill_facts(double system[SYSTEM_COUNT], const struct drill *d, const struct counting *k)
{
	const struct machine *m = &k->machine;
	double cores = different(m, true, true);

	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = NAN;
	system[SYSTEM_SMT_ON] = smt_on(d, m, cores);
	system[SYSTEM_CORE_WIDE] = core_wide(k, system[SYSTEM_SMT_ON]);
	system[SYSTEM_CPUS] = m->cpus_available;
	system[SYSTEM_CPUS_ONLINE] = m->cpus_online;
	system[SYSTEM_CORES] = cores;
	system[SYSTEM_DIES] = different(m, true, false);
	system[SYSTEM_PACKAGES] = different(m, false, false);
	system[SYSTEM_THREADS_PER_CORE] = isnan(cores)		      ? NAN
					  : system[SYSTEM_SMT_ON] > 0 ? ceil(m->cpus_online / cores)
								      : 1;
	system[SYSTEM_TSC_FREQ] = tsc_frequency(d, m);
	system[SYSTEM_SLOTS] = slots_of_arm(m);
	system[SYSTEM_HAS_PMEM] = sys_exists(d->root, "sys/firmware/acpi/tables/NFIT") ? 1 : 0;
}

void drill_times(double system[SYSTEM_COUNT], const struct drill *d, double seconds, size_t lps)
{
	(void)d;
	system[SYSTEM_DURATION] = seconds;
	system[SYSTEM_TSC] = system[SYSTEM_TSC_FREQ] * seconds * (double)lps;
}
