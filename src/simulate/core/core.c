/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulate/core.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "simulate/core/core_int.h"
#include "symbol/disasm.h"
#include "symbol/operands.h"

#define RING	     32768u /* cycles that ports and schedulers are known ahead */
#define FLIGHT	     8192u  /* instructions in flight, at most */
#define STRING_BYTES 32u    /* of a repeated string instruction, a cycle */

struct cycle {			    /* of those ahead */
	uint16_t busy;		    /* ports */
	uint8_t leave[CORE_QUEUES]; /* uops that are issued then */
};

struct in_flight {
	uint64_t retire;
	struct sim_place place;
	uint16_t slots;
	uint8_t cause;
	bool load;
};

struct stored {
	uint64_t commit;
	struct sim_place place;
};

struct sim_core {
	const struct core *m;
	sim_charge_fn *charge;
	void *ctx;
	unsigned width;
	uint64_t slot;	/* of dispatch: all slots so far */
	uint64_t cycle; /* up to which `ahead` is used up */
	struct cycle *ahead;
	uint32_t waiting[CORE_QUEUES];
	uint8_t queue_of[16]; /* by port */
	uint64_t ready[UNITS], unit[CORE_PORTS];

	struct in_flight *flight;
	uint32_t first, last; /* of those in flight */
	uint32_t used, loads_used;
	uint64_t retired;
	uint32_t retired_slots; /* in that cycle */
	struct stored *stored;
	uint32_t stored_first, stored_last;
	uint64_t commit; /* of the newest store */

	uint64_t fetch; /* cycle */
	uint32_t fetch_left;
	uint64_t fetch_line;
	bool decoding;
	uint8_t why; /* enum sim_cause: of a fetch that is late */
	struct sim_place wrong;
	struct cache uops;
	uint64_t *dispatched; /* cycles, of the newest instructions: a ring of the fetch queue */
	uint32_t n_dispatched;

	const struct sim_insn *branch; /* fetched last */
	struct sim_place branch_place;
	uint64_t branch_done;
	uint64_t string; /* vaddr of a string instruction that ran last */
	uint32_t string_bytes;

	struct predictor *predictor;
	struct memory memory;
	struct sim_counts n;
};

static const struct {
	const char *name;
	enum sim_cause parent;
} causes[SIM_CAUSES] = {
#define CAUSE(id, node, parent, means) [SIM_##id] = { node, SIM_##parent },
#include "simulate/cause.def"
#undef CAUSE
};

const char *sim_cause_name(enum sim_cause cause)
{
	return causes[cause].name;
}

enum sim_cause sim_cause_parent(enum sim_cause cause)
{
	return causes[cause].parent;
}

/* ---- opening --------------------------------------------------------------------------------- */

int sim_core_check(const struct core *m, struct err *err)
{
	static const enum core_part_id may_be_0[] = { CORE_UOP_SWITCH, CORE_BTB_SECOND_COST,
						      CORE_BLOCKED };

	for (enum core_part_id i = 0; i < CORE_PARTS; i++) {
		bool fine = m->part[i] > 0;

		for (size_t k = 0; k < sizeof(may_be_0) / sizeof(*may_be_0); k++)
			fine |= may_be_0[k] == i && m->part_from[i];
		if (!fine)
			return err_set(err, ERR_UNSUPPORTED,
				       "the model %s has no part `%s`: %s, which simulate needs",
				       m->id, core_part_name(i), core_part_means(i));
	}
	if (!m->width || !m->n_queues || m->part[CORE_ROB] > FLIGHT / 2)
		return err_set(
			err, ERR_UNSUPPORTED,
			"the model %s has no width, or no line `queue`, which simulate needs",
			m->id);
	return 0;
}

