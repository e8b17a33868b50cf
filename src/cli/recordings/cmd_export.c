/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade export [FILE] --FORMAT -o OUT - see doc/cyclade-export.1.md.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "analyse/event_cost.h"
#include "base/text.h"
#include "cli/recordings/export_int.h"
#include "config.h"
#include "report/export.h"

static int write_pprof(struct exporting *x, struct err *err);
static int write_firefox(struct exporting *x, struct err *err);
static int write_perfetto(struct exporting *x, struct err *err);

static const struct format {
	const char *name;
	size_t flag; /* of struct options */
	bool binary;
	bool one_event;
	bool of_code;					    /* of one program or library */
	bool comments;					    /* lines that begin with # */
	int (*write)(struct exporting *x, struct err *err); /* NULL: the report has it */
} formats[] = {
	{ "autofdo", offsetof(struct options, autofdo), true, false, true, false,
	  export_write_fdo },
	{ "bolt", offsetof(struct options, bolt), false, false, true, false, export_write_bolt },
	{ "propeller", offsetof(struct options, propeller), false, false, true, true,
	  export_write_blocks },
	{ "symbol-order", offsetof(struct options, symbol_order), false, false, true, true,
	  export_write_order },
	{ "pprof", offsetof(struct options, pprof), true, false, false, false, write_pprof },
	{ "firefox", offsetof(struct options, firefox), false, true, false, false, write_firefox },
	{ "perfetto", offsetof(struct options, perfetto), true, false, false, false,
	  write_perfetto },
	{ "folded", offsetof(struct options, folded), false, false, false, false, NULL },
	{ "flame-svg", offsetof(struct options, flame_svg), false, false, false, false, NULL },
	{ "timeline-svg", offsetof(struct options, timeline_svg), false, false, false, false,
	  NULL },
};

#define FIREFOX_MANY 5000000u /* samples */
#define N_FORMATS    (sizeof(formats) / sizeof(*formats))

static enum option_from said_by(const struct options *o, const struct format *f)
{
	const struct option_row *row = option_find(CMD_EXPORT, f->name);

	if (!*(const bool *)((const char *)o + f->flag) || !row)
		return FROM_NOBODY;
	return o->said[row - option_rows].from;
}

/* The command line goes before a configuration. NULL if not one is asked for. */
static const struct format *choose_format(const struct options *o, struct err *err)
{
	const struct format *found = NULL, *too = NULL;
	struct buf all = BUF_INIT;

	for (size_t i = 0; i < N_FORMATS; i++) {
		const struct format *f = &formats[i];
		enum option_from from = said_by(o, f);

		buf_printf(&all, "%s--%s", i ? ", " : "", f->name);
		if (from == FROM_NOBODY || (found && from < said_by(o, found)))
			continue;
		too = found && from == said_by(o, found) ? found : NULL;
		found = f;
	}
	if (too) {
		(void)err_set(err, ERR_USAGE, "--%s and --%s: one format at a time", too->name,
			      found->name);
		found = NULL;
	} else if (!found) {
		(void)err_set(err, ERR_USAGE, "export into which format?");
		(void)err_hint(err, "one of %s", buf_str(&all));
	}
	buf_free(&all);
	return found;
}

static int check_words(const struct cli *cli, const struct format *f, struct err *err)
{
	bool to_file = cli->opt.output && strcmp(cli->opt.output, "-") != 0;

	if (cli->opt.text && f->write != export_write_fdo)
		return err_set(err, ERR_USAGE, "--text is a form of --autofdo");
	if (cli->opt.dso && !f->of_code)
		return err_set(err, ERR_USAGE, "--dso does not go with --%s", f->name);
	if (!f->binary || cli->opt.text || to_file || !isatty(STDOUT_FILENO))
		return 0;
	(void)err_set(err, ERR_USAGE, "--%s is not for a terminal", f->name);
	return err_hint(err, "write it to a file: cyclade export --%s -o FILE", f->name);
}

