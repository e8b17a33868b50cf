/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * latest - the latest records of a stream, in memory, up to so many bytes. Those that make room go
 * into a state (state.h): with it, the latest are a recording of their own at any moment.
 *
 *	pd_latest_new(&l, most, state, &err)	the state stays the caller's
 *	pd_latest_add(l, p, size, &err)
 *	pd_latest_put(l, put, ctx, &err)	all, in their order; they stay
 *	pd_latest_free(l)
 *
 * Memory is taken as it is needed, in blocks; the oldest block goes as a whole.
 */
#ifndef CYCLADE_PERFDATA_LATEST_H
#define CYCLADE_PERFDATA_LATEST_H

#include "perfdata/state.h"

#define LATEST_BLOCK (256u << 10)

struct pd_latest;

int pd_latest_new(struct pd_latest **out, uint64_t most, struct pd_state *state,
		  struct err *err) MUST_USE;
int pd_latest_add(struct pd_latest *l, const uint8_t *p, size_t size, struct err *err) MUST_USE;
int pd_latest_put(const struct pd_latest *l,
		  int (*put)(void *ctx, const void *records, size_t len, struct err *err),
		  void *ctx, struct err *err) MUST_USE;
uint64_t pd_latest_bytes(const struct pd_latest *l);
void pd_latest_free(struct pd_latest *l); /* NULL is fine */

#endif
