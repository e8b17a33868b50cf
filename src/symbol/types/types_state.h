/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_state - registers and spilled values on the paths to an instruction.
 *
 * types_flow.c walks the blocks of a function: at each of its instructions flow_facts_at()
 * (variables), then flow_access() for its operands, then flow_step(). A block begins with the
 * state_merge() of the states that lead there.
 */
#ifndef CYCLADE_SYMBOL_TYPES_STATE_H
#define CYCLADE_SYMBOL_TYPES_STATE_H

#include "symbol/types/types_value.h"

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

struct flow_table { /* of jumps */
	uint64_t at;
	size_t n;
	uint8_t width; /* of an entry */
};

/* Registers at places that lead to unknown blocks. */
struct flow_escape {
	struct state state;
	bool any;
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
	type_calls call;
	/* The type of an unknown value, by a variable or a field that it is copied to later: by
	 * instruction that made it, then by block and register that paths met in. */
	struct value *origin;
	size_t n_origins;
	VEC(struct type_choice) choice; /* of an instruction: origin[].type, as long as not known */
	bool learnt;
	struct flow_escape jumps, calls;
	VEC(struct flow_table) table;
	bool tables_found; /* that blocks do not begin at yet */
	/* Objects of the frame whose address was given to a function that has them as a type. */
	struct type_place object[FLOW_OBJECTS]; /* off: behind the CFA, as two's complement */
	unsigned n_objects;
	uint64_t steps;	  /* that are left */
	size_t next_fact; /* of facts: the first that has not begun */
	struct type_fact *active[FLOW_ACTIVE];
	unsigned n_active;
};

void state_init(struct state *s); /* nothing is known */
/* Paths meet in a block: true if `into` changed. */
bool state_merge(struct flow *w, size_t block, struct state *into, const struct state *from);
/* The 8 bytes at CFA + off, or NULL. */
struct slot *state_slot(struct state *s, int64_t off);
/* `width` bytes there are written: 8 of them hold `v`. */
void state_set_slot(struct state *s, int64_t off, unsigned width, const struct value *v);

/* An unknown value that an instruction made, or of a register where paths meet in a block: a
 * VALUE_ORIGIN, or the type that an earlier round learnt. */
struct value flow_origin(const struct flow *w, size_t insn);
struct value flow_origin_of_block(const struct flow *w, size_t block, unsigned reg);
/* Who knows it has the value. */
void flow_learn(struct flow *w, const struct value *v, const struct value *is);
/* An object of the frame has that type. */
void flow_learn_object(struct flow *w, int64_t off, uint32_t type);

/* The variables at a place: begin at a block's start, then each of its instructions. */
void flow_facts_begin(struct flow *w, uint64_t vaddr);
void flow_facts_at(struct flow *w, struct state *s, uint64_t vaddr, bool first);

/* types_access.c */
struct value flow_address(const struct flow *w, const struct state *s, const struct effect_mem *m);
/* An offset and the thread's pointer are the address of a variable; else VALUE_UNKNOWN. */
struct value flow_thread_sum(const struct flow *w, const struct value *a, const struct value *b);
enum types_why flow_access(struct flow *w, const struct state *s, const struct effect_mem *m,
			   struct type_hit *out, bool *stack);

/* types_jump.c: the table of an indirect jump, which is noted; NULL: none is known. */
const struct flow_table *flow_jump(struct flow *w, const struct state *s, size_t insn);
/* The instruction that entry `i` leads to, or SIZE_MAX. */
size_t flow_jump_to(const struct flow *w, const struct flow_table *x, size_t i);
/* The one that begins there, or NULL. */
const struct flow_table *flow_table_at(const struct flow *w, uint64_t vaddr);
/* Data that never changes. */
bool flow_is_constant(const struct flow *w, uint64_t vaddr);

/* types_flow.c */
/* The first instruction that is not before that address, or w->insn.n. */
size_t flow_insn_behind(const struct flow *w, uint64_t vaddr);
/* The one at exactly that address, or SIZE_MAX. */
size_t flow_insn_at(const struct flow *w, uint64_t vaddr);

/* types_call.c: the effect of a call on registers. */
void flow_call(struct flow *w, struct state *s, size_t insn);
/* types_step.c: that of an instruction, which is a call or none. */
void flow_step(struct flow *w, struct state *s, size_t insn);

#endif
