/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibs_event - the derived events of IBS by name and code, as predicates over the tables ibs_op and
 * ibs_fetch. In SQL each is a view of its name (and of its code): the rows of its table for which
 * the predicate holds, with a column `value`, the count of the row.
 */
#ifndef CYCLADE_STORE_IBS_EVENT_H
#define CYCLADE_STORE_IBS_EVENT_H

#include "perfdata/ibs.h"
#include "show/document.h"

/* Fields that a CPU must have for an event: one of these fields, IBS_FIELDS being none. */
struct ibs_need {
	enum {
		IBS_NEED_ANY,
		IBS_NEED_FIELD,
		IBS_NEED_STATUS, /* of fetches without a physical address */
		IBS_NEED_L3	 /* a source that means it */
	} kind;
	enum ibs_field either, or ;
};

struct ibs_event {
	const char *code, *name; /* name NULL: none, `means` has the reason */
	const char *table;
	struct ibs_need needs; /* of a user's own: nothing */
	const char *predicate, *value, *means;
	const char *cpus; /* families and models that have it; only in rows of ibs_events_put() */
	const char *from; /* FILE:LINE of a user's own (ibs_own.h); else NULL, and has a code */
};

struct ibs_own {
	struct ibs_event *event;
	size_t n;
};

extern const struct ibs_event ibs_events[];
extern const size_t n_ibs_events; /* in the order of their codes, with those that are none */

/* Finds an event by name or code, in any case, `own` (NULL: none) as well; NULL: there is none. */
const struct ibs_event *ibs_event_find(const struct ibs_own *own, const char *word);

/* An error if none of the recordings' CPUs can have the event: a count of 0 would mean nothing.
 * part[i] is IBS_PARTS for a recording without samples of the event's table. */
int ibs_event_exists(const struct ibs_event *e, const enum ibs_part *part, size_t n,
		     struct err *err) MUST_USE;
/* Puts the fields that an expression names and this part does not have, "a, b" in b; returns how
 * many. */
size_t ibs_fields_missing(struct buf *b, const char *expression, enum ibs_part part);
bool ibs_has_word(const char *text, const char *word); /* as a whole word, in any case */

extern const struct document_form ibs_events_document;
/* Puts those that a pattern means (NULL: all); returns how many. */
size_t ibs_events_put(struct document *d, const struct ibs_own *own, const char *pattern);

#endif
