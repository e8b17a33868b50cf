/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chains_run - the chain's bound, by running paths: each instruction as soon as its inputs are
 * there, on a machine with unlimited ports.
 *
 * The limit is a cycle of instructions in which each waits for the one before, over one iteration
 * or several. The way back from the last instruction to be ready, always to the input that was
 * waited for, goes round in it; its length is read off there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chains/chains_int.h"
#include "base/hash.h"
#include "base/xalloc.h"

#define INSTANCES    49152u /* instructions that are run */
#define ROUNDS_LEAST 24u
#define ROUNDS_MOST  192u
#define STORES	     256u /* that a load is compared with */
#define ORIGIN_FIXED 1u	  /* of absolute addresses */
#define ORIGIN_FIRST 16u
#define NOWHERE	     UINT32_MAX

/* A value as far as addresses are concerned: an unknown base, and an offset. */
struct known {
	uint32_t origin; /* 0: none */
	uint64_t add;
};

struct place { /* in memory */
	uint64_t key, at;
	uint16_t bytes;
};

struct slot { /* the value written to a place; or that it was only read */
	struct place place;
	struct known value;
	double ready;
	uint32_t node; /* NOWHERE: it was only read */
};

struct node { /* an instruction that ran */
	double ready;
	uint32_t from; /* the node that it waited for; NOWHERE: none */
	uint16_t path;
	uint16_t via;
	uint32_t insn;
	uint32_t round;
	bool steps; /* the address that the instruction moves on */
};

struct wait {
	double ready;
	uint32_t node;
	enum chain_via via;
};

struct running {
	enum chain_end end;
	double ready[UNITS];
	uint32_t last[UNITS];	/* nodes that made them */
	uint8_t made_by[UNITS]; /* enum insn_op; OP_OTHER: nothing that is added to early */
	struct known value[UNITS + 1];
	uint32_t origins;
	struct slot slot[STORES]; /* a ring */
	unsigned n_slots;
	struct node *node;
	uint32_t n;
};

