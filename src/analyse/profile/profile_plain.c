/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples that are only counted, by the million: the one loop that the time of a report without
 * chains is spent in.
 *
 * A sample belongs to the thread and the event of the one before, or these are looked for. Then a
 * table is asked for the mapping that its address lies in and for the group it is counted with; all
 * that has to be the same is in one line of it and compared at once. Counts are added a little
 * later (profile_count.h), so that nothing here waits for memory.
 */
#include "analyse/profile/profile_int.h"

#define AHEAD 1536u /* bytes */

/* Spots are compared by their event and period, too. */
static void set_event(struct worker *w)
{
	struct scan_run *run = &w->run;

	run->mask = w->scan->by_cpu || counts_vary(&w->counts, run->ev->index) ? 0 : UINT32_MAX;
	for (unsigned mode = 0; mode < 8; mode++) {
		uint8_t kind = w->scan->kind_of[mode];

		run->of[mode].what = spot_what(run->ev->index, kind, 0);
		run->of[mode].coarse = w->places.grain[kind].shift;
	}
}

void scan_plain_known(struct worker *w, uint64_t id, const struct scan_event *ev)
{
	w->known[id % SCAN_KNOWN] = (struct scan_known){ id, ev };
	w->run.id = id;
	w->run.ev = ev;
	w->run.period = ev->period;
	set_event(w);
}

static __attribute__((noinline)) bool other_event(struct worker *w, uint64_t id)
{
	const struct scan_known *known = &w->known[id % SCAN_KNOWN];

	if (!known->ev || known->id != id)
		return false;
	scan_plain_known(w, id, known->ev);
	return true;
}

static __attribute__((noinline)) int other_thread(struct worker *w, uint64_t task, uint64_t time)
{
	const struct pass_thread *who = pass_thread(w->scan->pass, w->number, task, time);
	struct scan_run *run = &w->run;
	struct place_who whose;

	if (!who)
		return -1;
	whose = pass_who(who);
	run->task = task;
	run->from = who->from;
	run->life = who->from < who->until ? who->until - who->from : 0;
	for (unsigned mode = 0; mode < 8; mode++) {
		struct scan_run_kind *of = &run->of[mode];
		uint8_t kind = w->scan->kind_of[mode];

		of->whose = place_whose(&whose, kind);
		of->hash = place_hash(of->whose, kind);
		of->coarse = w->places.grain[kind].shift;
	}
	return 0;
}

static uint64_t time_of(const struct scan *sc, const struct pd_chunk *c, const uint8_t *p)
{
	return sc->has_time ? ld64(p + sc->plain_at.time) : c->seq + (uint64_t)(p - c->p);
}

/* The sample at p, of the thread and event at hand. */
static __attribute__((noinline)) int ask(struct worker *w, struct place *o,
					 const struct pd_chunk *c, const uint8_t *p)
{
	const struct scan *sc = w->scan;
	const struct pd_layout *at = &sc->plain_at;
	struct scan_sample s = {
		.ip = ld64(p + at->ip),
		.time = time_of(sc, c, p),
		.period = at->period ? ld64(p + at->period) : w->run.period,
		.event = w->run.ev->index,
		.cpu = sc->by_cpu ? ld32(p + at->cpu) : 0,
		.kind = sc->kind_of[ld16(p + 4) & PERF_RECORD_MISC_CPUMODE_MASK],
	};

	s.who = pass_thread(sc->pass, w->number, w->run.task, s.time);
	if (!s.who || scan_ask(w, o, &s))
		return -1;
	set_event(w); /* its periods may be known to vary now, and its spots be finer */
	return 0;
}

/* `usual`: samples have times, and rows have no key CPU. */
static inline __attribute__((always_inline)) int
plain_loop(struct worker *w, const struct pd_chunk *c, const uint8_t **at, bool usual)
{
	const struct scan *sc = w->scan;
	const size_t ip_at = sc->plain_at.ip, tid_at = sc->plain_at.tid, id_at = sc->id_at;
	const size_t time_at = sc->plain_at.time, period_at = sc->plain_at.period;
	const size_t least = sc->least;
	struct scan_run *run = &w->run;
	const uint8_t *p = *at, *next;

	for (; p < c->end; p = next) {
		const struct scan_run_kind *of;
		uint64_t task, time, ip, period, what;
		struct place *o;
		size_t size = ld16(p + 6);

		next = p + size;
		/* records are of all sizes: the processor's own prefetch is not enough; past the
		 * end nothing is read */
		__builtin_prefetch((const void *)((uintptr_t)p + AHEAD));
		if (ld32(p) != PERF_RECORD_SAMPLE)
			continue;
		if (size < least)
			break;
		if (id_at && ld64(p + id_at) != run->id && !other_event(w, ld64(p + id_at)))
			break;
		task = task_of(ld32(p + tid_at), ld32(p + tid_at + 4));
		time = usual ? ld64(p + time_at) : time_of(sc, c, p);
		if ((task != run->task || time - run->from >= run->life) &&
		    other_thread(w, task, time))
			return -1;
		period = period_at ? ld64(p + period_at) : run->period;
		if (period >= UINT32_MAX - 1) /* does not fit into the compared bits: the long
					       * way */
			break;
		of = &run->of[(size_t)ld16(p + 4) & PERF_RECORD_MISC_CPUMODE_MASK];
		what = of->what + ((period + 1) & run->mask);
		if (!usual && sc->by_cpu)
			what += ld32(p + sc->plain_at.cpu);
		ip = ld64(p + ip_at);
		o = place_slot(&w->places, of->hash, of->coarse, ip);
		if ((o->whose != of->whose || SPOT_DIFFER(o->what, what) ||
		     !place_holds(o, ip, time) ||
		     (!usual && !counts_fits(&w->counts, o->own, period))) &&
		    ask(w, o, c, p))
			return -1;
		if (counts_add(&w->counts, ip - o->less, o->own, period))
			return -1;
	}
	*at = p;
	return 0;
}

int scan_plain(struct worker *w, const struct pd_chunk *c, const uint8_t **at)
{
	if (!w->run.ev) { /* not even one such event was met */
		while (*at < c->end && ld32(*at) != PERF_RECORD_SAMPLE)
			*at += ld16(*at + 6);
		return 0;
	}
	return w->scan->has_time && !w->scan->by_cpu ? plain_loop(w, c, at, true)
						     : plain_loop(w, c, at, false);
}
