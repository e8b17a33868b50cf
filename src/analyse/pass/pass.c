/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/pass.h"

#include <assert.h>
#include <stdlib.h>

#include "analyse/pass/pass_int.h"
#include "base/task.h"
#include "base/text.h"

#define WORKERS_MAX 64u
#define AHEAD	    2048u /* bytes */
#define PLACES	    2048u /* of a worker */

static bool listed(const uint32_t *v, size_t n, uint32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return n == 0;
}

bool pass_wants_thread(const struct pass *p, const struct pass_thread *t)
{
	char buf[COMM_TEXT];

	if (!listed(p->sel.pids, p->sel.n_pids, task_pid(t->task)) ||
	    !listed(p->sel.tids, p->sel.n_tids, task_tid(t->task)))
		return false;
	return !p->sel.comm || !strcmp(pass_comm_text(p->sp, t->comm, buf), p->sel.comm);
}

static bool on_cpu(const struct pass *p, uint32_t cpu)
{
	return !p->cpus || (cpu < p->n_cpus && p->cpus[cpu]);
}

/* Returns true if the selection allows the sample, apart from its event. */
static bool selected(const struct pass *p, struct pass_worker *w, const struct pass_sample *s)
{
	if ((p->sel.time_from && s->time < p->sel.time_from) ||
	    (p->sel.time_to && s->time > p->sel.time_to))
		return false;
	return (!s->who || s->who->wanted) && on_cpu(p, s->cpu) && pass_wants_cgroup(p, w, s);
}

/* Runs of one event are the rule. */
static inline int event_of(const struct pass *p, struct pass_worker *w, const struct pd_record *r)
{
	uint64_t id;

	if (!p->id_at || r->size < p->id_at + 8u)
		return p->n_events == 1 ? 0 : pd_sample_event(p->rec, r);
	id = ld64(r->p + p->id_at);
	if (id != w->last_id || w->last_event < 0) {
		w->last_id = id;
		w->last_event = pd_sample_event(p->rec, r);
	}
	return w->last_event;
}

static inline uint64_t time_of(const struct pass *p, const struct pd_event *ev,
			       const struct pd_record *r)
{
	if (!p->has_time)
		return r->seq;
	return ev->at.time ? ld64(r->p + ev->at.time) : 0;
}

/* Each visitor is shown the sample that the selection wants, or not. */
static inline int show(struct pass *p, struct pass_thread *who, const struct pass_sample *s,
		       bool wanted, struct err *err)
{
	for (unsigned i = 0; i < p->n_visits; i++) {
		const struct pass_visit *x = &p->visit[i];
		int ret = 0;

		if (who)
			who->tag = who->tags[i];
		if ((wanted || x->v.wants & PASS_ALL) && x->v.events[s->event])
			ret = x->v.sample(x->ctx, s, err);
		else if (x->v.left_out)
			ret = x->v.left_out(x->ctx, s, err);
		if (ret)
			return -1;
	}
	return 0;
}

/* `s` has the record, the worker and the chunk; all else is found here. */
static inline int one_sample(struct pass *p, struct pass_worker *w, struct pass_sample *s,
			     struct err *err)
{
	struct pass_thread *who = NULL;
	const uint8_t *at = s->r->p;
	int e = event_of(p, w, s->r), wanted;

	if (e < 0 || (size_t)e >= p->n_events || s->r->size < p->ev[e].at.fixed_end) {
		w->seen[e < 0 || (size_t)e >= p->n_events ? 0 : e].bad++;
		return 0;
	}
	s->ev = &p->ev[e];
	s->event = (uint32_t)e;
	s->id = p->id_at ? w->last_id : 0;
	s->task = s->ev->at.tid ? task_of(ld32(at + s->ev->at.tid), ld32(at + s->ev->at.tid + 4))
				: UINT64_MAX;
	s->cpu = s->ev->at.cpu ? ld32(at + s->ev->at.cpu) : UINT32_MAX;
	s->time = time_of(p, s->ev, s->r);
	if (p->wants && p->events[e]) {
		who = pass_thread_of(p, w, s->worker, s->task, s->time);
		if (!who)
			return err_nomem(err);
	}
	s->who = who;
	wanted = p->events[e] && (p->all || selected(p, w, s));
	if (wanted && p->sel.wants)
		wanted = p->sel.wants(p->sel.wants_ctx, s->worker, s->ev, s->r, err);
	if (wanted < 0)
		return -1;
	*(wanted ? &w->seen[e].selected : &w->seen[e].left_out) += 1;
	return show(p, who, s, wanted, err);
}

