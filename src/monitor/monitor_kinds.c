/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of cores: most CPUs have one, hybrids several, each with a PMU, a model, rows and free
 * counters of its own.
 */
#include <string.h>

#include "collect/sysfs.h"
#include "monitor/monitor_int.h"
#include "plan/plan.h"

/* A kind whose CPUs are not watched is left out. */
static bool is_watched(const struct monitor *m, const struct core_kind *k)
{
	if (!k->cpus || !m->k.who.cpus.n)
		return true;
	for (size_t i = 0; i < m->k.who.cpus.n; i++)
		if (cpu_list_has(k->cpus, k->n_cpus, m->k.who.cpus.v[i]))
			return true;
	return false;
}

static void add_kind(struct monitor *m, size_t pmu, size_t *found)
{
	const struct machine_pmu *p = &m->k.machine.pmu[pmu];
	struct core_kind k = { .pmu = p->name };
	struct rows *r = m->rows;

	if (r->n_kinds == CORE_KINDS || !sys_core_pmu(m->k.root, p->name))
		return;
	++*found;
	if (p->cpus && strcmp(p->name, "cpu") != 0 &&
	    cpu_list_parse(&r->a, p->cpus, strlen(p->cpus), &k.cpus, &k.n_cpus))
		k.cpus = NULL;
	k.pmu = arena_strdup(&r->a, p->name);
	if (k.pmu && is_watched(m, &k))
		r->kind[r->n_kinds++] = k;
}

/* The large cores first, as elsewhere; "cpu" if the machine names no PMU of cores. */
static void find_core_kinds(struct monitor *m)
{
	struct rows *r = m->rows;
	size_t found = 0;

	for (int large = 1; large >= 0; large--)
		for (size_t i = 0; i < m->k.machine.n_pmus; i++)
			if (large == !strcmp(m->k.machine.pmu[i].name, "cpu_core"))
				add_kind(m, i, &found);
	if (!r->n_kinds)
		r->kind[r->n_kinds++].pmu = "cpu";
	r->hybrid = found > 1;
}

/* Free counters are tried out once for a model and its groups, but not registers: the kernel does
 * not give these. */
static struct plan_scope monitor_scope(const struct monitor *m)
{
	struct plan_scope s = counting_scope(&m->k);

	s.tries &= s.n_cpus && m->opts->backend != MONITOR_MSR;
	return s;
}

/* The model is this machine's; without one, rows for any machine are left. */
static int load_kind(struct monitor *m, struct core_kind *k, struct err *err)
{
	const struct model_choice *c = &m->opts->opts->model;
	struct model_sources sources = model_choice_sources(c);
	const struct plan_scope scope = monitor_scope(m);
	struct err why = ERR_INIT;

	if (plan_model(&k->model, &k->limits, c, &scope, k->pmu, k->system, &why)) {
		if (why.code != ERR_NOT_FOUND && why.code != ERR_UNSUPPORTED) {
			*err = why;
			return -1;
		}
		k->model = NULL;
		k->why = arena_strdup(&m->rows->a, why.what);
	}
	return set_load(&k->set, &m->rows->a, &sources, k->model ? k->model->id : NULL, err);
}

int monitor_kinds(struct monitor *m, struct err *err)
{
	const struct plan_scope scope = monitor_scope(m);
	double system[SYSTEM_COUNT];
	struct rows *r = m->rows;

	plan_facts(system, &scope);
	if (!r->read)
		find_core_kinds(m);
	for (size_t i = 0; i < r->n_kinds; i++) {
		struct core_kind *k = &r->kind[i];
		double no_slots = k->system[SYSTEM_NO_SLOTS];

		memcpy(k->system, system, sizeof(system));
		if (!r->read) {
			if (load_kind(m, k, err))
				return -1;
			continue;
		}
		k->system[SYSTEM_NO_SLOTS] = no_slots; /* of the model that was loaded by it */
		if (k->model)
			plan_limits(&k->limits, k->model, &scope, k->pmu,
				    system[SYSTEM_SMT_ON] > 0);
	}
	r->read = true;
	return 0;
}

const struct core_kind *monitor_kind_of(const struct monitor *m, const char *pmu)
{
	for (size_t i = 0; i < m->rows->n_kinds; i++)
		if (!m->rows->hybrid || !strcmp(m->rows->kind[i].pmu, pmu))
			return &m->rows->kind[i];
	return NULL;
}

const struct core_kind *monitor_kind_at(const struct monitor *m, uint32_t cpu)
{
	for (size_t i = 0; i < m->rows->n_kinds; i++) {
		const struct core_kind *k = &m->rows->kind[i];

		if (!k->cpus || cpu_list_has(k->cpus, k->n_cpus, cpu))
			return k;
	}
	return NULL;
}
