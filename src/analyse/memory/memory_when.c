/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory_when.h"

#include <stdlib.h>

#include "analyse/memory/memory_count_int.h"
#include "analyse/pass.h"
#include "base/hash.h"
#include "base/vec.h"
#include "base/xalloc.h"

/* A cell's place in one number: class, thread, CPU + 1, bin. */
enum { BIN_BITS = 9, CPU_BITS = 13, TASK_BITS = 22 };
#define TASKS (1u << TASK_BITS)
_Static_assert(MEMORY_WHEN_BINS == 1 << BIN_BITS, "a bin has room");

struct numbered { /* keys, in the order in which they were met */
	struct u64map at;
	VEC(uint64_t) key;
};

struct tally {
	uint64_t place, samples, timed;
	double cycles, squares;
};

struct when {
	const struct memory *m;
	enum memop_latency latency;
	uint64_t from, width;
	struct memop_kind *kinds;
	struct numbered class, task;
	struct u64map at; /* into `v` */
	VEC(struct tally) v;
};

static uint64_t number_of(struct numbered *n, uint64_t key)
{
	bool fresh;
	uint64_t *at = u64map_xat(&n->at, key, &fresh);

	if (fresh) {
		*at = n->key.n;
		vec_xpush(&n->key, key);
	}
	return *at;
}

static void numbered_free(struct numbered *n)
{
	u64map_free(&n->at);
	vec_free(&n->key);
}

static void tally_up(struct when *w, const struct tally *x)
{
	bool fresh;
	uint64_t *at = u64map_xat(&w->at, x->place, &fresh);
	struct tally *o;

	if (fresh) {
		*at = w->v.n;
		vec_xpush(&w->v, *x);
		return;
	}
	o = &w->v.v[*at];
	o->samples += x->samples;
	o->timed += x->timed;
	o->cycles += x->cycles;
	o->squares += x->squares;
}

static uint64_t place_of(uint64_t class, uint64_t task, uint64_t cpu, uint64_t bin)
{
	return ((class << TASK_BITS | task) << CPU_BITS | cpu) << BIN_BITS | bin;
}

static uint64_t bin_of(const struct when *w, uint64_t time)
{
	uint64_t bin = w->width && time > w->from ? (time - w->from) / w->width : 0;

	return bin < MEMORY_WHEN_BINS ? bin : MEMORY_WHEN_BINS - 1;
}

static int see_access(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct when *w = ctx;
	struct memop_kind *kind;
	struct memop other;
	const struct memop *op =
		memop_of_kind(&other, &kind, w->kinds, &w->m->how[p->event], p->ev, p->r);
	uint64_t cpu = p->cpu < (1u << CPU_BITS) - 1 ? p->cpu + 1 : 0, task;
	struct tally x = { .samples = 1 };

	if (!op || memory_no_access(op))
		return 0;
	task = number_of(&w->task, p->task);
	if (task >= TASKS)
		return err_set(err, ERR_LIMIT, "more than %u threads", TASKS);
	x.place = place_of(number_of(&w->class, memory_class(op)), task, cpu, bin_of(w, p->time));
	if (op->has >> w->latency & 1) {
		x.timed = 1;
		x.cycles = op->cycles[w->latency];
		x.squares = x.cycles * x.cycles;
	}
	tally_up(w, &x);
	return 0;
}

#define CUT(place, bits) ((place) & ((UINT64_C(1) << (bits)) - 1))

/* Bins twice as wide. */
static void halve(struct when *w)
{
	size_t n = w->v.n;

	u64map_free(&w->at);
	w->v.n = 0;
	for (size_t i = 0; i < n; i++) {
		struct tally x = w->v.v[i]; /* those before it are fewer by now */

		x.place = (x.place - CUT(x.place, BIN_BITS)) | CUT(x.place, BIN_BITS) >> 1;
		tally_up(w, &x);
	}
	w->width *= 2;
}

static int by_cell(const void *va, const void *vb)
{
	const struct memory_when_cell *a = va, *b = vb;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->bin < b->bin ? -1 : a->bin > b->bin;
}

static void hand_out(struct memory_when *out, const struct when *w)
{
	out->width = w->width;
	out->n_groups = w->class.key.n;
	out->n_threads = w->task.key.n;
	out->n_cells = w->v.n;
	out->group = xcalloc(out->n_groups + 1, sizeof(*out->group));
	out->thread = xcalloc(out->n_threads + 1, sizeof(*out->thread));
	out->cell = xcalloc(out->n_cells + 1, sizeof(*out->cell));
	for (size_t i = 0; i < out->n_groups; i++)
		out->group[i] = (struct memory_group){ .by = MEMORY_CLASS,
						       .key = { w->class.key.v[i], 0 } };
	for (size_t i = 0; i < out->n_threads; i++)
		out->thread[i] = (struct memory_when_thread){ task_pid(w->task.key.v[i]),
							      task_tid(w->task.key.v[i]) };
	for (size_t i = 0; i < out->n_cells; i++) {
		const struct tally *x = &w->v.v[i];
		uint64_t rest = x->place >> BIN_BITS, task = rest >> CPU_BITS;

		out->cell[i] = (struct memory_when_cell){ (uint32_t)(task >> TASK_BITS),
							  (uint32_t)CUT(task, TASK_BITS),
							  (uint32_t)CUT(x->place, BIN_BITS),
							  (int32_t)CUT(rest, CPU_BITS) - 1,
							  x->samples,
							  x->timed,
							  x->cycles,
							  x->squares };
	}
	if (out->n_cells)
		qsort(out->cell, out->n_cells, sizeof(*out->cell), by_cell);
}

int memory_when_build(struct memory_when **out, const struct memory *m, const struct pd *rec,
		      struct spaces *sp, const struct selection *sel, uint64_t from, uint64_t width,
		      struct err *err)
{
	const struct pass_opts po = { .threads = 1 }; /* sums of squares depend on the order */
	struct pass_visitor v = { .sample = see_access };
	struct when w = {
		.m = m, .latency = memory_shown_latency(m), .from = from, .width = width
	};
	struct pass *pass;
	size_t n;
	bool *events;
	int ret;

	*out = NULL;
	if (pass_new(&pass, rec, sp, sel, &po, err))
		return -1;
	(void)pd_events(rec, &n);
	events = xcalloc(n + 1, sizeof(*events));
	for (size_t i = 0; i < n; i++)
		events[i] = m->how[i].from > MEMOP_FROM_REGISTERS;
	v.events = events;
	w.kinds = xcalloc(MEMOP_KINDS, sizeof(*w.kinds));
	ret = pass_each(pass, &v, &w, err);
	if (!ret) {
		for (unsigned i = 0; i < BIN_BITS && w.v.n > MEMORY_WHEN_CELLS; i++)
			halve(&w);
		*out = xcalloc(1, sizeof(**out));
		hand_out(*out, &w);
	}
	free(w.kinds);
	numbered_free(&w.class);
	numbered_free(&w.task);
	u64map_free(&w.at);
	vec_free(&w.v);
	free(events);
	pass_free(pass);
	return ret;
}

void memory_when_free(struct memory_when *w)
{
	if (!w)
		return;
	free(w->group);
	free(w->thread);
	free(w->cell);
	free(w);
}
