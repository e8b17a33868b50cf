/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine_cpu - the CPUs and their connections: model, topology, caches.
 */
#include "collect/machine/machine_int.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "base/vec.h"
#include "collect/sysfs.h"

#define CACHE_INDEXES 10u /* index0 to index9: as far as perf looks */

/* Keys of /proc/cpuinfo under which architectures put the name of the CPU, most telling first. */
static const char *const desc_keys[] = { "model name", "Model Name", "Processor", "cpu model",
					 "cpu",	       "cpu type",   "uarch" };

static const struct {
	uint32_t code;
	const char *name;
} implementers[] = {
	{ 0x41, "ARM" },       { 0x42, "Broadcom" }, { 0x43, "Cavium" }, { 0x46, "Fujitsu" },
	{ 0x48, "HiSilicon" }, { 0x4e, "NVIDIA" },   { 0x50, "APM" },	 { 0x51, "Qualcomm" },
	{ 0x53, "Samsung" },   { 0x56, "Marvell" },  { 0x61, "Apple" },	 { 0x6d, "Microsoft" },
	{ 0xc0, "Ampere" },
};

/* The value with runs of blanks made one, as perf stores it. */
static char *squeeze(struct arena *a, const char *v, size_t n)
{
	char *s = arena_strndup(a, v, n), *to = s;

	if (!s)
		return NULL;
	for (const char *from = s; *from; from++)
		if (*from != ' ' || (from[1] != ' ' && from[1]))
			*to++ = *from;
	*to = 0;
	return s;
}

static bool field_u32(const char *text, size_t len, const char *key, uint32_t *out)
{
	const char *v;
	size_t n;
	int64_t x;

	if (!text_field(text, len, key, ':', &v, &n) || !text_number(&x, v, n) || x < 0 ||
	    x > UINT32_MAX)
		return false;
	*out = (uint32_t)x;
	return true;
}

static bool has_flag(const char *v, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if (!memcmp(v + i, word, len) && (!i || v[i - 1] == ' ') &&
		    (i + len == n || v[i + len] == ' '))
			return true;
	return false;
}

static int cpuinfo_x86(struct machine *m, struct arena *a, const char *text, size_t len,
		       const char *v, size_t n)
{
	m->vendor = arena_strndup(a, v, n);
	if (!m->vendor)
		return -1;
	if (!field_u32(text, len, "cpu family", &m->family) ||
	    !field_u32(text, len, "model", &m->model) ||
	    !field_u32(text, len, "stepping", &m->stepping))
		return 0;
	m->cpuid = arena_printf(a, "%s,%u,%u,%u", m->vendor, m->family, m->model, m->stepping);
	return m->cpuid ? 0 : -1;
}

/* The main ID register put together from its parts, for kernels that do not show it whole. */
static int cpuinfo_arm(struct machine *m, struct arena *a, const char *text, size_t len)
{
	uint32_t implementer, variant, part, revision;

	if (!field_u32(text, len, "CPU implementer", &implementer) ||
	    !field_u32(text, len, "CPU variant", &variant) ||
	    !field_u32(text, len, "CPU part", &part) ||
	    !field_u32(text, len, "CPU revision", &revision))
		return 0;
	for (size_t i = 0; i < sizeof(implementers) / sizeof(implementers[0]); i++)
		if (implementers[i].code == implementer)
			m->vendor = implementers[i].name;
	(void)field_u32(text, len, "CPU architecture", &m->family);
	m->model = part;
	m->stepping = (variant & 0xf) << 4 | (revision & 0xf);
	m->cpuid = arena_printf(a, "0x%016x",
				(implementer & 0xff) << 24 | (variant & 0xf) << 20 | 0xf << 16 |
					(part & 0xfff) << 4 | (revision & 0xf));
	return m->cpuid ? 0 : -1;
}

