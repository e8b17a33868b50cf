/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/vacant.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu_list.h"

#define GROUP_MAX 64
#define WAIT	  4500000u /* ns on the counters' clock: a turn of the kernel's, and some */
#define READS_MAX 20000u   /* of one group, whatever its clock */

struct group {
	int fd[GROUP_MAX];
	size_t n;
};

static void close_vacant(struct group *g)
{
	while (g->n)
		(void)close(g->fd[--g->n]);
}

static int open_vacant_event(const struct perf_event_attr *from, bool user, int cpu, pid_t task,
			     int leader)
{
	struct perf_event_attr a = { .type = from->type,
				     .size = sizeof(a),
				     .config = from->config,
				     .config1 = from->config1,
				     .config2 = from->config2,
				     .exclude_user = from->exclude_user,
				     .exclude_kernel = from->exclude_kernel || user,
				     .exclude_hv = from->exclude_hv || user,
				     .disabled = leader < 0,
				     .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
						    PERF_FORMAT_TOTAL_TIME_RUNNING };

	return (int)syscall(SYS_perf_event_open, &a, task, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

/* YES: it is open; NO: too much for a PMU that is all ours. */
static enum vacant open_vacant_group(struct group *g, const struct perf_event_attr *attr, size_t n,
				     bool user, int cpu, pid_t task)
{
	g->n = 0;
	for (size_t i = 0; i < n; i++) {
		int fd = open_vacant_event(&attr[i], user, cpu, task, i ? g->fd[0] : -1);

		if (fd < 0 && i && (errno == EINVAL || errno == ENOSPC)) {
			fd = open_vacant_event(&attr[i], user, cpu, task, -1);
			if (fd >= 0)
				(void)close(fd);
			close_vacant(g);
			return fd >= 0 ? VACANT_NO : VACANT_UNKNOWN;
		}
		if (fd < 0) {
			close_vacant(g);
			return VACANT_UNKNOWN;
		}
		g->fd[g->n++] = fd;
	}
	return VACANT_YES;
}

/* The thread reads meanwhile, so that time passes. */
static enum vacant watch_vacant(const struct group *g)
{
	struct {
		uint64_t value, enabled, running;
	} now = { 0, 0, 0 };

	for (unsigned i = 0; i < READS_MAX && now.enabled < WAIT; i++) {
		if (read(g->fd[0], &now, sizeof(now)) != sizeof(now))
			return VACANT_UNKNOWN;
		if (now.running)
			return VACANT_YES;
	}
	return now.enabled ? VACANT_NO : VACANT_UNKNOWN;
}

static enum vacant test_at(const struct perf_event_attr *attr, size_t n, int cpu, pid_t task)
{
	struct group g;
	enum vacant got = open_vacant_group(&g, attr, n, false, cpu, task);

	if (got == VACANT_UNKNOWN && (errno == EACCES || errno == EPERM))
		got = open_vacant_group(&g, attr, n, true, cpu, task);
	if (got != VACANT_YES)
		return got;
	got = ioctl(g.fd[0], PERF_EVENT_IOC_ENABLE, 0) ? VACANT_UNKNOWN : watch_vacant(&g);
	close_vacant(&g);
	return got;
}

/* The thread on a core of the right kind, and back. */
static enum vacant test_on(const struct perf_event_attr *attr, size_t n, const uint32_t *cores,
			   size_t n_cores)
{
	enum vacant got = VACANT_UNKNOWN;
	cpu_set_t was, one;

	if (sched_getaffinity(0, sizeof(was), &was))
		return VACANT_UNKNOWN;
	for (size_t i = 0; i < n_cores; i++) {
		if (cores[i] >= CPU_SETSIZE || !CPU_ISSET(cores[i], &was))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cores[i], &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		got = test_at(attr, n, (int)cores[i], 0);
		(void)sched_setaffinity(0, sizeof(was), &was);
		break;
	}
	return got;
}

enum vacant vacant_test(const struct perf_event_attr *attr, size_t n, const struct vacant_where *w)
{
	enum vacant all = VACANT_UNKNOWN;

	if (!n || n > GROUP_MAX)
		return VACANT_UNKNOWN;
	if (!w->cpus)
		return w->cores ? test_on(attr, n, w->cores, w->n_cores) : test_at(attr, n, -1, 0);
	for (size_t i = 0; i < w->n_cpus && all != VACANT_NO; i++) {
		enum vacant got = VACANT_UNKNOWN;

		if (!w->cores || cpu_list_has(w->cores, w->n_cores, w->cpus[i]))
			got = test_at(attr, n, (int)w->cpus[i], -1);
		if (got != VACANT_UNKNOWN)
			all = got;
	}
	return all;
}
