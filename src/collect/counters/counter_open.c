/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/counters/counter_int.h"
#include "collect/sysfs.h"

bool counter_counts_on(const struct counter_event *e, const struct perf_counters *c, size_t place)
{
	int cpu = counter_cpu(c, place);

	return !e->cpus || cpu < 0 || cpu_list_has(e->cpus, e->n_cpus, (uint32_t)cpu);
}

static void fill_attr(struct perf_event_attr *a, const struct perf_counters *c, size_t g, size_t e,
		      bool leads)
{
	const struct counter_setup *s = &c->setup;
	const struct counter_group *group = &s->group[g];

	*a = group->event[e].attr;
	a->size = sizeof(*a);
	a->sample_period = 0;
	a->sample_type = 0;
	a->freq = 0;
	a->precise_ip = 0;
	a->read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->disabled = leads;
	a->pinned = leads && (group->pinned || a->pinned);
	a->enable_on_exec = leads && s->enable_on_exec && !group->idle;
	a->inherit = s->inherit && s->tasks;
	if (s->user_only || c->without_kernel)
		a->exclude_kernel = a->exclude_hv = 1;
	if (s->kernel_only)
		a->exclude_user = 1;
	if (c->group[g].event[e].any_guest)
		a->exclude_guest = a->exclude_host = 0;
}

/* One more round is worth it: something can be given up, or had. */
static bool try_otherwise(struct perf_counters *c, const struct perf_event_attr *a, size_t g,
			  size_t e, int number)
{
	struct counter_event_state *s = &c->group[g].event[e];

	if (number == EMFILE) {
		struct rlimit before, after;

		if (getrlimit(RLIMIT_NOFILE, &before))
			return false;
		counter_raise_files((size_t)before.rlim_cur * 2);
		return !getrlimit(RLIMIT_NOFILE, &after) && after.rlim_cur > before.rlim_cur;
	}
	if ((number == EINVAL || number == EOPNOTSUPP) && !s->any_guest &&
	    (a->exclude_guest || a->exclude_host)) {
		s->any_guest = true;
		return true;
	}
	if ((number == EACCES || number == EPERM) && c->setup.may_drop_kernel &&
	    !a->exclude_kernel && !c->setup.kernel_only) {
		c->without_kernel = true;
		return true;
	}
	return false;
}

/* False: the kernel refuses it, and errno has the reason. */
static bool set_filter(const struct perf_counters *c, size_t g, size_t e, int fd)
{
	const char *filter = c->setup.group[g].event[e].filter;
	int number;

	if (!filter || !ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return true;
	number = errno;
	(void)close(fd);
	errno = number;
	return false;
}

int counter_open_one(struct perf_counters *c, size_t g, size_t e, size_t place, int leader)
{
	bool guests_told_apart = !c->group[g].event[e].any_guest, kernel = !c->without_kernel;
	bool cgroup = c->setup.cgroup_fd >= 0;
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (cgroup ? PERF_FLAG_PID_CGROUP : 0);
	pid_t task = counter_by_cgroup(c) ? c->setup.cgroups[place % c->n_tasks]
		     : cgroup		  ? c->setup.cgroup_fd
			      : (c->setup.tasks ? c->setup.tasks[place % c->n_tasks] : -1);
	int first = 0;

	for (;;) {
		struct perf_event_attr a;
		int fd, number;

		fill_attr(&a, c, g, e, leader < 0);
		fd = (int)syscall(SYS_perf_event_open, &a, task, counter_cpu(c, place), leader,
				  flags);
		if (fd >= 0 && set_filter(c, g, e, fd))
			return fd;
		number = errno;
		first = first ? first : number;
		if (try_otherwise(c, &a, g, e, number))
			continue;
		/* asking for less did not help: then that was not it */
		if (guests_told_apart)
			c->group[g].event[e].any_guest = false;
		if (kernel)
			c->without_kernel = false;
		/* the kernel checks the right to count itself first: without that right, the error
		 * for user space alone is the real one */
		return first == EACCES || first == EPERM ? -number : -first;
	}
}

const char *counter_reason(const struct perf_counters *c, const struct counter_event *e, int number)
{
	switch (number) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
		return "this machine has no such counter";
	case EINVAL:
		if (e->cpus && c->setup.tasks)
			return "it counts for whole CPUs, not for a program (-a)";
		if (c->setup.user_only || c->setup.kernel_only)
			return "its PMU does not take it, or does not tell user and kernel apart";
		return "its PMU does not take it";
	case EACCES:
	case EPERM:
		return "not permitted (perf_event_paranoid)";
	case EBUSY:
		return "another program holds the counter";
	case ENOSPC:
		return "no counter of its kind is left";
	case E2BIG:
		return "this kernel is too old for it";
	default:
		return "the kernel refuses it";
	}
}

void counter_raise_files(size_t want)
{
	struct rlimit l, more;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return;
	more = l;
	more.rlim_cur = more.rlim_max;
	if (more.rlim_cur < want) { /* beyond the hard limit root may go */
		more.rlim_cur = more.rlim_max = want;
		if (!setrlimit(RLIMIT_NOFILE, &more))
			return;
		more.rlim_cur = more.rlim_max = l.rlim_max;
	}
	if (more.rlim_cur > l.rlim_cur && setrlimit(RLIMIT_NOFILE, &more))
		return; /* then the old one has to do */
}
