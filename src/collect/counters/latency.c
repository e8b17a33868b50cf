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
#include "base/estimate.h"
#include "collect/recorder.h"

#define HEADER	    8u
#define SAMPLE_SIZE 24u	   /* header, id, weight */
#define RING_BYTES  65536u /* 2730 samples */
#define PERIOD	    100003u
#define FLUSH_MS    50u /* a round; errors come from the spread of rounds */

struct latency {
	struct recorder *recorder;
	size_t n_events;
	int *refused;	 /* by event: errno, or 0 */
	uint32_t *at;	 /* by event: which of the recorder's, or UINT32_MAX */
	uint32_t *event; /* of the recorder's: which of ours */
	uint32_t *group; /* by event */
	bool *leads;	 /* by event: it is switched, and with it those it leads */
	uint64_t *id;
	uint32_t *of;
	pthread_mutex_t lock; /* of the parser's sums */
	struct latency_parser parser;
	bool running;
};

/* ---- samples ---- */

static void add_weight(struct latency_parser *p, uint64_t id, uint64_t weight)
{
	uint16_t cycles = (uint16_t)(weight >> 48);
	struct latency_sums *s;
	size_t low = 0, high = p->n_ids;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->id[mid] < id)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == p->n_ids || p->id[low] != id) {
		p->unknown++;
		return;
	}
	s = &p->sums[p->of[low]];
	if (!s->n || cycles < s->least)
		s->least = cycles;
	if (!s->n || cycles > s->most)
		s->most = cycles;
	s->n++;
	s->nonzero += cycles > 0;
	s->sum += cycles;
	s->squares += (double)cycles * cycles;
	s->round_n++;
	s->round_sum += cycles;
}

/* A whole record, or the first bytes of a long one. */
static void parse_latency_record(struct latency_parser *p, size_t size)
{
	uint32_t type = ld32(p->head);

	if (type == PERF_RECORD_LOST && size >= 24)
		p->lost += ld64(p->head + 16);
	if (type != PERF_RECORD_SAMPLE)
		return;
	if (size >= SAMPLE_SIZE)
		add_weight(p, ld64(p->head + 8), ld64(p->head + 16));
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
			/* a record is at least its header: else the ring is of another kind */
			p->want = p->want < HEADER ? HEADER : p->want;
		}
		if (p->want && p->have == p->want) {
			parse_latency_record(p, p->want);
			p->have = p->want = 0;
		}
	}
}

void latency_round(struct latency_sums *s)
{
	double n = (double)s->round_n;

	if (!s->round_n)
		return;
	s->rounds++;
	s->nn += n * n;
	s->ns += n * s->round_sum;
	s->ss += s->round_sum * s->round_sum;
	s->round_n = 0;
	s->round_sum = 0;
}

void latency_add(struct latency_sums *to, const struct latency_sums *more)
{
	if (more->n && (!to->n || more->least < to->least))
		to->least = more->least;
	if (more->most > to->most)
		to->most = more->most;
	to->n += more->n;
	to->nonzero += more->nonzero;
	to->sum += more->sum;
	to->squares += more->squares;
	to->rounds += more->rounds;
	to->nn += more->nn;
	to->ns += more->ns;
	to->ss += more->ss;
	to->round_n += more->round_n;
	to->round_sum += more->round_sum;
}

void latency_since(struct latency_sums *s, const struct latency_sums *earlier)
{
	s->n -= earlier->n;
	s->nonzero -= earlier->nonzero;
	s->sum -= earlier->sum;
	s->squares -= earlier->squares;
	s->rounds -= earlier->rounds;
	s->nn -= earlier->nn;
	s->ns -= earlier->ns;
	s->ss -= earlier->ss;
}

