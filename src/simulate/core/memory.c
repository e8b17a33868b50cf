/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Caches, TLBs and memory. Addresses are virtual: pages have 4 kB and lie as they do in the
 * program. Two prefetchers: by an instruction's stride into the first cache, and along runs of
 * lines into the second.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "simulate/core/core_int.h"

#define LINE_SHIFT 6
#define PAGE_SHIFT 12
#define PAGE_LINES 64
#define AHEAD	   12		       /* lines of a stream */
#define TABLES_AT  (UINT64_C(1) << 56) /* where page tables lie: lines that no program has */

struct sim_outer *sim_outer_new(const struct core *c)
{
	struct sim_outer *o = xcalloc(1, sizeof(*o));

	core_cache_open(&o->l3, (uint64_t)c->part[CORE_L3_KB] * 16, c->part[CORE_L3_WAYS]);
	return o;
}

void sim_outer_close(struct sim_outer *o)
{
	if (o)
		core_cache_close(&o->l3);
	free(o);
}

void core_memory_open(struct memory *m, const struct core *c, struct sim_outer *outer)
{
	*m = (struct memory){ .m = c, .outer = outer };
	core_cache_open(&m->l1, c->part[CORE_L1D_KB] * 16, c->part[CORE_L1D_WAYS]);
	core_cache_open(&m->code, c->part[CORE_L1I_KB] * 16, c->part[CORE_L1I_WAYS]);
	core_cache_open(&m->l2, c->part[CORE_L2_KB] * 16, c->part[CORE_L2_WAYS]);
	core_cache_open(&m->dtlb, c->part[CORE_DTLB], 8);
	core_cache_open(&m->stlb, c->part[CORE_STLB], 12);
}

