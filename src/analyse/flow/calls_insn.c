/* SPDX-License-Identifier: BSD-3-Clause */
/* calls_insn - functions and instructions at both ends of each edge. */
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/calls_int.h"
#include "base/bisect.h"
#include "base/invariant.h"
#include "base/sort.h"
#include "symbol/code.h"

/* PERF_BR_*: the kernel's numbers, of recordings that have kinds. */
static const uint8_t what_of_type[] = {
	[0] = CALLS_UNKNOWN, [1] = CALLS_JUMP, [2] = CALLS_JUMP,    [3] = CALLS_JUMP,
	[4] = CALLS_CALL,    [5] = CALLS_CALL, [6] = CALLS_RETURN,  [7] = CALLS_KERNEL,
	[8] = CALLS_KERNEL,  [9] = CALLS_CALL, [10] = CALLS_RETURN, [11] = CALLS_KERNEL,
	[12] = CALLS_KERNEL,
};
#define BR_IND	    3
#define BR_IND_CALL 5

/* ---- functions ------------------------------------------------------------------------------ */

/* The symbols of n addresses in any order, image by image. `at` is by edge and may hold
 * IMAGE_NONE. */
static int resolve(struct images *images, const struct flow_place *at, size_t n,
		   const struct symbol **out, struct err *err)
{
	struct keyed *order = malloc((2 * n + 1) * sizeof(*order));
	const struct symbol **sym = malloc((n + 1) * sizeof(*sym));
	uint64_t *addr = malloc((n + 1) * sizeof(*addr));
	size_t end;
	int ret = -1;

	if (!order || !sym || !addr) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (struct keyed){ at[i].addr, (uint32_t)i, at[i].image };
	keyed_sort(order, order + n, n);
	for (size_t i = 0; i < n; i++)
		order[i].key = order[i].b;
	keyed_sort(order, order + n, n);
	assert(pairs_hold(n, i,
			  order[i].b != order[i + 1].b ||
				  at[order[i].a].addr <= at[order[i + 1].a].addr));
	for (size_t i = 0; i < n; i = end) {
		for (end = i; end < n && order[end].b == order[i].b; end++)
			addr[end] = at[order[end].a].addr;
		if (order[i].b == IMAGE_NONE)
			memset(&sym[i], 0, (end - i) * sizeof(*sym));
		else
			image_resolve(images, order[i].b, &addr[i], end - i, &sym[i]);
	}
	for (size_t i = 0; i < n; i++)
		out[order[i].a] = sym[i];
	ret = 0;
out:
	free(order);
	free(sym);
	free(addr);
	return ret;
}

const struct symbol *calls_symbol(struct images *images, uint32_t image, uint64_t addr)
{
	const struct symbol *s = NULL;

	if (image != IMAGE_NONE)
		image_resolve(images, image, &addr, 1, &s);
	return s;
}

int calls_resolve(struct calls_work *w, struct err *err)
{
	struct flow_place *at = malloc((w->n + 1) * sizeof(*at));
	int ret = -1;

	w->from = calloc(w->n + 1, sizeof(*w->from));
	w->to = calloc(w->n + 1, sizeof(*w->to));
	w->before = calloc(w->n + 1, sizeof(*w->before));
	if (!at || !w->from || !w->to || !w->before) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < w->n; i++)
		at[i] = w->edge[i].from;
	if (resolve(w->images, at, w->n, w->from, err))
		goto out;
	for (size_t i = 0; i < w->n; i++)
		at[i] = w->edge[i].to;
	if (resolve(w->images, at, w->n, w->to, err))
		goto out;
	for (size_t i = 0; i < w->n; i++)
		at[i].addr -= at[i].addr != 0;
	ret = resolve(w->images, at, w->n, w->before, err);
out:
	free(at);
	return ret;
}

/* ---- instructions --------------------------------------------------------------------------- */

/* The code of one function, of the last one asked for. */
struct reading {
	struct images *images;
	uint32_t image;
	uint64_t start;
	bool any;
	struct code *code; /* NULL: not there */
};

/* 1: *r has the code around `addr`; 0: there is none; -1: no memory. */
static int read_around(struct reading *r, uint32_t image, const struct symbol *s, uint64_t addr,
		       struct err *err)
{
	uint64_t start = s ? s->start : addr, len = s ? s->size : 0;
	struct err why = ERR_INIT;

	if (image == IMAGE_NONE)
		return 0;
	if (r->any && r->image == image && r->start == start)
		return r->code != NULL;
	code_free(r->code);
	*r = (struct reading){ .images = r->images, .image = image, .start = start, .any = true };
	if (len < addr - start + 16)
		len = addr - start + 16;
	if (!code_read(&r->code, r->images, image, start, len, &why))
		return 1;
	r->code = NULL;
	return why.code == ERR_NOMEM ? err_nomem(err) : 0;
}