double chain_latency(const struct core_op *op, enum chain_end end)
{
	if (!op || isnan(op->high))
		return end == CHAIN_WORST ? CHAIN_LONG : end == CHAIN_HIGH ? NAN : 0;
	return end == CHAIN_LOW ? op->low : op->high;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Returns true if the values of these units are followed. */
static bool chain_run_has_value(uint8_t unit)
{
	return unit < UNIT_FLAGS || unit == UNIT_SP;
}

static struct place chain_run_place_of(const struct running *r, const struct operands_memory *m)
{
	struct known base = { ORIGIN_FIXED, 0 }, index = { 0, 0 };
	uint64_t scale = m->scale ? m->scale : 1;

	if (chain_run_has_value(m->base))
		base = r->value[m->base];
	if (chain_run_has_value(m->index))
		index = r->value[m->index];
	if (!chain_run_has_value(m->base) && chain_run_has_value(m->index) && scale == 1) {
		base = index; /* the same address, written another way */
		index = (struct known){ 0, 0 };
	}
	return (struct place){
		.key = hash_pair((uint64_t)base.origin << 8 | m->segment,
				 (uint64_t)index.origin << 8 | (index.origin ? scale : 0)),
		.at = base.add + index.add * scale + (uint64_t)m->disp,
		.bytes = m->bytes,
	};
}

static bool chain_run_overlap(const struct place *a, const struct place *b)
{
	return a->key == b->key && a->at - b->at + a->bytes - 1 < (uint64_t)a->bytes + b->bytes - 1;
}

static bool chain_run_holds(const struct place *outer, const struct place *inner)
{
	return inner->at - outer->at <= outer->bytes &&
	       inner->at - outer->at + inner->bytes <= outer->bytes;
}

/* Returns the newest that overlaps; NULL: none. */
static const struct slot *chain_run_slot_at(const struct running *r, const struct place *p)
{
	unsigned n = r->n_slots < STORES ? r->n_slots : STORES;

	for (unsigned i = 1; i <= n; i++) {
		const struct slot *s = &r->slot[(r->n_slots - i) % STORES];

		if (chain_run_overlap(&s->place, p))
			return s;
	}
	return NULL;
}

static void add_chain_run_slot(struct running *r, const struct slot *s)
{
	r->slot[r->n_slots++ % STORES] = *s;
	if (r->n_slots == 2 * STORES)
		r->n_slots = STORES;
}

static struct known new_value(struct running *r)
{
	return (struct known){ ORIGIN_FIRST + r->origins++, 0 };
}

/* ---- an instruction -------------------------------------------------------------------------- */

static void wait_chain_run_for(struct wait *w, double ready, uint32_t node, enum chain_via via)
{
	if (ready <= w->ready && (w->node != NOWHERE || ready < w->ready || node == NOWHERE))
		return;
	*w = (struct wait){ ready, node, via };
}

static void wait_units(const struct running *r, struct wait *w, const struct operands *o,
		       bool address)
{
	for (uint64_t units = address ? o->address : o->reads; units; units &= units - 1) {
		unsigned u = (unsigned)__builtin_ctzll(units);

		wait_chain_run_for(w, r->ready[u], r->last[u],
				   address	       ? VIA_ADDRESS
				   : o->flags >> u & 1 ? VIA_FLAGS
						       : VIA_REGISTER);
	}
}

/* As wait_units, of inputs. An accumulator is needed only at the end: a sum from another such
 * operation, or from a multiplication before it, may come later than other operands. */
static void wait_operands(const struct running *r, struct wait *w, const struct chain_step *s)
{
	double later = s->sum ? chain_latency(s->cost, r->end) - chain_latency(s->sum, r->end) : 0;
	struct operands plain = s->o;

	for (uint64_t units = s->o.sum; later > 0 && units; units &= units - 1) {
		unsigned u = (unsigned)__builtin_ctzll(units);

		if (r->made_by[u] != s->o.op && !(s->o.op == OP_FMA && r->made_by[u] == OP_FMUL))
			continue;
		wait_chain_run_for(w, r->ready[u] - later, r->last[u], VIA_REGISTER);
		plain.reads &= ~(UINT64_C(1) << u);
	}
	wait_units(r, w, &plain, false);
}

/* Returns when a load has its value; *value: the known part of it. */
static struct wait load_value(struct running *r, const struct chain_step *s,
			      const struct operands_memory *m, struct known *value)
{
	const struct place p = chain_run_place_of(r, m);
	const struct slot *from = chain_run_slot_at(r, &p);
	struct wait w = { 0, NOWHERE, VIA_NOTHING };

	wait_units(r, &w, &s->o, true);
	w.ready += chain_latency(s->load, r->end);
	if (from && from->node != NOWHERE) {
		bool whole = chain_run_holds(&from->place, &p);

		wait_chain_run_for(
			&w, from->ready + chain_latency(whole ? s->forward : s->blocked, r->end),
			from->node, VIA_MEMORY);
	}
	if (from && from->place.at == p.at && from->place.bytes == p.bytes) {
		*value = from->value;
	} else {
		*value = new_value(r);
		if (!from)
			add_chain_run_slot(r, &(struct slot){ p, *value, 0, NOWHERE });
	}
	return w;
}

static void set_values(struct running *r, const struct operands *o, struct known loaded)
{
	struct known known = { ORIGIN_FIXED, 0 };

	if (chain_run_has_value(o->known)) {
		if (chain_run_has_value(o->from))
			known = r->value[o->from];
		known.add += (uint64_t)o->add;
	}
	for (uint64_t w = o->writes & ((1u << UNIT_FLAGS) - 1); w; w &= w - 1)
		r->value[__builtin_ctzll(w)] = new_value(r);
	if (chain_run_has_value(o->copies) && loaded.origin)
		r->value[o->copies] = loaded;
	if (chain_run_has_value(o->known))
		r->value[o->known] = known;
}

/* The address that an access moves on, as a node of its own. */
static void step_address(struct running *r, const struct chain_step *s, const struct node *of)
{
	struct wait w = { 0, NOWHERE, VIA_NOTHING };
	uint8_t u = s->o.stepped;

	wait_chain_run_for(&w, r->ready[u], r->last[u], VIA_REGISTER);
	w.ready += chain_latency(s->step, r->end);
	r->node[r->n] = *of;
	r->node[r->n].ready = w.ready;
	r->node[r->n].from = w.node;
	r->node[r->n].via = (uint16_t)w.via;
	r->node[r->n].steps = true;
	r->ready[u] = w.ready;
	r->last[u] = r->n++;
}

static void run_one_step(struct running *r, const struct chain_step *s, uint16_t path,
			 uint32_t insn, uint32_t round)
{
	const struct operands *o = &s->o;
	struct wait w = { 0, NOWHERE, VIA_NOTHING };
	struct known loaded = { 0, 0 };
	uint32_t node = r->n++;

	for (unsigned i = 0; i < o->n_memory; i++) {
		if (o->memory[i].load) {
			struct wait l = load_value(r, s, &o->memory[i], &loaded);

			wait_chain_run_for(&w, l.ready, l.node, l.via);
		}
	}
	wait_operands(r, &w, s);
	if (!chain_is_copy(o))
		w.ready += chain_latency(s->cost, r->end);
	for (unsigned i = 0; i < o->n_memory; i++) {
		struct slot to = { .value = new_value(r), .ready = w.ready, .node = node };
		struct wait at = { 0, NOWHERE, VIA_NOTHING };

		if (!o->memory[i].store)
			continue;
		wait_units(r, &at, o, true);
		if (at.ready > w.ready)
			to.ready = w.ready = at.ready, w.node = at.node, w.via = VIA_ADDRESS;
		if (chain_run_has_value(o->copies) && !o->memory[i].load && o->memory[i].bytes == 8)
			to.value = r->value[o->copies];
		/* a push: its place is below the old stack pointer */
		to.place = chain_run_place_of(r, &o->memory[i]);
		add_chain_run_slot(r, &to);
	}
	r->node[node] = (struct node){ w.ready, w.node, path, (uint16_t)w.via, insn, round, false };
	for (uint64_t u = o->writes; u; u &= u - 1) {
		if (__builtin_ctzll(u) == o->stepped)
			continue;
		r->ready[__builtin_ctzll(u)] = w.ready;
		r->last[__builtin_ctzll(u)] = node;
		r->made_by[__builtin_ctzll(u)] = o->op;
	}
	if (o->stepped != UNIT_NONE)
		step_address(r, s, &r->node[node]);
	set_values(r, o, loaded);
}

/* ---- all rounds ------------------------------------------------------------------------------ */

/* Paths in random order, but of each DECK in a row as many of each as its weight demands. */
#define DECK 64u

struct deck {
	uint64_t state;
	double owed[BLOCK_PATHS];
	uint8_t card[DECK];
	unsigned left;
};

static void shuffle_deck(struct deck *d, const double *weight, size_t n)
{
	unsigned k = 0;

	for (size_t i = 0; i < n; i++)
		for (d->owed[i] += weight[i] * DECK; d->owed[i] >= 1 && k < DECK; d->owed[i]--)
			d->card[k++] = (uint8_t)i;
	while (k < DECK) { /* the rest goes to the paths that are most below their share */
		size_t most = 0;

		for (size_t i = 1; i < n; i++)
			if (d->owed[i] > d->owed[most])
				most = i;
		d->owed[most]--;
		d->card[k++] = (uint8_t)most;
	}
	for (unsigned i = DECK; i-- > 1;) {
		unsigned other = (unsigned)(random_next(&d->state) % (i + 1));
		uint8_t card = d->card[i];

		d->card[i] = d->card[other];
		d->card[other] = card;
	}
	d->left = DECK;
}

static size_t choose_path(struct deck *d, const double *weight, size_t n)
{
	if (n == 1)
		return 0;
	if (!d->left)
		shuffle_deck(d, weight, n);
	return d->card[--d->left];
}

static uint32_t latest(const struct running *r, uint32_t from)
{
	uint32_t best = from;

	for (uint32_t i = from; i < r->n; i++)
		if (r->node[i].ready > r->node[best].ready)
			best = i;
	return best;
}

static void add_link(struct chain_link *link, const struct running *r, uint32_t i, uint32_t rounds,
		     uint32_t *order)
{
	const struct node *v = &r->node[i], *from = &r->node[v->from];

	link[v->insn].cycles += (v->ready - from->ready) / rounds;
	link[v->insn].via = (enum chain_via)v->via;
	if (!link[v->insn].order)
		link[v->insn].order = (*order)++;
}

/* The circle that the way back from `end` goes round in; of one path. */
static void find_circle(struct chain_run *out, const struct running *r, uint32_t end, uint32_t n,
			uint32_t rounds)
{
	uint32_t i = end, begin, order = 1;

	while (i != NOWHERE && r->node[i].round > rounds * 2 / 3)
		i = r->node[i].from;
	begin = i;
	if (begin == NOWHERE)
		return;
	do
		i = r->node[i].from;
	while (i != NOWHERE && (r->node[i].insn != r->node[begin].insn ||
				r->node[i].steps != r->node[begin].steps));
	if (i == NOWHERE || r->node[i].round == r->node[begin].round)
		return;
	rounds = r->node[begin].round - r->node[i].round;
	out->cycles = (r->node[begin].ready - r->node[i].ready) / rounds;
	for (uint32_t k = begin; out->link && out->cycles > 0 && k != i; k = r->node[k].from)
		add_link(out->link, r, k, rounds, &order);
	for (uint32_t k = 0; out->link && k < n; k++) /* from the back: the oldest is the first */
		if (out->link[k].order)
			out->link[k].order = order - out->link[k].order;
}

/* Finds the slope of several paths in any order: by how much later everything is ready. */
static void find_slope(struct chain_run *out, const struct running *r, const uint32_t *first,
		       uint32_t rounds)
{
	uint32_t skip = rounds / 4;
	double from = 0, to = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		if (i < first[skip] && r->node[i].ready > from)
			from = r->node[i].ready;
		if (r->node[i].ready > to)
			to = r->node[i].ready;
	}
	out->cycles = (to - from) / (rounds - skip);
}

