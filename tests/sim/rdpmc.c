/* SPDX-License-Identifier: BSD-3-Clause */
#include "rdpmc.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload.h"

#define WIDTH	     48
#define MASK	     (((uint64_t)1 << WIDTH) - 1)
#define SLOTS	     (1u << 30 | 3)
#define METRICS	     (1u << 29)
#define SETTLE_USEC  1000
#define MEASURE_USEC 10000
#define CLOCK_SHIFT  20	     /* a time stamp is 0.3 to 1 ns: so the factor has 20 bits */
#define OFF_CPU_NS   100000u /* less is how late this machine may be */

static struct perf_event_mmap_page *page[SIM_FDS]; /* where we write it */
static uint64_t start;
static bool on, pumping;

static int64_t with_sign(uint64_t raw)
{
	return (int64_t)(raw << (64 - WIDTH)) >> (64 - WIDTH);
}

/* What the instruction gives for a general counter, and what the kernel adds to it. */
static uint64_t raw_of(const struct sim_counter *k)
{
	return (sim_counter_value(&sim_state, k) + start) & MASK;
}

static uint32_t index_of(const struct sim_counter *k)
{
	if (!k->running)
		return 0;
	if (k->event.flags & SIM_SLOTS)
		return SLOTS + 1;
	return (k->event.flags & SIM_METRIC ? METRICS : (uint32_t)k->fd) + 1;
}

