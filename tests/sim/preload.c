/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload - stands in for libc's syscall, read, ioctl, close, prctl (and mmap, munmap, poll:
 *ring.c) in a program run by run.sh. Without SIM_MACHINE everything passes through.
 *
 *	SIM_MACHINE	machine file		SIM_SCENARIO	program's name or scenario file
 *	SIM_OPTIONS	settings		SIM_TRUTH	file to append what was true to
 *	SIM_DEBUG	tells each open on stderr, and at the end how often counters were read
 *			and switched
 *
 * A static program, or one that makes system calls itself, sees the machine as it is.
 */
/* Or libc's header would have our mmap be its mmap64: both are wanted, by their own names. */
#undef _FILE_OFFSET_BITS

#include "preload.h"
#include "kernels.h"
#include "ibs.h"
#include "msr.h"
#include "paper.h"
#include "rdpmc.h"
#include "ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sim sim_state;
struct sim_real sim_real;
struct sim_counter *sim_by_fd[SIM_FDS];
struct sim_context *sim_contexts;
bool sim_may_map[SIM_FDS];

/* A signal may interrupt who holds it, and its handler count, too. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static bool simulating;
static unsigned long n_reads, n_switches, n_interrupts;
static pid_t owner; /* a fork's child has nothing to tell of its parent's counters */

/* ISO C has no cast from void * to a function's address. */
#define FIND(field, name)                                 \
	do {                                              \
		void *at = dlsym(RTLD_NEXT, name);        \
		memcpy(&sim_real.field, &at, sizeof(at)); \
	} while (0)

void sim_find_real(void)
{
	if (sim_real.syscall)
		return;
	FIND(read, "read");
	FIND(close, "close");
	FIND(ioctl, "ioctl");
	FIND(mmap, "mmap");
	FIND(munmap, "munmap");
	FIND(poll, "poll");
	FIND(ppoll, "ppoll");
	FIND(epoll_wait, "epoll_wait");
	FIND(prctl, "prctl");
	FIND(clock_gettime, "clock_gettime");
	FIND(syscall, "syscall");
}

void sim_take(void)
{
	pthread_mutex_lock(&lock);
}

