/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_int - the pieces of import.h: files and texts (import.c), encodings of events
 * (import_events.c), formulas and their places (import_metrics.c).
 */
#ifndef CYCLADE_MODEL_IMPORT_INT_H
#define CYCLADE_MODEL_IMPORT_INT_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/import.h"

#define IMPORT_ENTRIES_MAX 65536u
#define IMPORT_NAME_MAX	   200u
#define IMPORT_VALUE_MAX   60000u
#define IMPORT_NOTES_MAX   40u

struct import_event {
	const char *name;
	const cJSON *json; /* lives as long as the import */
	const char *rest;  /* of its line, once it is made */
};

struct import_metric {
	const char *name, *expr, *flag, *unit, *scale, *groups, *count, *locate, *issue, *area;
	const char *parent; /* as in the file, or NULL */
	unsigned level;	    /* 0: no node */
	bool perf, overlap, dropped;
	uint32_t up; /* the parent, or UINT32_MAX */
};

enum import_kind { IMPORT_INTEL, IMPORT_AMD, IMPORT_ARM };

struct importer {
	struct arena *a;
	const struct import_facts *facts;
	enum import_kind kind;
	unsigned counters, counters_alone, fixed, fixed_level;
	uint64_t fixed_named; /* as bits, as the files count them */
	bool fixed_from_1;    /* the files count fixed counters from 1 */
	VEC(struct import_event) events;
	VEC(struct import_metric) metrics;
	VEC(struct import_event) codes; /* of Arm: events that ArchStdEvent refers to */
	VEC(const char *) notes;
	VEC(const char *) absent;		      /* names that no file has */
	struct u64map event_at, metric_at, absent_at; /* by import_key() of the name */
	size_t notes_more;
	bool nomem;
};

/* A hash of the name without its case. */
uint64_t import_key(const char *name, size_t len);
void import_note(struct importer *im, const char *fmt, ...) PRINTF_(2, 3);
/* A member's text, cut of blanks and fit for a line, or NULL; a number as text. */
const char *import_text(struct importer *im, const cJSON *o, const char *key);
/* 0x1f, 31, "0x1f", the first of "0x1a6,0x1a7"; 0 if there is none. */
uint64_t import_number(const cJSON *o, const char *key);
bool import_name_fits(const char *name);

/* Counters and fixed counters that the events need: for a CPU that is not known. */
void import_count_counters(struct importer *im);
/* Fills in `rest` of each event. */
int import_events(struct importer *im, struct err *err) MUST_USE;

int import_metric_add(struct importer *im, const cJSON *o, const char *file) MUST_USE;
/* Places in the tree, and formulas: those that cannot be compiled are dropped. */
int import_metrics(struct importer *im, struct err *err) MUST_USE;
void import_metric_put(struct buf *b, const struct importer *im, const struct import_metric *m);

#endif
