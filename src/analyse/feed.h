/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * feed - the first pass: a recording's side-band records into address spaces over time.
 */
#ifndef CYCLADE_ANALYSE_FEED_H
#define CYCLADE_ANALYSE_FEED_H

#include "base/err.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"

/* Walks `rec` once (MMAP, MMAP2, COMM, FORK, EXIT, KSYMBOL, CGROUP, and header build-ids) and
 * returns finished spaces, the caller's to free; `images` must outlive them.
 *
 * Records that perf wrote itself for older processes have time 0: they hold from the beginning. If
 * the recording's records carry no time (before sample_id_all), their place in the file stands in
 * for it, for samples too: perf falls back to the order of the file just so.
 */
struct spaces *feed_spaces(const struct pd *rec, struct images *images, struct err *err) MUST_USE;

/* The same in steps, for records that come while the file is still being walked: feed_begin once
 * its events are known, feed_record for each that pd_walk would report, feed_finish when all is
 * known. */
struct spaces *feed_begin(const struct pd *rec, struct images *images, struct err *err) MUST_USE;
int feed_record(struct spaces *sp, const struct pd *rec, const struct pd_record *r,
		struct err *err) MUST_USE;
void feed_finish(struct spaces *sp, const struct pd *rec);

/* Returns the time to ask the spaces with for a sample: its own, or its place in the file. */
static inline uint64_t feed_time(const struct pd *rec, const struct pd_sample *s, uint64_t seq)
{
	return pd_has_time(rec) ? s->time : seq;
}

#endif
