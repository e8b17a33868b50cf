/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tracks have: moments of samples, spans of waits. Each is made as fine as it can be, then
 * joined where there is too much of it.
 */
#include "analyse/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/cube/cube_int.h"
#include "analyse/wait.h"
#include "base/xalloc.h"

#define MOMENTS 100000u /* of all tracks of a kind, about */
#define SHARP	(CUBE_BINS * TIMELINE_FINER / 2u)
#define ROUGH	16u /* so many each track may have */

const char *const timeline_kinds[MARK_KINDS] = { "fork", "thread", "exec", "lost", "throttled" };

/* How much the next track may have, of a kind that has `left` for so many more. */
static size_t allowed(size_t rank, size_t left, size_t tracks)
{
	size_t fair = left / (tracks ? tracks : 1);

	if (rank < TIMELINE_SHARP)
		return fair > SHARP ? fair : SHARP;
	return fair > ROUGH ? fair : ROUGH;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Joins 2^level bins: the most sampled moment stays. v: of one track. */
static size_t join_moments(struct timeline_moment *v, size_t n, unsigned level)
{
	size_t k = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		struct timeline_moment x = v[i];

		x.bin >>= level;
		if (k && v[k - 1].bin == x.bin) {
			v[k - 1].samples += x.samples;
			if (x.samples > most) {
				v[k - 1].node = x.node;
				most = x.samples;
			}
			continue;
		}
		most = x.samples;
		v[k++] = x;
	}
	return k;
}

static size_t count_joined(const struct timeline_moment *v, size_t n, unsigned level)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += !i || v[i].bin >> level != v[i - 1].bin >> level;
	return k;
}

struct ranked {
	struct timeline_track track;
	const struct timeline_moment *moment;
	const struct wait_thread *life; /* NULL: not known of it */
	uint64_t used;
	size_t thread; /* of wait.h, if there is a life */
};

static int by_use(const void *va, const void *vb)
{
	const struct ranked *a = va, *b = vb;

	if (a->used != b->used)
		return a->used > b->used ? -1 : 1;
	if (a->track.pid != b->track.pid)
		return a->track.pid < b->track.pid ? -1 : 1;
	if (a->track.tid != b->track.tid)
		return a->track.tid < b->track.tid ? -1 : 1;
	return a->track.cpu < b->track.cpu ? -1 : a->track.cpu > b->track.cpu;
}

static void add_moments(struct timeline *t, struct ranked *r, size_t most)
{
	struct timeline_track *k = &r->track;
	struct timeline_moment *v = t->moment + t->n_moments;

	while (count_joined(r->moment, k->n_moments, k->level) > most)
		k->level++;
	if (k->n_moments)
		memcpy(v, r->moment, k->n_moments * sizeof(*v));
	k->n_moments = join_moments(v, k->n_moments, k->level);
	t->n_moments += k->n_moments;
}

/* ---- waits ----------------------------------------------------------------------------------- */

struct spans_of {	 /* of threads */
	size_t *first;	 /* by thread, one more: in `order` */
	uint32_t *order; /* into wait.span */
};

static void order_spans(struct spans_of *s, const struct wait *w)
{
	size_t sum = 0;

	s->first = xcalloc(w->n_threads + 2, sizeof(*s->first));
	s->order = xcalloc(w->n_spans + 1, sizeof(*s->order));
	for (size_t i = 0; i < w->n_spans; i++)
		s->first[w->span[i].thread + 1]++;
	for (size_t i = 0; i <= w->n_threads; i++) {
		sum += s->first[i];
		s->first[i] = sum;
	}
	for (size_t i = 0; i < w->n_spans; i++)
		s->order[s->first[w->span[i].thread]++] = (uint32_t)i;
	memmove(s->first + 1, s->first, w->n_threads * sizeof(*s->first));
	s->first[0] = 0;
}

struct filling {
	VEC(struct timeline_span) v;
	uint64_t time[WAIT_REASONS]; /* of the bin at hand */
	uint32_t bin;
	bool any;
};

