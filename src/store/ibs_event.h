/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibs_event - the derived events of IBS by name and code, as predicates over the tables ibs_op and
 * ibs_fetch. In SQL each is a view of its name (and of its code): the rows of its table for which
 * the predicate holds, with a column `value`, what the row counts.
 */
#ifndef CYCLADE_STORE_IBS_EVENT_H
#define CYCLADE_STORE_IBS_EVENT_H

#include "show/document.h"

struct ibs_event {
	const char *code, *name; /* name NULL: none, `means` says why */
	const char *table, *predicate, *value, *means;
	const char *from; /* FILE:LINE of a user's own (ibs_own.h); else NULL, and has a code */
};

struct ibs_own {
	struct ibs_event *event;
	size_t n;
};

extern const struct ibs_event ibs_events[];
extern const size_t n_ibs_events; /* in the order of their codes, with those that are none */

/* By name or code, in any case, `own` (NULL: none) as well; NULL: there is none. */
const struct ibs_event *ibs_event_find(const struct ibs_own *own, const char *word);

extern const struct document_form ibs_events_document;
/* Those that a pattern means (NULL: all); how many. */
size_t ibs_events_put(struct document *d, const struct ibs_own *own, const char *pattern);

#endif
