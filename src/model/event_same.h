/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_same - which events of a model are one counter under several names, and which one counts
 * cycles.
 */
#ifndef CYCLADE_MODEL_EVENT_SAME_H
#define CYCLADE_MODEL_EVENT_SAME_H

#include "model/model.h"

/* Names that models have for cycles, the likeliest to have a counter of their own first;
 * NULL-ended. Only whole names count: an event with options (":k", ":c1") is another one. */
extern const char *const event_cycle_names[];
/* The model's cycles, by the first of these names that it has; MODEL_NONE. */
uint32_t event_cycles(const struct model *m);
/* A number of an event's encoding, 0 if it is not to be compared. */
uint64_t event_encoding(const struct model_event *e);
/* Two names for one counter: the same encoding, terms in any order. */
bool event_same(const struct model *m, uint32_t a, uint32_t b);
/* The same of two events, of which the encodings are the same number. */
bool events_same(const struct model_event *a, const struct model_event *b);

#endif