int machine_cpuinfo(struct machine *m, struct arena *a, const char *text, size_t len, bool *guest)
{
	const char *v;
	size_t n;

	*guest = text_field(text, len, "flags", ':', &v, &n) && has_flag(v, n, "hypervisor");
	for (size_t i = 0; i < sizeof(desc_keys) / sizeof(desc_keys[0]) && !m->cpu_desc; i++) {
		if (!text_field(text, len, desc_keys[i], ':', &v, &n) || !n)
			continue;
		m->cpu_desc = squeeze(a, v, n);
		if (!m->cpu_desc)
			return -1;
	}
	if (text_field(text, len, "vendor_id", ':', &v, &n))
		return cpuinfo_x86(m, a, text, len, v, n);
	return cpuinfo_arm(m, a, text, len);
}

static int topology_id(const char *root, uint32_t cpu, const char *what)
{
	int64_t v;

	if (!sys_number(&v, root, "sys/devices/system/cpu/cpu%u/topology/%s", cpu, what) ||
	    v < INT32_MIN || v > INT32_MAX)
		return -1;
	return (int)v;
}

/* Each different list of siblings once, in the order in which CPUs come. */
static int siblings(struct machine *m, struct arena *a, const char *root, const char *name,
		    const char *old_name, const char ***out, size_t *n)
{
	struct strtab seen = STRTAB_INIT;
	VEC(const char *) lists = VEC_INIT;
	char text[4096];
	int rc = -1;

	for (uint32_t i = 0; i < m->cpus_online; i++) {
		uint32_t cpu = m->online[i], id;
		ssize_t len = sys_read(text, sizeof(text), root,
				       "sys/devices/system/cpu/cpu%u/topology/%s", cpu, name);

		if (len <= 0 && old_name)
			len = sys_read(text, sizeof(text), root,
				       "sys/devices/system/cpu/cpu%u/topology/%s", cpu, old_name);
		if (len <= 0 || strtab_find(&seen, text) != STR_NONE)
			continue;
		id = strtab_add(&seen, text, (size_t)len);
		if (id == STR_NONE || vec_push(&lists, arena_strdup(a, text)) || !*vec_last(&lists))
			goto out;
	}
	if (lists.n) {
		*out = arena_memdup(a, lists.v, lists.n * sizeof(*lists.v));
		if (!*out)
			goto out;
		*n = lists.n;
	}
	rc = 0;
out:
	vec_free(&lists);
	strtab_free(&seen);
	return rc;
}

/* CPU numbers that there can be: perf counts to the highest one present. */
int machine_cpus(struct machine *m, struct arena *a, const char *root)
{
	char text[4096];
	const uint32_t *list;
	ssize_t len;
	size_t n;

	len = sys_read(text, sizeof(text), root, "sys/devices/system/cpu/online");
	if (len > 0 && !cpu_list_parse(a, text, (size_t)len, &list, &n) && n) {
		m->online = list;
		m->cpus_online = (uint32_t)n;
		m->cpus_available = list[n - 1] + 1;
	}
	len = sys_read(text, sizeof(text), root, "sys/devices/system/cpu/present");
	if (len > 0 && !cpu_list_parse(a, text, (size_t)len, &list, &n) && n &&
	    list[n - 1] >= m->cpus_available)
		m->cpus_available = list[n - 1] + 1;
	return 0;
}

int machine_topology(struct machine *m, struct arena *a, const char *root)
{
	struct machine_cpu *cpu;

	cpu = arena_alloc(a, (m->cpus_available + 1) * sizeof(*cpu));
	if (!cpu)
		return -1;
	memset(cpu, 0xff, m->cpus_available * sizeof(*cpu));
	m->cpu = cpu;
	for (uint32_t i = 0; i < m->cpus_available; i++) {
		cpu[i].core = topology_id(root, i, "core_id");
		cpu[i].socket = topology_id(root, i, "physical_package_id");
		cpu[i].die = topology_id(root, i, "die_id");
	}
	return 0;
}

