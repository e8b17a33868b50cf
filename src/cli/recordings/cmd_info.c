/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade info [FILE] - see doc/cyclade-info.1.md. Symbols are not looked at, so that it is quick.
 */
#include "analyse/profile.h"
#include "cli/cli.h"
#include "cli/recording.h"
#include "cli/selecting.h"
#include "perfdata/perfdata.h"
#include "report/info_view.h"

static bool selects(const struct options *o)
{
	return o->comm || o->only_pid.n || o->only_tid.n || o->cpu || o->time;
}

/* Whose a thread is, and its name, come from side-band records: only a selection needs them. */
static int open_input(struct recording *r, struct cli *cli, const char *file, struct err *err)
{
	*r = (struct recording){ 0 };
	return selects(&cli->opt) ? recording_open(r, cli, file, err) : pd_open(&r->rec, file, err);
}

static int count_samples(struct info_view *v, struct cli *cli, const struct recording *r,
			 struct err *err)
{
	struct selection select = { .event = NULL };
	struct tally *of = arena_alloc(&cli->arena, (v->source.n_events + 1) * sizeof(*of));

	v->of = of;
	v->selects = selects(&cli->opt);
	if (!of)
		return err_nomem(err);
	return selecting(&select, v->rec, cli, err) ||
			       profile_samples(v->rec, r->spaces, &select, of, err)
		       ? -1
		       : 0;
}

static int make(struct info_view *v, struct cli *cli, struct recording *r, struct err *err)
{
	v->file = cli_input(cli, err);
	if (!v->file || open_input(r, cli, v->file, err))
		return -1;
	v->rec = r->rec;
	v->source = view_source_of(r->rec);
	v->source.input = v->file;
	v->verbose = cli->opt.verbose;
	return count_samples(v, cli, r, err);
}

int cmd_info(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct info_view v = { 0 };
	struct recording r = { 0 };
	struct document d;
	struct show show;
	int code;

	document_open(&d, &info_document, NULL);
	if (cli_show(cli, &show, &info_document, &err) || make(&v, cli, &r, &err) ||
	    info_put(&d, &v, &err))
		code = cli_fail(&err);
	else
		code = cli_document(cli, &d, &show);
	document_close(&d);
	recording_close(&r);
	return code;
}
