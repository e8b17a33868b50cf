/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks are read in parallel. In each, the times of a counter (an id; with threads' own counters
 * an id and a thread) are kept when they have grown by a part of a window, and at its first and
 * last sample in the chunk. These points, few, are then put together in the order of time: the
 * growth from one to the next goes to the window of its stream, an event on a CPU or of a thread.
 */
#include "analyse/pass/mux_int.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "analyse/itab.h"
#include "base/bisect.h"
#include "base/hash.h"
#include "base/invariant.h"
#include "base/perf_abi.h"
#include "base/sort.h"
#include "base/vec.h"

#define POINT_STEP (MUX_WINDOW / 8)
#define JITTER	   10000000u /* ns by which a task's times differ from CPU to CPU */
#define SLACK	   1.02	     /* running over enabled, of counters that follow tasks */

#define PAUSED_MOST 0.95 /* of a window: something was sampled in it */
#define NO_KIND	    UINT32_MAX

#define TOLD (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct point {
	uint64_t id, enabled, running, time;
	uint32_t tid, cpu, event;
};

/* A counter as a chunk knows it, or as it stood when the points before were put together. */
struct seen {
	uint64_t id, enabled, running, kept;
	uint32_t tid, last_tid;
	size_t last; /* its last point, open to be moved; SIZE_MAX: none */
};

struct seen_table {
	VEC(struct seen) v;
	struct itab at;
};

struct member { /* of a group that only its leader samples */
	uint64_t id;
	uint32_t leader;
};

struct piece { /* of a chunk */
	VEC(struct point) point;
	VEC(struct member) member;
};

struct window {
	uint64_t end; /* time of its last sample */
	double factor;
};

struct stood {
	uint64_t enabled;
	double ran;
};

struct stream { /* an event on a CPU or of a thread */
	uint32_t event, stream;
	uint64_t stood; /* enabled time of the thread, as last seen on any CPU */
	double ran;	/* running, all of it */
	double there;	/* of a hybrid: how long the thread was on the event's kind of core */
	VEC(struct stood) stood_at; /* of a clock, when: in the order of time */
	double enabled, running;    /* of the window that is open; running without pauses */
	double paused;		    /* that are not yet taken off */
	uint64_t last;
	double closed_enabled, closed_running; /* of the last that was closed */
	VEC(struct window) window;
};

struct mux {
	struct mux_event *event;
	size_t n_events;
	bool by_cpu, told;
	/* by event, of a hybrid whose counters follow tasks: the one of the same kind of cores that
	 * ran most; NO_KIND: none */
	uint32_t *clock;
	VEC(struct stream) stream;
	struct itab at;
};

struct build {
	const struct pd *rec;
	struct pass *pass; /* NULL: no such records */
	size_t n_chunks;
	struct seen_table *seen; /* by worker: of its chunk */
	struct piece *piece;
	struct keyed *order; /* of all points: a: piece, b: point */
	size_t n_order;
	bool by_thread;
	struct mux_pauses pauses; /* by time */
	bool ids;		  /* samples have one */
	atomic_bool back;	  /* times of an id went back */
	atomic_bool mixed;	  /* an id has samples of several threads */
};

bool mux_tells(const struct pd_event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_READ && (e->attr.read_format & TOLD) == TOLD;
}

static struct seen *seen_at(struct seen_table *t, uint64_t id, uint32_t tid, bool *fresh)
{
	struct seen new = { .id = id, .tid = tid, .last = SIZE_MAX };
	uint64_t h = hash_pair(id, tid);
	uint32_t idx;

	*fresh = false;
	for (size_t i = itab_first(&t->at, h); itab_at(&t->at, &i, h, &idx);)
		if (t->v.v[idx].id == id && t->v.v[idx].tid == tid)
			return &t->v.v[idx];
	*fresh = true;
	if (itab_put(&t->at, h, t->v.n) || vec_push(&t->v, new))
		return NULL;
	return vec_last(&t->v);
}

static void seen_free(struct seen_table *t)
{
	vec_free(&t->v);
	itab_free(&t->at);
}

