/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counting with software events: page faults are exact where the pages are ours, and so are forks
 * and threads. A PMU with few counters is played by our own syscall(): it stands before the C
 * library's, turns RAW events into task-clock and refuses groups that are too big.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../skip.h"
#include "collect/counters/counter_int.h"
#include "collect/workload.h"

/* What the back-end perf_event has made of them. */
static struct perf_counters *perf_of(struct counters *c)
{
	return c->own;
}

#define PAGES 2000
#if defined(__SANITIZE_THREAD__)
#define SHADOW 3 /* pages of the sanitizer's own are met with each of ours */
#else
#define SHADOW 1
#endif
#define SLACK 900 /* faults of starting a thread or a process, of stacks and of the C library */
#define FILES 4096

static unsigned counters_of_pmu; /* 0: there is none */
static unsigned in_group[FILES]; /* RAW events by the leader's file */
static int leader_of_file[FILES];
static unsigned moved;	    /* how often a member's context is not the leader's */
static int refused;	    /* why the kernel opened no event, last */
static unsigned interrupts; /* so many reads from now on are interrupted */

static long open_raw(struct perf_event_attr *a, long pid, long cpu, long group, long flags)
{
	struct perf_event_attr soft = *a;
	long (*real)(long, ...);
	long fd;

	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (moved && group >= 0) {
		moved--;
		errno = EINVAL;
		return -1;
	}
	if (a->type == PERF_TYPE_RAW && counters_of_pmu) {
		if (group >= 0 && in_group[group] >= counters_of_pmu) {
			errno = EINVAL;
			return -1;
		}
		soft.type = PERF_TYPE_SOFTWARE;
		soft.config = PERF_COUNT_SW_TASK_CLOCK;
	}
	fd = real(SYS_perf_event_open, &soft, pid, cpu, group, flags);
	refused = fd < 0 ? errno : refused;
	if (fd >= 0 && fd < FILES && a->type == PERF_TYPE_RAW) {
		leader_of_file[fd] = group < 0 ? (int)fd : (int)group;
		if (group < 0)
			in_group[fd] = 0;
		in_group[leader_of_file[fd]]++;
	}
	return fd;
}

/* As the C library's, it passes on six words, of which the caller may have given fewer. */
__attribute__((no_sanitize_address)) long syscall(long number, ...)
{
	long (*real)(long, ...);
	long v[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		v[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_perf_event_open)
		return open_raw((struct perf_event_attr *)(uintptr_t)v[0], (int)v[1], (int)v[2],
				(int)v[3], v[4]);
	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}

ssize_t read(int fd, void *to, size_t len)
{
	ssize_t (*real)(int, void *, size_t);

	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "read");
	return real(fd, to, len);
}

#define SW(x)                                                                              \
	{                                                                                  \
		.attr = { .type = PERF_TYPE_SOFTWARE, .config = (x), .exclude_guest = 1 }, \
		.name = #x                                                                 \
	}
#define RAW(x)                                                                     \
	{                                                                          \
		.attr = { .type = PERF_TYPE_RAW, .config = (x) }, .name = "raw" #x \
	}

static const struct counter_event faults = SW(PERF_COUNT_SW_PAGE_FAULTS);
static const struct counter_event trio[] = { SW(PERF_COUNT_SW_TASK_CLOCK),
					     SW(PERF_COUNT_SW_PAGE_FAULTS),
					     SW(PERF_COUNT_SW_CONTEXT_SWITCHES) };

/* An ordinary user may be allowed to count only what is not the kernel's. */
static bool kernel_is_counted(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_PAGE_FAULTS,
					.size = sizeof(attr) };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0)
		return errno != EACCES && errno != EPERM;
	(void)close(fd);
	return true;
}

static struct counter_setup setup_of(const struct counter_group *g, size_t n, const pid_t *task)
{
	return (struct counter_setup){ .group = g,
				       .n_groups = n,
				       .tasks = task,
				       .n_tasks = task ? 1 : 0,
				       .cgroup_fd = -1,
				       .inherit = true,
				       .user_only = !kernel_is_counted() };
}

static struct counters *opened(const struct counter_setup *s)
{
	struct err err = ERR_INIT;
	struct counters *c;

	if (counters_open(&c, s, &err)) {
		if (err.code == ERR_PERM)
			SKIP_BECAUSE("counting is not permitted here");
		print_message("%s\n", err.what);
		fail();
	}
	return c;
}

