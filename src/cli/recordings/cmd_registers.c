/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade registers [FILE] [FUNCTION[:OFFSET]] - see doc/cyclade-registers.1.md.
 */
#include "cli/recording.h"
#include "report/registers_view.h"

#define REGISTERS (PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER)
#define ENTRIES	  10 /* that are shown unless --limit says */

struct reading {
	struct cli *cli;
	struct recording r;
	struct cli_operands said;
	struct registers *regs;
	struct registers_view v;
};

static bool has_registers(const struct pd_event *e)
{
	return e->attr.sample_type & REGISTERS;
}

/* -e's, else the one with most samples that has registers. */
static int choose_event(const struct reading *c, size_t *event, struct err *err)
{
	const char *wanted = c->cli->opt.event.n ? c->cli->opt.event.v[0] : NULL;

	*event = recording_event(&c->r, wanted, has_registers);
	if (*event != SIZE_MAX)
		return 0;
	if (recording_has(&c->r, REGISTERS))
		(void)err_set(err, ERR_NOT_FOUND, "no event '%.100s' with registers", wanted);
	else
		(void)err_set(err, ERR_NOT_FOUND, "the recording has no registers");
	return err_hint(err,
			"record them: cyclade record --intr-regs ...; of functions' entries: -e "
			"uprobe:PROGRAM:FUNCTION --user-regs");
}

static int make(struct reading *c, struct err *err)
{
	const struct options *o = &c->cli->opt;
	struct registers_opts ro = { 0 };
	struct profile_opts po = { 0 };
	size_t n;

	if (recording_open(&c->r, c->cli, c->said.path, err) || choose_event(c, &ro.event, err) ||
	    recording_select(&c->r, c->cli, &po, err))
		return -1;
	ro.select = po.select;
	if (registers_find(&c->regs, c->r.rec, c->r.spaces, &ro, err))
		return -1;
	c->v.all = o->all_registers;
	c->v.r = c->regs;
	c->v.images = c->r.images;
	c->v.event = &pd_events(c->r.rec, &n)[ro.event];
	if (registers_view_choose(&c->v, c->regs, c->said.function, o->at.v, o->at.n,
				  OPTION_GIVEN(o, limit) ? (size_t)o->limit : ENTRIES, err) ||
	    registers_read(c->regs, err) ||
	    recording_source(&c->v.source, &c->r, c->cli, c->said.input, NULL, err))
		return -1;
	cli_progress_end(c->cli);
	return 0;
}

int cmd_registers(struct cli *cli)
{
	struct reading c = { .cli = cli };
	struct document d;
	struct show show;
	struct err err = ERR_INIT;
	int code;

	document_open(&d, &registers_document, NULL);
	if (cli_show(cli, &show, &registers_document, &err) ||
	    cli_file_function(cli, &c.said, &err) || make(&c, &err)) {
		cli_progress_end(cli);
		code = cli_fail(&err);
	} else {
		registers_put(&d, &c.v);
		code = cli_document(cli, &d, &show);
	}
	document_close(&d);
	registers_free(c.regs);
	recording_close(&c.r);
	return code;
}
