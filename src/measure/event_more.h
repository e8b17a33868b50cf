/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_more - names after -e that neither the kernel nor sysfs has: events of this CPU's model
 * (UOPS_ISSUED.ANY), then libpfm's (ivb::UOPS_ISSUED:ANY), of the same CPU.
 *
 *	list.more = event_more(&m, choice)
 *	event_more_free(&m)	when the list is parsed no more
 *
 * A model is loaded when first asked for a name. If the CPU has no model, no name is known.
 */
#ifndef CYCLADE_MEASURE_EVENT_MORE_H
#define CYCLADE_MEASURE_EVENT_MORE_H

#include "collect/event.h"
#include "plan/model_choice.h"

struct event_more {
	const struct model_choice *choice;
	struct event_names_more names;
	struct {
		char core[32];
		struct model *m; /* NULL: none is for it */
	} model[4];
	size_t n_models;
	const char **words;
};

/* `m` must live as long as the list is parsed. */
const struct event_names_more *event_more(struct event_more *m, const struct model_choice *choice);
void event_more_free(struct event_more *m); /* safe on zeroes */

#endif
