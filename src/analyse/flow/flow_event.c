/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_event - the branches that stacks hold, and the quantity that their event counts.
 *
 * An event that counts just the branches that stacks hold makes weights executions. Which one that
 * is depends on the processor and on the filter: rows of flow_event.def, by name and by encoding.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "analyse/flow/flow_scan_int.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/xalloc.h"

#define B(name)	   PERF_SAMPLE_BRANCH_##name
#define PRIVILEGES ((uint64_t)B(USER) | B(KERNEL) | B(HV))
#define IN_OR_OUT  ((uint64_t)B(IN_TX) | B(NO_TX)) /* leave out branches of any kind */
#define CALLS	   ((uint64_t)B(ANY_CALL) | B(IND_CALL) | B(CALL))
#define KINDS                                                                                 \
	(CALLS | B(ANY) | B(ANY_RETURN) | B(ABORT_TX) | IN_OR_OUT | B(COND) | B(CALL_STACK) | \
	 B(IND_JUMP))

enum flow_filter flow_filter_of(const struct pd_event *ev)
{
	uint64_t kinds = ev->attr.branch_sample_type & KINDS;

	if (kinds & B(CALL_STACK))
		return FLOW_STACK;
	if (kinds & IN_OR_OUT)
		return FLOW_SOME;
	if (kinds & B(ANY))
		return FLOW_ANY;
	if (kinds == B(ANY_RETURN))
		return FLOW_RETURNS;
	return kinds && !(kinds & ~CALLS) ? FLOW_CALLS : FLOW_SOME;
}

/* The quantity that an event counts, before it is compared with a filter. */
enum counted { TAKEN, NEAR, BRANCHES, CALLED, RETURNED, INSNS, CYCLES, SOME, OTHER };

enum vendor { ANY_VENDOR, INTEL, AMD, ARM };

struct event_row {
	const char *name; /* lower case, as in the vendors' lists */
	uint8_t vendor;
	uint16_t code; /* NO_CODE: by name alone */
	uint8_t what;
};

#define NO_CODE 0xffff

static const struct event_row rows[] = {
#define ROW(name, vendor, code, what) { name, vendor, code, what },
#include "analyse/flow/flow_event.def"
#undef ROW
};

static enum vendor vendor_of(const struct pd *rec)
{
	const struct pd_info *in = pd_info(rec);
	const char *id = in->cpuid ? in->cpuid : "";

	if (!strncmp(id, "GenuineIntel", 12))
		return INTEL;
	if (!strncmp(id, "AuthenticAMD", 12) || !strncmp(id, "HygonGenuine", 12))
		return AMD;
	if (in->arch && (!strcmp(in->arch, "aarch64") || !strcmp(in->arch, "arm64")))
		return ARM;
	return ANY_VENDOR;
}

/* "cpu_core/BR_INST_RETIRED.NEAR_TAKEN,period=5/u" -> "br_inst_retired.near_taken". */
static void bare_name(char out[64], const char *name)
{
	const char *slash = strchr(name, '/');
	size_t n = 0;

	if (slash)
		name = slash + 1;
	for (; name[n] && !strchr("/,:", name[n]) && n < 63; n++)
		out[n] = (char)tolower((unsigned char)name[n]);
	/* another way to write it: br_inst_retired:near_taken */
	if (!slash && name[n] == ':' && n < 62 && strlen(name + n + 1) > 3) {
		out[n++] = '.';
		for (; name[n] && !strchr("/,:", name[n]) && n < 63; n++)
			out[n] = (char)tolower((unsigned char)name[n]);
	}
	out[n] = 0;
}

static enum counted by_name(const char *name)
{
	char bare[64];

	bare_name(bare, name);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].name, bare))
			return (enum counted)rows[i].what;
	return OTHER;
}

