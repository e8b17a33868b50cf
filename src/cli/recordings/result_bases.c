/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/blocks.h"
#include "analyse/cube.h"
#include "analyse/mux.h"
#include "analyse/pass.h"
#include "analyse/wait.h"
#include "base/xalloc.h"
#include "cli/recordings/result.h"
#include "report/column.h"

#define ACCOUNT_EVENTS 4 /* with fewer there is no account */

void result_bases_free(struct result_bases *b)
{
	result_shared_free(&b->memory);
	result_shared_free(&b->flow);
	result_shared_free(&b->wait);
	cube_free(b->cube);
	while (b->profile.n) /* the later ones may be of the first */
		profile_free(b->profile.v[--b->profile.n]);
	vec_free(&b->profile);
	mux_free(b->mux); /* profiles are weighed by it */
}

/* Keys of other results' rows: those of the account, if there is one. */
static uint32_t keys_of_others(const struct recording *r)
{
	size_t n;

	(void)pd_events(r->rec, &n);
	return 1u << KEY_COMM | (n >= ACCOUNT_EVENTS ? 1u << KEY_PID : 0);
}

int result_profile(const struct profile **out, struct profile **own, const struct result_ask *ask,
		   const struct profile_opts *po, struct err *err)
{
	struct result_bases *b = ask->bases;
	const struct recording *r = ask->r;
	struct profile_opts opts = *po;
	const struct profile *of = NULL;
	struct profile *p = NULL;

	*out = *own = NULL;
	for (size_t i = 0; b && i < b->profile.n; i++) {
		if (profile_is(b->profile.v[i], po)) {
			*out = b->profile.v[i];
			return 0;
		}
		if (profile_has(b->profile.v[i], po))
			of = b->profile.v[i];
	}
	opts.once &= !b;
	if (b && !of && !po->branches && !po->chains)
		opts.also = keys_of_others(r);
	if (of ? profile_again(&p, of, &opts, err)
	       : profile_build(&p, r->rec, r->spaces, &opts, err))
		return -1;
	if (b)
		vec_xpush(&b->profile, p);
	else
		*own = p;
	*out = p;
	return 0;
}

static void end_flow(void *own)
{
	flow_free(own);
}

int result_flow(const struct flow **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err)
{
	struct result_shared *s = ask->bases ? &ask->bases->flow : own;
	const struct recording *r = ask->r;
	struct flow *f = NULL;
	struct flow_opts fo;

	*out = s->own;
	if (*out)
		return 0;
	if (recording_flow(r, ask->cli, &fo, err))
		return -1;
	if (flow_build(&f, r->rec, r->spaces, &fo, err) ||
	    blocks_weigh(&f, r->images, r->rec, r->spaces, &fo, err)) {
		flow_free(f);
		return -1;
	}
	*s = (struct result_shared){ .own = f, .end = end_flow };
	*out = f;
	return 0;
}

/* ---- one walk for several -------------------------------------------------------------------- */

struct sharing_walk {
	struct pass *pass;
	struct profile *rows, *branches;
	struct flow *flow;
	struct flow_opts flow_opts;
	struct cube *cube;
};

/* Rows as those of `report`, from which the account and annotate make their own. Trees of chains
 * have a walk of their own: only the cube shows if there are too many of them. */
static int begin_rows(struct sharing_walk *w, struct cli *cli, const struct recording *r,
		      const struct profile_opts *select, struct err *err)
{
	struct profile_opts po = *select;
	bool by_event;

	if (keys_parse(&po, &by_event, cli->opt.sort, err))
		return -1;
	po.also = keys_of_others(r);
	return profile_begin(&w->rows, w->pass, r->rec, r->spaces, &po, err);
}

static int begin_branches(struct sharing_walk *w, const struct recording *r,
			  const struct profile_opts *select, struct err *err)
{
	struct profile_opts po = *select;
	bool by_event;

	po.branches = true;
	if (keys_parse(&po, &by_event, NULL, err))
		return -1;
	return profile_begin(&w->branches, w->pass, r->rec, r->spaces, &po, err);
}

/* If a part fails here, it fails again, with the reason, in the result that needs it. */
static void begin_all(struct sharing_walk *w, struct cli *cli, const struct recording *r,
		      const struct profile_opts *select, size_t cube_event)
{
	struct err why = ERR_INIT;

	if (begin_rows(w, cli, r, select, &why))
		err_clear(&why);
	if (cube_event != SIZE_MAX &&
	    cube_begin(&w->cube, w->pass, r->rec, r->spaces, select, cube_event, &why))
		err_clear(&why);
	if (!recording_has(r, PERF_SAMPLE_BRANCH_STACK))
		return;
	if (begin_branches(w, r, select, &why))
		err_clear(&why);
	if (recording_flow(r, cli, &w->flow_opts, &why) ||
	    flow_begin(&w->flow, w->pass, r->rec, &w->flow_opts, &why))
		err_clear(&why);
}

static void end_profile(struct result_bases *b, struct profile *p)
{
	struct err why = ERR_INIT;

	if (!p)
		return;
	if (profile_end(p, &why))
		profile_free(p);
	else
		vec_xpush(&b->profile, p);
}

static void end_all(struct result_bases *b, struct sharing_walk *w, const struct recording *r)
{
	struct err why = ERR_INIT;

	end_profile(b, w->rows);
	end_profile(b, w->branches);
	if (w->cube && cube_end(w->cube, &why)) {
		cube_free(w->cube);
		err_clear(&why);
	} else {
		b->cube = w->cube;
	}
	if (!w->flow)
		return;
	if (flow_end(w->flow, &why) ||
	    blocks_weigh(&w->flow, r->images, r->rec, r->spaces, &w->flow_opts, &why))
		flow_free(w->flow);
	else
		b->flow = (struct result_shared){ .own = w->flow, .end = end_flow };
}

int result_bases_walk(struct result_bases *b, struct cli *cli, const struct recording *r,
		      size_t cube_event, struct err *err)
{
	struct profile_opts po = { .max_stack = (uint32_t)cli->opt.max_stack };
	struct sharing_walk w = { .pass = NULL };
	struct selection select;
	struct pass_opts pa;
	int ret;

	if (recording_select(r, cli, &po, err))
		return -1;
	pa = (struct pass_opts){ .progress = po.progress, .progress_ctx = po.progress_ctx };
	select = po.select;
	select.event = NULL; /* visitors choose their events */
	if (pass_new(&w.pass, r->rec, r->spaces, &select, &pa, err))
		return -1;
	begin_all(&w, cli, r, &po, cube_event);
	ret = pass_run(w.pass, err);
	if (ret) {
		profile_free(w.rows);
		profile_free(w.branches);
		cube_free(w.cube);
		flow_free(w.flow);
	} else {
		end_all(b, &w, r);
	}
	pass_free(w.pass);
	return ret;
}

static void end_wait(void *own)
{
	wait_free(own);
}

int result_wait(const struct wait **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err)
{
	struct result_shared *s = ask->bases ? &ask->bases->wait : own;
	struct profile_opts po = { 0 };
	struct wait_opts wo;
	struct wait *w = NULL;

	*out = s->own;
	if (*out)
		return 0;
	if (recording_select(ask->r, ask->cli, &po, err))
		return -1;
	wo = (struct wait_opts){ po.select, po.progress, po.progress_ctx };
	if (wait_build(&w, ask->r->rec, ask->r->spaces, &wo, err))
		return -1;
	*s = (struct result_shared){ .own = w, .end = end_wait };
	*out = w;
	return 0;
}
