/* SPDX-License-Identifier: BSD-3-Clause */
/* calls - which edges are calls, returns and tail calls, and between which functions. */
#include "analyse/calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "analyse/flow/calls_int.h"
#include "symbol/named.h"

struct telling {
	struct calls *out;
	struct calls_work w;
	struct calls_sum sum;
	struct calls_plts *plts;
	struct calls_place part, whole; /* the last that was asked for */
	struct err *err;
};

static int put_tie(struct telling *t, const struct calls_place *caller,
		   const struct calls_place *callee, struct calls_tie tie)
{
	uint64_t hits = t->w.edge[tie.edge].w.hits;

	tie.caller = calls_number(&t->sum, caller);
	tie.callee = calls_number(&t->sum, callee);
	if (tie.caller == UINT32_MAX || tie.callee == UINT32_MAX || vec_push(&t->sum.tie, tie))
		return err_nomem(t->err);
	if (!tie.tail && (!caller->symbol || !callee->symbol))
		t->out->no_symbol += hits;
	return 0;
}

static bool same(const struct calls_place *a, const struct calls_place *b)
{
	return a->image == b->image && a->symbol == b->symbol;
}

/* f.cold is part of f. */
static int place_of(struct telling *t, const struct flow_place *at, const struct symbol *s,
		    struct calls_place *out)
{
	*out = (struct calls_place){ at->image, s, at->kind };
	if (!s || at->image == IMAGE_NONE)
		return 0;
	if (!same(out, &t->part)) {
		t->part = t->whole = *out;
		calls_whole(t->w.images, at->image, &t->whole.symbol);
	}
	out->symbol = t->whole.symbol;
	return 0;
}

/* Replaces a PLT by the function behind it, if that is known; else the PLT stays. */
static int follow(struct telling *t, struct calls_place *callee, struct calls_tie *tie)
{
	struct calls_place to;
	bool known;

	if (!calls_is_plt(callee->symbol))
		return 0;
	if (calls_plt_leads(t->plts, callee->image, callee->symbol, &to, &known, t->err))
		return -1;
	tie->plt = true;
	if (known)
		*callee = to;
	else if (!tie->tail)
		t->out->lost_plt += t->w.edge[tie->edge].w.hits;
	return 0;
}

/* ---- calls and jumps ------------------------------------------------------------------------- */

static int tell_call(struct telling *t, size_t i)
{
	const struct flow_edge *e = &t->w.edge[i];
	struct calls_tie tie = { .edge = (uint32_t)i,
				 .site = e->from.addr,
				 .indirect = t->w.left[i].indirect };
	struct calls_place caller, callee;

	if (place_of(t, &e->from, t->w.from[i], &caller) ||
	    place_of(t, &e->to, t->w.to[i], &callee))
		return -1;
	/* into its own middle: code that asks for its own address */
	if (caller.symbol && same(&caller, &callee) && e->to.addr != callee.symbol->start) {
		t->out->strange += e->w.hits;
		return 0;
	}
	return follow(t, &callee, &tie) ? -1 : put_tie(t, &caller, &callee, tie);
}

static int tell_jump(struct telling *t, size_t i)
{
	const struct flow_edge *e = &t->w.edge[i];
	const struct symbol *from = t->w.from[i], *to = t->w.to[i];
	struct calls_tie tie = { .edge = (uint32_t)i,
				 .site = e->from.addr,
				 .tail = true,
				 .indirect = t->w.left[i].indirect };
	struct calls_place caller, callee;

	if (!from || !to || from == to || e->to.addr != to->start || calls_is_trampoline(from) ||
	    calls_is_return_thunk(to)) {
		t->out->other += e->w.hits;
		return 0;
	}
	if (place_of(t, &e->from, from, &caller) || place_of(t, &e->to, to, &callee))
		return -1;
	if (same(&caller, &callee)) {
		t->out->other += e->w.hits;
		return 0;
	}
	return follow(t, &callee, &tie) ? -1 : put_tie(t, &caller, &callee, tie);
}

/* ---- returns --------------------------------------------------------------------------------- */

/* The function that the call in front of a return's destination names, if it names one. */
static int named(struct telling *t, size_t i, struct calls_place *out, bool *any)
{
	const struct calls_insn *in = &t->w.behind[i];
	const struct flow_place at = { t->w.edge[i].to.image, in->target, t->w.edge[i].to.kind };
	const struct symbol *s;

	*any = false;
	if (in->what != CALLS_CALL || !in->has_target || in->target == UINT64_MAX)
		return 0;
	s = calls_symbol(t->w.images, at.image, in->target);
	if (!s || s->start != in->target)
		return 0;
	*any = true;
	return place_of(t, &at, s, out);
}

/* A return to behind a call is one of that call. If the call names another function than the one
 * that returned, that one was called and went on by a jump. */
