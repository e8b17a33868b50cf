/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_partner - a thread on another CPU that has a kernel's lines before this one reads them.
 *
 *	struct bench_partner p = { .running = false };
 *	bench_partner_has(&p, cpu, k, &w, &err)	each time before k->run(&w, w.round)
 *	bench_partner_end(&p)
 *
 * The thread sleeps in between. Another CPU is another thread.
 */
#ifndef CYCLADE_MEASURE_BENCH_PARTNER_H
#define CYCLADE_MEASURE_BENCH_PARTNER_H

#include <pthread.h>
#include <semaphore.h>

#include "measure/bench.h"

struct bench_partner {
	pthread_t thread;
	sem_t go, done;
	unsigned cpu;
	bool running, quit;
	const struct kernel *k;
	struct kernel_work *w;
};

/* kernel->before(), there and then here. */
int bench_partner_has(struct bench_partner *p, unsigned cpu, const struct kernel *k,
		      struct kernel_work *w, struct err *err) MUST_USE;
void bench_partner_end(struct bench_partner *p);

#endif