/* -e's, else NULL for all; or for a format of one event the one that leads. */
static int choose_exported(struct exporting *x, const struct format *f, struct err *err)
{
	struct text_list said;
	const char *wanted;
	size_t n, lead, others = 0;
	const struct pd_event *ev = pd_events(x->r.rec, &n);

	if (split_events(x->cli, &x->cli->opt.event, &said, err))
		return -1;
	if (said.n > 1)
		return err_set(err, ERR_USAGE,
			       "-e names %zu events: all of them are exported "
			       "without it, one with it",
			       said.n);
	wanted = said.n ? said.v[0] : NULL;
	lead = recording_event(&x->r, wanted, NULL);
	if (lead == SIZE_MAX) {
		(void)err_set(err, ERR_NOT_FOUND, "no event '%.100s' in this recording",
			      wanted ? wanted : "");
		return err_hint(err, "cyclade info lists them");
	}
	x->event = wanted;
	if (!f->one_event)
		return 0;
	x->event = ev[lead].name;
	for (size_t i = 0; i < n; i++)
		others += i != lead && ev[i].samples && text_means(wanted, ev[i].name);
	if (others)
		cli_note(x->cli, "--%s has room for one event: %s, weighed in %s; -e NAME chooses",
			 f->name, ev[lead].name, event_cost_unit(event_cost(x->r.rec, &ev[lead])));
	return 0;
}

/* ---- samples with their chains --------------------------------------------------------------- */

static int build_stacks(struct exporting *x, struct profile **p, enum profile_stacks_how how,
			struct profile_opts *po, struct err *err)
{
	*po = (struct profile_opts){
		.key = { KEY_COMM, KEY_PID, KEY_TID },
		.n_keys = 3,
		.chains = true,
		.chain_lines = true,
		.chain_inline = true,
		.stacks = how,
		.select.event = x->event,
	};
	if (x->cli->opt.max_stack > UINT32_MAX)
		return err_set(err, ERR_USAGE, "--max-stack is too large");
	po->max_stack = (uint32_t)x->cli->opt.max_stack;
	return recording_select(&x->r, x->cli, po, err) ||
			       profile_build(p, x->r.rec, x->r.spaces, po, err)
		       ? -1
		       : 0;
}

/* Losses, which a receiver cannot see. */
static void tell_losses(const struct exporting *x, const struct profile *p)
{
	size_t n;
	const struct profile_sum *sum = profile_sums(p, &n);
	const struct pd_losses *l = pd_losses(x->r.rec);
	uint64_t selected = 0, nowhere = 0, bad = 0;

	for (size_t i = 0; i < n; i++) {
		selected += sum[i].selected.samples;
		nowhere += sum[i].no_map.samples + sum[i].no_symbol.samples;
		bad += sum[i].bad;
	}
	if (!selected)
		cli_note(x->cli, "no samples are exported: none were selected");
	if (nowhere)
		cli_note(x->cli,
			 "%" PRIu64 " of %" PRIu64 " samples have an address without a name",
			 nowhere, selected);
	if (l->lost || l->lost_samples)
		cli_note(x->cli, "the recording lost %" PRIu64 " records and %" PRIu64 " samples",
			 l->lost, l->lost_samples);
	if (bad)
		cli_note(x->cli, "%" PRIu64 " samples could not be read", bad);
}

static int write_stacks(struct exporting *x, enum profile_stacks_how how, const struct wait *wait,
			int (*write)(struct buf *, const struct export_in *, struct err *),
			struct err *err)
{
	const struct pd_info *info = pd_info(x->r.rec);
	struct profile_opts po;
	struct export_in in = { .images = x->r.images,
				.rec = x->r.rec,
				.spaces = x->r.spaces,
				.select = &po.select,
				.wait = wait };
	struct profile *p = NULL;
	int ret;

	if (build_stacks(x, &p, how, &po, err))
		return -1;
	in.profile = p;
	in.ended = pd_losses(x->r.rec)->partial ? pd_losses(x->r.rec)->ended : NULL;
	in.source = view_source_of(x->r.rec);
	in.source.version = CYCLADE_VERSION;
	if (info->has_clock_data && in.source.has_time) {
		in.wall_known = true;
		in.wall = (int64_t)(info->clock_wall_ns - info->clock_mono_ns);
	}
	cli_progress_end(x->cli);
	tell_losses(x, p);
	ret = write(&x->out.text, &in, err);
	profile_free(p);
	return ret;
}