static void put_bins(struct filling *f, uint32_t bin, uint32_t bins, uint32_t reason)
{
	struct timeline_span *last = f->v.n ? vec_last(&f->v) : NULL;

	if (last && last->reason == reason && last->bin + last->bins == bin)
		last->bins += bins;
	else
		vec_xpush(&f->v, ((struct timeline_span){ bin, bins, reason }));
}

static void end_bin(struct filling *f)
{
	uint32_t most = 0;

	if (!f->any)
		return;
	for (uint32_t i = 1; i < WAIT_REASONS; i++)
		if (f->time[i] > f->time[most])
			most = i;
	put_bins(f, f->bin, 1, most);
	memset(f->time, 0, sizeof(f->time));
	f->any = false;
}

static void fill(struct filling *f, uint32_t bin, uint32_t reason, uint64_t time)
{
	if (f->any && f->bin != bin)
		end_bin(f);
	f->bin = bin;
	f->any = true;
	f->time[reason] += time;
}

/* A span's time, from `a` to `b` on the axis in bins of `width`. */
static void fill_span(struct filling *f, uint32_t reason, uint64_t a, uint64_t b, uint64_t width)
{
	uint32_t from = (uint32_t)(a / width), to = (uint32_t)(b / width);

	if (from == to) {
		fill(f, from, reason, b - a);
		return;
	}
	fill(f, from, reason, (from + 1) * width - a);
	if (to > from + 1) {
		end_bin(f);
		put_bins(f, from + 1, to - from - 1, reason);
	}
	if (b > to * width)
		fill(f, to, reason, b - to * width);
}

static void fill_spans(struct filling *f, const struct timeline *t, const struct wait *w,
		       const struct spans_of *s, size_t thread, uint64_t width)
{
	const uint64_t end = t->width > UINT64_MAX / t->n_bins ? UINT64_MAX : t->width * t->n_bins;

	f->v.n = 0;
	for (size_t i = s->first[thread]; i < s->first[thread + 1]; i++) {
		const struct wait_span *x = &w->span[s->order[i]];
		uint64_t a = x->from > t->from ? x->from - t->from : 0,
			 b = x->until > t->from ? x->until - t->from : 0;

		b = b < end ? b : end;
		if (a < b)
			fill_span(f, x->reason, a, b, width);
	}
	end_bin(f);
}

/* ---- tracks ---------------------------------------------------------------------------------- */

struct gathering {
	struct timeline *t;
	const struct wait *w;
	struct spans_of spans;
	struct filling filling;
	VEC(struct timeline_span) span;
	VEC(struct ranked) track;
};

static void add_spans(struct gathering *g, struct ranked *r, size_t most)
{
	struct timeline_track *k = &r->track;

	if (!r->life)
		return;
	for (;; k->span_level++) {
		fill_spans(&g->filling, g->t, g->w, &g->spans, r->thread,
			   g->t->width << k->span_level);
		if (g->filling.v.n <= most)
			break;
	}
	k->n_spans = g->filling.v.n;
	vec_each (&g->filling.v, const struct timeline_span *, x)
		vec_xpush(&g->span, *x);
}

/* Busiest first; each as fine as there is room. */
static void add_tracks(struct gathering *g, size_t from)
{
	struct timeline *t = g->t;
	size_t n = g->track.n - from, moments = MOMENTS, spans = MOMENTS;

	if (n)
		qsort(g->track.v + from, n, sizeof(*g->track.v), by_use);
	for (size_t i = 0; i < n; i++) {
		struct ranked *r = &g->track.v[from + i];

		add_moments(t, r, allowed(i, moments, n - i));
		moments -= r->track.n_moments < moments ? r->track.n_moments : moments;
		add_spans(g, r, allowed(i, spans, n - i));
		spans -= r->track.n_spans < spans ? r->track.n_spans : spans;
		t->track[t->n_tracks++] = r->track;
	}
}

