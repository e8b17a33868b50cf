/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mux_int - shared by mux.c and mux_pause.c.
 */
#ifndef CYCLADE_ANALYSE_PASS_MUX_INT_H
#define CYCLADE_ANALYSE_PASS_MUX_INT_H

#include "analyse/mux.h"
#include "analyse/pass.h"
#include "base/vec.h"

struct mux_pause {
	uint64_t time; /* of the first sample after it */
	double lost;   /* ns on a counter that stood still */
	uint32_t event, cpu, tid;
};
struct mux_pauses {
	struct mux_pause *v;
	size_t n, cap;
};

bool mux_tells(const struct pd_event *e);
/* Returns a pass over the samples with times, of all threads; the caller frees it. NULL: an
 * error. */
struct pass *mux_pass(const struct pd *rec, unsigned threads, struct err *err) MUST_USE;
/* By time. One pass over recordings that have any, none over others. */
int mux_find_pauses(struct mux_pauses *out, const struct pd *rec, struct err *err) MUST_USE;

#endif
