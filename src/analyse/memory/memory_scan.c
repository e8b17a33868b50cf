/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_scan_int.h"

#include <stdlib.h>

#include "analyse/memory/memory_objects_int.h"
#include "base/big.h"

/* In lines of memory of its own: it is written at each sample. */
struct own {
	_Alignas(BIG_LINE) struct memory_tallies tallies;
};

struct scan {
	const struct spaces *spaces;
	const struct memop_how *how;
	struct own *of; /* by worker */
	struct memory_objects *objects;
	bool threads;
};

static int take(void *ctx, const struct pass_sample *p, struct err *err)
{
	const struct scan *w = ctx;
	struct memory_tallies *c = &w->of[p->worker].tallies;
	struct memop_kind *kind;
	const struct memop *op;
	struct memop other;

	c->samples++;
	op = memop_of_kind(&other, &kind, c->kinds, &w->how[p->event], p->ev, p->r);
	if (!op) {
		c->without++;
		return 0;
	}
	if (memory_count_add(c, w->spaces, p, op, kind))
		return err_nomem(err);
	return w->objects && !memory_no_access(op)
		       ? memory_objects_add(w->objects, p, op, c->last, err)
		       : 0;
}

static int begin_chunk(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	const struct scan *w = ctx;

	(void)chunk;
	return memory_count_begin(&w->of[worker].tallies, w->threads) ? err_nomem(err) : 0;
}

static int end_chunk(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	const struct scan *w = ctx;

	(void)chunk;
	if (memory_count_end(&w->of[worker].tallies))
		return err_nomem(err);
	return w->objects ? memory_objects_flush(w->objects, worker, err) : 0;
}

static int join(struct memory_tallies *out, struct scan *w, unsigned n)
{
	int ret = 0;

	for (unsigned i = 0; i < n; i++) {
		ret = ret || memory_tallies_join(out, &w->of[i].tallies) ? -1 : 0;
		memory_tallies_free(&w->of[i].tallies);
	}
	memory_tallies_end(out);
	free(w->of);
	return ret;
}

int memory_scan(struct memory_tallies *out, struct memory_objects **objects, const struct pd *rec,
		struct spaces *sp, const struct memop_how *how, const bool *events,
		const struct memory_opts *opts, struct err *err)
{
	const struct pass_visitor v = { .wants = PASS_THREAD | PASS_COMM,
					.begin = begin_chunk,
					.sample = take,
					.end = end_chunk };
	/* sites are numbered as they are met */
	const struct pass_opts po = { .events = events,
				      .threads = objects && data_heap_facts(sp) ? 1 : 0,
				      .progress = opts->progress,
				      .progress_ctx = opts->progress_ctx };
	struct scan w = { .spaces = sp, .how = how, .threads = opts->threads };
	struct pass *p;
	unsigned n;
	int ret;

	if (pass_new(&p, rec, sp, &opts->select, &po, err))
		return -1;
	n = pass_workers(p);
	w.of = big_zeros(n, sizeof(*w.of));
	ret = w.of ? 0 : err_nomem(err);
	if (!ret && objects) {
		ret = memory_objects_begin(objects, rec, sp, opts, n, err);
		w.objects = *objects;
	}
	if (!ret)
		ret = pass_each(p, &v, &w, err);
	pass_free(p);
	if (w.of && join(out, &w, n) && !ret)
		ret = err_nomem(err);
	return ret || (objects && memory_objects_end(*objects, err)) ? -1 : 0;
}