/* ---- chunks ---- */

static struct point point_of(const struct build *b, const struct pd_record *r,
			     const struct pd_sample *s)
{
	return (struct point){
		.id = b->ids ? s->id : s->event_index,
		.enabled = s->read_enabled,
		.running = s->read_running,
		.time = feed_time(b->rec, s, r->seq),
		.tid = s->has & PERF_SAMPLE_TID ? s->tid : UINT32_MAX,
		.cpu = s->has & PERF_SAMPLE_CPU ? s->cpu : UINT32_MAX,
		.event = s->event_index,
	};
}

static int take_members(struct piece *piece, const struct pd_sample *s)
{
	for (uint64_t k = 0; k < s->n_read; k++) {
		struct member m = { pd_read_get(s, k).id, s->event_index };

		if (vec_push(&piece->member, m))
			return -1;
	}
	return 0;
}

static int take_sample(struct build *b, struct seen_table *t, struct piece *piece,
		       const struct pd_sample *s, const struct point *p)
{
	bool fresh;
	struct seen *o = seen_at(t, p->id, b->by_thread ? p->tid : 0, &fresh);

	if (!o || (fresh && s->n_read > 1 && take_members(piece, s)))
		return -1;
	if (!fresh && p->enabled < o->enabled)
		atomic_store_explicit(&b->back, true, memory_order_relaxed);
	if (!fresh && p->tid != o->last_tid)
		atomic_store_explicit(&b->mixed, true, memory_order_relaxed);
	o->last_tid = p->tid;
	/* the last point moves along while little has grown; the first one stays */
	if (!fresh && o->last != SIZE_MAX && p->enabled >= o->enabled &&
	    p->enabled - o->kept < POINT_STEP) {
		piece->point.v[o->last] = *p;
	} else {
		if (vec_push(&piece->point, *p))
			return -1;
		o->last = fresh ? SIZE_MAX : piece->point.n - 1;
		o->kept = o->enabled;
		if (fresh || p->enabled < o->enabled)
			o->kept = p->enabled;
	}
	o->enabled = p->enabled;
	return 0;
}

static int read_sample(void *ctx, const struct pass_sample *x, struct err *err)
{
	struct build *b = ctx;
	struct pd_sample s;
	struct point p;

	if (pd_sample_parse(b->rec, x->r, &s) || !(s.has & PERF_SAMPLE_READ))
		return 0;
	p = point_of(b, x->r, &s);
	return take_sample(b, &b->seen[x->worker], &b->piece[x->chunk], &s, &p) ? err_nomem(err)
										: 0;
}

/* The points that a worker saw are of the chunk at hand. */
static int forget_seen(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	struct build *b = ctx;

	(void)chunk;
	(void)err;
	seen_free(&b->seen[worker]);
	b->seen[worker] = (struct seen_table){ VEC_INIT, ITAB_INIT };
	return 0;
}

static void drop_pieces(struct build *b)
{
	for (size_t i = 0; i < b->n_chunks; i++) {
		vec_free(&b->piece[i].point);
		vec_free(&b->piece[i].member);
	}
}

/* ---- putting together ---- */

static struct stream *stream_find(const struct mux *m, uint32_t event, uint32_t stream)
{
	uint64_t h = hash_pair(event, stream);
	uint32_t idx;

	for (size_t i = itab_first(&m->at, h); itab_at(&m->at, &i, h, &idx);)
		if (m->stream.v[idx].event == event && m->stream.v[idx].stream == stream)
			return &m->stream.v[idx];
	return NULL;
}

static struct stream *stream_at(struct mux *m, uint32_t event, uint32_t stream)
{
	struct stream *o = stream_find(m, event, stream);
	struct stream new = { .event = event, .stream = stream, .window = VEC_INIT };

	if (o)
		return o;
	if (itab_put(&m->at, hash_pair(event, stream), m->stream.n) || vec_push(&m->stream, new))
		return NULL;
	return vec_last(&m->stream);
}

