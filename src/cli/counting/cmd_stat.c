/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat - counts: of events asked for with -e, else of the top-down tree.
 */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/file_out.h"
#include "base/text.h"
#include "cli/counting/no_pmu.h"
#include "cli/inputs.h"
#include "cli/model_choice.h"
#include "cli/regions.h"
#include "cli/stat.h"
#include "collect/event.h"
#include "report/tree_view.h"

/* Exit code after results: the program's own. If an interrupt came between two runs, not all runs
 * were made although each ended well. */
static int stat_exit_code(const struct cli *cli, const struct counting *k)
{
	if (!cli->args.n || cli->opt.measure.dry_run)
		return EXIT_OK;
	if (!k->result.status && k->result.interrupted && stat_runs(cli) > 1)
		return 128 + SIGINT;
	return k->result.status;
}

int stat_end(struct cli *cli, const struct counting *k, bool failed, const char *no_pmu,
	     const struct err *err)
{
	if (!failed)
		return stat_exit_code(cli, k);
	if (no_pmu[0])
		return no_pmu_end(cli, no_pmu,
				  "cyclade stat -e task-clock,page-faults,cs -- ./prog");
	return cli_fail_as(err, cli_measuring_code(cli, err));
}

static const char *process_words(const struct counting *k, struct arena *a)
{
	struct buf b = BUF_INIT;
	const char *words;

	buf_printf(&b, "process %d", (int)k->who.processes.v[0]);
	if (*k->who.name) {
		buf_puts(&b, " (");
		text_put_safe(&b, k->who.name, false);
		buf_putc(&b, ')');
	}
	if (k->who.tasks.n > 1)
		buf_printf(&b, ", %zu threads", k->who.tasks.n);
	words = b.failed ? NULL : arena_strdup(a, buf_str(&b));
	buf_free(&b);
	return words;
}

const char *stat_target(const struct counting *k, struct arena *a)
{
	const struct measure_opts *o = k->opts;

	if (k->has_program)
		return "";
	if (k->who.cgroups.n > 1)
		return arena_printf(a, "%zu cgroups", k->who.cgroups.n);
	if (o->cgroup.n)
		return arena_printf(a, "cgroup %s", o->cgroup.v[0]);
	if (k->who.whole_cpus && o->cpu)
		return arena_printf(a, "CPUs %s", o->cpu);
	if (k->who.whole_cpus)
		return arena_printf(a, "all %zu CPUs", k->who.cpus.n);
	if (o->uid && !o->pid.n && !o->tid.n)
		return arena_printf(a, "user %s, %zu threads", o->uid, k->who.tasks.n);
	if (k->who.processes.n == 1 && !o->tid.n && !o->uid)
		return process_words(k, a);
	if (k->who.tasks.n == 1)
		return arena_printf(a, "%s %d", o->tid.n ? "thread" : "process",
				    (int)k->who.tasks.v[0]);
	return arena_printf(a, "%zu threads", k->who.tasks.n);
}

int stat_put(struct counting *k, struct counting_out *out, const struct buf *b, int fd,
	     struct err *err)
{
	bool gone = false;

	if (fd >= 0)
		return fd_write_all(fd, buf_str(b), b->len, "standard error", err);
	if (counting_out_put(out, b, &gone, err))
		return -1;
	k->enough |= gone;
	return 0;
}

int stat_document(struct counting *k, struct counting_out *out, struct document *d, int fd,
		  bool last, struct err *err)
{
	bool gone = false;

	if (counting_out_document(out, d, fd, last, &gone, err))
		return -1;
	k->enough |= gone;
	return 0;
}

struct count_head stat_head(const struct counting *k, struct arena *a)
{
	return (struct count_head){ .command = k->opts->program.v,
				    .n_command = k->opts->program.n,
				    .target = stat_target(k, a),
				    .time = NAN,
				    .seconds = counting_seconds(k),
				    .user_s = NAN,
				    .sys_s = NAN,
				    .status = -1,
				    .runs = 1,
				    .seconds_error = NAN,
				    .interrupted = k->result.interrupted,
				    .early = k->result.early,
				    .outlived = k->result.outlived };
}

static int stat_usage(const struct cli *cli, struct err *err, const char *what, const char *hint)
{
	(void)err_set(err, ERR_USAGE, "%s", what);
	(void)err_hint(err, "%s", hint);
	return cli_fail_as(err, cli_measuring_code(cli, err));
}

/* perf's metric groups TopdownL1 (on AMD PipelineL1) are levels of the tree: the digit, or NULL. */
static const char *level_of(const char *s, size_t n)
{
	static const char *const groups[] = { "TopdownL", "PipelineL" };

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (n == strlen(groups[i]) + 1 && !strncasecmp(s, groups[i], n - 1) &&
		    s[n - 1] >= '1' && s[n - 1] <= '6')
			return s + n - 1;
	return NULL;
}

