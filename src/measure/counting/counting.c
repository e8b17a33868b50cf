/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/counting.h"

#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "measure/counting/counting_int.h"
#include "measure/counting_per.h"

uint64_t counting_clock(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int open_signals(struct counting *k, struct err *err)
{
	sigset_t set;

	/* a limit on file sizes shall be an error of write(), as a full disk is */
	(void)signal(SIGXFSZ, SIG_IGN);
	/* if our parent ignored it, the kernel would not report the end of the program, nor its
	 * status */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGUSR1);
	if (measure_several(k->opts))
		(void)sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, &k->old_mask))
		return err_sys(err, "sigprocmask");
	k->mask_set = true;
	k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return k->signals < 0 ? err_sys(err, "signalfd") : 0;
}

int counting_open(struct counting *k, const struct measure_opts *opts, const char *what,
		  unsigned parts, struct err *err)
{
	memset(k, 0, sizeof(*k));
	k->opts = opts;
	k->signals = k->wake = k->who.cgroup_fd = -1;
	k->control = (struct control)CONTROL_INIT;
	k->work.pid = k->work.go = k->work.told = -1;
	k->offspring = (struct offspring)OFFSPRING_INIT;
	k->has_program = opts->program.n;
	k->root = opts->root;
	if (opts->per)
		parts |= counting_per_parts(opts->per);
	if (machine_read_parts(&k->machine, opts->a, k->root, parts, err) ||
	    targets_find(&k->who, opts, &k->machine, what, err) ||
	    control_open(&k->control, opts, err))
		return -1;
	if (opts->dry_run)
		return 0;
	return open_signals(k, err);
}

static int prepare_program(struct counting *k, struct err *err)
{
	const struct measure_opts *opts = k->opts;
	char **argv;

	if (!k->has_program)
		return 0;
	argv = calloc(opts->program.n + 1, sizeof(*argv));
	if (!argv)
		return err_nomem(err);
	memcpy(argv, opts->program.v, opts->program.n * sizeof(*argv));
	if (workload_prepare(&k->work, argv, opts->env, &k->old_mask, opts->silent, err)) {
		free(argv);
		return -1;
	}
	free(argv);
	if (k->who.whole_cpus) /* the program only sets the duration */
		return 0;
	k->who.tasks.n = 0;
	return vec_push(&k->who.tasks, k->work.pid) ? err_nomem(err) : 0;
}

static int open_counters(struct counting *k, struct counter_setup *s, struct err *err)
{
	const struct measure_opts *o = k->opts;

	if (!s)
		s = &k->nothing;
	s->cpus = k->who.whole_cpus || o->cpu ? k->who.cpus.v : NULL;
	s->n_cpus = k->who.cpus.n;
	s->tasks = k->who.whole_cpus ? NULL : k->who.tasks.v;
	s->n_tasks = k->who.tasks.n;
	s->cgroup_fd = k->who.cgroup_fd;
	s->cgroups = k->who.cgroups.v;
	s->n_cgroups = k->who.cgroups.n;
	s->inherit = !o->no_inherit;
	s->enable_on_exec = k->has_program && !k->who.whole_cpus && !o->delay;
	s->user_only = o->user_only;
	s->kernel_only = o->kernel_only;
	s->may_drop_kernel = !k->who.whole_cpus;
	k->setup = s;
	if (!s->n_groups)
		return 0;
	k->on = calloc(s->n_groups, sizeof(*k->on));
	if (!k->on)
		return err_nomem(err);
	for (size_t g = 0; g < s->n_groups; g++)
		k->on[g] = !s->group[g].idle;
	return counters_open(&k->c, s, err);
}

static void tell_wait(const struct counting *k)
{
	if (k->has_program && k->loop.began && !k->loop.over && !k->work.ended)
		measure_news(k->opts, "waiting for the program, which is not measured any more");
}

void counting_end(struct counting *k)
{
	tell_wait(k);
	counters_close(k->c);
	k->c = NULL;
	workload_cancel(&k->work);
	offspring_close(&k->offspring);
	free(k->on);
	k->on = NULL;
	k->work = (struct workload){ .pid = -1, .go = -1, .told = -1 };
}

int counting_prepare(struct counting *k, struct counter_setup *setup,
		     const struct counting_reader *reader, struct err *err)
{
	k->reader = reader ? *reader : (struct counting_reader){ .read = NULL };
	k->loop = (struct counting_loop){ .end = COUNTING_NEVER };
	k->due = COUNTING_NEVER;
	k->stopped = k->counting = k->began = false;
	k->result = (struct counting_result){ 0 };
	if (counting_before(k, err))
		return -1;
	return prepare_program(k, err) || open_counters(k, setup, err) ? -1 : 0;
}

int counting_finish(struct counting *k, int rc, struct err *err)
{
	if (!rc)
		rc = counting_after(k, err);
	counting_end(k);
	return rc;
}

int counting_switch(struct counting *k, size_t group, bool on, struct err *err)
{
	if (k->on[group] == on)
		return 0;
	k->on[group] = on;
	return k->counting ? counters_enable(k->c, group, on, err) : 0;
}

void counting_close(struct counting *k)
{
	control_close(&k->control);
	if (k->signals >= 0)
		(void)close(k->signals);
	if (k->mask_set)
		(void)sigprocmask(SIG_SETMASK, &k->old_mask, NULL);
	targets_close(&k->who);
}
