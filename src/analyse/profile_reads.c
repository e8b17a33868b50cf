/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples that carry what counters stood at (PERF_SAMPLE_READ): of a group only the leader samples,
 * and each member's share of a sample is how far its counter got since the sample before.
 *
 *	reads_prepare(sc, &err)		what every chunk starts from
 *	reads_split(w, t, r, ev, &err)	one record -> a sample for each member that counted
 *	reads_free(sc)
 *
 * Chunks are read in parallel and in any order, so what the counters stood at before a chunk must
 * be known first. A pass over all chunks, in parallel too, keeps the last value of each counter in
 * each chunk; then, in file order, every chunk's last values are exchanged for those it starts
 * from. A counter's samples all come through one buffer, so file order is the order of time.
 *
 * As perf does: a counter starts at 0; where events are inherited, each thread has its own values
 * under the same id (perf before 6.13 mixes them); a member that did not move has no sample. Other
 *than perf does: a counter that went back is a new one that started at 0, not one that counted
 *almost 2^64.
 *
 * Costs: recordings without such samples do not come here. With them, one more pass, and 40 bytes
 * for each different (id, thread) of each chunk.
 */
#include <stdlib.h>

#include "analyse/profile_int.h"
#include "base/task.h"

struct read_last {
	uint64_t id, value;
	uint32_t tid; /* 0: all threads together */
};

struct reads {
	VEC(struct read_last) last;
	struct itab at;
};

/* The value kept under (id, tid), 0 where it is new; NULL when out of memory. */
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

static uint32_t thread_of(const struct scan_event *ev, const struct pd_sample *s)
{
	return ev->read_by_thread ? s->tid : 0;
}

bool reads_wanted(const struct pd_event *e)
{
	const struct perf_event_attr *a = &e->attr;

	/* without its id nobody can tell whose a value is */
	return a->sample_type & PERF_SAMPLE_READ && a->read_format & PERF_FORMAT_ID;
}

static int last_values(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct scan *sc = ctx;
	struct pd_record r = { NULL, 0, 0, 0, 0 };

	(void)worker;
	while (pd_next(&sc->chunks[i], &r)) {
		const struct scan_event *ev;
		struct pd_sample s;

		if (r.type != PERF_RECORD_SAMPLE || pd_sample_parse(sc->rec, &r, &s))
			continue;
		ev = &sc->ev[s.event_index];
		if (!ev->split || !(s.has & PERF_SAMPLE_READ))
			continue;
		for (uint64_t k = 0; k < s.n_read; k++) {
			struct pd_read v = pd_read_get(&s, k);
			uint64_t *at = value_of(&sc->reads[i], v.id, thread_of(ev, &s));

			if (!at)
				return err_nomem(err);
			*at = v.value;
		}
	}
	return 0;
}

int reads_prepare(struct scan *sc, struct err *err)
{
	struct reads now = { 0 };
	bool any = false;
	int ret = -1;

	for (size_t e = 0; e < sc->n_events; e++)
		any |= sc->ev[e].split;
	if (!any || !sc->n_chunks)
		return 0;
	sc->reads = calloc(sc->n_chunks, sizeof(*sc->reads));
	if (!sc->reads)
		return err_nomem(err);
	if (task_for(sc->n_chunks, sc->n_workers, last_values, sc, err))
		return -1;
	for (size_t i = 0; i < sc->n_chunks; i++) {
		vec_each (&sc->reads[i].last, struct read_last *, it) {
			uint64_t *at = value_of(&now, it->id, it->tid), last = it->value;

			if (!at) {
				(void)err_nomem(err);
				goto out;
			}
			it->value = *at;
			*at = last;
		}
	}
	ret = 0;
out:
	vec_free(&now.last);
	itab_free(&now.at);
	return ret;
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
		s->period = v.value < *at ? v.value : v.value - *at;
		*at = v.value;
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
	for (size_t i = 0; sc->reads && i < sc->n_chunks; i++) {
		vec_free(&sc->reads[i].last);
		itab_free(&sc->reads[i].at);
	}
	free(sc->reads);
	sc->reads = NULL;
}