static int write_pprof(struct exporting *x, struct err *err)
{
	return write_stacks(x, STACKS_MERGED, NULL, export_pprof, err);
}

static int write_firefox(struct exporting *x, struct err *err)
{
	size_t n;
	const struct pd_event *ev = pd_events(x->r.rec, &n);

	for (size_t i = 0; i < n; i++)
		if (ev[i].samples > FIREFOX_MANY && !strcmp(ev[i].name, x->event))
			cli_note(x->cli,
				 "%" PRIu64 " samples are more than the Firefox profiler likes: "
				 "--only-pid, --only-tid and --comm choose",
				 ev[i].samples);
	return write_stacks(x, STACKS_EACH, NULL, export_firefox, err);
}

static int export_waits(struct exporting *x, struct wait **out, struct err *err)
{
	struct profile_opts po = { 0 };
	struct wait_opts wo;

	if (recording_select(&x->r, x->cli, &po, err))
		return -1;
	wo = (struct wait_opts){ po.select, po.progress, po.progress_ctx };
	return wait_build(out, x->r.rec, x->r.spaces, &wo, err);
}

/* What the trace could have, and this recording has not. */
static void tell_missing(const struct exporting *x, bool waits)
{
	const struct view_source source = view_source_of(x->r.rec);
	struct buf b = BUF_INIT;

	if (!waits)
		buf_puts(&b, "; switches and waits (record --wait)");
	if (!export_has_counts(&source))
		buf_puts(&b, "; counts (record -e '{a,b}:S')");
	if (!pd_info(x->r.rec)->has_clock_data)
		buf_puts(&b, "; the time of day (record -k)");
	if (b.len)
		cli_note(x->cli, "left out, because they were not recorded: %s", buf_str(&b) + 2);
	buf_free(&b);
}

static int write_perfetto(struct exporting *x, struct err *err)
{
	struct wait *wait = NULL;
	int ret = -1;

	if (!pd_has_time(x->r.rec))
		return err_set(err, ERR_NOT_FOUND,
			       "the recording has no times, and a trace is of times");
	if (!wait_able(x->r.rec) || !export_waits(x, &wait, err)) {
		tell_missing(x, wait);
		ret = write_stacks(x, STACKS_EACH, wait, export_perfetto, err);
	}
	wait_free(wait);
	return ret;
}

/* ---- */

/* Warns the user, and in the file if that has comments. */
static void tell_end(struct exporting *x, const struct format *f)
{
	const struct pd_losses *l = pd_losses(x->r.rec);

	if (!l->partial)
		return;
	cli_warn("the recording does not go to its end: %s", l->ended);
	if (f->comments || x->cli->opt.text)
		buf_printf(&x->out.text, "# the recording does not go to its end: %s\n", l->ended);
}

static int run(struct exporting *x, const struct format *f, const char *path)
{
	struct err err = ERR_INIT;
	int code;

	cli_out_open(&x->out, x->cli, true);
	if (recording_open(&x->r, x->cli, path, &err) || choose_exported(x, f, &err)) {
		code = cli_out_fail(&x->out, &err);
	} else {
		tell_end(x, f);
		code = f->write(x, &err) ? cli_out_fail(&x->out, &err) : cli_out_put(&x->out);
	}
	recording_close(&x->r);
	return code;
}

int cmd_export(struct cli *cli)
{
	struct exporting x = { .cli = cli };
	struct err err = ERR_INIT;
	const struct format *f = choose_format(&cli->opt, &err);
	const char *path;

	if (!f || check_words(cli, f, &err))
		return cli_fail(&err);
	if (!strcmp(f->name, "folded") && cli->args.n == 2 && !cli->opt.input)
		return export_folded_pair(cli);
	if (!f->write) {
		bool folded = !strcmp(f->name, "folded");

		cli->opt.format = folded ? f->name : "svg";
		cli->opt.wait = !strcmp(f->name, "timeline-svg");
		return cmd_report(cli);
	}
	path = cli_input(cli, &err);
	if (!path)
		return cli_fail(&err);
	if (cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "'%.60s': one recording at a time", cli->args.v[0]);
		return cli_fail(&err);
	}
	return run(&x, f, path);
}
