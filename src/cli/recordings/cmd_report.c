/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - where a recording's samples fell: recording -> profile -> view -> document.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/again.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "cli/derived.h"
#include "cli/recordings/finding.h"
#include "cli/recordings/report_html.h"
#include "cli/recordings/result.h"
#include "cli/regions.h"
#include "cli/verdicts.h"
#include "config.h"
#include "report/rows.h"
#include "report/view_latency.h"
#include "symbol/source.h"

#define MIN_SHOWN 0.005 /* for people: rows below half a percent are summed; default of --min */

struct report {
	struct cli *cli;
	const struct recording *r;
	const struct show *show;
	struct profile_opts po;
	const struct profile *profile;
	struct profile *own_profile; /* the same, unless others share it */
	bool programs, folded;	     /* the output is for programs; is folded stacks */
	struct view_opts vo;
	struct view *view;
	struct view_source source;
	struct text_list events;
	VEC(const char *) notes;
	bool by_event;
	VEC(struct memory *) memory; /* of latencies, by event */
	struct result findings;
};

static void free_report(void *own)
{
	struct report *rp = own;

	view_free(rp->view);
	vec_each (&rp->memory, struct memory **, m)
		memory_free(*m);
	vec_free(&rp->memory);
	result_free(&rp->findings);
	vec_free(&rp->notes);
	profile_free(rp->own_profile);
	free(rp);
}

static int choose_branch_keys(struct report *rp, struct err *err)
{
	const struct options *o = &rp->cli->opt;

	rp->vo.shape = VIEW_TABLE;
	rp->po.branches = true;
	if (o->call_graph || o->callers || o->children)
		return err_set(err, ERR_USAGE,
			       "-b is of branches, -g, --callers and --children of "
			       "calls: one at a time");
	if (recording_has(rp->r, PERF_SAMPLE_BRANCH_STACK))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "the recording has no branch stacks");
	return again_hint(err, pd_info(rp->r->rec), "record them:", "-b");
}

