/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/counting_per.h"

#include <string.h>

#include "base/invariant.h"
#include "collect/sysfs.h"

/* The number of a CPU's unit, in the order in which they shall stand. -1: not known. */
struct unit {
	int64_t socket, die, number;
};

struct per {
	const char *name;
	bool tasks;	/* of tasks, not of CPUs */
	unsigned parts; /* enum machine_part */
	struct unit (*of)(const struct counting *k, uint32_t cpu);
	const char *(*label)(const struct counting *k, struct unit u, uint32_t target);
};

static const struct machine_cpu *place_cpu_of(const struct counting *k, uint32_t cpu)
{
	static const struct machine_cpu unknown = { -1, -1, -1 };

	return k->machine.cpu && cpu < k->machine.cpus_available ? &k->machine.cpu[cpu] : &unknown;
}

static struct unit unit_cpu(const struct counting *k, uint32_t cpu)
{
	(void)k;
	return (struct unit){ 0, 0, cpu };
}

static struct unit unit_core(const struct counting *k, uint32_t cpu)
{
	const struct machine_cpu *c = place_cpu_of(k, cpu);

	return (struct unit){ c->socket, c->die, c->core };
}

static struct unit unit_cluster(const struct counting *k, uint32_t cpu)
{
	const struct machine_cpu *c = place_cpu_of(k, cpu);
	int64_t id;

	if (!sys_number(&id, k->root, "sys/devices/system/cpu/cpu%u/topology/cluster_id", cpu))
		id = -1;
	return (struct unit){ c->socket, c->die, id };
}

static struct unit unit_die(const struct counting *k, uint32_t cpu)
{
	const struct machine_cpu *c = place_cpu_of(k, cpu);

	return (struct unit){ c->socket, c->die, 0 };
}

static struct unit unit_socket(const struct counting *k, uint32_t cpu)
{
	return (struct unit){ place_cpu_of(k, cpu)->socket, 0, 0 };
}

static struct unit unit_node(const struct counting *k, uint32_t cpu)
{
	struct arena a = ARENA_INIT;
	struct unit u = { 0, 0, -1 };

	for (size_t i = 0; i < k->machine.n_nodes && u.number < 0; i++) {
		const char *list = k->machine.node[i].cpus;
		const uint32_t *cpus;
		size_t n;

		if (!list || cpu_list_parse(&a, list, strlen(list), &cpus, &n))
			continue;
		if (cpu_list_has(cpus, n, cpu))
			u.number = k->machine.node[i].id;
	}
	arena_free(&a);
	return u;
}

static const char *label_cpu(const struct counting *k, struct unit u, uint32_t target)
{
	(void)target;
	return arena_printf(k->opts->a, "CPU%lld", (long long)u.number);
}

static const char *label_core(const struct counting *k, struct unit u, uint32_t target)
{
	(void)target;
	return arena_printf(k->opts->a, "S%lld-D%lld-C%lld", (long long)u.socket, (long long)u.die,
			    (long long)u.number);
}

static const char *label_cluster(const struct counting *k, struct unit u, uint32_t target)
{
	(void)target;
	return arena_printf(k->opts->a, "S%lld-D%lld-CLS%lld", (long long)u.socket,
			    (long long)u.die, (long long)u.number);
}

static const char *label_die(const struct counting *k, struct unit u, uint32_t target)
{
	(void)target;
	return arena_printf(k->opts->a, "S%lld-D%lld", (long long)u.socket, (long long)u.die);
}

static const char *label_socket(const struct counting *k, struct unit u, uint32_t target)
{
	(void)target;
	return arena_printf(k->opts->a, "S%lld", (long long)u.socket);
}

static const char *label_node(const struct counting *k, struct unit u, uint32_t target)
{
	(void)target;
	return arena_printf(k->opts->a, "N%lld", (long long)u.number);
}

static struct unit unit_thread(const struct counting *k, uint32_t target)
{
	return (struct unit){ 0, 0, k->who.tasks.v[target] };
}

static const char *label_thread(const struct counting *k, struct unit u, uint32_t target)
{
	char *name = sys_text(k->opts->a, "", "proc/%lld/comm", (long long)u.number);

	(void)target;
	return arena_printf(k->opts->a, "%s-%lld", name ? name : "", (long long)u.number);
}

static struct unit unit_all(const struct counting *k, uint32_t cpu)
{
	(void)k;
	(void)cpu;
	return (struct unit){ 0, 0, 0 };
}

static const char *label_cgroup(const struct counting *k, struct unit u, uint32_t target)
{
	(void)u;
	return arena_strdup(k->opts->a, k->who.cgroup_names.v[target % k->who.cgroup_names.n]);
}

