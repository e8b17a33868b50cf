/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate_address - whether a sampled data address is right: the kernel "address" has two loads
 * whose addresses registers give (base + index * scale), in memory of its own. An event of loads
 * is sampled there as precisely as it can be, with the address and these registers.
 *
 *	validate_address(&row, &n, arena, &opts, &err)
 *
 * One load keeps its registers; one overwrites its base with a word that encodes its own place. So
 * it is known whether registers are those before the load, or those behind it (as PEBS has them):
 * then no address of the second load can be computed from them, but the sampled one can be checked.
 *
 * A share is wrong if its 95 % bar ends below VALIDATE_ADDRESS_LEAST.
 */
#ifndef CYCLADE_MEASURE_VALIDATE_ADDRESS_H
#define CYCLADE_MEASURE_VALIDATE_ADDRESS_H

#include "measure/validate_samples.h"

#define VALIDATE_ADDRESS_LEAST 0.99

#define VALIDATE_ADDRESSES            \
	V(RIGHT, "right")             \
	V(BEHIND, "registers behind") \
	V(SKIDS, "not at the load")   \
	V(LATER, "registers later")   \
	V(NONE, "no address")         \
	V(WRONG, "wrong address")     \
	V(UNTESTED, "not tested")
enum validate_address_verdict { /* a later one outweighs those before */
#define V(id, key) ADDRESS_##id,
				VALIDATE_ADDRESSES
#undef V
};
extern const char *const validate_address_key[];

/* How wrong addresses differ from right ones. */
enum validate_address_off {
	OFF_NOTHING,
	OFF_FIXED, /* by the same number of bytes */
	OFF_LINE,  /* each is that of its line of 64 bytes */
	OFF_PAGE,
	OFF_VARIES,
};

struct validate_address {
	const struct validate_event *event;
	unsigned precise;
	enum validate_address_verdict verdict;
	size_t samples, outside;  /* outside: at neither load, nor at the instruction behind */
	struct estimate at, next; /* of those in its loop: at a load; behind one */
	/* of samples at a load that keeps, or overwrites, its registers: the address that they give
	 * lies in the kernel's memory, and is the sampled one */
	struct estimate kept, overwritten;
	struct estimate behind; /* of those that overwrite: registers are those behind the load */
	struct estimate right;	/* of sampled addresses that could be checked */
	enum validate_address_off off;
	int64_t by;	 /* of OFF_FIXED */
	const char *why; /* not tested; NULL */
};

struct validate_address_opts {
	const struct validate_event *event;
	size_t n_events;
	const struct calibrate_sizes *sizes;
	bool (*news)(void *ctx, double done); /* false: stop; NULL */
	void *ctx;
};

/* Its samples may have the addresses of loads. */
bool validate_address_fits(const struct validate_event *e);
double validate_address_time(const struct validate_address_opts *o); /* seconds, about */
int validate_address(struct validate_address **out, size_t *n, struct arena *a,
		     const struct validate_address_opts *o, struct err *err) MUST_USE;

/* Where the kernel ran, and which register of validate_seen is which; for tests. */
struct validate_address_place {
	const struct kernel_address *k;
	uint64_t memory, bytes;
	uint64_t regs; /* the mask that was sampled */
	bool all;      /* the event counts more than loads: samples elsewhere are no skid */
};
/* Sums up samples (of VALIDATE_SAMPLES at most) in their order; `why` stands if there are none. */
void validate_address_sum(struct validate_address *out, const struct validate_address_place *p,
			  const struct validate_seen *seen, size_t n);

#endif
