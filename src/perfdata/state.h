/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - what a reader has to know of the time before a recording begins, kept while a stream of
 * records goes by: the kernel's mappings and symbols, cgroups, processes with their threads, names
 * and mappings.
 *
 *	pd_state_new(&s, trailer, &err)
 *	pd_state_note(s, p, size, &err)		each record in its order; samples are skipped
 *	pd_state_round(s)			forgets what ended before the last call
 *	pd_state_put(s, put, ctx, &err)		the records of all that is there now
 *	pd_state_free(s)
 *
 * pd_state_put writes the records that collect/synth would: with time 0, a process first, then what
 * it has mapped, then its threads. A file that begins with them is a recording of its own.
 *
 * Memory: a process that has forked shares its mappings with the child until one of them maps more.
 * A mapping that lies in a later one is dropped; a process has STATE_MAPS_MOST at most, the latest.
 * Records are not trusted: one that is too short for its kind is skipped.
 */
#ifndef CYCLADE_PERFDATA_STATE_H
#define CYCLADE_PERFDATA_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define STATE_MAPS_MOST 65536u

struct pd_state;

/* `trailer`: bytes of sample_id_all's fields behind each record. */
int pd_state_new(struct pd_state **out, size_t trailer, struct err *err) MUST_USE;
int pd_state_note(struct pd_state *s, const uint8_t *p, size_t size, struct err *err) MUST_USE;
void pd_state_round(struct pd_state *s);
int pd_state_put(const struct pd_state *s,
		 int (*put)(void *ctx, const void *record, size_t len, struct err *err), void *ctx,
		 struct err *err) MUST_USE;
void pd_state_free(struct pd_state *s); /* NULL is fine */

#endif
