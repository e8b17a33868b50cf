/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples that carry values of counters (PERF_SAMPLE_READ): of a group only the leader samples, and
 * each member's share of a sample is how far its counter got since the sample before.
 *
 *	profile_reads_build(&reads, rec, &err)	what every chunk starts from
 *	reads_prepare(sc, &err)		a copy for one profile
 *	reads_split(w, t, r, ev, &err)	one record -> a sample for each member that counted
 *	reads_free(sc)
 *	profile_samples(rec, ...)	the same as sums by event, without names
 *
 * Chunks are read in parallel and in any order, so the counters' values before a chunk must be
 * known first. A pass over all chunks, in parallel too, keeps the last value of each counter in
 * each chunk; then, in file order, every chunk's last values are exchanged for those it starts
 * from. A counter's samples all come through one buffer, so file order is the order of time.
 *
 * As perf does: a counter starts at 0; if events are inherited, each thread has its own values
 * under the same id (perf before 6.13 mixes them); a member that did not move has no sample.
 * Unlike perf: a counter that went back is a new one that started at 0, not one that counted
 * almost 2^64.
 *
 * Costs: recordings without such samples do not come here. With them, one more pass, and 40 bytes
 * for each different (id, thread) of each chunk.
 */
#include <stdlib.h>

#include "analyse/profile/profile_int.h"
#include "base/xalloc.h"

struct read_last {
	uint64_t id, value;
	uint32_t tid; /* 0: all threads together */
};

struct reads {
	VEC(struct read_last) last;
	struct itab at;
};

/* Returns the value kept under (id, tid), 0 if it is new; NULL when out of memory. */
static uint64_t *value_of(struct reads *t, uint64_t id, uint32_t tid)
{
	struct read_last fresh = { .id = id, .tid = tid };
	uint64_t h = hash_pair(id, tid);
	uint32_t idx;

	for (size_t i = itab_first(&t->at, h); itab_at(&t->at, &i, h, &idx);)
		if (t->last.v[idx].id == id && t->last.v[idx].tid == tid)
			return &t->last.v[idx].value;
	if (itab_put(&t->at, h, t->last.n) || vec_push(&t->last, fresh))
		return NULL;
	return &vec_last(&t->last)->value;
}

/* Returns the growth of a counter since it was read before. */
static uint64_t moved(uint64_t *stood, uint64_t stands)
{
	uint64_t by = stands < *stood ? stands : stands - *stood;

	*stood = stands;
	return by;
}

static uint32_t thread_of(const struct scan_event *ev, const struct pd_sample *s)
{
	return ev->read_by_thread ? s->tid : 0;
}

bool reads_by_thread(const struct pd_event *e)
{
	return e->attr.inherit && e->attr.sample_type & PERF_SAMPLE_TID;
}

bool reads_wanted(const struct pd_event *e)
{
	const struct perf_event_attr *a = &e->attr;

	/* without its id a value has no event */
	return a->sample_type & PERF_SAMPLE_READ && a->read_format & PERF_FORMAT_ID;
}

struct profile_reads {
	const struct pd *rec;
	struct reads *chunk; /* what each starts from */
	size_t n;
};

static int last_values(void *ctx, const struct pass_sample *x, struct err *err)
{
	struct profile_reads *all = ctx;
	uint32_t tid;
	struct pd_sample s;

	if (pd_sample_parse(all->rec, x->r, &s) || !(s.has & PERF_SAMPLE_READ))
		return 0;
	tid = reads_by_thread(x->ev) ? s.tid : 0;
	for (uint64_t k = 0; k < s.n_read; k++) {
		struct pd_read v = pd_read_get(&s, k);
		uint64_t *at = value_of(&all->chunk[x->chunk], v.id, tid);

		if (!at)
			return err_nomem(err);
		*at = v.value;
	}
	return 0;
}

static int read_all(struct profile_reads *all, const bool *split, struct err *err)
{
	const struct pass_visitor v = { .sample = last_values };
	const struct pass_opts po = { .events = split };
	struct pass *p;
	int ret;

	if (pass_new(&p, all->rec, NULL, NULL, &po, err))
		return -1;
	all->n = pass_chunks(p);
	all->chunk = xcalloc(all->n + 1, sizeof(*all->chunk));
	ret = pass_each(p, &v, all, err);
	pass_free(p);
	return ret;
}

/* Each chunk's last values are exchanged for those it starts from. */
static int chain_chunks(struct profile_reads *all, struct err *err)
{
	struct reads now = { 0 };
	int ret = 0;

	for (size_t i = 0; i < all->n && !ret; i++)
		vec_each (&all->chunk[i].last, struct read_last *, it) {
			uint64_t *at = value_of(&now, it->id, it->tid), last = it->value;

			if (!at) {
				ret = err_nomem(err);
				break;
			}
			it->value = *at;
			*at = last;
		}
	vec_free(&now.last);
	itab_free(&now.at);
	return ret;
}

int profile_reads_build(struct profile_reads **out, const struct pd *rec, struct err *err)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	bool *split = xcalloc(n + 1, sizeof(*split)), any = false;
	struct profile_reads *all;
	int ret = 0;

	*out = NULL;
	for (size_t e = 0; e < n; e++)
		any |= split[e] = reads_wanted(&ev[e]);
	if (any) {
		*out = all = xcalloc(1, sizeof(*all));
		all->rec = rec;
		ret = read_all(all, split, err) || chain_chunks(all, err) ? -1 : 0;
	}
	free(split);
	return ret;
}