/* Lives of one number one after another: the first has the moments of all. */
static void find_lives(struct gathering *g)
{
	const struct wait *w = g->w;
	struct u64map at = { 0 };
	bool fresh;

	for (size_t i = 0; i < g->track.n; i++) {
		const struct timeline_track *k = &g->track.v[i].track;

		*u64map_xat(&at, (uint64_t)k->pid << 32 | k->tid, &fresh) = i;
	}
	for (size_t i = 0; w && i < w->n_threads; i++) {
		const struct wait_thread *l = &w->thread[i];
		const struct timeline_track k = {
			.pid = l->pid, .tid = l->tid, .cpu = CUBE_NONE, .comm = l->comm
		};
		uint64_t *n;

		if (!l->wanted)
			continue;
		n = u64map_xat(&at, (uint64_t)l->pid << 32 | l->tid, &fresh);
		if (fresh || g->track.v[*n].life) {
			*n = g->track.n;
			vec_xpush(&g->track, ((struct ranked){ .track = k }));
		}
		g->track.v[*n].life = l;
		g->track.v[*n].thread = i;
	}
	u64map_free(&at);
	vec_each (&g->track, struct ranked *, r)
		r->used = r->life ? r->life->time[WAIT_RAN] : w ? 0 : r->track.samples;
}

/* Those of one pid and tid are one thread, whatever its names: the last name that has samples. */
static void list_threads(struct gathering *g, const struct making *m)
{
	const struct timeline_moment *v = m->moment[0].v;

	for (size_t i = 0; i < m->n_moment_tracks[0]; i++) {
		const struct moment_track *x = &m->moment_track[0][i];
		const struct stack_thread *th = &m->s->thread[x->id];

		vec_xpush(&g->track, ((struct ranked){ .track = { .pid = th->pid,
								  .tid = th->tid,
								  .cpu = CUBE_NONE,
								  .comm = th->comm,
								  .samples = x->samples,
								  .n_moments = x->n },
						       .moment = v + x->first }));
	}
}

static void list_track_cpus(struct gathering *g, const struct making *m)
{
	const struct timeline_moment *v = m->moment[1].v;

	for (size_t i = 0; i < m->n_moment_tracks[1]; i++) {
		const struct moment_track *x = &m->moment_track[1][i];

		vec_xpush(&g->track, ((struct ranked){ .track = { .pid = CUBE_NONE,
								  .tid = CUBE_NONE,
								  .cpu = m->cpu[x->id],
								  .samples = x->samples,
								  .n_moments = x->n },
						       .moment = v + x->first,
						       .used = x->samples }));
	}
}

void timeline_of(struct timeline **out, const struct cube *c, const struct wait *w)
{
	const struct making *m = (const struct making *)c; /* its first member */
	struct timeline *t = *out = NULL;
	struct gathering g = { .w = w };
	size_t threads;

	if (!c->width || !m->fine)
		return;
	g.t = t = xcalloc(1, sizeof(*t));
	t->from = c->from;
	t->width = m->fine;
	t->n_bins = (uint32_t)((m->last - c->from) / m->fine + 1);
	t->moment = xcalloc(m->moment[0].n + m->moment[1].n + 1, sizeof(*t->moment));
	if (w)
		order_spans(&g.spans, w);
	list_threads(&g, m);
	find_lives(&g);
	threads = g.track.n;
	list_track_cpus(&g, m);
	t->track = xcalloc(g.track.n + 1, sizeof(*t->track));
	{
		size_t all = g.track.n;

		g.track.n = threads;
		add_tracks(&g, 0);
		g.track.n = all;
		add_tracks(&g, threads);
	}
	t->span = g.span.v;
	t->n_spans = g.span.n;
	timeline_marks(t, m);
	vec_free(&g.filling.v);
	vec_free(&g.track);
	free(g.spans.first);
	free(g.spans.order);
	*out = t;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	free(t->track);
	free(t->moment);
	free(t->span);
	free(t->mark);
	free(t);
}
