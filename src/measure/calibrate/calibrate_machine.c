/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench of this machine: real kernels, the real clock, a second thread for transfers.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/mempolicy.h>

#include "collect/sysfs.h"
#include "measure/bench_partner.h"
#include "measure/calibrate.h"

#define NODE_BITS  1024u
#define WARM_LINES (1u << 18)
#define WARM_MOST  (4u << 20) /* bytes that are worth a pass before each repeat */

struct open_kernel {
	const struct kernel *k;
	struct kernel_work w;
};

struct machine_bench {
	unsigned cpu;
	cpu_set_t before;
	struct open_kernel slot[CALIBRATE_SLOTS];
	struct kernel_work ring; /* of transfers */
	struct bench_partner partner;
	int policy; /* of memory, as it was */
	unsigned long nodes[NODE_BITS / LONG_BIT];
	bool placed, kept;
};

static struct calibrate_time time_kernel(struct open_kernel *o, uint64_t n)
{
	double cpu = bench_now(CLOCK_THREAD_CPUTIME_ID), wall = bench_now(CLOCK_MONOTONIC);

	o->k->run(&o->w, n);
	wall = bench_now(CLOCK_MONOTONIC) - wall;
	return (struct calibrate_time){ wall, bench_now(CLOCK_THREAD_CPUTIME_ID) - cpu };
}

static struct calibrate_time run_kernel(void *ctx, unsigned slot, uint64_t n)
{
	return time_kernel(&((struct machine_bench *)ctx)->slot[slot], n);
}

static int open_bench_slot(void *ctx, unsigned slot, const struct kernel *k,
			   const struct kernel_setup *s, struct calibrate_opened *out,
			   struct err *err)
{
	struct open_kernel *o = &((struct machine_bench *)ctx)->slot[slot];
	uint64_t lines = s->bytes / 64 < WARM_LINES ? s->bytes / 64 : WARM_LINES;

	o->k = k;
	if (bench_prepare(&o->w, k, s, err))
		return -1;
	*out = (struct calibrate_opened){
		.round = o->w.round,
		.warm = s->bytes > WARM_MOST ? 0
			: o->w.units > 1     ? 1
					     : s->bytes / 64,
		.huge = s->huge && bench_in_huge_pages(o->w.a, s->bytes),
	};
	k->run(&o->w, o->w.round > lines || o->w.units > 1 ? o->w.round : lines + 1);
	return 0;
}

static void close_bench_slot(void *ctx, unsigned slot)
{
	kernel_release(&((struct machine_bench *)ctx)->slot[slot].w);
}

/* Field 8 of the CPU's line in /proc/stat. */
static double stolen(void *ctx)
{
	const struct machine_bench *m = ctx;
	char *text = malloc(SYS_TEXT_MAX), head[32], *line = NULL;
	uint64_t ticks = 0;
	long hz = sysconf(_SC_CLK_TCK);

	(void)snprintf(head, sizeof(head), "\ncpu%u ", m->cpu);
	if (text && sys_read(text, SYS_TEXT_MAX, "", "proc/stat") > 0)
		line = strstr(text, head);
	if (!line || hz <= 0 ||
	    sscanf(line + strlen(head), "%*u %*u %*u %*u %*u %*u %*u %" SCNu64, &ticks) != 1)
		hz = 0;
	free(text);
	return hz ? (double)ticks / (double)hz : NAN;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static int transfer(void *ctx, unsigned from, unsigned to, bool modified,
		    struct calibrate_time *out, unsigned *lines, struct err *err)
{
	static const struct kernel_setup usual;
	struct machine_bench *m = ctx;
	struct open_kernel walk = { .k = kernel_find(modified ? "snoop-modified" : "snoop-clean") };

	if (!m->ring.map && kernel_prepare(&m->ring, walk.k, &usual, err))
		return -1;
	if (bench_pin(to, err) || bench_partner_has(&m->partner, from, walk.k, &m->ring, err))
		return -1;
	walk.w = m->ring;
	*out = time_kernel(&walk, m->ring.round);
	*lines = (unsigned)m->ring.round;
	return 0;
}

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

static void keep_policy(struct machine_bench *m)
{
	if (!m->placed)
		m->kept = !syscall(SYS_get_mempolicy, &m->policy, m->nodes, NODE_BITS, NULL, 0UL);
	m->placed = true;
}

static int place_memory(void *ctx, unsigned cpu, int node, struct err *err)
{
	unsigned long mask[NODE_BITS / LONG_BIT] = { 0 };
	struct machine_bench *m = ctx;

	keep_policy(m);
	for (unsigned i = 0; i < CALIBRATE_SLOTS; i++)
		close_bench_slot(ctx, i);
	if (bench_pin(cpu, err))
		return -1;
	if (node < 0) {
		if (m->kept && syscall(SYS_set_mempolicy, m->policy, m->nodes, NODE_BITS))
			return err_sys(err, "the memory policy");
		return 0;
	}
	if (!m->kept || (unsigned)node >= NODE_BITS)
		return err_set(err, ERR_UNSUPPORTED, "memory cannot be bound to a NUMA node here");
	mask[(unsigned)node / LONG_BIT] |= 1UL << ((unsigned)node % LONG_BIT);
	if (syscall(SYS_set_mempolicy, MPOL_BIND, mask, NODE_BITS))
		return err_sys(err, "memory of NUMA node %d", node);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int calibrate_machine(struct calibrate_bench *out, unsigned cpu, struct err *err)
{
	struct machine_bench *m = calloc(1, sizeof(*m));

	if (!m)
		return err_nomem(err);
	m->cpu = cpu;
	if (bench_pin_from(&m->before, cpu, err)) {
		free(m);
		return -1;
	}
	*out = (struct calibrate_bench){ m,	   open_bench_slot, run_kernel,	 close_bench_slot,
					 transfer, stolen,	    place_memory };
	return 0;
}

void calibrate_close(struct calibrate_bench *b)
{
	struct machine_bench *m = b->ctx;

	if (!m)
		return;
	bench_partner_end(&m->partner);
	for (unsigned i = 0; i < CALIBRATE_SLOTS; i++)
		kernel_release(&m->slot[i].w);
	kernel_release(&m->ring);
	(void)sched_setaffinity(0, sizeof(m->before), &m->before);
	free(m);
	b->ctx = NULL;
}
