/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of threads that share work: one that still runs when all others have ended.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

#define LATE   0.15	/* of the length */
#define PEER   0.05	/* of the late thread's CPU time: others worked, too */
#define PEERS  2	/* at least */
#define WORKER 0.2	/* of the CPU time of the thread with most: it is no helper */
#define LEAST  20000000 /* ns */
#define BUSY   0.8	/* of its time alone it could run */
#define WORK   0.1	/* of the CPU time of the thread with most: what it did alone */
#define MORE   1.5	/* times the CPU time of any other: it had more to do */

struct worker {
	uint32_t pid, tid;
	const char *comm;
	double ran;	/* time, or samples' periods */
	uint64_t until; /* it ran last */
};

struct workers {
	struct worker *v;
	size_t n;
	uint64_t from, until, grain; /* grain: what times may be off by */
};

/* ---- from the waits, else from the cube ------------------------------------------------------ */

static void workers_of_wait(struct workers *o, const struct wait *w)
{
	o->v = xcalloc(w->n_threads + 1, sizeof(*o->v));
	o->n = w->n_threads;
	o->from = w->from;
	o->until = w->until;
	o->grain = (w->until - w->from) / 1000;
	for (size_t i = 0; i < w->n_threads; i++)
		o->v[i] = (struct worker){ .pid = w->thread[i].pid,
					   .tid = w->thread[i].tid,
					   .comm = w->thread[i].comm,
					   .ran = w->thread[i].wanted
							  ? (double)w->thread[i].time[WAIT_RAN]
							  : 0 };
	for (size_t i = 0; i < w->n_spans; i++)
		if (w->span[i].reason == WAIT_RAN &&
		    w->span[i].until > o->v[w->span[i].thread].until)
			o->v[w->span[i].thread].until = w->span[i].until;
}

static void workers_of_cube(struct workers *o, const struct cube *c)
{
	o->v = xcalloc(c->n_threads + 1, sizeof(*o->v));
	o->n = c->n_threads;
	o->from = c->from;
	o->until = c->from + c->width * c->n_bins;
	o->grain = c->width;
	for (size_t i = 0; i < c->n_threads; i++)
		o->v[i] = (struct worker){ c->thread[i].pid, c->thread[i].tid, c->thread[i].comm, 0,
					   0 };
	for (size_t i = 0; i < c->n_cells; i++) {
		struct worker *x = &o->v[c->cell[i].thread];
		uint64_t until = c->from + c->width * (c->cell[i].bin + 1);

		x->ran += (double)c->cell[i].period;
		if (until > x->until)
			x->until = until;
	}
}

struct alone {			   /* of one thread, of a piece of time */
	double could, ran, waited; /* ns that it could run; its time or periods; ns without a CPU */
};

static struct alone alone_in_wait(const struct wait *w, const struct worker *who, uint64_t from,
				  uint64_t until)
{
	struct alone sum = { 0, 0, 0 };

	for (size_t i = 0; i < w->n_spans; i++) {
		const struct wait_span *s = &w->span[i];
		const struct wait_thread *t = &w->thread[s->thread];
		enum wait_state state = wait_reasons[s->reason].state;
		uint64_t a = s->from > from ? s->from : from;
		uint64_t b = s->until < until ? s->until : until;

		if (t->pid != who->pid || t->tid != who->tid)
			continue;
		if (state == WAIT_RUNNABLE)
			sum.waited += (double)(s->until - s->from);
		if (a >= b)
			continue;
		if (state == WAIT_RUNNING || state == WAIT_RUNNABLE)
			sum.could += (double)(b - a);
		if (state == WAIT_RUNNING)
			sum.ran += (double)(b - a);
	}
	return sum;
}

