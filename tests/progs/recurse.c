/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recurse - a call chain of DEPTH (100,000) frames of `down`, with the work at its bottom in
 * `bottom`.
 *
 *	usage: recurse [DEPTH [MILLISECONDS]]
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double cpu_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

__attribute__((noinline)) static void bottom(double ms)
{
	double end = cpu_ms() + ms;

	while (cpu_ms() < end)
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i;
}

__attribute__((noinline)) static void down(unsigned long depth, double ms)
{
	if (depth)
		down(depth - 1, ms);
	else
		bottom(ms);
	sink++;
}

int main(int argc, char **argv)
{
	unsigned long depth = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	double ms = argc > 2 ? strtod(argv[2], NULL) : 300;
	struct rlimit want = { 1u << 28, RLIM_INFINITY }, have;

	/* the stack's limit counts from exec on */
	if (!getrlimit(RLIMIT_STACK, &have) && have.rlim_cur != RLIM_INFINITY &&
	    have.rlim_cur < want.rlim_cur && have.rlim_max >= want.rlim_cur) {
		want.rlim_max = have.rlim_max;
		if (!setrlimit(RLIMIT_STACK, &want))
			execv("/proc/self/exe", argv);
	}
	down(depth, ms);
	return 0;
}
