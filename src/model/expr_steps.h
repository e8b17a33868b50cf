/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expr_steps - formulas of many metrics as one list of steps, to evaluate them again and again, and
 * in parts: steps that depend on the machine's facts alone run once, and when one event's count
 * changes only the steps that it reaches are done again.
 *
 *	expr_steps_new(&s, arena, &setup, &err)
 *	expr_steps_add(s, expr, out, &range, &err)	metrics in an order in which each needs
 *							only those before it; what is in a range
 *							belongs together
 *	expr_steps_take(s, counts, latency, system)	the leaves
 *	expr_steps_run(s, range)			values: s->value[metric], s->passes[metric]
 *
 *	expr_steps_reach(s, range, kind, index, ...)	steps that an event or a latency changes
 *	expr_steps_event(s, index, counts), expr_steps_latency(...)	one leaf anew
 *	expr_steps_again(s, &reach)			and the steps behind it
 *
 * Values are those of expr_eval(), bit by bit: the same arithmetic in the same order. min and max
 * of counts have steps for each logical processor.
 *
 * Costs: some 20 bytes for each node of the formulas (times logical processors below such min and
 * max).
 */
#ifndef CYCLADE_MODEL_EXPR_STEPS_H
#define CYCLADE_MODEL_EXPR_STEPS_H

#include "base/arena.h"
#include "base/vec.h"
#include "model/expr.h"

struct expr_step {
	uint32_t op;	      /* enum expr_op, or one of expr_steps.c */
	uint32_t out, kid[3]; /* slots */
};

struct expr_range { /* of steps */
	uint32_t from, to;
};

struct expr_reach {
	struct expr_step *step; /* in their order */
	size_t n;
	uint32_t *metric; /* of which the values are among them, ascending as they were added */
	size_t n_metrics;
};

struct expr_steps_setup {
	size_t n_metrics, n_events, n_lps;
	const double *system; /* [SYSTEM_COUNT], copied: facts that stay; NAN: not known. Those of
			       * which `varies` is true are set by each take() */
	const bool *varies;   /* [SYSTEM_COUNT] */
};

struct expr_steps {
	struct arena *a; /* of all but the VECs */
	size_t n_metrics, n_lps;
	double system[SYSTEM_COUNT];
	bool varies[SYSTEM_COUNT];
	VEC(struct expr_step) steps;
	VEC(struct value) slot; /* metrics, whether these pass, then all else */
	VEC(bool) constant;	/* by slot */
	VEC(uint32_t) event;	/* events that have a leaf */
	VEC(uint32_t) latency;	/* that have one */
	uint32_t fact_slot[SYSTEM_COUNT];
	/* by event; 0: none */
	uint32_t *sum_slot, *lps_slot, *latency_slot;
	/* by metric: where its value on each logical processor stands (0: nowhere), and of how many
	 * there are steps */
	uint32_t *lps_of, *lps_done;
	bool failed; /* out of memory */
};

int expr_steps_new(struct expr_steps *s, struct arena *a, const struct expr_steps_setup *setup,
		   struct err *err) MUST_USE;
/* The formula's value goes to the slot `out`: a metric's index, or that and n_metrics for whether
 * it passes. Appends to `range`, which must end where the last step is. */
int expr_steps_add(struct expr_steps *s, const struct expr *e, uint32_t out,
		   struct expr_range *range, struct err *err) MUST_USE;
static inline struct expr_range expr_steps_here(const struct expr_steps *s)
{
	return (struct expr_range){ (uint32_t)s->steps.n, (uint32_t)s->steps.n };
}
/* Once all are added: until the next new(). */
static inline struct value *expr_steps_values(const struct expr_steps *s)
{
	return s->slot.v;
}
static inline struct value *expr_steps_passes(const struct expr_steps *s)
{
	return s->slot.v + s->n_metrics;
}
/* count[event * n_lps + lp], latency (by event; NULL: none is known), system as in struct
 * expr_env. */
void expr_steps_take(struct expr_steps *s, const double *count, const double *latency,
		     const double *system);
void expr_steps_run(struct expr_steps *s, struct expr_range range);

/* A step asks whether some metric passes. */
bool expr_steps_asks(const struct expr_steps *s, struct expr_range range);
/* In s->a. */
int expr_steps_reach(struct expr_steps *s, struct expr_range range, enum expr_ref_kind kind,
		     uint32_t index, struct expr_reach *out) MUST_USE;
void expr_steps_event(struct expr_steps *s, uint32_t event, const double *count);
void expr_steps_latency(struct expr_steps *s, uint32_t event, double latency);
void expr_steps_again(struct expr_steps *s, const struct expr_reach *r);
/* Values that again() is about to change, to keep and to bring back; room for r->n. */
void expr_steps_keep(const struct expr_steps *s, const struct expr_reach *r, struct value *room);
void expr_steps_bring(struct expr_steps *s, const struct expr_reach *r, const struct value *room);

void expr_steps_free(struct expr_steps *s);

#endif
