/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_count_int.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/memory/memory_types.h"
#include "base/big.h"
#include "base/bytes.h"

#define LATENCIES ((1u << MEMOP_LATENCIES) - 1)

/* ---- classes --------------------------------------------------------------------------------- */

static uint64_t flag_of(const struct memop *op, uint32_t has, bool flag)
{
	return op->has & has ? 1 + (uint64_t)flag : 0;
}

static uint64_t class_of(const struct memop *op)
{
	return (uint64_t)op->set[MEMOP_KIND] << AT_KIND |
	       (uint64_t)op->set[MEMOP_SNOOP] << AT_SNOOP | (uint64_t)op->set[MEMOP_TLB] << AT_TLB |
	       (uint64_t)op->set[MEMOP_BLOCK] << AT_BLOCK | (uint64_t)op->level << AT_LEVEL |
	       (uint64_t)op->where << AT_WHERE | flag_of(op, MEMOP_HAS_HIT, op->hit) << AT_HIT |
	       flag_of(op, MEMOP_HAS_LOCKED, op->locked) << AT_LOCK |
	       (uint64_t)memory_no_access(op) << AT_NO_ACCESS;
}

static enum memory_access_kind access_kind(const struct memop *op)
{
	if (memory_no_access(op))
		return MEMORY_NO_ACCESS;
	if (op->set[MEMOP_KIND] & MEMOP_KIND_STORE)
		return MEMORY_STORE;
	if (op->raw && op->set[MEMOP_KIND] & MEMOP_KIND_EXEC)
		return op->set[MEMOP_KIND] & MEMOP_KIND_ABORTED ? MEMORY_FETCH_ABORTED
								: MEMORY_FETCH;
	return op->set[MEMOP_KIND] & MEMOP_KIND_LOAD ? MEMORY_LOAD : MEMORY_OTHER;
}

/* ---- tallies --------------------------------------------------------------------------------- */

/* Half the work of hash_pair(); its upper half is what itab uses. */
static inline uint64_t hash_of(enum memory_by by, uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u + (b << 4 | (unsigned)by) * 0xc2b2ae3d27d4eb4fu;

	return (x ^ x >> 32) * 0xff51afd7ed558ccdu;
}

/* In large pages: they are met in no order. */
static int make_room(struct memory_tallies *c)
{
	size_t cap = c->v.cap ? 2 * c->v.cap : 64;
	struct memory_tally *v;

	if (c->v.n < c->v.cap)
		return 0;
	if (c->v.n >= UINT32_MAX - 1)
		return -1;
	v = big_alloc(cap, sizeof(*v));
	if (!v)
		return -1;
	if (c->v.n)
		memcpy(v, c->v.v, c->v.n * sizeof(*v));
	free(c->v.v);
	c->v.v = v;
	c->v.cap = cap;
	return 0;
}

/* NULL: out of memory. */
static struct memory_tally *tally_of(struct memory_tallies *c, enum memory_by by, uint64_t a,
				     uint64_t b, uint64_t h)
{
	struct memory_tally *t;
	uint32_t idx;

	for (size_t i = itab_first(&c->at, h); itab_at(&c->at, &i, h, &idx);) {
		t = &c->v.v[idx];
		if (t->by == by && t->key[0] == a && t->key[1] == b)
			return t;
	}
	if (make_room(c) || itab_put(&c->at, h, c->v.n))
		return NULL;
	t = &c->v.v[c->v.n++];
	*t = (struct memory_tally){ .by = by, .key = { a, b } };
	return t;
}

static inline int add_latency(struct memory_tallies *c, struct memory_tally *t, unsigned latency,
			      uint32_t cycles)
{
	struct memory_large x = { (uint32_t)(t - c->v.v), cycles, (uint8_t)latency };

	return cycles < MEMORY_EXACT ? hist_add(&t->hist[latency], (uint16_t)cycles)
				     : vec_push(&c->large, x);
}

/* The latencies of a sample, in a row. */
struct taken {
	uint32_t cycles[MEMOP_LATENCIES];
	uint8_t latency[MEMOP_LATENCIES];
	unsigned n, kind;
	bool open;
};

