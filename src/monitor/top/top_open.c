/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening, the loop, and the parts of an interval.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "collect/attr.h"
#include "collect/synth.h"
#include "monitor/top/top_int.h"

/* CPU seconds of this process, its threads together. */
static double own_seconds(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u))
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double wall(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static void begin_interval(struct top *t, uint64_t now)
{
	t->began = now;
	t->next = now + t->interval_ns;
	t->own_s = own_seconds();
}

static int end_interval(struct top *t, struct err *err)
{
	struct arena *a = &t->a[!t->at];
	struct top_interval now = { .number = t->now.number + 1,
				    .seconds = (double)(t->k->now - t->began) / 1e9,
				    .wall = wall(),
				    .own = (own_seconds() - t->own_s) /
					   ((double)(t->k->now - t->began) / 1e9) };

	if (top_records_take(&t->records, t->held, err))
		return -1;
	if (t->held) {
		begin_interval(t, t->k->now);
		return 0;
	}
	t->from = t->began - t->k->start;
	t->to = t->k->now - t->k->start;
	begin_interval(t, t->k->now);
	t->at = !t->at;
	arena_reset(a);
	now.samples = t->records.last.samples;
	now.lost = t->records.last.lost;
	now.throttled = t->records.last.throttled;
	now.dropped = t->records.last.dropped;
	t->now = now;
	if ((t->sampling && top_functions(t, a, err)) || top_processes(t, a, err) ||
	    top_machine(t, a, err))
		return -1;
	return t->opts.each(t->opts.ctx, t, err);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* When there is something to do: an interval ends, or counters of the machine take turns. */
static uint64_t next_due(const struct top *t)
{
	uint64_t now = counting_clock(), turn = top_machine_tick(t, now);
	uint64_t left = t->next > now ? t->next - now : 1;

	/* without an interval at once: it begins when counting does */
	return !t->began ? now : now + (turn < left ? turn : left);
}

static int on_due(struct top *t, struct err *err)
{
	struct counting *k = t->k;

	if (!t->began)
		begin_interval(t, k->now);
	top_machine_turn(t, k->now);
	return k->now >= t->next && !t->ends && !k->stopped ? end_interval(t, err) : 0;
}

int top_run(struct top *t, struct err *err)
{
	enum counting_event what = COUNTING_SO_FAR;
	int rc = t->sampling ? 0 : counting_prepare(&t->own, NULL, NULL, err);

	t->k->wake = t->wake;
	while (!rc && what != COUNTING_OVER) {
		t->k->due = next_due(t);
		rc = t->sampling ? sampling_next(t->sampling, &what, err)
				 : counting_next(&t->own, &what, err);
		if (!rc && what == COUNTING_DUE)
			rc = on_due(t, err);
		if (!rc && what == COUNTING_WOKEN && t->opts.woken)
			rc = t->opts.woken(t->opts.ctx, t, err);
		t->k->enough |= t->ends;
	}
	if (!t->sampling)
		counting_end(&t->own);
	return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int round_over(void *ctx, struct err *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

static int put_kernel(void *ctx, const void *record, size_t len, struct err *err)
{
	struct top_records *r = ctx;

	buf_put(&r->kernel, record, len);
	return buf_error(&r->kernel, err);
}

static int open_records(struct top *t, struct err *err)
{
	struct top_records *r = &t->records;
	const struct perf_event_attr *attr = NULL;
	struct synth s = { .put = put_kernel, .ctx = r, .trailer = sampling_trailer(t->sampling) };

	(void)sampling_event(t->sampling, 0, &attr);
	r->event.attr = *attr;
	pd_event_layout(&r->event);
	r->trailer = s.trailer;
	if (!attr->exclude_kernel && synth_kernel(&s, err))
		return -1;
	return sampling_head(t->sampling, &r->head, err);
}

/* The event that samples time has no samples while nothing runs. */
static int choose_top_event(struct top *t, struct err *err)
{
	static const char *const clock[] = { "cpu-clock:I", NULL };
	struct event_list list = EVENT_LIST_INIT;
	int rc = 0;

	if (t->sampled.event.n)
		return 0;
	rc = event_default(&list, t->sampled.root, t->no_cycles, err);
	event_list_free(&list);
	if (!rc && *t->no_cycles)
		t->sampled.event = (struct text_list){ (const char **)(uintptr_t)clock, 1 };
	return rc;
}

/* Processes have their figures all the same. */
static int open_without(struct top *t, const struct err *why, struct err *err)
{
	if (why->code == ERR_NOMEM || why->code == ERR_USAGE || why->code == ERR_NOT_FOUND) {
		*err = *why;
		return -1;
	}
	(void)snprintf(t->no_samples, sizeof(t->no_samples), "%.250s", why->what);
	t->sampled.all = true;
	t->sampled.uid = NULL;
	t->sampled.event.n = 0;
	t->k = &t->own;
	t->own_open = true;
	return counting_open(&t->own, &t->sampled, "sample", MACHINE_ALL, err);
}

bool top_may_watch_all(void)
{
	const struct attr_place at = { .task = -1, .cpu = 0, .group_fd = -1 };
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.disabled = 1 };
	unsigned given_up;

	return !attr_fit(&attr, &at, &given_up, NULL, NULL);
}

int top_open(struct top **out, const struct top_opts *opts, struct err *err)
{
	struct top *t = calloc(1, sizeof(*t));
	struct err why = ERR_INIT;

	*out = NULL;
	if (!t)
		return err_nomem(err);
	t->opts = *opts;
	t->sampled = *opts->opts;
	t->sampled.interval = 0; /* ours can change */
	t->sampled.clockid = "mono";
	t->interval_ns = opts->opts->interval;
	t->wake = -1;
	t->before_none = NAN;
	(void)pthread_mutex_init(&t->records.lock, NULL);
	t->sink = (struct recorder_sink){ .data = top_record,
					  .round = round_over,
					  .ctx = &t->records };
	if (choose_top_event(t, err))
		goto fail;
	t->sampled.tree &= !*t->no_cycles;
	if (sampling_open(&t->sampling, &t->sampled, NULL, &t->sink, &why) ||
	    sampling_prepare(t->sampling, &why)) {
		sampling_close(t->sampling);
		t->sampling = NULL;
		if (open_without(t, &why, err))
			goto fail;
	} else {
		t->k = sampling_counting(t->sampling);
		if (open_records(t, err))
			goto fail;
	}
	top_machine_open(t);
	*out = t;
	return 0;
fail:
	top_close(t);
	return -1;
}

void top_wake(struct top *t, int fd)
{
	t->wake = fd;
}

struct sampling *top_sampling(const struct top *t)
{
	return t->sampling;
}

void top_close(struct top *t)
{
	if (!t)
		return;
	top_machine_close(t); /* it blocks signals as the other does, which was first */
	sampling_close(t->sampling);
	if (t->own_open)
		counting_close(&t->own);
	top_records_free(&t->records);
	images_free(t->images);
	top_ran_clear(t);
	vec_free(&t->ran);
	vec_free(&t->before);
	vec_each (&t->seen, struct top_seen *, s)
		free(s->cgroup);
	vec_free(&t->seen);
	vec_free(&t->thread);
	u64map_free(&t->seen_at);
	u64map_free(&t->switched);
	arena_free(&t->a[0]);
	arena_free(&t->a[1]);
	free(t);
}

/* ---- questions meanwhile --------------------------------------------------------------------- */

void top_end(struct top *t)
{
	t->ends = true;
}

const struct top_interval *top_interval(const struct top *t)
{
	return &t->now;
}

void top_span(const struct top *t, uint64_t *from, uint64_t *to)
{
	*from = t->from;
	*to = t->to;
}

/* The one that runs ends as it would have. */
void top_set_interval(struct top *t, uint64_t ns)
{
	t->interval_ns = ns;
	if (t->began)
		t->next = t->began + ns;
}

void top_hold(struct top *t, bool on)
{
	t->held = on;
}

int top_save(struct top *t, const char *path, uint64_t *samples, struct err *err)
{
	*samples = t->records.last.samples;
	if (!t->sampling)
		return err_set(err, ERR_UNSUPPORTED, "nothing was sampled: %s", t->no_samples);
	if (!t->now.number)
		return err_set(err, ERR_NOT_FOUND, "no interval has ended yet");
	return top_records_join(&t->records, false, err) ||
			       sampling_save(t->sampling, path, &t->records.whole, err)
		       ? -1
		       : 0;
}

const char *top_event(const struct top *t)
{
	return t->sampling ? sampling_result(t->sampling)->event : NULL;
}

const char *top_no_cycles(const struct top *t)
{
	return t->no_cycles;
}

const char *top_no_samples(const struct top *t)
{
	return t->no_samples;
}

const char *top_no_machine(const struct top *t)
{
	return t->no_machine;
}

bool top_whole(const struct top *t)
{
	return t->k->who.whole_cpus;
}

bool top_user_only(const struct top *t)
{
	return t->sampling && sampling_result(t->sampling)->user_only;
}

size_t top_cpus(const struct top *t)
{
	return t->k->who.cpus.n;
}