/* By the bins that have samples of it. */
static struct alone alone_in_cube(const struct cube *c, const struct worker *who, uint64_t from,
				  uint64_t until)
{
	bool *seen = xcalloc((size_t)c->n_bins + 1, sizeof(*seen));
	struct alone sum = { 0, 0, 0 };

	for (size_t i = 0; i < c->n_cells; i++) {
		const struct stack_thread *t = &c->thread[c->cell[i].thread];
		uint64_t at = c->from + c->width * c->cell[i].bin;

		if (t->pid != who->pid || t->tid != who->tid || at < from || at >= until)
			continue;
		sum.ran += (double)c->cell[i].period;
		if (!seen[c->cell[i].bin])
			sum.could += (double)c->width;
		seen[c->cell[i].bin] = true;
	}
	free(seen);
	return sum;
}

/* ---- the last one ---------------------------------------------------------------------------- */

static int by_until(const void *va, const void *vb)
{
	const struct worker *a = va, *b = vb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->until != b->until)
		return a->until > b->until ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* The function that a thread's samples are in. */
static struct finding_place place_of_thread(const struct cube *c, uint32_t pid, uint32_t tid)
{
	struct finding_place at = { NULL, NULL, NAN };
	uint64_t *by, most = 0;

	if (!c)
		return at;
	by = xcalloc(c->n_frames + 1, sizeof(*by));
	for (size_t i = 0; i < c->n_cells; i++) {
		const struct stack_thread *t = &c->thread[c->cell[i].thread];
		uint32_t frame = c->node[cube_owner(c, c->cell[i].node)].frame;

		if (t->pid == pid && t->tid == tid && frame != CUBE_NONE)
			by[frame] += c->cell[i].period;
	}
	for (size_t i = 0; i < c->n_frames; i++)
		if (by[i] > most && !(finding_code(c->frame[i].function, c->frame[i].dso) &
				      (CODE_KERNEL | CODE_UNKNOWN))) {
			most = by[i];
			at = (struct finding_place){ c->frame[i].function, c->frame[i].dso, NAN };
		}
	free(by);
	return at;
}

/* Those of one process, the one that ran last first. */
static void find_late(struct finding_work *w, const struct workers *o, const struct worker *v,
		      size_t n)
{
	const struct worker *late = NULL, *next = NULL;
	const struct findings_in *in = w->in;
	struct finding f = { .kind = FINDING_LATE, .of = FINDING_OF_LENGTH };
	uint64_t length = o->until - o->from;
	double most = 0, others = 0;
	struct alone alone;
	size_t peers = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, v[i].ran);
	for (size_t i = 0; i < n; i++) {
		if (!late && v[i].ran > WORKER * most) {
			late = &v[i];
		} else if (late && v[i].ran > PEER * late->ran) {
			next = next ? next : &v[i];
			others = fmax(others, v[i].ran);
			peers++;
		}
	}
	if (peers < PEERS || !length || late->until <= next->until)
		return;
	alone = in->wait ? alone_in_wait(in->wait, late, next->until, late->until)
			 : alone_in_cube(in->cube, late, next->until, late->until);
	f.time = late->until - next->until;
	if (f.time < LEAST || alone.could < BUSY * (double)f.time || alone.ran < WORK * most)
		return;
	/* it had no more to do than another: it got its CPU later */
	if (late->ran < MORE * others && alone.waited >= (double)f.time)
		return;
	f.length = length;
	f.share = f.stake = (double)f.time / (double)length;
	f.half = (double)o->grain / (double)length;
	f.threads = peers;
	f.thread = late->comm;
	f.tid = late->tid;
	f.at = place_of_thread(in->cube, late->pid, late->tid);
	finding_line_of_place(&f, w);
	finding_add(w, &f, LATE);
}

void findings_threads(struct finding_work *w)
{
	const struct findings_in *in = w->in;
	struct workers o = { NULL, 0, 0, 0, 0 };

	if (in->wait && in->wait->n_spans && !in->wait->outs_only)
		workers_of_wait(&o, in->wait);
	else if (in->cube && in->cube->width)
		workers_of_cube(&o, in->cube);
	if (o.n)
		qsort(o.v, o.n, sizeof(*o.v), by_until);
	for (size_t i = 0, k; i < o.n; i = k) {
		for (k = i; k < o.n && o.v[k].pid == o.v[i].pid; k++)
			;
		find_late(w, &o, &o.v[i], k - i);
	}
	free(o.v);
}
