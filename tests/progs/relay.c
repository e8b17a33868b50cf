/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * relay - the ways in which an address space changes: works in `first_leg`, forks a child that
 * works in `second_leg` (the parent's mappings), which executes this program again to work in
 * `third_leg` (new mappings at other places), while the parent works in libc (qsort). Each leg
 * takes MILLISECONDS (100) of CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double cpu_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

#define LEG(name, step)                                           \
	__attribute__((noinline)) static void name(double ms)     \
	{                                                         \
		double end = cpu_ms() + ms;                       \
		while (cpu_ms() < end)                            \
			for (unsigned long i = 0; i < 20000; i++) \
				sink += i * (step);               \
	}

LEG(first_leg, 1)
LEG(second_leg, 3)
LEG(third_leg, 5)

static int by_value(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void library_leg(double ms)
{
	static int v[20000];
	double end = cpu_ms() + ms;

	while (cpu_ms() < end) {
		for (unsigned i = 0; i < 20000; i++)
			v[i] = (int)(i * 2654435761u >> 8);
		qsort(v, 20000, sizeof(*v), by_value);
	}
}

int main(int argc, char **argv)
{
	double ms = argc > 1 ? strtod(argv[1], NULL) : 100;
	pid_t child;

	if (argc > 2 && !strcmp(argv[2], "third")) {
		third_leg(ms);
		return 0;
	}
	first_leg(ms);
	child = fork();
	if (child < 0)
		return 1;
	if (!child) {
		char text[32];

		(void)prctl(PR_SET_NAME, "second");
		second_leg(ms);
		(void)snprintf(text, sizeof(text), "%g", ms);
		execl("/proc/self/exe", "relay-third", text, "third", (char *)NULL);
		_exit(127);
	}
	library_leg(ms);
	(void)waitpid(child, NULL, 0);
	return 0;
}
