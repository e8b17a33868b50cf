/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/result.h"

#include "cli/heap.h"
#include "report/account_view.h"
#include "report/annotate.h"
#include "report/blocks_view.h"
#include "report/calls_view.h"
#include "report/critical_view.h"
#include "report/info_view.h"
#include "report/memory_view.h"
#include "report/chains_tables.h"
#include "report/mix_tables.h"
#include "report/parallel_view.h"
#include "report/registers_view.h"
#include "report/rows.h"
#include "report/sharing_view.h"
#include "report/wait_view.h"

const struct result_kind result_kinds[RESULT_COUNT] = {
#define RESULT(id, name, command, options, form, make) \
	[RESULT_##id] = { name, CMD_##command, options, &form, make },
#include "cli/recordings/results.def"
#undef RESULT
};

void result_free(struct result *x)
{
	document_close(&x->d);
	if (x->end)
		x->end(x->own);
	*x = (struct result){ .own = NULL };
}

void result_shared_free(struct result_shared *s)
{
	if (s->end)
		s->end(s->own);
	*s = (struct result_shared){ .own = NULL };
}

static void offer_browse(struct result *x, const struct result_ask *ask)
{
	struct next here[NEXT_MAX];
	struct next_list l = { .v = here, .a = &x->d.a, .input = ask->said.input };

	if (ask->cli->command != CMD_REPORT || ask->cli->opt.output || !cli_can_browse())
		return;
	next_add(&l, "browse", "", NULL, "all of it, by keys");
	if (l.n)
		document_next_last(&x->d, here[0].command, here[0].why);
}

/* Returns an exit code; -1: *err has the reason. */
static int show_result(struct result *x, const struct result_ask *ask, const struct result_kind *k,
		       struct err *err)
{
	int ret = k->make(x, ask, err);

	cli_progress_end(ask->cli);
	if (ret)
		return -1;
	if (x->n_choices)
		return cli_choices(ask->cli, ask->said.function, x->choice, x->n_choices);
	offer_browse(x, ask);
	return cli_document(ask->cli, &x->d, ask->show);
}

int result_command(struct cli *cli, enum result_id id,
		   int (*operands)(struct cli *cli, struct cli_operands *out, struct err *err))
{
	const struct result_kind *k = &result_kinds[id];
	struct recording r = { 0 };
	struct show show;
	struct result_shared shared = { .own = NULL };
	struct result_ask ask = { .cli = cli, .r = &r, .show = &show, .shared = &shared };
	struct result x = { .own = NULL };
	struct err err = ERR_INIT;
	int code = -1;

	if (!cli_show(cli, &show, k->form, &err) && !operands(cli, &ask.said, &err) &&
	    !recording_open(&r, cli, ask.said.path, &err))
		code = show_result(&x, &ask, k, &err);
	cli_progress_end(cli);
	if (code < 0)
		code = cli_fail(&err);
	if (heap_ends()) {
		recording_troubles(&r);
		return code;
	}
	result_free(&x);
	result_shared_free(&shared);
	recording_close(&r);
	return code;
}
