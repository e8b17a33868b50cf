/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which counters there are, which CPU reads them, and which are free.
 */
#include "collect/msr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/counters/counter_int.h"
#include "collect/counters/msr_int.h"
#include "collect/sysfs.h"

static const struct msr_form forms[MSR_UNITS] = {
#define MSR_UNIT(id, pmu, each, first, n, on, most) { pmu, MSR_EACH_##each, first, n, on, most },
#include "collect/counters/msr_unit.def"
#undef MSR_UNIT
};

#define PERFMON_LEAF 0x80000022u

/* ---- the machine ---- */

/* A tree of another machine shall never decide on this one's registers. */
static int same_machine(const struct msr *m, struct err *err)
{
	struct machine own;

	if (!*m->root)
		return 0;
	if (machine_read_parts(&own, m->a, "", MACHINE_MODEL, err))
		return -1;
	if (own.cpuid && m->machine->cpuid && !strcmp(own.cpuid, m->machine->cpuid))
		return 0;
	(void)err_set(err, ERR_UNSUPPORTED, "%s describes another machine than this one", m->root);
	return err_hint(err, "registers are always this machine's: leave --sysroot out");
}

static int check_machine(const struct msr *m, struct err *err)
{
	const struct machine *mc = m->machine;

	if (!mc->vendor || strcmp(mc->vendor, "AuthenticAMD") != 0 || mc->family < 0x17) {
		(void)err_set(err, ERR_UNSUPPORTED,
			      "registers are known of AMD Zen only, not of %s",
			      mc->cpuid ? mc->cpuid : "this CPU");
		return err_hint(err, !mc->vendor || strcmp(mc->vendor, "GenuineIntel") != 0
					     ? "--backend perf counts with the kernel's PMUs"
					     : "Intel's memory controllers and links are no such "
					       "registers; --backend perf counts them");
	}
	return same_machine(m, err);
}

bool msr_is_zen4(const struct machine *m)
{
	uint32_t model = m->model;

	return m->family >= 0x1a || (m->family == 0x19 && ((model >= 0x10 && model <= 0x1f) ||
							   (model >= 0x60 && model <= 0x7f) ||
							   (model >= 0xa0 && model <= 0xaf)));
}

