/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench of this machine: real kernels, real counters, and a thread that keeps the core busy.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/counter.h"
#include "measure/bench_partner.h"
#include "measure/validate.h"

struct opened {
	const struct kernel *k;
	struct kernel_work w;
	bool open;
};

struct machine_bench {
	const struct validate_event *event;
	size_t n_events;
	unsigned cpu, sibling;
	cpu_set_t before;
	struct opened slot[VALIDATE_SLOTS];
	struct counters *c;
	struct counter_event counted[VALIDATE_GROUP];
	struct counter_group group;
	struct counter_setup setup;
	pid_t self;
	uint64_t seen[VALIDATE_GROUP]; /* counts are cumulative */
	size_t n;
	struct bench_partner partner;
	unsigned others; /* 1 + the CPU that has the lines of SLOT_KERNEL before; 0: none */
	pthread_t other;
	bool running;
	atomic_bool quit;
	atomic_uint_fast64_t turns; /* rounds of the busy kernel */
	uint64_t chunk;
};

/* ---- the other thread ------------------------------------------------------------------------ */

static void *keep_busy(void *ctx)
{
	struct machine_bench *m = ctx;
	struct opened *o = &m->slot[SLOT_BUSY];

	while (!atomic_load_explicit(&m->quit, memory_order_relaxed)) {
		o->k->run(&o->w, m->chunk);
		(void)atomic_fetch_add_explicit(&m->turns, m->chunk, memory_order_relaxed);
	}
	return NULL;
}

static void end_busy(struct machine_bench *m)
{
	if (!m->running)
		return;
	atomic_store(&m->quit, true);
	(void)pthread_join(m->other, NULL);
	m->running = false;
}

/* The CPU time of the other thread; NAN: it does not run. */
static double other_cpu(const struct machine_bench *m)
{
	clockid_t clock;

	return m->running && !pthread_getcpuclockid(m->other, &clock) ? bench_now(clock) : NAN;
}

