/* SPDX-License-Identifier: BSD-3-Clause */
#include "paper.h"
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND	 UINT64_C(1000000000)
#define PROGRAMS 16		  /* at a time */
#define READ	 500		  /* ns that a read takes */
#define PATIENCE (60 * SECOND)	  /* of the real clock, until a child runs or ends */
#define GLANCE	 (SECOND / 10000) /* between looks at what children do */

enum { NOBODY, RUNNING, OVER }; /* a program */

struct paper {		/* what all processes of a run share; begins as zeroes */
	uint32_t taken; /* the lock */
	uint64_t base;	/* what the real clock said at first */
	uint64_t now, ran;
	struct {
		uint32_t state;
		pid_t pid;
		uint64_t until;
	} program[PROGRAMS];
};

static struct paper *paper;
static bool alone; /* no programs are run: children are none that run on paper */

bool sim_paper(void)
{
	return paper;
}

static uint64_t real_clock(void)
{
	struct timespec ts;

	sim_real.clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

/* Nobody holds it for longer than a few stores. */
static void take(void)
{
	while (__atomic_exchange_n(&paper->taken, 1, __ATOMIC_ACQUIRE))
		sim_real.syscall(SYS_sched_yield);
}

static void give(void)
{
	__atomic_store_n(&paper->taken, 0, __ATOMIC_RELEASE);
}

int sim_paper_begin(const char *path)
{
	int fd = (int)sim_real.syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC,
				       0600);

	if (fd >= 0 && !ftruncate(fd, sizeof(*paper)))
		paper = sim_real.mmap(NULL, sizeof(*paper), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				      0);
	if (fd >= 0)
		sim_real.close(fd);
	if (!paper || paper == MAP_FAILED) {
		fprintf(stderr, "sim: %s: %s\n", path, strerror(errno));
		paper = NULL;
		return -1;
	}
	alone = getenv("SIM_PAPER_ALONE");
	take();
	if (!paper->base)
		paper->base = real_clock();
	give();
	return 0;
}

uint64_t sim_paper_now(void)
{
	return __atomic_load_n(&paper->now, __ATOMIC_RELAXED);
}

uint64_t sim_paper_ran(void)
{
	return __atomic_load_n(&paper->ran, __ATOMIC_RELAXED);
}

uint64_t sim_paper_clock(void)
{
	return paper->base + sim_paper_now();
}

/* ---- programs ---- */

static void wake(size_t i)
{
	sim_real.syscall(SYS_futex, &paper->program[i].state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool sim_paper_run(uint64_t ns)
{
	const struct timespec moment = { 1, 0 };
	size_t i = 0;

	if (!paper)
		return false;
	take();
	while (i < PROGRAMS && paper->program[i].state != NOBODY)
		i++;
	if (i == PROGRAMS) {
		fprintf(stderr, "sim: more than %d programs run at a time\n", PROGRAMS);
		abort();
	}
	paper->program[i].pid = getpid();
	paper->program[i].until = paper->now + ns;
	paper->program[i].state = RUNNING;
	give();
	/* who measures may be gone: then nobody moves the clock on */
	while (__atomic_load_n(&paper->program[i].state, __ATOMIC_ACQUIRE) == RUNNING &&
	       getppid() != 1)
		sim_real.syscall(SYS_futex, &paper->program[i].state, FUTEX_WAIT, RUNNING, &moment,
				 NULL, 0);
	__atomic_store_n(&paper->program[i].state, NOBODY, __ATOMIC_RELEASE);
	return true;
}

void sim_paper_kill(pid_t pid)
{
	take();
	for (size_t i = 0; i < PROGRAMS; i++)
		if (paper->program[i].state == RUNNING && paper->program[i].pid == pid)
			paper->program[i].state = OVER; /* and not woken: the signal does that */
	give();
}

/* ---- the clock ---- */

/* How many run, and when the first of them ends. */
static unsigned running(uint64_t *end)
{
	unsigned n = 0;

	for (size_t i = 0; i < PROGRAMS; i++) {
		if (paper->program[i].state != RUNNING)
			continue;
		if (!n++ || paper->program[i].until < *end)
			*end = paper->program[i].until;
	}
	return n;
}

static void end_programs(void)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		if (paper->program[i].state != RUNNING || paper->program[i].until > paper->now)
			continue;
		__atomic_store_n(&paper->program[i].state, OVER, __ATOMIC_RELEASE);
		wake(i);
	}
}

/* On to `to`, or to the first end of a program before that; where none runs only if `empty`.
 * Whether one ran. */
static bool go_on(uint64_t to, bool empty)
{
	uint64_t end = UINT64_MAX;
	unsigned n;

	take();
	n = running(&end);
	if (end < to)
		to = end;
	if (to > paper->now && (n || empty)) {
		paper->ran += n * (to - paper->now);
		paper->now = to;
	}
	end_programs();
	give();
	return n;
}

void sim_paper_read(void)
{
	(void)go_on(sim_paper_now() + READ, true);
}

/* Whether there is a child that may come to run, or whose end is not told yet. */
static bool has_child(void)
{
	siginfo_t info = { 0 };

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

int sim_paper_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		    const sigset_t *mask)
{
	const struct timespec none = { 0, 0 }, glance = { 0, GLANCE };
	uint64_t until = UINT64_MAX, began = real_clock();
	bool ran = true;

	if (timeout)
		until = sim_paper_now() + (uint64_t)timeout->tv_sec * SECOND +
			(uint64_t)timeout->tv_nsec;
	for (;;) {
		int ready = sim_real.ppoll(fds, n, ran ? &none : &glance, mask);

		if (ready || sim_paper_now() >= until)
			return ready;
		ran = go_on(until, false);
		if (ran)
			continue;
		if (alone || !has_child()) {
			if (!timeout)
				return sim_real.ppoll(fds, n, NULL, mask);
			(void)go_on(until, true);
			return 0;
		}
		if (real_clock() - began > PATIENCE) {
			fprintf(stderr, "sim: no program runs on paper\n");
			abort();
		}
	}
}