static inline void take_latencies(struct taken *x, const struct memop *op)
{
	unsigned n = 0;

	for (unsigned has = op->has & LATENCIES; has; has &= has - 1) {
		unsigned l = (unsigned)__builtin_ctz(has);

		x->latency[n] = (uint8_t)l;
		x->cycles[n++] = op->cycles[l];
	}
	x->n = n;
	x->kind = op->set[MEMOP_KIND];
	x->open = op->has & MEMOP_HAS_OPEN && x->kind & MEMOP_KIND_LOAD &&
		  !(x->kind & MEMOP_KIND_PREFETCH);
}

static inline int count_op(struct memory_tallies *c, struct memory_tally *t, const struct taken *x,
			   const struct memop *op)
{
	t->samples++;
	t->loads += (x->kind & MEMOP_KIND_LOAD) != 0;
	t->stores += (x->kind & MEMOP_KIND_STORE) != 0;
	if (x->open) {
		t->open++;
		t->open_sum += op->open;
		t->open_squares += (uint64_t)op->open * op->open;
	}
	for (unsigned i = 0; i < x->n; i++)
		if (add_latency(c, t, x->latency[i], x->cycles[i]))
			return -1;
	return 0;
}

/* There are few of each kind, and they come again. UINT32_MAX: out of memory. */
static inline uint32_t recent_of(struct memory_tallies *c, enum memory_by by, uint64_t a,
				 uint64_t b)
{
	uint64_t h = hash_of(by, a, b);
	struct memory_recent *r = &c->recent[h >> 48 & (MEMORY_RECENT - 1)];
	struct memory_tally *t;

	if (r->by == by && r->a == a && r->b == b)
		return r->tally;
	t = tally_of(c, by, a, b, h);
	if (!t)
		return UINT32_MAX;
	*r = (struct memory_recent){ a, b, by, (uint32_t)(t - c->v.v) };
	return r->tally;
}

/* ---- accesses: there are many, so each step is asked for before it is taken ------------------ */

