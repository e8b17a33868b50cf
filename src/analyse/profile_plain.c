/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples that are only counted, by the million: the one loop that the time of a report without
 * chains is spent in.
 *
 * A sample belongs to the thread and the event of the one before, or these are looked for. Then a
 * table is asked for the mapping that its address lies in and for the group it is counted with; all
 * that has to be the same is in one line of it and compared at once. What is counted waits a little
 * (profile_count.h), so that nothing here waits for memory.
 */
#include "analyse/profile_int.h"

#define AHEAD 1536u /* bytes */

void scan_plain_known(struct worker *w, uint64_t id, const struct scan_event *ev)
{
	w->known[id % SCAN_KNOWN] = (struct scan_known){ id, ev };
	w->run.id = id;
	w->run.what = spot_what(ev->index, 0, 0);
	w->run.period = ev->period;
	w->run.plain = true;
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
	const struct who *who = scan_who(w, task, time);
	struct scan_run *run = &w->run;

	if (!who)
		return -1;
	run->task = task;
	run->from = who->from;
	run->life = who->from < who->until ? who->until - who->from : 0;
	for (uint8_t kind = 0; kind <= SPACE_UNKNOWN; kind++) {
		run->of[kind].whose = scan_whose(who, kind);
		run->of[kind].hash = spot_hash(run->of[kind].whose, kind);
	}
	return 0;
}

static __attribute__((noinline)) int ask(struct worker *w, struct scan_spot *o, uint64_t what,
					 uint64_t ip, uint64_t time, uint64_t period)
{
	struct scan_sample s = {
		.who = scan_who(w, w->run.task, time),
		.ip = ip,
		.time = time,
		.period = period,
		.event = what >> SPOT_EVENT & UINT16_MAX,
		.cpu = (uint32_t)what,
		.kind = (uint8_t)(what >> SPOT_ASKED),
	};

	return s.who ? scan_ask(w, o, &s) : -1;
}

int scan_plain(struct worker *w, const struct pd_chunk *c, const uint8_t **at)
{
	const struct scan *sc = w->scan;
	const struct pd_layout lay = sc->plain_at;
	const size_t id_at = sc->id_at, least = sc->least, cpu_at = sc->by_cpu ? lay.cpu : 0;
	const size_t time_at = sc->has_time ? lay.time : 0;
	struct scan_run *run = &w->run;
	const uint8_t *p = *at, *next;

	for (; p < c->end; p = next) {
		uint64_t task, time, ip, period, what;
		struct scan_spot *o;
		uint8_t kind;
		size_t size = ld16(p + 6);

		next = p + size;
		/* records are of all sizes: what the processor guesses is not enough; past the end
		 * nothing is read */
		__builtin_prefetch((const void *)((uintptr_t)p + AHEAD));
		if (ld32(p) != PERF_RECORD_SAMPLE)
			continue;
		if (size < least || !run->plain ||
		    (id_at && ld64(p + id_at) != run->id && !other_event(w, ld64(p + id_at))))
			break;
		task = task_of(ld32(p + lay.tid), ld32(p + lay.tid + 4));
		time = time_at ? ld64(p + time_at) : c->seq + (uint64_t)(p - c->p);
		if ((task != run->task || time - run->from >= run->life) &&
		    other_thread(w, task, time))
			return -1;
		kind = sc->kind_of[ld16(p + 4) & PERF_RECORD_MISC_CPUMODE_MASK];
		ip = ld64(p + lay.ip);
		period = lay.period ? ld64(p + lay.period) : run->period;
		what = run->what | (uint64_t)kind << SPOT_ASKED | (cpu_at ? ld32(p + cpu_at) : 0);
		o = spot_at(w, run->of[kind].hash, kind, ip);
		if ((o->whose != run->of[kind].whose || SPOT_DIFFER(o->what, what) ||
		     !spot_tells(o, ip, time) || !counts_fits(&w->counts, o->group, period)) &&
		    ask(w, o, what, ip, time, period))
			return -1;
		if (counts_add(&w->counts, ip - o->less, o->group, period))
			return -1;
	}
	*at = p;
	return 0;
}
