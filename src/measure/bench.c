/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/bench.h"

#include <sched.h>

double bench_now(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_pin(unsigned cpu, struct err *err)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= CPU_SETSIZE)
		return err_set(err, ERR_LIMIT, "CPU %u: only the first %d can be used", cpu,
			       CPU_SETSIZE);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? err_sys(err, "CPU %u", cpu) : 0;
}
