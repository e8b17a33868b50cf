/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reads MS N - the least that -a -I MS can cost: four software events in a group on each CPU, read N
 * times, one read a CPU. Nothing is made of what was read.
 */
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const __u64 event[] = { PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
			       PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS };

static int open_group(int cpu)
{
	int leader = -1;

	for (unsigned i = 0; i < sizeof(event) / sizeof(*event); i++) {
		struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
					     .size = sizeof(a),
					     .config = event[i],
					     .read_format = PERF_FORMAT_GROUP |
							    PERF_FORMAT_TOTAL_TIME_ENABLED |
							    PERF_FORMAT_TOTAL_TIME_RUNNING };
		int fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, leader,
				      PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			return -1;
		if (leader < 0)
			leader = fd;
	}
	return leader;
}

int main(int argc, char **argv)
{
	long ms = argc > 2 ? atol(argv[1]) : 0, n = argc > 2 ? atol(argv[2]) : 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };
	int fd[1024];

	if (ms < 1 || n < 1 || cpus > 1024) {
		(void)fprintf(stderr, "usage: reads MS N\n");
		return 2;
	}
	for (int cpu = 0; cpu < cpus; cpu++) {
		fd[cpu] = open_group(cpu);
		if (fd[cpu] < 0) {
			perror("perf_event_open");
			return 1;
		}
	}
	for (; n; n--) {
		__u64 word[16];

		(void)ppoll(NULL, 0, &wait, NULL);
		for (long cpu = 0; cpu < cpus; cpu++)
			if (read(fd[cpu], word, sizeof(word)) < 0)
				return 1;
	}
	return 0;
}
