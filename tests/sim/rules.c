/* SPDX-License-Identifier: BSD-3-Clause */
#include "rules.h"
#include "spe.h"

#include "ibs.h"

#include <errno.h>

/* tools/tree.py writes it to the machine's /proc. */
#define MAX_SAMPLE_RATE 100000u
#define BRANCH_FLAGS	(UINT64_C(1) << 20) /* the first that no kernel has */
/* User, kernel, hypervisor: where, not which. */
#define BRANCH_LEVELS UINT64_C(7)
/* Kinds of branches that a call stack cannot be asked for with. */
#define BRANCH_KINDS                                                                            \
	(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN | \
	 PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_ABORT_TX | PERF_SAMPLE_BRANCH_IN_TX | \
	 PERF_SAMPLE_BRANCH_NO_TX | PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP |     \
	 PERF_SAMPLE_BRANCH_CALL)
/* X86_ALL_EVENT_FLAGS: edge, pin control, any, inv, cmask, in_tx, in_tx_cp */
#define X86_FLAGS    0x3ffac0000u
#define CODE(config) ((config)&0xffff)

static bool samples(const struct perf_event_attr *a)
{
	return a->sample_period > 0; /* one word with sample_freq */
}

static bool filters(const struct perf_event_attr *a)
{
	return a->exclude_user || a->exclude_kernel || a->exclude_hv || a->exclude_idle ||
	       a->exclude_host || a->exclude_guest;
}

/* ---- kernel/events/core.c --------------------------------------------------------------- */

/* perf_event_open(2) itself, perf_event_alloc(), perf_get_aux_event() */
static int core_errno(const struct sim *sim, const struct sim_counter *k)
{
	const struct perf_event_attr *a = &k->attr;
	bool old = sim->scenario.set.linux_version && sim->scenario.set.linux_version < 612;

	if (a->freq ? a->sample_freq > MAX_SAMPLE_RATE : a->sample_period >> 63)
		return EINVAL;
	if (k->leader != k && (a->exclusive || a->pinned))
		return EINVAL;
	if (a->inherit && a->sample_type & PERF_SAMPLE_READ &&
	    (old || !(a->sample_type & PERF_SAMPLE_TID)))
		return EINVAL;
	if (a->aux_output) /* no simulated PMU has an AUX area */
		return EINVAL;
	return 0;
}

/* perf_copy_attr() */
static int branch_errno(const struct perf_event_attr *a)
{
	if (!(a->sample_type & PERF_SAMPLE_BRANCH_STACK))
		return 0;
	if (a->branch_sample_type & ~(BRANCH_FLAGS - 1) ||
	    !(a->branch_sample_type & ~BRANCH_LEVELS))
		return EINVAL;
	return 0;
}

/* ---- drivers ---------------------------------------------------------------------------- */

