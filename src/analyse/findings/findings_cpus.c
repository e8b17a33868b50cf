/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of waits for a CPU: those that the program's own threads cause, as they are more than
 * there are CPUs, and the rest.
 */
#include <math.h>
#include <stdlib.h>

#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

#define NO_CPU 0.25
#define CLOCK  1000.0 /* ns: a record's time may be off by as much */

/* ---- what the findings of waits share -------------------------------------------------------- */

bool finding_waits_for_others(uint8_t reason, bool started)
{
	switch ((enum wait_reason)reason) {
	case WAIT_LOCK:
	case WAIT_CHILD:
	case WAIT_STOPPED:
	case WAIT_IDLE:
	case WAIT_BEFORE:
	case WAIT_LOST:
		return true;
	case WAIT_SLEEP:
	case WAIT_POLL:
	case WAIT_PIPE:
	case WAIT_NOTIFY:
	case WAIT_SOCKET:
	case WAIT_TERMINAL:
	case WAIT_SIGNAL:
	case WAIT_TRANSFER:
	case WAIT_OTHER:
	case WAIT_NO_STACK:
		return !started;
	case WAIT_RAN:
	case WAIT_PREEMPTED:
	case WAIT_WOKEN:
	case WAIT_BEGUN:
	case WAIT_FILE_LOCK:
	case WAIT_IO:
	case WAIT_FAULT:
	case WAIT_THROTTLED:
	case WAIT_KERNEL:
	case WAIT_REASONS:
		break;
	}
	return false;
}

double finding_wait_bar(uint64_t n, double bar, const struct wait *w, double whole)
{
	double unknown = 0, lives = 0;

	for (size_t i = 0; i < w->n_threads; i++)
		if (w->thread[i].wanted) {
			unknown += (double)wait_thread_time(&w->thread[i], WAIT_UNKNOWN);
			lives += (double)(w->thread[i].until - w->thread[i].from);
		}
	return (bar + (double)n * CLOCK) / whole + (lives > 0 ? unknown / lives : 0);
}

/* ---- threads that could run ------------------------------------------------------------------ */

struct moment { /* one thread more, or less, can run */
	uint64_t at;
	int32_t more;
};

/* Of the same time ends come first: a span follows the one before. */
static int by_time(const void *va, const void *vb)
{
	const struct moment *a = va, *b = vb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->more > b->more) - (a->more < b->more);
}

/* Returns the time, ns of threads, in which more could run than there are CPUs: those above that
 * number. No machine without other load would have run them. *able: how many could, on average of
 * that time. */
static uint64_t crowded(const struct wait *w, uint32_t cpus, double *able)
{
	struct moment *v = xcalloc(2 * w->n_spans + 1, sizeof(*v));
	uint64_t above = 0, time = 0;
	double sum = 0;
	int64_t now = 0;
	size_t n = 0;

	for (size_t i = 0; i < w->n_spans; i++) {
		const struct wait_span *s = &w->span[i];
		enum wait_state state = wait_reasons[s->reason].state;

		if ((state != WAIT_RUNNING && state != WAIT_RUNNABLE) ||
		    !w->thread[s->thread].wanted || s->from >= s->until)
			continue;
		v[n++] = (struct moment){ s->from, 1 };
		v[n++] = (struct moment){ s->until, -1 };
	}
	qsort(v, n, sizeof(*v), by_time);
	for (size_t i = 0; i < n; i++) {
		uint64_t since = i ? v[i].at - v[i - 1].at : 0;

		if (now > (int64_t)cpus) {
			above += (uint64_t)(now - (int64_t)cpus) * since;
			time += since;
			sum += (double)now * (double)since;
		}
		now += v[i].more;
	}
	free(v);
	*able = time ? sum / (double)time : 0;
	return above;
}

/* The part of the time in which threads had something to do that they ran; and that they had no
 * CPU. */
void findings_cpus(struct finding_work *w, uint64_t idle)
{
	const struct wait *wait = w->in->wait;
	struct finding f = { .kind = FINDING_RUN_QUEUE,
			     .of = FINDING_OF_THREADS,
			     .cpus = pd_info(w->in->rec)->cpus_online };
	uint64_t work = 0, ran = 0, runnable = 0, own = 0, switches = 0;
	uint64_t length = wait->until - wait->from;

	for (size_t i = 0; i < wait->n_threads; i++) {
		const struct wait_thread *t = &wait->thread[i];

		if (!t->wanted)
			continue;
		for (unsigned r = 0; r < WAIT_REASONS; r++)
			if (!finding_waits_for_others((uint8_t)r, w->started))
				work += t->time[r];
		ran += t->time[WAIT_RAN];
		runnable += wait_thread_time(t, WAIT_RUNNABLE);
		f.threads++;
		switches += t->switches;
	}
	if (!work)
		return;
	w->out->waits = true;
	w->out->on_cpu = ran;
	w->out->length = length;
	w->out->waited = length ? (double)idle / (double)length : NAN;
	w->out->running = (double)ran / (double)work;
	/* what other programs took of the CPUs is no reason to leave this one's code as it is */
	if (work > runnable)
		w->weight = (double)ran / (double)(work - runnable);
	f.half = finding_wait_bar(switches, 0, wait, (double)work);
	f.length = work;
	if (f.cpus && w->started && f.threads > f.cpus)
		own = crowded(wait, (uint32_t)f.cpus, &f.able);
	own = own < runnable ? own : runnable;
	f.time = own;
	f.share = (double)own / (double)work;
	f.stake = f.share * finding_kinds[f.kind].gain;
	finding_add(w, &f, NO_CPU);
	f.kind = FINDING_NO_CPU;
	f.time = runnable - own;
	f.share = f.stake = (double)f.time / (double)work;
	finding_add(w, &f, NO_CPU);
}
