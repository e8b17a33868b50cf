/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reads MS N [TYPE:CONFIG,TYPE:CONFIG,... ...] - the least that -a -I MS can cost: each list of
 * events a group on each CPU (none: four software events), read N times, one read a group and CPU.
 * Nothing is made of what was read. A single "-" for a list: nothing is opened nor read, it only
 * wakes up.
 */
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MANY 1024

/* The leader's descriptor; what stands behind the list is left in *text. */
static int open_group(const char *text, int cpu)
{
	int leader = -1;

	for (;;) {
		struct perf_event_attr a = { .size = sizeof(a),
					     .read_format = PERF_FORMAT_GROUP |
							    PERF_FORMAT_TOTAL_TIME_ENABLED |
							    PERF_FORMAT_TOTAL_TIME_RUNNING };
		char *end;
		int fd;

		a.type = (__u32)strtoul(text, &end, 0);
		if (*end != ':')
			return -1;
		a.config = strtoull(end + 1, &end, 0);
		fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			return -1;
		if (leader < 0)
			leader = fd;
		if (*end != ',')
			return leader;
		text = end + 1;
	}
}

int main(int argc, char **argv)
{
	/* task-clock, page-faults, cs, migrations */
	static char software[] = "1:1,1:2,1:3,1:4";
	char *usual[] = { software }, **group = argc > 3 ? argv + 3 : usual;
	bool wakes = argc == 4 && !strcmp(argv[3], "-");
	int n_groups = wakes ? 0 : argc > 3 ? argc - 3 : 1, n_fd = 0, fd[MANY];
	long ms = argc > 2 ? atol(argv[1]) : 0, n = argc > 2 ? atol(argv[2]) : 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };

	if (ms < 1 || n < 1 || cpus * n_groups > MANY) {
		(void)fprintf(stderr, "usage: reads MS N [- | TYPE:CONFIG,... ...]\n");
		return 2;
	}
	for (int g = 0; g < n_groups; g++)
		for (int cpu = 0; cpu < cpus; cpu++) {
			fd[n_fd] = open_group(group[g], cpu);
			if (fd[n_fd++] < 0) {
				perror("perf_event_open");
				return 1;
			}
		}
	for (; n; n--) {
		__u64 word[64];

		(void)ppoll(NULL, 0, &wait, NULL);
		for (int i = 0; i < n_fd; i++)
			if (read(fd[i], word, sizeof(word)) < 0)
				return 1;
	}
	return 0;
}