void profile_reads_free(struct profile_reads *all)
{
	for (size_t i = 0; all && i < all->n; i++) {
		vec_free(&all->chunk[i].last);
		itab_free(&all->chunk[i].at);
	}
	if (all)
		free(all->chunk);
	free(all);
}

int reads_prepare(struct scan *sc, struct err *err)
{
	const struct profile_reads *of = sc->opts->reads;
	struct profile_reads *own = NULL;

	if (!of) {
		if (profile_reads_build(&own, sc->rec, err)) {
			profile_reads_free(own);
			return -1;
		}
		sc->reads = own ? own->chunk : NULL;
		sc->n_reads = own ? own->n : 0;
		free(own);
		return 0;
	}
	sc->n_reads = of->n;
	sc->reads = xcalloc(sc->n_reads + 1, sizeof(*sc->reads));
	for (size_t i = 0; i < of->n; i++)
		vec_each (&of->chunk[i].last, const struct read_last *, it) {
			uint64_t *at = value_of(&sc->reads[i], it->id, it->tid);

			if (!at)
				return err_nomem(err);
			*at = it->value;
		}
	return 0;
}

int reads_split(struct worker *w, size_t chunk, struct scan_sample *s, struct err *err)
{
	const struct scan *sc = w->scan;
	uint32_t tid = thread_of(s->ev, s->full);

	for (uint64_t i = 0; i < s->full->n_read; i++) {
		struct pd_read v = pd_read_get(s->full, i);
		uint64_t *at = value_of(&sc->reads[chunk], v.id, tid);
		int e = pd_id_event(sc->rec, v.id);

		if (!at)
			return err_nomem(err);
		s->period = moved(at, v.value);
		if (e < 0) {
			w->bad[s->ev - sc->ev]++;
			continue;
		}
		s->event = (uint32_t)e;
		if (s->period && scan_sample_take(w, s, err))
			return -1;
	}
	return 0;
}

void reads_free(struct scan *sc)
{
	for (size_t i = 0; sc->reads && i < sc->n_reads; i++) {
		vec_free(&sc->reads[i].last);
		itab_free(&sc->reads[i].at);
	}
	free(sc->reads);
	sc->reads = NULL;
}

/* ---- sums alone ------------------------------------------------------------------------------ */

struct summing {
	const struct pd *rec;
	struct tally *of;
	struct reads now;
};

/* Adds the growth of one sample's values to their events' sums, if it is selected. */
static int sum_values(struct summing *x, const struct pd_sample *s, bool selected, struct err *err)
{
	uint32_t tid = reads_by_thread(s->event) ? s->tid : 0;

	for (uint64_t i = 0; i < s->n_read; i++) {
		struct pd_read v = pd_read_get(s, i);
		uint64_t *at = value_of(&x->now, v.id, tid), by;
		int e = pd_id_event(x->rec, v.id);

		if (!at)
			return err_nomem(err);
		by = moved(at, v.value);
		if (e < 0 || !by || !selected)
			continue;
		x->of[e].samples++;
		x->of[e].period += by;
	}
	return 0;
}

static int sum_sample(struct summing *x, const struct pass_sample *p, bool selected,
		      struct err *err)
{
	const struct perf_event_attr *a = &p->ev->attr;
	struct pd_sample s;

	if (reads_wanted(p->ev))
		return pd_sample_parse(x->rec, p->r, &s) || !(s.has & PERF_SAMPLE_READ)
			       ? 0
			       : sum_values(x, &s, selected, err);
	if (!selected)
		return 0;
	x->of[p->event].samples++;
	if (p->ev->at.period)
		x->of[p->event].period += ld64(p->r->p + p->ev->at.period);
	else
		x->of[p->event].period += a->sample_period ? a->sample_period : 1;
	return 0;
}

static int sum_selected(void *ctx, const struct pass_sample *p, struct err *err)
{
	return sum_sample(ctx, p, true, err);
}

static int sum_left_out(void *ctx, const struct pass_sample *p, struct err *err)
{
	return sum_sample(ctx, p, false, err);
}

int profile_samples(const struct pd *rec, const struct spaces *sp, const struct selection *select,
		    struct tally *of, struct err *err)
{
	const struct pass_visitor v = { .sample = sum_selected, .left_out = sum_left_out };
	const struct pass_opts po = { .threads = 1 }; /* in file order */
	struct summing x = { .rec = rec, .of = of };
	bool any = !selection_all(select);
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	struct pass *p = NULL;
	int rc = 0;

	for (size_t e = 0; e < n; e++)
		any |= reads_wanted(&ev[e]);
	for (size_t e = 0; e < n; e++)
		of[e] = (struct tally){ .samples = any ? 0 : ev[e].samples,
					.period = any ? 0 : ev[e].period };
	if (any)
		rc = pass_new(&p, rec, sp, select, &po, err) || pass_each(p, &v, &x, err) ? -1 : 0;
	pass_free(p);
	vec_free(&x.now.last);
	itab_free(&x.now.at);
	return rc;
}