static uint32_t rounds_of(const struct chain_code *code, size_t n)
{
	size_t most = 1, rounds;

	for (size_t i = 0; i < n; i++)
		if (code[i].n > most)
			most = code[i].n;
	rounds = INSTANCES / most;
	if (n > 1)
		rounds *= 4;
	rounds = rounds < (n > 1 ? 4 * ROUNDS_MOST : ROUNDS_MOST)
			 ? rounds
			 : (n > 1 ? 4 * ROUNDS_MOST : ROUNDS_MOST);
	return rounds < ROUNDS_LEAST ? ROUNDS_LEAST : (uint32_t)rounds;
}

static struct running *start_run(const struct chain_code *code, size_t n, enum chain_end end,
				 uint32_t rounds)
{
	struct running *r = xcalloc(1, sizeof(*r));
	size_t most = 1;

	for (size_t i = 0; i < n; i++)
		if (code[i].n > most)
			most = code[i].n;
	r->end = end;
	r->node = xmalloc(2 * most * rounds * sizeof(*r->node));
	for (unsigned u = 0; u < UNITS; u++) {
		r->last[u] = NOWHERE;
		r->made_by[u] = OP_OTHER;
	}
	for (unsigned u = 0; u <= UNITS; u++)
		r->value[u] = new_value(r);
	return r;
}

void chains_run(struct chain_run *out, const struct chain_code *code, size_t n,
		const double *weight, enum chain_end end)
{
	uint32_t rounds = rounds_of(code, n), *first = xcalloc((size_t)rounds + 1, sizeof(*first));
	struct running *r = start_run(code, n, end, rounds);
	struct deck deck = { .state = 1 };

	out->cycles = 0;
	for (uint32_t k = 0; k < rounds; k++) {
		size_t p = choose_path(&deck, weight, n);

		first[k] = r->n;
		for (uint32_t i = 0; i < code[p].n; i++)
			run_one_step(r, &code[p].step[i], (uint16_t)p, i, k);
		first[k + 1] = r->n;
	}
	if (r->n && n == 1)
		find_circle(out, r, latest(r, first[rounds - 1]), (uint32_t)code->n, rounds);
	else if (r->n)
		find_slope(out, r, first, rounds);
	free(r->node);
	free(r);
	free(first);
}
