/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade registers [FILE] [FUNCTION[:OFFSET]] - see doc/cyclade-registers.1.md.
 */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "cli/recording.h"
#include "config.h"
#include "report/registers_view.h"

#define ENTRIES 10 /* that are shown unless --limit says */

struct reading {
	struct cli *cli;
	struct recording r;
	const char *path, *function;
	bool named;
	struct registers *regs;
	VEC(const char *) notes;
};

/* One operand is a recording where there is such a file, else a function of the usual recording. */
static int take_operands(struct reading *c, struct err *err)
{
	struct text_list *args = &c->cli->args;
	bool input = c->cli->opt.input;

	c->named = input || args->n == 2 || (args->n && !access(args->v[0], F_OK));
	if (args->n == 2 || (args->n == 1 && (input || access(args->v[0], F_OK))))
		c->function = args->v[--args->n];
	if (args->n > 1 || (args->n && input)) {
		(void)err_set(err, ERR_USAGE, "registers takes a recording and a function");
		return err_hint(err,
				"cyclade registers [FILE] [FUNCTION[:OFFSET]]; quote a name with "
				"blanks");
	}
	c->path = cli_input(c->cli, err);
	return c->path ? 0 : -1;
}

static bool has_registers(const struct pd_event *e)
{
	return e->attr.sample_type & (PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER);
}

/* -e's, else the one with most samples that has registers. */
static int choose_event(const struct reading *c, size_t *event, struct err *err)
{
	const char *wanted = c->cli->opt.event.n ? c->cli->opt.event.v[0] : NULL;
	size_t n;
	const struct pd_event *ev = pd_events(c->r.rec, &n);
	bool any = false;

	*event = SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		any |= has_registers(&ev[i]);
		if (wanted && strcmp(wanted, ev[i].name) != 0 && !text_glob(wanted, ev[i].name))
			continue;
		if (has_registers(&ev[i]) &&
		    (*event == SIZE_MAX || ev[i].samples > ev[*event].samples))
			*event = i;
	}
	if (*event != SIZE_MAX)
		return 0;
	if (any)
		(void)err_set(err, ERR_NOT_FOUND, "no event '%.100s' with registers", wanted);
	else
		(void)err_set(err, ERR_NOT_FOUND, "the recording has no registers");
	return err_hint(err,
			"record them: cyclade record --intr-regs ...; of functions' entries: -e "
			"uprobe:PROGRAM:FUNCTION --user-regs");
}

/* Why symbols are missing. */
static int gather_notes(struct reading *c, struct view_source *source, struct err *err)
{
	size_t n_images = images_count(c->r.images);

	for (size_t i = 0; i < source->n_notes; i++)
		if (vec_push(&c->notes, source->notes[i]))
			return err_nomem(err);
	for (uint32_t id = 0; id < n_images; id++)
		if (image_mismatch(c->r.images, id) &&
		    vec_push(&c->notes, image_origin(c->r.images, id)))
			return err_nomem(err);
	source->notes = c->notes.v;
	source->n_notes = c->notes.n;
	return 0;
}

static int make(struct reading *c, const struct registers_format *f, const struct sink_opts *so,
		struct buf *out, struct err *err)
{
	const struct options *o = &c->cli->opt;
	struct registers_view v = { .all = o->all_registers };
	struct registers_opts ro = { 0 };
	struct profile_opts po = { 0 };
	size_t n;

	if (recording_open(&c->r, c->cli, c->path, err) || choose_event(c, &ro.event, err) ||
	    recording_select(&c->r, c->cli, &po, err))
		return -1;
	ro.pids = po.pids;
	ro.n_pids = po.n_pids;
	ro.tids = po.tids;
	ro.n_tids = po.n_tids;
	if (registers_find(&c->regs, c->r.rec, c->r.spaces, &ro, err))
		return -1;
	v.r = c->regs;
	v.images = c->r.images;
	v.event = &pd_events(c->r.rec, &n)[ro.event];
	v.source = view_source_of(c->r.rec);
	v.source.version = CYCLADE_VERSION;
	v.source.input = c->named ? c->path : NULL;
	if (registers_view_choose(&v, c->regs, c->function, o->at.v, o->at.n,
				  OPTION_GIVEN(o, limit) ? (size_t)o->limit : ENTRIES, err) ||
	    registers_read(c->regs, err) || gather_notes(c, &v.source, err))
		return -1;
	cli_progress_end(c->cli);
	return f->write(out, &v, so, err);
}

int cmd_registers(struct cli *cli)
{
	struct reading c = { .cli = cli };
	const struct registers_format *f;
	struct sink_opts so;
	struct buf out = BUF_INIT;
	struct err err = ERR_INIT;
	int code = -1;

	f = registers_format_find(cli_format(cli), &err);
	if (f && !cli_sink(cli, &so, &err) && !take_operands(&c, &err))
		code = make(&c, f, &so, &out, &err);
	cli_progress_end(cli);
	code = code < 0 ? cli_fail(&err) : cli_put(cli, &out, !f->machine);
	buf_free(&out);
	vec_free(&c.notes);
	registers_free(c.regs);
	recording_close(&c.r);
	return code;
}
