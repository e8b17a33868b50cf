/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate_samples - samples of an event while a kernel runs, and shares of them; shared by
 * validate_skid and validate_address.
 *
 *	validate_sample(samples, &opts, &why, &err)
 *	validate_share(hit, n, none)
 *
 * The event samples in user space at a fixed period, in this thread. An event that the kernel
 * refuses to sample so gives a reason and no samples; that is no error.
 */
#ifndef CYCLADE_MEASURE_VALIDATE_SAMPLES_H
#define CYCLADE_MEASURE_VALIDATE_SAMPLES_H

#include <pthread.h>

#include "measure/validate.h"

#define VALIDATE_PRECISE 4u    /* levels: 0 to 3 */
#define VALIDATE_SAMPLES 1000u /* are enough */
#define VALIDATE_REGS	 3u
#define VALIDATE_SAMPLED 0.4 /* seconds of CPU time, at most */

struct validate_seen {
	uint64_t ip, addr;	     /* addr: of data; 0: none */
	uint64_t reg[VALIDATE_REGS]; /* of the mask, ascending by number */
	bool has_regs;
};

struct validate_samples { /* filled by the recorder's thread */
	struct validate_seen seen[VALIDATE_SAMPLES];
	size_t n;
	pthread_mutex_t lock;
	uint8_t head[64]; /* of a record that a run cut */
	size_t have, want;
};
#define VALIDATE_SAMPLES_INIT                             \
	(struct validate_samples)                         \
	{                                                 \
		.n = 0, .lock = PTHREAD_MUTEX_INITIALIZER \
	}

struct validate_sample_opts {
	const struct validate_event *event;
	unsigned precise;
	uint64_t regs; /* VALIDATE_REGS of them at most */
	const struct kernel *kernel;
	struct kernel_setup setup;
	uintptr_t memory; /* filled: the kernel's `a`, and its bytes */
	uint64_t bytes;
};

/* *why: no samples were taken, and the reason; else untouched. Forgets the samples that *s had. */
int validate_sample(struct validate_samples *s, struct validate_sample_opts *o, const char **why,
		    struct err *err) MUST_USE;

/* hit: 1 or 0, and -1 for samples that do not count. The draws are not independent (a fixed period
 * beats with the loop): if 20 batches differ beyond chance, their number is reduced. */
struct validate_tally {
	size_t of, n;
	double draws; /* as many independent ones know as much */
};
struct validate_tally validate_tally(const signed char *hit, size_t n);
/* With Wilson's interval; `none`: why there is no share if none counts. */
struct estimate validate_share(const signed char *hit, size_t n, const char *none);

#endif
