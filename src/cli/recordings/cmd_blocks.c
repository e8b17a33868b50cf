/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade blocks [FILE] [FUNCTION] - see doc/cyclade-blocks.1.md.
 */
#include <stdlib.h>

#include "analyse/again.h"
#include "cli/recordings/result.h"
#include "base/fs.h"
#include "base/xalloc.h"
#include "cli/model_choice.h"
#include "cli/penalties.h"
#include "report/blocks_view.h"
#include "report/chains_tables.h"
#include "report/mix_tables.h"

struct counting_blocks {
	struct result_shared own_flow;
	const struct flow *flow;
	struct blocks blocks;
	struct blocks_view *view;
	struct mix *mix; /* of --mix */
	struct mix_view mix_view;
	struct chains *chains; /* of --chains */
	struct chains_view *chains_view;
};

enum about { ABOUT_BLOCKS, ABOUT_MIX, ABOUT_CHAINS };

static void end(void *own)
{
	struct counting_blocks *c = own;

	chains_view_free(c->chains_view);
	loop_chains_free(c->chains);
	mix_free(c->mix);
	blocks_view_free(c->view);
	blocks_free(&c->blocks);
	result_shared_free(&c->own_flow);
	free(c);
}

static int check_branches(const struct recording *r, struct err *err)
{
	if (recording_has(r, PERF_SAMPLE_BRANCH_STACK))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "the recording has no branch stacks: nothing tells which blocks ran");
	return again_hint(err, pd_info(r->rec),
			  "record them:", again_branches(pd_info(r->rec), AGAIN_TAKEN));
}

static int no_function(const struct blocks *b, const char *function, struct err *err)
{
	if (!function || b->n)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "no branch stack shows '%.200s' running", function);
	return err_hint(err, "cyclade blocks lists what ran; patterns are understood: '*NAME*'");
}

/* Notes on the recording, and on code that is missing. */
static void make_source(const struct blocks *b, const struct result_ask *ask,
			struct view_source *out)
{
	size_t n_images = images_count(ask->r->images);
	bool *missing = arena_xalloc(&ask->cli->arena, n_images + 1);

	for (size_t i = 0; i < b->n; i++)
		if (b->f[i].image < n_images)
			missing[b->f[i].image] |= !b->f[i].code;
	recording_source(out, ask->r, ask->cli, ask->said.input, missing);
}

static int count(struct counting_blocks *c, const struct result_ask *ask, enum about about,
		 struct err *err)
{
	const struct blocks_opts bo = { .function = ask->said.function };
	const struct recording *r = ask->r;
	struct flow_opts fo;
	size_t timed;

	if (ask->cli->opt.event.n > 1)
		return err_set(err, ERR_USAGE, "blocks counts by one event: one -e");
	if (check_branches(r, err) || recording_flow(r, ask->cli, &fo, err))
		return -1;
	if (result_flow(&c->flow, ask, &c->own_flow, err) ||
	    blocks_build(&c->blocks, c->flow, r->images, &bo, err) ||
	    no_function(&c->blocks, bo.function, err))
		return -1;
	/* all stacks once more: only if it is shown */
	(void)flow_times(c->flow, &timed);
	c->blocks.follow_paths = about == ABOUT_CHAINS;
	if (about != ABOUT_CHAINS &&
	    (about == ABOUT_MIX || !blocks_shows_visits(ask->show, bo.function, timed)))
		return 0;
	return blocks_loops(&c->blocks, r->rec, r->spaces, &fo, err);
}

/* The blocks and their view. */
static struct counting_blocks *make(struct result *out, const struct result_ask *ask,
				    enum about about, struct err *err)
{
	const struct blocks_view_opts vo = { .function = ask->said.function,
					     .limit = (size_t)ask->cli->opt.limit };
	struct counting_blocks *c = xcalloc(1, sizeof(*c));
	struct view_source source;

	out->own = c;
	out->end = end;
	if (count(c, ask, about, err))
		return NULL;
	make_source(&c->blocks, ask, &source);
	if (blocks_view_build(&c->view, &c->blocks, ask->r->images, &source, &vo, err))
		return NULL;
	return c;
}