void latency_value_of(const struct latency_sums *sums, struct latency_value *out)
{
	struct latency_sums s = *sums;
	double n = (double)s.n, var, rounds;

	*out = (struct latency_value){
		.n = s.n, .least = s.least, .most = s.most, .mean = NAN, .se = NAN
	};
	out->silent = s.n >= LATENCY_FEW && !s.nonzero;
	if (s.n < LATENCY_FEW || !s.nonzero)
		return;
	latency_round(&s);
	out->mean = s.sum / n;
	var = (s.squares - s.sum * s.sum / n) / (n - 1);
	var = (var > 0 ? var : 0) / n;
	if (s.rounds >= LATENCY_FEW_ROUNDS) {
		rounds = (double)s.rounds;
		rounds = rounds / (rounds - 1) *
			 (s.ss - 2 * out->mean * s.ns + out->mean * out->mean * s.nn) / (n * n);
		var = rounds > var ? rounds : var;
	}
	/* whose 95 % are Z95 of it: latencies are skewed */
	out->se = var > 0 ? sqrt(var) * skewed95(s.n, sqrt(var) / out->mean) / Z95 : 0;
}

static int on_latency_data(void *ctx, const void *bytes, size_t len, struct err *err)
{
	struct latency *l = ctx;

	(void)err;
	(void)pthread_mutex_lock(&l->lock);
	latency_parse(&l->parser, bytes, len);
	(void)pthread_mutex_unlock(&l->lock);
	return 0;
}

static int on_latency_round(void *ctx, struct err *err)
{
	struct latency *l = ctx;

	(void)err;
	(void)pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n_events; i++)
		latency_round(&l->parser.sums[i]);
	(void)pthread_mutex_unlock(&l->lock);
	return 0;
}

/* ---- counters ---- */

static void make_latency_attr(struct recorder_event *out, const struct latency_event *e,
			      const struct latency_setup *s, bool leads)
{
	struct perf_event_attr *a = &out->attr;

	*a = e->attr;
	a->size = sizeof(*a);
	a->sample_period = e->period ? e->period : PERIOD;
	a->freq = 0;
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_WEIGHT_STRUCT;
	a->read_format = 0;
	a->disabled = leads;
	a->inherit = s->inherit;
	a->enable_on_exec = leads && s->enable_on_exec && e->on;
	if (!a->precise_ip && a->type != PERF_TYPE_SOFTWARE)
		a->precise_ip = 1; /* only these samples have it */
	a->wakeup_events = 0;
	a->watermark = 1;
	a->wakeup_watermark = RING_BYTES / 2;
	out->cpus = e->cpus;
	out->n_cpus = e->n_cpus;
	out->name = e->name;
}

/* Whether the kernel takes it at the first place where it counts: 0, or why not. */
static int can_sample_latency(const struct recorder_event *e, const struct latency_setup *s)
{
	pid_t task = s->cgroup_fd >= 0 ? s->cgroup_fd : s->tasks ? s->tasks[0] : -1;
	int cpu = !s->cpus ? -1 : e->cpus && e->n_cpus ? (int)e->cpus[0] : (int)s->cpus[0];
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	long fd;

	if (s->cgroup_fd >= 0)
		flags |= PERF_FLAG_PID_CGROUP;
	fd = syscall(SYS_perf_event_open, &e->attr, task, cpu, -1, flags);
	if (fd < 0)
		return errno == ESRCH || errno == EMFILE ? 0 : errno;
	(void)close((int)fd);
	return 0;
}

struct id_of {
	uint64_t id;
	uint32_t event;
};