static enum counted by_code(const struct pd *rec, const struct perf_event_attr *a)
{
	enum vendor v = vendor_of(rec);
	/* bits 16 and 17 are user and kernel, 20 interrupt, 22 enable: perf's raw events may have
	 * them */
	uint64_t code = v == ARM ? a->config : a->config & ~0x530000ULL;

	if (a->type == PERF_TYPE_HARDWARE) {
		uint32_t hw = (uint32_t)a->config;

		return hw == PERF_COUNT_HW_CPU_CYCLES		 ? CYCLES
		       : hw == PERF_COUNT_HW_INSTRUCTIONS	 ? INSNS
		       : hw == PERF_COUNT_HW_BRANCH_INSTRUCTIONS ? BRANCHES
								 : OTHER;
	}
	if (!pd_pmu_is_core(pd_info(rec), a->type) || v == ANY_VENDOR)
		return OTHER;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].vendor == v && rows[i].code != NO_CODE && rows[i].code == code)
			return (enum counted)rows[i].what;
	return OTHER;
}

/* If a name and an encoding are both known, the encoding decides. */
static enum counted counted_of(const struct pd *rec, const struct pd_event *ev)
{
	enum counted c = by_code(rec, &ev->attr);

	return c != OTHER ? c : by_name(ev->name);
}

static bool period_known(const struct pd_event *ev)
{
	return ev->at.period || (!ev->attr.freq && ev->attr.sample_period);
}

static bool user_only(const struct pd_event *ev)
{
	uint64_t priv = ev->attr.branch_sample_type & PRIVILEGES;

	/* without privilege bits of its own, a stack has those of the event */
	return priv ? !(priv & B(KERNEL)) : ev->attr.exclude_kernel;
}

/* Returns true if the event counts at the privilege levels of the stack's branches, and at no
 * other. A sample of the kernel with a stack of user space would weigh on the code before the entry
 * to the kernel. */
static bool same_privileges(const struct pd_event *ev)
{
	uint64_t priv = ev->attr.branch_sample_type & PRIVILEGES;

	bool kernel = priv & B(KERNEL), user = priv & B(USER);

	return !priv || (kernel != ev->attr.exclude_kernel && user != ev->attr.exclude_user);
}

enum flow_counts flow_counts_of(const struct pd *rec, const struct pd_event *ev)
{
	static const uint8_t just[] = { [FLOW_ANY] = TAKEN,
					[FLOW_CALLS] = CALLED,
					[FLOW_RETURNS] = RETURNED,
					[FLOW_STACK] = OTHER,
					[FLOW_SOME] = OTHER };
	enum counted c = counted_of(rec, ev);

	if (c == OTHER || !period_known(ev) || !same_privileges(ev))
		return FLOW_COUNTS_OTHER;
	if (c == NEAR)
		c = TAKEN;
	if (c == just[flow_filter_of(ev)])
		return FLOW_COUNTS_TAKEN;
	switch (c) {
	case TAKEN:
	case BRANCHES:
		return FLOW_COUNTS_BRANCHES;
	case INSNS:
		return FLOW_COUNTS_INSNS;
	case CYCLES:
		return FLOW_COUNTS_CYCLES;
	default:
		/* Stacks of any branch at each return: code long before a return is never seen. */
		return FLOW_COUNTS_OTHER;
	}
}

/* Returns true if the event leaves out branches from user space to the kernel, or back. */
static bool near_only(const struct pd *rec, const struct pd_event *ev)
{
	enum counted c = counted_of(rec, ev);

	return flow_counts_of(rec, ev) == FLOW_COUNTS_TAKEN &&
	       (c == NEAR || c == CALLED || c == RETURNED);
}

/* ---- which ones ---------------------------------------------------------------------------- */

static bool wanted(const struct pd_event *ev, const char *name)
{
	return ev->attr.sample_type & PERF_SAMPLE_BRANCH_STACK && text_means(name, ev->name);
}

