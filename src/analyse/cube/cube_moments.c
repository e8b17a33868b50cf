/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each thread and each CPU did in each fine bin: one node that stands for the bin.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/cube/cube_int.h"
#include "analyse/timeline.h"
#include "base/sort.h"
#include "base/xalloc.h"

#define FINE_BINS (CUBE_BINS * TIMELINE_FINER)

struct part_weight {
	uint32_t node; /* 1 + its number; 0: none */
	uint64_t samples, period;
};

struct finding {
	struct making *m;
	size_t *first; /* by bin and part, one more: its cells in `order` */
	uint32_t *order;
	uint32_t *track; /* by thread: the first one of its pid and tid */
	uint64_t *named; /* by thread: samples */
	uint64_t *of;	 /* by frame, of those of the track at hand: period */
	struct keyed *key, *scratch;
	struct part_weight *w;
	size_t room; /* of key, scratch, w */
	VEC(struct found {
		uint32_t track;
		struct timeline_moment moment;
	})
	found;
};

static void order_bins(struct finding *f)
{
	const struct profile_stacks *s = f->m->s;
	const size_t n_runs = (size_t)FINE_BINS * s->n_parts;
	size_t n = 0, sum = 0;

	for (size_t i = 0; i < s->n_parts; i++)
		n += s->part[i].n_cells;
	f->first = xcalloc(n_runs + 2, sizeof(*f->first));
	f->order = xcalloc(n + 1, sizeof(*f->order));
	for (size_t i = 0; i < s->n_parts; i++)
		for (size_t k = 0; k < s->part[i].n_cells; k++)
			f->first[s->part[i].cell[k].bin * s->n_parts + i]++;
	for (size_t r = 0; r <= n_runs; r++) {
		size_t here = f->first[r];

		f->first[r] = sum;
		sum += here;
	}
	for (size_t i = 0; i < s->n_parts; i++)
		for (size_t k = 0; k < s->part[i].n_cells; k++)
			f->order[f->first[s->part[i].cell[k].bin * s->n_parts + i]++] = (uint32_t)k;
	memmove(f->first + 1, f->first, n_runs * sizeof(*f->first));
	f->first[0] = 0;
}

/* 1 + the number of the node, or of its innermost caller that has one; 0: none has. */
static uint32_t node_of(const struct making *m, const struct stack_cell *x)
{
	uint32_t to = m->to[x->callers] & ~FOLDED;

	return to ? m->number[to] + 1 : 0;
}

static size_t gather_bin(struct finding *f, size_t bin, bool cpus)
{
	const struct profile_stacks *s = f->m->s;
	size_t n = f->first[(bin + 1) * s->n_parts] - f->first[bin * s->n_parts], k = 0;

	if (n > f->room) {
		f->room = n * 2;
		free(f->key);
		free(f->scratch);
		free(f->w);
		f->key = xcalloc(f->room, sizeof(*f->key));
		f->scratch = xcalloc(f->room, sizeof(*f->scratch));
		f->w = xcalloc(f->room, sizeof(*f->w));
	}
	for (size_t i = 0; i < s->n_parts; i++)
		for (size_t r = f->first[bin * s->n_parts + i];
		     r < f->first[bin * s->n_parts + i + 1]; r++) {
			const struct stack_cell *x = &s->part[i].cell[f->order[r]];
			const struct stack_place *at = &s->part[i].place[x->place];
			uint32_t track = cpus ? at->cpu : f->track[at->thread];

			if (track == CUBE_NONE)
				continue;
			if (!cpus)
				f->named[at->thread] += x->n;
			f->w[k] = (struct part_weight){ node_of(f->m, x), x->n, x->period };
			f->key[k] = (struct keyed){ (uint64_t)track << 32 | f->w[k].node,
						    (uint32_t)k, 0 };
			k++;
		}
	return k;
}

/* The function whose code the node's is in. */
static size_t frame_at(const struct making *m, uint32_t node)
{
	uint32_t frame = node ? m->node[cube_owner(&m->c, node - 1)].frame : CUBE_NONE;

	return frame == CUBE_NONE ? m->c.n_frames : frame;
}

