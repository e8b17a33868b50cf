/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_scan_int.h"

#include <stdlib.h>

#include "analyse/memory/memory_objects_int.h"
#include "analyse/memory/memory_operand_int.h"
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
	enum memory_operand_why *fits; /* by event; NULL: no address is computed */
	struct memory_operand_work operands;
};

/* `op` of a sample without an address, which may get one. */
static int compute(struct scan *w, struct memory_tallies *c, const struct pass_sample *p,
		   struct memop *op, struct err *err)
{
	enum memory_operand_why why;

	if (memory_operand_find(&w->operands, p, w->fits[p->event], op, &why, err))
		return -1;
	c->operand[why]++;
	return 0;
}

static bool lacks_address(const struct scan *w, const struct pass_sample *p, const struct memop *op)
{
	return w->fits && w->fits[p->event] != MEMORY_OPERAND_UNWANTED &&
	       !(op->has & MEMOP_HAS_ADDRESS);
}

static int take(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct scan *w = ctx;
	struct memory_tallies *c = &w->of[p->worker].tallies;
	struct memop_kind *kind;
	const struct memop *op;
	struct memop other;
	uint64_t access[2];

	c->samples++;
	op = memop_of_kind(&other, &kind, c->kinds, &w->how[p->event], p->ev, p->r);
	if (!op) {
		c->without++;
		return 0;
	}
	if (lacks_address(w, p, op) && compute(w, c, p, &other, err))
		return -1;
	if (memory_count_add(c, p, op, kind, access))
		return err_nomem(err);
	return w->objects && !memory_no_access(op)
		       ? memory_objects_add(w->objects, p, op, access, err)
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

/* Addresses are wanted of events that are scanned. */
static int begin_operands(struct scan *w, const struct pd *rec, struct spaces *sp,
			  const bool *events, struct err *err)
{
	size_t n;
	const struct pd_event *e = pd_events(rec, &n);
	enum memory_operand_why *fits = calloc(n + 1, sizeof(*fits));
	bool any = false;

	if (!fits)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		fits[i] = events[i] ? memory_operand_event(rec, &e[i], &w->how[i])
				    : MEMORY_OPERAND_UNWANTED;
		any |= fits[i] != MEMORY_OPERAND_UNWANTED;
	}
	if (any)
		w->fits = fits;
	else
		free(fits);
	return any ? memory_operand_begin(&w->operands, sp, err) : 0;
}

int memory_scan(struct memory_tallies *out, struct memory_objects **objects, const struct pd *rec,
		struct spaces *sp, const struct memop_how *how, const bool *events,
		const struct memory_opts *opts, struct err *err)
{
	const struct pass_visitor v = { .wants = PASS_THREAD | PASS_COMM | PASS_PLACE,
					.begin = begin_chunk,
					.sample = take,
					.end = end_chunk };
	struct pass_opts po = { .events = events,
				.progress = opts->progress,
				.progress_ctx = opts->progress_ctx };
	struct scan w = { .spaces = sp, .how = how, .threads = opts->threads };
	struct pass *p;
	unsigned n;
	int ret = -1;

	if (objects && begin_operands(&w, rec, sp, events, err))
		goto out;
	/* sites are numbered as they are met; images are read if operands are */
	po.threads = w.fits || (objects && data_heap_facts(sp)) ? 1 : 0;
	if (pass_new(&p, rec, sp, &opts->select, &po, err))
		goto out;
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
	ret = ret || (objects && memory_objects_end(*objects, err)) ? -1 : 0;
out:
	memory_operand_free(&w.operands);
	free(w.fits);
	return ret;
}