static int no_stacks(const struct pd_info *info, const struct flow_opts *opts, bool any,
		     struct err *err)
{
	if (any) {
		(void)err_set(err, ERR_NOT_FOUND, "no event %s of the recording has branch stacks",
			      opts->select.event);
		return err_hint(err, "cyclade info names its events");
	}
	(void)err_set(err, ERR_NOT_FOUND, "the recording has no branch stacks");
	return again_hint(err, info, "record them:", "-b");
}

static int differ(const struct pd_event *a, const struct pd_event *b, struct err *err)
{
	(void)err_set(err, ERR_USAGE,
		      "%.80s and %.80s recorded different branches, which do not add up", a->name,
		      b->name);
	return err_hint(err, "one at a time: -e '%.80s'", a->name);
}

/* Those with samples that agree; of those only the ones that count branches just so, if some do and
 * no others were asked for. */
static void use(struct flow_events *out, const struct pd *rec, const struct pd_event *ev,
		const struct flow_opts *opts)
{
	bool some = false, taken = false;

	for (size_t i = 0; i < out->n; i++)
		some |= wanted(&ev[i], opts->select.event) && ev[i].samples;
	for (size_t i = 0; i < out->n; i++) {
		out->v[i].used = wanted(&ev[i], opts->select.event) && (ev[i].samples || !some);
		out->v[i].period = ev[i].attr.sample_period ? ev[i].attr.sample_period : 1;
		out->v[i].near = near_only(rec, &ev[i]);
		out->v[i].counts_entries = flow_counts_of(rec, &ev[i]) == FLOW_COUNTS_TAKEN;
		taken |= out->v[i].used && flow_counts_of(rec, &ev[i]) == FLOW_COUNTS_TAKEN;
	}
	for (size_t i = 0; taken && !opts->select.event && i < out->n; i++)
		if (flow_counts_of(rec, &ev[i]) != FLOW_COUNTS_TAKEN)
			out->v[i].used = false;
}

static unsigned shift_of(uint64_t period)
{
	unsigned clear = period ? (unsigned)__builtin_clzll(period) : 64;

	return clear < 2 ? 0 : clear - 1 < 40 ? clear - 1 : 40;
}

void flow_events_free(struct flow_events *e)
{
	free(e->v);
	free(e->used);
}

int flow_choose(struct flow_events *out, struct flow_sums *sums, const struct pd *rec,
		const struct flow_opts *opts, struct err *err)
{
	const struct pd_event *ev = pd_events(rec, &out->n), *first = NULL;
	uint64_t period = 0;
	bool any = false;

	out->v = xcalloc(out->n + 1, sizeof(*out->v));
	out->used = xcalloc(out->n + 1, sizeof(*out->used));
	use(out, rec, ev, opts);
	for (size_t i = 0; i < out->n; i++)
		out->used[i] = out->v[i].used;
	for (size_t i = 0; i < out->n; i++) {
		any |= wanted(&ev[i], NULL);
		if (!out->v[i].used)
			continue;
		if (__builtin_add_overflow(period, ev[i].period, &period))
			period = UINT64_MAX;
		sums->late |= !pd_precise(rec, &ev[i]);
		if (!first) {
			first = &ev[i];
			sums->filter = flow_filter_of(first);
			sums->counts = flow_counts_of(rec, first);
			sums->event = first->name;
			sums->user_only = user_only(first);
			continue;
		}
		if (flow_filter_of(&ev[i]) != sums->filter)
			return differ(first, &ev[i], err);
		if (flow_counts_of(rec, &ev[i]) != sums->counts)
			sums->counts = FLOW_COUNTS_OTHER;
		sums->event = NULL;
		sums->user_only &= user_only(&ev[i]);
	}
	if (!first)
		return no_stacks(pd_info(rec), opts, any, err);
	sums->biased = sums->counts > FLOW_COUNTS_BRANCHES;
	sums->leaning = sums->late || sums->counts > FLOW_COUNTS_INSNS;
	out->shift = shift_of(period);
	return 0;
}
