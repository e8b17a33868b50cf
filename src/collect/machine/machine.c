/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "collect/machine/machine_int.h"
#include "collect/sysfs.h"

#define CPUINFO_HEAD 65536u /* the first processor's lines; the kernel takes its time over all */
#define BLOCKS_MAX   (1u << 22) /* of memory: 512 TB in the smallest ones of x86 */

enum { CAP_BIT_SYS_ADMIN = 21, CAP_BIT_PERFMON = 38 };

static uint64_t meminfo_kb(const char *text, size_t len, const char *key)
{
	const char *v;
	size_t n;
	int64_t kb;

	if (!text_field(text, len, key, ':', &v, &n))
		return 0;
	if (n > 3 && !memcmp(v + n - 3, " kB", 3))
		n -= 3;
	return text_number(&kb, v, n) && kb > 0 ? (uint64_t)kb : 0;
}

static void read_machine_names(struct machine *m, struct arena *a, const char *root)
{
	struct utsname u;

	m->hostname = sys_text(a, root, "proc/sys/kernel/hostname");
	m->release = sys_text(a, root, "proc/sys/kernel/osrelease");
	m->arch = sys_text(a, root, "proc/sys/kernel/arch"); /* since Linux 6.1 */
	if (root[0] || uname(&u))
		return;
	if (!m->hostname)
		m->hostname = arena_strdup(a, u.nodename);
	if (!m->release)
		m->release = arena_strdup(a, u.release);
	/* of the program, should the two differ: perf stores it */
	m->arch = arena_strdup(a, u.machine);
}

/* Capabilities count for perf_event_open only in the first user namespace, the one that maps all
 * of the ids onto themselves: root of a rootless container has them all and may nothing. */
static bool first_user_namespace(const char *root)
{
	char text[256];
	unsigned long inside, outside, count;

	if (sys_read(text, sizeof(text), root, "proc/self/uid_map") <= 0)
		return true; /* a kernel without user namespaces */
	return sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 && !inside && !outside &&
	       count == 4294967295ul;
}

static bool read_privileged(const char *root)
{
	char text[4096], word[32];
	const char *v;
	ssize_t len;
	size_t n;
	uint64_t caps;
	char *end;

	len = sys_read(text, sizeof(text), root, "proc/self/status");
	if (len <= 0 || !text_field(text, (size_t)len, "CapEff", ':', &v, &n) || n >= sizeof(word))
		return false;
	memcpy(word, v, n);
	word[n] = 0;
	caps = strtoull(word, &end, 16);
	if (*end)
		return false;
	return caps >> CAP_BIT_PERFMON & 1 || caps >> CAP_BIT_SYS_ADMIN & 1;
}

static int read_node(struct machine_node *node, struct arena *a, const char *root)
{
	char text[4096], key[64];
	ssize_t len;

	len = sys_read(text, sizeof(text), root, "sys/devices/system/node/node%u/meminfo",
		       node->id);
	if (len > 0) {
		(void)snprintf(key, sizeof(key), "Node %u MemTotal", node->id);
		node->mem_total_kb = meminfo_kb(text, (size_t)len, key);
		(void)snprintf(key, sizeof(key), "Node %u MemFree", node->id);
		node->mem_free_kb = meminfo_kb(text, (size_t)len, key);
	}
	node->cpus = sys_text(a, root, "sys/devices/system/node/node%u/cpulist", node->id);
	return 0;
}

/* "memory12": the number; -1: not such a name. */
static int64_t block_number(const char *name)
{
	static const char word[] = "memory";
	uint64_t v;

	if (strncmp(name, word, sizeof(word) - 1) ||
	    !text_natural(&v, name + sizeof(word) - 1, strlen(name) - (sizeof(word) - 1)) ||
	    v >= BLOCKS_MAX)
		return -1;
	return (int64_t)v;
}

/* The node's directory has a link to each block that is of it. */
static int read_blocks(struct machine_node *node, struct arena *a, const char *root)
{
	const char *const *name;
	uint64_t *set;
	size_t n;

	if (!sys_names(a, &name, &n, root, "sys/devices/system/node/node%u", node->id))
		return 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t bits = (uint64_t)(block_number(name[i]) + 1);

		node->n_blocks = bits > node->n_blocks ? bits : node->n_blocks;
	}
	set = arena_alloc(a, (node->n_blocks / 64 + 1) * sizeof(*set));
	if (!set)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int64_t k = block_number(name[i]);

		if (k >= 0)
			set[k / 64] |= UINT64_C(1) << (k % 64);
	}
	node->block = set;
	return 0;
}

static uint64_t block_size(const char *root)
{
	char text[32] = "0x"; /* the file has none */
	uint64_t v;
	ssize_t len = sys_read(text + 2, sizeof(text) - 2, root,
			       "sys/devices/system/memory/block_size_bytes");

	return len > 0 && text_natural(&v, text, (size_t)len + 2) ? v : 0;
}

int machine_nodes(struct machine *m, struct arena *a, const char *root)
{
	struct machine_node *node;
	const uint32_t *ids;
	char text[4096];
	ssize_t len;
	size_t n;

	len = sys_read(text, sizeof(text), root, "sys/devices/system/node/online");
	if (len <= 0 || cpu_list_parse(a, text, (size_t)len, &ids, &n) || !n)
		return 0;
	m->memory_block = block_size(root);
	node = arena_alloc(a, n * sizeof(*node));
	if (!node)
		return -1;
	for (size_t i = 0; i < n; i++) {
		/* a list may claim any number of nodes; the first that is not there ends them */
		if (!sys_exists(root, "sys/devices/system/node/node%u", ids[i]))
			break;
		node[i].id = ids[i];
		if (read_node(&node[i], a, root) || read_blocks(&node[i], a, root))
			return -1;
		m->n_nodes = i + 1;
	}
	m->node = node;
	return 0;
}