/* Records that are no samples. */
static int show_other(struct pass *p, unsigned worker, const struct pd_record *r, struct err *err)
{
	for (unsigned i = 0; i < p->n_visits; i++)
		if (p->visit[i].v.other && p->visit[i].v.other(p->visit[i].ctx, worker, r, err))
			return -1;
	return 0;
}

static int records(struct pass *p, struct pass_worker *w, unsigned worker, size_t chunk,
		   struct err *err)
{
	const struct pass_visit *first = p->visit;
	const struct pd_chunk *c = &p->chunks[chunk];
	bool bulk = p->n_visits == 1 && first->v.bulk;
	struct pd_record r;
	struct pass_sample s = { .r = &r, .worker = worker, .chunk = chunk, .places = &w->places };

	for (const uint8_t *at = c->p;;) {
		if (bulk && first->v.bulk(first->ctx, worker, c, &at, err))
			return -1;
		if (at >= c->end)
			return 0;
		__builtin_prefetch((const void *)((uintptr_t)at + AHEAD));
		r = (struct pd_record){ at, ld32(at), ld16(at + 4), ld16(at + 6),
					c->seq + (uint64_t)(at - c->p) };
		if (r.size > 128) {
			__builtin_prefetch((const void *)((uintptr_t)at + AHEAD + 64));
			__builtin_prefetch((const void *)((uintptr_t)at + AHEAD + 128));
		}
		at += r.size;
		if (r.type == PERF_RECORD_SAMPLE ? one_sample(p, w, &s, err)
						 : show_other(p, worker, &r, err))
			return -1;
	}
}

static int one_chunk(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	struct pass *p = ctx;
	struct pass_worker *w = p->worker[worker];

	if ((p->wants && !w->thread && pass_threads_init(p, w)) ||
	    (p->wants & PASS_PLACE && !w->places.v &&
	     places_init(&w->places, p->sp, pass_entries(p, PLACES))))
		return err_nomem(err);
	for (unsigned i = 0; i < p->n_visits; i++)
		if (p->visit[i].v.begin && p->visit[i].v.begin(p->visit[i].ctx, worker, chunk, err))
			return -1;
	if (records(p, w, worker, chunk, err))
		return -1;
	for (unsigned i = 0; i < p->n_visits; i++)
		if (p->visit[i].v.end && p->visit[i].v.end(p->visit[i].ctx, worker, chunk, err))
			return -1;
	/* the first worker is the caller's own thread */
	if (!worker && p->opts.progress)
		p->opts.progress(p->opts.progress_ctx, (double)(chunk + 1) / (double)p->n_chunks);
	return 0;
}

/* Adds the workers' counts to the sums; returns the number of samples. */
static uint64_t add_seen(struct pass *p)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < p->n_workers; i++)
		for (size_t e = 0; e < p->n_events || !e; e++) {
			struct pass_seen *x = &p->worker[i]->seen[e];

			p->seen[e].selected += x->selected;
			p->seen[e].left_out += x->left_out;
			p->seen[e].bad += x->bad;
			n += x->selected + x->left_out + x->bad;
			*x = (struct pass_seen){ 0 };
		}
	return n;
}

void pass_add(struct pass *p, const struct pass_visitor *v, void *ctx)
{
	struct pass_visit *x = &p->visit[p->n_visits++];

	assert(p->n_visits <= PASS_VISITORS);
	*x = (struct pass_visit){ *v, ctx };
	if (!v->events)
		x->v.events = p->chosen;
}

static unsigned walks;

unsigned pass_walks(void)
{
	return __atomic_load_n(&walks, __ATOMIC_RELAXED);
}

int pass_run(struct pass *p, struct err *err)
{
	bool bulk = p->n_visits == 1 && p->visit[0].v.bulk, order = false;
	uint64_t n;
	int ret;

	if (!p->n_visits)
		return 0;
	(void)__atomic_add_fetch(&walks, 1, __ATOMIC_RELAXED);
	memset(p->seen, 0, (p->n_events + 1) * sizeof(*p->seen));
	memset(p->events, 0, p->n_events * sizeof(*p->events));
	p->wants = p->sel.comm			    ? PASS_THREAD | PASS_COMM
		   : p->sel.n_pids || p->sel.n_tids ? PASS_THREAD
						    : 0;
	for (unsigned i = 0; i < p->n_visits; i++) {
		p->wants |= p->visit[i].v.wants & (PASS_THREAD | PASS_COMM | PASS_PLACE);
		order |= p->visit[i].v.wants & PASS_ORDER;
		for (size_t e = 0; e < p->n_events; e++)
			p->events[e] |= p->visit[i].v.events[e];
	}
	for (unsigned i = 0; i < p->n_workers; i++)
		pass_threads_forget(p->worker[i]);
	ret = task_for(p->n_chunks, order ? 1 : p->n_workers, one_chunk, p, err);
	n = add_seen(p);
	assert(ret || bulk || n == p->n_samples);
	(void)n, (void)bulk; /* without asserts */
	p->n_visits = 0;
	return ret;
}

