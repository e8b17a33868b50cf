/* SPDX-License-Identifier: BSD-3-Clause */
#include "monitor/monitor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "collect/sysfs.h"
#include "measure/event_more.h"
#include "monitor/monitor_int.h"

#define ONLINE "sys/devices/system/cpu/online"

static int read_turns(void *ctx, struct counting *k, struct err *err)
{
	(void)k;
	return monitor_read(ctx, READING_TURN, err);
}

static uint64_t ns_to_turn(void *ctx)
{
	return monitor_tick(ctx);
}

static int prepare_monitor(struct monitor *m, struct err *err)
{
	const struct counting_reader reader = { .read = read_turns, .tick = ns_to_turn, .ctx = m };

	return counting_prepare(&m->k, &m->setup, &reader, err) || monitor_opened(m, err) ? -1 : 0;
}

/* A CPU is online that was not. */
static bool cpus_came(const struct monitor *m)
{
	struct arena a = ARENA_INIT;
	const uint32_t *now;
	char text[4096];
	size_t n;
	bool came = false;
	ssize_t len = sys_read(text, sizeof(text), m->k.root, ONLINE);

	if (!m->opts->opts->cpu && len > 0 && !cpu_list_parse(&a, text, (size_t)len, &now, &n))
		for (size_t i = 0; i < n; i++)
			came |= !cpu_list_has(m->k.who.cpus.v, m->k.who.cpus.n, now[i]);
	arena_free(&a);
	return came;
}

/* Groups never came to their turn that did when they were made: less is free than they need. Once
 * for each that is without, since groups made anew may not help it. */
static bool counters_went(struct monitor *m)
{
	bool went = !m->msr && m->never > m->rows->starved;

	m->rows->starved = m->never;
	return went;
}

static void leave_document(struct monitor *m, bool again)
{
	if (!m->is_shown)
		return;
	if (m->opts->over)
		m->opts->over(m->opts->ctx, again);
	document_close(&m->shown);
	m->is_shown = false;
}

static int end_monitor_interval(struct monitor *m, struct err *err)
{
	struct counting *k = &m->k;
	int rc;

	if (k->now <= m->began) /* the end came with an interval's */
		return 0;
	leave_document(m, false);
	if (monitor_interval(m, err))
		return -1;
	document_open(&m->shown, &monitor_document, m);
	m->is_shown = true;
	monitor_put(&m->shown, m);
	rc = m->opts->each(m->opts->ctx, &m->shown, &k->enough, err);
	if (!rc && !k->enough && (cpus_came(m) || counters_went(m)))
		k->enough = m->again = true;
	return rc;
}

static void close_all(struct monitor *m)
{
	for (size_t i = 0; i < PLACES; i++) {
		vec_free(&m->of[i].place);
		vec_free(&m->of[i].column);
	}
	monitor_cgroup_end(m);
	vec_free(&m->source);
	vec_free(&m->input);
	vec_free(&m->metric);
	vec_free(&m->renamed);
	vec_free(&m->group);
	vec_free(&m->turns);
	event_list_free(&m->list);
	event_more_free(&m->more);
	msr_close(m->msr);
	counting_close(&m->k);
	arena_free(&m->own);
}

static int open_msr(struct monitor *m, struct err *err)
{
	if (msr_open(&m->msr, m->a, m->k.root, &m->k.machine, m->k.who.cpus.v, m->k.who.cpus.n,
		     err) ||
	    msr_pmus(m->msr, &m->list, err))
		return -1;
	m->setup.backend = &counter_msr;
	m->setup.backend_ctx = m->msr;
	return 0;
}

/* All but the counters themselves; close_all() is due after a failure too. */
static int begin_monitor(struct monitor *m, const struct monitor_opts *opts, struct rows *rows,
			 struct err *err)
{
	*m = (struct monitor){
		.opts = opts, .rows = rows, .own = ARENA_INIT, .list = EVENT_LIST_INIT
	};
	m->a = &m->own;
	if (counting_open(&m->k, opts->opts, "monitor",
			  MACHINE_MODEL | MACHINE_TOPOLOGY | MACHINE_PMUS | MACHINE_KNOBS, err) ||
	    monitor_kinds(m, err))
		return -1;
	m->list.more = event_more(&m->more, &opts->opts->model);
	if (opts->backend == MONITOR_MSR && open_msr(m, err))
		return -1;
	return monitor_places(m, err) || monitor_set(m, err) ? -1 : 0;
}

enum end { END_FAILED, END_NOT_BEGUN, END_DONE, END_AGAIN };

