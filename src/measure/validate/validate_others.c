/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPUs that have lines before the kernels read them: one of each kind of place.
 */
#include <string.h>

#include "base/cpu_list.h"
#include "collect/machine.h"
#include "measure/validate.h"

const char *const validate_pair_key[VALIDATE_PAIRS] = {
	[PAIR_NONE] = "",
	[PAIR_CORE] = "same core",
	[PAIR_L3] = "same L3 cache",
	[PAIR_SOCKET] = "another L3 cache of the socket",
	[PAIR_REMOTE] = "another socket",
};

struct looking {
	struct arena *a;
	const struct machine *m;
	unsigned cpu;
};

/* Both CPUs are in the list. */
static bool both(const struct looking *l, const char *text, uint32_t other)
{
	const uint32_t *list;
	size_t n;

	return text && !cpu_list_parse(l->a, text, strlen(text), &list, &n) &&
	       cpu_list_has(list, n, l->cpu) && cpu_list_has(list, n, other);
}

static bool same_core(const struct looking *l, uint32_t other)
{
	for (size_t i = 0; i < l->m->n_thread_siblings; i++)
		if (both(l, l->m->thread_siblings[i], other))
			return true;
	return false;
}

static bool same_l3(const struct looking *l, uint32_t other, bool *any)
{
	*any = false;
	for (size_t i = 0; i < l->m->n_caches; i++) {
		if (l->m->cache[i].level != 3)
			continue;
		*any = true;
		if (both(l, l->m->cache[i].cpus, other))
			return true;
	}
	return false;
}

static bool same_node(const struct looking *l, uint32_t other)
{
	for (size_t i = 0; i < l->m->n_nodes; i++)
		if (both(l, l->m->node[i].cpus, other))
			return true;
	return l->m->n_nodes < 2;
}

static enum validate_pair kind_of_other(const struct looking *l, uint32_t other)
{
	const struct machine_cpu *cpu = l->m->cpu;
	bool any;

	if (!cpu || other >= l->m->cpus_available || cpu[other].socket < 0 ||
	    cpu[l->cpu].socket < 0)
		return PAIR_NONE;
	if (same_core(l, other))
		return PAIR_CORE;
	if (cpu[other].socket != cpu[l->cpu].socket)
		return PAIR_REMOTE;
	if (same_l3(l, other, &any))
		return PAIR_L3;
	return any && same_node(l, other) ? PAIR_SOCKET : PAIR_NONE;
}

void validate_others(struct validate_opts *o, struct arena *a, const struct machine *m,
		     unsigned cpu, const uint32_t *cpus, size_t n)
{
	const struct looking l = { a, m, cpu };

	memset(o->other, 0, sizeof(o->other));
	o->no_other = m->hypervisor ? "where CPUs of a virtual machine are is not known" : NULL;
	if (m->hypervisor || cpu >= m->cpus_available)
		return;
	for (size_t i = 0; i < n; i++) {
		enum validate_pair pair = cpus[i] == cpu ? PAIR_NONE : kind_of_other(&l, cpus[i]);

		if (pair && !o->other[pair])
			o->other[pair] = 1 + cpus[i];
	}
}