void core_memory_close(struct memory *m)
{
	core_cache_close(&m->l1);
	core_cache_close(&m->code);
	core_cache_close(&m->l2);
	core_cache_close(&m->dtlb);
	core_cache_close(&m->stlb);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A line that the second cache lacks, at `t`: when it is in a register. */
static uint64_t from_outside(struct memory *m, uint64_t line, uint64_t t, uint8_t *level)
{
	struct cache_line *l = core_cache_find(&m->outer->l3, line);
	uint64_t begin;

	if (l) {
		*level = l->ready > t + m->m->part[CORE_L3_CYCLES] ? l->from : SIM_IN_L3;
		return later(l->ready, t + m->m->part[CORE_L3_CYCLES]);
	}
	begin = later(t * 4, m->outer->free);
	m->outer->free = begin + m->m->part[CORE_DRAM_LINE];
	*level = SIM_IN_DRAM;
	t = begin / 4 + m->m->part[CORE_DRAM_CYCLES];
	core_cache_fill(&m->outer->l3, line, t, SIM_IN_DRAM);
	return t;
}

static void fetch_ahead(struct memory *m, uint64_t line, uint64_t t)
{
	uint8_t level;
	uint64_t ready;

	/* where much is waited for, nobody asks for more */
	if (core_cache_find(&m->l2, line) ||
	    m->outer->free > t * 4 + (uint64_t)AHEAD * 2 * m->m->part[CORE_DRAM_LINE])
		return;
	ready = from_outside(m, line, t, &level);
	core_cache_fill(&m->l2, line, ready, level);
}

/* The second cache was asked for a line: runs of lines are followed to the end of the page. */
static void follow_stream(struct memory *m, uint64_t line, uint64_t t)
{
	uint64_t page = line / PAGE_LINES + 1;
	int32_t at = (int32_t)(line % PAGE_LINES);
	struct stream *s = NULL, *old = m->stream;

	for (struct stream *i = m->stream; i < m->stream + STREAMS; i++) {
		if (i->page == page)
			s = i;
		if (i->used < old->used)
			old = i;
	}
	m->clock++;
	if (!s) {
		*old = (struct stream){ .page = page, .used = m->clock, .last = at, .next = at };
		return;
	}
	s->used = m->clock;
	if (at == s->last)
		return;
	if (s->sure && (at > s->last) != (s->up > 0))
		s->sure = 0;
	if (!s->sure)
		s->next = at;
	s->up = at > s->last ? 1 : -1;
	s->sure = (int8_t)(abs(at - s->last) <= 3 ? s->sure + (s->sure < 8) : 0);
	s->last = at;
	if (s->sure < 2)
		return;
	if ((s->next - at) * s->up < 1)
		s->next = at + s->up;
	for (int n = 0; n < 2 + s->sure / 2; n++) {
		if (s->next < 0 || s->next >= PAGE_LINES || (s->next - at) * s->up > AHEAD)
			return;
		fetch_ahead(m, (page - 1) * PAGE_LINES + (uint64_t)s->next, t);
		s->next += s->up;
	}
}

/* A line that the first cache lacks, at `t`: when it is in a register. */
static uint64_t from_second(struct memory *m, uint64_t line, uint64_t t, uint8_t *level)
{
	struct cache_line *l = core_cache_find(&m->l2, line);
	uint64_t ready;

	if (l) {
		uint64_t here = t + m->m->part[CORE_L2_CYCLES];

		*level = l->ready > here ? l->from : SIM_IN_L2;
		ready = later(l->ready, here);
	} else {
		ready = from_outside(m, line, t, level);
		core_cache_fill(&m->l2, line, ready, *level);
	}
	follow_stream(m, line, t);
	return ready;
}

/* Of lines that are waited for there may be so many at a time. */
static uint64_t miss_slot(struct memory *m, uint64_t t)
{
	unsigned most = m->m->part[CORE_L1D_MISSES];
	uint64_t oldest = m->miss[m->n_miss % most];

	return later(t, oldest);
}

static uint64_t get_line(struct memory *m, uint64_t line, uint64_t t, uint64_t latency,
			 uint8_t *level)
{
	struct cache_line *l = core_cache_find(&m->l1, line);
	uint64_t ready;

	if (l) {
		*level = l->ready > t + latency ? l->from : SIM_IN_L1;
		return later(l->ready, t + latency);
	}
	t = miss_slot(m, t);
	ready = from_second(m, line, t, level);
	m->miss[m->n_miss++ % m->m->part[CORE_L1D_MISSES]] = ready;
	core_cache_fill(&m->l1, line, ready, *level);
	return ready;
}

static void follow_stride(struct memory *m, uint64_t insn, uint64_t vaddr, uint64_t t)
{
	struct stride *s = &m->stride[hash_u64(insn) % STRIDES];
	int64_t by = (int64_t)(vaddr - s->last);
	uint8_t level;

	if (s->insn != insn) {
		*s = (struct stride){ .insn = insn, .last = vaddr };
		return;
	}
	s->last = vaddr;
	if (by != s->by || !by) {
		s->by = by;
		s->sure = 0;
		return;
	}
	if (s->sure < 3) {
		s->sure++;
		return;
	}
	by = by > 0 && by < 64 ? 64 : by < 0 && by > -64 ? -64 : by;
	for (int n = 1; n <= 2; n++) {
		uint64_t at = vaddr + (uint64_t)(by * n), line = at >> LINE_SHIFT;

		if (at >> PAGE_SHIFT != vaddr >> PAGE_SHIFT || line == vaddr >> LINE_SHIFT)
			continue;
		if (!core_cache_find(&m->l1, line))
			core_cache_fill(&m->l1, line, from_second(m, line, t, &level), level);
	}
}

/* ---- pages ----------------------------------------------------------------------------------- */

static uint64_t translate(struct memory *m, uint64_t vaddr, uint64_t t, bool *walked)
{
	uint64_t page = vaddr >> PAGE_SHIFT;
	uint8_t level;

	if (core_cache_find(&m->dtlb, page))
		return t;
	core_cache_fill(&m->dtlb, page, 0, 0);
	*walked = true;
	if (core_cache_find(&m->stlb, page))
		return t + m->m->part[CORE_STLB_CYCLES];
	core_cache_fill(&m->stlb, page, 0, 0);
	t += m->m->part[CORE_WALK_CYCLES];
	return later(t, get_line(m, TABLES_AT + (page >> 3), t, 4, &level));
}

/* ---- loads and stores ------------------------------------------------------------------------ */

static struct forward *forward_of(struct memory *m, uint64_t granule)
{
	return &m->forward[granule % FORWARDS];
}

static uint8_t bytes_of(uint64_t vaddr, unsigned bytes, unsigned part)
{
	unsigned from = part ? 0 : vaddr & 7, end = (unsigned)(vaddr & 7) + bytes - 8 * part;

	end = end > 8 ? 8 : end;
	return (uint8_t)(((1u << end) - 1) & ~((1u << from) - 1));
}

/* A store in flight has the bytes, or some of them. */
static void look_forward(struct memory *m, const struct sim_insn *insn, const struct sim_access *a,
			 uint64_t t, struct fetched *f)
{
	for (unsigned part = 0; part * 8 < (a->vaddr & 7) + a->bytes; part++) {
		uint64_t granule = (a->vaddr >> 3) + part;
		const struct forward *w = forward_of(m, granule);
		uint8_t want = bytes_of(a->vaddr, a->bytes, part);
		uint64_t ready;

		if (w->at != granule + 1 || w->commit <= t || !(w->bytes & want))
			continue;
		f->forwarded = true;
		if ((w->bytes & want) == want)
			ready = later(t, w->ready) + (insn->stack ? 1u : m->m->part[CORE_FORWARD]);
		else
			ready = later(t, w->commit) + m->m->part[CORE_BLOCKED];
		f->ready = later(f->ready, ready);
	}
}

struct fetched core_memory_load(struct memory *m, const struct sim_insn *insn,
				const struct sim_access *a, size_t n, uint64_t t)
{
	struct fetched f = { .ready = t + insn->load_latency };
	uint64_t before = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		uint64_t line = a[i].vaddr >> LINE_SHIFT,
			 end = (a[i].vaddr + a[i].bytes - 1) >> LINE_SHIFT;

		if (a[i].store)
			continue;
		look_forward(m, insn, &a[i], t, &f);
		if (line != before) {
			uint64_t at = translate(m, a[i].vaddr, t, &f.walked);

			for (; line <= end; line++) {
				uint8_t level;
				uint64_t ready = get_line(m, line, at, insn->load_latency, &level);

				f.ready = later(f.ready, ready);
				f.level = level > f.level ? level : f.level;
			}
			follow_stride(m, insn->vaddr, a[i].vaddr, t);
		}
		before = end;
	}
	return f;
}

