/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - where a recording's samples fell: recording -> profile -> view -> document.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/heap.h"
#include "cli/recording.h"
#include "cli/recordings/report_account.h"
#include "cli/regions.h"
#include "config.h"
#include "report/rows.h"

#define MIN_SHOWN 0.005 /* for people: rows below half a percent are summed, unless --min says */

struct report {
	struct cli *cli;
	struct recording r;
	struct profile_opts po;
	struct profile *profile;
	struct show show;
	bool programs, folded; /* what is shown is for programs; is folded stacks */
	struct view_opts vo;
	struct view_source source;
	struct text_list events;
	VEC(const char *) notes;
	bool by_event, named;
};

static int choose_format(struct report *rp, struct err *err)
{
	const char *name = cli_format(rp->cli);

	rp->folded = !strcmp(name, "folded");
	rp->programs = rp->folded || !strcmp(name, "csv") || !strcmp(name, "json");
	return cli_show(rp->cli, &rp->show, &rows_document, err);
}

static int choose_branches(struct report *rp, struct err *err)
{
	const struct options *o = &rp->cli->opt;

	rp->vo.shape = VIEW_TABLE;
	rp->po.branches = true;
	if (o->call_graph || o->callers || o->children)
		return err_set(err, ERR_USAGE,
			       "-b is of branches, -g, --callers and --children of "
			       "calls: one at a time");
	if (recording_has(&rp->r, PERF_SAMPLE_BRANCH_STACK))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "the recording has no branch stacks");
	return err_hint(err, "record them: cyclade record -b -- PROGRAM");
}

static int choose_shape(struct report *rp, struct err *err)
{
	const struct options *o = &rp->cli->opt;
	bool asked = o->call_graph || o->callers || o->children;

	if (o->branch)
		return choose_branches(rp, err);
	rp->vo.shape = o->callers    ? VIEW_CALLERS
		       : o->children ? VIEW_FUNCTIONS
		       : asked	     ? VIEW_CALLEES
				     : VIEW_TABLE;
	if (rp->folded && recording_has(&rp->r, PERF_SAMPLE_CALLCHAIN) && !o->sort)
		rp->vo.shape = o->callers ? VIEW_CALLERS : VIEW_CALLEES;
	if (asked && !recording_has(&rp->r, PERF_SAMPLE_CALLCHAIN)) {
		(void)err_set(err, ERR_NOT_FOUND, "the recording has no call chains");
		return err_hint(err, "record them: cyclade record -g -- PROGRAM");
	}
	return 0;
}

static int choose_rows(struct report *rp, struct err *err)
{
	const struct options *o = &rp->cli->opt;
	const char *sort = o->sort;

	if (!sort && rp->folded && !rp->po.branches)
		sort = "comm,function";
	if (keys_parse(&rp->po, &rp->by_event, sort, err))
		return -1;
	rp->po.chains = rp->vo.shape != VIEW_TABLE;
	rp->po.once = true;
	rp->po.chain_inline = rp->vo.shape != VIEW_TABLE;
	for (size_t i = 0; rp->po.chains && i < rp->po.n_keys; i++) {
		rp->po.chain_lines |= rp->po.key[i] == KEY_SRCLINE;
		rp->po.chain_comm |= rp->folded && rp->po.key[i] == KEY_COMM;
	}
	if (o->max_stack > UINT32_MAX)
		return err_set(err, ERR_USAGE, "--max-stack is too large");
	rp->po.max_stack = (uint32_t)o->max_stack;
	rp->vo.fields = o->fields;
	rp->vo.focus = o->focus;
	rp->vo.hide = o->hide;
	rp->vo.machine = rp->programs;
	rp->vo.limit = (size_t)o->limit;
	rp->vo.min = OPTION_GIVEN(o, min) ? o->min / 100 : rp->programs ? 0 : MIN_SHOWN;
	if (split_events(rp->cli, &o->event, &rp->events, err))
		return -1;
	rp->vo.events = rp->events.v;
	rp->vo.n_events = rp->events.n;
	return 0;
}

/* Two events next to each other say more than two tables, where they fit. */
static bool fits_side_by_side(const struct report *rp)
{
	size_t n_events, n = 0;
	const struct profile_sum *s = profile_sums(rp->profile, &n_events);
	unsigned width = rp->show.style.width ? rp->show.style.width : 80;

	for (size_t e = 0; e < n_events; e++)
		n += s[e].selected.samples != 0;
	return !rp->by_event && rp->show.format->write == rows_term && !rp->show.table &&
	       view_width_side_by_side(n) <= width;
}

