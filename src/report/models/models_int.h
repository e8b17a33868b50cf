/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * models_int - shared by lists and explanations of models: tables, words, and the parts of a model
 * that a formula needs.
 */
#ifndef CYCLADE_REPORT_MODELS_INT_H
#define CYCLADE_REPORT_MODELS_INT_H

#include "report/models.h"

extern const struct table_form model_head_form; /* its row is the struct model */
/* The ctx of each of these is a struct list. */
extern const struct table_form model_nodes_form, model_metrics_form, model_account_form;
extern const struct table_form model_events_form, model_names_form, model_groups_form;
extern const struct table_form model_rows_form;	 /* models */
extern const struct table_form model_needs_form; /* LIST_EVENTS of explained names */

struct group_row { /* of LIST_GROUPS */
	const char *name;
	const char **member;
	size_t n;
};
int group_row_fill(struct group_row *out, struct arena *a, const struct model *m, const char *name,
		   struct err *err) MUST_USE;
/* Returns an empty list of this kind; its rows will be `m`'s or `acc`'s own. */
struct list list_of(enum list_kind kind, const struct model *m, const struct account *acc);

/* Returns true if its formula, or one that it refers to, needs the retire latency of an event. */
bool metric_asks_latency(const struct model *m, uint32_t metric);

/* "0-3" of bits 0..3; "" of none. Returns `out`. */
const char *counter_spans(uint32_t bits, char out[64]);
/* "counters 0-3 (0-7 with SMT off), fixed 1", "no counter" */
void put_counters(struct buf *b, const struct model_event *e);
/* "msr/tsc/  not of the core's counters", "event=0x79,umask=0x30:u  counters 0-3" */
void put_event_code(struct buf *b, const struct model_event *e);
/* "slots,precise" */
void put_flags(struct buf *b, unsigned flags);
const char *account_part_word(enum account_part part);
const char *account_cover_word(enum account_cover cover);
/* "EVENT x 167 of the reference clock", the formula, "A + B", "not measured" */
void put_account_cost(struct buf *b, const struct account *acc, uint32_t node);

/* explain_term.c: a page for people. */
int explain_write_term(struct buf *out, const struct document *d, const struct show *s,
		       struct err *err);

#endif