static double factor_of(double enabled, double running)
{
	if (!(running > 0))
		return NAN;
	return enabled > running ? enabled / running : 1;
}

/* A pause may have begun in a window that is closed: at most PAUSED_MOST of the running time is
 * taken off. */
static void take_off_pauses(struct mux *m, struct stream *o)
{
	double most = o->running * PAUSED_MOST, off = o->paused < most ? o->paused : most;

	o->running -= off;
	o->paused = 0;
	m->event[o->event].paused += off;
}

static int close_window(struct mux *m, struct stream *o)
{
	struct window w = { o->last, NAN };
	struct mux_event *e = &m->event[o->event];

	take_off_pauses(m, o);
	w.factor = factor_of(o->enabled, o->running);
	if (vec_push(&o->window, w))
		return -1;
	o->closed_enabled = o->enabled;
	o->closed_running = o->running;
	o->enabled = o->running = 0;
	if (!e->windows || w.factor < e->least)
		e->least = w.factor;
	if (!e->windows || w.factor > e->most)
		e->most = w.factor;
	e->windows++;
	return 0;
}

/* Returns the growth since the point before. A counter with a lower value is another one, which
 * began at 0. */
static double grown(uint64_t *stood, uint64_t now, uint64_t jitter)
{
	uint64_t was = *stood, lacks = was > now ? was - now : 0;

	if (lacks && lacks <= jitter)
		return 0;
	*stood = now;
	return (double)(lacks ? now : now - was);
}

/* How long the thread had been on cores that can count the event: as long as its clock ran, which
 * always has a counter there. The clock's points are some ms apart while it runs: from the nearer
 * one on, the thread was there, or there were no sample now. */
static double there_at(const struct stream *clock, uint64_t enabled)
{
	const struct stood *v = clock->stood_at.v, *before, *after;
	size_t i, n = clock->stood_at.n;

	bisect(i, n, k, v[k].enabled >= enabled);
	before = i ? &v[i - 1] : NULL;
	after = i < n ? &v[i] : NULL;
	if (after && (!before || after->enabled - enabled < enabled - before->enabled))
		return after->ran - (double)(after->enabled - enabled);
	return before ? before->ran + (double)(enabled - before->enabled) : NAN;
}

/* Returns the growth of that clock, with the wanted and running times meanwhile. */
static double grown_there(const struct mux *m, struct stream *s, const struct point *p,
			  double enabled, double running)
{
	const struct stream *clock = stream_find(m, m->clock[p->event], p->tid);
	double was = s->there, there = clock ? there_at(clock, p->enabled) : NAN;

	if (clock == s || !(there - was > running))
		there = was + running;
	if (there - was > enabled && enabled >= running)
		there = was + enabled;
	s->there = there;
	return there - was;
}

static bool is_clock(const struct mux *m, uint32_t event)
{
	return m->clock && m->clock[event] == event;
}

static int add_point(struct mux *m, struct seen_table *t, const struct point *p)
{
	bool fresh;
	struct seen *o = seen_at(t, p->id, m->by_cpu ? 0 : p->tid, &fresh);
	struct stream *s = stream_at(m, p->event, m->by_cpu ? p->cpu : p->tid);
	double enabled, running;

	if (!o || !s)
		return -1;
	/* a thread's counters on all CPUs are wanted at the same time */
	enabled = m->by_cpu ? grown(&o->enabled, p->enabled, 0)
			    : grown(&s->stood, p->enabled, JITTER);
	running = grown(&o->running, p->running, 0);
	s->ran += running;
	if (m->clock && m->clock[p->event] != NO_KIND)
		enabled = grown_there(m, s, p, enabled, running);
	if (is_clock(m, p->event)) {
		struct stood at = { p->enabled, s->ran };

		if (vec_push(&s->stood_at, at))
			return -1;
	}
	s->enabled += enabled;
	s->running += running;
	if (p->time > s->last)
		s->last = p->time;
	m->event[p->event].enabled += enabled;
	m->event[p->event].running += running;
	return s->enabled >= MUX_WINDOW && s->running > 0 ? close_window(m, s) : 0;
}

