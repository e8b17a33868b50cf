/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/cursor.h"

#include <stdlib.h>

#include "analyse/pass/pass_int.h"
#include "base/vec.h"

#define MARK_EVERY ((size_t)1 << 14) /* bytes */
#define STOP_EVERY 4096u	     /* records */

/* A record with a known place: the walk to those behind it begins here. */
struct mark {
	uint64_t seq;
	const uint8_t *p;
	size_t chunk;
};

struct cursor {
	struct pass *pass;
	struct cursor_bounds b;
	bool bounded; /* by more than the event */
	size_t chunk;
	const uint8_t *at; /* the next record; NULL: the chunk's first */
	struct cursor_row now;
	VEC(struct mark) mark;
	bool marked;
	unsigned count;
	char comm[COMM_TEXT];
};

int cursor_new(struct cursor **out, const struct pd *rec, const struct spaces *spaces,
	       struct err *err)
{
	const struct pass_opts opts = { .threads = 1 };
	struct cursor *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return err_nomem(err);
	if (pass_new(&c->pass, rec, spaces, NULL, &opts, err)) {
		free(c);
		return -1;
	}
	c->pass->wants = PASS_THREAD | PASS_COMM;
	c->chunk = c->pass->n_chunks;
	*out = c;
	return 0;
}

void cursor_free(struct cursor *c)
{
	if (!c)
		return;
	pass_free(c->pass);
	vec_free(&c->mark);
	free(c);
}

const struct cursor_row *cursor_now(const struct cursor *c)
{
	return &c->now;
}

/* ---- places ---------------------------------------------------------------------------------- */

static int set_marks(struct cursor *c, struct err *err)
{
	const struct pass *p = c->pass;

	c->mark.n = 0;
	for (size_t i = 0; i < p->n_chunks; i++) {
		const struct pd_chunk *k = &p->chunks[i];
		const uint8_t *last = NULL;

		for (const uint8_t *at = k->p; at < k->end; at += ld16(at + 6)) {
			struct mark m = { k->seq + (uint64_t)(at - k->p), at, i };

			if (last && (size_t)(at - last) < MARK_EVERY)
				continue;
			last = at;
			if (vec_push(&c->mark, m))
				return err_nomem(err);
		}
	}
	c->marked = true;
	return 0;
}

/* Goes to the last mark that is not behind `seq`; chunks are in the order of places. */
static void go_to(struct cursor *c, uint64_t seq)
{
	size_t low = 0, high = c->mark.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->mark.v[mid].seq <= seq)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return;
	c->chunk = c->mark.v[low - 1].chunk;
	c->at = c->mark.v[low - 1].p;
}

static bool is_any(struct cursor_range r)
{
	return r.low == INT64_MIN && r.high == INT64_MAX;
}

int cursor_begin(struct cursor *c, const struct cursor_bounds *b, struct err *err)
{
	c->b = *b;
	c->bounded = !is_any(b->time) || !is_any(b->cpu) || !is_any(b->pid) || !is_any(b->tid) ||
		     !is_any(b->ip);
	c->chunk = 0;
	c->at = NULL;
	c->now = (struct cursor_row){ .ev = NULL };
	if (b->place.low <= 0)
		return 0;
	if (!c->marked && set_marks(c, err))
		return -1;
	go_to(c, (uint64_t)b->place.low);
	return 0;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static inline bool within(struct cursor_range r, int64_t x)
{
	return x >= r.low && x <= r.high;
}

static bool has32(const uint8_t *p, uint16_t at, struct cursor_range r)
{
	return is_any(r) || (at && within(r, ld32(p + at)));
}

static bool has64(const uint8_t *p, uint16_t at, struct cursor_range r)
{
	return is_any(r) || (at && within(r, (int64_t)ld64(p + at)));
}

static bool is_wanted(const struct cursor_bounds *b, const struct pd_event *ev, const uint8_t *p)
{
	return has64(p, ev->at.time, b->time) && has32(p, ev->at.cpu, b->cpu) &&
	       has32(p, ev->at.tid, b->pid) && has32(p, ev->at.tid ? ev->at.tid + 4 : 0, b->tid) &&
	       has64(p, ev->at.ip, b->ip);
}

/* Returns the event of a sample, as the pass finds it; NULL: none, or it is shorter than it must
 * be. */
static const struct pd_event *event_at(struct cursor *c, const struct pd_record *r)
{
	const struct pass *p = c->pass;
	struct pass_worker *w = p->worker[0];
	int e = p->n_events == 1 ? 0 : w->last_event;

	if (p->n_events != 1 && p->id_at && r->size >= p->id_at + 8u) {
		uint64_t id = ld64(r->p + p->id_at);

		if (id != w->last_id || e < 0) {
			w->last_id = id;
			w->last_event = e = pd_sample_event(p->rec, r);
		}
	} else if (p->n_events != 1) {
		e = pd_sample_event(p->rec, r);
	}
	if (e < 0 || (size_t)e >= p->n_events || r->size < p->ev[e].at.fixed_end)
		return NULL;
	c->now.event = (uint32_t)e;
	return &p->ev[e];
}

static bool is_stopped(struct cursor *c)
{
	return ++c->count % STOP_EVERY == 0 && c->b.stop && c->b.stop(c->b.stop_ctx);
}

static inline bool takes(struct cursor *c)
{
	struct pd_record *r = &c->now.r;

	if ((int64_t)r->seq < c->b.place.low)
		return false;
	c->now.ev = r->type == PERF_RECORD_SAMPLE ? event_at(c, r) : NULL;
	if (c->b.others)
		return true;
	if (!c->now.ev || (c->b.events && !c->b.events[c->now.event]))
		return false;
	return !c->bounded || is_wanted(&c->b, c->now.ev, r->p);
}

bool cursor_next(struct cursor *c)
{
	const struct pass *p = c->pass;

	for (; c->chunk < p->n_chunks; c->chunk++, c->at = NULL) {
		const struct pd_chunk *k = &p->chunks[c->chunk];
		const uint8_t *at = c->at ? c->at : k->p;

		while (at < k->end) {
			c->now.r = (struct pd_record){ at, ld32(at), ld16(at + 4), ld16(at + 6),
						       k->seq + (uint64_t)(at - k->p) };
			at += c->now.r.size;
			if ((int64_t)c->now.r.seq > c->b.place.high || is_stopped(c)) {
				c->chunk = p->n_chunks;
				return false;
			}
			if (!takes(c))
				continue;
			c->at = at;
			return true;
		}
	}
	return false;
}

/* ---- threads
 * ------------------------------------------------------------------------------------- */

int cursor_who(struct cursor *c, struct cursor_who *out, struct err *err)
{
	struct pass *p = c->pass;
	const struct pd_event *ev = c->now.ev;
	const uint8_t *r = c->now.r.p;
	const struct pass_thread *t;
	uint64_t task = UINT64_MAX;

	out->time = !p->has_time ? c->now.r.seq : ev->at.time ? ld64(r + ev->at.time) : 0;
	if (ev->at.tid)
		task = task_of(ld32(r + ev->at.tid), ld32(r + ev->at.tid + 4));
	if (!p->worker[0]->thread && pass_threads_init(p, p->worker[0]))
		return err_nomem(err);
	t = pass_thread(p, 0, task, out->time);
	if (!t)
		return err_nomem(err);
	out->proc = t->proc;
	out->proc_index = t->proc_index;
	out->comm = pass_comm_text(p->sp, t->comm, c->comm);
	out->comm_stays = out->comm != c->comm;
	return 0;
}
