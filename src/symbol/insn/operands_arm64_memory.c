/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operands_arm64_memory - loads and stores of AArch64. Arm ARM (DDI 0487), C4.1.94.
 */
#include "symbol/insn/operands_arm64_int.h"

struct access { /* to one or two registers */
	uint32_t word;
	bool vector, load, pair;
	uint16_t bytes; /* of each */
};

static uint64_t register_bit(bool vector, unsigned r)
{
	return vector ? a64_vector(r) : a64_general(r);
}

static struct operands_memory *add_access(struct operands *o, const struct access *a, int64_t disp)
{
	struct operands_memory *m = &o->memory[o->n_memory++];

	*m = (struct operands_memory){ .base = a64_base(a64_field(a->word, 5, 5)),
				       .index = UNIT_NONE,
				       .load = a->load,
				       .store = !a->load,
				       .bytes = a->bytes,
				       .disp = disp };
	o->address |= a64_general(a64_field(a->word, 5, 5));
	return m;
}

static void access_registers(struct operands *o, const struct access *a)
{
	unsigned t = a64_field(a->word, 0, 5), u = a64_field(a->word, 10, 5);
	uint64_t units = register_bit(a->vector, t) | (a->pair ? register_bit(a->vector, u) : 0);

	*(a->load ? &o->writes : &o->reads) |= units;
	o->bits = !a->vector ? 0 : a->bytes == 16 ? 128 : 64;
	o->op = !a->load ? OP_STORE : a->pair ? OP_LOAD_PAIR : a->vector ? OP_LOAD_VECTOR : OP_LOAD;
	if (!a->vector && !a->pair && a->bytes == 8 && t != A64_ZERO)
		o->copies = (uint8_t)t;
}

/* The base is moved on, which nothing that is loaded waits for. */
static void move_base(struct operands *o, uint32_t word, int64_t by)
{
	unsigned n = a64_field(word, 5, 5);

	o->known = o->from = a64_base(n);
	o->add = by;
	o->writes |= a64_general(n);
	if (n != A64_ZERO)
		o->stepped = (uint8_t)n;
}

/* ldp, stp, ldnp, stnp, ldpsw */
static void pairs(struct operands *o, uint32_t word)
{
	unsigned size = a64_field(word, 30, 2), way = a64_field(word, 23, 2);
	struct access a = { word, a64_field(word, 26, 1), a64_field(word, 22, 1), true, 0 };
	int64_t by = a64_signed(word, 15, 7);

	if (size == 3 || (!a.vector && size == 1 && !a.load)) {
		o->breaks = true; /* stgp */
		return;
	}
	a.bytes = (uint16_t)(a.vector ? 4u << size : size == 2 ? 8 : 4);
	by *= a.bytes;
	access_registers(o, &a);
	add_access(o, &a, way == 1 ? 0 : by);
	add_access(o, &a, (way == 1 ? 0 : by) + a.bytes);
	if (way & 1)
		move_base(o, word, by);
}

/* The access of a load or store of one register; false: it is a prefetch. */
static bool one_access(struct access *a, uint32_t word)
{
	unsigned size = a64_field(word, 30, 2), opc = a64_field(word, 22, 2);

	*a = (struct access){ .word = word, .vector = a64_field(word, 26, 1) };
	a->bytes = (uint16_t)(1u << size);
	a->load = opc != 0;
	if (a->vector) {
		a->load = opc & 1;
		a->bytes = opc & 2 ? 16 : a->bytes;
	}
	return a->vector || size != 3 || opc != 2;
}

static void prefetch(struct operands *o)
{
	o->op = OP_NOP;
}

/* ldr, str with a constant that is a multiple of their size */
static void scaled_access(struct operands *o, uint32_t word)
{
	struct access a;

	if (!one_access(&a, word)) {
		prefetch(o);
		return;
	}
	access_registers(o, &a);
	add_access(o, &a, (int64_t)a64_field(word, 10, 12) * a.bytes);
}

