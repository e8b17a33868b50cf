/* SPDX-License-Identifier: BSD-3-Clause */
/* machines - two made-up machines for the tests of events: one with a PMU called cpu, and a
 * hybrid. */
#ifndef CYCLADE_TESTS_MACHINES_H
#define CYCLADE_TESTS_MACHINES_H

#include "tree.h"

#define PMU "sys/bus/event_source/devices/"
#define TP  "sys/kernel/tracing/events/"

static const struct tree_file plain[] = {
	{ PMU "cpu/type", "4\n" },
	{ PMU "cpu/caps/max_precise", "3\n" },
	{ PMU "cpu/format/event", "config:0-7,32-35\n" },
	{ PMU "cpu/format/umask", "config:8-15\n" },
	{ PMU "cpu/format/edge", "config:18\n" },
	{ PMU "cpu/format/inv", "config:23\n" },
	{ PMU "cpu/format/cmask", "config:24-31\n" },
	{ PMU "cpu/format/ldlat", "config1:0-15\n" },
	{ PMU "cpu/format/offcore_rsp", "config1:0-63\n" },
	{ PMU "cpu/format/frontend", "config2:4-7,12-15\n" },
	{ PMU "cpu/format/fancy", "config3:0-63\n" },
	{ PMU "cpu/format/broken", "config:3-99\n" },
	{ PMU "cpu/events/cpu-cycles", "event=0x3c\n" },
	{ PMU "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n" },
	{ PMU "cpu/events/slots", "event=0x00,umask=0x4\n" },
	{ PMU "cpu/events/topdown-retiring", "event=0x00,umask=0x80\n" },
	{ PMU "cpu/events/needs", "event=0x10,umask=?\n" },
	{ PMU "cpu/events/bad", "event=0x3c,nonsense=1\n" },
	{ PMU "cpu/events/joules", "event=0x2\n" },
	{ PMU "cpu/events/joules.unit", "Joules\n" },
	{ PMU "cpu/events/joules.scale", "2.3283064365386962890625e-10\n" },
	{ PMU "uncore_imc_0/type", "12\n" },
	{ PMU "uncore_imc_0/cpumask", "0,16\n" },
	{ PMU "uncore_imc_0/format/event", "config:0-7\n" },
	{ PMU "uncore_imc_0/events/reads", "event=0x4\n" },
	{ PMU "uncore_imc_1/type", "13\n" },
	{ PMU "uncore_imc_1/cpumask", "0,16\n" },
	{ PMU "uncore_imc_1/format/event", "config:0-7\n" },
	{ PMU "uncore_imc_1/events/reads", "event=0x4\n" },
	{ PMU "uncore_imc_free_running/type", "14\n" },
	{ PMU "uncore_imc_free_running/format/event", "config:0-7\n" },
	{ PMU "breakpoint/type", "5\n" },
	{ PMU "software/type", "1\n" },
	{ PMU "uprobe/type", "8\n" },
	{ PMU "uprobe/format/retprobe", "config:0\n" },
	{ PMU "kprobe/type", "9\n" },
	{ PMU "kprobe/format/retprobe", "config:0\n" },
	{ PMU "nonsense/type", "minus one\n" },
	{ PMU "odd_/type", "30\n" },
	{ TP "sched/sched_switch/id", "372\n" },
	{ TP "sched/sched_wakeup/id", "373\n" },
	{ TP "sched/sched_waking/id", "374\n" },
	{ TP "sched/enable", "0\n" },
	{ TP "irq/irq_entry/id", "91\n" },
	{ TP "enable", "0\n" },
	{ "usr/bin/text", "no program\n" },
	{ NULL, NULL },
};

static const struct tree_file hybrid[] = {
	{ PMU "cpu_core/type", "4\n" },
	{ PMU "cpu_core/cpus", "0-15\n" },
	{ PMU "cpu_core/caps/max_precise", "3\n" },
	{ PMU "cpu_core/format/event", "config:0-7\n" },
	{ PMU "cpu_core/events/cpu-cycles", "event=0x3c\n" },
	{ PMU "cpu_core/events/slots", "event=0x00\n" },
	{ PMU "cpu_atom/type", "10\n" },
	{ PMU "cpu_atom/cpus", "16-23\n" },
	{ PMU "cpu_atom/format/event", "config:0-7\n" },
	{ PMU "cpu_atom/events/cpu-cycles", "event=0x3c\n" },
	{ NULL, NULL },
};

static char roots[2][64] = { "/tmp/cyclade-event-XXXXXX", "/tmp/cyclade-hybrid-XXXXXX" };

enum { PLAIN, HYBRID };

static inline int machines_make(void **state)
{
	(void)state;
	tree_make(roots[PLAIN], plain);
	tree_make(roots[HYBRID], hybrid);
	return 0;
}

static inline int machines_remove(void **state)
{
	(void)state;
	tree_remove(roots[PLAIN]);
	tree_remove(roots[HYBRID]);
	return 0;
}

#endif
