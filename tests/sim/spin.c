/* SPDX-License-Identifier: BSD-3-Clause */
/* spin MS [MS0 MS1]: uses the CPU for that many ms of its own time, so that a simulated program is
 * as long on a busy machine as on an idle one; by turns MS0 on CPU 0 and MS1 on CPU 1. Where time
 * is on paper (paper.h) it sleeps and says how long it would run. */
#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int move_to(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* Whether that is done: where time is on paper. */
static bool on_paper(double ms)
{
	bool (*run)(uint64_t);
	void *at = dlsym(RTLD_DEFAULT, "sim_paper_run");

	if (!at) /* started by itself */
		return false;
	/* ISO C has no cast from void * to a function's address */
	memcpy(&run, &at, sizeof(run));
	return run((uint64_t)(ms * 1e6));
}

int main(int argc, char **argv)
{
	double wanted = argc > 1 ? strtod(argv[1], NULL) : 100, now, until = 0;
	double turn[2] = { argc > 3 ? strtod(argv[2], NULL) : 0,
			   argc > 3 ? strtod(argv[3], NULL) : 0 };
	volatile uint64_t x = 1;
	struct timespec t;
	unsigned cpu = 1;

	if (argc <= 3 && on_paper(wanted))
		return 0;
	do {
		for (int i = 0; i < 20000; i++)
			x = x * 3 + 1;
		if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
			return 1;
		now = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
		if (argc <= 3 || now < until)
			continue;
		cpu = !cpu;
		until = now + turn[cpu];
		if (move_to(cpu))
			return 2;
	} while (now < wanted);
	return 0;
}
