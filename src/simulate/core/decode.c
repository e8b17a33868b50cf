/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instruction for the model: its operation's row of the machine's text, its loads, its stores.
 */
#include <math.h>
#include <string.h>

#include "simulate/core/core_int.h"
#include "symbol/disasm.h"
#include "symbol/operands.h"

static uint8_t middle(double low, double high)
{
	double v = isnan(low) ? 1 : isnan(high) ? low : (low + high) / 2;

	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : lround(v));
}

static void add_uops(struct sim_insn *out, const struct core_op *op)
{
	for (unsigned i = 0; i < op->n_uops; i++) {
		const struct core_uops *u = &op->uop[i];
		unsigned first = (unsigned)__builtin_ctz(u->ports);

		if (core_port_is_unit(first)) {
			out->unit = (uint8_t)first;
			out->unit_cycles = (uint8_t)(u->n > 255 ? 255 : u->n);
			out->divides = true;
			continue;
		}
		for (unsigned k = 0; k < u->n && out->n_ports < SIM_PORTS_OF; k++)
			out->port[out->n_ports++] = (uint16_t)u->ports;
	}
}

static void cost_of(const struct core *m, enum insn_op op, unsigned bits, struct sim_insn *out)
{
	const struct core_op *row = core_find(m, insn_op_name(op), bits);

	if (!row || !row->ports_known || isnan(row->low)) {
		/* as the plainest operation of its kind */
		out->unknown |= op == OP_OTHER || !row;
		row = core_find(m, insn_op_name(bits ? OP_VLOGIC : OP_ALU), bits);
		out->latency = bits ? 3 : 1;
		out->slots = 1;
		if (row)
			add_uops(out, row);
		return;
	}
	out->latency = middle(row->low, row->high);
	out->slots = (uint8_t)(row->slots > 16 ? 16 : lround(row->slots));
	add_uops(out, row);
}

static void add_load(const struct core *m, const struct operands *o, struct sim_insn *out)
{
	const struct core_op *row =
		core_find(m, insn_op_name(o->bits ? OP_LOAD_VECTOR : OP_LOAD), o->bits);
	bool indexed = o->n_memory && o->memory[0].index != UNIT_NONE;

	out->load_latency = 4;
	if (!row)
		return;
	out->load_latency = middle(row->low, indexed ? row->high : row->low);
	if (row->n_uops)
		out->load_ports = (uint16_t)row->uop[0].ports;
}

static void add_store(const struct core *m, const struct operands *o, struct sim_insn *out)
{
	const struct core_op *row = core_find(m, insn_op_name(OP_STORE), o->bits);

	for (unsigned i = 0; row && i < row->n_uops && i < 2; i++)
		out->store_ports[i] = (uint16_t)row->uop[i].ports;
}

/* A comparison and the branch behind it are one. */
static void fuse(struct sim_insn *after, struct sim_insn *out)
{
	if (!after || !after->compares || out->flow != INSN_COND)
		return;
	after->n_ports = 0;
	after->latency = 0;
	out->slots = 0;
	out->fused = true;
}

void sim_insn_decode(const struct core *m, struct insn_decoder *d, const uint8_t *p, size_t len,
		     uint64_t vaddr, struct sim_insn *after, struct sim_insn *out)
{
	const uint64_t stack = UINT64_C(1) << UNIT_STACK;
	struct operands o;
	bool memory_only;

	operands_decode(d, p, len, vaddr, &o);
	*out = (struct sim_insn){ .vaddr = vaddr,
				  .reads = o.reads,
				  .address = o.address,
				  .writes = o.writes,
				  .unit = 255,
				  .len = (uint8_t)len,
				  .flow = o.flow,
				  .direct = o.direct,
				  .compares = o.compares,
				  .serial = o.serial,
				  .atomic = o.atomic,
				  .string = o.string };
	for (int i = 0; i < o.n_memory; i++) {
		out->loads |= o.memory[i].load;
		out->stores |= o.memory[i].store;
		out->stack |= o.memory[i].base == UNIT_STACK || o.memory[i].base == 5;
	}
	memory_only = o.op == OP_LOAD || o.op == OP_LOAD_VECTOR || o.op == OP_STORE;
	switch (o.flow) {
	case INSN_CALL:
	case INSN_RETURN:
		out->reads &= ~stack;
		out->writes &= ~stack;
		out->stack = true;
		cost_of(m, OP_JUMP, 0, out);
		break;
	case INSN_JUMP:
		cost_of(m, OP_JUMP, 0, out);
		break;
	case INSN_SYSTEM:
	case INSN_STOP:
		out->slots = 1;
		out->serial = true;
		break;
	default:
		if (memory_only)
			out->slots = 1;
		else
			cost_of(m, o.op, o.bits, out);
	}
	if (o.bad)
		out->unknown = true;
	if (out->loads)
		add_load(m, &o, out);
	if (out->stores)
		add_store(m, &o, out);
	if (out->loads && out->stores && !out->slots)
		out->slots = 1;
	if (out->flow == INSN_COND && out->latency < 1)
		out->latency = 1;
	fuse(after, out);
}
