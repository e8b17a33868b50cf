/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core - a model of a CPU's core: instructions and addresses in, slots and their causes out.
 *
 *	sim_core_check(machine, &err)
 *	c = sim_core_new(machine, outer, charge, ctx)
 *	sim_insn_decode(...)			each instruction once
 *	sim_core_fetch(c, insn, place, access, n)	in the order in which they run
 *	sim_core_branch(c, to)			behind the last one of a block
 *	sim_core_finish(c)			charges what is left
 *	sim_core_free(c)
 *
 * Each instruction's times follow from those of the ones that it needs: fetched, dispatched,
 * issued, complete, retired. Ports are taken for a cycle each, units like the divider for longer;
 * the reorder buffer, schedulers, loads and stores in flight have the machine's sizes. It never
 * looks back, so its costs are linear, about 60 ns an instruction.
 *
 * Slots: WIDTH of them begin in each cycle. Those in which an instruction is dispatched are
 * charged to it as retiring. An empty one is charged to the instruction that did not come, with
 * what kept it (front end); behind a mispredicted branch to that branch; if there was no room, to
 * the oldest instruction in flight, with what it waited for (back end), as TMA counts (A. Yasin,
 * ISPASS 2014). So all charges together are width times cycles, exactly.
 *
 * Not modelled: wrong paths (they cost time, but fetch nothing), SMT, frequency, physical
 * addresses, the kernel.
 */
#ifndef CYCLADE_SIMULATE_CORE_H
#define CYCLADE_SIMULATE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/core.h"
#include "symbol/insn_decoder.h"

enum sim_cause {
#define CAUSE(id, node, parent, means) SIM_##id,
#include "simulate/cause.def"
#undef CAUSE
	SIM_CAUSES
};

enum sim_level { SIM_IN_L1, SIM_IN_L2, SIM_IN_L3, SIM_IN_DRAM };

#define SIM_PORTS_OF 6u

/* An instruction, as far as the model is concerned. */
struct sim_insn {
	uint64_t vaddr;
	uint64_t reads, address, writes; /* units (symbol/operands.h) */
	uint16_t port[SIM_PORTS_OF];	 /* of the operation, a uop each */
	uint16_t load_ports, store_ports[2];
	uint8_t n_ports, unit,
		unit_cycles; /* unit: 255, or the number of the divider or the like */
	uint8_t latency, load_latency, slots;
	uint8_t len, flow; /* enum insn_flow */
	bool loads, stores, direct, compares, fused, serial, atomic, string, unknown, divides,
		stack;
};

struct sim_access {
	uint64_t vaddr;
	uint8_t bytes;
	bool store;
};

/* Where an instruction's slots are counted: the caller's, handed back as it is. */
struct sim_place {
	void *block;
	uint32_t insn;
};
typedef void sim_charge_fn(void *ctx, struct sim_place place, enum sim_cause cause, uint64_t slots);

/* What all cores share: the last cache and memory. */
struct sim_outer;
struct sim_outer *sim_outer_new(const struct core *machine);
void sim_outer_close(struct sim_outer *o);

/* ERR_UNSUPPORTED: the machine's text lacks parts. */
int sim_core_check(const struct core *machine, struct err *err) MUST_USE;

struct sim_core;
/* The machine has been checked. */
struct sim_core *sim_core_new(const struct core *machine, struct sim_outer *outer,
			      sim_charge_fn *charge, void *ctx);
void sim_core_free(struct sim_core *c);

/* `after`: the instruction before it in its block, or NULL. */
void sim_insn_decode(const struct core *machine, struct insn_decoder *d, const uint8_t *p,
		     size_t len, uint64_t vaddr, struct sim_insn *after, struct sim_insn *out);

void sim_core_fetch(struct sim_core *c, const struct sim_insn *insn, struct sim_place place,
		    const struct sim_access *access, size_t n);
/* The instruction fetched last was a block's last, and the next one is at `to`. */
void sim_core_branch(struct sim_core *c, uint64_t to);
/* The program was in the kernel. */
void sim_core_system(struct sim_core *c);
void sim_core_finish(struct sim_core *c);

struct sim_counts {
	uint64_t cycles, slots, insns, unknown; /* unknown: instructions without a model */
	uint64_t branches, mispredicted;
};
void sim_core_counts(const struct sim_core *c, struct sim_counts *out);

const char *sim_cause_name(enum sim_cause cause);
enum sim_cause sim_cause_parent(enum sim_cause cause); /* SIM_CAUSES: the whole */

#endif
