/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/place.h"

#include <stdlib.h>

#include "base/big.h"
#include "base/perf_abi.h"

#define GRAIN_ASKS  1024u /* misses after which a grain is judged */
#define GRAIN_LEAST 8u

int places_init(struct places *t, const struct spaces *sp, size_t entries)
{
	*t = (struct places){ .sp = sp };
	t->shift = 64 - (unsigned)__builtin_ctzll(entries);
	for (unsigned k = 0; k <= SPACE_UNKNOWN; k++)
		t->grain[k].shift = place_is_kernels((uint8_t)k) ? 24 : 18;
	t->v = big_zeros(entries, sizeof(*t->v));
	return t->v ? 0 : -1;
}

void places_free(struct places *t)
{
	free(t->v);
	t->v = NULL;
}

/* Was the answer there, and only driven out by a neighbour? */
static void judge_grain(struct places *t, const struct place *o, uint64_t whose, uint8_t kind,
			uint64_t ip)
{
	struct place_grain *g = &t->grain[kind];
	uint64_t first = ip >> g->shift << g->shift, last = first | ((1ULL << g->shift) - 1);

	g->crowded += o->whose == whose && (uint8_t)(o->what >> PLACE_ASKED) == kind &&
		      ip - o->start >= o->size && o->start <= last &&
		      last - o->start < o->size + (last - first);
	if (++g->missed < GRAIN_ASKS)
		return;
	if (g->crowded > GRAIN_ASKS / 2 && g->shift > GRAIN_LEAST)
		g->shift -= 2;
	g->missed = g->crowded = 0;
}

static uint64_t length(uint64_t from, uint64_t until)
{
	return from < until ? until - from : 0;
}

void place_ask(struct places *t, struct place *o, const struct place_who *who, uint8_t kind,
	       uint64_t ip, uint64_t time)
{
	uint64_t whose = place_whose(who, kind);
	struct space_span s;
	const struct map *m =
		space_find_span(t->sp, who->proc, (enum space_kind)kind, ip, time, &s);

	judge_grain(t, o, whose, kind, ip);
	if (!place_is_kernels(kind)) { /* an unknown process may become known */
		s.from = who->from > s.from ? who->from : s.from;
		s.until = who->until < s.until ? who->until : s.until;
	}
	*o = (struct place){ .start = s.start,
			     .size = length(s.start, s.end),
			     .from = s.from,
			     .life = length(s.from, s.until),
			     .whose = whose,
			     .what = (uint64_t)(m ? m->kind : kind) << PLACE_KIND |
				     (uint64_t)kind << PLACE_ASKED |
				     (m && m->shared ? PLACE_SHARED : 0) |
				     (m && m->absolute ? PLACE_ABSOLUTE : 0),
			     .less = m ? ip - map_to_image(m, ip) : 0,
			     .image = m ? m->image : IMAGE_NONE };
}

/* ---- kinds --------------------------------------------------------------------------------- */

enum space_kind space_kind_of_misc(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return SPACE_KERNEL;
	case PERF_RECORD_MISC_USER:
		return SPACE_USER;
	case PERF_RECORD_MISC_HYPERVISOR:
		return SPACE_HYPERVISOR;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return SPACE_GUEST_KERNEL;
	case PERF_RECORD_MISC_GUEST_USER:
		return SPACE_GUEST_USER;
	default:
		return SPACE_UNKNOWN;
	}
}

/* Those of guests are not in all headers. */
enum space_kind space_kind_of_marker(uint64_t ip)
{
	switch ((int64_t)ip) {
	case -32: /* PERF_CONTEXT_HV */
		return SPACE_HYPERVISOR;
	case -128: /* PERF_CONTEXT_KERNEL */
		return SPACE_KERNEL;
	case -512: /* PERF_CONTEXT_USER */
		return SPACE_USER;
	case -2048: /* PERF_CONTEXT_GUEST */
	case -2560: /* PERF_CONTEXT_GUEST_USER */
		return SPACE_GUEST_USER;
	case -2176: /* PERF_CONTEXT_GUEST_KERNEL */
		return SPACE_GUEST_KERNEL;
	default:
		return SPACE_UNKNOWN;
	}
}
