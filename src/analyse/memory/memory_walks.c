/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of page walks. A load that walks misses the caches more often, too: so it is compared
 * with loads of its own stratum - the same object, page size and source - that needed no walk.
 */
#include <math.h>
#include <stdlib.h>

#include "analyse/error_bar.h"
#include "analyse/memory/memory_walks_int.h"

#define MATTERS 0.02 /* of all cycles */

static struct memory_stratum *new_stratum(struct memory_walks *w, uint64_t a, uint64_t b,
					  uint64_t h, uint64_t at)
{
	struct memory_stratum *s;

	if (w->v.n >= UINT32_MAX - 1 || itab_put(&w->at, h, w->v.n))
		return NULL;
	s = vec_add(&w->v);
	if (s)
		*s = (struct memory_stratum){
			.key = { a, b }, .object = (uint32_t)(a >> 32), .page = b >> 2, .first = at
		};
	return s;
}

/* h: the hash of both. NULL: out of memory. */
static inline struct memory_stratum *stratum_of(struct memory_walks *w, uint64_t a, uint64_t b,
						uint64_t h, uint64_t at)
{
	uint32_t idx;

	for (size_t i = itab_first(&w->at, h); itab_at(&w->at, &i, h, &idx);)
		if (w->v.v[idx].key[0] == a && w->v.v[idx].key[1] == b)
			return &w->v.v[idx];
	return new_stratum(w, a, b, h, at);
}

int memory_walks_add(struct memory_walks *w, uint32_t object, const struct memop *op, uint64_t at,
		     uint64_t ahead)
{
	struct memory_stratum *s =
		stratum_of(w, walks_source_key(object, op), walks_page_key(op), ahead, at);
	double cycles = op->has >> MEMOP_LATENCY_DATA & 1 ? op->cycles[MEMOP_LATENCY_DATA] : 0;
	double refill = op->cycles[MEMOP_LATENCY_REFILL];
	struct walk_sum *sum;

	if (!s)
		return -1;
	s->told += op->set[MEMOP_TLB] != 0;
	sum = &s->walk[memop_walked(op)];
	sum->n++;
	if (op->has >> MEMOP_LATENCY_DATA & 1) {
		sum->timed++;
		sum->cycles += cycles;
		sum->squares += cycles * cycles;
	}
	if (op->has >> MEMOP_LATENCY_REFILL & 1 && !(op->set[MEMOP_TLB] & MEMOP_TLB_HIT)) {
		s->refills++;
		s->refill += refill;
		s->refill_squares += refill * refill;
		s->beyond += fmax(0, refill - cycles);
		s->beyond_squares += fmax(0, refill * refill - cycles * cycles);
	}
	return 0;
}

int memory_walks_join(struct memory_walks *w, const struct memory_walks *x, const uint32_t *to)
{
	vec_each (&x->v, const struct memory_stratum *, from) {
		uint64_t a = (uint64_t)to[from->object] << 32 | (uint32_t)from->key[0];
		uint64_t h = itab_hash(a, from->key[1]);
		struct memory_stratum *s = stratum_of(w, a, from->key[1], h, from->first);

		if (!s)
			return -1;
		s->first = from->first < s->first ? from->first : s->first;
		s->told += from->told;
		for (size_t i = 0; i < 2; i++) {
			s->walk[i].n += from->walk[i].n;
			s->walk[i].timed += from->walk[i].timed;
			s->walk[i].cycles += from->walk[i].cycles;
			s->walk[i].squares += from->walk[i].squares;
		}
		s->refills += from->refills;
		s->refill += from->refill;
		s->refill_squares += from->refill_squares;
		s->beyond += from->beyond;
		s->beyond_squares += from->beyond_squares;
	}
	return 0;
}

void memory_walks_rename(struct memory_walks *w, const uint32_t *to)
{
	vec_each (&w->v, struct memory_stratum *, s)
		s->object = to[s->object];
}

void memory_walks_free(struct memory_walks *w)
{
	vec_free(&w->v);
	itab_free(&w->at);
}

static int by_page(const void *a, const void *b)
{
	const struct memory_stratum *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static int by_walks(const void *a, const void *b)
{
	const struct memory_object_pages *x = a, *y = b;

	if (x->walks != y->walks)
		return x->walks > y->walks ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->page > y->page) - (x->page < y->page);
}

static double variance(const struct walk_sum *s)
{
	return sums_variance(s->timed, s->cycles, s->squares);
}

/* The cost of its walks; NAN: it has walks, and nothing to compare them with. */
static void weigh(const struct memory_stratum *s, double *cycles, double *var)
{
	const struct walk_sum *with = &s->walk[1], *without = &s->walk[0];
	double n = (double)with->timed;

	if (s->refills) {
		*cycles = s->refill;
		*var = s->refill_squares; /* as many refills as chance sampled */
		return;
	}
	*cycles = *var = 0;
	if (!with->timed)
		return;
	*cycles = *var = NAN;
	if (with->timed < 2 || without->timed < 2)
		return;
	*cycles = with->cycles - n * without->cycles / (double)without->timed;
	*var = n * variance(with) + n * n * variance(without) / (double)without->timed +
	       *cycles * *cycles / n;
}

int memory_walks_fold(struct memory_walks *w, struct memory_objects *o)
{
	struct memory_object_pages *p = NULL;

	vec_sort(&w->v, by_page);
	o->pages = calloc(w->v.n + 1, sizeof(*o->pages));
	if (!o->pages)
		return -1;
	vec_each (&w->v, const struct memory_stratum *, s) {
		double cycles, var;

		if (!p || p->object != s->object || p->page != s->page) {
			p = &o->pages[o->n_pages++];
			*p = (struct memory_object_pages){ .object = s->object, .page = s->page };
		}
		weigh(s, &cycles, &var);
		o->beyond += s->beyond;
		o->beyond_squares += s->beyond_squares;
		p->refills += s->refills;
		p->samples += s->walk[0].n + s->walk[1].n;
		p->told += s->told;
		p->walks += s->walk[1].n;
		p->cycles += cycles;
		p->var += var;
	}
	qsort(o->pages, o->n_pages, sizeof(*o->pages), by_walks);
	return 0;
}

struct estimate memory_pages_share(const struct memory_object_pages *p)
{
	return error_bar_part(p->walks, p->told, "no sample tells of its translation");
}

struct estimate memory_pages_cycles(const struct memory_objects *o,
				    const struct memory_object_pages *p)
{
	double all = o->all.cycles + o->beyond, share, var = p->var;

	if (!(all > 0))
		return ESTIMATE_NONE("no latencies");
	if (!p->told)
		return ESTIMATE_NONE("no sample tells of its translation");
	if (isnan(p->cycles))
		return ESTIMATE_NONE("no loads without a walk to compare with");
	share = p->cycles / all;
	if (p->refills) /* a part of the same draws; no sample's refill is more than its cycles */
		var = (1 - 2 * share) * var + share * share * (o->all.squares + o->beyond_squares);
	return (struct estimate){ share, Z95 * sqrt(fmax(0, var)) / all, NULL };
}

bool memory_pages_advice(const struct memory_objects *o, const struct memory_object_pages *p)
{
	struct estimate e = memory_pages_cycles(o, p);
	enum data_kind kind = o->object[p->object].data.kind;

	if (p->page > 65536 || !(e.v - e.half > 0) || e.v < MATTERS)
		return false;
	return kind == DATA_HEAP || kind == DATA_ANONYMOUS || kind == DATA_SHARED;
}
