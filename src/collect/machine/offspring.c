/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/offspring.h"

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/perf_abi.h"

/* The page of its head, and one for records, of which it has none. */
static size_t offspring_ring(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

bool offspring_open(struct offspring *o, pid_t pid)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.sample_period = 1,
					.inherit = 1,
					.disabled = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int cpu = sched_getcpu();
	void *ring;

	*o = (struct offspring)OFFSPRING_INIT;
	/* of one CPU: only such an event can be inherited and have a ring, and without a ring poll
	 * takes each event for one that has hung up */
	o->fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu < 0 ? 0 : cpu, -1,
			     PERF_FLAG_FD_CLOEXEC);
	if (o->fd < 0)
		return false;
	ring = mmap(NULL, offspring_ring(), PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, 0);
	if (ring == MAP_FAILED) {
		offspring_close(o);
		return false;
	}
	o->ring = ring;
	return true;
}

bool offspring_live(const struct offspring *o, int ms)
{
	struct pollfd p = { .fd = o->fd };

	return o->fd >= 0 && poll(&p, 1, ms) <= 0;
}

void offspring_close(struct offspring *o)
{
	if (o->ring)
		(void)munmap(o->ring, offspring_ring());
	if (o->fd >= 0)
		(void)close(o->fd);
	*o = (struct offspring)OFFSPRING_INIT;
}
