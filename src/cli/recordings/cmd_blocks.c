/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade blocks [FILE] [FUNCTION] - see doc/cyclade-blocks.1.md.
 */
#include <string.h>

#include "cli/recording.h"
#include "report/blocks_view.h"

struct counting_blocks {
	struct cli *cli;
	struct recording r;
	struct cli_operands said;
	struct flow *flow;
	struct blocks blocks;
};

static int check_branches(const struct recording *r, struct err *err)
{
	if (recording_has(r, PERF_SAMPLE_BRANCH_STACK))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "the recording has no branch stacks: nothing tells which blocks ran");
	return err_hint(err, "record them: cyclade record -b -e br_inst_retired.near_taken:upp -- "
			     "PROGRAM");
}

static int no_function(const struct counting_blocks *c, struct err *err)
{
	if (!c->said.function || c->blocks.n)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "no branch stack shows '%.200s' running",
		      c->said.function);
	return err_hint(err, "cyclade blocks lists what ran; patterns are understood: '*NAME*'");
}

/* What the recording says of itself, and why code is missing. */
static int make_source(const struct counting_blocks *c, struct view_source *out, struct err *err)
{
	size_t n_images = images_count(c->r.images);
	bool *missing = arena_alloc(&c->cli->arena, n_images + 1);

	if (!missing)
		return err_nomem(err);
	for (size_t i = 0; i < c->blocks.n; i++)
		if (c->blocks.f[i].image < n_images)
			missing[c->blocks.f[i].image] |= !c->blocks.f[i].code;
	return recording_source(out, &c->r, c->cli, c->said.input, missing, err);
}

static int count(struct counting_blocks *c, const struct show *show, struct err *err)
{
	const struct blocks_opts bo = { .function = c->said.function };
	struct flow_opts fo;
	size_t timed;

	if (c->cli->opt.event.n > 1)
		return err_set(err, ERR_USAGE, "blocks counts by one event: one -e");
	if (recording_open(&c->r, c->cli, c->said.path, err) || check_branches(&c->r, err) ||
	    recording_flow(&c->r, c->cli, &fo, err))
		return -1;
	if (flow_build(&c->flow, c->r.rec, c->r.spaces, &fo, err) ||
	    blocks_weigh(&c->flow, c->r.images, c->r.rec, c->r.spaces, &fo, err) ||
	    blocks_build(&c->blocks, c->flow, c->r.images, &bo, err) || no_function(c, err))
		return -1;
	/* all stacks once more: not for what is not shown */
	(void)flow_times(c->flow, &timed);
	if (!blocks_shows_visits(show, c->said.function, timed))
		return 0;
	return blocks_loops(&c->blocks, c->r.rec, c->r.spaces, &fo, err);
}

static int make(struct counting_blocks *c, const struct show *show, struct blocks_view **v,
		struct err *err)
{
	const struct blocks_view_opts vo = { .function = c->said.function,
					     .limit = (size_t)c->cli->opt.limit };
	struct view_source source;

	return count(c, show, err) || make_source(c, &source, err) ||
			       blocks_view_build(v, &c->blocks, c->r.images, &source, &vo, err)
		       ? -1
		       : 0;
}

int cmd_blocks(struct cli *cli)
{
	struct counting_blocks c = { .cli = cli };
	struct blocks_view *v = NULL;
	struct document d = { 0 };
	struct show show;
	struct err err = ERR_INIT;
	int code;

	if (cli_show(cli, &show, &blocks_document, &err) || cli_file_function(cli, &c.said, &err) ||
	    make(&c, &show, &v, &err)) {
		cli_progress_end(cli);
		code = cli_fail(&err);
	} else {
		cli_progress_end(cli);
		document_open(&d, &blocks_document, v);
		blocks_put(&d, v);
		code = cli_document(cli, &d, &show);
	}
	document_close(&d);
	blocks_view_free(v);
	blocks_free(&c.blocks);
	flow_free(c.flow);
	recording_close(&c.r);
	return code;
}
