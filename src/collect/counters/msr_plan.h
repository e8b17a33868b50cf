/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msr_plan - the old values of registers in a file, to restore them if both a monitor and its
 * watchdog were killed.
 */
#ifndef CYCLADE_COLLECT_MSR_PLAN_H
#define CYCLADE_COLLECT_MSR_PLAN_H

#include "collect/counters/msr_int.h"

/* Writes root/run/cyclade/msr-PID before anything else does, whole or not at all. NULL and its path
 * in `path`, or why there is none (static text) and "". */
const char *msr_plan_write(char *path, size_t size, const char *root, const struct msr_row *row,
			   size_t n, const uint64_t *ours, size_t n_ours);

struct msr_plan {
	long long pid;
	unsigned long long started; /* of its process, as /proc/PID/stat has it */
	char boot[64];
	VEC(struct msr_row) row; /* state MSR_OURS, fd -1 */
	VEC(uint64_t) ours;
};

/* Bytes from outside: only registers that a monitor writes are taken. */
int msr_plan_parse(struct msr_plan *p, const char *text, size_t len, struct err *err) MUST_USE;
void msr_plan_free(struct msr_plan *p);

#endif
