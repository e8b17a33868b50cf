/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chains_bound - bounds of ports and front end, and the verdict.
 */
#include <math.h>

#include "analyse/chains/chains_int.h"

/* ---- ports ----------------------------------------------------------------------------------- */

#define KINDS 64u /* of sets of ports; the rest is left out of the bound, which stays one */

struct pressure {
	uint32_t ports[KINDS];
	double n[KINDS];
	unsigned kinds;
	double unit[CORE_PORTS], slots, taken;
	bool at_least;
};

static void add_uops(struct pressure *p, const struct core_uops *u, double weight)
{
	unsigned k = 0;

	if (core_port_is_unit((unsigned)__builtin_ctz(u->ports))) {
		p->unit[__builtin_ctz(u->ports)] += u->n * weight;
		return;
	}
	while (k < p->kinds && p->ports[k] != u->ports)
		k++;
	if (k == KINDS)
		return;
	if (k == p->kinds) {
		p->ports[k] = u->ports;
		p->n[k] = 0;
		p->kinds++;
	}
	p->n[k] += u->n * weight;
}

/* `joins`: takes no slot of its own beside the operation that it is a part of (micro-fusion). */
static void add_op(struct pressure *p, const struct core_op *op, double weight, bool joins)
{
	if (!op || !op->ports_known)
		p->at_least = true;
	for (unsigned i = 0; op && i < op->n_uops; i++)
		add_uops(p, &op->uop[i], weight);
	p->slots += weight * (!op || isnan(op->slots) ? !joins : op->slots - joins);
}

static void add_bound_step(struct pressure *p, const struct chain_step *s, double weight)
{
	bool loads = false, stores = false;

	for (unsigned i = 0; i < s->o.n_memory; i++) {
		loads |= s->o.memory[i].load;
		stores |= s->o.memory[i].store;
	}
	if (s->step)
		add_op(p, s->step, weight, false);
	if (chain_is_copy(&s->o)) {
		add_op(p, s->cost, weight, false);
		return;
	}
	if (s->fused) { /* its load is not */
		if (loads)
			add_op(p, s->load, weight, true);
		return;
	}
	add_op(p, s->cost, weight, false);
	if (loads)
		add_op(p, s->load, weight, true);
	if (stores)
		add_op(p, s->store, weight, false);
}

/* The set of ports with most uops that can go nowhere else, for each of its ports. */
static double fullest(const struct pressure *p, uint32_t *which)
{
	uint32_t all = 0, set;
	double best = 0;

	*which = 0;
	for (unsigned k = 0; k < p->kinds; k++)
		all |= p->ports[k];
	for (set = all; set; set = (set - 1) & all) {
		double sum = 0;

		for (unsigned k = 0; k < p->kinds; k++)
			sum += p->ports[k] & ~set ? 0 : p->n[k];
		sum /= __builtin_popcount(set);
		/* of sets that are as full the larger one */
		if (sum > best * (1 + 1e-9) ||
		    (sum > best * (1 - 1e-9) &&
		     __builtin_popcount(set) > __builtin_popcount(*which))) {
			best = sum;
			*which = set;
		}
	}
	for (unsigned u = CORE_PORTS / 2; u < CORE_PORTS; u++)
		if (p->unit[u] > best) {
			best = p->unit[u];
			*which = UINT32_C(1) << u;
		}
	return best;
}

/* Each kind goes to its ports so that the fullest is as empty as it can be, by and by. */
static void deal_uops(double load[CORE_PORTS], const struct pressure *p)
{
	enum { STEPS = 200 };

	for (unsigned u = 0; u < CORE_PORTS; u++)
		load[u] = p->unit[u];
	for (unsigned step = 0; step < STEPS; step++)
		for (unsigned k = 0; k < p->kinds; k++) {
			unsigned least = (unsigned)__builtin_ctz(p->ports[k]);

			for (uint32_t m = p->ports[k]; m; m &= m - 1)
				if (load[__builtin_ctz(m)] < load[least])
					least = (unsigned)__builtin_ctz(m);
			load[least] += p->n[k] / STEPS;
		}
}

