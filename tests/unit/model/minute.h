/* SPDX-License-Identifier: BSD-3-Clause */
/* minute - counts over a minute of an i5-3337U (Ivy Bridge) with SMT on, and what perf printed of
 * them. */
#ifndef CYCLADE_TESTS_MINUTE_H
#define CYCLADE_TESTS_MINUTE_H

#include <stddef.h>

static const struct {
	const char *event;
	double count;
} minute[] = {
	{ "INST_RETIRED.ANY", 3959711240 },
	{ "RESOURCE_STALLS.SB", 1372781339 },
	{ "CPU_CLK_UNHALTED.THREAD_ANY", 27547459701 },
	{ "IDQ_UOPS_NOT_DELIVERED.CORE", 30611525158 },
	{ "IDQ.MS_UOPS", 4664908277 },
	{ "RS_EVENTS.EMPTY_CYCLES", 9011996120 },
	{ "BR_MISP_RETIRED.ALL_BRANCHES", 73080555 },
	{ "INT_MISC.RECOVERY_CYCLES_ANY", 1043483329 },
	{ "CYCLE_ACTIVITY.STALLS_LDM_PENDING", 11924966176 },
	{ "UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC", 1437479238 },
	{ "UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC", 2704205377 },
	{ "UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC", 5126419350 },
	{ "CPU_CLK_UNHALTED.THREAD", 22487132522 },
	{ "CYCLE_ACTIVITY.CYCLES_NO_EXECUTE", 22813129502 },
	{ "UOPS_RETIRED.RETIRE_SLOTS", 8377190585 },
	{ "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 6700364585 },
	{ "MACHINE_CLEARS.COUNT", 10736770 },
	{ "UOPS_ISSUED.ANY", 9051453547 },
};
enum { MINUTE = sizeof(minute) / sizeof(minute[0]) };

static const struct {
	const char *node, *path;
	double percent;
} printed[] = {
	{ "Fetch_Latency", "frontend_bound.fetch_latency", 48.6 },
	{ "Fetch_Bandwidth", "frontend_bound.fetch_bandwidth", 6.9 },
	{ "Branch_Mispredicts", "bad_speculation.branch_mispredicts", 4.4 },
	{ "Machine_Clears", "bad_speculation.machine_clears", 0.6 },
	{ "Heavy_Operations", "retiring.heavy_operations", 7.8 },
	{ "Light_Operations", "retiring.light_operations", 7.4 },
	{ "Memory_Bound", "backend_bound.memory_bound", 18.7 },
	{ "Core_Bound", "backend_bound.core_bound", 5.6 },
};
enum { PRINTED = sizeof(printed) / sizeof(printed[0]) };

#endif
