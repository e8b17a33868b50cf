/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of processes: many that live for a short time each, which costs more than what they do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/event_cost.h"
#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

#define SHORT	  10000000 /* ns of CPU time */
#define PROCESSES 20	   /* at least */
#define SHARE	  0.3	   /* of the event */
#define PROGRAM	  (CODE_KERNEL | CODE_SYSTEM | CODE_UNKNOWN)

struct short_process {
	uint64_t n, ran; /* of all that were short; ran 0: not known */
};

/* ---- which are short ------------------------------------------------------------------------- */

static void add_time(struct u64map *by_pid, uint32_t pid, uint64_t time)
{
	bool fresh;

	*u64map_xat(by_pid, pid, &fresh) += time;
}

/* By the times that threads ran, else by samples of time. Returns false if neither is known. */
static bool sum_processes(struct u64map *by_pid, const struct finding_work *w)
{
	const struct wait *wait = w->in->wait;
	const struct cube *c = w->in->cube;
	size_t n;
	const struct pd_event *ev = pd_events(w->in->rec, &n);

	if (wait && wait->n_spans && !wait->outs_only) {
		for (size_t i = 0; i < wait->n_threads; i++)
			if (wait->thread[i].wanted)
				add_time(by_pid, wait->thread[i].pid,
					 wait->thread[i].time[WAIT_RAN]);
		return true;
	}
	if (event_cost(w->in->rec, &ev[c->event]) != EVENT_COST_TIME)
		return false;
	for (size_t i = 0; i < c->n_cells; i++)
		add_time(by_pid, c->thread[c->cell[i].thread].pid, c->cell[i].period);
	return true;
}

/* What was recorded first is the program: no process that it started. UINT32_MAX: not known. */
static uint32_t first_process(const struct cube *c)
{
	const struct cube_cell *first = NULL;

	for (size_t i = 0; i < c->n_cells; i++)
		if (!first || c->cell[i].bin < first->bin ||
		    (c->cell[i].bin == first->bin &&
		     c->thread[c->cell[i].thread].pid < c->thread[first->thread].pid))
			first = &c->cell[i];
	return first ? c->thread[first->thread].pid : UINT32_MAX;
}

static bool is_short(const struct u64map *by_pid, uint32_t pid)
{
	const uint64_t *ran = u64map_find(by_pid, pid);

	return ran && *ran < SHORT;
}

static struct short_process count_short(const struct u64map *by_pid)
{
	struct short_process sum = { 0, 0 };
	uint64_t key, *ran;

	for (size_t i = 0; u64map_next(by_pid, &i, &key, &ran);) {
		sum.n += *ran < SHORT;
		sum.ran += *ran < SHORT ? *ran : 0;
	}
	return sum;
}

/* ---- who starts them ------------------------------------------------------------------------- */

/* The program's function that waits longest for other processes. */
static struct finding_place waits_for_them(const struct finding_work *w)
{
	const struct wait *wait = w->in->wait;
	struct images *images = w->in->images;
	struct finding_place at = { NULL, NULL, NAN };
	uint64_t *by = xcalloc(wait->n_places + 1, sizeof(*by)), most = 0;

	for (size_t i = 0; i < wait->n_spans; i++) {
		const struct wait_span *s = &wait->span[i];

		if (s->reason != WAIT_CHILD)
			continue;
		for (uint32_t c = s->chain; c; c = wait->chain.node[c].parent) {
			const struct wait_place *p = &wait->place[wait->chain.node[c].frame];
			const char *dso = p->image != IMAGE_NONE && images
						  ? image_name(images, p->image)
						  : NULL;

			if (!p->symbol || finding_code(p->symbol->name, dso) & PROGRAM)
				continue;
			by[wait->chain.node[c].frame] += s->until - s->from;
			break;
		}
	}
	for (size_t i = 0; i < wait->n_places; i++)
		if (by[i] > most) {
			const struct wait_place *p = &wait->place[i];

			most = by[i];
			at.function = p->symbol->name;
			at.dso = p->image != IMAGE_NONE && images ? image_name(images, p->image)
								  : NULL;
		}
	free(by);
	return at;
}

static bool starts_process(const char *function)
{
	static const char *const calls[] = { "clone", "clone3", "fork", "vfork" };
	const char *call = finding_kernel_entry(function);

	for (size_t i = 0; call && i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(call, calls[i]))
			return true;
	return false;
}

/* The program's function with most samples in calls that make a process. */
static struct finding_place calls_fork(const struct cube *c)
{
	struct finding_place at = { NULL, NULL, NAN };
	uint64_t *by = xcalloc(c->n_frames + 1, sizeof(*by)), most = 0;

	for (size_t i = 0; i < c->n_cells; i++) {
		bool starts = false;

		for (uint32_t x = c->cell[i].node; x != CUBE_NONE; x = c->node[x].parent) {
			const struct cube_frame *f =
				c->node[x].frame == CUBE_NONE ? NULL : &c->frame[c->node[x].frame];

			starts |= f && starts_process(f->function);
			if (!starts || !f || finding_code(f->function, f->dso) & PROGRAM)
				continue;
			by[c->node[x].frame] += c->cell[i].period;
			break;
		}
	}
	for (size_t i = 0; i < c->n_frames; i++)
		if (by[i] > most) {
			most = by[i];
			at = (struct finding_place){ c->frame[i].function, c->frame[i].dso, NAN };
		}
	free(by);
	return at;
}

void findings_processes(struct finding_work *w)
{
	const struct cube *c = w->in->cube;
	struct finding f = { .kind = FINDING_PROCESSES };
	struct u64map by_pid = U64MAP_INIT;
	uint64_t period = 0;
	struct short_process all;

	if (!c || !c->period || !w->cost || !w->all.period || !sum_processes(&by_pid, w)) {
		u64map_free(&by_pid);
		return;
	}
	add_time(&by_pid, first_process(c), SHORT);
	all = count_short(&by_pid);
	for (size_t i = 0; i < c->n_cells && all.n >= PROCESSES; i++)
		if (is_short(&by_pid, c->thread[c->cell[i].thread].pid))
			period += c->cell[i].period;
	u64map_free(&by_pid);
	if (!period)
		return;
	finding_set_part(&f, period, w);
	f.times = all.n;
	if (w->in->wait && w->in->wait->n_spans && !w->in->wait->outs_only) {
		f.time = all.ran / all.n; /* samples alone are of those that have some */
		f.at = waits_for_them(w);
	}
	if (!f.at.function)
		f.at = calls_fork(c);
	finding_add(w, &f, SHARE);
}
