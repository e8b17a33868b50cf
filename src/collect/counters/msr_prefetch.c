/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * #From Intel, "Disclosure of Hardware Prefetcher Control on Some Intel Processors"; for AMD as
 * LIKWID writes the same register, not compared with AMD's manual: a bit that is set disables.
 */
#include "collect/prefetch.h"

#include <string.h>

#include "collect/counters/msr_int.h"

struct prefetch {
	struct msr m;
};

/* The register, and its bits; false: not known of this CPU. */
static bool find_prefetch_register(const struct machine *mc, uint32_t *reg, uint64_t *mask)
{
	const char *vendor = mc->vendor ? mc->vendor : "";

	if (!strcmp(vendor, "GenuineIntel") && mc->family == 6 && mc->model >= 0x1a) {
		*reg = MSR_PREFETCH_INTEL;
		*mask = MSR_PREFETCH_INTEL_BITS;
		return true;
	}
	if (!strcmp(vendor, "AuthenticAMD") && msr_is_zen4(mc)) {
		*reg = MSR_PREFETCH_AMD;
		*mask = MSR_PREFETCH_AMD_BITS;
		return true;
	}
	return false;
}

static int prefetch_failed(const struct prefetch *p, size_t i, const char *why, struct err *err)
{
	(void)err_set(err, ERR_UNSUPPORTED, "prefetchers of CPU %u: %s", (unsigned)p->m.cpus[i],
		      why);
	return err_hint(err, "leave --prefetchers out, or run on a machine of your own");
}

static int plan_prefetch(struct prefetch *p, uint32_t reg, uint64_t mask, struct err *err)
{
	struct msr_row *row = arena_alloc(p->m.a, (p->m.n + 1) * sizeof(*row));

	if (!row)
		return err_nomem(err);
	for (size_t i = 0; i < p->m.n; i++) {
		const char *why;

		p->m.fd[i] = msr_file_open(p->m.cpus[i], err);
		if (p->m.fd[i] < 0)
			return -1;
		row[i] = (struct msr_row){
			.cpu = p->m.cpus[i], .reg = reg, .fd = p->m.fd[i], .mask = mask
		};
		why = msr_read(p->m.fd[i], reg, &row[i].old);
		if (why)
			return prefetch_failed(p, i, why, err);
	}
	return msr_guard_open(&p->m, row, p->m.n, NULL, 0, err);
}

static int write_prefetch(struct prefetch *p, uint64_t mask, struct err *err)
{
	for (size_t i = 0; i < p->m.n; i++) {
		struct msr_row *r = msr_guard_row(p->m.guard, i);
		const char *why;

		__atomic_store_n(&r->state, MSR_OURS, __ATOMIC_SEQ_CST);
		why = msr_write(r->fd, r->reg, r->old | mask);
		if (why)
			return prefetch_failed(p, i, why, err);
	}
	return 0;
}

int prefetch_off(struct prefetch **out, struct arena *a, const struct machine *machine,
		 const uint32_t *cpus, size_t n, struct err *err)
{
	struct prefetch *p = arena_alloc(a, sizeof(*p));
	uint32_t reg;
	uint64_t mask;

	*out = NULL;
	if (!find_prefetch_register(machine, &reg, &mask)) {
		(void)err_set(err, ERR_UNSUPPORTED,
			      "no register is known that switches the prefetchers of %s off",
			      machine->cpuid ? machine->cpuid : "this CPU");
		return err_hint(err,
				"known are Intel's big cores since Nehalem, and AMD since Zen 4");
	}
	if (!p)
		return err_nomem(err);
	*p = (struct prefetch){
		.m = { .a = a, .root = "", .machine = machine, .cpus = cpus, .n = n }
	};
	p->m.fd = arena_alloc(a, (n + 1) * sizeof(*p->m.fd));
	if (!p->m.fd)
		return err_nomem(err);
	memset(p->m.fd, -1, (n + 1) * sizeof(*p->m.fd));
	if (plan_prefetch(p, reg, mask, err) || write_prefetch(p, mask, err)) {
		prefetch_restore(p);
		return -1;
	}
	*out = p;
	return 0;
}

void prefetch_restore(struct prefetch *p)
{
	if (p)
		msr_close(&p->m);
}
