/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - samples into a file.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/num.h"
#include "cli/asking.h"
#include "cli/counting/cli_sample.h"
#include "cli/counting/no_pmu.h"
#include "cli/derived.h"
#include "cli/inputs.h"
#include "cli/model_choice.h"
#include "config.h"
#include "measure/sampling.h"
#include "store/keep.h"
#include "symbol/heap_fit.h"

static void put_python(const struct cli *cli, const struct sampling_result *res)
{
	char n[NUM_MAX], c[NUM_MAX], t[NUM_MAX];

	if (res->python)
		cli_note(cli,
			 "Python: frames in %s samples, read %s after the sample on average; in "
			 "%s of them they contradict the native calls",
			 num_exact(n, res->python), num_seconds(t, (double)res->python_delay / 1e9),
			 num_exact(c, res->python_contradicted));
	if (res->python_unread)
		cli_note(cli, "Python: frames of %s samples could not be read in time",
			 num_exact(n, res->python_unread));
	if (res->no_python && *res->no_python)
		cli_note(cli, "Python: %s", res->no_python);
}

static void put_files(const struct cli *cli, const struct sampling_result *res)
{
	char gone[64] = "", b[NUM_MAX];

	if (res->files_removed)
		(void)snprintf(gone, sizeof(gone), ", %zu older removed", res->files_removed);
	cli_note(cli, "%zu file%s kept (%s)%s; the newest is %s", res->files,
		 res->files == 1 ? "" : "s", num_bytes(b, res->bytes), gone, res->path);
}

static void closing_line(const struct cli *cli, const struct sampling_result *res, const char *path)
{
	char n[NUM_MAX], b[NUM_MAX], l[NUM_MAX], t[NUM_MAX];

	if (!res->kept) {
		cli_note(cli, "interrupted before the first sample: %s was not written", path);
		return;
	}
	if (res->path)
		put_files(cli, res);
	cli_note(cli, "%s sample%s in %s (%s), %s lost%s%s%s", num_exact(n, res->samples),
		 res->samples == 1 ? "" : "s", res->path ? "all" : path, num_bytes(b, res->bytes),
		 num_exact(l, res->lost), res->throttled ? ", throttled " : "",
		 res->throttled ? num_exact(t, res->throttled) : "",
		 res->throttled ? " times" : "");
	if (res->not_kept)
		cli_note(cli, "%s samples were not kept (--keep)", num_exact(t, res->not_kept));
	if (res->cut_bytes)
		cli_note(cli, "%s of parts that --keep read were not stored (--fields)",
			 num_bytes(b, res->cut_bytes));
	if (res->unwound)
		cli_note(cli, "call chains: %.1f %% of %s reach the thread's start%s",
			 100.0 * (double)res->unwound_whole / (double)res->unwound,
			 num_exact(n, res->unwound),
			 res->unwound_cut * 50 > res->unwound
				 ? "; more with larger copies of the stack: --stack-size 65528"
				 : "");
	if (res->unwound_without)
		cli_note(cli,
			 "call chains: memory ran out; %s samples have no callers in user space",
			 num_exact(n, res->unwound_without));
	cli_sample_rate_note(cli, res);
	if (cli->opt.measure.python)
		put_python(cli, res);
	if (res->left_out)
		cli_note(cli, "%s samples of other programs were left out",
			 num_exact(t, res->left_out));
	if (!res->samples && !res->lost && !res->not_kept)
		cli_note(cli, "%s",
			 res->began ? "not one sample: it slept, or ended too soon for the "
				      "frequency (-F)"
			 : cli->opt.measure.control
				 ? "not one sample: --control did not enable sampling"
				 : "not one sample: it ended before sampling began (-D)");
	if (res->ousted)
		cli_note(cli,
			 "%zu of %zu counters lost their place to others and stopped sampling: "
			 "`cyclade doctor` tells who holds some",
			 res->ousted, res->counters);
	if (res->aux_lost)
		cli_note(cli,
			 "%s pieces of trace are cut, or samples collided in them: some records "
			 "are missing; a longer interval loses less: -c 200000",
			 num_exact(t, res->aux_lost));
	if (res->lost > res->no_room)
		cli_note(cli, "larger rings lose less: -m 512; so does a lower frequency: -F 1000");
}