static void say(struct calls_insn *out, const struct code *c, uint32_t i)
{
	static const uint8_t what[] = {
		[INSN_OTHER] = CALLS_OTHER,   [INSN_JUMP] = CALLS_JUMP,
		[INSN_COND] = CALLS_JUMP,     [INSN_CALL] = CALLS_CALL,
		[INSN_RETURN] = CALLS_RETURN, [INSN_SYSTEM] = CALLS_KERNEL,
		[INSN_STOP] = CALLS_OTHER,
	};
	const struct code_insn *in = &c->insn[i];

	*out = (struct calls_insn){ .what = in->flow < sizeof(what) ? what[in->flow] : CALLS_OTHER,
				    .code = true,
				    .indirect = !in->has_target,
				    .has_target = in->has_target,
				    .at = c->start + in->at,
				    .target = in->target };
}

/* Returns the instruction that ends right before `addr`; CODE_NONE if there is none. */
static uint32_t insn_before(const struct code *c, uint64_t addr)
{
	uint64_t into = addr - c->start;
	size_t at;

	bisect(at, c->n_insns, i, c->insn[i].at >= into);
	if (!at || c->insn[at - 1].at + c->insn[at - 1].len != into)
		return CODE_NONE;
	return (uint32_t)at - 1;
}

static bool between_kernel(const struct flow_edge *e)
{
	return e->from.kind != e->to.kind && e->from.kind != SPACE_UNKNOWN &&
	       e->to.kind != SPACE_UNKNOWN;
}

/* Returns the kind of branch as recorded, if the code is not there. */
static struct calls_insn without_code(const struct calls_work *w, const struct flow_edge *e)
{
	enum flow_filter filter = flow_sums(w->flow)->filter;
	struct calls_insn in = { .what = CALLS_UNKNOWN, .at = e->from.addr };

	if (e->type < sizeof(what_of_type))
		in.what = what_of_type[e->type];
	in.indirect = e->type == BR_IND || e->type == BR_IND_CALL;
	if (in.what == CALLS_UNKNOWN)
		in.what = filter == FLOW_CALLS	   ? CALLS_CALL
			  : filter == FLOW_RETURNS ? CALLS_RETURN
						   : CALLS_UNKNOWN;
	return in;
}

static int classify_left(struct calls_work *w, struct err *err)
{
	struct reading r = { .images = w->images };
	int rc = 0;

	for (size_t i = 0; i < w->n && rc >= 0; i++) {
		const struct flow_edge *e = &w->edge[i];
		uint32_t at = CODE_NONE;

		w->left[i] = without_code(w, e);
		if (between_kernel(e)) {
			w->left[i].what = CALLS_KERNEL;
			continue;
		}
		rc = read_around(&r, e->from.image, w->from[i], e->from.addr, err);
		if (rc == 1)
			at = code_insn_at(r.code, e->from.addr);
		if (at != CODE_NONE)
			say(&w->left[i], r.code, at);
	}
	code_free(r.code);
	return rc < 0 ? -1 : 0;
}

/* By target of edges, so that a function's code is read once. Without a symbol, the begin of the
 * instruction in front of an address is not known. */
static int classify_behind(struct calls_work *w, struct err *err)
{
	const uint32_t *into = flow_edges_into(w->flow);
	struct reading r = { .images = w->images };
	int rc = 0;

	for (size_t k = 0; k < w->n && rc >= 0; k++) {
		size_t i = into[k];
		const struct flow_place *to = &w->edge[i].to;
		uint32_t at;

		if (w->left[i].what != CALLS_RETURN || !w->before[i])
			continue;
		rc = read_around(&r, to->image, w->before[i], to->addr, err);
		if (rc != 1)
			continue;
		at = insn_before(r.code, to->addr);
		w->behind[i].what = CALLS_OTHER;
		if (at != CODE_NONE)
			say(&w->behind[i], r.code, at);
	}
	code_free(r.code);
	return rc < 0 ? -1 : 0;
}

int calls_classify(struct calls_work *w, struct err *err)
{
	w->left = calloc(w->n + 1, sizeof(*w->left));
	w->behind = calloc(w->n + 1, sizeof(*w->behind));
	if (!w->left || !w->behind)
		return err_nomem(err);
	return classify_left(w, err) || classify_behind(w, err) ? -1 : 0;
}

void calls_work_free(struct calls_work *w)
{
	free(w->from);
	free(w->to);
	free(w->before);
	free(w->left);
	free(w->behind);
}
