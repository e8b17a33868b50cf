/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/validate_samples.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "collect/recorder.h"
#include "measure/bench.h"

#define PERIOD	10007u /* loads */
#define CHUNK	65536u /* iterations: little else runs */
#define TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_INTR)
#define BATCHES 20u

/* ---- samples --------------------------------------------------------------------------------- */

static void one_record(struct validate_samples *s)
{
	size_t size = s->want < sizeof(s->head) ? s->want : sizeof(s->head);
	struct validate_seen *x;

	if (ld32(s->head) != PERF_RECORD_SAMPLE || size < 32 || s->n == VALIDATE_SAMPLES)
		return;
	x = &s->seen[s->n++];
	*x = (struct validate_seen){ .ip = ld64(s->head + 8), .addr = ld64(s->head + 16) };
	x->has_regs = ld64(s->head + 24) && size >= 40;
	for (size_t i = 0; x->has_regs && i < VALIDATE_REGS && 40 + 8 * i <= size; i++)
		x->reg[i] = ld64(s->head + 32 + 8 * i);
}

static int on_data(void *ctx, const void *bytes, size_t len, struct err *err)
{
	struct validate_samples *s = ctx;
	const uint8_t *b = bytes;

	(void)err;
	(void)pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < len; i++) {
		if (s->have < sizeof(s->head))
			s->head[s->have] = b[i];
		s->have++;
		if (s->have == 8)
			s->want = ld16(s->head + 6) < 8 ? 8 : ld16(s->head + 6);
		if (s->have >= 8 && s->have == s->want) {
			one_record(s);
			s->have = s->want = 0;
		}
	}
	(void)pthread_mutex_unlock(&s->lock);
	return 0;
}

static int on_round(void *ctx, struct err *err)
{
	(void)ctx, (void)err;
	return 0;
}

static size_t seen_so_far(struct validate_samples *s)
{
	size_t n;

	(void)pthread_mutex_lock(&s->lock);
	n = s->n;
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}

static const char *refusal(int code)
{
	return code == EOPNOTSUPP || code == ENOTSUP || code == EINVAL
		       ? "this event cannot be sampled so precisely here"
	       : code == EACCES || code == EPERM ? "not permitted"
						 : "the kernel refuses it";
}

static struct perf_event_attr attr_of(const struct validate_sample_opts *o)
{
	struct perf_event_attr a = o->event->attr;

	a.precise_ip = o->precise & 3;
	a.sample_period = PERIOD;
	a.freq = 0;
	a.sample_type = TYPE;
	a.sample_regs_intr = o->regs;
	a.read_format = 0;
	a.disabled = 1;
	a.exclude_kernel = a.exclude_hv = 1;
	return a;
}

/* The kernel runs until there are enough. */
static int run_sampled(struct validate_samples *s, struct recorder *r, const struct kernel *k,
		       struct kernel_work *w, struct err *err)
{
	const struct recorder_sink sink = { .data = on_data, .round = on_round, .ctx = s };
	double end = bench_now(CLOCK_THREAD_CPUTIME_ID) + VALIDATE_SAMPLED;

	if (recorder_start(r, &sink, err) || recorder_enable(r, err))
		return -1;
	while (seen_so_far(s) < VALIDATE_SAMPLES && bench_now(CLOCK_THREAD_CPUTIME_ID) < end)
		k->run(w, CHUNK / w->round * w->round + w->round);
	return recorder_disable(r, err) || recorder_stop(r, err) ? -1 : 0;
}

int validate_sample(struct validate_samples *s, struct validate_sample_opts *o, const char **why,
		    struct err *err)
{
	struct recorder_event event = { .attr = attr_of(o), .name = o->event->name };
	const pid_t self = gettid();
	const struct recorder_setup setup = { .event = &event,
					      .n_events = 1,
					      .tasks = &self,
					      .n_tasks = 1,
					      .cgroup_fd = -1,
					      .ring_bytes = 65536,
					      .flush_ms = 10 };
	struct kernel_work w;
	struct recorder *r = NULL;
	struct err refused = ERR_INIT;
	int rc;

	s->n = s->have = s->want = 0;
	if (recorder_open(&r, &setup, &refused)) {
		if (refused.code == ERR_NOMEM)
			return *err = refused, -1;
		*why = refusal(refused.sys_errno);
		return 0;
	}
	rc = kernel_prepare(&w, o->kernel, &o->setup, err);
	o->memory = (uintptr_t)w.a;
	o->bytes = w.mask + 1;
	if (!rc)
		rc = run_sampled(s, r, o->kernel, &w, err);
	kernel_release(&w);
	recorder_close(r);
	if (!rc && !s->n)
		*why = "no sample came";
	return rc;
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* `all` samples in BATCHES parts, one after another: how much more their shares differ than those
 * of independent draws (1: not more). */
static double design_effect(const double of[BATCHES], const double n[BATCHES], double all, double p)
{
	double squares = 0, widest = t95(BATCHES - 1) / Z95;

	if (all < 2 * BATCHES || p <= 0 || p >= 1)
		return 1;
	for (unsigned i = 0; i < BATCHES; i++)
		squares += (n[i] - p * of[i]) * (n[i] - p * of[i]);
	squares *= BATCHES / (BATCHES - 1.0) / (all * p * (1 - p));
	return fmax(1, squares * widest * widest);
}

struct validate_tally validate_tally(const signed char *hit, size_t n)
{
	double of[BATCHES] = { 0 }, hits[BATCHES] = { 0 };
	struct validate_tally c = { 0, 0, 0 };

	for (size_t i = 0; i < n; i++) {
		if (hit[i] < 0)
			continue;
		c.of++;
		c.n += hit[i] > 0;
		of[i * BATCHES / n]++;
		hits[i * BATCHES / n] += hit[i] > 0;
	}
	if (c.of)
		c.draws = (double)c.of /
			  design_effect(of, hits, (double)c.of, (double)c.n / (double)c.of);
	return c;
}

struct estimate validate_share(const signed char *hit, size_t n, const char *none)
{
	struct validate_tally c = validate_tally(hit, n);
	double p, low, high;

	if (!c.of)
		return ESTIMATE_NONE(none);
	p = (double)c.n / (double)c.of;
	share_interval(p, c.draws, &low, &high);
	return (struct estimate){ p, fmax(high - p, p - low), NULL };
}