static int choose_shape(struct report *rp, struct err *err)
{
	const struct options *o = &rp->cli->opt;
	bool asked = o->call_graph || o->callers || o->children;

	if (o->branch || keys_of_branches(o->sort))
		return choose_branch_keys(rp, err);
	rp->vo.shape = o->callers    ? VIEW_CALLERS
		       : o->children ? VIEW_FUNCTIONS
		       : asked	     ? VIEW_CALLEES
				     : VIEW_TABLE;
	if (rp->folded && recording_has(rp->r, PERF_SAMPLE_CALLCHAIN) && !o->sort)
		rp->vo.shape = o->callers ? VIEW_CALLERS : VIEW_CALLEES;
	if (asked && !recording_has(rp->r, PERF_SAMPLE_CALLCHAIN)) {
		(void)err_set(err, ERR_NOT_FOUND, "the recording has no call chains");
		return again_hint(err, pd_info(rp->r->rec), "record them:", "-g");
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
	rp->po.chain_inline = rp->vo.shape != VIEW_TABLE;
	for (size_t i = 0; rp->po.chains && i < rp->po.n_keys; i++) {
		rp->po.chain_lines |= rp->po.key[i] == KEY_SRCLINE;
		rp->po.chain_comm |= rp->folded && rp->po.key[i] == KEY_COMM;
	}
	if (o->max_stack > UINT32_MAX)
		return err_set(err, ERR_USAGE, "--max-stack is too large");
	rp->po.max_stack = (uint32_t)o->max_stack;
	rp->vo.fields = o->fields;
	rp->vo.memory = memory_told(rp->r->rec);
	rp->vo.images = rp->r->images;
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

/* Two events side by side are easier to compare than two tables, if they fit. */
static bool fits_side_by_side(const struct report *rp)
{
	size_t n_events, n = 0;
	const struct profile_sum *s = profile_sums(rp->profile, &n_events);
	unsigned width = rp->show->style.width ? rp->show->style.width : 80;

	for (size_t e = 0; e < n_events; e++)
		n += s[e].selected.samples != 0;
	return !rp->by_event && rp->show->format->write == format_term && !rp->show->table &&
	       view_width_side_by_side(n) <= width;
}

/* How many samples lie in each image, and last in all. */
static void count_image_samples(const struct report *rp, uint64_t *samples)
{
	size_t n, n_images = images_count(rp->r->images);
	const struct profile_row *rows = profile_rows(rp->profile, &n);

	for (size_t i = 0; i < n; i++) {
		samples[n_images] += rows[i].all.samples;
		if (rows[i].image < n_images)
			samples[rows[i].image] += rows[i].all.samples;
	}
}

/* With -v files that the debug information names are looked for, even if the tables need none. */
static void try_debug_information(const struct report *rp, uint32_t image)
{
	const struct source *src = source_of(rp->r->images, image, NULL);

	if (src)
		source_try_split(src);
}

/* The recording's notes, and those on files that lack symbols. */
static void gather_notes(struct report *rp)
{
	size_t n, n_images = images_count(rp->r->images);
	const struct profile_row *rows = profile_rows(rp->profile, &n);
	bool *seen = xcalloc(n_images + 1, sizeof(*seen));
	uint64_t *samples = xcalloc(n_images + 1, sizeof(*samples));
	bool elsewhere = !pd_info(rp->r->rec)->hostname; /* as far as known */
	const char *const *failed = NULL;
	size_t n_failed = 0;

	count_image_samples(rp, samples);
	verdicts_notes(&failed, &n_failed, rp->cli, rp->r->rec, SIZE_MAX);
	for (size_t i = 0; i < rp->source.n_notes; i++)
		vec_xpush(&rp->notes, rp->source.notes[i]);
	for (size_t i = 0; i < n_failed; i++)
		vec_xpush(&rp->notes, failed[i]);
	for (size_t i = 0; i < n; i++) {
		uint32_t id = rows[i].image;
		const char *origin;

		if (id >= n_images || seen[id])
			continue;
		seen[id] = true;
		if (rp->cli->opt.verbose && samples[id])
			try_debug_information(rp, id);
		origin = image_origin(rp->r->images, id);
		if (*origin && (rp->cli->opt.verbose || image_mismatch(rp->r->images, id) ||
				image_copied(rp->r->images, id) ||
				recording_lacks(rp->r, id, samples[id], samples[n_images]) ||
				(elsewhere && image_unverified(rp->r->images, id))))
			vec_xpush(&rp->notes, origin);
	}
	free(seen);
	free(samples);
	rp->source.notes = rp->notes.v;
	rp->source.n_notes = rp->notes.n;
}

static int choose_report(struct report *rp, const struct result_ask *ask, struct err *err)
{
	rp->cli = ask->cli;
	rp->r = ask->r;
	rp->show = ask->show;
	rp->folded =
		ask->show->format->write == rows_folded || ask->show->format->write == rows_svg;
	rp->programs = rp->folded || show_is_data(ask->show);
	if (choose_shape(rp, err) || choose_rows(rp, err) ||
	    recording_select(rp->r, rp->cli, &rp->po, err))
		return -1;
	rp->po.once = true;
	rp->po.late_names = !rp->programs; /* those are given all names */
	return 0;
}

/* The tree of call chains, after the cube, which says whether there are too many to show. */
int report_walk(struct result *out, const struct result_ask *ask, struct pass *pass, unsigned turn,
		struct err *err)
{
	struct report rp = { 0 };

	(void)out;
	if (!ask->bases || !turn)
		return 0;
	return choose_report(&rp, ask, err) ? -1 : result_profile_begin(ask, pass, &rp.po, err);
}

/* Above the plain table: not where rows or samples were chosen. The walk makes the rows, too. */
static void find_findings(struct report *rp, const struct result_ask *ask)
{
	const struct options *o = &rp->cli->opt;
	const struct finding_given given = { .rows = &rp->po };

	if (rp->programs || rp->vo.shape != VIEW_TABLE || rp->po.branches || ask->bases ||
	    ask->show->table || ask->show->format->write != format_term || o->sort || o->fields ||
	    o->focus || o->hide || o->event.n)
		return;
	if (!findings_are_cheap(rp->r)) {
		vec_xpush(&rp->notes,
			  "findings are not looked for among so many samples: cyclade report "
			  "--findings does");
		return;
	}
	rp->vo.findings = findings_look(&rp->findings, &rp->profile, ask, &given);
}

static int build_report(struct report *rp, const struct result_ask *ask, struct err *err)
{
	if (choose_report(rp, ask, err))
		return -1;
	find_findings(rp, ask);
	if (!rp->profile && result_profile(&rp->profile, &rp->own_profile, ask, &rp->po, err))
		return -1;
	rp->vo.side_by_side = fits_side_by_side(rp);
	gather_notes(rp);
	return 0;
}

/* A pass for each event that is shown and has latencies: if a column of them was asked for. */
static int add_latencies(struct report *rp, struct err *err)
{
	const struct view *v = rp->view;
	struct memory_opts mo = { .select = rp->po.select,
				  .progress = rp->po.progress,
				  .progress_ctx = rp->po.progress_ctx };

	if (!view_wants_latency(v))
		return 0;
	mo.select.event = NULL;
	mo.threads = view_latency_by(&rp->po) == MEMORY_THREAD;
	mo.files = view_latency_by(&rp->po) == MEMORY_FILE;
	for (size_t i = 0; i < v->n_tables; i++)
		for (size_t k = 0; k < v->table[i].n_events; k++) {
			size_t e = v->table[i].event[k];
			struct memory *m;

			mo.only = &rp->source.event[e];
			if (memop_how(rp->r->rec, mo.only).from == MEMOP_FROM_NOTHING)
				continue;
			if (memory_build(&m, NULL, rp->r->rec, rp->r->spaces, &mo, err))
				return -1;
			vec_xpush(&rp->memory, m);
			if (view_latency_add(rp->view, e, m, err))
				return -1;
		}
	return 0;
}

int report_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct report *rp = xcalloc(1, sizeof(*rp));

	out->own = rp;
	out->end = free_report;
	rp->source = view_source_of(ask->r->rec);
	rp->source.version = CYCLADE_VERSION;
	rp->source.input = ask->said.input;
	derived_note(ask->r->derived, &rp->source, &ask->cli->arena);
	if (build_report(rp, ask, err) ||
	    view_build(&rp->view, rp->profile, &rp->source, &rp->vo, err) || add_latencies(rp, err))
		return -1;
	document_open(&out->d, &rows_document, rp->view);
	rows_put(&out->d, rp->view);
	return 0;
}

int cmd_report(struct cli *cli)
{
	const struct text_list args = cli->args;
	struct cli_operands said = { 0 };
	struct err err = ERR_INIT;

	if (cli_one_recording(cli, &said, &err))
		return cli_fail(&err);
	if (regions_file(said.path))
		return regions_report(cli, said.path);
	if (cli->opt.html)
		return report_html(cli, said.path, cli->opt.html);
	cli->args = args;
	return result_command(cli,
			      cli->opt.account	     ? RESULT_ACCOUNT
			      : cli->opt.wait	     ? RESULT_WAIT
			      : cli->opt.sched	     ? RESULT_SCHED
			      : cli->opt.wall	     ? RESULT_WALL
			      : cli->opt.concurrency ? RESULT_CONCURRENCY
			      : cli->opt.critical    ? RESULT_CRITICAL
			      : cli->opt.findings    ? RESULT_FINDINGS
						     : RESULT_FUNCTIONS,
			      cli_one_recording);
}
