/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls ivb|spr|gnr - asks the simulated PMU what tools do not: groups opened late, switched off
 * and on, reset; what is refused, and how. Says a line "ok NAME" or "not ok NAME: ..." for each
 * claim; what it counts is itself. Run by test_sim.py on that machine, program "even" (3 cycles per
 * ns).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CYCLES 0x3c
#define TIMES  (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* Events of Ivy Bridge that need a general counter. */
static const uint64_t general[] = { 0xc4, 0xc5, 0x10e, 0x2c2, 0x19c, 0x8a2, 0x3079, 0x1000c };

struct group { /* nr, enabled, running, then value and id of each */
	uint64_t n, enabled, running, value[8][2];
};

static void claim(bool good, const char *name, double a, double b)
{
	if (good)
		printf("ok %s\n", name);
	else
		printf("not ok %s: %.10g against %.10g\n", name, a, b);
}

static bool near(double a, double b, double part)
{
	double d = a > b ? a - b : b - a;

	return d <= part * (b > 0 ? b : -b);
}

static void burn(int ms)
{
	struct timespec t;
	double end = -1;

	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		if (end < 0)
			end = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 + ms;
	} while ((double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 < end);
}

static int open_attr(struct perf_event_attr *a, int leader)
{
	return (int)syscall(SYS_perf_event_open, a, 0, -1, leader, 0);
}

static int open_one(uint32_t type, uint64_t config, int leader, bool disabled)
{
	struct perf_event_attr a = { .type = type,
				     .size = sizeof(a),
				     .config = config,
				     .disabled = disabled,
				     .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | TIMES };

	return open_attr(&a, leader);
}

/* A group of `n` general events, off. */
static int open_group(const uint64_t *config, int n)
{
	int leader = open_one(PERF_TYPE_RAW, config[0], -1, true);

	for (int i = 1; i < n; i++)
		if (open_one(PERF_TYPE_RAW, config[i], leader, false) < 0)
			return -1;
	return leader;
}

static struct group get(int fd)
{
	struct group g = { 0 };

	if (read(fd, &g, sizeof(g)) <= 0)
		g.n = 0;
	return g;
}

