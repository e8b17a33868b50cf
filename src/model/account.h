/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account - the cycle accounting tree of a CPU: which events, at which penalty, make which branch.
 *
 *	account_load(&a, arena, model, &sources, &err)	the text `account` of a model
 *	account_penalties(&a, 1, arena, path, text, len, &err)	a user's own go over them
 *
 * The method is Levinthal's ("Cycle accounting and Gooda"): a branch's cycles are the sum of its
 * events' occurrences times the cost of one. Branches overlap, since a CPU does many things at a
 * time; nothing makes them sum to the whole. A text of lines as all of models/ is
 * (doc/model-format.md):
 *
 *	node	Load_Latency			a branch: the sum of nodes that `adds` to it
 *	part	stalled
 *	cover	full
 *	within	Load_Pending			no more than this can be real: the rest is overlap
 *
 *	node	Local_DRAM
 *	parent	Load_Latency
 *	event	MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM
 *	penalty	167 ref				of the reference clock; `109 ns`; else core cycles
 *	adds
 *	period	10007
 *	precise	2
 *
 *	node	Wrong_Path
 *	parent	Branch_Misprediction
 *	expr	max(0, UOPS_ISSUED.ANY - UOPS_RETIRED.RETIRE_SLOTS) / Uop_Issue_Rate
 *	adds
 *
 * A name in `expr` is a node's, then an event's: of a node in cycles (or its unit), of an event in
 * occurrences. A node with neither event nor formula is the sum of the nodes that `adds` to it, or
 * `cover none`: no node has both. Facts of the machine (TSC, #num_cpus, ...) are names, too. A node
 * with `whole` has one value, of the whole recording, at each use. A node with `smt`, and all below
 * it, has none if cores run one thread. A node with `always` happens in any program: without a
 * sample its event is suspected not to work.
 */
#ifndef CYCLADE_MODEL_ACCOUNT_H
#define CYCLADE_MODEL_ACCOUNT_H

#include "model/model.h"

enum account_part {		 /* the paper's figure: where in the whole a branch stands */
		    PART_CYCLES, /* the whole: unhalted core cycles; the first node */
		    PART_HALTED,
		    PART_STALLED,
		    PART_UNSTALLED,
		    PART_INFO, /* not of the division: instructions, uops, checks */
};

enum account_cover {		    /* as the paper marks its branches */
		     COVER_FULL,    /* accurate */
		     COVER_PROFILE, /* accurate as a count, poor as a profile: differences and
				     * ratios, events that skid */
		     COVER_PARTIAL, /* some of it is measured, or roughly */
		     COVER_NONE,    /* this CPU cannot count it: the node only shows that */
};

struct account_node {
	const char *name; /* "Load_Latency" */
	uint32_t parent;  /* MODEL_NONE: a branch of its own */
	unsigned depth;
	enum account_part part;
	enum account_cover cover;
	uint32_t event;	  /* of the model; MODEL_NONE: a sum or a formula */
	double penalty;	  /* cycles for an occurrence; 0: shown in occurrences (`unit`), costs
				  * nothing by itself */
	bool reference;	  /* the penalty is in cycles of the reference clock */
	bool ns;	  /* the penalty is in nanoseconds, at whatever frequency */
	bool adds;	  /* to its parent */
	bool whole;	  /* of the whole recording, not of a row */
	bool smt;	  /* of two threads on a core: there is none if a core runs one */
	double always;	  /* occurrences in a cycle that any program has at least; 0: not known */
	bool cycles;	  /* its value is cycles; else `unit` */
	const char *unit; /* "" of cycles */
	const struct expr *expr; /* NULL: none. EXPR_EVENT: model event; EXPR_METRIC: node */
	const char *text;
	uint32_t within;  /* a node that bounds it from above, or MODEL_NONE */
	uint32_t same;	  /* a node that measures the same in another way, or MODEL_NONE */
	double tolerance; /* relative, of `same` */
	uint64_t period;  /* to sample the event by */
	unsigned precise; /* precise_ip to ask for */
	const char *says, *try_, *note;
	const char *file;
	unsigned line;
};

struct account {
	const struct model *model;
	struct account_node *node; /* parents before children; node 0 is the whole */
	size_t n;
	const uint32_t *order; /* an order in which each needs only those before it */
	/* The event that counts reference cycles while unhalted, or MODEL_NONE. */
	uint32_t reference;
	double reference_hz; /* of it; 0: the time-stamp counter's */
	const char *from;    /* where the penalties come from */
};

/* ERR_NOT_FOUND: the model has none (the hint names what works with such a recording). Events that
 * only the account names ("UOPS_ISSUED.ANY:c1") become the model's, behind all others. */
int account_load(struct account **out, struct arena *a, struct model *m,
		 const struct model_sources *s, struct err *err) MUST_USE;
/* Lines of `NODE PENALTY [ref|ns]` or `EVENT PENALTY [ref|ns]`; `path` names the text in messages.
 * On a hybrid each line applies to the trees that have the node or event. */
int account_penalties(struct account *const *acc, size_t n, struct arena *a, const char *path,
		      const char *text, size_t len, struct err *err) MUST_USE;
/* As model_check(): a node without meaning or advice, or one that is partly covered without a
 * reason. */
size_t account_check(const struct account *acc, void (*each)(void *ctx, const char *text),
		     void *ctx);
uint32_t account_find(const struct account *acc, const char *name, size_t len); /* MODEL_NONE */

#endif