#if defined(__x86_64__)
static uint64_t stamp(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static uint64_t stamp(void)
{
	return 0;
}
#endif

static uint64_t stamp_ns(const struct perf_event_mmap_page *p, uint64_t cycles)
{
	uint64_t quot = cycles >> p->time_shift, rem = cycles & ((1ull << p->time_shift) - 1);

	return quot * p->time_mult + ((rem * p->time_mult) >> p->time_shift);
}

static void write_page(struct sim_counter *k, struct perf_event_mmap_page *p)
{
	uint32_t index = index_of(k);

	__atomic_fetch_add(&p->lock, 1, __ATOMIC_ACQ_REL);
	p->index = index;
	p->offset = index ? -with_sign(start) : (int64_t)sim_counter_value(&sim_state, k);
	p->time_enabled = k->enabled;
	p->time_running = k->ran;
	p->time_offset = p->cap_user_time ? 0 - stamp_ns(p, stamp()) : 0;
	__atomic_fetch_add(&p->lock, 1, __ATOMIC_RELEASE);
}

/* The thread was off its CPU: time went on, its counters did not. The kernel writes their pages
 * when the thread comes back. */
static bool was_off_cpu(const struct sim_counter *k, const struct perf_event_mmap_page *p)
{
	uint64_t told = p->time_enabled + p->time_offset + stamp_ns(p, stamp());

	return p->cap_user_time && k->state == SIM_ON && told > k->enabled + OFF_CPU_NS;
}

/* Only what is on or off otherwise than before. */
static void refresh(const struct sim_context *c)
{
	for (struct sim_counter *k = c->first; k; k = k->next) {
		struct perf_event_mmap_page *p = k->fd >= 0 && k->fd < SIM_FDS ? page[k->fd] : NULL;

		if (p && (p->index != index_of(k) || was_off_cpu(k, p)))
			write_page(k, p);
	}
}

/* A step of no length has the row of groups worked out anew. */
static void settle(struct sim_context *c)
{
	sim_catch_up(c);
	if (c->stale)
		sim_context_advance(&sim_state, c, c->now + 1);
	refresh(c);
}

void sim_rdpmc_changed(struct sim_counter *k, bool reset)
{
	if (!on)
		return;
	settle(k->context);
	if (reset && page[k->fd])
		write_page(k, page[k->fd]);
}

static void *pump(void *arg)
{
	for (;;) {
		usleep(SETTLE_USEC);
		sim_take();
		for (struct sim_context *c = sim_contexts; c; c = c->next)
			settle(c);
		sim_give();
	}
	return arg;
}

/* No signal of the program is to find it. */
static void start_pump(void)
{
	sigset_t all, was;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	pumping = !pthread_create(&thread, NULL, pump, NULL);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

bool sim_rdpmc_wants(int fd, size_t len)
{
	return on && fd >= 0 && fd < SIM_FDS && sim_by_fd[fd] && sim_by_fd[fd]->pmu &&
	       len == (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The clock's numbers, which a kernel gives only where it trusts its time stamps: a guest's often
 * does not. SIM_CLOCK=0: this one does not either. */
static void give_clock(struct perf_event_mmap_page *p)
{
	static uint32_t mult;
	const char *wish = getenv("SIM_CLOCK");
	uint64_t ns, cycles;

	if (wish && !strcmp(wish, "0"))
		return;
	if (!mult) {
		ns = now_ns();
		cycles = stamp();
		usleep(MEASURE_USEC);
		ns = now_ns() - ns;
		cycles = stamp() - cycles;
		mult = cycles ? (uint32_t)((ns << CLOCK_SHIFT) / cycles) : 0;
	}
	p->cap_user_time = mult > 0;
	p->time_shift = CLOCK_SHIFT;
	p->time_mult = mult;
}

void *sim_rdpmc_map(void *at, size_t len, int prot, int flags, int fd)
{
	int memory = memfd_create("page", MFD_CLOEXEC);
	struct perf_event_mmap_page *p = MAP_FAILED;
	void *shown = MAP_FAILED;

	if (memory >= 0 && !ftruncate(memory, (off_t)len))
		p = sim_real.mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (p != MAP_FAILED)
		shown = sim_real.mmap(at, len, prot, flags, memory, 0);
	if (memory >= 0)
		sim_real.close(memory);
	if (shown == MAP_FAILED)
		return MAP_FAILED;
	give_clock(p);
	p->lock = 0;
	p->cap_user_rdpmc = 1;
	p->pmc_width = WIDTH;
	p->index = UINT32_MAX;
	page[fd] = p;
	settle(sim_by_fd[fd]->context);
	if (!pumping)
		start_pump();
	return shown;
}

void sim_rdpmc_close(int fd)
{
	if (page[fd])
		sim_real.munmap(page[fd], (size_t)sysconf(_SC_PAGESIZE));
	page[fd] = NULL;
}

/* ---- the instruction -------------------------------------------------------------------- */

static struct sim_counter *slots_here(void)
{
	pid_t me = gettid();

	for (struct sim_context *c = sim_contexts; c; c = c->next)
		for (struct sim_counter *k = c->first; k && c->pid == me; k = k->next)
			if (k->event.flags & SIM_SLOTS && k->running)
				return k;
	return NULL;
}

static uint64_t metrics_of(const struct sim_counter *slots)
{
	uint64_t v = 0;

	for (const struct sim_counter *k = slots->context->first; k; k = k->next) {
		double share = slots->slots_since > 0 ? k->since / slots->slots_since : 0;

		if (k->leader == slots && k->event.flags & SIM_METRIC)
			v |= (uint64_t)(fmin(share, 1) * 255 + 0.5) << (8 * k->event.field);
	}
	return v;
}

static bool value_of(uint32_t ecx, uint64_t *v)
{
	struct sim_counter *k;

	if (ecx == SLOTS || ecx == METRICS) {
		k = slots_here();
		if (!k)
			return false;
		settle(k->context);
		*v = ecx == SLOTS ? (uint64_t)k->slots_since & MASK : metrics_of(k);
		return true;
	}
	k = ecx < SIM_FDS ? sim_by_fd[ecx] : NULL;
	if (k)
		settle(k->context);
	*v = k ? raw_of(k) : 0;
	/* counter 0 is there wherever there is one */
	return k || !ecx;
}

#if defined(__x86_64__)
static void fault(int number, siginfo_t *info, void *arg)
{
	ucontext_t *u = arg;
	greg_t *reg = u->uc_mcontext.gregs;
	const unsigned char *code = (const unsigned char *)reg[REG_RIP];
	uint64_t v;
	bool good;

	(void)number;
	/* a general protection fault has no address */
	if (info->si_addr || code[0] != 0x0f || code[1] != 0x33)
		goto real;
	sim_take();
	good = value_of((uint32_t)reg[REG_RCX], &v);
	sim_give();
	if (!good)
		goto real;
	reg[REG_RAX] = (greg_t)(v & UINT32_MAX);
	reg[REG_RDX] = (greg_t)(v >> 32);
	reg[REG_RIP] += 2;
	return;
real:
	signal(SIGSEGV, SIG_DFL); /* happens again, for good */
}

static void catch_faults(void)
{
	struct sigaction sa = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };

	sigfillset(&sa.sa_mask);
	sigaction(SIGSEGV, &sa, NULL);
}
#else
static void catch_faults(void)
{
	(void)value_of; /* there is no such instruction, and nobody to ask */
}
#endif

void sim_rdpmc_begin(void)
{
	const char *text = getenv("SIM_RDPMC");

	if (!text)
		return;
	start = strtoull(text, NULL, 0) & MASK;
	on = true;
	catch_faults();
}