struct sim_core *sim_core_new(const struct core *m, struct sim_outer *outer, sim_charge_fn *charge,
			      void *ctx)
{
	struct sim_core *c = xcalloc(1, sizeof(*c));

	c->m = m;
	c->charge = charge;
	c->ctx = ctx;
	c->width = m->width;
	c->why = SIM_FETCH;
	c->fetch_line = UINT64_MAX;
	c->ahead = xcalloc(RING, sizeof(*c->ahead));
	c->flight = xcalloc(FLIGHT, sizeof(*c->flight));
	c->stored = xcalloc(FLIGHT, sizeof(*c->stored));
	c->dispatched = xcalloc(m->part[CORE_FETCH_QUEUE], sizeof(*c->dispatched));
	c->predictor = predictor_new(m);
	for (unsigned port = 0; port < 16; port++)
		for (size_t q = m->n_queues; q-- > 0;)
			if (m->queue[q].ports >> port & 1)
				c->queue_of[port] = (uint8_t)q;
	core_memory_open(&c->memory, m, outer);
	core_cache_open(&c->uops, m->part[CORE_UOP_LINES], 8);
	return c;
}

void sim_core_free(struct sim_core *c)
{
	if (!c)
		return;
	predictor_free(c->predictor);
	core_memory_close(&c->memory);
	core_cache_close(&c->uops);
	free(c->ahead);
	free(c->flight);
	free(c->stored);
	free(c->dispatched);
	free(c);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Cycles up to this one have begun: their uops have left the schedulers, their ports are past. */
static void advance(struct sim_core *c, uint64_t cycle)
{
	if (cycle - c->cycle >= RING) {
		memset(c->ahead, 0, RING * sizeof(*c->ahead));
		memset(c->waiting, 0, sizeof(c->waiting));
		c->cycle = cycle;
		return;
	}
	while (c->cycle < cycle) {
		struct cycle *now = &c->ahead[++c->cycle & (RING - 1)];

		for (size_t q = 0; q < CORE_QUEUES; q++)
			c->waiting[q] -= now->leave[q];
		*now = (struct cycle){ 0 };
	}
}

static void pop_retired(struct sim_core *c, uint64_t now)
{
	while (c->first != c->last) {
		const struct in_flight *f = &c->flight[c->first % FLIGHT];

		if (f->retire > now)
			return;
		c->used -= f->slots;
		c->loads_used -= f->load;
		c->first++;
	}
}

/* Empty slots up to `cycle`: the oldest instruction is not done. */
static void wait_for_oldest(struct sim_core *c, uint64_t cycle, struct sim_place mine)
{
	while (c->slot < cycle * c->width) {
		uint64_t end = cycle;
		struct sim_place place = mine;
		enum sim_cause cause = SIM_LATENCY;

		pop_retired(c, c->slot / c->width);
		if (c->first != c->last) {
			const struct in_flight *f = &c->flight[c->first % FLIGHT];

			end = f->retire < end ? f->retire : end;
			place = f->place;
			cause = (enum sim_cause)f->cause;
		}
		c->charge(c->ctx, place, cause, end * c->width - c->slot);
		c->slot = end * c->width;
	}
	advance(c, cycle);
	pop_retired(c, cycle);
}

/* ---- fetching -------------------------------------------------------------------------------- */

static void delay_fetch(struct sim_core *c, uint64_t cycles, enum sim_cause why)
{
	if (!cycles)
		return;
	c->fetch += cycles;
	c->fetch_left = 0;
	c->why = (uint8_t)why;
}

static void enter_line(struct sim_core *c, uint64_t line)
{
	bool was = c->decoding;

	c->fetch_line = line;
	c->decoding = !core_cache_find(&c->uops, line);
	if (!c->decoding)
		return;
	core_cache_fill(&c->uops, line, 0, 0);
	if (!was)
		delay_fetch(c, c->m->part[CORE_UOP_SWITCH], SIM_SWITCH);
	delay_fetch(c, core_memory_code(&c->memory, line, c->fetch), SIM_ICACHE);
}

/* Returns the cycle in which it can be dispatched at the earliest. */
static uint64_t fetch_insn(struct sim_core *c, const struct sim_insn *insn)
{
	uint64_t line = insn->vaddr >> 6, end = (insn->vaddr + insn->len - 1u) >> 6;
	uint32_t need = insn->slots ? insn->slots : 1;
	uint64_t room = c->dispatched[c->n_dispatched % c->m->part[CORE_FETCH_QUEUE]];

	if (line != c->fetch_line)
		enter_line(c, line);
	if (end != c->fetch_line)
		enter_line(c, end);
	if (c->fetch < room) {
		c->fetch = room;
		c->fetch_left = 0;
	}
	if (c->decoding)
		need = 1;
	else if (insn->fused)
		need = 0;
	if (need > c->fetch_left) {
		c->fetch++;
		c->fetch_left = c->decoding ? c->m->part[CORE_DECODE] : c->m->part[CORE_UOP_FETCH];
	}
	c->fetch_left -= need < c->fetch_left ? need : c->fetch_left;
	return c->fetch;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

/* No scheduler has room for its uops. */
static bool is_full(const struct sim_core *c, const struct sim_insn *insn)
{
	for (unsigned i = 0; i < insn->n_ports; i++) {
		unsigned q = c->queue_of[__builtin_ctz(insn->port[i])];

		if (c->waiting[q] >= c->m->queue[q].size)
			return true;
	}
	if (insn->load_ports) {
		unsigned q = c->queue_of[__builtin_ctz(insn->load_ports)];

		if (c->waiting[q] >= c->m->queue[q].size)
			return true;
	}
	return false;
}

static void wait_for_store(struct sim_core *c)
{
	const struct stored *s = &c->stored[c->stored_first % FLIGHT];

	c->charge(c->ctx, s->place, SIM_STORE, s->commit * c->width - c->slot);
	c->slot = s->commit * c->width;
	advance(c, s->commit);
}

static void find_room(struct sim_core *c, const struct sim_insn *insn, struct sim_place place)
{
	const unsigned *part = c->m->part;

	for (;;) {
		uint64_t now = c->slot / c->width;

		advance(c, now);
		pop_retired(c, now);
		while (c->stored_first != c->stored_last &&
		       c->stored[c->stored_first % FLIGHT].commit <= now)
			c->stored_first++;
		if ((c->used + insn->slots > part[CORE_ROB] ||
		     (insn->loads && c->loads_used >= part[CORE_LOADS])) &&
		    c->first != c->last)
			wait_for_oldest(c, c->flight[c->first % FLIGHT].retire, place);
		else if (insn->stores && c->stored_last - c->stored_first >= part[CORE_STORES])
			wait_for_store(c);
		else if (is_full(c, insn))
			wait_for_oldest(c, now + 1, place);
		else
			return;
	}
}

static uint64_t dispatch(struct sim_core *c, const struct sim_insn *insn, struct sim_place place)
{
	uint64_t fetched = fetch_insn(c, insn), now;

	find_room(c, insn, place);
	if (fetched * c->width > c->slot) {
		c->charge(c->ctx, c->why == SIM_MISPREDICT ? c->wrong : place,
			  (enum sim_cause)c->why, fetched * c->width - c->slot);
		c->slot = fetched * c->width;
	} else {
		c->why = c->decoding ? SIM_DECODE : SIM_FETCH;
	}
	now = c->slot / c->width;
	advance(c, now);
	c->dispatched[c->n_dispatched++ % c->m->part[CORE_FETCH_QUEUE]] = now;
	c->slot += insn->slots;
	return now;
}

/* ---- execution ------------------------------------------------------------------------------- */

/* The first cycle from `t` on in which one of the ports is free, which it is not from then on. */
static uint64_t take_port(struct sim_core *c, uint32_t ports, uint64_t t)
{
	uint64_t end = c->cycle + RING;
	unsigned q = c->queue_of[__builtin_ctz(ports)];

	for (t = later(t, c->cycle + 1); t < end; t++) {
		struct cycle *at = &c->ahead[t & (RING - 1)];
		uint32_t open = ports & ~at->busy;

		if (!open)
			continue;
		at->busy |= (uint16_t)(1u << (31 - __builtin_clz(open)));
		if (at->leave[q] < 255) {
			at->leave[q]++;
			c->waiting[q]++;
		}
		return t;
	}
	return t;
}

static uint64_t ready_of(const struct sim_core *c, uint64_t units, uint64_t t)
{
	for (; units; units &= units - 1)
		t = later(t, c->ready[__builtin_ctzll(units)]);
	return t;
}

static enum sim_cause cause_of_load(const struct fetched *f)
{
	static const uint8_t of[] = { SIM_L1, SIM_L2, SIM_L3, SIM_DRAM };

	if (f->level >= SIM_IN_L3)
		return (enum sim_cause)of[f->level];
	return f->forwarded ? SIM_FORWARD : f->walked ? SIM_DTLB : (enum sim_cause)of[f->level];
}

static void retire(struct sim_core *c, const struct sim_insn *insn, struct sim_place place,
		   uint64_t done, enum sim_cause cause)
{
	struct in_flight *f;

	if (done > c->retired) {
		c->retired = done;
		c->retired_slots = 0;
	}
	c->retired_slots += insn->slots;
	if (c->retired_slots > c->m->part[CORE_RETIRE]) {
		c->retired++;
		c->retired_slots = insn->slots;
	}
	f = &c->flight[c->last++ % FLIGHT];
	*f = (struct in_flight){ c->retired, place, insn->slots, (uint8_t)cause, insn->loads };
	c->used += insn->slots;
	c->loads_used += insn->loads;
}

static void store(struct sim_core *c, const struct sim_insn *insn, struct sim_place place,
		  const struct sim_access *a, size_t n, uint64_t now, uint64_t value)
{
	uint64_t at = ready_of(c, insn->address, now + 1), there;

	if (insn->store_ports[0] && !insn->loads)
		at = take_port(c, insn->store_ports[0], at);
	if (insn->store_ports[1])
		value = later(value, take_port(c, insn->store_ports[1], value));
	there = core_memory_own(&c->memory, insn, a, n, at);
	c->commit = later(later(c->commit + 1, c->retired), there);
	core_memory_stored(&c->memory, a, n, later(at, value), c->commit);
	c->stored[c->stored_last++ % FLIGHT] = (struct stored){ c->commit, place };
}

/* An iteration of a repeated string instruction that is not its first: so many bytes a cycle. */
static void repeat(struct sim_core *c, struct sim_place place, const struct sim_insn *insn,
		   const struct sim_access *a, size_t n)
{
	uint64_t at = c->slot / c->width + 1, ready = at;

	for (size_t i = 0; i < n; i++)
		if (!a[i].store)
			ready = later(ready,
				      core_memory_load(&c->memory, insn, &a[i], 1, at).ready);
	ready = later(ready, core_memory_own(&c->memory, insn, a, n, at));
	c->string_bytes += n ? a[n - 1].bytes : 0;
	if (c->string_bytes < STRING_BYTES)
		return;
	c->string_bytes -= STRING_BYTES;
	c->charge(c->ctx, place, SIM_TOP_RETIRING, c->width);
	c->slot += c->width;
	advance(c, c->slot / c->width);
	if (ready > at + c->m->part[CORE_ROB]) /* what runs ahead of it is limited */
		wait_for_oldest(c, ready - c->m->part[CORE_ROB], place);
}

void sim_core_fetch(struct sim_core *c, const struct sim_insn *insn, struct sim_place place,
		    const struct sim_access *a, size_t n)
{
	uint64_t now, start, wanted, done;
	enum sim_cause cause = SIM_LATENCY;
	struct fetched f = { 0 };

	if (insn->string && c->string == insn->vaddr) {
		repeat(c, place, insn, a, n);
		return;
	}
	c->string = insn->string ? insn->vaddr : 0;
	c->string_bytes = 0;
	c->n.insns++;
	c->n.unknown += insn->unknown;
	now = dispatch(c, insn, place);
	if (insn->slots)
		c->charge(c->ctx, place, SIM_TOP_RETIRING, insn->slots);
	start = wanted = now + 1;
	if (insn->serial)
		start = later(start, c->retired);
	if (insn->loads) {
		uint64_t at = ready_of(c, insn->address, start);

		if (insn->atomic)
			at = later(later(at, c->retired), c->commit);
		if (insn->load_ports)
			at = take_port(c, insn->load_ports, at);
		f = core_memory_load(&c->memory, insn, a, n, at);
		start = later(start, f.ready);
		cause = cause_of_load(&f);
	}
	start = wanted = ready_of(c, insn->reads, start);
	if (insn->unit != 255)
		start = later(start, c->unit[insn->unit]);
	done = start;
	for (unsigned i = 0; i < insn->n_ports; i++)
		done = later(done, take_port(c, insn->port[i], start));
	if (insn->unit != 255)
		c->unit[insn->unit] = done + insn->unit_cycles;
	if (!insn->loads || insn->latency > insn->load_latency)
		cause = insn->divides			? SIM_DIVIDER
			: done > wanted + insn->latency ? SIM_PORTS
							: SIM_LATENCY;
	done += insn->latency;
	if (insn->atomic)
		done += c->m->part[CORE_LOCK];
	if (insn->serial || insn->atomic)
		cause = SIM_SERIAL;
	for (uint64_t w = insn->writes; w; w &= w - 1)
		c->ready[__builtin_ctzll(w)] = done;
	retire(c, insn, place, done, cause);
	if (insn->stores)
		store(c, insn, place, a, n, now, done);
	c->branch = insn;
	c->branch_place = place;
	c->branch_done = done;
}

/* ---- branches -------------------------------------------------------------------------------- */

void sim_core_branch(struct sim_core *c, uint64_t to)
{
	const struct sim_insn *b = c->branch;
	uint64_t behind;

	c->branch = NULL;
	if (!b || b->flow == INSN_OTHER || b->flow == INSN_SYSTEM || b->flow == INSN_STOP)
		return;
	behind = b->vaddr + b->len;
	c->n.branches++;
	switch (predictor_see(c->predictor, b->flow, b->direct, b->vaddr, behind, to)) {
	case BRANCH_WRONG:
		c->n.mispredicted++;
		c->fetch = later(c->fetch, c->branch_done + c->m->part[CORE_MISPREDICT]);
		c->why = SIM_MISPREDICT;
		c->wrong = c->branch_place;
		break;
	case BRANCH_RESTEER:
		delay_fetch(c, c->m->part[CORE_RESTEER], SIM_RESTEER);
		break;
	case BRANCH_LATE:
		delay_fetch(c, c->m->part[CORE_BTB_SECOND_COST], SIM_FETCH);
		break;
	case BRANCH_RIGHT:
		break;
	}
	if (to != behind) {
		c->fetch_left = 0;
		c->fetch_line = UINT64_MAX;
	}
}

void sim_core_system(struct sim_core *c)
{
	uint64_t end = later(c->retired, c->slot / c->width);

	wait_for_oldest(c, end, c->branch_place);
	c->fetch = later(c->fetch, end);
	c->fetch_left = 0;
}

void sim_core_finish(struct sim_core *c)
{
	uint64_t end = later(c->retired, (c->slot + c->width - 1) / c->width);

	wait_for_oldest(c, end, c->branch_place);
}

void sim_core_counts(const struct sim_core *c, struct sim_counts *out)
{
	*out = c->n;
	out->slots = c->slot;
	out->cycles = c->slot / c->width;
}
