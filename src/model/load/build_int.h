/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build_int - for load_build.c, load_scope.c and load_account.c: a model half made.
 */
#ifndef CYCLADE_MODEL_BUILD_INT_H
#define CYCLADE_MODEL_BUILD_INT_H

#include "model/load/model_int.h"

enum row_state { ROW_NEW, ROW_BUSY, ROW_DONE };

struct row_build {
	enum row_state state;
	bool constant; /* needs no count: `number` */
	double number;
	uint32_t metric;		     /* its index */
	uint32_t parent;		     /* rows; MODEL_NONE */
	uint32_t child, last_child, sibling; /* rows; MODEL_NONE */
};

struct build {
	struct model *m;
	struct raw *r;
	struct err *err;
	const double *system;
	struct row_build *row;
	uint32_t *event; /* by raw event: its index, or MODEL_NONE */
	VEC(struct model_event) events;
	size_t first_event; /* the index of the first of them */
	VEC(struct model_metric) metrics;
	const char **words; /* for the nearest name; made when first needed */
	enum expr_dialect dialect;
	unsigned nest;
};

int build_fail(struct build *b, const char *file, unsigned line, const char *fmt, ...)
	PRINTF_(4, 5);
/* Puts `index` under `name` in lower case; the first one stays. */
int build_name(struct build *b, struct strtab *t, struct name_at *at, const char *name,
	       uint32_t index) MUST_USE;
uint32_t build_name_find(const struct strtab *t, const struct name_at *at, const char *name,
			 size_t len);
/* The event of a raw one, made when first asked for. */
int build_event(struct build *b, uint32_t raw, uint32_t *out) MUST_USE;
/* By name, options included. 1: *out is its index. 0: there is none. */
int build_event_find(struct build *b, const char *name, size_t len, uint32_t *out) MUST_USE;
struct expr_scope build_scope(struct build *b);
/* Returns true if formulas have to do without PERF_METRICS (SYSTEM_NO_SLOTS), and the model can. */
bool build_no_slots(const struct build *b);
/* Words for facts of the machine that models can use in either language. */
bool build_fact_find(const char *name, size_t len, struct expr_ref *out);
/* Compiles the row's formula, those it needs before it. */
int build_row(struct build *b, uint32_t row) MUST_USE;
/* Compiles `m`'s text and appends it. */
int build_metric(struct build *b, struct model_metric *m, enum expr_dialect dialect,
		 uint32_t *out) MUST_USE;
/* Where the options of an event's name begin: behind the whole of it if there are none. */
size_t build_options_at(enum expr_dialect dialect, const char *name, size_t len);
/* How much of it names the PMU of the cores: "cpu/" of perf's language. */
size_t build_pmu_length(enum expr_dialect dialect, const char *name, size_t len);
int build_event_push(struct build *b, const struct model_event *e, uint32_t *out) MUST_USE;

#endif
