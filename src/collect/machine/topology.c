/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect/sysfs.h"

static const struct machine_cpu *online_cpu(const struct machine *m, uint32_t i)
{
	static const struct machine_cpu nowhere = { -1, -1, -1 };

	return m->online[i] < m->cpus_available ? &m->cpu[m->online[i]] : &nowhere;
}

/* Different (socket, die, core); NAN if one is not known. */
static double different(const struct machine *m, bool die, bool core)
{
	double n = 0;

	for (uint32_t i = 0; i < m->cpus_online; i++) {
		const struct machine_cpu *a = online_cpu(m, i);
		bool fresh = true;

		if (a->socket < 0 || (core && a->core < 0))
			return NAN;
		for (uint32_t j = 0; j < i && fresh; j++) {
			const struct machine_cpu *b = online_cpu(m, j);

			fresh = a->socket != b->socket || (die && a->die != b->die) ||
				(core && a->core != b->core);
		}
		n += fresh;
	}
	return n > 0 ? n : NAN;
}

static double smt_on(const struct machine *m, const char *root, double cores)
{
	int64_t active;

	if (sys_number(&active, root, "sys/devices/system/cpu/smt/active"))
		return active ? 1 : 0;
	return isnan(cores) ? NAN : m->cpus_online > cores;
}

static double slots_of_arm(const struct machine *m)
{
	for (size_t i = 0; i < m->n_pmus; i++)
		for (size_t c = 0; c < m->pmu[i].n_caps; c++)
			if (!strcmp(m->pmu[i].cap_name[c], "slots"))
				return (double)strtoul(m->pmu[i].cap_value[c], NULL, 0);
	return NAN;
}

void topology_of(struct topology *t, const struct machine *m, const char *root)
{
	t->cores = different(m, true, true);
	t->dies = different(m, true, false);
	t->packages = different(m, false, false);
	t->smt = smt_on(m, root, t->cores);
	t->threads_per_core = isnan(t->cores) ? NAN
			      : t->smt > 0    ? ceil(m->cpus_online / t->cores)
					      : 1;
	t->slots = slots_of_arm(m);
}
