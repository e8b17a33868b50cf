/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade calls [FILE] [FUNCTION] - see doc/cyclade-calls.1.md.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/again.h"
#include "analyse/blocks.h"
#include "base/num.h"
#include "base/xalloc.h"
#include "cli/recordings/result.h"
#include "report/calls_view.h"

struct counting_calls {
	struct result_shared own_flow;
	const struct flow *flow;
	struct calls calls;
	struct calls_view v;
	uint32_t *order;
};

static void free_counted_calls(void *own)
{
	struct counting_calls *c = own;

	free(c->order);
	calls_free(&c->calls);
	result_shared_free(&c->own_flow);
	free(c);
}

static int check_branches(const struct recording *r, struct err *err)
{
	if (recording_has(r, PERF_SAMPLE_BRANCH_STACK))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "the recording has no branch stacks: nothing tells who called whom");
	return again_hint(err, pd_info(r->rec),
			  "record them:", again_branches(pd_info(r->rec), AGAIN_RETURNS));
}

static int count_flow_calls(struct counting_calls *c, const struct result_ask *ask, struct err *err)
{
	if (ask->cli->opt.event.n > 1)
		return err_set(err, ERR_USAGE, "calls counts by one event: one -e");
	if (check_branches(ask->r, err) || result_flow(&c->flow, ask, &c->own_flow, err))
		return -1;
	return calls_build(&c->calls, c->flow, ask->r->images, err);
}

static void list_called(struct result *out, const struct result_ask *ask,
			const struct counting_calls *c, const struct calls_found *found)
{
	struct cli_choice *choice = arena_xalloc(&ask->cli->arena, found->v.n * sizeof(*choice));
	char share[NUM_MAX];

	for (size_t i = 0; i < found->v.n; i++) {
		uint32_t f = found->v.v[i];

		choice[i] = (struct cli_choice){ calls_dso(&c->v, f), calls_name(&c->v, f),
						 c->calls.f[f].symbol->start, "" };
		(void)snprintf(choice[i].weight, sizeof(choice[i].weight), "%8s of calls",
			       num_percent(share, calls_share(&c->v, c->calls.f[f].called.v)));
	}
	out->choice = choice;
	out->n_choices = found->v.n;
}

static void put_calls_found(struct result *out, const struct result_ask *ask,
			    struct counting_calls *c, const struct calls_found *found)
{
	if (found->v.n > 1) {
		list_called(out, ask, c, found);
		return;
	}
	if (found->v.n)
		c->v.function = found->v.v[0];
	c->order = calls_by_runs(&c->calls);
	c->v.order = c->order;
	document_open(&out->d, &calls_document, &c->v);
	calls_put(&out->d, &c->v);
}

int calls_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct counting_calls *c = xcalloc(1, sizeof(*c));
	struct calls_found found = { .v = VEC_INIT };
	int ret = 0;

	out->own = c;
	out->end = free_counted_calls;
	c->v = (struct calls_view){ .function = CALLS_ALL, .c = &c->calls };
	if (count_flow_calls(c, ask, err))
		return -1;
	c->v.sums = flow_sums(c->flow);
	c->v.images = ask->r->images;
	c->v.limit = (size_t)ask->cli->opt.limit;
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL);
	if (ask->said.function)
		ret = calls_find(&c->calls, c->v.images, ask->said.function, &found, err);
	if (!ret)
		put_calls_found(out, ask, c, &found);
	vec_free(&found.v);
	return ret;
}

int cmd_calls(struct cli *cli)
{
	return result_command(cli, RESULT_CALLS, cli_file_function);
}