static void touch(size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(9);
	(void)madvise((void *)(uintptr_t)p, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		p[i * page] = 1;
}

static void *toucher(void *arg)
{
	(void)arg;
	touch(PAGES);
	return NULL;
}

/* A child that waits for a byte, then touches pages itself, in a thread and in a process. */
static pid_t family(int *go)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		pthread_t t;
		char byte;
		pid_t child;

		(void)close(ends[1]); /* who gives up on us shall not leave us waiting */
		if (read(ends[0], &byte, 1) != 1)
			_exit(8);
		touch(PAGES);
		if (pthread_create(&t, NULL, toucher, NULL) || pthread_join(t, NULL))
			_exit(7);
		child = fork();
		if (!child) {
			touch(PAGES);
			_exit(0);
		}
		(void)waitpid(child, NULL, 0);
		_exit(0);
	}
	(void)close(ends[0]);
	*go = ends[1];
	return pid;
}

static uint64_t faults_of_family(bool inherit)
{
	const struct counter_group g = { .event = trio, .n = 3 };
	struct counter_value v[3];
	struct err err = ERR_INIT;
	struct counter_setup s;
	struct counters *c;
	pid_t pid;
	int go;

	pid = family(&go);
	s = setup_of(&g, 1, &pid);
	s.inherit = inherit;
	c = opened(&s);
	assert_int_equal(counters_targets(c), 1);
	if (counters_split(c, 0) != 1)
		fail_msg("three software events in %zu groups: %s", counters_split(c, 0),
			 strerror(refused));
	assert_int_equal(counters_enable(c, ALL_GROUPS, true, &err), 0);
	assert_int_equal(write(go, "g", 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(counters_read(c, 0, v, &err), 0);
	for (int i = 0; i < 3; i++) {
		assert_false(v[i].refused || v[i].gone || v[i].absent);
		assert_int_equal(v[i].enabled, v[0].enabled);
		assert_int_equal(v[i].running, v[i].enabled);
	}
	assert_true(v[0].value > 0 && v[0].value <= v[0].running + v[0].running / 10);
	(void)close(go);
	counters_close(c);
	return v[1].value;
}

static void threads_and_processes_are_inherited(void **state)
{
	uint64_t with = faults_of_family(true), without = faults_of_family(false);

	(void)state;
	/* the fork also copies what it writes to: the slack is for each of the three */
	assert_in_range(with, 3 * PAGES, 3 * (SHADOW * PAGES + SLACK));
	assert_in_range(without, PAGES, SHADOW * PAGES + SLACK * 2);
}

/* A thread of the task's came between: what is refused then is not too much. */
static void a_context_that_moved_is_found_again(void **state)
{
	const struct counter_group g = { .event = trio, .n = 3 };
	pid_t self = getpid();
	struct counter_setup s = setup_of(&g, 1, &self);
	struct counters *c;

	(void)state;
	moved = 2; /* with and without guests */
	c = opened(&s);
	assert_int_equal(moved, 0);
	assert_int_equal(counters_split(c, 0), 1);
	counters_close(c);
}

static void switching_and_resetting(void **state)
{
	const struct counter_group g[] = { { .event = &faults, .n = 1 },
					   { .event = &trio[1], .n = 1, .idle = true } };
	pid_t self = getpid();
	struct counter_setup s = setup_of(g, 2, &self);
	struct counters *c = opened(&s);
	struct counter_value a, b;
	struct err err = ERR_INIT;

	(void)state;
	touch(PAGES);
	assert_int_equal(counters_read(c, 0, &a, &err), 0);
	assert_int_equal(a.value, 0);
	assert_int_equal(a.enabled, 0);
	assert_int_equal(counters_enable(c, 0, true, &err), 0);
	touch(PAGES);
	assert_int_equal(counters_enable(c, 0, false, &err), 0);
	touch(PAGES);
	assert_int_equal(counters_read(c, 0, &a, &err), 0);
	assert_int_equal(counters_read(c, 1, &b, &err), 0);
	assert_in_range(a.value, PAGES, SHADOW * PAGES + SLACK);
	assert_int_equal(b.value, 0);
	assert_int_equal(counters_enable(c, 1, true, &err), 0);
	touch(PAGES);
	assert_int_equal(counters_read(c, 1, &b, &err), 0);
	assert_in_range(b.value, PAGES, SHADOW * PAGES + SLACK);
	counters_close(c);
}

/* enable_on_exec begins with the program, but not for groups that wait to be told. */
static void exec_begins_it(void **state)
{
	const struct counter_group g[] = { { .event = trio, .n = 3 },
					   { .event = trio, .n = 3, .idle = true } };
	const char *args[] = { "sh", "-c", "exit 3", NULL };
	struct counter_value v[3];
	struct err err = ERR_INIT;
	struct counter_setup s;
	struct workload w;
	struct counters *c;
	char *argv[4];
	sigset_t none;

	(void)state;
	memcpy(argv, args, sizeof(argv));
	(void)sigemptyset(&none);
	assert_int_equal(workload_prepare(&w, argv, NULL, &none, 0, &err), 0);
	s = setup_of(g, 2, &w.pid);
	s.enable_on_exec = true;
	c = opened(&s);
	assert_int_equal(workload_start(&w, "sh", &err), 0);
	assert_true(workload_reap(&w, true));
	assert_int_equal(w.status, 3);
	assert_int_equal(counters_read(c, 0, v, &err), 0);
	assert_true(v[0].value > 0 && v[1].value > 0);
	/* the counters cannot have seen more than the kernel's own books */
	assert_true(v[1].value <= (uint64_t)(w.usage.ru_minflt + w.usage.ru_majflt));
	assert_int_equal(counters_read(c, 1, v, &err), 0);
	assert_int_equal(v[0].enabled, 0);
	assert_int_equal(v[1].value, 0);
	counters_close(c);
}

static void a_refused_event_leaves_the_others(void **state)
{
	/* type 9999 is nobody's */
	const struct counter_event ev[] = {
		{ .attr = { .type = 9999 }, .name = "nothing" },
		SW(PERF_COUNT_SW_PAGE_FAULTS),
		{ .attr = { .type = 9999 }, .name = "nothing" },
		SW(PERF_COUNT_SW_TASK_CLOCK),
	};
	const struct counter_group g = { .event = ev, .n = 4 };
	pid_t self = getpid();
	struct counter_setup s = setup_of(&g, 1, &self);
	struct counters *c = opened(&s);
	struct counter_value v[4];
	struct err err = ERR_INIT;
	int number = 0;

	(void)state;
	assert_int_equal(counters_enable(c, 0, true, &err), 0);
	touch(PAGES);
	assert_int_equal(counters_read(c, 0, v, &err), 0);
	assert_true(v[0].refused && v[2].refused && !v[1].refused && !v[3].refused);
	assert_in_range(v[1].value, PAGES, SHADOW * PAGES + SLACK);
	assert_true(v[3].value > 0 && v[3].value != v[1].value);
	assert_string_equal(counters_refused(c, 0, 0, &number), "this machine has no such counter");
	assert_int_equal(number, ENOENT);
	assert_null(counters_refused(c, 0, 1, NULL));
	assert_int_equal(counters_split(c, 0), 1);
	counters_close(c);
}

static void groups_that_are_too_big_are_split(void **state)
{
	const struct counter_event ev[] = {
		RAW(1), RAW(2), RAW(3), RAW(4), RAW(5), RAW(6), RAW(7)
	};
	struct counter_event led[6];
	const struct counter_group g[] = { { .event = ev, .n = 7 }, { .event = led, .n = 6 } };
	pid_t self = getpid();
	struct counter_setup s = setup_of(g, 2, &self);
	struct counter_value v[7];
	struct err err = ERR_INIT;
	struct counters *c;

	(void)state;
	memcpy(led, ev, sizeof(led));
	led[1].with_leader = led[5].with_leader = true;
	counters_of_pmu = 3;
	c = opened(&s);
	/* 7 do not fit, 4 + 3: 4 do not either */
	assert_int_equal(counters_split(c, 0), 3);
	/* those that need the leader are with it: {0 1 5} and {3 4}, {2}, or any such */
	assert_int_equal(perf_of(c)->group[1].event[1].part, perf_of(c)->group[1].event[0].part);
	assert_int_equal(perf_of(c)->group[1].event[5].part, perf_of(c)->group[1].event[0].part);
	assert_int_not_equal(perf_of(c)->group[1].event[2].part,
			     perf_of(c)->group[1].event[0].part);
	assert_int_equal(counters_enable(c, ALL_GROUPS, true, &err), 0);
	touch(PAGES);
	assert_int_equal(counters_read(c, 0, v, &err), 0);
	for (int i = 0; i < 7; i++)
		assert_true(!v[i].refused && v[i].value > 0);
	counters_close(c);
	/* and where a group fits it is left alone */
	counters_of_pmu = 8;
	c = opened(&s);
	assert_int_equal(counters_split(c, 0), 1);
	counters_close(c);
	counters_of_pmu = 0;
}

/* The processor has few breakpoint registers, and the kernel knows: ENOSPC even alone. */
static void breakpoints_run_out(void **state)
{
	static volatile int watched[8];
	struct counter_event ev[8];
	const struct counter_group g = { .event = ev, .n = 8 };
	pid_t self = getpid();
	struct counter_setup s = setup_of(&g, 1, &self);
	struct counter_value v[8];
	struct err err = ERR_INIT;
	struct counters *c;
	int number = 0, open = 0;

	(void)state;
	for (int i = 0; i < 8; i++)
		ev[i] = (struct counter_event){ .attr = { .type = PERF_TYPE_BREAKPOINT,
							  .bp_type = HW_BREAKPOINT_W,
							  .bp_addr =
								  (uint64_t)(uintptr_t)&watched[i],
							  .bp_len = 4,
							  .exclude_kernel = 1 },
						.name = "write" };
	c = opened(&s);
	for (int i = 0; i < 8; i++)
		open += !counters_refused(c, 0, (size_t)i, &number);
	if (!open) {
		counters_close(c);
		SKIP_BECAUSE("no breakpoints here");
	}
	assert_true(open < 8);
	assert_int_equal(number, ENOSPC);
	assert_int_equal(counters_enable(c, 0, true, &err), 0);
	for (int i = 0; i < 8; i++)
		for (int k = 0; k <= i; k++)
			watched[i] = k;
	assert_int_equal(counters_read(c, 0, v, &err), 0);
	for (int i = 0; i < 8; i++)
		if (!v[i].refused)
			assert_int_equal(v[i].value, i + 1);
	counters_close(c);
}

static void few_files_are_made_more(void **state)
{
	struct counter_event ev[64];
	const struct counter_group g = { .event = ev, .n = 64 };
	struct rlimit before, little;
	pid_t self = getpid();
	struct counter_setup s = setup_of(&g, 1, &self);
	struct counters *c;

	(void)state;
	for (int i = 0; i < 64; i++)
		ev[i] = faults;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	little = before;
	little.rlim_cur = 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &little), 0);
	c = opened(&s);
	assert_int_equal(counters_files(c), 64);
	counters_close(c);
	(void)setrlimit(RLIMIT_NOFILE, &before);
}

