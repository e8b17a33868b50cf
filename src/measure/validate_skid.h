/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate_skid - where samples of an event stand: the kernel "skid" has one load in an iteration,
 * and instructions of one length behind it; an event of loads is sampled there with each precise
 * level, and the distance of each sample from the load is counted in instructions.
 *
 *	validate_skid(&row, &n, arena, &opts, &err)
 *
 * Samples have the register that the load's address is made of, and the address if the level is
 * precise: the address that comes out again is counted as right.
 *
 * Shares have Wilson's interval, quantiles that of Woodruff (1952), for draws that are not
 * independent (validate_samples.h).
 */
#ifndef CYCLADE_MEASURE_VALIDATE_SKID_H
#define CYCLADE_MEASURE_VALIDATE_SKID_H

#include "measure/validate_samples.h"

struct validate_skid {
	const struct validate_event *event;
	unsigned precise;
	size_t samples, outside;  /* outside: not in the kernel's iteration */
	struct estimate at, next; /* shares at the load, and at the instruction behind it */
	struct estimate median, p90, most; /* instructions behind the load */
	size_t addresses;		   /* samples that had one */
	struct estimate right;		   /* share of these that were right */
	const char *why;		   /* there are no samples; NULL */
};

struct validate_skid_opts {
	const struct validate_event *event;
	size_t n_events;
	bool (*news)(void *ctx, double done); /* false: stop; NULL */
	void *ctx;
};

/* The event counts loads, and nothing else. */
bool validate_skid_fits(const struct validate_event *e);
double validate_skid_time(const struct validate_skid_opts *o); /* seconds, about */
int validate_skid(struct validate_skid **out, size_t *n, struct arena *a,
		  const struct validate_skid_opts *o, struct err *err) MUST_USE;

/* Sums up samples (of VALIDATE_SAMPLES at most) in their order, of which reg[0] is the load's;
 * out->why stands, and is the reason if there are none. For tests. */
void validate_skid_sum(struct validate_skid *out, const struct kernel_skid *k,
		       const struct validate_seen *seen, size_t n);

#endif