static int read_caps(struct machine_pmu *pmu, struct arena *a, const char *root)
{
	const char *const *names;
	size_t n;

	if (!sys_names(a, &names, &n, root, "sys/bus/event_source/devices/%s/caps", pmu->name) ||
	    !n)
		return 0;
	pmu->cap_name = arena_alloc(a, n * sizeof(*pmu->cap_name));
	pmu->cap_value = arena_alloc(a, n * sizeof(*pmu->cap_value));
	if (!pmu->cap_name || !pmu->cap_value)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *value = sys_text(a, root, "sys/bus/event_source/devices/%s/caps/%s",
					     pmu->name, names[i]);

		if (!value)
			continue;
		pmu->cap_name[pmu->n_caps] = names[i];
		pmu->cap_value[pmu->n_caps++] = value;
	}
	return 0;
}

int machine_pmus(struct machine *m, struct arena *a, const char *root)
{
	const char *const *names;
	struct machine_pmu *pmu;
	size_t n;

	if (!sys_names(a, &names, &n, root, "sys/bus/event_source/devices") || !n)
		return 0;
	pmu = arena_alloc(a, n * sizeof(*pmu));
	if (!pmu)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct machine_pmu *p = &pmu[m->n_pmus];
		int64_t type;

		if (!sys_number(&type, root, "sys/bus/event_source/devices/%s/type", names[i]) ||
		    type < 0 || type > UINT32_MAX)
			continue;
		p->name = names[i];
		p->type = (uint32_t)type;
		p->cpus = sys_text(a, root, "sys/bus/event_source/devices/%s/cpumask", names[i]);
		if (!p->cpus)
			p->cpus =
				sys_text(a, root, "sys/bus/event_source/devices/%s/cpus", names[i]);
		if (read_caps(p, a, root))
			return -1;
		m->n_pmus++;
	}
	m->pmu = pmu;
	return 0;
}

/* cpu_desc to stepping; *guest: the CPU's flags have a hypervisor. */
static int read_model(struct machine *m, struct arena *a, const char *root, bool *guest)
{
	char *text = malloc(CPUINFO_HEAD);
	ssize_t len;
	int rc;

	if (!text)
		return -1;
	len = sys_read(text, CPUINFO_HEAD, root, "proc/cpuinfo");
	rc = len > 0 && machine_cpuinfo(m, a, text, (size_t)len, guest) ? -1 : 0;
	free(text);
	return rc || machine_midr(m, a, root) ? -1 : 0;
}

static int read_memory_and_nodes(struct machine *m, struct arena *a, const char *root)
{
	char text[4096];
	ssize_t len = sys_read(text, sizeof(text), root, "proc/meminfo");

	if (len > 0)
		m->mem_total_kb = meminfo_kb(text, (size_t)len, "MemTotal");
	return machine_nodes(m, a, root);
}

static int read_pieces(struct machine *m, struct arena *a, const char *root, unsigned parts)
{
	static const struct {
		unsigned part;
		int (*read)(struct machine *m, struct arena *a, const char *root);
	} pieces[] = {
		{ MACHINE_TOPOLOGY, machine_topology },
		{ MACHINE_SIBLINGS, machine_siblings },
		{ MACHINE_MEMORY, read_memory_and_nodes },
		{ MACHINE_CACHES, machine_caches },
		{ MACHINE_PMUS, machine_pmus },
	};
	bool guest = false;

	if (parts & MACHINE_NAMES)
		read_machine_names(m, a, root);
	if (parts & MACHINE_KNOBS) {
		int64_t v;

		m->paranoid =
			sys_number(&v, root, "proc/sys/kernel/perf_event_paranoid") ? (int)v : -100;
		m->kptr_restrict =
			sys_number(&v, root, "proc/sys/kernel/kptr_restrict") ? (int)v : -1;
		m->nmi_watchdog =
			sys_number(&v, root, "proc/sys/kernel/nmi_watchdog") ? (int)v : -1;
		if (sys_number(&v, root, "proc/sys/kernel/perf_event_max_sample_rate") && v > 0)
			m->max_sample_rate = (uint64_t)v;
		if (sys_number(&v, root, "proc/sys/kernel/perf_event_mlock_kb") && v > 0)
			m->mlock_kb = (uint64_t)v;
		m->first_userns = first_user_namespace(root);
		m->privileged = m->first_userns && read_privileged(root);
	}
	if (machine_cpus(m, a, root) || (parts & MACHINE_MODEL && read_model(m, a, root, &guest)))
		return -1;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		if (parts & pieces[i].part && pieces[i].read(m, a, root))
			return -1;
	return parts & MACHINE_HYPERVISOR ? machine_hypervisor(m, a, root, guest) : 0;
}

int machine_read_parts(struct machine *m, struct arena *a, const char *root, unsigned parts,
		       struct err *err)
{
	*m = (struct machine){ .paranoid = -100, .kptr_restrict = -1, .nmi_watchdog = -1 };
	if (!sys_exists(root, "sys/devices/system/cpu") && !sys_exists(root, "proc/cpuinfo")) {
		(void)err_set(err, ERR_NOT_FOUND,
			      "%s/: neither sys/devices/system/cpu nor proc/cpuinfo is here", root);
		return err_hint(err,
				root[0] ? "a captured machine holds its /sys and /proc"
					: "mount -t sysfs sysfs /sys; mount -t proc proc /proc");
	}
	return read_pieces(m, a, root, parts) ? err_nomem(err) : 0;
}

int machine_read(struct machine *m, struct arena *a, const char *root, struct err *err)
{
	return machine_read_parts(m, a, root, MACHINE_ALL, err);
}
