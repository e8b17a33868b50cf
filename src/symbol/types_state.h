/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_state - what registers and spilled values hold, and what an instruction does to that.
 */
#ifndef CYCLADE_SYMBOL_TYPES_STATE_H
#define CYCLADE_SYMBOL_TYPES_STATE_H

#include "symbol/types_int.h"

enum {
	STATE_SLOTS = 64,  /* spilled values that are kept */
	FLOW_ACTIVE = 256, /* variables at one place */
	FLOW_OBJECTS = 64, /* of the frame */
};

struct slot {	     /* 8 bytes of the frame */
	int64_t off; /* behind the CFA */
	struct value value;
};

struct state {
	struct value reg[EFFECT_REGS];
	struct slot slot[STATE_SLOTS];
	unsigned slots;
};

struct flow_block {
	size_t first, end; /* of flow.insn */
	struct state *in;  /* NULL: not reached */
	unsigned visits;
	bool queued;
};

struct flow {
	struct types *t;
	struct type_function *f;
	uint64_t entry;
	VEC(struct effect) insn;
	VEC(struct flow_block) block;
	VEC(uint32_t) queue;
	uint32_t *block_of; /* by instruction */
	type_facts facts;
	type_calls calls;
	/* What an unknown value is, as a variable or a field that it was copied to says later: by
	 * instruction that made it, then by block and register that paths met in. */
	struct value *origin;
	size_t n_origins;
	bool learnt;
	struct state escape;
	bool escaped;
	/* Objects of the frame whose address was given to a function that has them as a type. */
	struct type_place object[FLOW_OBJECTS]; /* off: behind the CFA, as two's complement */
	unsigned n_objects;
	uint64_t steps;	  /* that are left */
	size_t next_fact; /* of facts: the first that has not begun */
	const struct type_fact *active[FLOW_ACTIVE];
	unsigned n_active;
};

struct flow;
void state_init(struct state *s); /* nothing is known */
/* Paths meet in a block: true if `into` changed. */
bool state_merge(struct flow *w, size_t block, struct state *into, const struct state *from);
/* Of an instruction, or of a block and a register. */
struct value flow_origin(const struct flow *w, size_t insn);
struct value flow_origin_of_block(const struct flow *w, size_t block, unsigned reg);

/* The variables at a place: begin at a block's start, then each of its instructions. */
/* Someone who knows has the value. */
void flow_learn(struct flow *w, const struct value *v, const struct value *is);

/* An object of the frame has that type. */
void flow_learn_object(struct flow *w, int64_t off, uint32_t type);

void flow_facts_begin(struct flow *w, uint64_t vaddr);
void flow_facts_at(struct flow *w, struct state *s, uint64_t vaddr, bool first);

bool flow_is_void(const struct types *t, const struct value *v); /* or to a function */
/* types_call.c: what a call does to registers. */
void flow_call(struct flow *w, struct state *s, size_t insn);
void flow_step(struct flow *w, struct state *s, size_t insn);
enum types_why flow_access(struct flow *w, const struct state *s, const struct effect_mem *m,
			   struct type_hit *out, bool *stack);

#endif