/* A file that is not here is worth a note if at least one in a hundred samples is without names for
 * it. */
static bool lacks_names(const struct report *rp, uint32_t image, const uint64_t *samples)
{
	return image_absent(rp->r.images, image) &&
	       samples[image] * 100 >= samples[images_count(rp->r.images)];
}

/* How many samples lie in each image, and last in all. */
static void count_samples(const struct report *rp, uint64_t *samples)
{
	size_t n, n_images = images_count(rp->r.images);
	const struct profile_row *rows = profile_rows(rp->profile, &n);

	for (size_t i = 0; i < n; i++) {
		samples[n_images] += rows[i].all.samples;
		if (rows[i].image < n_images)
			samples[rows[i].image] += rows[i].all.samples;
	}
}

/* The recording's notes, and what is to be said of the files that symbols should have come from. */
static int gather_notes(struct report *rp, struct err *err)
{
	size_t n, n_images = images_count(rp->r.images);
	const struct profile_row *rows = profile_rows(rp->profile, &n);
	bool *seen = calloc(n_images + 1, sizeof(*seen));
	uint64_t *samples = calloc(n_images + 1, sizeof(*samples));
	bool elsewhere = !pd_info(rp->r.rec)->hostname; /* as far as anybody knows */
	int ret = seen && samples ? 0 : -1;

	if (!ret)
		count_samples(rp, samples);

	for (size_t i = 0; !ret && i < rp->source.n_notes; i++)
		ret = vec_push(&rp->notes, rp->source.notes[i]);
	for (size_t i = 0; !ret && i < n; i++) {
		uint32_t id = rows[i].image;
		const char *origin;

		if (id >= n_images || seen[id])
			continue;
		seen[id] = true;
		origin = image_origin(rp->r.images, id);
		if (*origin && (rp->cli->opt.verbose || image_mismatch(rp->r.images, id) ||
				lacks_names(rp, id, samples) ||
				(elsewhere && image_unverified(rp->r.images, id))))
			ret = vec_push(&rp->notes, origin);
	}
	free(seen);
	free(samples);
	rp->source.notes = rp->notes.v;
	rp->source.n_notes = rp->notes.n;
	return ret ? err_nomem(err) : 0;
}

static int build(struct report *rp, struct err *err)
{
	if (choose_shape(rp, err) || choose_rows(rp, err) ||
	    recording_select(&rp->r, rp->cli, &rp->po, err) ||
	    profile_build(&rp->profile, rp->r.rec, rp->r.spaces, &rp->po, err))
		return -1;
	rp->source = view_source_of(rp->r.rec);
	rp->source.version = CYCLADE_VERSION;
	rp->vo.side_by_side = fits_side_by_side(rp);
	return gather_notes(rp, err);
}

/* -1: *err says why; else an exit code. */
static int show_report(struct report *rp, const char *path, struct err *err)
{
	struct document d;
	struct view *v;
	int code;

	if (rp->named)
		rp->source.input = path;
	if (view_build(&v, rp->profile, &rp->source, &rp->vo, err))
		return -1;
	document_open(&d, &rows_document, v);
	rows_put(&d, v);
	cli_progress_end(rp->cli);
	code = cli_document(rp->cli, &d, &rp->show);
	document_close(&d);
	view_free(v);
	return code;
}

int cmd_report(struct cli *cli)
{
	struct report rp = { .cli = cli, .named = cli->opt.input || cli->args.n };
	struct err err = ERR_INIT;
	const char *path = cli_input(cli, &err);
	int code = -1;

	if (!path)
		return cli_fail(&err);
	if (cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "'%.60s': one recording at a time", cli->args.v[0]);
		return cli_fail(&err);
	}
	if (regions_file(path))
		return regions_report(cli, path);
	if (cli->opt.account)
		return report_account(cli, path, rp.named);
	if (choose_format(&rp, &err))
		return cli_fail(&err);
	if (!recording_open(&rp.r, cli, path, &err) && !build(&rp, &err))
		code = show_report(&rp, path, &err);
	if (code < 0) {
		cli_progress_end(cli);
		code = cli_fail(&err);
	}
	if (heap_ends()) {
		recording_troubles(&rp.r);
		return code;
	}
	vec_free(&rp.notes);
	profile_free(rp.profile);
	recording_close(&rp.r);
	return code;
}