/* Where not even root may have more, that is told; nothing is left open. */
static void too_few_files_are_told(void **state)
{
	static struct counter_event ev[64];
	const struct counter_group g = { .event = ev, .n = 64 };
	int status;
	pid_t child;

	(void)state;
	for (int i = 0; i < 64; i++)
		ev[i] = faults;
	child = fork();
	if (!child) {
		const struct rlimit little = { 40, 40 };
		pid_t self = getpid();
		struct counter_setup s = setup_of(&g, 1, &self);
		struct err err = ERR_INIT;
		struct counters *c;

		s.user_only = true;
		if (setrlimit(RLIMIT_NOFILE, &little) || (!getuid() && setuid(65534)))
			_exit(1);
		if (!counters_open(&c, &s, &err) || c)
			_exit(2);
		_exit(err.sys_errno == EMFILE && strstr(err.hint, "ulimit") ? 0
		      : err.code == ERR_PERM				    ? 3
									    : 4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 3 || WEXITSTATUS(status) == 2))
		SKIP_BECAUSE("ordinary users may not count here");
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void whole_cpus(void **state)
{
	static const uint32_t cpus[] = { 0, 1 }, only[] = { 1 };
	struct counter_event ev[] = { SW(PERF_COUNT_SW_CPU_CLOCK), SW(PERF_COUNT_SW_CPU_CLOCK) };
	const struct counter_group g = { .event = ev, .n = 2 };
	struct counter_setup s = setup_of(&g, 1, NULL);
	struct counter_value v[4];
	struct err err = ERR_INIT;
	struct counters *c;

	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP_BECAUSE("there is one CPU");
	ev[1].cpus = only;
	ev[1].n_cpus = 1;
	s.cpus = cpus;
	s.n_cpus = 2;
	c = opened(&s);
	assert_int_equal(counters_targets(c), 2);
	if (counters_refused(c, 0, 0, NULL)) {
		counters_close(c);
		SKIP_BECAUSE("whole CPUs may not be counted here");
	}
	assert_int_equal(counters_enable(c, 0, true, &err), 0);
	(void)usleep(20000);
	assert_int_equal(counters_enable(c, 0, false, &err), 0);
	assert_int_equal(counters_read(c, 0, v, &err), 0);
	assert_true(!v[0].absent && !v[1].absent && v[2].absent && !v[3].absent);
	/* cpu-clock of a CPU is time itself */
	for (int i = 0; i < 4; i++)
		if (i != 2)
			assert_true(v[i].enabled >= 19000000 &&
				    v[i].value > v[i].enabled / 10 * 9 &&
				    v[i].value < v[i].enabled / 10 * 11);
	counters_close(c);
}

/* A counter whose CPU went away reads as nothing: its last values stay. */
static void a_lost_cpu_keeps_its_values(void **state)
{
	const struct counter_group g = { .event = &faults, .n = 1 };
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t self = getpid();
	struct counter_setup s = setup_of(&g, 1, &self);
	struct counters *c = opened(&s);
	struct counter_value before, after;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(counters_enable(c, 0, true, &err), 0);
	touch(PAGES);
	assert_int_equal(counters_read(c, 0, &before, &err), 0);
	assert_false(before.gone);
	assert_true(dup2(nothing, *counter_fd(perf_of(c), 0, 0, 0)) >= 0);
	touch(PAGES);
	assert_int_equal(counters_read(c, 0, &after, &err), 0);
	assert_true(after.gone);
	assert_int_equal(after.value, before.value);
	assert_int_equal(after.enabled, before.enabled);
	(void)close(nothing);
	counters_close(c);
}

/* What a CPU has of several tasks is incomplete if one of these counters is lost. */
static void one_lost_counter_of_two_is_told(void **state)
{
	static const uint32_t cpus[] = { 0 };
	const struct counter_group g = { .event = &faults, .n = 1 };
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct err err = ERR_INIT;

	(void)state;
	for (size_t lost = 0; lost < 2; lost++) {
		const pid_t task[2] = { getpid(), getppid() };
		struct counter_setup s = setup_of(&g, 1, task);
		struct counter_value v;
		struct counters *c;

		s.n_tasks = 2;
		s.cpus = cpus;
		s.n_cpus = 1;
		s.inherit = false;
		c = opened(&s);
		assert_int_equal(counters_targets(c), 1);
		assert_int_equal(counters_read(c, 0, &v, &err), 0);
		assert_false(v.gone);
		assert_true(dup2(nothing, *counter_fd(perf_of(c), 0, 0, lost)) >= 0);
		assert_int_equal(counters_read(c, 0, &v, &err), 0);
		assert_true(v.gone);
		counters_close(c);
	}
	(void)close(nothing);
}

/* A signal comes while a counter is read: it is read again. */
static void an_interrupted_read_is_repeated(void **state)
{
	const struct counter_group g = { .event = trio, .n = 3 };
	const pid_t self = getpid();
	struct counter_setup s = setup_of(&g, 1, &self);
	struct counter_value v[3];
	struct err err = ERR_INIT;
	struct counters *c;

	(void)state;
	c = opened(&s);
	assert_int_equal(counters_enable(c, ALL_GROUPS, true, &err), 0);
	interrupts = 3;
	assert_int_equal(counters_read(c, 0, v, &err), 0);
	assert_int_equal(interrupts, 0);
	assert_true(v[0].value > 0 && v[0].enabled > 0);
	assert_false(v[0].gone || v[1].gone || v[2].gone);
	counters_close(c);
}

static void an_ended_task_is_told(void **state)
{
	const struct counter_group g = { .event = &faults, .n = 1 };
	struct err err = ERR_INIT;
	struct counter_setup s;
	struct counters *c;
	pid_t pid[2] = { fork(), getpid() };

	(void)state;
	if (!pid[0])
		_exit(0);
	(void)waitpid(pid[0], NULL, 0);
	s = setup_of(&g, 1, pid);
	assert_int_equal(counters_open(&c, &s, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	s.n_tasks = 2; /* the other still counts */
	c = opened(&s);
	assert_int_equal(counters_targets(c), 2);
	assert_int_equal(counters_files(c), 1);
	counters_close(c);
}

/* An emulator of programs has no events at all. */
static bool can_count(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(a),
				     .config = PERF_COUNT_SW_TASK_CLOCK,
				     .exclude_kernel = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_processes_are_inherited),
		cmocka_unit_test(a_context_that_moved_is_found_again),
		cmocka_unit_test(switching_and_resetting),
		cmocka_unit_test(exec_begins_it),
		cmocka_unit_test(a_refused_event_leaves_the_others),
		cmocka_unit_test(groups_that_are_too_big_are_split),
		cmocka_unit_test(breakpoints_run_out),
		cmocka_unit_test(few_files_are_made_more),
		cmocka_unit_test(too_few_files_are_told),
		cmocka_unit_test(whole_cpus),
		cmocka_unit_test(a_lost_cpu_keeps_its_values),
		cmocka_unit_test(one_lost_counter_of_two_is_told),
		cmocka_unit_test(an_interrupted_read_is_repeated),
		cmocka_unit_test(an_ended_task_is_told),
	};

	if (!can_count()) {
		printf("1..1\nok 1 - counting # SKIP no events here: %s\n", strerror(errno));
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
