/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/blocks.h"
#include "analyse/cube.h"
#include "analyse/memory.h"
#include "analyse/mux.h"
#include "analyse/pass.h"
#include "analyse/wait.h"
#include "base/xalloc.h"
#include "cli/recordings/result.h"
#include "cli/recordings/waiting.h"
#include "report/column.h"

void result_bases_free(struct result_bases *b)
{
	wall_cube_close(b->wall);
	result_shared_free(&b->memory);
	result_shared_free(&b->flow);
	result_shared_free(&b->wait);
	cube_free(b->cube);
	memory_free(b->event_memory);
	profile_reads_free(b->reads);
	while (b->begun.n)
		profile_free(b->begun.v[--b->begun.n]);
	vec_free(&b->begun);
	while (b->profile.n) /* the later ones may be of the first */
		profile_free(b->profile.v[--b->profile.n]);
	vec_free(&b->profile);
	mux_free(b->mux); /* profiles are weighed by it */
}

bool result_has_account(const struct recording *r)
{
	size_t n;

	(void)pd_events(r->rec, &n);
	return n >= ACCOUNT_EVENTS;
}

/* Keys of other results' rows: those of the account, if there is one. */
static uint32_t keys_of_others(const struct recording *r)
{
	return 1u << KEY_COMM | (result_has_account(r) ? 1u << KEY_PID : 0);
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
	opts.reads = b ? b->reads : NULL;
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

bool result_sums(struct tally *of, const struct result_bases *b)
{
	vec_each (&b->profile, struct profile *const *, p) {
		const struct profile_opts *o = profile_options(*p);
		size_t n;
		const struct profile_sum *sum = profile_sums(*p, &n);

		if (o->branches || o->select.event || (o->mux && mux_told(o->mux)))
			continue;
		for (size_t e = 0; e < n; e++)
			of[e] = (struct tally){ .samples = sum[e].selected.samples,
						.period = sum[e].selected.period };
		return true;
	}
	return false;
}

static bool has_profile(const struct result_bases *b, const struct profile_opts *po)
{
	vec_each (&b->profile, struct profile *const *, p)
		if (profile_is(*p, po) || profile_has(*p, po))
			return true;
	vec_each (&b->begun, struct profile *const *, p)
		if (profile_is(*p, po) || profile_has(*p, po))
			return true;
	return false;
}

int result_profile_begin(const struct result_ask *ask, struct pass *pass,
			 const struct profile_opts *po, struct err *err)
{
	struct result_bases *b = ask->bases;
	const struct recording *r = ask->r;
	struct profile_opts opts = *po;
	struct profile *p;

	if (has_profile(b, po))
		return 0;
	opts.once = false;
	opts.reads = b->reads;
	if (!po->branches && !po->chains)
		opts.also = keys_of_others(r);
	if (profile_begin(&p, pass, r->rec, r->spaces, &opts, err))
		return -1;
	vec_xpush(&b->begun, p);
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

/* Rows as those of `report` are, which annotate makes others of. Trees of chains have a walk of
 * their own: only the cube says whether there are too many of them to show. */
static int begin_rows(const struct result_ask *ask, const struct profile_opts *select,
		      struct pass *pass, struct err *err)
{
	struct profile_opts po = *select;
	bool by_event;

	return keys_parse(&po, &by_event, ask->cli->opt.sort, err)
		       ? -1
		       : result_profile_begin(ask, pass, &po, err);
}

static int begin_branches(const struct result_ask *ask, const struct profile_opts *select,
			  struct pass *pass, struct err *err)
{
	struct profile_opts po = *select;
	bool by_event;

	po.branches = true;
	return keys_parse(&po, &by_event, NULL, err) ? -1
						     : result_profile_begin(ask, pass, &po, err);
}

static int begin_flow(struct result_bases *b, const struct result_ask *ask, struct pass *pass,
		      struct err *err)
{
	struct flow *f = NULL;

	if (recording_flow(ask->r, ask->cli, &b->flow_opts, err) ||
	    flow_begin(&f, pass, ask->r->rec, &b->flow_opts, err))
		return -1;
	b->flow = (struct result_shared){ .own = f, .end = end_flow };
	return 0;
}

/* Latencies of the event that annotate shows, if the result of mem is of others, too. */
static int begin_memory(struct result_bases *b, const struct result_ask *ask, struct pass *pass,
			struct err *err)
{
	const struct recording *r = ask->r;
	const char *wanted = ask->cli->opt.event.n ? ask->cli->opt.event.v[0] : NULL;
	struct memory_opts mo = { .only = NULL };
	size_t n, event = recording_event(r, wanted, NULL), others = 0;
	const struct pd_event *ev = pd_events(r->rec, &n);

	if (event == SIZE_MAX || memop_how(r->rec, &ev[event]).from == MEMOP_FROM_NOTHING)
		return 0;
	for (size_t i = 0; i < n; i++)
		others += i != event && memop_how(r->rec, &ev[i]).from != MEMOP_FROM_NOTHING;
	if (!others)
		return 0;
	mo.only = &ev[event];
	b->memory_event = event;
	return memory_begin(&b->event_memory, NULL, pass, r->rec, r->spaces, &mo, err);
}

/* What fails here fails again, with its reason, for who asks for it. */
int result_bases_begin(struct result_bases *b, struct cli *cli, const struct recording *r,
		       size_t cube_event, struct pass *pass, struct err *err)
{
	struct profile_opts po = { .max_stack = (uint32_t)cli->opt.max_stack }, chains;
	const struct result_ask ask = { .cli = cli, .r = r, .bases = b };
	struct err why = ERR_INIT;

	if (recording_select(r, cli, &po, err) || profile_reads_build(&b->reads, r->rec, err))
		return -1;
	b->open = true;
	po.reads = b->reads;
	if (begin_rows(&ask, &po, pass, &why))
		err_clear(&why);
	chains = po;
	chains.chain_inline = true;
	if (cube_event != SIZE_MAX &&
	    cube_begin(&b->cube, pass, r->rec, r->spaces, &chains, cube_event, &why))
		err_clear(&why);
	if (begin_memory(b, &ask, pass, &why))
		err_clear(&why);
	if (!recording_has(r, PERF_SAMPLE_BRANCH_STACK))
		return 0;
	if (begin_branches(&ask, &po, pass, &why))
		err_clear(&why);
	if (begin_flow(b, &ask, pass, &why))
		err_clear(&why);
	return 0;
}

static void end_profiles(struct result_bases *b, bool failed)
{
	struct err why = ERR_INIT;

	vec_each (&b->begun, struct profile **, p)
		if (failed || profile_end(*p, &why)) {
			err_clear(&why);
			profile_free(*p);
		} else {
			vec_xpush(&b->profile, *p);
		}
	b->begun.n = 0;
}

void result_bases_end(struct result_bases *b, const struct recording *r, bool failed)
{
	struct err why = ERR_INIT;
	struct flow *f = b->flow.own;

	end_profiles(b, failed);
	if (!b->open)
		return;
	b->open = false;
	if (b->cube && (failed || cube_end(b->cube, &why))) {
		cube_free(b->cube);
		b->cube = NULL;
		err_clear(&why);
	}
	if (b->event_memory && (failed || memory_end(b->event_memory, &why))) {
		memory_free(b->event_memory);
		b->event_memory = NULL;
		err_clear(&why);
	}
	if (f && (failed || flow_end(f, &why) ||
		  blocks_weigh(&f, r->images, r->rec, r->spaces, &b->flow_opts, &why))) {
		flow_free(f);
		f = NULL;
		err_clear(&why);
	}
	b->flow.own = f;
}

static void end_wait(void *own)
{
	wait_free(own);
}

static int begin_wait(struct wait **out, const struct result_ask *ask, struct pass *pass,
		      struct err *err)
{
	struct profile_opts po = { 0 };
	struct wait_opts wo;

	if (recording_select(ask->r, ask->cli, &po, err))
		return -1;
	wo = (struct wait_opts){ po.select, po.progress, po.progress_ctx };
	return pass ? wait_begin(out, pass, ask->r->rec, ask->r->spaces, &wo, err)
		    : wait_build(out, ask->r->rec, ask->r->spaces, &wo, err);
}

int result_wait_begin(const struct result_ask *ask, struct result_shared *own, struct pass *pass,
		      struct err *err)
{
	struct result_shared *s = ask->bases ? &ask->bases->wait : own;
	struct wait *w;

	if (s->own)
		return 0;
	if (begin_wait(&w, ask, pass, err))
		return -1;
	*s = (struct result_shared){ .own = w, .end = end_wait };
	return 0;
}

int result_wait(const struct wait **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err)
{
	struct result_shared *s = ask->bases ? &ask->bases->wait : own;
	struct wait *w = s->own;

	*out = NULL;
	if (!w) {
		if (begin_wait(&w, ask, NULL, err))
			return -1;
		*s = (struct result_shared){ .own = w, .end = end_wait };
	} else if (wait_end(w, err)) {
		result_shared_free(s);
		return -1;
	}
	*out = w;
	return 0;
}
