/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/latency.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "collect/recorder.h"

#define HEADER	    8u
#define SAMPLE_SIZE 24u	   /* header, id, weight */
#define RING_BYTES  65536u /* 2730 samples */
#define PERIOD	    100003u

struct latency {
	struct recorder *recorder;
	size_t n_events;
	bool *refused;	 /* by event */
	uint32_t *event; /* of the recorder's: which of ours */
	uint64_t *id;
	uint32_t *of;
	pthread_mutex_t lock; /* of the parser's sums */
	struct latency_parser parser;
	bool running;
};

/* ---- samples ---- */

static void add_sample(struct latency_parser *p, uint64_t id, uint64_t weight)
{
	uint16_t cycles = (uint16_t)(weight >> 48);
	struct latency_sums *s = NULL;

	for (size_t i = 0; i < p->n_ids && !s; i++)
		if (p->id[i] == id)
			s = &p->sums[p->of[i]];
	if (!s) {
		p->unknown++;
		return;
	}
	if (!s->n || cycles < s->least)
		s->least = cycles;
	if (!s->n || cycles > s->most)
		s->most = cycles;
	s->n++;
	s->nonzero += cycles > 0;
	s->sum += cycles;
	s->squares += (double)cycles * cycles;
}

/* A whole record, or the first bytes of a long one. */
static void one_record(struct latency_parser *p, size_t size)
{
	uint32_t type = ld32(p->head);

	if (type == PERF_RECORD_LOST && size >= 24)
		p->lost += ld64(p->head + 16);
	if (type != PERF_RECORD_SAMPLE)
		return;
	if (size >= SAMPLE_SIZE)
		add_sample(p, ld64(p->head + 8), ld64(p->head + 16));
	else
		p->unknown++;
}

void latency_parse(struct latency_parser *p, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;

	while (len) {
		size_t keep, take = (p->want ? p->want : HEADER) - p->have;

		take = take < len ? take : len;
		keep = p->have < sizeof(p->head) ? sizeof(p->head) - p->have : 0;
		if (keep)
			memcpy(p->head + p->have, b, keep < take ? keep : take);
		p->have += take;
		b += take;
		len -= take;
		if (!p->want && p->have == HEADER) {
			p->want = ld16(p->head + 6);
			/* a record is at least its header: else the ring is not what we think */
			p->want = p->want < HEADER ? HEADER : p->want;
		}
		if (p->want && p->have == p->want) {
			one_record(p, p->want);
			p->have = p->want = 0;
		}
	}
}

void latency_value_of(const struct latency_sums *s, struct latency_value *out)
{
	double n = (double)s->n, var;

	*out = (struct latency_value){
		.n = s->n, .least = s->least, .most = s->most, .mean = NAN, .se = NAN
	};
	if (s->n < LATENCY_FEW || !s->nonzero)
		return;
	out->mean = s->sum / n;
	var = (s->squares - s->sum * s->sum / n) / (n - 1);
	out->se = sqrt((var > 0 ? var : 0) / n);
}

static int on_data(void *ctx, const void *bytes, size_t len, struct err *err)
{
	struct latency *l = ctx;

	(void)err;
	(void)pthread_mutex_lock(&l->lock);
	latency_parse(&l->parser, bytes, len);
	(void)pthread_mutex_unlock(&l->lock);
	return 0;
}

