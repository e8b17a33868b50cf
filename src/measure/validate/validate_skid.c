/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/validate_skid.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "collect/recorder.h"
#include "measure/bench.h"

#define ENOUGH	1000u  /* samples */
#define PERIOD	10007u /* loads */
#define CHUNK	4096u  /* iterations */
#define SECONDS 0.4    /* of CPU time for each level, at most */
#define TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_INTR)

struct seeing { /* what the recorder's thread fills */
	struct skid_seen seen[ENOUGH];
	size_t n;
	pthread_mutex_t lock;
	uint8_t head[64]; /* of a record that a run cut */
	size_t have, want;
};

bool validate_skid_fits(const struct validate_event *e)
{
	const struct validate_rule *r = validate_rule_of(e->name);

	if (e->absent || !r || r->kind != COUNTS_SUM || r->weight[Q_LOADS] != 1)
		return false;
	for (unsigned q = 0; q < QUANTITIES; q++)
		if (q != Q_LOADS && r->weight[q] != 0)
			return false;
	return true;
}

double validate_skid_time(const struct validate_skid_ask *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_events; i++)
		n += validate_skid_fits(&o->event[i]);
	return (double)n * VALIDATE_PRECISE * SECONDS;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void one_record(struct seeing *s)
{
	size_t size = s->want < sizeof(s->head) ? s->want : sizeof(s->head);
	struct skid_seen *x;

	if (ld32(s->head) != PERF_RECORD_SAMPLE || size < 32 || s->n == ENOUGH)
		return;
	x = &s->seen[s->n++];
	*x = (struct skid_seen){ .ip = ld64(s->head + 8), .addr = ld64(s->head + 16) };
	x->has_reg = ld64(s->head + 24) && size >= 40;
	if (x->has_reg)
		x->reg = ld64(s->head + 32);
}

static int on_data(void *ctx, const void *bytes, size_t len, struct err *err)
{
	struct seeing *s = ctx;
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

static size_t seen_so_far(struct seeing *s)
{
	size_t n;

	(void)pthread_mutex_lock(&s->lock);
	n = s->n;
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}

/* ---- a level --------------------------------------------------------------------------------- */

static const char *refusal(int code)
{
	return code == EOPNOTSUPP || code == ENOTSUP || code == EINVAL
		       ? "this event cannot be sampled so precisely here"
	       : code == EACCES || code == EPERM ? "not permitted"
						 : "the kernel refuses it";
}

/* Samples while the kernel runs; *why: it cannot. */
static int sample(struct seeing *s, const struct validate_event *e, unsigned precise,
		  const struct kernel_skid *k, const char **why, struct err *err)
{
	struct recorder_event event = { .attr = e->attr, .name = e->name };
	const struct recorder_sink sink = { on_data, on_round, NULL, s };
	const pid_t self = gettid();
	const struct recorder_setup setup = { .event = &event,
					      .n_events = 1,
					      .tasks = &self,
					      .n_tasks = 1,
					      .cgroup_fd = -1,
					      .ring_bytes = 65536,
					      .flush_ms = 10 };
	const struct kernel *skid = kernel_find("skid");
	const struct kernel_setup usual = { .bytes = 0 };
	struct kernel_work w;
	struct recorder *r = NULL;
	struct err refused = ERR_INIT;
	double end;
	int rc;

	event.attr.precise_ip = precise & 3;
	event.attr.sample_period = PERIOD;
	event.attr.freq = 0;
	event.attr.sample_type = TYPE;
	event.attr.sample_regs_intr = UINT64_C(1) << k->reg;
	event.attr.read_format = 0;
	event.attr.disabled = 1;
	event.attr.exclude_kernel = event.attr.exclude_hv = 1;
	if (recorder_open(&r, &setup, &refused)) {
		if (refused.code == ERR_NOMEM)
			return *err = refused, -1;
		*why = refusal(refused.sys_errno);
		return 0;
	}
	rc = kernel_prepare(&w, skid, &usual, err);
	if (!rc)
		rc = recorder_start(r, &sink, err);
	if (!rc)
		rc = recorder_enable(r, err);
	end = bench_now(CLOCK_THREAD_CPUTIME_ID) + SECONDS;
	while (!rc && seen_so_far(s) < ENOUGH && bench_now(CLOCK_THREAD_CPUTIME_ID) < end)
		skid->run(&w, CHUNK / w.round * w.round + w.round);
	if (!rc)
		rc = recorder_disable(r, err);
	if (!rc)
		rc = recorder_stop(r, err);
	kernel_release(&w);
	recorder_close(r);
	return rc;
}

static int one_level(struct validate_skid *out, struct seeing *s, const struct kernel_skid *k,
		     struct err *err)
{
	s->n = s->have = s->want = 0;
	if (sample(s, out->event, out->precise, k, &out->why, err))
		return -1;
	if (!out->why && !s->n)
		out->why = "no sample came";
	validate_skid_sum(out, k, s->seen, s->n);
	return 0;
}

int validate_skid(struct validate_skid **out, size_t *n, struct arena *a,
		  const struct validate_skid_ask *o, struct err *err)
{
	struct validate_skid *row =
		arena_alloc(a, (o->n_events * VALIDATE_PRECISE + 1) * sizeof(*row));
	struct seeing *s = arena_alloc(a, sizeof(*s));
	struct kernel_skid k;
	size_t events = 0, done = 0;
	int rc = 0;

	*n = 0;
	*out = row;
	if (!row || !s)
		return err_nomem(err);
	if (!kernel_skid_place(&k))
		return 0;
	*s = (struct seeing){ .n = 0, .lock = PTHREAD_MUTEX_INITIALIZER };
	for (size_t i = 0; i < o->n_events; i++)
		events += validate_skid_fits(&o->event[i]);
	for (size_t i = 0; !rc && i < o->n_events; i++) {
		if (!validate_skid_fits(&o->event[i]))
			continue;
		for (unsigned level = 0; !rc && level < VALIDATE_PRECISE; level++) {
			struct validate_skid *x = &row[(*n)++];

			*x = (struct validate_skid){ .event = &o->event[i], .precise = level };
			rc = one_level(x, s, &k, err);
			if (o->news &&
			    !o->news(o->ctx, (double)++done / (double)(events * VALIDATE_PRECISE)))
				return rc;
		}
	}
	return rc;
}
