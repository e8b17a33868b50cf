/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine - facts about the machine at hand, as recordings store them and `doctor` judges them.
 *
 * All of it is read below `root` ("" on the real machine). A fact that cannot be read is NULL or 0,
 * never a guess. Everything is owned by the arena it was read into.
 */
#ifndef CYCLADE_COLLECT_MACHINE_H
#define CYCLADE_COLLECT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct machine_cache {
	uint32_t level, line_size, sets, ways;
	const char *type, *size, *cpus;
};

struct machine_node {
	uint32_t id;
	uint64_t mem_total_kb, mem_free_kb;
	const char *cpus;
	const uint64_t *block; /* a bit for each block of memory (machine.memory_block) it has */
	uint64_t n_blocks;     /* bits */
};

struct machine_pmu {
	const char *name;
	uint32_t type;
	const char *cpus; /* cpumask or cpus file, or NULL */
	const char **cap_name, **cap_value;
	size_t n_caps;
};

struct machine {
	const char *hostname, *release, *arch, *cpu_desc;
	const char
		*cpuid; /* as perf: "AuthenticAMD,25,1,1"; of Arm MIDR_EL1, "0x00000000410fd0c1" */
	const char *vendor;		  /* "GenuineIntel", "AuthenticAMD", "ARM", or NULL */
	uint32_t family, model, stepping; /* of Arm: architecture, part, variant * 16 + revision */
	uint32_t cpus_available, cpus_online; /* as perf counts: highest present + 1, and online */
	const uint32_t *online;		      /* CPU numbers */
	uint64_t mem_total_kb;
	const struct machine_cpu {
		int32_t core, socket, die; /* -1: not known, as of a CPU that is off */
	} * cpu;			   /* by CPU number, cpus_available of them */
	/* each different list once ("0-3"); dies only if perf has them: on x86-64 and s390 */
	const char **core_siblings, **thread_siblings, **die_siblings;
	size_t n_core_siblings, n_thread_siblings, n_die_siblings;
	const struct machine_cache *cache;
	size_t n_caches;
	const struct machine_node *node;
	size_t n_nodes;
	uint64_t memory_block; /* bytes; 0: not known */
	const struct machine_pmu *pmu;
	size_t n_pmus;
	const char *hypervisor; /* "KVM guest", ... or NULL */
	int paranoid;		/* perf_event_paranoid; -100: not readable */
	int kptr_restrict;	/* -1: not readable */
	int nmi_watchdog;	/* -1: not readable */
	uint64_t max_sample_rate, mlock_kb;
	bool first_userns; /* capabilities count for perf_event_open only in this namespace */
	bool privileged;   /* CAP_PERFMON or CAP_SYS_ADMIN, and first_userns */
};

/* The parts to read. The list of CPUs is always read; a hundred CPUs have thousands of files about
 * the rest, at some 10 us each, so name only the parts that you need. */
enum machine_part {
	MACHINE_NAMES = 1,	  /* hostname, release, arch */
	MACHINE_KNOBS = 2,	  /* paranoid to mlock_kb, first_userns, privileged */
	MACHINE_MODEL = 4,	  /* cpu_desc to stepping */
	MACHINE_TOPOLOGY = 8,	  /* cpu */
	MACHINE_SIBLINGS = 16,	  /* core_, thread_, die_siblings; with MACHINE_NAMES */
	MACHINE_MEMORY = 32,	  /* mem_total_kb, node */
	MACHINE_CACHES = 64,	  /* cache */
	MACHINE_PMUS = 128,	  /* pmu */
	MACHINE_HYPERVISOR = 256, /* with MACHINE_MODEL */
	MACHINE_ALL = 511,
};

int machine_read(struct machine *m, struct arena *a, const char *root, struct err *err) MUST_USE;
/* Only these parts; the others are NULL, 0, -1 or -100, as if they could not be read. */
int machine_read_parts(struct machine *m, struct arena *a, const char *root, unsigned parts,
		       struct err *err) MUST_USE;

#endif
