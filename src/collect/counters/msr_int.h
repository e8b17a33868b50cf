/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msr_int - the pieces of msr.h.
 *
 *	msr.c		the machine, its places, its free counters
 *	msr_pmu.c	PMUs as event.h wants them, and control registers' values
 *	msr_file.c	one register of one CPU; why it failed
 *	msr_count.c	the back-end: counters dealt to events, switched and read
 *	msr_guard.c	old values, the watchdog; msr_plan.c: the same in a file
 *	msr_prefetch.c	prefetchers, with the same watchdog (prefetch.h)
 */
#ifndef CYCLADE_COLLECT_MSR_INT_H
#define CYCLADE_COLLECT_MSR_INT_H

#include "base/vec.h"
#include "collect/counters/counter_backend.h"
#include "collect/msr.h"

enum msr_unit {
#define MSR_UNIT(id, pmu, each, first, n, on, most) MSR_##id,
#include "collect/counters/msr_unit.def"
#undef MSR_UNIT
	MSR_UNITS
};

/* Units of a machine: those above, then one for each memory controller. */
#define MSR_UNITS_MAX (MSR_UNITS + 64)

enum msr_each { MSR_EACH_CPU, MSR_EACH_L3, MSR_EACH_DIE, MSR_EACH_SOCKET };

#define MSR_TYPE	  0x7fff0000u /* + unit: attr.type of the PMUs that are made here */
#define MSR_SLOTS	  16u	      /* counters of a unit, at most */
#define MSR_NONE	  UINT8_MAX
#define MSR_ENABLE	  0x400000u
#define MSR_CORE_FIRST	  0xC0010200u
#define MSR_CORE_COUNTERS 6u
#define MSR_UMC_FIRST	  0xC0010800u
#define MSR_UMC_END	  0xC0010C00u
#define MSR_UMC_ENABLE	  0x80000000u
#define MSR_MERGE	  0xF004000FFu /* event 0xFFF, enabled: needed by its even neighbour */

#define MSR_GLOBAL_CTL	0xC0000301u /* PerfMonV2: a bit for each core counter */
#define MSR_IRPERF	0xC00000E9u
#define MSR_HWCR	0xC0010015u
#define MSR_HWCR_IRPERF (UINT64_C(1) << 30)

#define MSR_PREFETCH_INTEL	0x1A4u
#define MSR_PREFETCH_INTEL_BITS 0xFu /* L2, its neighbour lines, L1, L1 by IP */
#define MSR_PREFETCH_AMD	0xC0000108u
#define MSR_PREFETCH_AMD_BITS	0x2Fu /* L1 stream, stride, region; L2 stream, up and down */

struct msr_form {
	const char *pmu;
	enum msr_each each;
	uint32_t first;
	unsigned n;
	uint64_t on;
	double most; /* counts per second */
};

struct msr_place { /* a set of a unit's counters: who reads it, and which are ours */
	uint32_t target;
	uint32_t free;	 /* a bit each */
	const char *why; /* none can be had */
};

/* The values to give back, in memory that the watchdog shares. Control registers only while they
 * have one of our values. */
struct msr_row {
	uint32_t cpu, reg, ctr; /* ctr 0: only `mask` of reg is ours */
	int fd;
	uint64_t old, ctr_old, mask;
	uint8_t state; /* enum msr_state */
};

enum msr_state { MSR_UNTOUCHED, MSR_OURS, MSR_LEFT /* to somebody else */ };

struct msr_guard;

struct msr {
	struct arena *a;
	const char *root;
	const struct machine *machine;
	const uint32_t *cpus;
	size_t n;
	int *fd; /* by target; -1: none */
	bool v2; /* PerfMonV2 */
	unsigned n_units;
	struct msr_form form[MSR_UNITS_MAX];
	unsigned n_of[MSR_UNITS_MAX];
	struct msr_place *place[MSR_UNITS_MAX];
	size_t n_places[MSR_UNITS_MAX];
	size_t held;
	struct msr_guard *guard; /* while counters are open */
	const char *no_plan;
};

/* NULL, or why it failed (static text), which errno goes with. */
const char *msr_read(int fd, uint32_t reg, uint64_t *out);
const char *msr_write(int fd, uint32_t reg, uint64_t v);
int msr_file_open(uint32_t cpu, struct err *err) MUST_USE; /* -1: with a hint in err */

static inline uint32_t msr_ctl(const struct msr *m, unsigned u, unsigned slot)
{
	return m->form[u].first + 2 * slot;
}

/* The row of msr_unit.def that a unit is of. */
static inline enum msr_unit msr_kind(unsigned u)
{
	return u < MSR_UNITS ? (enum msr_unit)u : MSR_UMC;
}

/* The bit of a control register that lets its counter count. */
static inline uint64_t msr_enable(uint32_t ctl)
{
	return ctl >= MSR_UMC_FIRST && ctl < MSR_UMC_END ? MSR_UMC_ENABLE : MSR_ENABLE;
}

/* Zen 4 on: PerfMonV2, and a register of prefetchers. */
bool msr_is_zen4(const struct machine *m);
/* The control register's value for an event of this config. */
uint64_t msr_control(const struct msr *m, unsigned u, uint64_t config);
/* The event counts more than 15 at a time and takes two counters. */
bool msr_is_pair(unsigned u, uint64_t config);

/* Before the first write: `row`s (copied) and all the values that we may write to them. The
 * descriptors of the rows are of m->fd, which the watchdog keeps open. */
int msr_guard_open(struct msr *m, const struct msr_row *row, size_t n, const uint64_t *ours,
		   size_t n_ours, struct err *err) MUST_USE;
struct msr_row *msr_guard_row(struct msr_guard *g, size_t i);
/* Forks another watchdog if the last was killed. */
int msr_guard_check(struct msr *m, struct err *err) MUST_USE;
void msr_guard_close(struct msr *m); /* gives everything back */
/* One row; the value that a control register must have, or it is left alone. */
void msr_row_restore(struct msr_row *r, const uint64_t *ours, size_t n_ours);

#endif