/* The rest at the end: a window of its own if it is half of one, or the only one; else a part of
 * the one before. */
static int end_stream(struct mux *m, struct stream *o)
{
	if (!(o->running > 0))
		return 0;
	if (!o->window.n || o->enabled >= MUX_WINDOW / 2.0)
		return close_window(m, o);
	take_off_pauses(m, o);
	vec_last(&o->window)->factor =
		factor_of(o->enabled + o->closed_enabled, o->running + o->closed_running);
	return 0;
}

static void end_events(struct mux *m, const struct pd_event *ev)
{
	for (size_t e = 0; e < m->n_events; e++) {
		struct mux_event *x = &m->event[e];

		x->told = mux_tells(&ev[e]) && x->enabled > 0;
		x->mean = x->told ? factor_of(x->enabled, x->running - x->paused) : NAN;
		if (!x->windows)
			x->least = x->most = NAN;
		m->told |= x->told;
	}
}

/* Members of a group have their leader's factor. */
static void end_members(struct mux *m, const struct build *b)
{
	for (size_t i = 0; i < b->n_chunks; i++)
		vec_each (&b->piece[i].member, const struct member *, x) {
			int e = pd_id_event(b->rec, x->id);

			if (e >= 0 && (size_t)e < m->n_events && !m->event[e].told)
				m->event[e] = m->event[x->leader];
		}
}

static void forget_streams(struct mux *m)
{
	for (size_t i = 0; i < m->stream.n; i++) {
		vec_free(&m->stream.v[i].window);
		vec_free(&m->stream.v[i].stood_at);
	}
	vec_free(&m->stream);
	itab_free(&m->at);
	for (size_t e = 0; m->event && e < m->n_events; e++)
		m->event[e] = (struct mux_event){ .told = false };
}

static int sort_points(struct build *b)
{
	struct keyed *scratch;
	size_t n = 0;

	for (size_t i = 0; i < b->n_chunks; i++)
		n += b->piece[i].point.n;
	free(b->order);
	b->order = malloc((n + 1) * sizeof(*b->order));
	scratch = malloc((n + 1) * sizeof(*scratch));
	b->n_order = 0;
	if (b->order && scratch) {
		for (size_t i = 0; i < b->n_chunks; i++)
			for (size_t k = 0; k < b->piece[i].point.n; k++)
				b->order[b->n_order++] =
					(struct keyed){ b->piece[i].point.v[k].time, (uint32_t)i,
							(uint32_t)k };
		keyed_sort(b->order, scratch, n);
		assert(b->n_order == n);
	}
	free(scratch);
	return b->order && n == b->n_order ? 0 : -1;
}

/* Those up to a time, to the windows that are open then. */
static int add_pauses(struct mux *m, const struct build *b, size_t *next, uint64_t until)
{
	for (; *next < b->pauses.n && b->pauses.v[*next].time <= until; ++*next) {
		const struct mux_pause *p = &b->pauses.v[*next];
		struct stream *s = stream_at(m, p->event, m->by_cpu ? p->cpu : p->tid);

		if (!s)
			return -1;
		s->paused += p->lost;
	}
	return 0;
}

static int put_together(struct mux *m, const struct build *b, bool by_cpu)
{
	struct seen_table t = { VEC_INIT, ITAB_INIT };
	size_t pause = 0;
	int ret = 0;

	forget_streams(m);
	m->by_cpu = by_cpu;
	/* others look up a clock before and after */
	for (int clocks = m->clock ? 1 : 0; clocks >= 0; clocks--)
		for (size_t i = 0; i < b->n_order && !ret; i++) {
			const struct point *p = &b->piece[b->order[i].a].point.v[b->order[i].b];

			if (!clocks)
				ret = add_pauses(m, b, &pause, p->time);
			if (!ret && is_clock(m, p->event) == (clocks != 0))
				ret = add_point(m, &t, p);
		}
	if (!ret)
		ret = add_pauses(m, b, &pause, UINT64_MAX);
	for (size_t i = 0; i < m->stream.n && !ret; i++)
		ret = end_stream(m, &m->stream.v[i]);
	seen_free(&t);
	return ret;
}

