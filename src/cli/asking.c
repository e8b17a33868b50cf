/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/asking.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "cli/model_choice.h"
#include "cli/verdicts.h"

#define STACK_MAX    65528u /* the kernel's own limit: a record's size has 16 bits */
#define DEFAULT_ZSTD 1

static int check_times(const struct cli *cli, struct err *err)
{
	const struct options *o = &cli->opt;

	if (OPTION_GIVEN(o, measure.for_time) && !o->measure.for_time)
		return err_set(err, ERR_USAGE, "--for 0 would measure nothing");
	if (OPTION_GIVEN(o, measure.interval) && o->measure.interval < 1000000) {
		(void)err_set(err, ERR_USAGE, "-I takes 1 ms at least");
		return err_hint(err, "-I 100 is ten times a second, -I 1s once");
	}
	if (o->measure.delay == DELAY_FOR_EVER && !o->measure.control) {
		(void)err_set(err, ERR_USAGE, "-D -1 measures nothing until --control enables it");
		return err_hint(err, "mkfifo NAME; cyclade %s -D -1 --control NAME",
				cli->command == CMD_STAT ? "stat" : "record");
	}
	return 0;
}

static int check_program(const struct cli *cli, struct err *err)
{
	const struct options *o = &cli->opt;

	if ((o->measure.pre || o->measure.post || o->measure.warmup) && !cli->args.n) {
		(void)err_set(err, ERR_USAGE, "--warmup, --pre and --post go with a program");
		return err_hint(err, "cyclade %s --warmup 1 -- ./prog",
				command_names[cli->command]);
	}
	if (o->measure.follow && (!cli->args.n || o->measure.no_inherit)) {
		(void)err_set(err, ERR_USAGE,
			      "--follow goes with a program, and without "
			      "--no-inherit");
		return err_hint(err, "cyclade %s --follow -- ./prog", command_names[cli->command]);
	}
	if (cli->args.n && !*cli->args.v[0])
		return err_set(err, ERR_USAGE, "the program's name is empty");
	return 0;
}

static int check_modes(const struct measure_opts *o, struct err *err)
{
	if (!o->user_only || !o->kernel_only)
		return 0;
	(void)err_set(err, ERR_USAGE, "--user and --kernel exclude each other");
	return err_hint(err, "without either, both are measured");
}

static int ring_size(const struct options *o, struct err *err)
{
	uint64_t pages = o->measure.mmap_pages;

	if (!OPTION_GIVEN(o, measure.mmap_pages) ||
	    (pages && !(pages & (pages - 1)) && pages <= 1u << 20))
		return 0;
	(void)err_set(err, ERR_USAGE, "--mmap-pages must be a power of two, at most 1048576");
	return err_hint(err, "the default is 128: -m 512 makes each CPU's ring 2 MB");
}

static int zstd_level(struct measure_opts *opts, const char *level, struct err *err)
{
	uint64_t n = DEFAULT_ZSTD;

	if (!level)
		return 0;
	if (*level && num_parse_u64(&n, level, err))
		return err_prefix(err, "--compress");
	if (n < 1 || n > 22)
		return err_set(err, ERR_USAGE, "--compress takes a level from 1 to 22");
	opts->zstd_level = (int)n;
	return 0;
}

#define JITTER_MOST 50.0 /* per cent: no period is three times another */

static int jitter(struct measure_opts *opts, const struct options *o, struct err *err)
{
	const char *text = !o->jitter && o->measure.account ? "" : o->jitter;
	double v = MEASURE_JITTER * 100;

	if (!text)
		return 0;
	if (*text && num_parse_double(&v, text, err))
		return err_prefix(err, "--jitter");
	if (!(v >= 0 && v <= JITTER_MOST)) {
		(void)err_set(err, ERR_USAGE, "--jitter goes from 0 to %.0f per cent", JITTER_MOST);
		return err_hint(err, "--jitter alone is 10: periods of 0.9 to 1.1 times what was "
				     "asked for");
	}
	opts->jitter = v / 100;
	opts->jitter_said = true;
	return 0;
}