/* intel_pmu_setup_lbr_filter(), amd_pmu_lbr_setup_filter(), armpmu_event_init() */
static int lbr_errno(const struct sim_counter *k)
{
	uint64_t wish = k->attr.branch_sample_type;

	if (!(k->attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
		return 0;
	if (!k->pmu->lbr)
		return EOPNOTSUPP;
	if (!(wish & PERF_SAMPLE_BRANCH_CALL_STACK))
		return 0;
	if (!k->pmu->callstack)
		return EOPNOTSUPP;
	return wish & BRANCH_KINDS ? EINVAL : 0;
}

/* The PERF_METRICS part of intel_pmu_hw_config() */
static int topdown_errno(const struct sim *sim, const struct sim_counter *k)
{
	const struct perf_event_attr *a = &k->attr;
	const struct sim_counter *leader = k->leader;
	struct sim_event plain; /* what it is without flags */

	(void)sim_machine_event(&sim->machine, k->pmu, CODE(k->event.config), 0, &plain);
	if (!(plain.flags & (SIM_METRIC | SIM_SLOTS)))
		return 0;
	if (sim->scenario.set.metrics_filter &&
	    (a->exclude_user || a->exclude_kernel || a->exclude_hv || a->exclude_idle))
		return EINVAL;
	if (a->config1 || a->config2 || k->event.config & X86_FLAGS)
		return EINVAL;
	if (!(plain.flags & SIM_METRIC))
		return 0;
	if (samples(a) || leader == k || !(leader->event.flags & SIM_SLOTS) ||
	    samples(&leader->attr))
		return EINVAL;
	return 0;
}

/* Load latency is wrong without its auxiliary event before it: the end of intel_pmu_hw_config() */
static int mem_loads_errno(const struct sim_counter *k)
{
	if (!k->pmu->aux || !(k->attr.sample_type & PERF_SAMPLE_DATA_SRC) ||
	    CODE(k->event.config) != 0x01cd)
		return 0;
	for (const struct sim_counter *o = k->context->first; o; o = o->next)
		if (o->leader == k->leader && o->pmu == k->pmu && CODE(o->event.config) == 0x8203)
			return 0;
	return ENODATA;
}

static int x86_errno(const struct sim *sim, const struct sim_counter *k)
{
	int bad = lbr_errno(k);

	if (!bad)
		bad = topdown_errno(sim, k);
	return bad ? bad : mem_loads_errno(k);
}

/* uncore_pmu_event_init(), amd_uncore_event_init(), msr_event_init(); perf_try_init_event() */
static int plain_errno(const struct sim_counter *k, pid_t pid, int cpu, bool cgroup)
{
	/* what lies outside the cores counts for whole CPUs only */
	if (k->pmu->driver == SIM_UNCORE && (cpu < 0 || pid >= 0 || cgroup))
		return EINVAL;
	return samples(&k->attr) || filters(&k->attr) ? EINVAL : 0;
}

static int driver_errno(const struct sim *sim, const struct sim_counter *k, pid_t pid, int cpu,
			bool cgroup)
{
	switch (k->pmu->driver) {
	case SIM_INTEL:
	case SIM_AMD:
		return x86_errno(sim, k);
	case SIM_ARM:
		/* armv8pmu_set_event_filter() */
		return k->attr.exclude_idle ? EPERM : lbr_errno(k);
	case SIM_IBS:
		return sim_ibs_errno(sim, k, pid);
	case SIM_SPE:
		return sim_spe_errno(k);
	case SIM_MSR:
	case SIM_UNCORE:
		break;
	}
	return plain_errno(k, pid, cpu, cgroup);
}

/* ---- precise events --------------------------------------------------------------------- */

/* :ppp is for counters that have the precise distribution: glc_get_event_constraints(),
 * cmt_get_event_constraints() */
static int distribution(const struct sim_pmu *pmu, struct sim_event *e)
{
	bool instructions = CODE(e->config) == 0x00c0 || CODE(e->config) == 0x0100;

	if (!pmu->pdist)
		return 0;
	if (instructions) {
		e->gp = 0;
		e->fixed &= 1;
	} else {
		e->gp &= pmu->pdist;
		e->fixed = 0;
	}
	return e->gp || e->fixed ? 0 : EINVAL;
}

/* What x86 has in place of cycles, which PEBS does not know: intel_pebs_aliases_*() */
static bool is_cycles(uint64_t config)
{
	return config == 0x3c || config == 0x108001c2 || config == 0x108000c0 ||
	       config == 0x108001c0;
}

/* x86_pmu_hw_config(), intel_pebs_constraints() */
int sim_rules_precise(const struct sim *sim, struct sim_counter *k)
{
	int most = sim->scenario.set.precise;

	if (!k->attr.precise_ip)
		return 0;
	if (k->attr.precise_ip > (most < 0 ? k->pmu->precise : (unsigned)most))
		return EOPNOTSUPP;
	if (!samples(&k->attr))
		return EINVAL;
	if (k->pmu->driver != SIM_INTEL)
		return 0;
	if (k->pmu->pebs_plain) {
		k->event.fixed = 0;
		if (k->event.config & X86_FLAGS && !is_cycles(k->event.config))
			return EINVAL;
	}
	return k->attr.precise_ip == 3 ? distribution(k->pmu, &k->event) : 0;
}

/* ---- all -------------------------------------------------------------------------------- */

/* The kernel tries a whole group on an empty PMU before it accepts another member:
 * validate_event(), validate_group() */
static int group_errno(const struct sim_counter *k)
{
	const struct sim_event *event[256] = { &k->event };
	size_t n = 1;

	for (const struct sim_counter *other = k->context->first; other; other = other->next) {
		if (other->leader != k->leader || other == k || !other->pmu)
			continue;
		if (other->pmu != k->pmu || n == 256)
			return EINVAL;
		event[n++] = &other->event;
	}
	return sim_fit(k->pmu, event, k->leader == k ? 1 : n, false, 0) ? 0 : EINVAL;
}

int sim_rules(const struct sim *sim, const struct sim_counter *k, pid_t pid, int cpu, bool cgroup)
{
	int bad = branch_errno(&k->attr);

	if (!bad)
		bad = core_errno(sim, k);
	/* hybrid PMUs: x86_pmu_event_init(); armpmu_event_init() */
	if (!bad && cpu >= 0 && k->pmu->core && !sim_cpus_have(&k->pmu->cpus, cpu))
		bad = ENOENT;
	if (!bad)
		bad = driver_errno(sim, k, pid, cpu, cgroup);
	return bad ? bad : group_errno(k);
}
