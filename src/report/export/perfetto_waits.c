/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spans of threads (analyse/wait.h) as Perfetto shows scheduling: a state at each change, from
 * which it makes the slices of CPUs, and a slice of each wait on the track of its thread.
 *
 * A state says nothing of other threads: where a CPU's other tasks were not recorded, nothing is
 * claimed of them, as a switch with a made-up partner would.
 */
#include "base/xalloc.h"
#include "report/export/perfetto.h"

#include <stdlib.h>

#include "analyse/pass.h"
#include "base/sort.h"
#include "symbol/symbol.h"

enum {
	STATE_UNKNOWN = 0,
	STATE_RUNNABLE = 2,
	STATE_RUNNING = 3,
	STATE_SLEEP = 4,
	STATE_STOPPED = 6,
	STATE_DEAD = 7
};
enum { NOTE_OBJECT = 1, NOTE_WAKER, NOTE_FUNCTION, NOTE_GUESSED };

struct last { /* of a thread */
	uint32_t cpu;
	uint8_t state;
	bool any;
};

void perfetto_wait_names(struct perfetto *x)
{
	static const char *const note[] = { "object", "waker", "function", "guessed" };

	for (unsigned i = 0; i < WAIT_REASONS; i++)
		perfetto_intern(x, INTERNED_EVENT, i + 1, 2, wait_reasons[i].name);
	for (unsigned i = 0; i < WAIT_STATES; i++)
		perfetto_intern(x, INTERNED_CATEGORY, i + 1, 2,
				wait_state_name((enum wait_state)i));
	for (unsigned i = 0; i < sizeof(note) / sizeof(*note); i++)
		perfetto_intern(x, INTERNED_ANNOTATION, i + 1, 2, note[i]);
}

static unsigned state_of(const struct wait_span *s)
{
	switch (wait_reasons[s->reason].state) {
	case WAIT_RUNNING:
		return STATE_RUNNING;
	case WAIT_RUNNABLE:
		return STATE_RUNNABLE;
	case WAIT_BLOCKED:
		return s->reason == WAIT_STOPPED ? STATE_STOPPED : STATE_SLEEP;
	default:
		return STATE_UNKNOWN;
	}
}

static void put_state(struct perfetto *x, const struct wait_thread *t, uint64_t time,
		      unsigned state, uint32_t cpu)
{
	if (cpu != WAIT_NO_CPU)
		proto_u64(&x->message, 1, cpu);
	perfetto_text(x, &x->message, 2, t->comm);
	proto_u64(&x->message, 3, t->tid);
	proto_number(&x->message, 4, state);
	proto_number(&x->packet, PACKET_TIME, time);
	proto_message(&x->packet, PACKET_STATE, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
}

/* A thread that runs twice, one span behind the other, has one state; on another CPU it could run
 * in between. */
static void put_change(struct perfetto *x, struct last *last, const struct wait_span *s)
{
	const struct wait_thread *t = &x->in->wait->thread[s->thread];
	unsigned state = state_of(s);
	uint32_t cpu = s->cpu;

	if (state == STATE_RUNNING) {
		if (cpu == WAIT_NO_CPU)
			return;
		if (last->any && last->state == STATE_RUNNING && last->cpu == cpu)
			return;
		if (last->any && last->state == STATE_RUNNING)
			put_state(x, t, s->from, STATE_RUNNABLE, last->cpu);
		last->cpu = cpu;
	} else {
		/* the CPU whose slice ends */
		cpu = last->any && last->cpu != WAIT_NO_CPU ? last->cpu : cpu;
	}
	put_state(x, t, s->from, state, cpu);
	last->cpu = cpu;
	last->state = (uint8_t)state;
	last->any = true;
}

static void put_note(struct perfetto *x, unsigned name, const char *text)
{
	if (!text || !*text)
		return;
	proto_u64(&x->inner, 1, name);
	perfetto_text(x, &x->inner, 6, text);
	proto_message(&x->message, 4, &x->inner);
}

static void put_notes(struct perfetto *x, const struct wait_span *s)
{
	const struct wait *w = x->in->wait;
	const struct wait_place *p = s->chain ? &w->place[w->chain_place[s->chain]] : NULL;
	struct buf waker = BUF_INIT;

	if (s->object)
		put_note(x, NOTE_OBJECT, strtab_get(&w->object, s->object));
	if (s->waker == WAIT_INTERRUPT) {
		put_note(x, NOTE_WAKER, "an interrupt");
	} else if (s->waker != WAIT_NOBODY) {
		buf_printf(&waker, "%s, thread %u", w->thread[s->waker].comm,
			   w->thread[s->waker].tid);
		put_note(x, NOTE_WAKER, buf_str(&waker));
	}
	if (p && p->symbol)
		put_note(x, NOTE_FUNCTION, p->symbol->name);
	if (s->guessed) {
		proto_u64(&x->inner, 1, NOTE_GUESSED);
		proto_u64(&x->inner, 2, 1);
		proto_message(&x->message, 4, &x->inner);
	}
	x->failed |= waker.failed;
	buf_free(&waker);
}

/* The end of a slice comes before the next one's beginning, which has the same time. */
static void put_slice(struct perfetto *x, const struct wait_span *s)
{
	const struct wait_thread *t = &x->in->wait->thread[s->thread];
	uint64_t track = perfetto_thread(x, t->pid, t->tid);

	if (!track || s->until <= s->from)
		return;
	if (wait_reasons[s->reason].state == WAIT_RUNNING && s->cpu != WAIT_NO_CPU)
		return;
	proto_u64(&x->message, 3, wait_reasons[s->reason].state + 1);
	proto_u64(&x->message, 9, EVENT_BEGIN);
	proto_u64(&x->message, 10, s->reason + 1u);
	proto_u64(&x->message, 11, track);
	put_notes(x, s);
	proto_number(&x->packet, PACKET_TIME, s->from);
	proto_message(&x->packet, PACKET_EVENT, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
	proto_u64(&x->message, 9, EVENT_END);
	proto_u64(&x->message, 11, track);
	proto_number(&x->packet, PACKET_TIME, s->until);
	proto_message(&x->packet, PACKET_EVENT, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
}

void perfetto_waits(struct perfetto *x)
{
	const struct wait *w = x->in->wait;
	struct keyed *v = xmalloc((w->n_spans + 1) * sizeof(*v));
	struct keyed *scratch = xmalloc((w->n_spans + 1) * sizeof(*v));
	struct last *last = xcalloc(w->n_threads + 1, sizeof(*last));
	size_t n = 0;

	for (size_t i = 0; i < w->n_spans; i++)
		if (w->thread[w->span[i].thread].wanted && w->thread[w->span[i].thread].tid)
			v[n++] = (struct keyed){ w->span[i].from, (uint32_t)i, 0 };
	/* those of a thread stay in their order */
	keyed_sort(v, scratch, n);
	free(scratch);
	for (size_t i = 0; i < n && !x->out->failed; i++) {
		const struct wait_span *s = &w->span[v[i].a];
		const struct wait_thread *t = &w->thread[s->thread];

		put_change(x, &last[s->thread], s);
		put_slice(x, s);
		if (s->until == t->until && t->until < w->until && s->until > s->from)
			put_state(x, t, t->until, STATE_DEAD, last[s->thread].cpu);
	}
	free(v);
	free(last);
}