void sim_give(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void begin(void)
{
	const char *machine = getenv("SIM_MACHINE"), *scenario = getenv("SIM_SCENARIO");

	sim_find_real();
	if (!machine || !scenario)
		return;
	if (sim_machine_load(&sim_state.machine, machine) ||
	    sim_scenario_load(&sim_state.scenario, &sim_state.machine, scenario,
			      getenv("SIM_OPTIONS")))
		_exit(127);
	sim_state.truth = getenv("SIM_TRUTH");
	sim_state.debug = getenv("SIM_DEBUG");
	owner = getpid();
	pthread_atfork(sim_take, sim_give, sim_give);
	if (getenv("SIM_KERNELS") && sim_kernels_open(getenv("SIM_KERNELS")))
		_exit(127);
	if (getenv("SIM_PAPER") && sim_paper_begin(getenv("SIM_PAPER")))
		_exit(127);
	if (getenv("SIM_MSR") && sim_msr_begin(getenv("SIM_MSR")))
		_exit(127);
	sim_rdpmc_begin();
	simulating = true;
}

/* What is still open when the program ends. */
__attribute__((destructor)) static void finish(void)
{
	if (!simulating || getpid() != owner)
		return;
	sim_take();
	if (sim_state.debug)
		fprintf(stderr, "sim: %lu reads, %lu switches, %lu interrupts\n", n_reads,
			n_switches, n_interrupts);
	for (int fd = 0; fd < SIM_FDS; fd++)
		if (sim_by_fd[fd])
			sim_close(fd);
	sim_give();
}

static bool ours(int fd)
{
	return simulating && fd >= 0 && fd < SIM_FDS &&
	       __atomic_load_n(&sim_by_fd[fd], __ATOMIC_RELAXED);
}

long syscall(long number, ...)
{
	va_list ap;
	long arg[6];

	va_start(ap, number);
	for (size_t i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	sim_find_real();
	if (number == SYS_perf_event_open && simulating) {
		const struct perf_event_attr *attr;
		int ret;

		memcpy(&attr, &arg[0], sizeof(attr));
		sim_take();
		ret = sim_open(attr, (pid_t)arg[1], (int)arg[2], (int)arg[3],
			       (unsigned long)arg[4]);
		sim_give();
		return ret;
	}
	if (number == SYS_mbind && simulating && sim_state.scenario.set.nodes)
		return 0;
#ifdef SYS_close_range
	if (number == SYS_close_range)
		return sim_msr_close_range((unsigned)arg[0], (unsigned)arg[1], (int)arg[2]);
#endif
	return sim_real.syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t got;

	sim_find_real();
	if (!ours(fd))
		return sim_real.read(fd, buf, n);
	sim_take();
	n_reads++;
	n_interrupts += ours(fd) && sim_by_fd[fd]->leader->state == SIM_ON;
	if (ours(fd) && sim_is_made(sim_by_fd[fd])) {
		got = sim_values_make(sim_by_fd[fd], buf, n);
	} else {
		got = sim_real.read(fd, buf, n);
	}
	if (got > 0 && ours(fd)) {
		if (sim_paper())
			sim_paper_read();
		sim_catch_up(sim_by_fd[fd]->context);
		got = sim_values_rewrite(&sim_state, sim_by_fd[fd], buf, (size_t)got);
	}
	sim_give();
	return got;
}

/* What programs built with _FORTIFY_SOURCE call. */
ssize_t __read_chk(int fd, void *buf, size_t n, size_t room);
ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
	if (n > room)
		abort();
	return read(fd, buf, n);
}

static bool switches(unsigned long request)
{
	return request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE ||
	       request == PERF_EVENT_IOC_RESET;
}

/* Acts on one event, or with PERF_IOC_FLAG_GROUP on each of its group. */
static void control(struct sim_counter *k, unsigned long request, bool group)
{
	struct sim_context *c = k->context;

	sim_catch_up(c);
	if (request == PERF_EVENT_IOC_RESET) /* it reads the event first */
		sim_metrics_reset(&sim_state, k->leader);
	for (struct sim_counter *other = c->first; other; other = other->next) {
		if (group ? other->leader != k->leader : other != k)
			continue;
		if (request == PERF_EVENT_IOC_RESET)
			sim_counter_reset(other);
		else
			sim_counter_enable(c, other, request == PERF_EVENT_IOC_ENABLE);
	}
	if (request == PERF_EVENT_IOC_ENABLE && k->leader->state == SIM_ON)
		sim_clock_start(c);
	sim_rdpmc_changed(k, request == PERF_EVENT_IOC_RESET);
}

/* What has been sampled by now has the old period. */
static int set_period(struct sim_counter *k, const uint64_t *period)
{
	int bad = k->pmu->driver == SIM_IBS ? sim_ibs_period_errno(k, *period) : 0;

	sim_ring_pump();
	if (bad) {
		errno = bad;
		return -1;
	}
	return sim_sample_set_period(&sim_state, k, *period);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	sim_find_real();
	if (!ours(fd))
		return sim_real.ioctl(fd, request, arg);
	sim_take();
	n_switches += switches(request);
	n_interrupts += switches(request);
	if (request == PERF_EVENT_IOC_PERIOD && ours(fd) && sim_by_fd[fd]->pmu &&
	    !sim_by_fd[fd]->attr.freq)
		ret = set_period(sim_by_fd[fd], arg);
	else if (ours(fd) && switches(request) && sim_is_made(sim_by_fd[fd]))
		ret = 0;
	else
		ret = sim_real.ioctl(fd, request, arg);
	if (!ret && ours(fd) && switches(request))
		control(sim_by_fd[fd], request, (uintptr_t)arg & PERF_IOC_FLAG_GROUP);
	sim_ring_pump();
	sim_give();
	return ret;
}

int close(int fd)
{
	sim_find_real();
	if (simulating && fd >= 0 && fd < SIM_FDS)
		sim_may_map[fd] = false;
	if (sim_msr_keeps(fd))
		return 0;
	if (sim_msr_is(fd))
		sim_msr_close(fd);
	if (ours(fd)) {
		sim_take();
		if (ours(fd) && getpid() == owner)
			sim_close(fd);
		sim_give();
	}
	return sim_real.close(fd);
}

int kill(pid_t pid, int number)
{
	sim_find_real();
	if (sim_paper() && number)
		sim_paper_kill(pid);
	return (int)sim_real.syscall(SYS_kill, pid, number);
}

int prctl(int option, ...)
{
	va_list ap;
	unsigned long arg[4];
	int ret;

	va_start(ap, option);
	for (size_t i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	sim_find_real();
	ret = sim_real.prctl(option, arg[0], arg[1], arg[2], arg[3]);
	if (ret || !simulating ||
	    (option != PR_TASK_PERF_EVENTS_ENABLE && option != PR_TASK_PERF_EVENTS_DISABLE))
		return ret;
	sim_take();
	for (int fd = 0; fd < SIM_FDS; fd++)
		if (sim_by_fd[fd])
			control(sim_by_fd[fd],
				option == PR_TASK_PERF_EVENTS_ENABLE ? PERF_EVENT_IOC_ENABLE
								     : PERF_EVENT_IOC_DISABLE,
				false);
	sim_give();
	return 0;
}

/* Rings are also filled for programs that look into them without waiting. */
static void *fill(void *arg)
{
	for (;;) {
		usleep(1000);
		sim_take();
		sim_ring_pump();
		sim_give();
	}
	return arg;
}

static void *map(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	static bool filling;
	void *ret;

	sim_find_real();
	if (!simulating || fd < 0 || fd >= SIM_FDS || !sim_may_map[fd])
		return sim_real.mmap(at, len, prot, flags, fd, offset);
	sim_take();
	if (sim_rdpmc_wants(fd, len)) {
		ret = sim_rdpmc_map(at, len, prot, flags, fd);
		sim_give();
		return ret;
	}
	ret = sim_ring_map(at, len, prot, flags, fd, offset);
	if (sim_ring_any() && !filling) {
		pthread_t thread;

		filling = !pthread_create(&thread, NULL, fill, NULL);
		if (filling)
			pthread_detach(thread);
	}
	sim_give();
	return ret;
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return map(at, len, prot, flags, fd, offset);
}

void *mmap64(void *at, size_t len, int prot, int flags, int fd, off64_t offset)
{
	return map(at, len, prot, flags, fd, (off_t)offset);
}

int munmap(void *at, size_t len)
{
	bool ring;

	sim_find_real();
	if (!simulating || !sim_ring_any())
		return sim_real.munmap(at, len);
	sim_take();
	ring = sim_ring_unmap(at, len);
	sim_give();
	return ring ? 0 : sim_real.munmap(at, len);
}

static void after_waiting(void)
{
	if (!simulating || !sim_ring_any())
		return;
	sim_take();
	sim_ring_pump();
	sim_give();
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int ret;

	sim_find_real();
	ret = sim_real.poll(fds, n, timeout);
	after_waiting();
	return ret;
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	int ret;

	sim_find_real();
	if (sim_paper())
		return sim_paper_ppoll(fds, n, timeout, mask);
	ret = sim_real.ppoll(fds, n, timeout, mask);
	after_waiting();
	return ret;
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	int ret;

	sim_find_real();
	ret = sim_real.epoll_wait(fd, events, max, timeout);
	after_waiting();
	return ret;
}