static int count_waiting(struct memory_tallies *c)
{
	size_t n = c->n_waiting;
	uint32_t idx;

	for (size_t i = 0; i < n; i++) {
		size_t slot = itab_first(&c->at, c->waiting[i].hash);

		if (itab_at(&c->at, &slot, c->waiting[i].hash, &idx)) {
			__builtin_prefetch(&c->v.v[idx], 1);
			__builtin_prefetch(&c->v.v[idx].hist[MEMOP_LATENCY_TAG], 1);
		}
	}
	for (size_t i = 0; i < n; i++) {
		struct memory_waiting *x = &c->waiting[i];
		struct memory_tally *t = tally_of(c, MEMORY_ACCESS, x->a, x->b, x->hash);

		if (!t)
			return -1;
		x->tally[MEMORY_COUNTED - 1] = (uint32_t)(t - c->v.v);
		for (unsigned has = x->op.has & LATENCIES; has; has &= has - 1) {
			unsigned l = (unsigned)__builtin_ctz(has);

			hist_ahead(&t->hist[l], x->op.cycles[l]);
		}
	}
	for (size_t i = 0; i < n; i++) {
		const struct memory_waiting *x = &c->waiting[i];
		struct taken taken;

		take_latencies(&taken, &x->op);
		for (size_t k = 0; k < MEMORY_COUNTED; k++)
			if (count_op(c, &c->v.v[x->tally[k]], &taken, &x->op))
				return -1;
	}
	c->n_waiting = 0;
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static const struct map *code_at(struct memory_tallies *c, const struct spaces *sp,
				 const struct pass_sample *p, uint64_t ip)
{
	const struct process *proc = p->who->proc;
	enum space_kind kind = space_kind_of_misc(p->r->misc & PERF_RECORD_MISC_CPUMODE_MASK);
	struct memory_code *m =
		&c->code[(ip >> 12 ^ ip >> 20 ^ (uintptr_t)proc >> 6) & (MEMORY_CODE - 1)];

	if (m->proc == proc && m->kind == kind && ip >= m->span.start && ip < m->span.end &&
	    p->time >= m->span.from && p->time < m->span.until)
		return m->map;
	m->proc = proc;
	m->kind = kind;
	m->map = space_find_span(sp, proc, kind, ip, p->time, &m->span);
	return m->map;
}

static uint64_t period_of(const struct pass_sample *p)
{
	const struct perf_event_attr *a = &p->ev->attr;

	if (p->ev->at.period)
		return ld64(p->r->p + p->ev->at.period);
	return !a->freq && a->sample_period ? a->sample_period : 1;
}

int memory_count_begin(struct memory_tallies *c)
{
	if (!c->code)
		c->code = calloc(MEMORY_CODE, sizeof(*c->code));
	if (!c->waiting)
		c->waiting = calloc(MEMORY_BATCH, sizeof(*c->waiting));
	if (!c->recent)
		c->recent = calloc(MEMORY_RECENT, sizeof(*c->recent));
	return c->code && c->waiting && c->recent ? 0 : -1;
}

int memory_count_add(struct memory_tallies *c, const struct spaces *sp, const struct pass_sample *p,
		     const struct memop *op)
{
	uint64_t ip = p->ev->at.ip ? ld64(p->r->p + p->ev->at.ip) : 0, period = period_of(p);
	const struct map *m = code_at(c, sp, p, ip);
	struct memory_waiting *x = &c->waiting[c->n_waiting++];

	c->no_access += memory_no_access(op);
	c->raw |= op->raw;
	c->period_varies |= c->period && period != c->period;
	c->period = period;
	x->a = m ? map_to_image(m, ip) : ip;
	x->b = memory_access_key(m ? m->image : IMAGE_NONE, access_kind(op));
	x->hash = hash_of(MEMORY_ACCESS, x->a, x->b);
	x->op = *op;
	itab_ahead(&c->at, x->hash);
	x->tally[0] = recent_of(c, MEMORY_CLASS, class_of(op), 0);
	x->tally[1] = recent_of(c, MEMORY_THREAD, p->task, p->who->comm);
	x->tally[2] = recent_of(c, MEMORY_CPU, p->cpu, 0);
	for (size_t i = 0; i < MEMORY_COUNTED - 1; i++)
		if (x->tally[i] == UINT32_MAX)
			return -1;
	return c->n_waiting == MEMORY_BATCH ? count_waiting(c) : 0;
}

int memory_count_end(struct memory_tallies *c)
{
	return count_waiting(c);
}

/* ---- joining --------------------------------------------------------------------------------- */

static int join_tally(struct memory_tally *t, const struct memory_tally *x)
{
	t->samples += x->samples;
	t->loads += x->loads;
	t->stores += x->stores;
	t->open += x->open;
	t->open_sum += x->open_sum;
	t->open_squares += x->open_squares;
	for (unsigned l = 0; l < MEMOP_LATENCIES; l++)
		if (hist_join(&t->hist[l], &x->hist[l]))
			return -1;
	return 0;
}

int memory_tallies_join(struct memory_tallies *c, const struct memory_tallies *x)
{
	uint32_t *to = malloc((x->v.n + 1) * sizeof(*to));
	int ret = to ? 0 : -1;

	for (size_t i = 0; i < x->v.n && !ret; i++) {
		const struct memory_tally *from = &x->v.v[i];
		uint64_t h = hash_of(from->by, from->key[0], from->key[1]);
		struct memory_tally *t = tally_of(c, from->by, from->key[0], from->key[1], h);

		ret = t ? join_tally(t, from) : -1;
		to[i] = t ? (uint32_t)(t - c->v.v) : 0;
	}
	for (size_t i = 0; i < x->large.n && !ret; i++) {
		struct memory_large large = x->large.v[i];

		large.tally = to[large.tally];
		ret = vec_push(&c->large, large);
	}
	free(to);
	c->samples += x->samples;
	c->without += x->without;
	c->no_access += x->no_access;
	c->period_varies |= x->period_varies || (c->period && x->period && c->period != x->period);
	c->period = c->period ? c->period : x->period;
	c->raw |= x->raw;
	return ret;
}

static int by_tally(const void *a, const void *b)
{
	const struct memory_large *x = a, *y = b;

	if (x->tally != y->tally)
		return x->tally < y->tally ? -1 : 1;
	return (x->latency > y->latency) - (x->latency < y->latency);
}

void memory_tallies_sort(struct memory_tallies *c)
{
	vec_sort(&c->large, by_tally);
}

void memory_tallies_free(struct memory_tallies *c)
{
	vec_each (&c->v, struct memory_tally *, t)
		for (unsigned l = 0; l < MEMOP_LATENCIES; l++)
			hist_free(&t->hist[l]);
	vec_free(&c->v);
	vec_free(&c->large);
	itab_free(&c->at);
	free(c->code);
	free(c->waiting);
	free(c->recent);
	c->code = NULL;
	c->waiting = NULL;
	c->recent = NULL;
}