/* Returns true if counters ran longer than they were wanted: then they do not follow threads. */
static bool overruns(const struct mux *m)
{
	double enabled = 0, running = 0;

	for (size_t e = 0; e < m->n_events; e++) {
		enabled += m->event[e].enabled;
		running += m->event[e].running;
	}
	return running > enabled * SLACK;
}

static int read_chunks(struct build *b, bool by_thread, struct err *err)
{
	const struct pass_visitor v = { .sample = read_sample, .begin = forget_seen };

	drop_pieces(b);
	b->by_thread = by_thread;
	return pass_each(b->pass, &v, b, err);
}

/* Times of an id, or its threads, that differ from one chunk to the next. */
static int compare_chunks(struct build *b)
{
	struct seen_table t = { VEC_INIT, ITAB_INIT };
	int ret = 0;

	for (size_t i = 0; i < b->n_chunks && !ret; i++)
		for (size_t k = 0; k < b->piece[i].point.n; k++) {
			const struct point *p = &b->piece[i].point.v[k];
			bool fresh;
			struct seen *o = seen_at(&t, p->id, 0, &fresh);

			if (!o) {
				ret = -1;
				break;
			}
			if (!fresh && p->enabled < o->enabled)
				atomic_store(&b->back, true);
			if (!fresh && p->tid != o->last_tid)
				atomic_store(&b->mixed, true);
			o->enabled = p->enabled;
			o->last_tid = p->tid;
		}
	seen_free(&t);
	return ret;
}

/* Returns the kind of cores that counts the event; NO_KIND: any does, or it is not known. */
static uint32_t kind_of(const struct pd_info *info, const struct perf_event_attr *attr)
{
	uint32_t type = attr->type, which = (uint32_t)(attr->config >> 32);

	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE)
		type = which ? which : PERF_TYPE_RAW;
	for (size_t k = 0; k < info->n_hybrid; k++)
		if (!strcmp(pd_pmu_name(info, type), info->hybrid_name[k]))
			return (uint32_t)k;
	return NO_KIND;
}

/* Counters of tasks on a hybrid are wanted while their task is on cores that do not have them, too:
 * the kernel's times do not distinguish that from waiting for a turn. */
static int find_clocks(struct mux *m, const struct pd_event *ev, const struct pd_info *info)
{
	uint32_t *most, kind;

	if (m->by_cpu || info->n_hybrid < 2)
		return 0;
	m->clock = malloc((m->n_events + 1) * sizeof(*m->clock));
	most = malloc(info->n_hybrid * sizeof(*most)); /* by kind: the event */
	if (!m->clock || !most) {
		free(most);
		return -1;
	}
	for (size_t k = 0; k < info->n_hybrid; k++)
		most[k] = NO_KIND;
	for (size_t e = 0; e < m->n_events; e++) {
		kind = m->clock[e] = kind_of(info, &ev[e].attr);
		if (kind != NO_KIND && m->event[e].running > 0 &&
		    (most[kind] == NO_KIND || m->event[e].running > m->event[most[kind]].running))
			most[kind] = (uint32_t)e;
	}
	for (size_t e = 0; e < m->n_events; e++)
		if (m->clock[e] != NO_KIND)
			m->clock[e] = most[m->clock[e]];
	free(most);
	return 1;
}

static bool says_threads(const struct pd_event *ev, size_t n)
{
	for (size_t e = 0; e < n; e++)
		if (mux_tells(&ev[e]) && (ev[e].attr.inherit || ev[e].attr.enable_on_exec))
			return true;
	return false;
}