static int on_round(void *ctx, struct err *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

/* ---- counters ---- */

static void make_attr(struct recorder_event *out, const struct latency_event *e,
		      const struct latency_setup *s)
{
	struct perf_event_attr *a = &out->attr;

	*a = e->attr;
	a->size = sizeof(*a);
	a->sample_period = e->period ? e->period : PERIOD;
	a->freq = 0;
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_WEIGHT_STRUCT;
	a->read_format = 0;
	a->disabled = 1;
	a->inherit = s->inherit;
	a->enable_on_exec = s->enable_on_exec;
	if (!a->precise_ip && a->type != PERF_TYPE_SOFTWARE)
		a->precise_ip = 1; /* only these samples have it */
	a->wakeup_events = 0;
	a->watermark = 1;
	a->wakeup_watermark = RING_BYTES / 2;
	out->cpus = e->cpus;
	out->n_cpus = e->n_cpus;
	out->name = e->name;
}

/* Whether the kernel takes it at the first place where it counts. */
static bool can_sample(const struct recorder_event *e, const struct latency_setup *s)
{
	pid_t task = s->cgroup_fd >= 0 ? s->cgroup_fd : s->tasks ? s->tasks[0] : -1;
	int cpu = !s->cpus ? -1 : e->cpus && e->n_cpus ? (int)e->cpus[0] : (int)s->cpus[0];
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	long fd;

	if (s->cgroup_fd >= 0)
		flags |= PERF_FLAG_PID_CGROUP;
	fd = syscall(SYS_perf_event_open, &e->attr, task, cpu, -1, flags);
	if (fd >= 0)
		(void)close((int)fd);
	return fd >= 0 || errno == ESRCH || errno == EMFILE;
}

static int list_ids(struct latency *l, size_t n_open, struct err *err)
{
	size_t n, all = 0, at = 0;

	for (size_t i = 0; i < n_open; i++) {
		(void)recorder_ids(l->recorder, i, &n);
		all += n;
	}
	l->id = calloc(all + 1, sizeof(*l->id));
	l->of = calloc(all + 1, sizeof(*l->of));
	if (!l->id || !l->of)
		return err_nomem(err);
	for (size_t i = 0; i < n_open; i++) {
		const uint64_t *id = recorder_ids(l->recorder, i, &n);

		for (size_t k = 0; k < n; k++) {
			l->id[at] = id[k];
			l->of[at++] = l->event[i];
		}
	}
	l->parser.id = l->id;
	l->parser.of = l->of;
	l->parser.n_ids = all;
	return 0;
}

static int open_recorder(struct latency *l, const struct latency_setup *s, struct err *err)
{
	struct recorder_event *event = calloc(s->n_events + 1, sizeof(*event));
	const struct recorder_sink sink = { on_data, on_round, NULL, l };
	struct recorder_setup r = { .event = event,
				    .cpus = s->cpus,
				    .n_cpus = s->n_cpus,
				    .tasks = s->tasks,
				    .n_tasks = s->n_tasks,
				    .cgroup_fd = s->cgroup_fd,
				    .ring_bytes = RING_BYTES };
	int rc = -1;

	if (!event)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_events; i++) {
		struct recorder_event *e = &event[r.n_events];

		make_attr(e, &s->event[i], s);
		e->group = (int)r.n_events;
		l->refused[i] = !can_sample(e, s);
		if (!l->refused[i])
			l->event[r.n_events++] = (uint32_t)i;
	}
	if (r.n_events && (recorder_open(&l->recorder, &r, err) || list_ids(l, r.n_events, err) ||
			   recorder_start(l->recorder, &sink, err)))
		goto out;
	l->running = r.n_events > 0;
	rc = 0;
out:
	free(event);
	return rc;
}

int latency_open(struct latency **out, const struct latency_setup *setup, struct err *err)
{
	struct latency *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return err_nomem(err);
	(void)pthread_mutex_init(&l->lock, NULL);
	l->n_events = setup->n_events;
	l->refused = calloc(setup->n_events + 1, sizeof(*l->refused));
	l->event = calloc(setup->n_events + 1, sizeof(*l->event));
	l->parser.sums = calloc(setup->n_events + 1, sizeof(*l->parser.sums));
	if (!l->refused || !l->event || !l->parser.sums) {
		(void)err_nomem(err);
		goto fail;
	}
	if (open_recorder(l, setup, err))
		goto fail;
	*out = l;
	return 0;
fail:
	latency_close(l);
	return -1;
}

int latency_enable(struct latency *l, bool on, struct err *err)
{
	if (!l->recorder)
		return 0;
	return on ? recorder_enable(l->recorder, err) : recorder_disable(l->recorder, err);
}

void latency_read(struct latency *l, struct latency_value *out)
{
	(void)pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n_events; i++) {
		latency_value_of(&l->parser.sums[i], &out[i]);
		out[i].refused = l->refused[i];
	}
	(void)pthread_mutex_unlock(&l->lock);
}

int latency_stop(struct latency *l, struct err *err)
{
	if (!l->running)
		return 0;
	l->running = false;
	return recorder_stop(l->recorder, err);
}

void latency_close(struct latency *l)
{
	if (!l)
		return;
	if (l->recorder)
		recorder_close(l->recorder);
	(void)pthread_mutex_destroy(&l->lock);
	free(l->parser.sums);
	free(l->refused);
	free(l->event);
	free(l->id);
	free(l->of);
	free(l);
}