/* Cells key[from..to) of one track and bin, by node. */
static void pick(struct finding *f, size_t bin, size_t from, size_t to)
{
	const struct making *m = f->m;
	struct found x = { (uint32_t)(f->key[from].key >> 32), { (uint32_t)bin, CUBE_NONE, 0 } };
	uint64_t most = 0, in_node = 0, here = 0;
	size_t frame = SIZE_MAX;

	for (size_t i = from; i < to; i++)
		f->of[frame_at(m, (uint32_t)f->key[i].key)] += f->w[f->key[i].a].period;
	for (size_t i = from; i < to; i++) {
		size_t at = frame_at(m, (uint32_t)f->key[i].key);

		x.moment.samples += f->w[f->key[i].a].samples;
		if (frame == SIZE_MAX || f->of[at] > most || (f->of[at] == most && at < frame)) {
			most = f->of[at];
			frame = at;
		}
	}
	for (size_t i = from; i < to; i++) {
		uint32_t node = (uint32_t)f->key[i].key;

		f->of[frame_at(m, node)] = 0;
		here = (i > from && f->key[i - 1].key == f->key[i].key ? here : 0) +
		       f->w[f->key[i].a].period;
		if (frame_at(m, node) == frame && node && here > in_node) {
			in_node = here;
			x.moment.node = node - 1;
		}
	}
	vec_xpush(&f->found, x);
}

static void find_bin(struct finding *f, size_t bin, bool cpus)
{
	size_t n = gather_bin(f, bin, cpus), from = 0;

	keyed_sort(f->key, f->scratch, n);
	for (size_t i = 1; i <= n; i++)
		if (i == n || f->key[i].key >> 32 != f->key[from].key >> 32) {
			pick(f, bin, from, i);
			from = i;
		}
}

/* By track, then bin. tracks: how many there can be. */
static void hand_over(struct finding *f, unsigned kind, size_t tracks)
{
	struct making *m = f->m;
	size_t *first = xcalloc(tracks + 2, sizeof(*first)), sum = 0, k = 0;

	vec_xreserve(&m->moment[kind], f->found.n + 1);
	m->moment[kind].n = f->found.n;
	m->moment_track[kind] = xcalloc(tracks + 1, sizeof(*m->moment_track[kind]));
	vec_each (&f->found, const struct found *, x)
		first[x->track]++;
	for (size_t i = 0; i < tracks; i++) {
		size_t here = first[i];

		first[i] = sum;
		if (here)
			m->moment_track[kind][k++] =
				(struct moment_track){ (uint32_t)i, sum, here, 0 };
		sum += here;
	}
	m->n_moment_tracks[kind] = k;
	vec_each (&f->found, const struct found *, x)
		m->moment[kind].v[first[x->track]++] = x->moment;
	for (size_t i = 0; i < k; i++) {
		struct moment_track *t = &m->moment_track[kind][i];

		for (size_t j = t->first; j < t->first + t->n; j++)
			t->samples += m->moment[kind].v[j].samples;
	}
	free(first);
	f->found.n = 0;
}

/* A thread has the name under which it has most samples. */
static void name_tracks(struct finding *f)
{
	struct making *m = f->m;

	for (size_t i = 0; i < m->n_moment_tracks[0]; i++) {
		struct moment_track *t = &m->moment_track[0][i];

		for (uint32_t k = t->id + 1; k < m->s->n_threads && f->track[k] == f->track[t->id];
		     k++)
			if (f->named[k] > f->named[t->id])
				t->id = k;
	}
}

void cube_find_moments(struct making *m)
{
	struct finding f = { .m = m };
	size_t n = m->s->n_threads;

	f.track = xcalloc(n + 1, sizeof(*f.track));
	f.named = xcalloc(n + 1, sizeof(*f.named));
	f.of = xcalloc(m->c.n_frames + 1, sizeof(*f.of));
	for (size_t i = 0; i < n; i++)
		f.track[i] = i && m->s->thread[i].pid == m->s->thread[i - 1].pid &&
					     m->s->thread[i].tid == m->s->thread[i - 1].tid
				     ? f.track[i - 1]
				     : (uint32_t)i;
	order_bins(&f);
	for (size_t bin = 0; bin < FINE_BINS; bin++)
		find_bin(&f, bin, false);
	hand_over(&f, 0, n);
	name_tracks(&f);
	for (size_t bin = 0; bin < FINE_BINS; bin++)
		find_bin(&f, bin, true);
	hand_over(&f, 1, m->n_all_cpus);
	free(f.first);
	free(f.order);
	free(f.track);
	free(f.named);
	free(f.of);
	free(f.key);
	free(f.scratch);
	free(f.w);
	vec_free(&f.found);
}
