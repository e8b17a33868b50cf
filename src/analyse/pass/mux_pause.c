/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mux_pause - how long events stood still because the kernel throttled them.
 *
 * An event that interrupts too often is stopped until the next tick; its time goes on as if it had
 * counted. THROTTLE stands in front of the sample that was one too many, UNTHROTTLE when it counts
 * again. Between the two it was on a counter for no longer than its time grew from that sample to
 * the next one: the rest of the pause its task or its group was not there.
 */
#include "analyse/pass/mux_int.h"

#include "analyse/feed.h"
#include "analyse/itab.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/invariant.h"

struct stopped {		   /* an id */
	uint64_t id, since, until; /* until: 0: it still stands */
	uint64_t running;	   /* of the sample that was one too many */
	uint32_t tid;
	bool open, sampled;
};

struct stops {
	VEC(struct stopped) v;
	struct itab at;
};

static struct stopped *stopped_at(struct stops *t, uint64_t id, bool make)
{
	uint64_t h = hash_u64(id);
	struct stopped new = { .id = id };
	uint32_t idx;

	for (size_t i = itab_first(&t->at, h); itab_at(&t->at, &i, h, &idx);)
		if (t->v.v[idx].id == id)
			return &t->v.v[idx];
	if (!make || itab_put(&t->at, h, t->v.n) || vec_push(&t->v, new))
		return NULL;
	return vec_last(&t->v);
}

/* Both records: time, id, and the id of a thread's own copy. */
static int take_record(struct stops *t, const struct pd_record *r)
{
	uint64_t time = ld64(r->p + 8), id = ld64(r->p + 16);
	struct stopped *s = stopped_at(t, id, r->type == PERF_RECORD_THROTTLE);

	if (r->type == PERF_RECORD_THROTTLE) {
		if (!s)
			return -1;
		*s = (struct stopped){ .id = id, .since = time, .open = true };
	} else if (s && s->open && s->sampled && !s->until && time > s->since) {
		s->until = time;
	}
	return 0;
}

static int take_sample(struct mux_pauses *out, struct stops *t, const struct pd *rec,
		       const struct pd_sample *a, uint64_t seq)
{
	struct stopped *s = stopped_at(t, a->id, false);
	uint32_t tid = a->has & PERF_SAMPLE_TID ? a->tid : UINT32_MAX;
	struct mux_pause p = { .event = a->event_index,
			       .cpu = a->has & PERF_SAMPLE_CPU ? a->cpu : UINT32_MAX,
			       .tid = tid };
	double grown;

	if (!s || !s->open)
		return 0;
	if (!s->sampled) {
		s->sampled = true;
		s->running = a->read_running;
		s->tid = tid;
		return 0;
	}
	if (s->tid != tid) /* another thread's copy of the event */
		return 0;
	s->open = false;
	if (!s->until || a->read_running <= s->running)
		return 0;
	p.time = feed_time(rec, a, seq);
	/* minus the time since the pause, in which it counted if it was there all along */
	grown = (double)(a->read_running - s->running) -
		(p.time > s->until ? (double)(p.time - s->until) : 0);
	p.lost = (double)(s->until - s->since);
	p.lost = p.lost < grown ? p.lost : grown;
	return p.lost > 0 ? vec_push(out, p) : 0;
}

static int by_time(const void *x, const void *y)
{
	const struct mux_pause *a = x, *b = y;

	return a->time < b->time ? -1 : a->time > b->time;
}

struct finding {
	struct mux_pauses *out;
	const struct pd *rec;
	struct stops t;
};

static int visit_sample(void *ctx, const struct pass_sample *x, struct err *err)
{
	struct finding *f = ctx;
	struct pd_sample s;

	if (!f->t.v.n || pd_sample_parse(f->rec, x->r, &s) || !(s.has & PERF_SAMPLE_READ))
		return 0;
	return take_sample(f->out, &f->t, f->rec, &s, x->r->seq) ? err_nomem(err) : 0;
}

static int visit_other(void *ctx, unsigned worker, const struct pd_record *r, struct err *err)
{
	(void)worker;
	if (r->type != PERF_RECORD_THROTTLE && r->type != PERF_RECORD_UNTHROTTLE)
		return 0;
	return take_record(&((struct finding *)ctx)->t, r) ? err_nomem(err) : 0;
}

int mux_find_pauses(struct mux_pauses *out, const struct pd *rec, struct err *err)
{
	const struct pass_visitor v = { .sample = visit_sample, .other = visit_other };
	struct finding f = { .out = out, .rec = rec, .t = { VEC_INIT, ITAB_INIT } };
	struct pass *p;
	int ret;

	if (!pd_losses(rec)->throttles)
		return 0;
	p = mux_pass(rec, 1, err); /* in file order */
	if (!p)
		return -1;
	ret = pass_each(p, &v, &f, err);
	vec_sort(out, by_time);
	assert(pairs_hold(out->n, i, out->v[i].time <= out->v[i + 1].time));
	vec_free(&f.t.v);
	itab_free(&f.t.at);
	pass_free(p);
	return ret;
}
