/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade info [FILE] - see doc/cyclade-info.1.md. Symbols are not looked at, so that it is quick.
 */
#include "base/xalloc.h"
#include "analyse/profile.h"
#include "cli/cli.h"
#include "cli/recordings/result.h"
#include "cli/selecting.h"
#include "perfdata/perfdata.h"
#include "report/info_view.h"

static bool selects(const struct options *o)
{
	return o->comm || o->only_pid.n || o->only_tid.n || o->cgroup.n || o->cpu || o->time;
}

/* Whose a thread is, and its name, come from side-band records: only a selection needs them. */
static int open_input(struct recording *r, struct cli *cli, const char *file, struct err *err)
{
	*r = (struct recording){ 0 };
	return selects(&cli->opt) ? recording_open(r, cli, file, err) : pd_open(&r->rec, file, err);
}

static int count_info_samples(struct info_view *v, const struct result_ask *ask, struct err *err)
{
	struct selection select = { .event = NULL };
	struct tally *of = arena_xalloc(&ask->cli->arena, (v->source.n_events + 1) * sizeof(*of));

	v->of = of;
	v->selects = selects(&ask->cli->opt);
	if (ask->bases && result_sums(of, ask->bases))
		return 0;
	return selecting(&select, v->rec, ask->cli, err) ||
			       profile_samples(v->rec, ask->r->spaces, &select, of, err)
		       ? -1
		       : 0;
}

int info_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct info_view *v = arena_xalloc(&ask->cli->arena, sizeof(*v));

	*v = (struct info_view){ .source = view_source_of(ask->r->rec),
				 .rec = ask->r->rec,
				 .file = ask->said.path,
				 .verbose = ask->cli->opt.verbose };
	v->source.input = v->file;
	if (count_info_samples(v, ask, err))
		return -1;
	document_open(&out->d, &info_document, NULL);
	return info_put(&out->d, v, err);
}

int cmd_info(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct recording r = { 0 };
	struct show show;
	struct result x = { .own = NULL };
	struct result_ask ask = { .cli = cli, .r = &r, .show = &show };
	int code;

	if (cli_show(cli, &show, &info_document, &err) || cli_one_recording(cli, &ask.said, &err) ||
	    open_input(&r, cli, ask.said.path, &err) || info_make(&x, &ask, &err))
		code = cli_fail(&err);
	else
		code = cli_document(cli, &x.d, &show);
	result_free(&x);
	recording_close(&r);
	return code;
}