static int begin_busy(struct machine_bench *m, struct err *err)
{
	uint_fast64_t before = atomic_load(&m->turns);

	if (m->running)
		return 0;
	atomic_store(&m->quit, false);
	if (bench_thread(&m->other, m->sibling, keep_busy, m, err))
		return -1;
	m->running = true;
	for (unsigned i = 0; i < 1000 && atomic_load(&m->turns) == before; i++)
		(void)usleep(10);
	return 0;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void close_kernel_slot(void *ctx, unsigned slot)
{
	struct machine_bench *m = ctx;

	if (slot == SLOT_BUSY)
		end_busy(m);
	if (m->slot[slot].open)
		kernel_release(&m->slot[slot].w);
	m->slot[slot].open = false;
}

static int open_kernel_slot(void *ctx, unsigned slot, const struct kernel *k,
			    const struct kernel_setup *s, uint64_t *round, struct err *err)
{
	struct machine_bench *m = ctx;
	struct opened *o = &m->slot[slot];
	bool moves = k->each[Q_MIGRATIONS] > 0;
	int rc;

	close_kernel_slot(ctx, slot);
	o->k = k;
	if (moves) /* its memory lists the CPUs */
		(void)sched_setaffinity(0, sizeof(m->before), &m->before);
	rc = bench_prepare(&o->w, k, s, err);
	o->open = true;
	if (moves && bench_pin(m->cpu, rc ? NULL : err))
		rc = -1;
	*round = o->w.round;
	if (slot == SLOT_KERNEL)
		m->others = k->before ? s->other : 0;
	if (!rc && slot == SLOT_BUSY)
		m->chunk = o->w.round > 4096 ? o->w.round : 4096 / o->w.round * o->w.round;
	return rc;
}

/* ---- counters -------------------------------------------------------------------------------- */

static int count_on_bench(void *ctx, const size_t *event, size_t n, bool *fits, const char **why,
			  struct err *err)
{
	struct machine_bench *m = ctx;
	struct err refused = ERR_INIT;

	counters_close(m->c);
	m->c = NULL;
	m->n = n;
	memset(m->seen, 0, sizeof(m->seen));
	*fits = true;
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct validate_event *e = &m->event[event[i]];

		m->counted[i] = (struct counter_event){ .attr = e->attr, .name = e->name };
	}
	m->group = (struct counter_group){ .event = m->counted, .n = n };
	m->setup = (struct counter_setup){
		.group = &m->group, .n_groups = 1, .tasks = &m->self, .n_tasks = 1, .cgroup_fd = -1
	};
	if (counters_open(&m->c, &m->setup, &refused)) {
		m->c = NULL;
		if (refused.code == ERR_NOMEM)
			return *err = refused, -1;
		*fits = false;
		if (n == 1)
			why[0] = "the kernel does not let it be counted";
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		why[i] = counters_refused(m->c, 0, i, NULL);
	if (counters_split(m->c, 0) > 1)
		*fits = false;
	return 0;
}

/* Counters see the kernel alone, not another CPU's work on its lines before. */
static int run_part(struct machine_bench *m, struct opened *o, uint64_t n,
		    struct validate_counts *out, struct err *err)
{
	if (m->others && o->k->before &&
	    bench_partner_has(&m->partner, m->others - 1, o->k, &o->w, err))
		return -1;
	if (m->c && counters_enable(m->c, ALL_GROUPS, true, err))
		return -1;
	out->cpu -= bench_now(CLOCK_THREAD_CPUTIME_ID);
	out->wall -= bench_now(CLOCK_MONOTONIC);
	o->k->run(&o->w, n);
	out->wall += bench_now(CLOCK_MONOTONIC);
	out->cpu += bench_now(CLOCK_THREAD_CPUTIME_ID);
	if (o->k->each[Q_MIGRATIONS] > 0 && bench_pin(m->cpu, err))
		return -1;
	return m->c ? counters_enable(m->c, ALL_GROUPS, false, err) : 0;
}

/* The empty kernel runs in as many parts as the kernel that it is compared with. */
static int run_on_bench(void *ctx, unsigned slot, uint64_t n, bool busy,
			struct validate_counts *out, struct err *err)
{
	struct machine_bench *m = ctx;
	struct opened *o = &m->slot[slot];
	struct counter_value v[VALIDATE_GROUP];
	double other;
	uint64_t turns;

	*out = (struct validate_counts){ .wall = 0 };
	if (busy && begin_busy(m, err))
		return -1;
	if (!busy)
		end_busy(m);
	other = other_cpu(m);
	turns = atomic_load_explicit(&m->turns, memory_order_relaxed);
	while (n > 0) {
		uint64_t part = m->others && n > m->slot[SLOT_KERNEL].w.round
					? m->slot[SLOT_KERNEL].w.round
					: n;

		if (run_part(m, o, part, out, err))
			return -1;
		n -= part;
	}
	out->busy = (double)(atomic_load_explicit(&m->turns, memory_order_relaxed) - turns);
	if (!m->c)
		return 0;
	if (counters_read(m->c, 0, v, err))
		return -1;
	/* of the other thread whole chunks are known: without one there was nothing beside it */
	out->alone = busy && (other_cpu(m) - other < 0.5 * out->cpu || out->busy <= 0);
	for (size_t i = 0; i < m->n; i++) {
		out->count[i] = (double)(v[i].value - m->seen[i]);
		m->seen[i] = v[i].value;
		out->shared |=
			v[i].refused || v[i].gone || v[i].running < v[i].enabled || !v[i].enabled;
	}
	return 0;
}

int validate_machine(struct validate_bench *out, const struct validate_event *event, size_t n,
		     unsigned cpu, unsigned sibling, struct err *err)
{
	struct machine_bench *m = calloc(1, sizeof(*m));

	if (!m)
		return err_nomem(err);
	*m = (struct machine_bench){
		.event = event, .n_events = n, .cpu = cpu, .sibling = sibling, .self = gettid()
	};
	if (bench_pin_from(&m->before, cpu, err)) {
		free(m);
		return -1;
	}
	*out = (struct validate_bench){
		.ctx = m,
		.no_sibling = sibling == VALIDATE_NO_SIBLING
				      ? "no other thread of this core may be used"
				      : NULL,
		.no_other = CPU_COUNT(&m->before) < 2 ? "this process may use one CPU only" : NULL,
		.open = open_kernel_slot,
		.close = close_kernel_slot,
		.count = count_on_bench,
		.run = run_on_bench,
	};
	return 0;
}

void validate_close(struct validate_bench *b)
{
	struct machine_bench *m = b->ctx;

	if (!m)
		return;
	for (unsigned i = 0; i < VALIDATE_SLOTS; i++)
		close_kernel_slot(m, i);
	bench_partner_end(&m->partner);
	counters_close(m->c);
	(void)sched_setaffinity(0, sizeof(m->before), &m->before);
	free(m);
	b->ctx = NULL;
}