uint64_t core_memory_own(struct memory *m, const struct sim_insn *insn, const struct sim_access *a,
			 size_t n, uint64_t t)
{
	uint64_t before = UINT64_MAX, ready = t;
	bool walked = false;
	uint8_t level;

	for (size_t i = 0; i < n; i++) {
		uint64_t line = a[i].vaddr >> LINE_SHIFT;

		if (!a[i].store || line == before)
			continue;
		before = line;
		ready = later(ready,
			      get_line(m, line, translate(m, a[i].vaddr, t, &walked), 0, &level));
		if (insn)
			follow_stride(m, insn->vaddr, a[i].vaddr, t);
	}
	return ready;
}

void core_memory_stored(struct memory *m, const struct sim_access *a, size_t n, uint64_t ready,
			uint64_t commit)
{
	for (size_t i = 0; i < n; i++) {
		if (!a[i].store)
			continue;
		for (unsigned part = 0; part * 8 < (a[i].vaddr & 7) + a[i].bytes; part++) {
			uint64_t granule = (a[i].vaddr >> 3) + part;
			struct forward *w = forward_of(m, granule);
			uint8_t bytes = bytes_of(a[i].vaddr, a[i].bytes, part);

			*w = (struct forward){ granule + 1, ready, commit, bytes };
		}
	}
}

uint64_t core_memory_code(struct memory *m, uint64_t line, uint64_t t)
{
	struct cache_line *l = core_cache_find(&m->code, line);
	uint64_t ready;
	uint8_t level;

	if (l)
		return l->ready > t ? l->ready - t : 0;
	ready = from_second(m, line, t, &level);
	core_cache_fill(&m->code, line, ready, level);
	for (unsigned next = 1; next <= 2; next++)
		if (!core_cache_find(&m->code, line + next))
			core_cache_fill(&m->code, line + next,
					from_second(m, line + next, t, &level), level);
	return ready - t;
}
