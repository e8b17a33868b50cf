/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/info_attr.h"

#include <inttypes.h>
#include <time.h>

#include "base/num.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const read_bits[] = { "time_enabled", "time_running", "id", "group", "lost" };
static const char *const branch_bits[] = {
	"user",	    "kernel",	 "hypervisor", "any",	   "any_call",	 "any_return", "ind_call",
	"abort_tx", "in_tx",	 "no_tx",      "cond",	   "call_stack", "ind_jump",   "call",
	"no_flags", "no_cycles", "save_type",  "hw_index", "priv",	 "counters",
};

static const struct {
	const char *const *name;
	size_t n;
} kinds[] = {
	[ATTR_SAMPLE] = { pd_sample_words, PD_SAMPLE_WORDS },
	[ATTR_READ] = { read_bits, COUNT(read_bits) },
	[ATTR_BRANCH] = { branch_bits, COUNT(branch_bits) },
};

const char *const *attr_bits(struct arena *a, enum attr_bits kind, uint64_t bits, size_t *n)
{
	const char **name = arena_alloc(a, 64 * sizeof(*name));

	*n = 0;
	for (unsigned i = 0; name && i < 64; i++) {
		if (!(bits >> i & 1))
			continue;
		name[*n] = i < kinds[kind].n ? kinds[kind].name[i] : arena_printf(a, "bit %u", i);
		if (!name[(*n)++])
			return NULL;
	}
	return name;
}

/* Periods that differ from each other, if none of the kernel's frequencies is the reason. */
static void put_range(struct buf *b, const struct pd_event *ev)
{
	char least[NUM_MAX], most[NUM_MAX];

	if (!ev->attr.freq && ev->most > ev->least)
		buf_printf(b, "; periods from %s to %s", num_exact(least, ev->least),
			   num_exact(most, ev->most));
}

static void put_rate(struct buf *b, const struct perf_event_attr *a)
{
	char n[NUM_MAX];

	if (a->freq)
		buf_printf(b, "%s samples a second", num_exact(n, a->sample_freq));
	else if (a->sample_period)
		buf_printf(b, "one sample every %s", num_exact(n, a->sample_period));
	else if (a->sample_type & PERF_SAMPLE_READ && a->read_format & PERF_FORMAT_GROUP)
		buf_puts(b, "read in the samples of its group");
	else
		buf_puts(b, "not sampled");
}

static void put_clock(struct buf *b, int id)
{
	static const char *const names[] = { [CLOCK_REALTIME] = "realtime",
					     [CLOCK_MONOTONIC] = "monotonic",
					     [CLOCK_MONOTONIC_RAW] = "monotonic_raw",
					     [CLOCK_BOOTTIME] = "boottime",
					     [CLOCK_TAI] = "tai" };

	if (id >= 0 && (size_t)id < COUNT(names) && names[id])
		buf_printf(b, "; clock %s", names[id]);
	else
		buf_printf(b, "; clock %d", id);
}

void attr_put_how(struct buf *b, const struct pd_event *ev)
{
	const struct perf_event_attr *a = &ev->attr;
	const struct {
		bool is;
		const char *says;
	} flags[] = {
		{ a->exclude_kernel && !a->exclude_user, "user only" },
		{ a->exclude_user && !a->exclude_kernel, "kernel only" },
		{ a->exclude_user && a->exclude_kernel, "neither user nor kernel" },
		{ a->exclude_hv && !a->exclude_kernel && !a->exclude_user, "no hypervisor" },
		{ a->exclude_idle, "not while idle" },
		{ a->exclude_host, "guests only" },
		{ a->exclude_guest, "no guests" },
		{ a->pinned, "pinned" },
		{ a->exclusive, "exclusive" },
		{ a->inherit, "children too" },
		{ a->exclude_callchain_kernel, "no kernel call chains" },
		{ a->exclude_callchain_user, "no user call chains" },
		{ attr_flags(a) & CYC_ATTR_DEFER_CALLCHAIN, "user call chains deferred" },
	};

	put_rate(b, a);
	put_range(b, ev);
	for (size_t i = 0; i < COUNT(flags); i++)
		if (flags[i].is)
			buf_printf(b, "; %s", flags[i].says);
	if (a->precise_ip)
		buf_printf(b, "; precise %u", (unsigned)a->precise_ip);
	if (a->use_clockid)
		put_clock(b, a->clockid);
	if (a->sample_max_stack)
		buf_printf(b, "; chains of at most %u", (unsigned)a->sample_max_stack);
	if (a->sample_stack_user)
		buf_printf(b, "; %" PRIu32 " bytes of stack", (uint32_t)a->sample_stack_user);
}

void attr_put_kind(struct buf *b, const struct pd_info *info, uint32_t type)
{
	static const char *const fixed[] = { "hardware", "software", "tracepoint",
					     "cache",	 "raw",	     "breakpoint" };

	if (type < COUNT(fixed)) {
		buf_puts(b, fixed[type]);
		return;
	}
	if (*pd_pmu_name(info, type))
		buf_puts(b, pd_pmu_name(info, type));
	else
		buf_printf(b, "type %" PRIu32, type);
}
