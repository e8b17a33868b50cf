/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of regions for test_region.py: probe WHAT [NUMBER]. What it knows itself it prints as
 * "name value" lines, then the report as JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cyclade.h"

static struct cyclade_set *set;

/* By the thread's own time: on a busy machine groups have as many turns as on an idle one. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void spin(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		;
}

static void open_set(const char *metrics)
{
	struct cyclade_open_opts o = { .size = sizeof(o), .metrics = metrics };
	struct cyclade_error e = { .size = sizeof(e) };

	if (getenv("PROBE_READ"))
		o.flags = CYCLADE_NO_RDPMC;
	if (!cyclade_open(&set, &o, &e))
		return;
	fprintf(stderr, "%s\n", e.what);
	exit(2);
}

static void report(void)
{
	struct cyclade_report_opts o = { .size = sizeof(o),
					 .format = getenv("PROBE_TEXT") ? "term" : "json",
					 .fd = 1,
					 .per_thread = 1 };

	fflush(stdout);
	if (cyclade_report(set, &o))
		exit(3);
}

/* ---- against read(2) -------------------------------------------------------------------- */

static int counter(uint64_t config)
{
	struct perf_event_attr a;
	int fd;

	memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.type = PERF_TYPE_HARDWARE;
	a.config = config;
	a.exclude_kernel = 1;
	fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	if (fd < 0)
		exit(4);
	return fd;
}

static uint64_t value(int fd)
{
	uint64_t v;

	return read(fd, &v, sizeof(v)) == sizeof(v) ? v : 0;
}

/* Regions between readings: outside they count a little more, inside a little less. */
static void against(double seconds)
{
	int fd[2] = { counter(PERF_COUNT_HW_CPU_CYCLES), counter(PERF_COUNT_HW_INSTRUCTIONS) };
	uint64_t outside[2] = { 0 }, inside[2] = { 0 }, a[2], b[2], c[2], d[2];
	struct cyclade_region *r;

	open_set("cycles,instructions");
	r = cyclade_handle(set, "work");
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 2; k++)
			a[k] = value(fd[k]);
		cyclade_begin(r);
		for (int k = 0; k < 2; k++)
			b[k] = value(fd[k]);
		spin(seconds / 20);
		for (int k = 0; k < 2; k++)
			c[k] = value(fd[k]);
		cyclade_end(r);
		for (int k = 0; k < 2; k++) {
			d[k] = value(fd[k]);
			outside[k] += d[k] - a[k];
			inside[k] += c[k] - b[k];
		}
	}
	printf("cycles_inside %" PRIu64 "\ncycles_outside %" PRIu64 "\n", inside[0], outside[0]);
	printf("instructions_inside %" PRIu64 "\ninstructions_outside %" PRIu64 "\n", inside[1],
	       outside[1]);
}

/* ---- what happens to programs ------------------------------------------------------------ */

static struct cyclade_region *in_handler;

static void handler(int number)
{
	(void)number;
	cyclade_begin(in_handler);
	cyclade_end(in_handler);
}

static void signals(double seconds)
{
	struct sigaction sa;
	struct itimerval each = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
	struct cyclade_region *r;
	double end = now() + seconds;

	open_set("cycles,instructions");
	r = cyclade_handle(set, "work");
	in_handler = cyclade_handle(set, "handler");
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
	while (now() < end) {
		cyclade_begin(r);
		spin(0.0002);
		cyclade_end(r);
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

static void print_value(const char *metric)
{
	struct cyclade_value v = { .size = sizeof(v) };

	if (!cyclade_read(set, "whole", metric, CYCLADE_ALL_THREADS, &v))
		printf("%s %.9f\n%s_error %.9f\n", metric, v.value, metric, v.error);
}

static void metrics(double seconds)
{
	struct cyclade_region *r, *whole;
	double end = now() + seconds;

	open_set(getenv("PROBE_METRICS") ? getenv("PROBE_METRICS") : "ipc,topdown.l2");
	r = cyclade_handle(set, "work");
	whole = cyclade_handle(set, "whole");
	cyclade_begin(whole);
	while (now() < end) {
		cyclade_begin(r);
		spin(0.003);
		cyclade_end(r);
		spin(0.001);
	}
	cyclade_end(whole);
	print_value("retiring");
	print_value("IPC");
}

static void forks(double seconds)
{
	struct cyclade_region *r;
	int status;
	pid_t pid;

	open_set("cycles,instructions");
	r = cyclade_handle(set, "work");
	cyclade_begin(r);
	pid = fork();
	if (!pid) {
		cyclade_end(r);
		cyclade_begin(r);
		spin(seconds / 2);
		cyclade_end(r);
		_exit(strstr(cyclade_status(set), "forked") ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	spin(seconds / 2);
	cyclade_end(r);
	printf("child %d\n", status);
}

static void *short_life(void *arg)
{
	struct cyclade_region *r = cyclade_handle(set, "thread");

	cyclade_begin(r);
	spin(*(double *)arg);
	cyclade_end(r);
	return NULL;
}

static void threads(double seconds)
{
	pthread_t t;

	open_set("cycles,instructions");
	for (int i = 0; i < 5; i++) {
		pthread_create(&t, NULL, short_life, &seconds);
		pthread_join(t, NULL);
	}
}

/* Sums are there although nobody asked for them. */
static void aborts(double seconds)
{
	struct cyclade_region *r;

	open_set("cycles,instructions");
	r = cyclade_handle(set, "work");
	for (int i = 0; i < 10; i++) {
		cyclade_begin(r);
		spin(seconds / 10);
		cyclade_end(r);
	}
	cyclade_begin(r);
	abort();
}

static char *self;

/* This process goes on as another program. */
static void twice(double seconds)
{
	char text[32];

	threads(seconds);
	(void)snprintf(text, sizeof(text), "%g", seconds);
	execl(self, self, "threads", text, (char *)NULL);
	exit(5);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(double seconds);
	} what[] = { { "against", against }, { "signals", signals }, { "metrics", metrics },
		     { "forks", forks },     { "threads", threads }, { "aborts", aborts },
		     { "twice", twice } };

	self = argv[0];
	for (size_t i = 0; argc == 3 && i < sizeof(what) / sizeof(what[0]); i++)
		if (!strcmp(argv[1], what[i].name)) {
			what[i].run(atof(argv[2]));
			report();
			cyclade_close(set);
			return 0;
		}
	return 2;
}
