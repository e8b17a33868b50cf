/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor_counting - the checks about counters: threads of a core, the top-down metrics, and other
 * holders of counters.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "collect/holders.h"
#include "collect/sysfs.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define PROBES_MAX 32u

void check_smt(struct doctor *d, struct finding *f)
{
	int64_t active;

	if (!sys_number(&active, d->root, "sys/devices/system/cpu/smt/active")) {
		f->state = "not told by this kernel or this machine";
		f->verdict = VERDICT_NONE;
		return;
	}
	f->state = active ? "on: a core's threads share its slots"
			  : "off, or the cores have one thread";
}

/* How deep the fixed top-down metrics of the core PMU go. */
static unsigned metrics_level(const struct doctor *d, const char *pmu)
{
	static const char *const level[][4] = {
		{ "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound" },
		{ "topdown-heavy-ops", "topdown-br-mispredict", "topdown-fetch-lat",
		  "topdown-mem-bound" },
	};
	unsigned n = 0;

	if (!sys_exists(d->root, "sys/bus/event_source/devices/%s/events/slots", pmu))
		return 0;
	for (; n < COUNT(level); n++)
		for (size_t i = 0; i < COUNT(level[n]); i++)
			if (!sys_exists(d->root, "sys/bus/event_source/devices/%s/events/%s", pmu,
					level[n][i]))
				return n;
	return n;
}

void check_metrics(struct doctor *d, struct finding *f)
{
	const struct machine_pmu *pmu = doctor_core_pmu(d);
	unsigned level;

	if (!pmu) {
		f->state = "needs a PMU";
		f->verdict = VERDICT_NONE;
		return;
	}
	level = metrics_level(d, pmu->name);
	if (level) {
		f->state =
			arena_printf(d->a, "%s: slots and level %s of the tree in fixed counters",
				     pmu->name, level == 1 ? "1" : "1 and 2");
		return;
	}
	f->state = arena_printf(d->a, "%s: no fixed metrics; the tree takes general counters",
				pmu->name);
	f->verdict = VERDICT_NONE;
}

/* ---- other holders of counters ------------------------------------------------------------ */

/* The request of a pinned event of this kind; some PMU has no fixed counter for each of them. */
static struct perf_event_attr pinned_attr(uint64_t hardware)
{
	return (struct perf_event_attr){ .type = PERF_TYPE_HARDWARE,
					 .size = sizeof(struct perf_event_attr),
					 .config = hardware,
					 .pinned = 1,
					 .exclude_kernel = 1,
					 .exclude_hv = 1 };
}

static int open_own(struct perf_event_attr attr)
{
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* General counters this task can have for itself right now: pinned events that did get one. A
 * pinned event that finds none is in error, and read gives end of file. */
static unsigned free_counters(uint64_t hardware)
{
	int fd[PROBES_MAX];
	unsigned n = 0, got = 0;
	uint64_t value;

	while (n < COUNT(fd)) {
		fd[n] = open_own(pinned_attr(hardware));
		if (fd[n] < 0)
			break;
		n++;
	}
	for (unsigned i = 0; i < n; i++) {
		got += read(fd[i], &value, sizeof(value)) == sizeof(value);
		(void)close(fd[i]);
	}
	return got;
}

/* "6 general counters are free". The first event that this PMU has is asked for; instructions come
 * last, since they may have a fixed counter, which is one more. */
static const char *free_text(struct doctor *d)
{
	static const struct {
		uint64_t event;
		const char *text;
	} asked[] = {
		{ PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "general counter" },
		{ PERF_COUNT_HW_BRANCH_MISSES, "general counter" },
		{ PERF_COUNT_HW_CACHE_MISSES, "general counter" },
		{ PERF_COUNT_HW_INSTRUCTIONS, "counter" },
	};

	for (size_t i = 0; i < COUNT(asked); i++) {
		int fd = open_own(pinned_attr(asked[i].event));
		unsigned n;

		if (fd < 0)
			continue;
		(void)close(fd);
		n = free_counters(asked[i].event);
		return arena_printf(d->a, "%u %s%s free%s", n, asked[i].text,
				    n == 1 ? " is" : "s are",
				    i + 1 < COUNT(asked) ? "" : " for instructions");
	}
	return "free counters not known: no event to ask with opens";
}

void check_holders(struct doctor *d, struct finding *f)
{
	const char *who;

	if (!d->live) {
		f->state = "not tried: this is another machine's tree";
		f->verdict = VERDICT_NONE;
		return;
	}
	who = holders_names(d->a);
	if (!d->cycles)
		f->state = arena_printf(d->a, "%s%s%s", free_text(d),
					who ? "; others have events open: " : "", who ? who : "");
	else
		f->state = who ? arena_printf(d->a, "others have events open: %s", who)
			       : "no other process seen with events open";
	if (who) {
		f->verdict = VERDICT_COST;
		f->effect = "counters may be shared with them";
	}
}
