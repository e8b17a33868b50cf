/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open - perf_event_open on the simulated machine. Each event is a real software event (task-clock
 * of a task, cpu-clock of a CPU) with the same flags, so that inheritance, enable_on_exec, ids and
 * errors of targets are the kernel's own; rules.c has what the PMU's driver refuses.
 */
#include "paper.h"
#include "preload.h"
#include "rdpmc.h"
#include "ring.h"
#include "rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The clocks' descriptors keep out of the way of programs that count on small numbers. */
#define CLOCK_FD_FLOOR 300

static int backing_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
			unsigned long flags)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	struct perf_event_attr user;
	int fd;

	/* the simulated machine may have more CPUs than this one */
	if (cpu >= 0 && online > 0 && cpu < (int)sim_state.machine.n_cpus)
		cpu = (int)(cpu % online);
	fd = (int)sim_real.syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
	if (fd >= 0 || errno != EACCES || attr->exclude_kernel)
		return fd;
	/* an ordinary user's clocks count all the same: what may be seen is the machine's to
	 * play */
	user = *attr;
	user.exclude_kernel = 1;
	return (int)sim_real.syscall(SYS_perf_event_open, &user, pid, cpu, group_fd, flags);
}

static int clock_open(const struct sim_context *c, const struct perf_event_attr *like)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = c->pid < 0 || c->cgroup >= 0 ? PERF_COUNT_SW_CPU_CLOCK
						       : PERF_COUNT_SW_TASK_CLOCK,
		.disabled = 1,
		.enable_on_exec = like->enable_on_exec,
		.inherit = like->inherit,
		.inherit_thread = like->inherit_thread,
	};
	int fd = backing_open(&attr, c->cgroup >= 0 ? c->cgroup : c->pid, c->cpu, -1,
			      PERF_FLAG_FD_CLOEXEC | (c->cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0));
	int high;

	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, CLOCK_FD_FLOOR);
	if (high < 0)
		return fd;
	sim_real.close(fd);
	return high;
}

static bool is_whole_cpu(const struct sim_context *c)
{
	return c->pid < 0 && c->cgroup < 0;
}

/* The events behind it are asked for nothing but whether they have begun. */
static bool has_clock(const struct sim_context *c)
{
	return sim_paper() || is_whole_cpu(c);
}