static int tell_return(struct telling *t, size_t i)
{
	const struct flow_edge *e = &t->w.edge[i];
	const struct calls_insn *call = &t->w.behind[i];
	struct calls_tie tie = { .edge = (uint32_t)i,
				 .site = call->code ? call->at : e->to.addr,
				 .indirect = call->code && !call->has_target };
	struct calls_tie jump = { .edge = (uint32_t)i, .site = UINT64_MAX, .tail = true };
	struct calls_place caller, callee, first;
	bool any;

	if (place_of(t, &e->to, t->w.before[i], &caller) ||
	    place_of(t, &e->from, t->w.from[i], &callee) || named(t, i, &first, &any))
		return -1;
	if (!call->code)
		t->out->no_code += e->w.hits;
	if (any && calls_is_plt(first.symbol))
		tie.plt = true;
	else if (any && !same(&first, &callee)) {
		/* nor does a thunk that all functions return through name the caller */
		if (callee.symbol && !calls_is_return_thunk(callee.symbol) &&
		    put_tie(t, &first, &callee, jump))
			return -1;
		callee = first;
	}
	return put_tie(t, &caller, &callee, tie);
}

/* ---- all edges ------------------------------------------------------------------------------- */

/* Returns true if a branch is likely a call, if neither code nor recording has its kind. */
static bool looks_like_call(const struct calls_work *w, size_t i)
{
	const struct symbol *to = w->to[i];

	return w->from[i] && to && to != w->from[i] && w->edge[i].to.addr == to->start &&
	       !calls_is_trampoline(w->from[i]);
}

static int tell(struct telling *t, size_t i)
{
	uint64_t hits = t->w.edge[i].w.hits;
	uint8_t what = t->w.left[i].what;

	if (what == CALLS_UNKNOWN && looks_like_call(&t->w, i)) {
		what = CALLS_CALL;
		if (!t->out->by_returns)
			t->out->guessed += hits;
	}
	switch (what) {
	case CALLS_KERNEL:
		t->out->kernel += hits;
		return 0;
	case CALLS_CALL:
		t->out->hits_calls += hits;
		return t->out->by_returns ? 0 : tell_call(t, i);
	case CALLS_RETURN:
		if (t->w.behind[i].what == CALLS_OTHER) {
			t->out->strange += hits;
			return 0;
		}
		t->out->hits_returns += hits;
		return t->out->by_returns ? tell_return(t, i) : 0;
	case CALLS_JUMP:
		if (!t->out->by_returns)
			return tell_jump(t, i);
		break;
	case CALLS_UNKNOWN:
		t->out->unknown += hits;
		return 0;
	default:
		break;
	}
	t->out->other += hits;
	return 0;
}

static int check(const struct flow *f, struct err *err)
{
	const struct flow_sums *s = flow_sums(f);

	if (s->filter != FLOW_STACK)
		return 0;
	(void)err_set(err, ERR_USAGE,
		      "stacks of call-stack mode (-g=lbr) hold unfinished calls, not those that "
		      "were made");
	return again_hint(err, flow_info(f), "record every branch:", "-b");
}

int calls_build(struct calls *out, const struct flow *f, struct images *images, struct err *err)
{
	const struct flow_sums *s = flow_sums(f);
	struct telling t = { .out = out, .err = err, .w = { .flow = f, .images = images } };
	int ret = -1;

	*out = (struct calls){ .by_returns = s->filter == FLOW_RETURNS,
			       .scaled = s->counts == FLOW_COUNTS_TAKEN || s->weighed,
			       .scale = 1 };
	if (check(f, err))
		return -1;
	t.w.edge = flow_edges(f, &t.w.n);
	t.plts = calls_plts_new(&t.w, err);
	if (!t.plts || calls_resolve(&t.w, err) || calls_classify(&t.w, err))
		goto out;
	for (size_t i = 0; i < t.w.n; i++)
		if (tell(&t, i))
			goto out;
	ret = calls_sum_up(out, &t.w, &t.sum, err);
out:
	calls_plts_free(t.plts);
	calls_sum_free(&t.sum);
	calls_work_free(&t.w);
	if (ret)
		calls_free(out);
	return ret;
}

void calls_free(struct calls *c)
{
	free(c->f);
	free(c->edge);
	free(c->by_callee);
	*c = (struct calls){ 0 };
}

/* ---- by name --------------------------------------------------------------------------------- */

int calls_find(const struct calls *c, struct images *images, const char *name,
	       struct calls_found *out, struct err *err)
{
	for (enum symbol_way way = 0; way < SYMBOL_WAYS && !out->v.n; way++)
		for (uint32_t i = 0; i < c->n; i++)
			if (c->f[i].symbol && c->f[i].image != IMAGE_NONE &&
			    symbol_means(c->f[i].symbol, image_name(images, c->f[i].image), name,
					 way) &&
			    vec_push(&out->v, i))
				return err_nomem(err);
	if (out->v.n)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "no function '%.200s' calls or is called in this recording", name);
	return err_hint(err, "cyclade calls lists them");
}
