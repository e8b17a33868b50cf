/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring - what a program reads from the ring of a sampling event. The kernel fills a ring of its
 * own; the program gets another one, into which records are copied while their samples are made
 * into what the simulated event would have written (sample.c). It is filled before each poll and
 * each call on an event, and by a thread every millisecond.
 *
 * Rings that are mapped read-only or written backward, and those of one page, are the kernel's.
 */
#ifndef CYCLADE_SIM_RING_H
#define CYCLADE_SIM_RING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "context.h"

#define SIM_RECORD_MAX 65536

/* Under the lock of preload.c, all of them. */
void *sim_ring_map(void *at, size_t len, int prot, int flags, int fd, off_t offset);
bool sim_ring_unmap(void *at, size_t len); /* false: none of ours */
void sim_ring_pump(void);
bool sim_ring_any(void);

/* sample.c. What the real event behind a sampling one is asked to write, beyond what was asked for:
 * an identifier, so that its samples are found; without what software events cannot have. */
void sim_sample_attr(const struct sim *sim, struct perf_event_attr *backing,
		     const struct sim_counter *k);
/* As many ns as the event takes for that period, at its mean rate. */
uint64_t sim_sample_ns(const struct sim *sim, const struct sim_counter *k, uint64_t period);
/* PERF_EVENT_IOC_PERIOD, as the kernel answers it. */
int sim_sample_set_period(const struct sim *sim, struct sim_counter *k, uint64_t period);
/* Writes the record as the simulated event would have; returns its size, at most SIM_RECORD_MAX. A
 * record may stand for none, where its counter was somebody else's just then, or for more of them,
 * where the kernel's clock came late: `left` of 0 begins a record, and says afterwards for how many
 * it stands. The caller counts it down and comes again for each, with the same record. */
struct sim_again {
	uint64_t left, ns; /* and so far apart they were */
};
size_t sim_sample_translate(const struct sim *sim, const void *record, size_t size, void *out,
			    struct sim_again *again);
/* What the counter counted until its last samples and no sample stands for: dropped as periods were
 * changed; and what it had counted in all until then, in the threads that it sampled. */
struct sim_sampled {
	double dropped, until;
};
struct sim_sampled sim_sampled(const struct sim *sim, const struct sim_counter *k);

/* Events by the kernel's id. */
void sim_id_set(uint64_t id, struct sim_counter *k);
struct sim_counter *sim_id_get(uint64_t id);

#endif
