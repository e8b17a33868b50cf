/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_cost - whether an event's period is cycles or time, so that a share of it is a share of the
 * program's cost; other events count occurrences. If a picture has room for one of several events,
 * the one in cycles or time leads.
 */
#ifndef CYCLADE_ANALYSE_EVENT_COST_H
#define CYCLADE_ANALYSE_EVENT_COST_H

#include <stdbool.h>

#include "perfdata/perfdata.h"

enum event_cost { /* those before others lead */
		  EVENT_COST_CYCLES,
		  EVENT_COST_TIME,
		  EVENT_COST_REFERENCE, /* cycles of a clock of its own, or of IBS */
		  EVENT_COST_NONE,
};

enum event_cost event_cost(const struct pd *rec, const struct pd_event *ev);
/* Returns "cycles", "ns", "reference cycles"; for the others "events". */
const char *event_cost_unit(enum event_cost c);
/* Returns true if `a` leads before `b`: it has samples and b none; else its cost does; else it has
 * more samples. */
bool event_leads(const struct pd *rec, const struct pd_event *a, const struct pd_event *b);
/* Returns the one of all that leads; SIZE_MAX: there are none. */
size_t event_leading(const struct pd *rec);

#endif
