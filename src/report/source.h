/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source - facts of a recording, for every result that is made of it, and their lines for people:
 * the command, the machine, losses.
 */
#ifndef CYCLADE_REPORT_SOURCE_H
#define CYCLADE_REPORT_SOURCE_H

#include "base/buf.h"
#include "perfdata/perfdata.h"

/* Facts of the recording, beside its samples. */
struct view_source {
	const struct pd_info *info;
	const struct pd_event *event;
	size_t n_events;
	const struct pd_losses *losses;
	const char *const *notes;
	size_t n_notes;
	bool has_time;
	uint64_t time_first, time_last; /* of the samples, ns; the same: not recorded */
	const char *input;		/* as the user named it; NULL: the default */
	const char *version;
	size_t lead; /* the event that leads (analyse/event_cost.h); SIZE_MAX: there is none */
};
struct view_source view_source_of(const struct pd *rec);
/* Returns true if samples of some event have call chains. */
bool source_has_chains(const struct view_source *s);

/* A line below the rows. */
struct fact {
	char label[24];
	char text[256];
	bool bad; /* worth a colour */
};

enum { FACTS_MAX = 16 }; /* facts_of_event(): 14 with call chains and latencies */

/* Adds and returns the next of at most FACTS_MAX. */
struct fact *fact_add(struct fact *out, size_t *n, const char *label, bool bad, const char *fmt,
		      ...) PRINTF_(5, 6);
/* The recorded command, safe for terminals; and its machine. */
void source_command(struct buf *b, const struct view_source *s, bool ascii);
void source_machine(struct buf *b, const struct view_source *s, bool ascii);
/* Writes the facts on lost records and throttling; returns how many. */
size_t source_facts(const struct view_source *s, struct fact *out);

#endif