int pass_each(struct pass *p, const struct pass_visitor *v, void *ctx, struct err *err)
{
	pass_add(p, v, ctx);
	return pass_run(p, err);
}

/* ---- making one ---------------------------------------------------------------------------- */

static uint64_t count_samples(const struct pd *rec)
{
	size_t n;
	const struct pd_type_count *t = pd_type_counts(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (t[i].type == PERF_RECORD_SAMPLE)
			return t[i].count;
	return 0;
}

static int init_cpus(struct pass *p)
{
	for (size_t i = 0; i < p->sel.n_cpus; i++)
		if (p->sel.cpus[i] >= p->n_cpus)
			p->n_cpus = (size_t)p->sel.cpus[i] + 1;
	if (!p->n_cpus)
		return 0;
	p->cpus = calloc(p->n_cpus, sizeof(*p->cpus));
	for (size_t i = 0; p->cpus && i < p->sel.n_cpus; i++)
		p->cpus[p->sel.cpus[i]] = true;
	return p->cpus ? 0 : -1;
}

static int init_events(struct pass *p)
{
	p->chosen = calloc(p->n_events + 1, sizeof(*p->chosen));
	p->events = calloc(p->n_events + 1, sizeof(*p->events));
	for (size_t e = 0; p->chosen && e < p->n_events; e++)
		p->chosen[e] = p->opts.events ? p->opts.events[e]
					      : text_means(p->sel.event, p->ev[e].name);
	return p->chosen && p->events ? 0 : -1;
}

static int init_workers(struct pass *p)
{
	p->n_workers = p->opts.threads ? p->opts.threads : task_threads();
	if (p->n_workers > WORKERS_MAX)
		p->n_workers = WORKERS_MAX;
	if (p->n_workers > p->n_chunks)
		p->n_workers = p->n_chunks ? (unsigned)p->n_chunks : 1;
	p->worker = calloc(p->n_workers, sizeof(struct pass_worker *));
	for (unsigned i = 0; p->worker && i < p->n_workers; i++) {
		/* each in lines of its own: another core writes the next one */
		p->worker[i] = calloc(1, sizeof(struct pass_worker) +
						 (p->n_events + 1) * sizeof(struct pass_seen) + 64);
		if (!p->worker[i])
			return -1;
		p->worker[i]->last_event = -1;
	}
	return p->worker ? 0 : -1;
}

int pass_new(struct pass **out, const struct pd *rec, const struct spaces *spaces,
	     const struct selection *sel, const struct pass_opts *opts, struct err *err)
{
	struct pass *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return err_nomem(err);
	p->rec = rec;
	p->sp = spaces;
	if (sel)
		p->sel = *sel;
	p->opts = *opts;
	p->all = selection_all(&p->sel);
	p->has_time = pd_has_time(rec);
	p->n_samples = count_samples(rec);
	p->chunks = pd_chunks(rec, &p->n_chunks);
	p->ev = pd_events(rec, &p->n_events);
	/* all samples have their id at the offset of the first event; see pd_sample_event */
	if (p->n_events > 1)
		p->id_at = p->ev[0].at.identifier ? p->ev[0].at.identifier : p->ev[0].at.id;
	p->seen = calloc(p->n_events + 1, sizeof(*p->seen));
	if (!p->seen || init_cpus(p) || init_events(p) || init_workers(p)) {
		pass_free(p);
		return err_nomem(err);
	}
	*out = p;
	return 0;
}

void pass_free(struct pass *p)
{
	if (!p)
		return;
	for (unsigned i = 0; p->worker && i < p->n_workers; i++) {
		if (p->worker[i]) {
			free(p->worker[i]->thread);
			places_free(&p->worker[i]->places);
		}
		free(p->worker[i]);
	}
	free(p->worker);
	free(p->chosen);
	free(p->events);
	free(p->cpus);
	free(p->seen);
	free(p);
}

unsigned pass_workers(const struct pass *p)
{
	return p->n_workers;
}

size_t pass_chunks(const struct pass *p)
{
	return p->n_chunks;
}

uint64_t pass_bytes(const struct pass *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->n_chunks; i++)
		n += (uint64_t)(p->chunks[i].end - p->chunks[i].p);
	return n;
}

uint64_t pass_samples(const struct pass *p)
{
	return p->n_samples;
}

size_t pass_entries(const struct pass *p, size_t most)
{
	size_t n = 16;

	while (n < most && n < p->n_samples)
		n *= 2;
	return n;
}

const struct pass_seen *pass_seen(const struct pass *p)
{
	return p->seen;
}