static int build_all(struct mux *m, struct build *b, const struct pd_event *ev, struct err *err)
{
	bool by_thread;
	int clocks;

	if (read_chunks(b, false, err))
		return -1;
	if (compare_chunks(b))
		return err_nomem(err);
	by_thread =
		atomic_load(&b->back) || !atomic_load(&b->mixed) || says_threads(ev, m->n_events);
	/* of ids that have one thread each, the points are the same */
	if (by_thread && atomic_load(&b->mixed) && read_chunks(b, true, err))
		return -1;
	if (sort_points(b) || put_together(m, b, !by_thread))
		return err_nomem(err);
	if (by_thread && overruns(m)) {
		if (b->by_thread && read_chunks(b, false, err))
			return -1;
		return sort_points(b) || put_together(m, b, true) ? err_nomem(err) : 0;
	}
	clocks = find_clocks(m, ev, pd_info(b->rec));
	return clocks < 0 || (clocks && put_together(m, b, m->by_cpu)) ? err_nomem(err) : 0;
}

static int begin_build(struct build *b, unsigned threads, struct err *err)
{
	b->pass = mux_pass(b->rec, threads, err);
	if (!b->pass)
		return -1;
	b->n_chunks = pass_chunks(b->pass);
	b->piece = calloc(b->n_chunks + 1, sizeof(*b->piece));
	b->seen = calloc(pass_workers(b->pass), sizeof(*b->seen));
	return b->piece && b->seen ? 0 : err_nomem(err);
}

static void end_build(struct build *b)
{
	for (unsigned i = 0; b->seen && i < pass_workers(b->pass); i++)
		seen_free(&b->seen[i]);
	if (b->piece)
		drop_pieces(b);
	free(b->seen);
	free(b->piece);
	pass_free(b->pass);
}

struct pass *mux_pass(const struct pd *rec, unsigned threads, struct err *err)
{
	struct pass_opts po = { .threads = threads };
	struct pass *p = NULL;
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	bool *tells = calloc(n + 1, sizeof(*tells));

	if (!tells) {
		(void)err_nomem(err);
		return NULL;
	}
	for (size_t e = 0; e < n; e++)
		tells[e] = mux_tells(&ev[e]);
	po.events = tells;
	if (pass_new(&p, rec, NULL, NULL, &po, err))
		p = NULL;
	free(tells);
	return p;
}

int mux_build(struct mux **out, const struct pd *rec, unsigned threads, struct err *err)
{
	struct mux *m = calloc(1, sizeof(*m));
	struct build b = { .rec = rec };
	const struct pd_event *ev;
	bool any = false;
	int ret = -1;

	*out = NULL;
	if (!m)
		return err_nomem(err);
	ev = pd_events(rec, &m->n_events);
	m->event = calloc(m->n_events + 1, sizeof(*m->event));
	if (!m->event) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t e = 0; e < m->n_events; e++) {
		any |= mux_tells(&ev[e]);
		b.ids |= ev[e].n_ids != 0;
	}
	if (any && (begin_build(&b, threads, err) || mux_find_pauses(&b.pauses, rec, err) ||
		    build_all(m, &b, ev, err)))
		goto out;
	end_events(m, ev);
	end_members(m, &b);
	ret = 0;
out:
	free(b.order);
	vec_free(&b.pauses);
	end_build(&b);
	if (ret)
		mux_free(m);
	else
		*out = m;
	return ret;
}

const struct mux_event *mux_events(const struct mux *m, size_t *n)
{
	*n = m->n_events;
	return m->event;
}

bool mux_told(const struct mux *m)
{
	return m->told;
}

bool mux_by_cpu(const struct mux *m)
{
	return m->by_cpu;
}

double mux_factor(const struct mux *m, uint32_t event, uint32_t cpu, uint32_t tid, uint64_t time)
{
	const struct stream *o;
	size_t i;

	if (event >= m->n_events || !m->event[event].told)
		return NAN;
	o = stream_find(m, event, m->by_cpu ? cpu : tid);
	if (!o || !o->window.n)
		return m->event[event].mean;
	bisect(i, o->window.n, k, o->window.v[k].end >= time);
	return o->window.v[i < o->window.n ? i : o->window.n - 1].factor;
}

void mux_free(struct mux *m)
{
	if (!m)
		return;
	forget_streams(m);
	free(m->clock);
	free(m->event);
	free(m);
}
