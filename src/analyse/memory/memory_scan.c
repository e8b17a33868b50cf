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

struct memory_scan {
	const struct memop_how *how;
	struct own *of; /* by worker */
	unsigned n;
	struct memory_objects *objects; /* NULL: not wanted */
	bool threads;
	enum memory_operand_why *fits; /* by event; NULL: no address is computed */
	struct memory_operand_work operands;
};

/* `op` of a sample without an address, which may get one. */
static int compute(struct memory_scan *w, struct memory_tallies *c, const struct pass_sample *p,
		   struct memop *op, struct err *err)
{
	enum memory_operand_why why;

	if (memory_operand_find(&w->operands, p, w->fits[p->event], op, &why, err))
		return -1;
	c->operand[why]++;
	return 0;
}

static bool lacks_address(const struct memory_scan *w, const struct pass_sample *p,
			  const struct memop *op)
{
	return w->fits && w->fits[p->event] != MEMORY_OPERAND_UNWANTED &&
	       !(op->has & MEMOP_HAS_ADDRESS);
}

static int take(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct memory_scan *w = ctx;
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
	const struct memory_scan *w = ctx;

	(void)chunk;
	return memory_count_begin(&w->of[worker].tallies, w->threads) ? err_nomem(err) : 0;
}

static int end_chunk(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	const struct memory_scan *w = ctx;

	(void)chunk;
	if (memory_count_end(&w->of[worker].tallies))
		return err_nomem(err);
	return w->objects ? memory_objects_flush(w->objects, worker, err) : 0;
}

/* Addresses are wanted of events that are scanned. */
static int begin_operands(struct memory_scan *w, const struct pd *rec, struct spaces *sp,
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
	if (!any) {
		free(fits);
		return 0;
	}
	w->fits = fits;
	memory_operand_begin(&w->operands, sp);
	return 0;
}

int memory_scan_begin(struct memory_scan **out, struct pass *p, struct memory_objects **objects,
		      const struct pd *rec, struct spaces *sp, const struct memop_how *how,
		      const bool *events, const struct memory_opts *opts, struct err *err)
{
	struct pass_visitor v = { .wants = PASS_THREAD | PASS_COMM | PASS_PLACE,
				  .events = events,
				  .begin = begin_chunk,
				  .sample = take,
				  .end = end_chunk };
	struct memory_scan *w = calloc(1, sizeof(*w));

	*out = w;
	if (!w)
		return err_nomem(err);
	w->how = how;
	w->threads = opts->threads;
	w->n = pass_workers(p);
	w->of = big_zeros(w->n, sizeof(*w->of));
	if (!w->of)
		return err_nomem(err);
	if (objects) {
		if (begin_operands(w, rec, sp, events, err) ||
		    memory_objects_begin(objects, rec, sp, opts, w->n, err))
			return -1;
		w->objects = *objects;
	}
	/* sites are numbered as they are met; images are read where operands are */
	if (w->fits || (objects && data_heap_facts(sp)))
		v.wants |= PASS_ORDER;
	pass_add(p, &v, w);
	return 0;
}

int memory_scan_end(struct memory_tallies *out, struct memory_scan *w, struct err *err)
{
	int ret = 0;

	for (unsigned i = 0; i < w->n; i++)
		ret = ret || memory_tallies_join(out, &w->of[i].tallies) ? -1 : 0;
	memory_tallies_end(out);
	if (ret)
		return err_nomem(err);
	return w->objects ? memory_objects_end(w->objects, err) : 0;
}

void memory_scan_free(struct memory_scan *w)
{
	if (!w)
		return;
	for (unsigned i = 0; w->of && i < w->n; i++)
		memory_tallies_free(&w->of[i].tallies);
	free(w->of);
	memory_operand_free(&w->operands);
	free(w->fits);
	free(w);
}
