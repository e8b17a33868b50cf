/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade blocks [FILE] [FUNCTION] - see doc/cyclade-blocks.1.md.
 */
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/recording.h"
#include "config.h"
#include "report/blocks_view.h"

struct counting_blocks {
	struct cli *cli;
	struct recording r;
	const char *path, *function;
	bool named;
	struct flow *flow;
	struct blocks blocks;
	VEC(const char *) notes;
};

/* One operand is a recording where there is such a file, else a function of the usual recording. */
static int take_operands(struct counting_blocks *c, struct err *err)
{
	struct text_list *args = &c->cli->args;

	c->named = c->cli->opt.input || args->n == 2 || (args->n && !access(args->v[0], F_OK));
	if (args->n == 2 || (args->n == 1 && (c->cli->opt.input || access(args->v[0], F_OK))))
		c->function = args->v[--args->n];
	if (args->n > 1 || (args->n && c->cli->opt.input)) {
		(void)err_set(err, ERR_USAGE, "blocks takes a recording and a function");
		return err_hint(err, "cyclade blocks [FILE] [FUNCTION]; quote a name with blanks");
	}
	c->path = cli_input(c->cli, err);
	return c->path ? 0 : -1;
}

static bool has_branches(const struct pd *rec)
{
	size_t n;
	const struct pd_event *e = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (e[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return true;
	return false;
}

static int check_branches(const struct pd *rec, struct err *err)
{
	if (has_branches(rec))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "the recording has no branch stacks: nothing tells which blocks ran");
	return err_hint(err, "record them: cyclade record -b -e br_inst_retired.near_taken:upp -- "
			     "PROGRAM");
}

static int no_function(const struct counting_blocks *c, struct err *err)
{
	if (!c->function || c->blocks.n)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "no branch stack shows '%.200s' running", c->function);
	return err_hint(err, "cyclade blocks lists what ran; patterns are understood: '*NAME*'");
}

/* What the samples' recording says of itself, and why code is missing. */
static int gather_notes(struct counting_blocks *c, struct view_source *source, struct err *err)
{
	size_t n_images = images_count(c->r.images);

	for (size_t i = 0; i < source->n_notes; i++)
		if (vec_push(&c->notes, source->notes[i]))
			return err_nomem(err);
	for (uint32_t id = 0; id < n_images; id++) {
		bool missing = false;

		for (size_t i = 0; i < c->blocks.n && !missing; i++)
			missing = c->blocks.f[i].image == id && !c->blocks.f[i].code;
		missing |= image_mismatch(c->r.images, id);
		if (missing && *image_origin(c->r.images, id) &&
		    vec_push(&c->notes, image_origin(c->r.images, id)))
			return err_nomem(err);
	}
	source->notes = c->notes.v;
	source->n_notes = c->notes.n;
	return 0;
}

static int count(struct counting_blocks *c, enum blocks_visits visits, struct err *err)
{
	const struct blocks_opts bo = { .function = c->function };
	struct profile_opts po = { 0 };
	struct flow_opts fo = { .progress = cli_progress, .progress_ctx = c->cli };
	const struct options *o = &c->cli->opt;

	if (o->event.n > 1)
		return err_set(err, ERR_USAGE, "blocks counts by one event: one -e");
	if (recording_open(&c->r, c->cli, c->path, err) || check_branches(c->r.rec, err) ||
	    recording_select(&c->r, c->cli, &po, err))
		return -1;
	fo.event = o->event.n ? o->event.v[0] : NULL;
	fo.comm = po.comm;
	fo.pids = po.pids;
	fo.n_pids = po.n_pids;
	fo.tids = po.tids;
	fo.n_tids = po.n_tids;
	if (flow_build(&c->flow, c->r.rec, c->r.spaces, &fo, err) ||
	    blocks_weigh(&c->flow, c->r.images, c->r.rec, c->r.spaces, &fo, err) ||
	    blocks_build(&c->blocks, c->flow, c->r.images, &bo, err) || no_function(c, err))
		return -1;
	/* all stacks once more: not for what is not shown */
	if (visits == VISITS_NO || (visits == VISITS_OF_FUNCTION && !c->function))
		return 0;
	return blocks_loops(&c->blocks, c->r.rec, c->r.spaces, &fo, err);
}

static int write_out(struct counting_blocks *c, const struct blocks_format *f,
		     const struct sink_opts *so, struct buf *out, struct err *err)
{
	const struct blocks_view_opts vo = { .function = c->function,
					     .limit = (size_t)c->cli->opt.limit };
	struct view_source source = view_source_of(c->r.rec);
	struct blocks_view *v;
	int rc;

	source.version = CYCLADE_VERSION;
	source.input = c->named ? c->path : NULL;
	if (gather_notes(c, &source, err) ||
	    blocks_view_build(&v, &c->blocks, c->r.images, &source, &vo, err))
		return -1;
	rc = f->write(out, v, so, err);
	blocks_view_free(v);
	return rc;
}

int cmd_blocks(struct cli *cli)
{
	struct counting_blocks c = { .cli = cli };
	const struct blocks_format *f;
	struct sink_opts so;
	struct buf out = BUF_INIT;
	struct err err = ERR_INIT;
	int code;

	f = blocks_format_find(cli_format(cli), &err);
	if (!f || cli_sink(cli, &so, &err) || take_operands(&c, &err) ||
	    count(&c, f->visits, &err) || write_out(&c, f, &so, &out, &err)) {
		cli_progress_end(cli);
		code = cli_fail(&err);
	} else {
		cli_progress_end(cli);
		code = cli_put(cli, &out, !f->machine);
	}
	buf_free(&out);
	vec_free(&c.notes);
	blocks_free(&c.blocks);
	flow_free(c.flow);
	recording_close(&c.r);
	return code;
}
