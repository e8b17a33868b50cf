/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade registers [FILE] [FUNCTION[:OFFSET]] - see doc/cyclade-registers.1.md.
 */
#include <stdlib.h>

#include "base/xalloc.h"
#include "analyse/again.h"
#include "cli/recordings/result.h"
#include "report/registers_view.h"

#define REGISTERS (PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER)
#define ENTRIES	  10 /* that are shown without --limit */

struct reading {
	struct registers *regs;
	struct registers_view v;
};

static void free_registers_result(void *own)
{
	struct reading *c = own;

	registers_free(c->regs);
	free(c);
}

static bool has_registers(const struct pd_event *e)
{
	return e->attr.sample_type & REGISTERS;
}

/* -e's, else the leading one that has registers. */
static int choose_registers_event(const struct result_ask *ask, size_t *event, struct err *err)
{
	const char *wanted = ask->cli->opt.event.n ? ask->cli->opt.event.v[0] : NULL;

	*event = recording_event(ask->r, wanted, has_registers);
	if (*event != SIZE_MAX)
		return 0;
	if (recording_has(ask->r, REGISTERS))
		(void)err_set(err, ERR_NOT_FOUND, "no event '%.100s' with registers", wanted);
	else
		(void)err_set(err, ERR_NOT_FOUND, "the recording has no registers");
	return again_hint(err, pd_info(ask->r->rec), "record them:", "--intr-regs");
}

/* Which of them are shown, when all are known. */
static int choose_registers(struct reading *c, const struct result_ask *ask, struct err *err)
{
	const struct options *o = &ask->cli->opt;

	c->v.all = o->all_registers;
	c->v.r = c->regs;
	c->v.images = ask->r->images;
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL);
	c->v.source.info = pd_info(ask->r->rec);
	return registers_view_choose(&c->v, c->regs, ask->said.function, o->at.v, o->at.n,
				     OPTION_GIVEN(o, limit) ? (size_t)o->limit : ENTRIES, err);
}

int registers_walk(struct result *out, const struct result_ask *ask, struct pass *pass,
		   unsigned turn, struct err *err)
{
	const struct recording *r = ask->r;
	struct registers_opts ro = { 0 };
	struct reading *c = out->own;
	size_t n;

	if (turn)
		return registers_end(c->regs, err) || choose_registers(c, ask, err) ||
				       registers_read_begin(c->regs, pass, err)
			       ? -1
			       : 0;
	out->own = c = xcalloc(1, sizeof(*c));
	out->end = free_registers_result;
	if (choose_registers_event(ask, &ro.event, err))
		return -1;
	c->v.event = &pd_events(r->rec, &n)[ro.event];
	return registers_begin(&c->regs, pass, r->rec, r->spaces, &ro, err);
}

int registers_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct reading *c = out->own;

	(void)ask;
	if (registers_read_end(c->regs, err))
		return -1;
	document_open(&out->d, &registers_document, NULL);
	registers_put(&out->d, &c->v);
	return 0;
}

int cmd_registers(struct cli *cli)
{
	return result_command(cli, RESULT_REGISTERS, cli_file_function);
}
