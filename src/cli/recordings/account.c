/* SPDX-License-Identifier: BSD-3-Clause */
/* report --account: rows by branches of the account of cycles. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/model_choice.h"
#include "cli/recordings/accounting.h"
#include "cli/recordings/result.h"
#include "report/account_view.h"
#include "report/column.h"

#define MIN_SHOWN 0.005 /* for people: rows below half a percent are summed; default of --min */

struct account_report {
	struct cli *cli;
	const struct recording *r;
	struct accounting x;
	struct profile_opts po;
	const struct profile *profile;
	struct profile *own_profile; /* the same, unless others share it */
	struct view_source source;
	struct result_shared own_flow;
	const struct flow *flow; /* of branch records; NULL: none, or they do not add up */
	struct blocks blocks;
	struct calls calls;
	struct account_rans rans;
	struct account_opts ao;
	const struct account_bound *bound[ACCOUNTING_CORES]; /* the views point to it */
	struct account_view *view[ACCOUNTING_CORES];
	struct text_list expand;
};

static void end(void *own)
{
	struct account_report *rp = own;

	for (size_t k = 0; k < ACCOUNTING_CORES; k++)
		account_view_free(rp->view[k]);
	calls_free(&rp->calls);
	blocks_free(&rp->blocks);
	result_shared_free(&rp->own_flow);
	accounting_close(&rp->x);
	profile_free(rp->own_profile);
	free(rp);
}

static int refuse_others(const struct options *o, struct err *err)
{
	const char *other = o->branch	    ? "-b"
			    : o->call_graph ? "-g"
			    : o->callers    ? "--callers"
			    : o->children   ? "--children"
			    : o->event.n    ? "-e"
			    : o->fields	    ? "--fields"
					    : NULL;

	if (!other)
		return 0;
	(void)err_set(err, ERR_USAGE, "report --account does not take %s", other);
	return err_hint(err, o->event.n	 ? "--expand NODE shows the parts of a branch"
			     : o->fields ? "--expand NODE chooses columns, --table a table"
					 : "-s chooses the rows");
}

static int choose(struct account_report *rp, const struct show *show, struct err *err)
{
	bool programs = show_is_data(show);
	static const char *const units[] = { "pct", "cycles", "samples" };
	const struct options *o = &rp->cli->opt;
	struct text_list open = o->expand;
	const char *both[2] = { o->account };
	bool by_event;

	if (!open.n && *o->account) /* --account=NODE */
		open = (struct text_list){ both, 1 };
	if (refuse_others(o, err) || split_events(rp->cli, &open, &rp->expand, err))
		return -1;
	if (keys_parse(&rp->po, &by_event, o->sort, err))
		return -1;
	if (by_event) {
		(void)err_set(err, ERR_USAGE,
			      "report --account does not take -s event: a row has all events");
		return err_hint(err, "-v lists the events; --expand NODE shows the parts of a "
				     "branch");
	}
	for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++)
		if (o->unit && !strcmp(o->unit, units[k]))
			rp->ao.unit = (enum account_unit)k;
	rp->ao.focus = o->focus;
	rp->ao.hide = o->hide;
	rp->ao.expand = rp->expand.v;
	rp->ao.n_expand = rp->expand.n;
	rp->ao.limit = (size_t)o->limit;
	rp->ao.min = OPTION_GIVEN(o, min) ? o->min / 100 : programs ? 0 : MIN_SHOWN;
	rp->ao.errors = o->errors;
	rp->ao.nested = !programs && !o->sort;
	rp->ao.all = o->verbose;
	return 0;
}

/* Instructions and calls of functions, if branches were recorded. An account needs none. */
static void add_branches(struct account_report *rp, const struct result_ask *ask)
{
	const struct blocks_opts all = { .function = NULL };
	struct err why = ERR_INIT;
	bool any;

	if (!recording_has(rp->r, PERF_SAMPLE_BRANCH_STACK) ||
	    result_flow(&rp->flow, ask, &rp->own_flow, &why))
		return;
	any = flow_sums(rp->flow)->filter == FLOW_ANY;
	if ((any && blocks_build(&rp->blocks, rp->flow, rp->r->images, &all, &why)) ||
	    calls_build(&rp->calls, rp->flow, rp->r->images, &why))
		return;
	account_rans_make(&rp->rans, &rp->cli->arena, any ? &rp->blocks : NULL, &rp->calls,
			  rp->profile);
	rp->rans.late = flow_sums(rp->flow)->late;
}

static const char *words_of_models(struct cli *cli)
{
	const struct model_choice choice = cli_model_choice(cli);
	struct buf b = BUF_INIT;
	const char *out;

	model_choice_put(&b, &choice);
	buf_trim(&b);
	out = arena_xstrdup(&cli->arena, buf_str(&b));
	buf_free(&b);
	return out;
}

static int build(struct account_report *rp, const struct result_ask *ask, struct err *err)
{
	struct account_source s;
	const char *models;

	if (result_profile(&rp->profile, &rp->own_profile, ask, &rp->po, err))
		return -1;
	accounting_whole(&rp->x, rp->cli, rp->r->rec, rp->profile);
	add_branches(rp, ask);
	recording_source(&rp->source, rp->r, rp->cli, ask->said.input, NULL);
	models = words_of_models(rp->cli);
	for (size_t k = 0; k < rp->x.n_cores; k++)
		rp->bound[k] = &rp->x.core[k].bound;
	for (size_t k = 0; k < rp->x.n_cores; k++) {
		s = (struct account_source){ .profile = rp->profile,
					     .bound = rp->bound[k],
					     .all = rp->bound,
					     .n_all = rp->x.n_cores,
					     .mux = rp->x.mux,
					     .rans = rp->rans.n ? &rp->rans : NULL,
					     .view = &rp->source,
					     .pmu = rp->x.core[k].pmu,
					     .models = models,
					     .notes = rp->x.notes,
					     .n_notes = rp->x.n_notes };
		if (account_view_make(&rp->view[k], &s, &rp->ao, err))
			return -1;
	}
	return 0;
}

int account_walk(struct result *out, const struct result_ask *ask, struct pass *pass, unsigned turn,
		 struct err *err)
{
	struct account_report *rp = out->own;

	if (turn)
		return 0;
	out->own = rp = xcalloc(1, sizeof(*rp));
	out->end = end;
	rp->cli = ask->cli;
	rp->r = ask->r;
	if (choose(rp, ask->show, err) ||
	    accounting_open(&rp->x, rp->cli, rp->r->rec, ask->bases, err) ||
	    recording_select(rp->r, rp->cli, &rp->po, err))
		return -1;
	rp->po.once = true;
	rp->po.mux = rp->x.mux;
	return ask->bases ? result_profile_begin(ask, pass, &rp->po, err) : 0;
}

int account_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct account_report *rp = out->own;

	if (build(rp, ask, err))
		return -1;
	document_open(&out->d, &account_document, rp);
	account_put(&out->d, rp->view, rp->x.n_cores);
	return 0;
}
