/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine, its sockets (of several dies each: their dies), its L3 caches, cores and CPUs. L3
 * caches have the kernel's numbers, never those of a rule: a die may have two.
 */
#include "collect/sysfs.h"
#include "monitor/monitor_int.h"

static int32_t l3_of(const struct monitor *m, uint32_t cpu)
{
	int64_t level, id;

	for (unsigned i = 0; i < 8; i++) {
		if (!sys_number(&level, m->k.root,
				"sys/devices/system/cpu/cpu%u/cache/index%u/level", (unsigned)cpu,
				i) ||
		    level != 3)
			continue;
		if (sys_number(&id, m->k.root, "sys/devices/system/cpu/cpu%u/cache/index%u/id",
			       (unsigned)cpu, i) &&
		    id >= 0 && id < INT32_MAX)
			return (int32_t)id;
	}
	return -1;
}

static bool same_place(enum place_kind kind, const struct place *a, const struct place *b)
{
	switch (kind) {
	case PLACE_HOST:
		return true;
	case PLACE_SOCKET:
		return a->socket == b->socket && a->die == b->die;
	case PLACE_KIND:
		return a->of_kind == b->of_kind;
	case PLACE_L3:
		return a->l3 == b->l3;
	case PLACE_CORE:
		return a->socket == b->socket && a->die == b->die && a->core == b->core;
	default:
		return a->cpu == b->cpu;
	}
}

/* The target joins the place that is like it, or begins one. */
static int join_place(struct monitor *m, enum place_kind kind, const struct place *like,
		      uint32_t target, struct err *err)
{
	struct places *of = &m->of[kind];
	struct place *p;
	size_t i = 0;

	while (i < of->place.n && !same_place(kind, &of->place.v[i], like))
		i++;
	if (i == of->place.n && vec_push(&of->place, *like))
		return err_nomem(err);
	p = &of->place.v[i];
	if (!p->target) {
		p->target = arena_alloc(m->a, m->targets * sizeof(*p->target));
		if (!p->target)
			return err_nomem(err);
	}
	p->target[p->n_targets++] = target;
	return 0;
}

static void of_kind(const struct monitor *m, struct place *p, uint32_t cpu)
{
	const struct core_kind *k = m->rows->hybrid ? monitor_kind_at(m, cpu) : NULL;

	if (!k)
		return;
	p->of_kind = (size_t)(k - m->rows->kind);
	p->kind = k->pmu;
}

int monitor_places(struct monitor *m, struct err *err)
{
	const struct machine *mc = &m->k.machine;

	m->targets = m->k.who.cpus.n;
	if (monitor_cgroups(m, err))
		return -1;
	for (uint32_t t = 0; t < m->targets; t++) {
		uint32_t cpu = m->k.who.cpus.v[t];
		struct place p = { .cpu = (int32_t)cpu,
				   .core = -1,
				   .socket = -1,
				   .die = -1,
				   .l3 = l3_of(m, cpu),
				   .instance = "",
				   .box = SIZE_MAX,
				   .of_kind = ANY_KIND };

		if (mc->cpu && cpu < mc->cpus_available) {
			p.core = mc->cpu[cpu].core;
			p.socket = mc->cpu[cpu].socket;
			p.die = mc->cpu[cpu].die;
		}
		if (join_place(m, PLACE_HOST, &p, t, err) ||
		    join_place(m, PLACE_SOCKET, &p, t, err))
			return -1;
		of_kind(m, &p, cpu);
		if ((p.kind && join_place(m, PLACE_KIND, &p, t, err)) ||
		    (p.l3 >= 0 && join_place(m, PLACE_L3, &p, t, err)) ||
		    (p.core >= 0 && join_place(m, PLACE_CORE, &p, t, err)) ||
		    join_place(m, PLACE_CPU, &p, t, err))
			return -1;
	}
	return 0;
}
