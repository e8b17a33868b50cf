/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * made - samples made up for the tests of profile, and a plain count of them: one at a time, by
 * name, with no memory of the one before. Recording, spaces and images are stand-ins
 * (made_world.c), so that what is mapped and called how at which time is known exactly.
 */
#ifndef CYCLADE_TESTS_MADE_H
#define CYCLADE_TESTS_MADE_H

#include "analyse/profile.h"
#include "base/vec.h"

#define N_EVENTS  3
#define N_SAMPLES 60000
#define N_CHUNKS  23

struct fact { /* a sample as it was written */
	uint32_t event, pid, tid, cpu;
	uint64_t ip, time, period;
	bool kernel;
	uint64_t chain[24];
	uint64_t n_chain;
};

/* ---- the world, made_world.c ---- */

extern struct strtab made_strings;
extern struct pd_event made_events[N_EVENTS];
extern struct pd_chunk made_chunks[N_CHUNKS];
extern const char *const made_image_names[];

/* Names the functions and tasks. */
int made_names(void);
const char *made_comm_at(uint32_t tid, uint64_t time);
const struct symbol *made_symbol_at(uint32_t image, uint64_t addr);

/* ---- the samples, made_samples.c ---- */

extern struct fact *made_facts;

int made_set_up(void **state);
int made_tear_down(void **state);

/* What each name counts. */
struct count {
	struct strtab names;
	VEC(struct tally) t;
};

void count_add(struct count *c, const char *name, uint64_t period);
void count_free(struct count *c);

/* "dso|symbol" of an address; *how: 0 mapped and named, 1 no symbol, 2 no map. */
void plain_place(char out[80], const struct fact *f, bool kernel, uint64_t ip, int *how);
void same_tally(const struct tally *got, const struct tally *want, const char *what);
/* Of the samples; fails the test where it fails. */
struct profile *made_profile(struct profile_opts *o);

#endif