static int latency_by_id(const void *a, const void *b)
{
	const struct id_of *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int list_ids(struct latency *l, size_t n_open, struct err *err)
{
	struct id_of *list;
	size_t n, all = 0, at = 0;

	for (size_t i = 0; i < n_open; i++) {
		(void)recorder_ids(l->recorder, i, &n);
		all += n;
	}
	list = calloc(all + 1, sizeof(*list));
	l->id = calloc(all + 1, sizeof(*l->id));
	l->of = calloc(all + 1, sizeof(*l->of));
	if (!list || !l->id || !l->of) {
		free(list);
		return err_nomem(err);
	}
	for (size_t i = 0; i < n_open; i++) {
		const uint64_t *id = recorder_ids(l->recorder, i, &n);

		for (size_t k = 0; k < n; k++)
			list[at++] = (struct id_of){ id[k], l->event[i] };
	}
	qsort(list, all, sizeof(*list), latency_by_id);
	for (size_t i = 0; i < all; i++) {
		l->id[i] = list[i].id;
		l->of[i] = list[i].event;
	}
	free(list);
	l->parser.id = l->id;
	l->parser.of = l->of;
	l->parser.n_ids = all;
	return 0;
}

/* The events that the kernel takes one by one, in their groups if `grouped`; the first of a group
 * that is taken leads it. Returns how many. */
static size_t choose_latency_events(struct latency *l, const struct latency_setup *s,
				    struct recorder_event *event, bool grouped)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_events; i++) {
		const struct latency_event *e = &s->event[i];
		uint32_t leader = UINT32_MAX;

		for (size_t k = e->group; k < i && grouped && leader == UINT32_MAX; k++)
			if (s->event[k].group == e->group)
				leader = l->at[k];
		make_latency_attr(&event[n], e, s, true);
		l->refused[i] = can_sample_latency(&event[n], s);
		l->at[i] = UINT32_MAX;
		l->leads[i] = false;
		if (l->refused[i])
			continue;
		l->leads[i] = leader == UINT32_MAX;
		if (!l->leads[i])
			make_latency_attr(&event[n], e, s, false);
		event[n].group = (int)(leader != UINT32_MAX ? leader : n);
		l->at[i] = (uint32_t)n;
		l->event[n++] = (uint32_t)i;
	}
	return n;
}

static int open_recorder(struct latency *l, const struct latency_setup *s, struct err *err)
{
	struct recorder_event *event = calloc(s->n_events + 1, sizeof(*event));
	const struct recorder_sink sink = { .data = on_latency_data,
					    .round = on_latency_round,
					    .ctx = l };
	struct recorder_setup r = { .event = event,
				    .cpus = s->cpus,
				    .n_cpus = s->n_cpus,
				    .tasks = s->tasks,
				    .n_tasks = s->n_tasks,
				    .cgroup_fd = s->cgroup_fd,
				    .ring_bytes = RING_BYTES,
				    .flush_ms = FLUSH_MS };
	int rc = -1;

	if (!event)
		return err_nomem(err);
	r.n_events = choose_latency_events(l, s, event, true);
	if (r.n_events && recorder_open(&l->recorder, &r, NULL)) {
		/* a group that is too big here: then each for itself */
		r.n_events = choose_latency_events(l, s, event, false);
		if (recorder_open(&l->recorder, &r, err))
			goto out;
	}
	if (r.n_events && (list_ids(l, r.n_events, err) || recorder_start(l->recorder, &sink, err)))
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
	l->at = calloc(setup->n_events + 1, sizeof(*l->at));
	l->event = calloc(setup->n_events + 1, sizeof(*l->event));
	l->group = calloc(setup->n_events + 1, sizeof(*l->group));
	l->leads = calloc(setup->n_events + 1, sizeof(*l->leads));
	l->parser.sums = calloc(setup->n_events + 1, sizeof(*l->parser.sums));
	if (!l->refused || !l->at || !l->event || !l->group || !l->leads || !l->parser.sums) {
		(void)err_nomem(err);
		goto fail;
	}
	for (size_t i = 0; i < setup->n_events; i++)
		l->group[i] = setup->event[i].group;
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

/* A group that had to be taken apart has several leaders. */
int latency_switch(struct latency *l, size_t event, bool on, struct err *err)
{
	for (size_t i = event; l->recorder && i < l->n_events; i++)
		if (l->group[i] == l->group[event] && l->leads[i] &&
		    recorder_switch(l->recorder, l->at[i], on, err))
			return -1;
	return 0;
}

void latency_read(struct latency *l, struct latency_sums *out)
{
	(void)pthread_mutex_lock(&l->lock);
	memcpy(out, l->parser.sums, l->n_events * sizeof(*out));
	(void)pthread_mutex_unlock(&l->lock);
}

int latency_refused(const struct latency *l, size_t event)
{
	return l->refused[event];
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
	free(l->at);
	free(l->group);
	free(l->leads);
	free(l->event);
	free(l->id);
	free(l->of);
	free(l);
}