static const struct per kinds[] = {
	{ "thread", true, 0, unit_thread, label_thread },
	{ "cpu", false, 0, unit_cpu, label_cpu },
	{ "core", false, MACHINE_TOPOLOGY, unit_core, label_core },
	{ "cluster", false, MACHINE_TOPOLOGY, unit_cluster, label_cluster },
	{ "die", false, MACHINE_TOPOLOGY, unit_die, label_die },
	{ "socket", false, MACHINE_TOPOLOGY, unit_socket, label_socket },
	{ "node", false, MACHINE_MEMORY, unit_node, label_node },
	{ "cgroup", false, 0, unit_all, label_cgroup },
};

static const struct per *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

unsigned counting_per_parts(const char *name)
{
	const struct per *kind = find_kind(name);

	return kind ? kind->parts : 0;
}

struct member {
	struct unit u;
	uint32_t target, cgroup; /* which of several cgroups */
};

static int by_unit(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	const int64_t d[] = { (int64_t)x->cgroup - (int64_t)y->cgroup, x->u.socket - y->u.socket,
			      x->u.die - y->u.die, x->u.number - y->u.number,
			      (int64_t)x->target - (int64_t)y->target };

	for (size_t i = 0; i < sizeof(d) / sizeof(*d); i++)
		if (d[i])
			return d[i] < 0 ? -1 : 1;
	return 0;
}

static bool same_unit(struct unit a, struct unit b)
{
	return a.socket == b.socket && a.die == b.die && a.number == b.number;
}

static int one_counting_place(const struct counting *k, const struct counting_place **out,
			      size_t *n, size_t targets, struct err *err)
{
	struct counting_place *p = arena_alloc(k->opts->a, sizeof(*p));
	uint32_t *target = arena_alloc(k->opts->a, (targets + 1) * sizeof(*target));

	if (!p || !target)
		return err_nomem(err);
	for (uint32_t i = 0; i < targets; i++)
		target[i] = i;
	*p = (struct counting_place){ .target = target, .n = targets };
	*out = p;
	*n = 1;
	return 0;
}

static int check_kind(const struct counting *k, const struct per *kind, struct err *err)
{
	if (kind->tasks && (k->who.whole_cpus || k->has_program)) {
		(void)err_set(err, ERR_USAGE, "--per thread tells threads apart that are there");
		return err_hint(err, "name them: -p PID or -t TID");
	}
	if (!kind->tasks && !k->who.whole_cpus) {
		(void)err_set(err, ERR_USAGE, "--per %s is for whole CPUs", kind->name);
		return err_hint(err, "add -a, or -C CPUS");
	}
	if (kind->label == label_cgroup && !k->who.cgroups.n) {
		(void)err_set(err, ERR_USAGE, "--per cgroup tells cgroups apart that are named");
		return err_hint(err, "name them: -a -G system.slice,user.slice");
	}
	return 0;
}

int counting_places(const struct counting *k, const struct counting_place **out, size_t *n,
		    struct err *err)
{
	const struct per *kind = k->opts->per ? find_kind(k->opts->per) : NULL;
	uint32_t cgroups = k->who.cgroups.n > 1 ? (uint32_t)k->who.cgroups.n : 1;
	size_t targets =
		k->who.whole_cpus || k->opts->cpu ? k->who.cpus.n * cgroups : k->who.tasks.n;
	struct arena *a = k->opts->a;
	struct counting_place *p;
	struct member *m;
	uint32_t *order;

	if (!kind && cgroups > 1)
		kind = find_kind("cgroup");
	if (!kind)
		return one_counting_place(
			k, out, n,
			k->has_program && !k->who.whole_cpus && !k->opts->cpu ? 1 : targets, err);
	if (check_kind(k, kind, err))
		return -1;
	m = arena_alloc(a, (targets + 1) * sizeof(*m));
	p = arena_alloc(a, (targets + 1) * sizeof(*p));
	order = arena_alloc(a, (targets + 1) * sizeof(*order));
	if (!m || !p || !order)
		return err_nomem(err);
	for (uint32_t i = 0; i < targets; i++) {
		m[i].target = i;
		m[i].u = kind->of(k, kind->tasks ? i : k->who.cpus.v[i / cgroups]);
		m[i].cgroup = i % cgroups;
	}
	if (targets > 1)
		qsort(m, targets, sizeof(*m), by_unit);
	assert(pairs_hold(targets, i, by_unit(&m[i], &m[i + 1]) <= 0));
	*n = 0;
	for (size_t i = 0; i < targets; i++) {
		struct counting_place *last = *n ? &p[*n - 1] : NULL;

		order[i] = m[i].target;
		if (!last || m[i].cgroup != m[i - 1].cgroup || !same_unit(m[i].u, m[i - 1].u)) {
			last = &p[(*n)++];
			last->target = &order[i];
			last->label = kind->label(k, m[i].u, m[i].target);
			if (cgroups > 1 && kind->label != label_cgroup && last->label)
				last->label =
					arena_printf(a, "%s %s", k->who.cgroup_names.v[m[i].cgroup],
						     last->label);
			if (!last->label)
				return err_nomem(err);
		}
		last->n++;
		last->n_cpus = kind->tasks || kind->label == label_cgroup ? 0 : last->n;
	}
	*out = p;
	return 0;
}