static int describe_recording(struct sampling *r, bool verbose)
{
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	int code = EXIT_OK;

	sampling_describe(r, verbose, &b);
	if (fd_write_all(STDOUT_FILENO, buf_str(&b), b.len, "standard output", &err))
		code = cli_fail(&err);
	buf_free(&b);
	return code;
}

/* True, with the reason, if options need a PMU and there is none: before anything is started. */
static bool no_pmu(struct cli *cli, char why[256])
{
	why[0] = '\0';
	if (cli->opt.measure.account && !cli->opt.measure.dry_run)
		no_pmu_find(cli, why);
	return why[0];
}

static int keep(void *ctx, const struct pd_sample *s, const char *pmu, const char *cpuid,
		struct err *err)
{
	return keep_sample(ctx, s, pmu, cpuid, err);
}

/* Why the program cannot have the library; NULL: it can. The library itself asks the same about
 * programs that this one executes (heaplog/exec.c). */
static const char *why_unlogged(struct cli *cli)
{
	char path[CLI_PATH_MAX], interpreter[HEAP_FIT_NAME];
	enum heap_fit what = HEAP_FITS;
	const char *had = getenv("LD_PRELOAD");

	if (!cli->args.n)
		return NULL;
	if (had && heap_fit_names_sanitizer(had, strlen(had)))
		return heap_fit_why(HEAP_FIT_SANITIZER);
	if (!cli_program_path(path, cli->args.v[0]))
		return NULL;
	for (int i = 0; i < HEAP_FIT_DEPTH; i++) {
		struct file_map map;

		if (file_map_open(&map, i ? interpreter : path, NULL))
			return NULL;
		what = heap_fit(map.p, map.len, interpreter);
		file_map_close(&map);
		if (what != HEAP_FIT_SCRIPT)
			break;
	}
	return heap_fit_why(what);
}

/* Sets the value of LD_PRELOAD, or leaves NULL if the program cannot have the library. A blank or a
 * colon in a path would make two of it. */
static int find_preload(struct cli *cli, struct measure_opts *opts, struct err *err)
{
	const char *had = getenv("LD_PRELOAD"), *path, *why;

	if (!opts->heap)
		return 0;
	path = cli_companion(cli, "../heaplog/libcyclade-heap.so", HEAPLOG_BESIDE,
			     HEAPLOG_INSTALLED);
	if (!path) {
		(void)err_set(err, ERR_NOT_FOUND, "--heap needs %s, which is not there",
			      HEAPLOG_INSTALLED);
		return err_hint(err,
				"make install brings it; in a copy of the program it is "
				"looked for at %s",
				HEAPLOG_BESIDE);
	}
	if (strpbrk(path, " :"))
		return err_set(
			err, ERR_UNSUPPORTED,
			"--heap: the dynamic linker takes no path with a blank or a colon: %s",
			path);
	why = why_unlogged(cli);
	if (why) {
		cli_note(cli, "--heap: %s runs unlogged: %s", cli->args.v[0], why);
		return 0;
	}
	opts->preload = had && *had ? arena_printf(&cli->arena, "%s:%s", path, had) : path;
	return opts->preload ? 0 : err_nomem(err);
}

static int open_sampling(struct cli *cli, struct sampling **r, struct measure_opts *opts,
			 struct keep **k, const char *path, struct err *err)
{
	const char *predicate;

	if (derived_record(cli, &predicate, err) || cli_measure_opts(cli, opts, err) ||
	    find_preload(cli, opts, err) || (predicate && keep_open(k, NULL, predicate, err)))
		return -1;
	if (*k) {
		opts->keep = keep;
		opts->keep_ctx = *k;
		if (opts->fields && keep_reads(*k, NULL, predicate, &opts->keep_reads, err))
			return -1;
	}
	return sampling_open(r, opts, path, NULL, err);
}

