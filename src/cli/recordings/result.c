/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/result.h"

#include "analyse/pass.h"
#include "cli/heap.h"
#include "report/account_view.h"
#include "report/annotate.h"
#include "report/blocks_view.h"
#include "report/calls_view.h"
#include "report/critical_view.h"
#include "report/findings_view.h"
#include "report/info_view.h"
#include "report/memory_view.h"
#include "report/chains_tables.h"
#include "report/mix_tables.h"
#include "report/parallel_view.h"
#include "report/sched_view.h"
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

result_walk *const result_walks[RESULT_COUNT] = {
	[RESULT_CALLEES] = report_walk,	     [RESULT_CALLERS] = report_walk,
	[RESULT_ACCOUNT] = account_walk,     [RESULT_PROCESSES] = account_walk,
	[RESULT_MODULES] = account_walk,     [RESULT_MEM] = mem_walk,
	[RESULT_REGISTERS] = registers_walk, [RESULT_SHARING] = sharing_walk,
	[RESULT_WAIT] = wait_walk,	     [RESULT_SCHED] = sched_walk,
	[RESULT_WALL] = wall_walk,	     [RESULT_CONCURRENCY] = concurrency_walk,
	[RESULT_CRITICAL] = critical_walk,   [RESULT_FINDINGS] = findings_walk,
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

int result_pass(struct pass **out, struct cli *cli, const struct recording *r, struct err *err)
{
	struct profile_opts po = { 0 };
	struct pass_opts pa;

	*out = NULL;
	if (recording_select(r, cli, &po, err))
		return -1;
	pa = (struct pass_opts){ .progress = po.progress, .progress_ctx = po.progress_ctx };
	po.select.event = NULL; /* visitors choose their events */
	return pass_new(out, r->rec, r->spaces, &po.select, &pa, err);
}

int result_walk_alone(struct result *x, const struct result_ask *ask, result_walk *walk,
		      struct err *err)
{
	struct pass *pass;
	int ret = 0;

	if (result_pass(&pass, ask->cli, ask->r, err))
		return -1;
	for (unsigned turn = 0; turn < 2 && !ret; turn++)
		ret = walk(x, ask, pass, turn, err) || pass_run(pass, err) ? -1 : 0;
	pass_free(pass);
	return ret;
}

/* -1: *err says why; else an exit code. */
static int show_result(struct result *x, const struct result_ask *ask, enum result_id id,
		       struct err *err)
{
	int ret = result_walks[id] ? result_walk_alone(x, ask, result_walks[id], err) : 0;

	if (!ret)
		ret = result_kinds[id].make(x, ask, err);
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
		code = show_result(&x, &ask, id, &err);
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
