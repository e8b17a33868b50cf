/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expr - formulas of metrics and thresholds: text, compiled once, evaluated often.
 *
 *	expr_compile(&e, arena, &text, &scope, &err)	names are looked up in the scope
 *	expr_needs(e, system, ...)			names that an evaluation can need
 *	expr_eval(e, &env)				a value, or the reason why there is none
 *	expr_print(e, &env, ...)			the formula with the values in it
 *
 * Two languages, one tree. PERF is the grammar of perf's MetricExpr and MetricThreshold (Linux
 * 6.12): if/else loosest and right-nested, then | ^ & (logical), < >, + -, * / %, unary minus; min,
 * max and d_ratio of two; source_count, has_event, strcmp_cpuid_str; #literals; `@` for `/` and
 * backslash escapes in names. Unlike perf, a character that means nothing is an error. SHEET is the
 * language of Intel's TMA sheet and of perfmon's metric files: the same operators and <= >= == &&
 * ||; `#Aux` names, `##Node` for the sum of a node's children, `$PEBS` for the retire latency of
 * the event it is multiplied with, `#NA`, event options
 * (`:c4:e1:i1:u0x80:eq1:SUP:USER:percore:one_unit:perf_metrics:opc=0x182`), "names in quotes",
 * thresholds that begin with a comparison ("> 0.1 & P; $issueBM": expr_text.subject is the text
 * left of it; tags from the first `;` on are skipped) and metrics named in place of a truth ("(>
 * 0.7 | Heavy_Operations)": true if that one is over its own threshold).
 *
 * min and max of counts are taken per logical processor before they are summed (TMA sheet, "For
 * tool developers"): an operand is extensive if it is an event, a sum or difference of extensive
 * ones, an extensive one times or by a plain number, or if/else of extensive ones (the condition
 * takes sums). min and max of extensive operands (0 counts as one) run once per logical processor;
 * every other operator takes sums.
 *
 * An unknown value is never 0: see enum value_why. `0 & x` and `1 | x` need no x. expr_eval
 * allocates nothing and is safe from several threads.
 */
#ifndef CYCLADE_MODEL_EXPR_H
#define CYCLADE_MODEL_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct expr;

enum expr_dialect { EXPR_PERF, EXPR_SHEET };

/* Facts of the machine and the measurement that formulas ask for. NAN in expr_env.system: not
 * known. */
enum expr_system {
	SYSTEM_SMT_ON,	  /* 0 or 1 */
	SYSTEM_CORE_WIDE, /* 1: every thread of every core used is counted; the sheet's
			   * #EBS_Mode is its negation */
	SYSTEM_CPUS,	  /* logical processors */
	SYSTEM_CPUS_ONLINE,
	SYSTEM_CORES, /* physical */
	SYSTEM_DIES,
	SYSTEM_PACKAGES,
	SYSTEM_THREADS_PER_CORE,
	SYSTEM_TSC_FREQ, /* Hz */
	SYSTEM_TSC,	 /* cycles of the time-stamp counter while counting, all processors */
	SYSTEM_SLOTS,	 /* of Arm: sysfs caps/slots */
	SYSTEM_HAS_PMEM,
	SYSTEM_DURATION, /* seconds of the measurement, or of the interval */
	SYSTEM_NO_SLOTS, /* 1: another process has the counter of slots, and PERF_METRICS with it;
			  * formulas of a model loaded so do without (model_load) */
	SYSTEM_COUNT
};

enum expr_ref_kind {
	EXPR_EVENT,    /* index: of the event */
	EXPR_METRIC,   /* index: of the metric, evaluated before (acyclic order is the caller's) */
	EXPR_LATENCY,  /* index: of the event whose mean retire latency is meant (`:R`, `@R`) */
	EXPR_CONSTANT, /* value */
	EXPR_SYSTEM,   /* index: enum expr_system */
	EXPR_ABSENT,   /* known not to be on this model (#NA) */
};

struct expr_ref {
	enum expr_ref_kind kind;
	uint32_t index;
	double value;
	const struct expr *program; /* of a METRIC: its own, so that an extensive one can be taken
				     * per logical processor; may be NULL */
};

enum expr_ask {
	ASK_NAME,	  /* an identifier, options and leading # or ## included, escapes resolved,
			   * `/` for `@` */
	ASK_HAS_EVENT,	  /* has_event(ID): answer CONSTANT 0 or 1 */
	ASK_SOURCE_COUNT, /* source_count(ID): how many PMUs of it: CONSTANT or ABSENT */
	ASK_CPUID,	  /* strcmp_cpuid_str(ID): CONSTANT 0 or 1 */
};

struct expr_scope {
	/* False: no such name, which makes compilation fail with the word and a caret. Asked
	 * first of all names; if it has none, expr knows by itself: perf's literals
	 * (#smt_on, #core_wide, #num_cores, ...), #EBS_Mode, #NA, duration_time, and the retire
	 * latency of an event by `:R`, `@R` or `:retire_latency` behind a name that is found. */
	bool (*find)(void *ctx, enum expr_ask ask, const char *name, size_t len,
		     struct expr_ref *out);
	/* The nearest name that exists, for the hint; may be NULL, may return NULL. */
	const char *(*nearest)(void *ctx, const char *name, size_t len);
	void *ctx;
};

struct expr_text {
	const char *s;
	size_t len;
	enum expr_dialect dialect;
	const char *subject; /* a threshold's metric, if the text begins with a comparison; P in
			      * it is left out of the program (see expr_wants_parent); else NULL */
	const char *file;    /* for messages: "file:line:column: ..." */
	unsigned line;
};

/* Errors: ERR_FORMAT; err->what has file:line:column and the error, `hint` the piece of text with a
 * caret below it (two lines) or the nearest name. At most 64 KB of text, 64 levels. */
int expr_compile(struct expr **out, struct arena *a, const struct expr_text *text,
		 const struct expr_scope *scope, struct err *err) MUST_USE;

/* A threshold's "& P": the parent must be over its own threshold too. */
bool expr_wants_parent(const struct expr *e);
/* It is a linear combination of events: its value is a count, not a ratio. */
bool expr_extensive(const struct expr *e);

/* Calls back for each EVENT, METRIC and LATENCY that an evaluation can ask for, each once, branches
 * that `system` rules out left out (system may be NULL: all branches). A METRIC that is only asked
 * whether it is over its threshold is named, too. Stops if each() returns non-zero and returns
 * that. */
int expr_needs(const struct expr *e, const double *system,
	       int (*each)(void *ctx, enum expr_ref_kind kind, uint32_t index), void *ctx);

enum value_why {
	VALUE_OK,
	VALUE_NOT_COUNTED,  /* `which`: the event */
	VALUE_DIVIDED_BY_0, /* the divisor counted 0 */
	VALUE_ABSENT,	    /* not on this model */
	VALUE_NO_SYSTEM,    /* `which`: the enum expr_system that is not known */
	VALUE_NO_LATENCY,   /* `which`: the event whose retire latency is not known */
	VALUE_NOT_FINITE,   /* overflow */
	VALUE_NO_PASS,	    /* `which`: the metric of which it is not known if it is over */
};

struct value {
	double v; /* NAN unless VALUE_OK */
	enum value_why why;
	uint32_t which;
};

struct expr_env {
	const double *count;	    /* [event * n_lps + lp]; NAN: not counted there */
	size_t n_lps;		    /* at least 1 */
	const struct value *metric; /* by index; those that needs() names must be there */
	const double *latency;	    /* by event, core cycles; NAN: not known. NULL: none is */
	const double *system;	    /* [SYSTEM_COUNT]; NULL: nothing is known */
	const struct value *passes; /* by metric: is it over its threshold (not 0), for thresholds
				     * that name another; NULL: not known of any */
};

struct value expr_eval(const struct expr *e, const struct expr_env *env);

/* For --why: the formula with each name's value in brackets behind it, as one line, with no more
 * parentheses than it needs. `name` gives names (NULL, or its NULL: as written). */
void expr_print(const struct expr *e, const struct expr_env *env, struct buf *out,
		const char *(*name)(void *ctx, enum expr_ref_kind kind, uint32_t index), void *ctx);

#endif
