/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade calls [FILE] [FUNCTION] - see doc/cyclade-calls.1.md.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/blocks.h"
#include "base/num.h"
#include "cli/recording.h"
#include "report/calls_view.h"

struct counting_calls {
	struct cli *cli;
	struct recording r;
	struct cli_operands said;
	struct flow *flow;
	struct calls calls;
	struct calls_found found;
	uint32_t *order;
};

static int check_branches(const struct recording *r, struct err *err)
{
	if (recording_has(r, PERF_SAMPLE_BRANCH_STACK))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "the recording has no branch stacks: nothing tells who called whom");
	return err_hint(err, "record returns: cyclade record --branch-filter any_ret -e "
			     "br_inst_retired.near_return -- PROGRAM; any branch: -b");
}

static int count(struct counting_calls *c, struct err *err)
{
	struct flow_opts fo;

	if (c->cli->opt.event.n > 1)
		return err_set(err, ERR_USAGE, "calls counts by one event: one -e");
	if (recording_open(&c->r, c->cli, c->said.path, err) || check_branches(&c->r, err) ||
	    recording_flow(&c->r, c->cli, &fo, err))
		return -1;
	return flow_build(&c->flow, c->r.rec, c->r.spaces, &fo, err) ||
			       blocks_weigh(&c->flow, c->r.images, c->r.rec, c->r.spaces, &fo,
					    err) ||
			       calls_build(&c->calls, c->flow, c->r.images, err)
		       ? -1
		       : 0;
}

static int list_choices(const struct counting_calls *c, const struct calls_view *v)
{
	size_t n = c->found.v.n;
	struct cli_choice *choice = arena_alloc(&c->cli->arena, n * sizeof(*choice));
	char share[NUM_MAX];

	for (size_t i = 0; choice && i < n; i++) {
		uint32_t f = c->found.v.v[i];

		choice[i] = (struct cli_choice){ calls_dso(v, f), calls_name(v, f),
						 c->calls.f[f].symbol->start, "" };
		(void)snprintf(choice[i].weight, sizeof(choice[i].weight), "%8s of calls",
			       num_percent(share, calls_share(v, c->calls.f[f].called.v)));
	}
	return cli_choices(c->cli, c->said.function, choice, n);
}

/* -1: *err says why; else an exit code. */
static int make(struct counting_calls *c, struct calls_view *v, struct err *err)
{
	v->c = &c->calls;
	if (count(c, err))
		return -1;
	cli_progress_end(c->cli);
	v->sums = flow_sums(c->flow);
	v->images = c->r.images;
	v->limit = (size_t)c->cli->opt.limit;
	if (recording_source(&v->source, &c->r, c->cli, c->said.input, NULL, err))
		return -1;
	if (c->said.function &&
	    calls_find(&c->calls, c->r.images, c->said.function, &c->found, err))
		return -1;
	if (c->found.v.n > 1)
		return list_choices(c, v);
	if (c->found.v.n)
		v->function = c->found.v.v[0];
	c->order = calls_by_runs(&c->calls);
	v->order = c->order;
	return c->order ? EXIT_OK : err_nomem(err);
}

int cmd_calls(struct cli *cli)
{
	struct counting_calls c = { .cli = cli };
	struct calls_view v = { .function = CALLS_ALL };
	struct document d;
	struct show show;
	struct err err = ERR_INIT;
	int code = -1;

	document_open(&d, &calls_document, &v);
	if (!cli_show(cli, &show, &calls_document, &err) && !cli_file_function(cli, &c.said, &err))
		code = make(&c, &v, &err);
	cli_progress_end(cli);
	if (code < 0)
		code = cli_fail(&err);
	else if (code == EXIT_OK) {
		calls_put(&d, &v);
		code = cli_document(cli, &d, &show);
	}
	document_close(&d);
	free(c.order);
	vec_free(&c.found.v);
	calls_free(&c.calls);
	flow_free(c.flow);
	recording_close(&c.r);
	return code;
}