static int topdown_groups(struct cli *cli, struct err *err)
{
	struct text_list *l = &cli->opt.measure.metric;
	const char *deepest = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		const char *list = l->v[i], *word;
		struct buf rest = BUF_INIT;
		size_t len;

		while (text_word(&list, &word, &len)) {
			const char *level = level_of(word, len);

			if (level)
				deepest = !deepest || *level > *deepest ? level : deepest;
			else if (len)
				buf_printf(&rest, "%s%.*s", rest.len ? "," : "", (int)len, word);
		}
		if (rest.len)
			l->v[kept++] = arena_strdup(&cli->arena, buf_str(&rest));
		buf_free(&rest);
		if (kept && !l->v[kept - 1])
			return err_nomem(err);
	}
	l->n = kept;
	if (!deepest || OPTION_GIVEN(&cli->opt, level))
		return 0;
	deepest = arena_strndup(&cli->arena, deepest, 1);
	if (!deepest)
		return err_nomem(err);
	return option_set(&cli->opt, &cli->arena, CMD_STAT, option_find(CMD_STAT, "level"), deepest,
			  FROM_WORDS, NULL, err);
}

/* Without a PMU: time and software events, after the five lines. */
static int count_software(struct cli *cli, const char *why)
{
	const char **events = arena_alloc(&cli->arena, sizeof(*events));
	struct err err = ERR_INIT;
	struct machine m;

	if (!events) {
		(void)err_nomem(&err);
		return cli_fail_as(&err, cli_measuring_code(cli, &err));
	}
	events[0] =
		"task-clock,context-switches,cpu-migrations,page-faults,minor-faults,major-faults";

	if (machine_read_parts(&m, &cli->arena, cli->opt.sysroot ? cli->opt.sysroot : "",
			       MACHINE_MODEL | MACHINE_HYPERVISOR, NULL))
		m.hypervisor = NULL;
	no_pmu_say(why, m.hypervisor, "counting time and software events instead", NULL);
	cli->opt.measure.event = (struct text_list){ .v = events, .n = 1 };
	return stat_events(cli);
}

/* Nothing is asked for that takes counters. */
static bool asks_nothing(const struct options *o)
{
	return !o->measure.event.n && !OPTION_GIVEN(o, level) && !o->measure.node.n &&
	       !o->measure.metric.n && !o->measure.drilldown && !o->measure.no_mux &&
	       !o->measure.latency && !o->why && !o->measure.dry_run;
}

/* `perf stat record` and `report`: not taken for programs unless there are such. */
static bool is_perf_word(const struct cli *cli)
{
	const char *word = cli->args.n ? cli->args.v[0] : "";
	char path[CLI_PATH_MAX];

	if (strcmp(word, "record") != 0 && strcmp(word, "report") != 0)
		return false;
	return !cli_program_path(path, word);
}

int cmd_stat(struct cli *cli)
{
	const struct options *o = &cli->opt;
	struct err err = ERR_INIT;
	char why[256];

	if (o->json_schema && o->regions)
		return regions_schema(cli);
	if (o->json_schema)
		return cli_schema(cli, o->measure.event.n ? &counts_document : &tree_document);
	if (cli_cpu_or_model(cli, &err) || topdown_groups(cli, &err))
		return cli_fail_as(&err, cli_measuring_code(cli, &err));
	if (o->import)
		return stat_import(cli);
	if (is_perf_word(cli))
		return stat_usage(
			cli, &err, "stat has no record and report, as perf's has",
			"cyclade stat -j -o FILE -- ./prog keeps the counts; --import FILE "
			"reads them");
	if (OPTION_GIVEN(o, measure.repeat) && (!o->measure.repeat || !cli->args.n))
		return stat_usage(cli, &err,
				  o->measure.repeat ? "-r repeats a program"
						    : "-r 0 would measure nothing",
				  "cyclade stat -r 5 -- ./prog");
	if (o->measure.repeat > 1 && o->measure.interval)
		return stat_usage(cli, &err, "-r and -I exclude each other",
				  "-r: totals of several runs; -I: one run, piece by piece");
	if (o->measure.event.n &&
	    (OPTION_GIVEN(o, level) || o->measure.node.n || o->measure.metric.n))
		return stat_usage(cli, &err, "-e counts events, -l, --node and -M make a tree",
				  "leave out one or the other");
	if (asks_nothing(o)) {
		no_pmu_find(cli, why);
		if (*why)
			return count_software(cli, why);
	}
	return o->measure.event.n ? stat_events(cli) : stat_tree(cli);
}
