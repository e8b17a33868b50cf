/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep - whether a sample is wanted: an SQL predicate over columns of samples, ibs_op and
 * ibs_fetch, asked of one sample after the other while they are recorded. Columns that need the
 * whole recording (names of threads, functions, places) are not there; a column that the sample has
 * not is null.
 *
 *	keep_open(&k, "load AND dc_miss", &err)
 *	keep_sample(k, s, pmu, cpuid, &err)	1: it holds; 0: it does not, or is null; -1
 *	keep_close(k)
 *
 * The name or code of a derived event of IBS alone is its predicate. One thread at a time. A build
 * without SQLite has keep_open() fail with ERR_UNSUPPORTED.
 */
#ifndef CYCLADE_STORE_KEEP_H
#define CYCLADE_STORE_KEEP_H

#include "perfdata/perfdata.h"
#include "store/ibs_event.h"

struct keep;

/* `own`: users' own events of IBS; NULL: none. */
int keep_open(struct keep **out, const struct ibs_own *own, const char *predicate,
	      struct err *err) MUST_USE;
/* `pmu`: that of the event ("ibs_op"); `cpuid`: of the machine, as recordings have it. */
int keep_sample(struct keep *k, const struct pd_sample *s, const char *pmu, const char *cpuid,
		struct err *err) MUST_USE;
/* Sets *reads to the fields of a sample that `k`, made of the same arguments, reads: bits
 * PERF_SAMPLE_*. */
int keep_reads(const struct keep *k, const struct ibs_own *own, const char *predicate,
	       uint64_t *reads, struct err *err) MUST_USE;
void keep_close(struct keep *k); /* NULL is fine */

#endif
