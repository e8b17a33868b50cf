/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/bench_partner.h"

#include <errno.h>

static void wait_for(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static void *partner(void *ctx)
{
	struct bench_partner *p = ctx;

	for (;;) {
		wait_for(&p->go);
		if (p->quit)
			return NULL;
		p->k->before(p->w, true);
		(void)sem_post(&p->done);
	}
}

static int begin_partner(struct bench_partner *p, unsigned cpu, struct err *err)
{
	(void)sem_init(&p->go, 0, 0);
	(void)sem_init(&p->done, 0, 0);
	p->quit = false;
	p->cpu = cpu;
	if (bench_thread(&p->thread, cpu, partner, p, err))
		return -1;
	p->running = true;
	return 0;
}

int bench_partner_has(struct bench_partner *p, unsigned cpu, const struct kernel *k,
		      struct kernel_work *w, struct err *err)
{
	if (p->running && p->cpu != cpu)
		bench_partner_end(p);
	if (!p->running && begin_partner(p, cpu, err))
		return -1;
	p->k = k;
	p->w = w;
	(void)sem_post(&p->go);
	wait_for(&p->done);
	k->before(w, false);
	return 0;
}

void bench_partner_end(struct bench_partner *p)
{
	if (!p->running)
		return;
	p->quit = true;
	(void)sem_post(&p->go);
	(void)pthread_join(p->thread, NULL);
	(void)sem_destroy(&p->go);
	(void)sem_destroy(&p->done);
	p->running = false;
}
