/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/event_cost.h"

#include <ctype.h>
#include <string.h>

#include "base/perf_abi.h"
#include "perfdata/ibs.h"

#define OP_COUNT_BIT ((uint64_t)1 << 19) /* of ibs_op: ops, not cycles */

/* Names in lower case, up to the first of "/,:" behind a PMU. */
static const struct {
	const char *name;
	enum event_cost cost;
} names[] = {
	{ "cycles", EVENT_COST_CYCLES },
	{ "cpu-cycles", EVENT_COST_CYCLES },
	{ "cpu_cycles", EVENT_COST_CYCLES },
	{ "cpu_clk_unhalted.thread", EVENT_COST_CYCLES },
	{ "cpu_clk_unhalted.thread_p", EVENT_COST_CYCLES },
	{ "cpu_clk_unhalted.core", EVENT_COST_CYCLES },
	{ "cpu_clk_unhalted.core_p", EVENT_COST_CYCLES },
	{ "ls_not_halted_cyc", EVENT_COST_CYCLES },
	{ "inst_retired.total_cycles", EVENT_COST_CYCLES },
	{ "inst_retired.total_cycles_ps", EVENT_COST_CYCLES },
	{ "ref-cycles", EVENT_COST_REFERENCE },
	{ "cpu_clk_unhalted.ref", EVENT_COST_REFERENCE },
	{ "cpu_clk_unhalted.ref_p", EVENT_COST_REFERENCE },
	{ "cpu_clk_unhalted.ref_tsc", EVENT_COST_REFERENCE },
	{ "cpu_clk_unhalted.ref_tsc_p", EVENT_COST_REFERENCE },
};

/* Codes of raw events: event and umask. */
#define INTEL_CODE (0xffULL << 40 | 0xffff)
#define AMD_CODE   (0xfULL << 32 | 0xffff)
static const struct {
	const char *cpuid, *arch; /* how they begin; one of them NULL */
	uint64_t mask, code;
	enum event_cost cost;
} codes[] = {
	{ "GenuineIntel,", NULL, INTEL_CODE, 0x3c, EVENT_COST_CYCLES },
	{ "GenuineIntel,", NULL, INTEL_CODE, 0x200, EVENT_COST_CYCLES },
	{ "GenuineIntel,", NULL, INTEL_CODE, 0x300, EVENT_COST_REFERENCE },
	{ "AuthenticAMD,", NULL, AMD_CODE, 0x76, EVENT_COST_CYCLES },
	{ "HygonGenuine,", NULL, AMD_CODE, 0x76, EVENT_COST_CYCLES },
	{ NULL, "aarch64", 0xffff, 0x11, EVENT_COST_CYCLES },
	{ NULL, "arm64", 0xffff, 0x11, EVENT_COST_CYCLES },
};

#define CMASK_INV_EDGE 0xff840000ULL /* of x86: cycles in which something happens */

static bool begins(const char *s, const char *with)
{
	return s && with && !strncmp(s, with, strlen(with));
}

static enum event_cost by_code(const struct pd_info *in, const struct perf_event_attr *a)
{
	bool x86 = begins(in->cpuid, "GenuineIntel,") || begins(in->cpuid, "AuthenticAMD,") ||
		   begins(in->cpuid, "HygonGenuine,");

	if (!pd_pmu_is_core(in, a->type) || (x86 && a->config & CMASK_INV_EDGE))
		return EVENT_COST_NONE;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if ((begins(in->cpuid, codes[i].cpuid) || begins(in->arch, codes[i].arch)) &&
		    (a->config & codes[i].mask) == codes[i].code)
			return codes[i].cost;
	return EVENT_COST_NONE;
}

static enum event_cost by_name(const struct pd_event *ev)
{
	const char *slash = strchr(ev->name, '/'), *s = slash ? slash + 1 : ev->name;
	size_t n = strcspn(s, "/,:");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].name) == n && !strncasecmp(names[i].name, s, n))
			return names[i].cost;
	return EVENT_COST_NONE;
}

enum event_cost event_cost(const struct pd *rec, const struct pd_event *ev)
{
	const struct perf_event_attr *a = &ev->attr;
	const struct pd_info *in = pd_info(rec);
	enum event_cost c;
	enum ibs_kind kind;

	if (a->type == PERF_TYPE_SOFTWARE)
		return a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK
			       ? EVENT_COST_TIME
			       : EVENT_COST_NONE;
	if (a->type == PERF_TYPE_HARDWARE)
		return (uint32_t)a->config == PERF_COUNT_HW_CPU_CYCLES	     ? EVENT_COST_CYCLES
		       : (uint32_t)a->config == PERF_COUNT_HW_REF_CPU_CYCLES ? EVENT_COST_REFERENCE
									     : EVENT_COST_NONE;
	if (a->type == PERF_TYPE_TRACEPOINT || a->type == PERF_TYPE_HW_CACHE ||
	    a->type == PERF_TYPE_BREAKPOINT)
		return EVENT_COST_NONE;
	if (ibs_is_event(rec, ev, &kind) && !pd_pmu_is_core(in, a->type))
		return kind == IBS_OP && !(a->config & OP_COUNT_BIT) ? EVENT_COST_REFERENCE
								     : EVENT_COST_NONE;
	c = by_code(in, a);
	/* the name alone, if there is no code: a cmask may stand in the code only */
	return c != EVENT_COST_NONE ? c
	       : pd_pmu_is_core(in, a->type) && in->cpuid && a->config & CMASK_INV_EDGE &&
			       !strcasestr(ev->name, "total_cycles")
		       ? EVENT_COST_NONE
		       : by_name(ev);
}

const char *event_cost_unit(enum event_cost c)
{
	switch (c) {
	case EVENT_COST_CYCLES:
		return "cycles";
	case EVENT_COST_TIME:
		return "ns";
	case EVENT_COST_REFERENCE:
		return "reference cycles";
	case EVENT_COST_NONE:
		break;
	}
	return "events";
}

bool event_leads(const struct pd *rec, const struct pd_event *a, const struct pd_event *b)
{
	enum event_cost x, y;

	if (!a->samples != !b->samples)
		return a->samples;
	x = event_cost(rec, a);
	y = event_cost(rec, b);
	return x != y ? x < y : a->samples > b->samples;
}

size_t event_leading(const struct pd *rec)
{
	size_t n, lead = SIZE_MAX;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (lead == SIZE_MAX || event_leads(rec, &ev[i], &ev[lead]))
			lead = i;
	return lead;
}
