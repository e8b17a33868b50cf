/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event - from the text after -e to attributes of perf_event_open.
 *
 * Understood, as perf does: generic hardware names (cycles, instructions, cache-misses, ...), cache
 * events (L1-dcache-load-misses), software names (cpu-clock, task-clock, page-faults, ...), raw
 * codes (rNNN), PMU terms (cpu/event=0x3c,umask=0,name=x,period=1000,freq=../ by sysfs formats and
 * event aliases), tracepoints (sched:sched_switch, with glob), breakpoints (mem:ADDR[/LEN][:rwx]),
 * uprobes and kprobes (uprobe:FILE:SYMBOL|+OFFSET, kprobe:SYMBOL), modifiers (:u :k :h :G :H :p :pp
 * :ppp :P :I :D :S), groups ({a,b}:S), several by comma or by repeated -e. Names that are none of
 * these are asked of event_list.more. Slots and top-down metrics of one text without a group are a
 * group, and slots lead theirs.
 *
 * Everything of the machine is read below `root` (sysfs at root/sys, tracefs at
 * root/sys/kernel/tracing or root/sys/kernel/debug/tracing), so that another machine's tree can
 * stand in.
 */
#ifndef CYCLADE_COLLECT_EVENT_H
#define CYCLADE_COLLECT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/perf_abi.h"
#include "base/vec.h"

struct pmu_set;

/* Slots, and the metrics of PERF_METRICS that they lead (Intel, Ice Lake on). */
enum event_topdown { TOPDOWN_NONE, TOPDOWN_SLOTS, TOPDOWN_METRIC };

enum event_tool { TOOL_NONE, TOOL_DURATION, TOOL_USER, TOOL_SYSTEM };

struct event {
	/* type, config*, exclude_*, precise_ip, pinned, exclusive; and, if the event's own terms
	 * ask for it, sample_period or sample_freq, sample_max_stack, branch_sample_type.
	 * read_format and the rest 0. exclude_guest is set unless :G. Tracepoints, breakpoints and
	 * probes give no period of their own: sample each (period 1). */
	struct perf_event_attr attr;
	uint64_t config3, config4; /* attr bytes 128 to 143: an event that needs more of them than
				    * `attr` has here is refused */
	char *name;		   /* as it is shown and stored: as typed, modifiers included */
	const char *pmu;	   /* "cpu", "software", "tracepoint", ... */
	const char *filter;	   /* of a tracepoint, for the kernel; NULL: none */
	const char *cpus;	   /* the PMU's cpumask or cpus file ("0-3"), NULL: every CPU */
	int group;	  /* index of the group's leader; its own index if it leads or is alone */
	bool sample_read; /* :S on its group */
	bool has_period, has_freq;
	/* One word (uncore_imc/.../) for several boxes outside the cores: the index of the first of
	 * them, and the word. Their counts add up. Its own index and NULL if it is alone. */
	int box_of;
	const char *boxes;
	const char *unit; /* sysfs .unit, or NULL */
	double scale;	  /* sysfs .scale, 1 if absent */
	/* by the event's own terms, which override the command's options */
	const char *call_graph; /* call-graph=fp|dwarf|unwind|lbr|no, or NULL */
	uint32_t stack_size;	/* stack-size=, or 0 */
	int8_t inherit;		/* inherit, no-inherit: 1, -1; 0: unknown */
	enum event_topdown topdown;
	enum event_tool tool; /* a clock of ours: the event itself is "dummy" */
};

/* The meaning of a name that neither the kernel nor sysfs has. */
struct event_meaning {
	const char *pmu, *terms; /* as between its slashes */
	bool exclude_user, exclude_kernel;
};

/* Who knows more names: those of a vendor's event list. */
struct event_names_more {
	/* True if `name` (options included) is an event of the core PMU `core`. The texts live in
	 * `a`. */
	bool (*find)(void *ctx, struct arena *a, const char *core, const char *name, size_t len,
		     struct event_meaning *out);
	/* The nearest such name, or NULL. */
	const char *(*nearest)(void *ctx, const char *name);
	void *ctx;
};

struct event_list {
	struct arena arena;
	VEC(struct event) ev;
	bool counts; /* for counting, not sampling: duration_time, user_time and system_time are
		      * understood */
	const struct pmu_set *pmus; /* of `root`, read once; the list's own */
	const char *root;
	const struct event_names_more *more; /* asked last; NULL: nobody */
};

#define EVENT_LIST_INIT                                       \
	{                                                     \
		ARENA_INIT, VEC_INIT, false, NULL, NULL, NULL \
	}

/* Appends the events of `text`; on failure the list is as before. Errors name the word and its
 * place, with the nearest known name. Paths of probes lie in the list's arena: the list must live
 * until the events are open. A tracepoint asked of the real machine ("" root) mounts tracefs, if
 * that is not mounted and we may. The machine's PMUs are read once for a list and root. */
int event_parse(struct event_list *list, const char *root, const char *text,
		struct err *err) MUST_USE;
/* Fails, naming slots, if a top-down metric is in no group that slots lead: no kernel counts it. */
int event_topdown_check(const struct event_list *list, struct err *err) MUST_USE;
/* True if the group of this leader has a top-down metric: slots do not sample then. */
bool event_topdown_led(const struct event_list *list, size_t leader);
/* The type and number of a generic name (cycles, page-faults, L1-dcache-load-misses): false if
 * it is none. */
bool event_generic(const char *name, size_t len, uint32_t *type, uint64_t *config);
/* The default event to sample: cycles, as precise as the PMU can, if a PMU counts them (as seen by
 * opening one; of a captured machine, by its having a PMU), else cpu-clock; *why has the checks and
 * their results ("" with cycles). */
int event_default(struct event_list *list, const char *root, char why[256],
		  struct err *err) MUST_USE;
/* As event_parse. If `text` is "cycles", perhaps with u, k, p or P, and no PMU of this machine
 * counts them, cpu-clock stands in, as in perf; *why as above ("" with what was asked for). */
int event_cycles_or_time(struct event_list *list, const char *root, const char *text, char why[256],
			 struct err *err) MUST_USE;
void event_list_free(struct event_list *list);
/* The CPUs that its PMU names, ascending; NULL: it names none, and the event counts on all. A
 * core's PMU does so for tasks too, which go there by themselves. */
void event_cpus(const uint32_t **cpus, size_t *n, const struct event *ev, struct arena *a);

/* For `list events`: every name this machine knows, by kind. */
struct event_name {
	const char *name,
		*kind;	  /* "hardware", "cache", "software", "pmu", "tracepoint", "raw", ... */
	const char *text; /* one line on its meaning, or "" */
};
int event_names(struct arena *a, const char *root, struct event_name **out, size_t *n,
		struct err *err) MUST_USE;

/* "any_ret,u": bits of branch_sample_type, words as of branch_type=, parted by commas or bars.
 * If none of them is a kind of branch, any is meant. */
int event_branch_filter(uint64_t *out, const char *words, struct err *err) MUST_USE;

#endif
