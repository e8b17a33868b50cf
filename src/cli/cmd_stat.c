/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat - counts: of events asked for with -e, else of the top-down tree.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/no_pmu.h"
#include "cli/stat_int.h"
#include "collect/event.h"

void stat_no_pmu(const struct cli *cli, char why[256])
{
	struct event_list list = EVENT_LIST_INIT;

	if (event_default(&list, cli->opt.sysroot ? cli->opt.sysroot : "", why, NULL))
		why[0] = '\0';
	event_list_free(&list);
}

int stat_say_no_pmu(struct cli *cli, const char *why)
{
	struct machine m;

	if (machine_read_parts(&m, &cli->arena, cli->opt.sysroot ? cli->opt.sysroot : "",
			       MACHINE_MODEL | MACHINE_HYPERVISOR, NULL))
		m.hypervisor = NULL;
	no_pmu_say(why, m.hypervisor, "nothing was started",
		   "cyclade stat -e task-clock,page-faults,cs -- ./prog");
	return cli->args.n ? EXIT_TOOL : EXIT_ERROR;
}

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

/* --cpu is -C's long name: CPUs are numbers, a model is a name. */
static int cpu_or_model(struct options *o, struct err *err)
{
	if (!o->cpu || !isalpha((unsigned char)*o->cpu))
		return 0;
	if (o->model && strcmp(o->model, o->cpu) != 0) {
		(void)err_set(err, ERR_USAGE, "--cpu %.40s and --model %.40s name two models",
			      o->cpu, o->model);
		return err_hint(err, "CPUs are numbers: --cpu 0-3,8");
	}
	o->model = o->cpu;
	o->cpu = NULL;
	return 0;
}

int cmd_stat(struct cli *cli)
{
	const struct options *o = &cli->opt;
	struct err err = ERR_INIT;

	if (cpu_or_model(&cli->opt, &err))
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