static int count_intervals(struct monitor *m, struct err *err)
{
	enum counting_event what = COUNTING_SO_FAR;
	int rc = prepare_monitor(m, err);

	while (!rc && what != COUNTING_OVER) {
		rc = counting_next(&m->k, &what, err);
		if (!rc && what == COUNTING_INTERVAL)
			rc = end_monitor_interval(m, err);
	}
	return counting_finish(&m->k, rc, err);
}

/* From opening to closing all counters; not begun: rows, or the machine, are not as they should. */
static enum end run_monitor(const struct monitor_opts *opts, struct rows *rows, struct err *err)
{
	struct monitor m;
	enum end end = END_NOT_BEGUN;

	if (!begin_monitor(&m, opts, rows, err)) {
		end = count_intervals(&m, err) ? END_FAILED : END_DONE;
		if (end == END_DONE && (m.again || (opts->rereads && m.k.result.signal == SIGHUP)))
			end = END_AGAIN;
		leave_document(&m, end == END_AGAIN);
	}
	close_all(&m);
	return end;
}

static void rows_free(struct rows *r)
{
	for (size_t k = 0; k < r->n_kinds; k++)
		model_free(r->kind[k].model);
	arena_free(&r->a);
	*r = (struct rows){ .a = ARENA_INIT, .born = r->born };
}

/* `opts` with the rest of --for; false: no time is left. */
static bool time_left(const struct measure_opts *all, struct measure_opts *now, uint64_t began)
{
	uint64_t past = counting_clock() - began;

	if (!all->for_time)
		return true;
	now->for_time = all->for_time > past ? all->for_time - past : 0;
	return now->for_time;
}

int monitor_run(const struct monitor_opts *opts, struct err *err)
{
	uint64_t began = counting_clock();
	struct rows good = { .a = ARENA_INIT, .born = began }, fresh = good;
	struct measure_opts left = *opts->opts;
	struct monitor_opts now = *opts;
	enum end end = run_monitor(&now, &good, err);

	now.opts = &left;
	fresh.starved = good.starved;
	while (end == END_AGAIN && time_left(opts->opts, &left, began)) {
		struct err why = ERR_INIT;

		end = run_monitor(&now, &fresh, &why);
		if (end == END_NOT_BEGUN && good.read) {
			if (opts->said)
				opts->said(opts->ctx, why.what);
			rows_free(&fresh);
			end = run_monitor(&now, &good, err);
			continue;
		}
		if (end == END_FAILED || end == END_NOT_BEGUN)
			*err = why;
		rows_free(&good);
		good = fresh;
		fresh = (struct rows){ .a = ARENA_INIT, .born = began, .starved = good.starved };
	}
	rows_free(&good);
	rows_free(&fresh);
	return end == END_FAILED || end == END_NOT_BEGUN ? -1 : 0;
}

/* ---- in a loop of the caller's --------------------------------------------------------------- */

struct monitor_own {
	struct monitor m; /* first */
	struct rows rows;
};

static int start_counting(struct monitor *m, struct err *err)
{
	struct counting *k = &m->k;

	k->start = k->now = counting_clock();
	k->counting = true;
	for (size_t g = 0; k->c && g < k->setup->n_groups; g++)
		if (k->on[g] && counters_enable(k->c, g, true, err))
			return -1;
	return 0;
}

int monitor_open(struct monitor **out, const struct monitor_opts *opts, struct err *err)
{
	struct monitor_own *o = calloc(1, sizeof(*o));

	*out = NULL;
	if (!o)
		return err_nomem(err);
	o->rows = (struct rows){ .a = ARENA_INIT, .born = counting_clock() };
	if (!begin_monitor(&o->m, opts, &o->rows, err) && !prepare_monitor(&o->m, err) &&
	    !start_counting(&o->m, err)) {
		*out = &o->m;
		return 0;
	}
	monitor_close(&o->m);
	return -1;
}

int monitor_turn(struct monitor *m, struct err *err)
{
	m->k.now = counting_clock();
	return monitor_read(m, READING_TURN, err);
}

int monitor_take(struct monitor *m, struct document *d, struct err *err)
{
	document_open(d, &monitor_document, m);
	if (monitor_turn(m, err) || monitor_interval(m, err))
		return -1;
	monitor_put(d, m);
	return d->failed ? err_nomem(err) : 0;
}

void monitor_close(struct monitor *m)
{
	struct monitor_own *o = (struct monitor_own *)m;

	if (!m)
		return;
	counting_end(&m->k);
	close_all(m);
	rows_free(&o->rows);
	free(o);
}
