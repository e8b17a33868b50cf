/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * floor - what the kernel's part of recording costs, whoever asked for it: runs a program with
 * cpu-clock at work as a recorder would have it, with rings that the kernel writes round and round
 * and that nobody reads. Whatever a recorder costs beyond this is its own.
 *
 *	floor [-F HZ] [-m KB] [-g] [-s BITS] [-w BYTES] [-W SAMPLES] [-o WORDS] PROGRAM [ARGS]
 *
 *	-g	call chains			-s	further PERF_SAMPLE_* bits, a number
 *	-w	wake a reader each BYTES	-W	wake a reader each SAMPLES
 *	-o	any of, joined by commas: period (-F as a fixed period), kernel (no chains of user
 *		space), user (no chains of the kernel), side (all side-band records), switches,
 *		clock (times of CLOCK_MONOTONIC), tasks (one counter, not inherited), lone (samples
 *		of IP only), full (rings that are not written over: once full, nothing is written)
 *
 * Says on standard error how many samples were written, by the rings' heads and the size of what
 * lies in them.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_CPUS 1024

struct ring {
	struct perf_event_mmap_page *page;
	uint64_t size;
};

static struct perf_event_attr attr = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(attr),
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.sample_freq = 20000,
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD,
	.freq = 1,
	.disabled = 1,
	.enable_on_exec = 1,
	.inherit = 1,
	.sample_id_all = 1,
	.watermark = 1,
};
static uint64_t ring_kb = 512;
static int tasks, readable;

static int word(const char *w)
{
	if (!strcmp(w, "period")) {
		attr.freq = 0;
		attr.sample_period = 1000000000 / attr.sample_freq;
	} else if (!strcmp(w, "kernel")) {
		attr.exclude_callchain_user = 1;
	} else if (!strcmp(w, "user")) {
		attr.exclude_callchain_kernel = 1;
	} else if (!strcmp(w, "side")) {
		attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
		attr.ksymbol = attr.bpf_event = 1;
	} else if (!strcmp(w, "switches")) {
		attr.context_switch = 1;
	} else if (!strcmp(w, "clock")) {
		attr.use_clockid = 1;
		attr.clockid = CLOCK_MONOTONIC;
	} else if (!strcmp(w, "tasks")) {
		tasks = 1;
		attr.inherit = 0;
	} else if (!strcmp(w, "lone")) {
		attr.sample_type &= PERF_SAMPLE_CALLCHAIN;
		attr.sample_type |= PERF_SAMPLE_IP;
	} else if (!strcmp(w, "full")) {
		readable = 1;
	} else {
		return -1;
	}
	return 0;
}

static int words(char *list)
{
	char *save = NULL;

	for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save))
		if (word(w))
			return -1;
	return 0;
}

static int options(int argc, char **argv)
{
	char *list = NULL;
	int c;

	while ((c = getopt(argc, argv, "+F:m:gs:w:W:o:")) >= 0) {
		switch (c) {
		case 'F':
			attr.sample_freq = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			ring_kb = strtoull(optarg, NULL, 0);
			break;
		case 'g':
			attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
			break;
		case 's':
			attr.sample_type |= strtoull(optarg, NULL, 0);
			break;
		case 'w':
			attr.wakeup_watermark = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'W':
			attr.watermark = 0;
			attr.wakeup_events = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'o':
			list = optarg;
			break;
		default:
			return -1;
		}
	}
	if (!attr.sample_freq || (list && words(list)))
		return -1;
	return optind < argc ? optind : -1;
}

/* The child waits for a byte, so that the counters are there when it begins. */
static pid_t prepare(char **argv, int *go)
{
	int p[2];
	pid_t pid;
	char c;

	if (pipe(p))
		return -1;
	pid = fork();
	if (!pid) {
		(void)close(p[1]);
		if (read(p[0], &c, 1) == 1)
			(void)execvp(argv[0], argv);
		_exit(127);
	}
	(void)close(p[0]);
	*go = p[1];
	return pid;
}

static int open_ring(struct ring *r, pid_t pid, int cpu)
{
	size_t len = (size_t)sysconf(_SC_PAGESIZE) + ring_kb * 1024;
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	void *p;

	if (fd < 0) {
		perror("floor: perf_event_open");
		return -1;
	}
	/* not writable for us: the kernel writes over what is old */
	p = mmap(NULL, len, PROT_READ | (readable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror("floor: mmap");
		return -1;
	}
	r->page = p;
	r->size = ring_kb * 1024;
	return 0;
}

/* How many samples were written: the newest lies at the head, those before it behind that; a ring
 * that was written over is full of them, and samples of one program are much alike. */
static double samples_of(const struct ring *r)
{
	const uint8_t *data = (const uint8_t *)r->page + sysconf(_SC_PAGESIZE);
	uint64_t head = r->page->data_head, written = -head, at = 0, n = 0;
	uint64_t there = written < r->size ? written : r->size;
	struct perf_event_header h = { 0 };

	while (at + sizeof(h) <= there) {
		memcpy(&h, data + ((head + at) & (r->size - 1)), sizeof(h));
		if (h.size < sizeof(h) || at + h.size > there)
			break;
		n += h.type == PERF_RECORD_SAMPLE;
		at += h.size;
	}
	return at ? (double)n * (double)written / (double)at : 0;
}

int main(int argc, char **argv)
{
	static struct ring ring[MAX_CPUS];
	int at = options(argc, argv), go = -1, status, n = 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double samples = 0;
	pid_t pid;

	if (at < 0) {
		(void)fprintf(stderr, "usage: floor [-F HZ] [-m KB] [-g] [-s BITS] [-w BYTES] "
				      "[-W SAMPLES] [-o WORDS] PROGRAM [ARGS]\n");
		return 2;
	}
	attr.write_backward = !readable;
	pid = prepare(argv + at, &go);
	if (pid < 0)
		return 2;
	for (int cpu = 0; cpu < (tasks ? 1 : cpus) && cpu < MAX_CPUS; cpu++, n++)
		if (open_ring(&ring[n], pid, tasks ? -1 : cpu))
			return 2;
	if (write(go, "g", 1) != 1 || waitpid(pid, &status, 0) != pid)
		return 2;
	for (int i = 0; i < n && !readable; i++)
		samples += samples_of(&ring[i]);
	(void)fprintf(stderr, "floor: %.0f samples\n", samples);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