/* The counters beside the cores' by CPUID, on a CPU; false: nothing. */
static bool perfmon_leaf(uint32_t cpu, uint32_t leaf[4])
{
	char path[64];
	bool there;
	int fd;

	(void)snprintf(path, sizeof(path), "/dev/cpu/%u/cpuid", (unsigned)cpu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	there = pread(fd, leaf, 4 * sizeof(*leaf), (off_t)PERFMON_LEAF) ==
			(ssize_t)(4 * sizeof(*leaf)) &&
		leaf[0] & 1;
	(void)close(fd);
	return there;
}

/* CPUID has the number of fabric counters; without its device, only those that every CPU has are
 * used. */
static void find_v2(struct msr *m)
{
	uint32_t leaf[4] = { 0 };
	unsigned n;

	m->v2 = msr_is_zen4(m->machine);
	if (!m->v2 || !perfmon_leaf(0, leaf))
		return;
	n = leaf[1] >> 10 & 63;
	if (n >= forms[MSR_DF].n)
		m->n_of[MSR_DF] = n < MSR_SLOTS ? n : MSR_SLOTS;
}

/* ---- places ---- */

static int64_t l3_of_cpu(const struct msr *m, uint32_t cpu)
{
	int64_t level, id;

	for (unsigned i = 0; i < 8; i++)
		if (sys_number(&level, m->root, "sys/devices/system/cpu/cpu%u/cache/index%u/level",
			       (unsigned)cpu, i) &&
		    level == 3 &&
		    sys_number(&id, m->root, "sys/devices/system/cpu/cpu%u/cache/index%u/id",
			       (unsigned)cpu, i))
			return id;
	return -1;
}

/* The key of CPUs that share a set of counters; -1: not known. */
static int64_t unit_key(const struct msr *m, enum msr_each each, uint32_t target)
{
	uint32_t cpu = m->cpus[target];
	const struct machine_cpu *c =
		m->machine->cpu && cpu < m->machine->cpus_available ? &m->machine->cpu[cpu] : NULL;

	switch (each) {
	case MSR_EACH_CPU:
		return target;
	case MSR_EACH_L3:
		return l3_of_cpu(m, cpu);
	case MSR_EACH_SOCKET:
		return c ? c->socket : -1;
	default:
		return !c || c->socket < 0 ? -1 : (int64_t)c->socket << 32 | (uint32_t)c->die;
	}
}

static void look_at_place(struct msr *m, unsigned u, struct msr_place *p)
{
	int fd = m->fd[p->target];

	for (unsigned s = 0; s < m->n_of[u]; s++) {
		uint64_t v;
		const char *why = msr_read(fd, msr_ctl(m, u, s), &v);

		if (why)
			p->why = p->why ? p->why : why;
		else if (v & msr_enable(msr_ctl(m, u, s)))
			m->held++;
		else
			p->free |= 1u << s;
	}
	if (!p->free && !p->why && m->n_of[u])
		p->why = "other programs, or the kernel, hold all of its counters";
	if (p->free)
		p->why = NULL;
}

static int find_msr_places(struct msr *m, unsigned u, struct err *err)
{
	int64_t *key = arena_alloc(m->a, (m->n + 1) * sizeof(*key));
	struct msr_place *p = arena_alloc(m->a, (m->n + 1) * sizeof(*p));

	if (!key || !p)
		return err_nomem(err);
	for (uint32_t t = 0; t < m->n; t++) {
		int64_t k = unit_key(m, m->form[u].each, t);
		size_t i = 0;

		while (m->form[u].each != MSR_EACH_CPU && i < m->n_places[u] && key[i] != k)
			i++;
		if (m->form[u].each == MSR_EACH_CPU)
			i = m->n_places[u];
		if (k < 0 || m->fd[t] < 0 || i < m->n_places[u])
			continue;
		key[i] = k;
		p[i] = (struct msr_place){ .target = t };
		look_at_place(m, u, &p[i]);
		m->n_places[u]++;
	}
	m->place[u] = p;
	return 0;
}

/* The active memory controllers of a socket, with the kernel's numbers, which go on from one socket
 * to the next. Each has its share of the counters in CPUID. */
static int add_umcs(struct msr *m, uint32_t target, struct err *err)
{
	uint32_t leaf[4] = { 0 };
	unsigned n, each;

	if (!perfmon_leaf(m->cpus[target], leaf))
		return 0;
	n = (unsigned)__builtin_popcount(leaf[2]);
	each = n ? (leaf[1] >> 16 & 63) / n : 0;
	if (!each || each > MSR_SLOTS)
		return 0;
	for (unsigned i = 0; i < n && m->n_units < MSR_UNITS_MAX; i++) {
		unsigned u = m->n_units;

		m->form[u] = forms[MSR_UMC];
		m->form[u].pmu = arena_printf(m->a, "amd_umc_%u", u - MSR_UNITS);
		m->form[u].first += 2 * each * i;
		m->n_of[u] = each;
		m->place[u] = arena_alloc(m->a, sizeof(**m->place));
		if (!m->form[u].pmu || !m->place[u])
			return err_nomem(err);
		*m->place[u] = (struct msr_place){ .target = target };
		m->n_places[u] = 1;
		m->n_units++;
		look_at_place(m, u, m->place[u]);
	}
	return 0;
}

static int find_umcs(struct msr *m, struct err *err)
{
	if (find_msr_places(m, MSR_UMC, err))
		return -1;
	for (size_t i = 0; i < m->n_places[MSR_UMC]; i++)
		if (add_umcs(m, m->place[MSR_UMC][i].target, err))
			return -1;
	m->n_places[MSR_UMC] = 0;
	return 0;
}

static int open_files(struct msr *m, struct err *err)
{
	size_t open = 0;

	m->fd = arena_alloc(m->a, (m->n + 1) * sizeof(*m->fd));
	if (!m->fd)
		return err_nomem(err);
	for (size_t i = 0; i < m->n; i++)
		m->fd[i] = -1;
	counter_raise_files(m->n + 64);
	for (size_t i = 0; i < m->n; i++) {
		struct err e = ERR_INIT;

		m->fd[i] = msr_file_open(m->cpus[i], &e);
		open += m->fd[i] >= 0;
		/* a CPU that went offline leaves the others */
		if (m->fd[i] < 0 && (!i || e.sys_errno != ENXIO)) {
			*err = e;
			return -1;
		}
	}
	return open ? 0 : err_set(err, ERR_NOT_FOUND, "no CPU has registers");
}

int msr_open(struct msr **out, struct arena *a, const char *root, const struct machine *machine,
	     const uint32_t *cpus, size_t n, struct err *err)
{
	struct msr *m = arena_alloc(a, sizeof(*m));

	*out = NULL;
	if (!m)
		return err_nomem(err);
	*m = (struct msr){ .a = a, .root = root, .machine = machine, .cpus = cpus, .n = n };
	m->n_units = MSR_UNITS;
	for (int u = 0; u < MSR_UNITS; u++) {
		m->form[u] = forms[u];
		m->n_of[u] = forms[u].n;
	}
	if (check_machine(m, err) || open_files(m, err))
		goto fail;
	find_v2(m);
	for (unsigned u = 0; u < MSR_UMC; u++)
		if (find_msr_places(m, u, err))
			goto fail;
	if (m->v2 && find_umcs(m, err))
		goto fail;
	*out = m;
	return 0;
fail:
	msr_close(m);
	return -1;
}

size_t msr_room(const struct msr *m, const char *pmu)
{
	for (unsigned u = 0; u < m->n_units; u++) {
		size_t room = MSR_SLOTS;

		if (strcmp(m->form[u].pmu, pmu) != 0)
			continue;
		if (u == MSR_CLOCK)
			return SIZE_MAX;
		for (size_t i = 0; i < m->n_places[u]; i++) {
			size_t n = (size_t)__builtin_popcount(m->place[u][i].free);

			room = n && n < room ? n : room;
		}
		return room;
	}
	return 1;
}

size_t msr_held(const struct msr *m)
{
	return m->held;
}

const char *msr_no_plan(const struct msr *m)
{
	return m->no_plan;
}

void msr_close(struct msr *m)
{
	if (!m)
		return;
	msr_guard_close(m);
	for (size_t i = 0; m->fd && i < m->n; i++)
		if (m->fd[i] >= 0)
			(void)close(m->fd[i]);
	m->fd = NULL;
}
