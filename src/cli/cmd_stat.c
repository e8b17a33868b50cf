/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat - counts: of events asked for with -e, else of the top-down tree.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/model_choice.h"
#include "cli/no_pmu.h"
#include "cli/stat_int.h"
#include "collect/event.h"

const char *stat_target(const struct counting *k)
{
	struct arena *a = &k->cli->arena;
	const struct options *o = &k->cli->opt;

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

struct counts stat_head(const struct counting *k)
{
	return (struct counts){ .command = k->cli->args.v,
				.n_command = k->cli->args.n,
				.target = stat_target(k),
				.time = NAN,
				.seconds = counting_seconds(k),
				.user_s = NAN,
				.sys_s = NAN,
				.status = -1,
				.runs = 1,
				.seconds_error = NAN,
				.interrupted = k->result.interrupted };
}

static int usage(const struct cli *cli, struct err *err, const char *what, const char *hint)
{
	(void)err_set(err, ERR_USAGE, "%s", what);
	(void)err_hint(err, "%s", hint);
	return cli_fail_as(err, counting_exit_code(cli, err));
}

int cmd_stat(struct cli *cli)
{
	const struct options *o = &cli->opt;
	struct err err = ERR_INIT;

	if (cli_cpu_or_model(&cli->opt, &err))
		return cli_fail_as(&err, counting_exit_code(cli, &err));
	if (o->import)
		return stat_import(cli);
	if (OPTION_GIVEN(o, repeat) && (!o->repeat || !cli->args.n))
		return usage(cli, &err,
			     o->repeat ? "-r repeats a program" : "-r 0 would measure nothing",
			     "cyclade stat -r 5 -- ./prog");
	if (o->repeat > 1 && o->interval)
		return usage(cli, &err, "-r and -I exclude each other",
			     "-r: totals of several runs; -I: one run, piece by piece");
	if (o->event.n && (OPTION_GIVEN(o, level) || o->node.n || o->metric.n))
		return usage(cli, &err, "-e counts events, -l, --node and -M make a tree",
			     "leave out one or the other");
	return o->event.n ? stat_events(cli) : stat_tree(cli);
}