int machine_siblings(struct machine *m, struct arena *a, const char *root)
{
	bool dies;

	/* perf knows dies on x86 and s390 only */
	dies = !m->arch || !strcmp(m->arch, "x86_64") || !strcmp(m->arch, "s390x");
	if (siblings(m, a, root, "package_cpus_list", "core_siblings_list", &m->core_siblings,
		     &m->n_core_siblings) ||
	    siblings(m, a, root, "core_cpus_list", "thread_siblings_list", &m->thread_siblings,
		     &m->n_thread_siblings) ||
	    (dies &&
	     siblings(m, a, root, "die_cpus_list", NULL, &m->die_siblings, &m->n_die_siblings)))
		return -1;
	return 0;
}

int machine_midr(struct machine *m, struct arena *a, const char *root)
{
	const char *midr;
	int64_t v;

	if (!m->cpus_online)
		return 0;
	midr = sys_text(a, root, "sys/devices/system/cpu/cpu%u/regs/identification/midr_el1",
			m->online[0]);
	if (!midr || !text_number(&v, midr, strlen(midr)))
		return 0;
	m->cpuid = arena_printf(a, "0x%016llx", (unsigned long long)v);
	return m->cpuid ? 0 : -1;
}

static uint32_t cache_number(const char *root, const char *dir, const char *what)
{
	int64_t v;

	return sys_number(&v, root, "%s/%s", dir, what) && v >= 0 && v <= UINT32_MAX ? (uint32_t)v
										     : 0;
}

static bool read_cache(struct machine_cache *c, struct arena *a, const char *root, const char *dir)
{
	c->line_size = cache_number(root, dir, "coherency_line_size");
	c->sets = cache_number(root, dir, "number_of_sets");
	c->ways = cache_number(root, dir, "ways_of_associativity");
	c->size = sys_text(a, root, "%s/size", dir);
	return c->size;
}

static int by_level(const void *pa, const void *pb)
{
	const struct machine_cache *a = pa, *b = pb;

	return (a->level > b->level) - (a->level < b->level);
}

int machine_caches(struct machine *m, struct arena *a, const char *root)
{
	struct strtab seen = STRTAB_INIT;
	VEC(struct machine_cache) caches = VEC_INIT;
	int rc = -1;

	/* A cache shared by many CPUs is read once: level, type and CPUs identify it. */
	for (uint32_t i = 0; i < m->cpus_online; i++)
		for (uint32_t index = 0; index < CACHE_INDEXES; index++) {
			struct machine_cache c = { 0 };
			char dir[128], key[4200], cpus[4096], type[64];
			ssize_t len;

			(void)snprintf(dir, sizeof(dir),
				       "sys/devices/system/cpu/cpu%u/cache/index%u", m->online[i],
				       index);
			if (sys_read(type, sizeof(type), root, "%s/type", dir) <= 0)
				break;
			if (sys_read(cpus, sizeof(cpus), root, "%s/shared_cpu_list", dir) <= 0)
				continue;
			c.level = cache_number(root, dir, "level");
			len = snprintf(key, sizeof(key), "%u %s %s", c.level, type, cpus);
			if (strtab_find(&seen, key) != STR_NONE || !read_cache(&c, a, root, dir))
				continue;
			c.type = arena_strdup(a, type);
			c.cpus = arena_strdup(a, cpus);
			if (!c.type || !c.cpus || vec_push(&caches, c) ||
			    strtab_add(&seen, key, (size_t)len) == STR_NONE)
				goto out;
		}
	vec_sort(&caches, by_level);
	assert(pairs_hold(caches.n, i, by_level(&caches.v[i], &caches.v[i + 1]) <= 0));
	if (caches.n) {
		m->cache = arena_memdup(a, caches.v, caches.n * sizeof(*caches.v));
		if (!m->cache)
			goto out;
		m->n_caches = caches.n;
	}
	rc = 0;
out:
	vec_free(&caches);
	strtab_free(&seen);
	return rc;
}