static int errno_of(int fd)
{
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void switching(void)
{
	int fd = open_one(PERF_TYPE_RAW, CYCLES, -1, true), late;
	struct group g, before;

	burn(5);
	g = get(fd);
	claim(g.n == 1 && !g.enabled && !g.value[0][0], "an event that is off has no time",
	      (double)g.enabled, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	burn(20);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = get(fd);
	burn(10);
	g = get(fd);
	claim(!memcmp(&g, &before, sizeof(g)), "switched off, an event stands still",
	      (double)g.enabled, (double)before.enabled);
	claim(g.enabled >= 19000000 && g.enabled == g.running, "alone, it ran as long as it was on",
	      (double)g.enabled, (double)g.running);
	claim(near((double)g.value[0][0], 3.0 * (double)g.running, 1e-8),
	      "cycles are 3 a nanosecond", (double)g.value[0][0], 3.0 * (double)g.running);
	late = open_one(PERF_TYPE_RAW, CYCLES, -1, false);
	burn(10);
	g = get(late);
	claim(g.enabled >= 9000000 && g.enabled < 20000000,
	      "an event opened late counts from then on", (double)g.enabled, 1e7);
	before = get(late);
	ioctl(late, PERF_EVENT_IOC_RESET, 0);
	g = get(late);
	claim(g.value[0][0] < before.value[0][0] / 2 && g.enabled >= before.enabled,
	      "reset makes the count 0 and leaves the times", (double)g.value[0][0], 0);
	close(late);
	close(fd);
}

static void turns(void)
{
	int a = open_group(general, 4), b = open_group(general + 4, 4);
	struct group ga, gb, later;

	ioctl(a, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(b, PERF_EVENT_IOC_ENABLE, 0);
	burn(80);
	ga = get(a);
	gb = get(b);
	claim(near((double)ga.running, (double)ga.enabled / 2, 0.06), "two full groups share: half",
	      (double)ga.running, (double)ga.enabled / 2);
	claim(near((double)(ga.running + gb.running), (double)ga.enabled, 0.01),
	      "one of the two is always on", (double)(ga.running + gb.running), (double)ga.enabled);
	ioctl(b, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	ga = get(a);
	burn(20);
	later = get(a);
	claim(later.enabled - ga.enabled == later.running - ga.running,
	      "a group that is off takes no turn", (double)(later.running - ga.running),
	      (double)(later.enabled - ga.enabled));
	/* the leader alone: its siblings stay off, and need no counter */
	ioctl(b, PERF_EVENT_IOC_ENABLE, 0);
	gb = get(b);
	burn(40);
	later = get(b);
	claim(later.value[0][0] > gb.value[0][0] && later.value[1][0] == gb.value[1][0],
	      "siblings switched off one by one stay off", (double)later.value[1][0],
	      (double)gb.value[1][0]);
	close(a);
	close(b);
}

static void groups(void)
{
	struct perf_event_attr nobody = { .type = 77, .size = sizeof(nobody), .exclude_kernel = 1 };
	int leader = open_group(general, 3), sibling, fd, many[5];
	uint64_t id = 0, five[] = { 0xc4, 0xc5, 0x10e, 0x2c2, 0x19c };
	struct group g, s;
	char rest[8];

	sibling = open_one(PERF_TYPE_RAW, CYCLES, leader, false);
	ioctl(sibling, PERF_EVENT_IOC_ID, &id);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	burn(5);
	g = get(leader);
	claim(g.n == 4 && g.value[3][1] == id, "a group's values carry the ids of its events",
	      (double)g.value[3][1], (double)id);
	s = get(sibling);
	claim(s.n == 4 && s.value[0][1] == g.value[0][1], "a sibling reads the whole group",
	      (double)s.n, 4);
	claim(near((double)s.value[3][0], 3.0 * (double)s.running, 1e-8),
	      "all of a group count over the same time", (double)s.value[3][0],
	      3.0 * (double)s.running);
	many[0] = open_group(five, 4);
	fd = open_one(PERF_TYPE_RAW, five[4], many[0], false);
	claim(errno_of(fd) == EINVAL, "a fifth general event is refused", errno, EINVAL);
	close(many[0]);
	fd = open_one(PERF_TYPE_RAW, 0x1cd, -1, true);
	claim(errno_of(open_one(PERF_TYPE_RAW, 0x4cd, fd, false)) == EINVAL,
	      "two events for the one counter of both are refused", errno, EINVAL);
	close(fd);
	close(leader);
	/* pinned, and there is no room: an error that reads as end of file */
	fd = open_group(general, 4);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 5; i++) {
		struct perf_event_attr a = {
			.type = PERF_TYPE_RAW, .size = sizeof(a), .config = five[i], .pinned = 1
		};

		many[i] = open_attr(&a, -1);
	}
	burn(5);
	claim(read(many[0], rest, 8) == 8 && read(many[4], rest, 8) == 0,
	      "a pinned event without a counter reads as nothing", 0, 0);
	g = get(fd);
	claim(g.running < g.enabled, "pinned events go before others", (double)g.running,
	      (double)g.enabled);
	for (int i = 0; i < 5; i++)
		close(many[i]);
	close(fd);
	fd = open_one(PERF_TYPE_RAW, 0xf0000c4, -1,
		      false); /* branches, by a cmask nobody planted */
	burn(60);	      /* siblings of groups that were closed are still in the row */
	g = get(fd);
	claim(g.running && !g.value[0][0], "an encoding without a rate counts nothing",
	      (double)g.value[0][0], 0);
	close(fd);
	claim(errno_of(open_attr(&nobody, -1)) == ENOENT, "a PMU that is not there", errno, ENOENT);
}

static void metrics(void)
{
	struct perf_event_attr sampling = { .type = PERF_TYPE_RAW,
					    .size = sizeof(sampling),
					    .config = 0x8000,
					    .sample_period = 100000 };
	int slots = open_one(PERF_TYPE_RAW, 0x400, -1, true), retiring, cycles;
	struct group g, next;

	claim(errno_of(open_one(PERF_TYPE_RAW, 0x8000, -1, true)) == EINVAL,
	      "a field of PERF_METRICS alone", errno, EINVAL);
	cycles = open_one(PERF_TYPE_RAW, CYCLES, -1, true);
	claim(errno_of(open_one(PERF_TYPE_RAW, 0x8000, cycles, false)) == EINVAL,
	      "a field that slots does not lead", errno, EINVAL);
	claim(errno_of(open_attr(&sampling, slots)) == EINVAL, "a field that samples", errno,
	      EINVAL);
	claim(errno_of(open_one(PERF_TYPE_RAW, 0x400, cycles, false)) == 0, "slots may follow",
	      errno, 0);
	retiring = open_one(PERF_TYPE_RAW, 0x8000, slots, false);
	ioctl(slots, PERF_EVENT_IOC_ENABLE, 0);
	burn(10);
	g = get(slots);
	claim(g.n == 2 && near((double)g.value[0][0], 18.0 * (double)g.running, 1e-8),
	      "slots are six a cycle", (double)g.value[0][0], 18.0 * (double)g.running);
	claim(near((double)g.value[1][0], (double)g.value[0][0] * 77 / 255, 1e-6),
	      "a field is so many 255ths: 0.3 is 77", (double)g.value[1][0],
	      (double)g.value[0][0] * 77 / 255);
	burn(10);
	next = get(slots);
	claim(near((double)(next.value[1][0] - g.value[1][0]),
		   (double)(next.value[0][0] - g.value[0][0]) * 77 / 255, 1e-6),
	      "each read begins a new register", (double)(next.value[1][0] - g.value[1][0]),
	      (double)(next.value[0][0] - g.value[0][0]) * 77 / 255);
	claim(errno_of(open_one(100, 0xcf05, -1, true)) == EINVAL, "an uncore event of a task",
	      errno, EINVAL);
	close(retiring);
	close(cycles);
	close(slots);
}

/* Average of the retire latencies (and the number) of what is in the ring. */
static double drain(struct perf_event_mmap_page *page, size_t *n)
{
	const char *data = (const char *)page + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;
	double sum = 0;

	for (*n = 0; at < head;) {
		struct perf_event_header h;
		uint64_t weight;

		memcpy(&h, data + at, sizeof(h)); /* it does not wrap: few enough */
		if (h.type == PERF_RECORD_SAMPLE) {
			memcpy(&weight, data + at + sizeof(h) + 8, 8); /* behind the address */
			sum += (double)(weight >> 48);
			(*n)++;
		}
		at += h.size;
	}
	return *n ? sum / (double)*n : 0;
}

/* MEM_LOAD_RETIRED.L2_HIT; the scenario says 36.5 cycles, and a count every 10 ns. */
static void latency(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_RAW,
				     .size = sizeof(a),
				     .config = 0x2d1,
				     .sample_period = 10000,
				     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT_STRUCT,
				     .precise_ip = 2 };
	size_t len = 65 * (size_t)sysconf(_SC_PAGESIZE), n;
	int fd = open_attr(&a, -1);
	void *ring = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	double mean;

	if (ring == MAP_FAILED) {
		claim(false, "a ring can be mapped", errno, 0);
		return;
	}
	burn(100);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	mean = drain(ring, &n);
	claim(n > 800 && n < 1200, "there is a sample each period", (double)n, 1000);
	claim(near(mean, 36.5, 0.05), "the mean of retire latencies is the event's", mean, 36.5);
	munmap(ring, len);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "ivb")) {
		switching();
		turns();
		groups();
	} else if (argc == 2 && !strcmp(argv[1], "spr")) {
		metrics();
	} else if (argc == 2 && !strcmp(argv[1], "gnr")) {
		latency();
	} else {
		return 2;
	}
	return 0;
}