#define LOOK_EVERY 200000000u /* ns: the line of progress */

/* Beside a program, the terminal is the program's. */
static bool shows_progress(const struct cli *cli)
{
	return !cli->args.n && !cli->opt.quiet && isatty(STDERR_FILENO);
}

static void show_look(struct cli *cli, struct sampling *s)
{
	struct counting *k = sampling_counting(s);
	uint64_t length = cli->opt.measure.for_time;
	char n[NUM_MAX], size[NUM_MAX];
	struct buf b = BUF_INIT;

	k->due = counting_clock() + LOOK_EVERY;
	buf_printf(&b, "%.0f", counting_seconds(k));
	if (length)
		buf_printf(&b, " of %.0f", (double)length / 1e9);
	buf_printf(&b, " s, %s samples, %s; Ctrl-C ends the look",
		   num_exact(n, sampling_samples(s)), num_bytes(size, sampling_bytes(s)));
	cli_progress_line(cli, buf_str(&b));
	buf_free(&b);
}

void cli_sample_rate_note(const struct cli *cli, const struct sampling_result *res)
{
	char n[NUM_MAX];

	if (res->unwound_rate)
		cli_note(cli,
			 "stacks are deep: at most %s samples a second, for which the rings "
			 "have room (larger ones: -m)",
			 num_exact(n, res->unwound_rate));
}

int cli_sample(struct cli *cli, struct sampling *s, struct sampled_tree *t, struct err *err)
{
	struct style st = cli_style(cli, STDERR_FILENO);
	enum counting_event what;

	if (shows_progress(cli))
		sampling_counting(s)->due = counting_clock() + LOOK_EVERY;
	while (!sampling_next(s, &what, err)) {
		struct buf b = BUF_INIT;
		int rc = 0;

		if (what == COUNTING_OVER) {
			cli_progress_end(cli);
			return 0;
		}
		if (what == COUNTING_DUE)
			show_look(cli, s);
		if (what == COUNTING_SO_FAR) {
			cli_progress_end(cli);
			sampling_so_far(s, &b);
			rc = t ? sampled_tree_so_far(t, &b, &st, err) : 0;
			/* asked for by hand: not for --quiet; nobody may be there to read */
			if (!rc && fd_write_all(STDERR_FILENO, buf_str(&b), b.len, "", NULL))
				b.failed = true;
		}
		buf_free(&b);
		if (rc)
			break;
	}
	cli_progress_end(cli);
	return -1;
}

int cmd_record(struct cli *cli)
{
	const char *path = cli->opt.output ? cli->opt.output : "cyclade.data";
	struct err err = ERR_INIT;
	struct sampling *r = NULL;
	struct keep *k = NULL;
	struct measure_opts opts;
	char why[256];
	int code;

	if (cli_cpu_or_model(cli, &err))
		return cli_fail_as(&err, cli_measuring_code(cli, &err));
	if (no_pmu(cli, why))
		return no_pmu_end(cli, why, "cyclade record -- ./prog");
	if (open_sampling(cli, &r, &opts, &k, path, &err)) {
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
		goto out;
	}
	if (opts.event.n && *sampling_result(r)->no_cycles)
		cli_note(cli, "cycles: no counter here; recording cpu-clock instead, as perf does "
			      "(cyclade doctor)");
	if (cli->opt.measure.dry_run) {
		code = describe_recording(r, cli->opt.verbose);
		goto out;
	}
	if (sampling_prepare(r, &err) ||
	    sampling_keep(r, cli_sample(cli, r, NULL, &err), NULL, &err) ||
	    sampling_after(r, &err)) {
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
	} else {
		closing_line(cli, sampling_result(r), path);
		code = sampling_result(r)->has_program ? sampling_result(r)->status : EXIT_OK;
	}
out:
	sampling_close(r);
	keep_close(k);
	return code;
}