/* An accounting brings its own events and periods. */
static int account(const struct measure_opts *opts, const struct options *o, struct err *err)
{
	if (!opts->account)
		return 0;
	if (opts->event.n || opts->ibs || opts->mem || OPTION_GIVEN(o, measure.freq) ||
	    OPTION_GIVEN(o, measure.period)) {
		(void)err_set(err, ERR_USAGE,
			      "--account has events and periods of its own: no -e, -F, "
			      "-c, --ibs or --mem beside it");
		return err_hint(err, "cyclade record --account --dry-run shows them");
	}
	if (!opts->call_graph || strcmp(opts->call_graph, "lbr") != 0)
		return 0;
	(void)err_set(err, ERR_USAGE,
		      "-g=lbr and the branch records of --account exclude each "
		      "other");
	return err_hint(err, "-g or -g=dwarf");
}

static int rate(const struct options *o, struct err *err)
{
	bool freq = OPTION_GIVEN(o, measure.freq), count = OPTION_GIVEN(o, measure.period);

	if ((freq && !o->measure.freq) || (count && !o->measure.period)) {
		(void)err_set(err, ERR_USAGE, "%s 0 would take no samples", freq ? "-F" : "-c");
		return err_hint(err, "-F 4000 takes 4000 a second, -c 1000 one every 1000 events");
	}
	if (freq && count) {
		(void)err_set(err, ERR_USAGE, "-F and -c exclude each other");
		return err_hint(err, "-F: so many samples a second; -c: one every so many events");
	}
	return 0;
}

static int stack_size(struct measure_opts *opts, const struct options *o, struct err *err)
{
	opts->stack_size = (uint32_t)o->stack_size;
	if (!OPTION_GIVEN(o, stack_size) || (o->stack_size >= 8 && o->stack_size <= STACK_MAX))
		return 0;
	return err_set(err, ERR_USAGE, "--stack-size goes from 8 to %u bytes", STACK_MAX);
}

static void note_news(void *ctx, const char *line)
{
	cli_note(ctx, "%s", line);
}

int cli_measure_opts(struct cli *cli, struct measure_opts *out, struct err *err)
{
	const struct options *o = &cli->opt;

	*out = o->measure;
	out->a = &cli->arena;
	out->program = cli->args;
	out->root = o->sysroot ? o->sysroot : "";
	out->model = cli_model_choice(cli);
	out->news = note_news;
	out->news_ctx = cli;
	out->level = (unsigned)o->level;
	out->level_said = OPTION_GIVEN(o, level);
	out->tree = (cli->command == CMD_RUN || cli->command == CMD_TOP) && !o->no_tree;
	out->needs_pmu = cli->command == CMD_RUN && o->require;
	out->chains = out->switches = cli->command == CMD_RUN;
	out->copies_dir = o->measure.no_copies ? NULL : cli_cache_dir(cli);
	out->path_ours = cli->command == CMD_RUN ? !o->data_file : !o->output;
	if (check_modes(out, err) || check_times(cli, err) || check_program(cli, err) ||
	    rate(o, err) || ring_size(o, err) || zstd_level(out, o->compress, err) ||
	    jitter(out, o, err) || stack_size(out, o, err))
		return -1;
	if (cli->command == CMD_STAT || cli->command == CMD_RUN)
		out->verdicts = cli_verdicts_noted(cli);
	return cli->command == CMD_RECORD ? account(out, o, err) : 0;
}

int cli_measuring_code(const struct cli *cli, const struct err *err)
{
	if (err->code == ERR_EXEC)
		return err->sys_errno == ENOENT ? EXIT_ABSENT : EXIT_CANNOT;
	return cli->args.n ? EXIT_TOOL : EXIT_ERROR;
}