void chains_ports(struct chain_bounds *out, const struct core *core, const struct chain_code *code,
		  size_t n, const double *weight)
{
	struct pressure p = { .kinds = 0 };

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < code[i].n; k++)
			add_bound_step(&p, &code[i].step[k], weight[i]);
		p.taken += weight[i] * code[i].taken;
	}
	out->ports = fullest(&p, &out->fullest);
	deal_uops(out->load, &p);
	out->at_least = p.at_least;
	out->slots = p.slots;
	out->taken = p.taken;
	out->issue = NAN;
	if (core->width)
		out->issue = p.slots / core->width;
	if (core->branches > 0)
		out->issue = fmax(isnan(out->issue) ? 0 : out->issue, p.taken / core->branches);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

#define NEAR  0.10 /* of the time: as much as a bound may be off */
#define VAGUE 0.50 /* of the time: with a larger error bounds cannot be distinguished */

static double larger(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : fmax(a, b);
}

/* Returns the chain's bound; of a range the value that fits best. */
static double fit_ports(const struct chain_range *c, double time)
{
	double high = isnan(c->high) ? CHAIN_LONG : c->high;

	if (isnan(c->low))
		return NAN;
	return time < c->low ? c->low : time > high ? high : time;
}

static enum chain_verdict bound_explained(const struct chain_bounds *b, double time, double off)
{
	bool sure = b->chain.low >= time - off, maybe = fit_ports(&b->chain, time) >= time - off;
	bool ports = b->ports >= time - off, issue = b->issue >= time - off;

	if (sure && (ports || issue))
		return CHAIN_SEVERAL;
	if (ports && (!issue || b->ports >= b->issue))
		return CHAIN_PORTS;
	if (issue)
		return CHAIN_ISSUE;
	return maybe ? CHAIN_SERIAL : CHAIN_OTHER;
}

void chains_judge(struct chain_loop *l)
{
	const struct chain_bounds *b = &l->bound;
	double time = l->cycles.v, off;

	if (l->why)
		return;
	if (isnan(time)) {
		l->why = "no iteration was timed";
		return;
	}
	if (l->cycles.half > VAGUE * time) {
		l->why = "the error of the time is too large to compare it";
		return;
	}
	off = NEAR * time + (isnan(l->cycles.half) ? 0 : l->cycles.half);
	if (larger(b->chain.low, larger(b->ports, b->issue)) > time + off) {
		l->why = "iterations are faster than a bound: the model is wrong here";
		return;
	}
	l->verdict = bound_explained(b, time, off);
	if (l->verdict == CHAIN_SERIAL && isnan(b->chain.high)) {
		l->verdict = CHAIN_UNKNOWN;
		l->why = "a latency of the chain is not known";
	} else if (l->verdict == CHAIN_OTHER && b->at_least) {
		l->verdict = CHAIN_UNKNOWN;
		l->why = "the ports of an operation are not known";
	}
}

const char *chain_verdict_name(enum chain_verdict v)
{
	static const char *const names[] = {
		[CHAIN_UNKNOWN] = "unknown", [CHAIN_SERIAL] = "serial",	  [CHAIN_PORTS] = "ports",
		[CHAIN_ISSUE] = "issue",     [CHAIN_SEVERAL] = "several", [CHAIN_OTHER] = "other"
	};

	return names[v];
}

const char *chain_via_name(enum chain_via v)
{
	static const char *const names[] = { [VIA_NOTHING] = "",
					     [VIA_REGISTER] = "register",
					     [VIA_FLAGS] = "flags",
					     [VIA_ADDRESS] = "address",
					     [VIA_MEMORY] = "store before" };

	return names[v];
}