/* What the context's clock follows then. */
static uint64_t clock_of(const struct sim_context *c)
{
	struct timespec ts = { 0 };

	if (sim_paper())
		/* who counts itself runs all the time */
		return c->pid < 0 || c->own ? sim_paper_now() : sim_paper_ran();
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct sim_context *context_of(const struct perf_event_attr *attr, pid_t pid, int cpu,
				      int cgroup)
{
	struct sim_context *c;

	for (c = sim_contexts; c; c = c->next)
		if (c->pid == pid && c->cpu == cpu && c->cgroup == cgroup &&
		    c->inherit == attr->inherit)
			break;
	/* the first that exec begins, behind others that wait to be told */
	if (c && attr->enable_on_exec && !c->clock_on_exec && !c->clock_runs) {
		(void)sim_real.close(c->clock_fd);
		c->clock_on_exec = true;
		c->clock_fd = clock_open(c, attr);
	}
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->pid = pid;
	c->cpu = cpu;
	c->cgroup = cgroup;
	c->inherit = attr->inherit;
	c->own = pid == gettid();
	c->clock_on_exec = attr->enable_on_exec;
	if (has_clock(c))
		c->began = clock_of(c);
	c->clock_fd = clock_open(c, attr);
	if (c->clock_fd < 0) {
		free(c);
		return NULL;
	}
	c->next = sim_contexts;
	sim_contexts = c;
	return c;
}

bool sim_is_made(const struct sim_counter *k)
{
	return is_whole_cpu(k->context) && !k->leader->of_kernel;
}

void sim_clock_start(struct sim_context *c)
{
	if (c->clock_runs)
		return;
	sim_real.ioctl(c->clock_fd, PERF_EVENT_IOC_ENABLE, 0);
	c->clock_runs = true;
	if (has_clock(c))
		c->began = clock_of(c);
}

void sim_catch_up(struct sim_context *c)
{
	uint64_t now = 0;

	if ((c->clock_on_exec || !has_clock(c)) &&
	    sim_real.read(c->clock_fd, &now, sizeof(now)) != sizeof(now))
		return;
	if (!c->clock_runs && now && c->clock_on_exec) {
		c->clock_runs = true;
		sim_context_exec(c);
	}
	if (has_clock(c)) /* what began by exec did so before any program ran */
		now = c->clock_runs ? clock_of(c) - c->began : 0;
	sim_context_advance(&sim_state, c, now);
}

/* The real event behind this one. */
static void backing_attr(struct perf_event_attr *to, const struct sim_counter *k, bool cpu_wide)
{
	*to = k->attr;
	to->type = PERF_TYPE_SOFTWARE;
	to->config = cpu_wide ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK;
	to->config1 = 0;
	to->config2 = 0;
	to->precise_ip = 0;
	to->pinned = 0;
	to->exclusive = 0;
	to->aux_output = 0;
	sim_sample_attr(&sim_state, to, k);
}

static void trace(const struct sim_counter *k, pid_t pid, int cpu, int group_fd)
{
	if (sim_state.debug)
		fprintf(stderr, "sim: open %s %#llx %#llx (%s) pid %d cpu %d group %d: %d\n",
			k->pmu ? k->pmu->name : "software", (unsigned long long)k->attr.config,
			(unsigned long long)k->attr.config1, k->event.name, pid, cpu, group_fd,
			k->fd);
}

static int open_in(struct sim_counter *k, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	struct perf_event_attr real = k->attr;
	int bad = 0;

	if (k->pmu) {
		bad = sim_rules_precise(&sim_state, k);
		if (!bad)
			bad = sim_rules(&sim_state, k, pid, cpu, flags & PERF_FLAG_PID_CGROUP);
		backing_attr(&real, k, pid < 0 || flags & PERF_FLAG_PID_CGROUP);
	}
	if (bad) {
		errno = bad;
		return -1;
	}
	k->fd = backing_open(&real, pid, cpu, group_fd, flags);
	k->reads = k->pmu && (real.sample_type & ~k->attr.sample_type) & PERF_SAMPLE_READ;
	if (k->fd < 0 && errno == EINVAL && k->reads) {
		real.sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
		k->reads = false;
		k->fd = backing_open(&real, pid, cpu, group_fd, flags);
	}
	return k->fd;
}

static void begin(struct sim_counter *k)
{
	struct sim_context *c = k->context;

	sim_catch_up(c);
	k->state = k->attr.disabled ? SIM_OFF : SIM_ON;
	k->wait_exec = k->attr.enable_on_exec;
	/* siblings of a leader that waits are on by themselves and must not start the clock */
	if (k->state == SIM_ON && k->leader->state == SIM_ON)
		sim_clock_start(c);
	sim_context_add(c, k);
	if (sim_real.ioctl(k->fd, PERF_EVENT_IOC_ID, &k->id))
		k->id = 0;
	sim_id_set(k->id, k);
	sim_by_fd[k->fd] = k;
	sim_may_map[k->fd] = true;
}

static struct sim_counter *leader_of(int group_fd)
{
	struct sim_counter *leader =
		group_fd >= 0 && group_fd < SIM_FDS ? sim_by_fd[group_fd] : NULL;

	return leader;
}

static int fill_counter(struct sim_counter *k, const struct perf_event_attr *asked)
{
	size_t n = asked->size && asked->size < sizeof(k->attr) ? asked->size : sizeof(k->attr);
	uint64_t own;
	bool unknown;

	memcpy(&k->attr, asked, n);
	k->attr.size = (uint32_t)n;
	k->pmu = sim_machine_pmu(&sim_state.machine, asked->type, asked->config, &own, &unknown);
	if (unknown) {
		errno = ENOENT;
		return -1;
	}
	if (k->pmu)
		sim_machine_event(&sim_state.machine, k->pmu, own, k->attr.config1, &k->event);
	k->side = (struct sim_side){ !k->attr.exclude_user, !k->attr.exclude_kernel };
	return 0;
}

int sim_open(const struct perf_event_attr *asked, pid_t pid, int cpu, int group_fd,
	     unsigned long flags)
{
	struct sim_counter *leader = leader_of(group_fd), *k = calloc(1, sizeof(*k));
	int cgroup = flags & PERF_FLAG_PID_CGROUP ? pid : -1;
	bool clock =
		asked->type == PERF_TYPE_SOFTWARE && (asked->config == PERF_COUNT_SW_CPU_CLOCK ||
						      asked->config == PERF_COUNT_SW_TASK_CLOCK);

	if (!k || fill_counter(k, asked))
		goto fail;
	/* Software events alone are the kernel's affair; but a clock may come to lead counters. */
	if (!k->pmu && !(leader || (clock && !asked->sample_period))) {
		int fd = (int)sim_real.syscall(SYS_perf_event_open, asked, pid, cpu, group_fd,
					       flags);

		free(k);
		if (fd >= 0 && fd < SIM_FDS)
			sim_may_map[fd] = true;
		return fd;
	}
	k->context = context_of(&k->attr, cgroup >= 0 ? -1 : pid ? pid : gettid(), cpu, cgroup);
	if (!k->context)
		goto fail;
	k->leader = leader ? leader : k;
	if (open_in(k, pid, cpu, group_fd, flags) < 0)
		goto fail;
	if (k->fd >= SIM_FDS) {
		sim_real.close(k->fd);
		errno = EMFILE;
		goto fail;
	}
	begin(k);
	trace(k, pid, cpu, group_fd);
	return k->fd;
fail:
	if (k)
		trace(k, pid, cpu, group_fd);
	free(k);
	return -1;
}

void sim_close(int fd)
{
	struct sim_counter *k = sim_by_fd[fd];

	sim_rdpmc_close(fd);
	sim_by_fd[fd] = NULL;
	sim_catch_up(k->context);
	sim_ring_pump(); /* what it wrote last is still its own */
	sim_truth_write(&sim_state, k);
	sim_context_remove(k->context, k);
	if (sim_id_get(k->id) == k)
		sim_id_set(k->id, NULL);
	free(k->turns_on);
	free(k->thread);
	free(k);
}
