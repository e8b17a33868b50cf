/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * effect_arm64 - AArch64: loads, stores and the arithmetic of addresses, on top of operands.h.
 * Arm ARM (DDI 0487), C4.1.
 */
#include "base/bytes.h"
#include "symbol/insn/decode.h"
#include "symbol/insn/effect.h"
#include "symbol/insn/operands_arm64_int.h"

static uint8_t base_of(uint8_t unit)
{
	return unit == UNIT_SP ? 31 : unit == UNIT_NONE ? EFFECT_NONE : unit;
}

/* A register of a field where 31 is 0. */
static uint8_t a64_value_field(uint32_t word, unsigned lsb)
{
	unsigned r = a64_field(word, lsb, 5);

	return r == A64_ZERO ? EFFECT_ZERO : (uint8_t)r;
}

/* ---- loads and stores ------------------------------------------------------------------------ */

static void memory(struct effect *e, const struct operands *o, uint32_t word)
{
	const struct operands_memory *at = &o->memory[0];
	struct effect_mem *m = &e->mem[0];
	unsigned all = o->n_memory == 2 ? 2u * at->bytes : at->bytes;

	*m = (struct effect_mem){ .base = base_of(at->base),
				  .index = base_of(at->index),
				  .width = (uint8_t)(all < 255 ? all : 255),
				  .indexed = at->index != UNIT_NONE,
				  .plain_index =
					  at->index != UNIT_NONE && at->scale == 1 && !at->segment,
				  .load = at->load,
				  .store = at->store,
				  .absolute = at->absolute,
				  .vector = o->bits || o->n_memory == 2,
				  .disp = at->disp };
	e->n_mem = 1;
	if (o->atomic)
		return;
	e->pair = o->n_memory == 2;
	if (!o->bits && at->bytes == 8) {
		e->op = at->load ? EFFECT_LOAD : EFFECT_STORE;
		*(at->load ? &e->dst : &e->src) = a64_value_field(word, 0);
		e->src2 = e->pair ? a64_value_field(word, 10) : EFFECT_NONE;
	}
	if (at->load && e->dst == EFFECT_ZERO)
		e->op = EFFECT_OTHER;
	if (o->known != UNIT_NONE && o->known == o->from) {
		e->step = base_of(o->known);
		e->step_by = o->add;
	}
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* dst = base + something: an element, or bytes. */
static void set_a64_sum(struct effect *e, uint8_t base, uint8_t index, bool plain)
{
	e->op = EFFECT_LEA;
	e->mem[0] = (struct effect_mem){
		.base = base, .index = index, .indexed = true, .plain_index = plain
	};
}

/* Of 64 bits. */
static void add_registers(struct effect *e, uint32_t word)
{
	uint8_t n = a64_value_field(word, 5), m = a64_value_field(word, 16);
	bool extends = (word & 0x3fe00000) == 0x0b200000, less = a64_field(word, 30, 1);
	bool plain = extends ? !(word & 0x1c00) : !a64_field(word, 22, 2) && !(word & 0xfc00);

	if (extends && n == EFFECT_ZERO)
		n = 31; /* the stack pointer */
	if (less) {
		e->op = EFFECT_LESS;
		e->src = n;
		e->src2 = m;
	} else if (n != EFFECT_ZERO && m != EFFECT_ZERO) {
		set_a64_sum(e, n, m, plain);
	}
}

static void set_a64_effect(struct effect *e, const struct operands *o, uint32_t word)
{
	bool whole = word >> 31;
	uint8_t a = a64_value_field(word, 10);

	if (o->known != UNIT_NONE && o->from == UNIT_NONE) {
		e->op = EFFECT_SET;
		e->imm = o->add;
	} else if (o->known != UNIT_NONE) {
		e->op = EFFECT_LEA;
		e->mem[0] = (struct effect_mem){ .base = base_of(o->from),
						 .index = EFFECT_NONE,
						 .disp = o->add };
	} else if ((word & 0x7fe0ffe0) == 0x2a0003e0) { /* mov of 0, or of 32 bits */
		if (a64_value_field(word, 16) == EFFECT_ZERO)
			e->op = EFFECT_SET;
	} else if (whole &&
		   ((word & 0x1f200000) == 0x0b000000 || (word & 0x1fe00000) == 0x0b200000)) {
		add_registers(e, word);
	} else if (whole && (word & 0x3fe00c00) == 0x1a800000 && !a64_field(word, 30, 1)) {
		e->op = EFFECT_CHOOSE; /* csel */
		e->src = a64_value_field(word, 5);
		e->src2 = a64_value_field(word, 16);
	} else if (whole && (word & 0x1f008000) == 0x1b000000 && a != EFFECT_ZERO) {
		set_a64_sum(e, a, EFFECT_NONE, false);	/* madd, smaddl, umaddl */
	} else if ((word & 0xffffffe0) == 0xd53bd040) { /* mrs of tpidr_el0 */
		e->op = EFFECT_THREAD;
		e->writes = UINT32_C(1) << a64_field(word, 0, 5);
	}
	if (e->op != EFFECT_OTHER)
		e->dst = o->known != UNIT_NONE ? base_of(o->known) : (uint8_t)a64_field(word, 0, 5);
	if (e->dst != EFFECT_NONE && e->dst == 31 && o->known == UNIT_NONE &&
	    (word & 0x3fe00000) != 0x0b200000)
		e->op = EFFECT_OTHER; /* of the register that is 0 */
}

void effect_arm64(const uint8_t *p, size_t len, uint64_t vaddr, struct effect *e)
{
	struct insn in = { .vaddr = vaddr };
	struct operands o;
	uint32_t word;

	*e = (struct effect){ .vaddr = vaddr,
			      .dst = EFFECT_NONE,
			      .src = EFFECT_NONE,
			      .src2 = EFFECT_NONE,
			      .step = EFFECT_NONE };
	operands_arm64(p, len, vaddr, &o);
	e->len = o.len;
	if (o.bad)
		return;
	word = ld32(p);
	disasm_a64_flow(word, &in);
	e->flow = in.flow;
	e->has_target = in.has_target;
	e->target = in.target;
	e->writes = (uint32_t)(o.writes & 0x7fffffff);
	if (word == 0xd503201f)
		e->op = EFFECT_NOP;
	else if (o.n_memory)
		memory(e, &o, word);
	else if (e->flow == INSN_OTHER)
		set_a64_effect(e, &o, word);
	if ((word & 0x1f800000) == 0x12000000 && (word & 0x6000001f) != 0x6000001f &&
	    a64_field(word, 0, 5) == A64_ZERO)
		e->writes |= UINT32_C(1) << 31; /* and, orr, eor of the stack pointer */
	if (e->dst < EFFECT_REGS && e->op != EFFECT_OTHER)
		e->writes |= UINT32_C(1) << e->dst;
}