/* ldur, stur, and those that move the base on */
static void unscaled(struct operands *o, uint32_t word)
{
	unsigned way = a64_field(word, 10, 2);
	int64_t by = a64_signed(word, 12, 9);
	struct access a;

	if (!one_access(&a, word)) {
		prefetch(o);
		return;
	}
	access_registers(o, &a);
	add_access(o, &a, way == 1 ? 0 : by);
	if (way & 1)
		move_base(o, word, by);
}

/* ldr, str at the sum of two registers */
static void indexed_access(struct operands *o, uint32_t word)
{
	unsigned m = a64_field(word, 16, 5), extend = a64_field(word, 13, 3);
	struct operands_memory *at;
	struct access a;

	if (!one_access(&a, word)) {
		prefetch(o);
		return;
	}
	access_registers(o, &a);
	at = add_access(o, &a, 0);
	if (m == A64_ZERO)
		return;
	at->index = (uint8_t)m;
	at->scale = (uint8_t)(a64_field(word, 12, 1) ? a.bytes : 1);
	at->segment = extend & 1 ? 0 : (uint8_t)extend; /* 32 bits: another sum */
	o->address |= a64_general(m);
}

static void literal(struct operands *o, uint32_t word, uint64_t vaddr)
{
	static const uint8_t general[] = { 4, 8, 4, 0 }, vector[] = { 4, 8, 16, 0 };
	struct access a = { word, a64_field(word, 26, 1), true, false, 0 };

	a.bytes = (a.vector ? vector : general)[a64_field(word, 30, 2)];
	if (!a.bytes) {
		prefetch(o);
		return;
	}
	access_registers(o, &a);
	o->memory[o->n_memory++] = (struct operands_memory){
		.base = UNIT_NONE,
		.index = UNIT_NONE,
		.load = true,
		.bytes = a.bytes,
		.disp = (int64_t)(vaddr + (uint64_t)(a64_signed(word, 5, 19) * 4)),
		.absolute = true,
	};
}

/* ldxr, stxr, ldar, stlr and cas; of pairs, too. */
static void exclusive(struct operands *o, uint32_t word)
{
	unsigned t = a64_field(word, 0, 5), s = a64_field(word, 16, 5), u = a64_field(word, 10, 5);
	bool two = a64_field(word, 21, 1), ordered = a64_field(word, 23, 1);
	bool load = a64_field(word, 22, 1), swaps = two && (ordered || !(word >> 31));
	bool pair = two && !ordered;
	uint64_t old = a64_general(s), with = a64_general(t);

	if (swaps && pair) { /* casp: registers that follow one another */
		old |= a64_general(s + 1);
		with |= a64_general(t + 1);
	}
	if (swaps) {
		o->reads = old | with;
		o->writes = old;
	} else if (load) {
		o->writes = a64_general(t) | a64_general(u);
	} else {
		o->reads = a64_general(t) | a64_general(u);
		o->writes = old; /* whether it was stored; of stlr none */
	}
	o->memory[0].load = swaps || load;
	o->memory[0].store = swaps || !load;
	o->memory[0].bytes =
		pair ? (a64_field(word, 30, 1) ? 16 : 8) : (uint16_t)(1u << a64_field(word, 30, 2));
}

/* ldadd, swp, ldapr. */
static void fetch_and_do(struct operands *o, uint32_t word)
{
	unsigned what = a64_field(word, 12, 4);

	o->reads = a64_general(a64_field(word, 16, 5));
	o->writes = a64_general(a64_field(word, 0, 5));
	o->memory[0].load = true;
	o->memory[0].store = what != 12;    /* ldapr */
	o->breaks = what > 8 && what != 12; /* ld64b */
	o->memory[0].bytes = (uint16_t)(1u << a64_field(word, 30, 2));
}

