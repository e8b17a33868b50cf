/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls_int - inside of calls.h: calls_insn.c (the instructions at both ends of an edge, and their
 * functions), calls_plt.c (targets of trampolines), calls.c (callers and callees), calls_sum.c
 * (functions and edges from that).
 */
#ifndef CYCLADE_ANALYSE_FLOW_CALLS_INT_H
#define CYCLADE_ANALYSE_FLOW_CALLS_INT_H

#include "analyse/calls.h"
#include "base/hash.h"

enum calls_what {
	CALLS_UNKNOWN, /* no source */
	CALLS_OTHER,
	CALLS_CALL,
	CALLS_RETURN,
	CALLS_JUMP, /* conditional or not */
	CALLS_KERNEL,
};

struct calls_insn {
	uint8_t what; /* enum calls_what */
	bool code;    /* known from the instruction itself */
	bool indirect, has_target;
	uint64_t at, target; /* image addresses */
};

/* A function before it has a number: symbol NULL is the image as a whole. */
struct calls_place {
	uint32_t image;
	const struct symbol *symbol;
	uint8_t kind;
};

struct calls_work {
	const struct flow *flow;
	struct images *images;
	const struct flow_edge *edge;
	size_t n;
	bool returns;			  /* only these are recorded */
	const struct symbol **from, **to; /* by edge */
	const struct symbol **before;	  /* of the byte in front of its target */
	struct calls_insn *left;	  /* the instruction it left from */
	struct calls_insn
		*behind; /* of returns: the one in front of its target; UNKNOWN: no code */
};

int calls_resolve(struct calls_work *w, struct err *err) MUST_USE;
int calls_classify(struct calls_work *w, struct err *err) MUST_USE;
void calls_work_free(struct calls_work *w);
/* The symbol that covers one address. */
const struct symbol *calls_symbol(struct images *images, uint32_t image, uint64_t addr);

/* calls_plt.c: f.cold is part of f. */
struct calls_plts;
bool calls_is_plt(const struct symbol *s);
bool calls_is_trampoline(const struct symbol *s); /* calls pass through, and no code tail-calls */
bool calls_is_return_thunk(const struct symbol *s);
struct calls_plts *calls_plts_new(const struct calls_work *w, struct err *err) MUST_USE;
/* Finds the target of a PLT; *known: false if there is none. */
int calls_plt_leads(struct calls_plts *p, uint32_t image, const struct symbol *plt,
		    struct calls_place *out, bool *known, struct err *err) MUST_USE;
void calls_plts_free(struct calls_plts *p);
void calls_whole(struct images *images, uint32_t image, const struct symbol **s);

/* One edge's part in one call. */
struct calls_tie {
	uint32_t caller, callee;
	bool tail, plt, indirect;
	uint64_t site; /* image address of the call */
	uint32_t edge;
};

struct calls_sum {
	VEC(struct calls_place) place; /* the functions, as numbered first */
	struct u64map by_place;
	VEC(struct calls_tie) tie;
};

/* Returns the number of a function; UINT32_MAX: out of memory. */
uint32_t calls_number(struct calls_sum *s, const struct calls_place *p) MUST_USE;
int calls_sum_up(struct calls *out, const struct calls_work *w, struct calls_sum *s,
		 struct err *err) MUST_USE;
void calls_sum_free(struct calls_sum *s);

#endif
