/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/bench.h"

#include <string.h>

#define STACK (256u << 10) /* of a second thread: address space may be scarce */

double bench_now(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_pin(unsigned cpu, struct err *err)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= CPU_SETSIZE)
		return err_set(err, ERR_LIMIT, "CPU %u: only the first %d can be used", cpu,
			       CPU_SETSIZE);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? err_sys(err, "CPU %u", cpu) : 0;
}

int bench_pin_from(cpu_set_t *before, unsigned cpu, struct err *err)
{
	if (sched_getaffinity(0, sizeof(*before), before))
		CPU_ZERO(before);
	return bench_pin(cpu, err);
}

int bench_thread(pthread_t *out, unsigned cpu, void *(*run)(void *ctx), void *ctx, struct err *err)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int rc;

	CPU_ZERO(&set);
	CPU_SET(cpu % CPU_SETSIZE, &set);
	if (pthread_attr_init(&attr))
		return err_nomem(err);
	(void)pthread_attr_setstacksize(&attr, STACK);
	rc = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!rc)
		rc = pthread_create(out, &attr, run, ctx);
	(void)pthread_attr_destroy(&attr);
	return rc ? err_set(err, ERR_UNSUPPORTED, "a thread on CPU %u: %s", cpu, strerror(rc)) : 0;
}

void *bench_join(struct arena *a, const struct bench_rows *of, const char *word, const void *more,
		 size_t n_more)
{
	char *out = arena_alloc(a, (of->n + n_more + 1) * of->size);

	if (!out)
		return NULL;
	if (of->n)
		memcpy(out, of->row, of->n * of->size);
	if (n_more)
		memcpy(out + of->n * of->size, more, n_more * of->size);
	for (size_t i = 0; i < of->n; i++)
		memcpy(out + i * of->size + of->word_at, &word, sizeof(word));
	return out;
}
