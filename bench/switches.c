/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * switches N - what the kernel takes, of the caller's processor time, for one read, disable and
 * enable of a group of counters: of the CPU that the caller is on, of another CPU (which it
 * interrupts), and of groups that are disabled. Four software events a group; medians of 25 blocks
 * of N calls, in ns. A second thread keeps the other CPU from sleeping unless N is negative.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 25
#define EVENTS 4

static int open_group(int cpu)
{
	int leader = -1;

	for (unsigned i = 0; i < EVENTS; i++) {
		struct perf_event_attr a = { .size = sizeof(a),
					     .type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_TASK_CLOCK + i,
					     .read_format = PERF_FORMAT_GROUP |
							    PERF_FORMAT_TOTAL_TIME_ENABLED |
							    PERF_FORMAT_TOTAL_TIME_RUNNING };
		int fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, leader,
				      PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			return -1;
		leader = leader < 0 ? fd : leader;
	}
	return leader;
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

enum what { READ, SWITCH, NOTHING };

static double block(enum what what, int fd, long n)
{
	uint64_t words[3 + EVENTS];
	double began = now();
	bool ok = true;

	for (long i = 0; i < n; i++) {
		if (what == READ)
			ok &= read(fd, words, sizeof(words)) == (ssize_t)sizeof(words);
		else if (what == SWITCH)
			ok &= !ioctl(fd, i & 1 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		else
			ok &= getppid() >= 0;
	}
	if (!ok)
		perror("switches");
	return (now() - began) / (double)n;
}

static void show(const char *name, enum what what, int fd, long n)
{
	double took[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		took[i] = block(what, fd, n);
	qsort(took, BLOCKS, sizeof(*took), by_size);
	printf("%-36s %6.0f ns (%.0f to %.0f)\n", name, took[BLOCKS / 2], took[0],
	       took[BLOCKS - 1]);
}

static bool pin(size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

static volatile bool done;

static void *stay(void *cpu)
{
	if (pin(*(size_t *)cpu))
		while (!done)
			;
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	bool awake = n > 0;
	int own = open_group(0), other = open_group(1);
	size_t there = 1;
	pthread_t thread;

	n = (n < 0 ? -n : n) & ~1L;
	if (!n) {
		(void)fprintf(stderr, "usage: switches N\n");
		return 2;
	}
	if (own < 0 || other < 0 || !pin(0)) {
		perror("switches: two CPUs and their counters");
		return 1;
	}
	if (awake && pthread_create(&thread, NULL, stay, &there))
		return 1;
	show("getppid", NOTHING, -1, n);
	show("read, own CPU", READ, own, n);
	show("read, another CPU", READ, other, n);
	show("disable or enable, own CPU", SWITCH, own, n);
	show("disable or enable, another CPU", SWITCH, other, n);
	(void)ioctl(own, PERF_EVENT_IOC_DISABLE, 0);
	(void)ioctl(other, PERF_EVENT_IOC_DISABLE, 0);
	show("read, disabled, own CPU", READ, own, n);
	show("read, disabled, another CPU", READ, other, n);
	done = true;
	return awake && pthread_join(thread, NULL) ? 1 : 0;
}
