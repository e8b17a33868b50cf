/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event - from what a person types after -e to what perf_event_open takes.
 *
 * Understood, as perf does: generic hardware names (cycles, instructions, cache-misses, ...), cache
 * events (L1-dcache-load-misses), software names (cpu-clock, task-clock, page-faults, ...), raw codes
 * (rNNN), PMU terms (cpu/event=0x3c,umask=0,name=x,period=1000,freq=../ by sysfs formats and event
 * aliases), tracepoints (sched:sched_switch, with glob), breakpoints (mem:ADDR[/LEN][:rwx]), uprobes and
 * kprobes (uprobe:FILE:SYMBOL|+OFFSET, kprobe:SYMBOL), modifiers (:u :k :h :G :H :p :pp :ppp :P :I :D :S),
 * groups ({a,b}:S), several by comma or by repeated -e.
 *
 * Everything of the machine is read below `root` (sysfs at root/sys, tracefs at root/sys/kernel/tracing
 * or root/sys/kernel/debug/tracing), so that another machine's tree can stand in.
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

struct event {
	struct perf_event_attr attr; /* type, config*, exclude_*, precise_ip, sample_period/freq only if
				      * the event's own terms gave them; read_format and the rest 0 */
	char *name;	/* as it is shown and stored: what was typed, modifiers included */
	const char *pmu; /* "cpu", "software", "tracepoint", ... */
	const char *cpus; /* the PMU's cpumask or cpus file ("0-3"), NULL: every CPU */
	int group;	  /* index of the group's leader; its own index where it leads or is alone */
	bool sample_read; /* :S on its group */
	bool has_period, has_freq;
	const char *unit; /* sysfs .unit, or NULL */
	double scale;	  /* sysfs .scale, 1 where absent */
};

struct event_list {
	struct arena arena;
	VEC(struct event) ev;
};

#define EVENT_LIST_INIT { ARENA_INIT, VEC_INIT }

/* Appends the events of `text`. Errors name the word and its place, with the nearest known name. */
int event_parse(struct event_list *list, const char *root, const char *text,
		struct err *err) MUST_USE;
/* What to sample when nobody says: cycles where a PMU counts them (as seen by opening one), else
 * cpu-clock; *why tells what was looked at and found ("" with cycles). */
int event_default(struct event_list *list, const char *root, char why[256],
		  struct err *err) MUST_USE;
void event_list_free(struct event_list *list);

/* For `list events`: every name this machine knows, by kind. */
struct event_name {
	const char *name, *kind; /* "hardware", "cache", "software", "pmu", "tracepoint", "raw", ... */
	const char *text;	 /* one line on what it counts, or "" */
};
int event_names(struct arena *a, const char *root, struct event_name **out, size_t *n,
		struct err *err) MUST_USE;

#endif
