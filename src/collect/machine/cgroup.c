/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/machine/cgroup.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/perf_abi.h"

/* errno of an event that every kernel has, there; 0: it opens. */
static int try_dummy(int task, int cpu, unsigned long flags)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(a),
				     .config = PERF_COUNT_SW_DUMMY,
				     .disabled = 1,
				     .exclude_kernel = 1,
				     .exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &a, task, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

bool cgroup_refused(const char *name, int number, int cgroup_fd, int cpu, struct err *err)
{
	if (cgroup_fd < 0)
		return false;
	if (number == EBADF) {
		errno = number;
		(void)err_sys(err, "%s: perf_event_open", name);
		(void)err_hint(err,
			       "is it a cgroup? it must lie in the hierarchy of perf_event, or "
			       "of version 2");
		return true;
	}
	/* Version 2 has perf_event in every cgroup, but only since some controller was turned on
	 * at the root for the first time: systemd does that, a bare mount does not. */
	if (number != ENOENT || try_dummy(cgroup_fd, cpu, PERF_FLAG_PID_CGROUP) != ENOENT ||
	    try_dummy(-1, cpu, 0))
		return false;
	(void)err_set(err, ERR_UNSUPPORTED, "%s: the cgroup has no perf_event controller", name);
	(void)err_hint(err, "turn any controller on at the root: echo +pids "
			    ">/sys/fs/cgroup/cgroup.subtree_control");
	return true;
}