int blocks_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct counting_blocks *c = make(out, ask, ABOUT_BLOCKS, err);

	if (!c)
		return -1;
	document_open(&out->d, &blocks_document, c->view);
	blocks_put(&out->d, c->view);
	return 0;
}

int mix_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct counting_blocks *c = make(out, ask, ABOUT_MIX, err);

	if (!c || mix_build(&c->mix, &c->blocks, ask->r->images, err))
		return -1;
	c->mix_view = (struct mix_view){ c->view, c->mix };
	document_open(&out->d, &mix_document, &c->mix_view);
	mix_put(&out->d, &c->mix_view);
	return 0;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* The CPU whose latencies are meant; of a hybrid the large cores. */
static int choose_core(struct core **core, const struct result_ask *ask, struct err *err)
{
	const struct pd_info *i = pd_info(ask->r->rec);
	struct model_sources s = cli_model_sources(ask->cli);
	struct model_cpu cpu = { .vendor = "unknown", .pmu = i->n_hybrid ? "cpu_core" : "cpu" };
	struct arena *a = &ask->cli->arena;
	const char *id = ask->cli->opt.model;

	if (model_cpu_id(&cpu, a, i->cpuid))
		return err_nomem(err);
	if (!id && !i->cpuid) {
		(void)err_set(err, ERR_NOT_FOUND, "the recording does not say which CPU it is of");
		return err_hint(err, "name its model with --model; cyclade list models shows them");
	}
	if (id ? model_named(&id, a, &s, id, cpu.pmu, err) : model_select(&id, a, &s, &cpu, err))
		return -1;
	return core_load(core, a, &s, id, err);
}

static int read_penalties(struct core *core, const struct result_ask *ask, const char **says,
			  struct err *err)
{
	struct penalties p;
	struct err why = ERR_INIT;
	size_t n = 0;
	int ret;

	if (!core)
		return 0;
	ret = penalties_read(&p, ask->cli, pd_info(ask->r->rec), err);
	if (ret || !p.path)
		goto out;
	if (core_measured(core, &ask->cli->arena, p.path, buf_str(&p.text), p.text.len, &n, &why)) {
		ret = p.kept ? 0 : -1;
		if (ret)
			*err = why;
		else
			penalties_leave_out(&p, ask->cli, &why);
		goto out;
	}
	*says = n ? p.says : NULL;
	if (n || p.kept)
		goto out;
	(void)err_set(err, ERR_FORMAT, "%s: has no latencies of operations", p.path);
	ret = err_hint(err, "cyclade calibrate -o FILE writes them: lines of latency OP CYCLES");
out:
	penalties_free(&p);
	return ret;
}

int chains_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct counting_blocks *c = make(out, ask, ABOUT_CHAINS, err);
	struct err no_core = ERR_INIT;
	struct core *core = NULL;
	const char *says = NULL, *why = "";

	if (!c)
		return -1;
	if (choose_core(&core, ask, &no_core)) {
		if (ask->cli->opt.model || no_core.code == ERR_FORMAT) {
			*err = no_core;
			return -1;
		}
		core = NULL;
		why = arena_xstrdup(&ask->cli->arena, no_core.what);
	}
	if (read_penalties(core, ask, &says, err) ||
	    loop_chains_build(&c->chains, &c->blocks, ask->r->images, core, why, err))
		return -1;
	chains_view_build(&c->chains_view, c->view, c->chains);
	c->chains_view->penalties = says;
	c->chains_view->kept = says && !ask->cli->opt.penalties;
	document_open(&out->d, &chains_document, c->chains_view);
	chains_put(&out->d, c->chains_view);
	return 0;
}

int cmd_blocks(struct cli *cli)
{
	struct err err = ERR_INIT;

	if (cli->opt.mix && cli->opt.chains) {
		(void)err_set(&err, ERR_USAGE, "--mix and --chains are two results: one of them");
		return cli_fail(&err);
	}
	return result_command(cli,
			      cli->opt.mix	? RESULT_INSTRUCTIONS
			      : cli->opt.chains ? RESULT_BOUNDS
						: RESULT_BLOCKS,
			      cli_file_function);
}