/* ldapur, stlur. */
static void ordered_unscaled(struct operands *o, uint32_t word)
{
	bool load = a64_field(word, 22, 2);

	*(load ? &o->writes : &o->reads) = a64_general(a64_field(word, 0, 5));
	o->memory[0].load = load;
	o->memory[0].store = !load;
	o->memory[0].disp = a64_signed(word, 12, 9);
	o->memory[0].bytes = (uint16_t)(1u << a64_field(word, 30, 2));
}

/* Exclusive and atomic ones, and those that order others: their costs are not known. */
static void atomic(struct operands *o, uint32_t word)
{
	unsigned n = a64_field(word, 5, 5);

	o->atomic = true;
	o->address = a64_general(n);
	o->n_memory = 1;
	o->memory[0] = (struct operands_memory){ .base = a64_base(n), .index = UNIT_NONE };
	if ((word & 0x3f000000) == 0x08000000)
		exclusive(o, word);
	else if ((word & 0x3f000000) == 0x19000000)
		ordered_unscaled(o, word);
	else
		fetch_and_do(o, word);
}

/* ld1 to ld4, st1 to st4. Only ld1 and st1 of one register are like ldr and str. */
static void structures(struct operands *o, uint32_t word)
{
	static const uint8_t many[16] = {
		[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2
	};
	bool lanes = a64_field(word, 24, 1), load = a64_field(word, 22, 1);
	unsigned t = a64_field(word, 0, 5), n = a64_field(word, 5, 5), m = a64_field(word, 16, 5);
	unsigned opcode = a64_field(word, 12, 4);
	unsigned k = lanes ? (opcode >> 1 & 1) * 2 + a64_field(word, 21, 1) + 1 : many[opcode];
	bool part = lanes && opcode < 12;
	uint16_t bytes = lanes ? 8 : a64_field(word, 30, 1) ? 16 : 8;

	if (!k) {
		o->breaks = true;
		return;
	}
	o->bits = bytes == 16 ? 128 : 64;
	for (unsigned i = 0; i < k; i++) {
		*(load ? &o->writes : &o->reads) |= a64_vector((t + i) % 32);
		o->reads |= load && part ? a64_vector((t + i) % 32) : 0;
	}
	if (!lanes && k == 1)
		o->op = load ? OP_LOAD_VECTOR : OP_STORE;
	o->address = a64_general(n);
	o->n_memory = 1;
	o->memory[0] = (struct operands_memory){ .base = a64_base(n),
						 .index = UNIT_NONE,
						 .load = load,
						 .store = !load,
						 .bytes = (uint16_t)(bytes * k) };
	if (!a64_field(word, 23, 1))
		return;
	move_base(o, word, bytes * k);
	if (m != A64_ZERO ||
	    lanes) { /* by a register, or by a number that depends on its elements */
		o->known = UNIT_NONE;
		o->address |= m == A64_ZERO ? 0 : a64_general(m);
	}
}

bool operands_arm64_memory(uint32_t word, uint64_t vaddr, struct operands *o)
{
	if ((word & 0x0a000000) != 0x08000000)
		return false;
	if ((word & 0xbe000000) == 0x0c000000)
		structures(o, word);
	else if ((word & 0x3f000000) == 0x08000000)
		atomic(o, word);
	else if ((word & 0x3b000000) == 0x18000000)
		literal(o, word, vaddr);
	else if ((word & 0x3a000000) == 0x28000000)
		pairs(o, word);
	else if ((word & 0x3b000000) == 0x39000000)
		scaled_access(o, word);
	else if ((word & 0x3b200000) == 0x38000000)
		unscaled(o, word);
	else if ((word & 0x3b200c00) == 0x38200800)
		indexed_access(o, word);
	else if ((word & 0x3f200c00) == 0x38200000 || (word & 0x3f200c00) == 0x19000000)
		atomic(o, word);
	else
		o->breaks = true;
	return true;
}
