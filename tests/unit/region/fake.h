/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake - threads with counters that are no counters: pages that the test writes, and in place of
 * rdpmc a call (fake_rdpmc, in a build of its own of the library's code) that reads what the test
 * says, and lets the test do things at the n-th of them.
 */
#ifndef CYCLADE_TESTS_REGION_FAKE_H
#define CYCLADE_TESTS_REGION_FAKE_H

#include "region/region_int.h"

#define FAKE_COUNTERS 20
#define FAKE_METRICS  8	 /* of fake_counter: PERF_METRICS */
#define FAKE_SLOTS    19 /* and fixed counter 3 */

extern uint64_t fake_counter[FAKE_COUNTERS], fake_step[FAKE_COUNTERS];
extern uint64_t fake_countdown; /* at 0 fake_hook() is called, before the counter is read */
extern void (*fake_hook)(void);
void fake_rdpmc(void);

struct fake {
	struct cyclade_set set;
	struct table_head head;
	struct thread *t;
};

/* `reads` counters, of which with `fields` the first is slots and the second PERF_METRICS. */
void fake_open(struct fake *f, size_t reads, size_t fields);
struct cyclade_region *fake_region(struct fake *f);
void fake_close(struct fake *f);
/* The kernel touches the page of a counter: it is on hardware counter `index` - 1 (0: on none). */
void fake_page(struct fake *f, size_t read, uint32_t index, int64_t offset);
void fake_times(struct fake *f, uint64_t enabled, uint64_t running);
/* What a region has, as reports see it. */
struct table_sums fake_sums(struct fake *f, struct cyclade_region *r);

#endif
