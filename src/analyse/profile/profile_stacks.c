/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples kept with their chains: each worker lists (chain, thread, time, period) beside its
 * counts; then sites are numbered by place, chains put in order and laid out as a tree, threads
 * numbered by their ids, and samples put in order. So nothing depends on a worker's share of the
 * recording, and the result is the same in each run.
 */
#include "analyse/profile/profile_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

struct stacking {
	struct profile *p;
	const struct scan *sc;
	uint32_t *rank; /* of a site of the profile: its number in the order of places */
	struct chain_ref *ref;
	size_t n_chains;
	uint32_t **thread; /* by worker and party */
};

/* Sites as they are handed out: in the order of their places. */
static int number_sites(struct stacking *st, struct err *err)
{
	const struct profile *p = st->p;
	struct profile_stacks *s = &st->p->stacks;
	size_t n = p->sites.n;

	s->site = calloc(n + 1, sizeof(*s->site));
	s->frame_id = malloc((p->n_frame_ids + 1) * sizeof(*s->frame_id));
	st->rank = malloc((n + 1) * sizeof(*st->rank));
	if (!s->site || !s->frame_id || !st->rank)
		return err_nomem(err);
	if (p->n_frame_ids)
		memcpy(s->frame_id, p->frame_ids, p->n_frame_ids * sizeof(*s->frame_id));
	s->frame = p->frames;
	s->n_frames = p->chains.n_frames;
	for (size_t i = 0; i < n; i++) {
		const struct site *from = &p->sites.v[p->order[i]];
		const struct named_site *pl = &p->place[p->order[i]];

		s->site[i] =
			(struct stack_site){ from->addr, from->image,	  from->kind,  from->caller,
					     pl->symbol, pl->frame_first, pl->n_frames };
		st->rank[p->order[i]] = (uint32_t)i;
	}
	s->n_sites = n;
	return 0;
}

/* All chains, of sites by their new numbers, in order. */
static int order_chains(struct stacking *st, struct err *err)
{
	const struct scan *sc = st->sc;

	for (unsigned w = 0; w < sc->n_workers; w++)
		st->n_chains += walk_n_chains(sc->worker[w].walk);
	if (st->n_chains >= UINT32_MAX)
		return err_set(err, ERR_LIMIT, "more than 4 G different call chains");
	st->ref = malloc((st->n_chains + 1) * sizeof(*st->ref));
	if (!st->ref)
		return err_nomem(err);
	st->n_chains = 0;
	for (unsigned w = 0; w < sc->n_workers; w++) {
		const uint32_t *map = st->p->site_map[w];

		for (size_t i = 0; i < walk_n_chains(sc->worker[w].walk); i++) {
			struct walk_chain *c = walk_chain_at(sc->worker[w].walk, i);

			for (uint32_t k = 0; k < c->n_at; k++)
				c->at[k] = st->rank[map[c->at[k]]];
			st->ref[st->n_chains++].c = c;
		}
	}
	return chains_sort(st->ref, st->n_chains, st->p->opts.threads, err);
}

/* From here on a chain's `hi` is its node. */
static int make_tree(struct stacking *st, struct err *err)
{
	struct profile_stacks *s = &st->p->stacks;
	VEC(uint32_t) path = VEC_INIT;
	size_t n = 1;

	for (size_t i = 0; i < st->n_chains; i++)
		n += st->ref[i].c->n_at - (i ? (size_t)st->ref[i].key : 0);
	if (n >= UINT32_MAX)
		return err_set(err, ERR_LIMIT, "more than 4 G nodes of call chains");
	s->node = calloc(n, sizeof(*s->node));
	if (!s->node || vec_push(&path, 0))
		goto nomem;
	s->n_nodes = 1;
	for (size_t i = 0; i < st->n_chains; i++) {
		struct walk_chain *c = st->ref[i].c;
		size_t shared = i ? (size_t)st->ref[i].key : 0;

		if (vec_reserve(&path, (size_t)c->n_at + 1))
			goto nomem;
		for (size_t k = shared; k < c->n_at; k++) {
			s->node[s->n_nodes] = (struct stack_node){ path.v[k], c->at[k] };
			path.v[k + 1] = (uint32_t)s->n_nodes++;
		}
		c->hi = path.v[c->n_at];
	}
	vec_free(&path);
	return 0;
nomem:
	vec_free(&path);
	return err_nomem(err);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct thread_ref {
	struct stack_thread t;
	uint32_t worker, party;
};

static int by_thread(const void *va, const void *vb)
{
	const struct thread_ref *a = va, *b = vb;

	if (a->t.pid != b->t.pid)
		return a->t.pid < b->t.pid ? -1 : 1;
	if (a->t.tid != b->t.tid)
		return a->t.tid < b->t.tid ? -1 : 1;
	return strcmp(a->t.comm, b->t.comm);
}

static int list_threads(struct stacking *st, struct thread_ref *v, struct err *err)
{
	const struct scan *sc = st->sc;
	size_t n = 0;

	for (unsigned w = 0; w < sc->n_workers; w++) {
		size_t n_parties = sc->worker[w].party.n;

		st->thread[w] = calloc(n_parties + 1, sizeof(**st->thread));
		if (!st->thread[w])
			return err_nomem(err);
		for (size_t i = 0; i < n_parties; i++) {
			const struct scan_party *o = &sc->worker[w].party.v[i];
			char buf[COMM_TEXT];
			uint32_t id =
				strtab_adds(&st->p->strings, pass_comm_text(sc->sp, o->comm, buf));

			if (id == STR_NONE)
				return err_nomem(err);
			v[n++] = (struct thread_ref){
				{ strtab_get(&st->p->strings, id), o->pid, o->tid }, w, (uint32_t)i
			};
		}
	}
	return 0;
}

static int number_threads(struct stacking *st, struct err *err)
{
	struct profile_stacks *s = &st->p->stacks;
	const struct scan *sc = st->sc;
	struct thread_ref *v;
	size_t n = 0;
	int ret = -1;

	for (unsigned w = 0; w < sc->n_workers; w++)
		n += sc->worker[w].party.n;
	v = malloc((n + 1) * sizeof(*v));
	s->thread = malloc((n + 1) * sizeof(*s->thread));
	st->thread = calloc(sc->n_workers + 1, sizeof(*st->thread));
	if (!v || !s->thread || !st->thread) {
		(void)err_nomem(err);
		goto out;
	}
	if (list_threads(st, v, err))
		goto out;
	if (n > 1)
		qsort(v, n, sizeof(*v), by_thread);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_thread(&v[i - 1], &v[i]))
			s->thread[s->n_threads++] = v[i].t;
		st->thread[v[i].worker][v[i].party] = (uint32_t)s->n_threads - 1;
	}
	ret = 0;
out:
	free(v);
	return ret;
}

/* ---- samples --------------------------------------------------------------------------------- */

#define ORDER(x, y)                                \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

static int by_time(const void *va, const void *vb)
{
	const struct stack_sample *a = va, *b = vb;

	ORDER(a->thread, b->thread);
	ORDER(a->time, b->time);
	ORDER(a->event, b->event);
	ORDER(a->node, b->node);
	ORDER(a->period, b->period);
	ORDER(a->cpu, b->cpu);
	return 0;
}

static int by_node(const struct stack_sample *a, const struct stack_sample *b)
{
	ORDER(a->node, b->node);
	ORDER(a->thread, b->thread);
	ORDER(a->event, b->event);
	return 0;
}

/* By node, thread and event; a million samples are too many for qsort. */
static int sort_by_node(struct profile_stacks *s, struct err *err)
{
	size_t n = s->n_samples;
	struct keyed *v = malloc((n + 1) * sizeof(*v)), *scratch = malloc((n + 1) * sizeof(*v));
	struct stack_sample *out = malloc((n + 1) * sizeof(*out));
	bool ok = v && scratch && out;

	for (size_t i = 0; ok && i < n; i++)
		v[i] = (struct keyed){ s->sample[i].event, (uint32_t)i, 0 };
	if (ok)
		keyed_sort(v, scratch, n);
	for (size_t i = 0; ok && i < n; i++)
		v[i].key = (uint64_t)s->sample[v[i].a].node << 32 | s->sample[v[i].a].thread;
	if (ok)
		keyed_sort(v, scratch, n);
	for (size_t i = 0; ok && i < n; i++)
		out[i] = s->sample[v[i].a];
	free(v);
	free(scratch);
	if (!ok) {
		free(out);
		return err_nomem(err);
	}
	free(s->sample);
	s->sample = out;
	return 0;
}

/* Hands out the workers' cells as they are. */
static int hand_out_cells(struct stacking *st, struct err *err)
{
	struct profile_stacks *s = &st->p->stacks;

	s->part = calloc(st->sc->n_workers, sizeof(*s->part));
	if (!s->part)
		return err_nomem(err);
	s->n_parts = st->sc->n_workers;
	for (unsigned w = 0; w < st->sc->n_workers; w++) {
		const struct walk *walk = st->sc->worker[w].walk;
		struct stack_cells *k = walk_cells(st->sc->worker[w].walk);
		struct stack_part *part = &s->part[w];

		*part = (struct stack_part){ .cell = k->v.v,
					     .place = k->place.v,
					     .n_cells = k->v.n,
					     .n_places = k->place.n,
					     .n_chains = walk_n_chains(walk),
					     .n_sites = st->p->n_site_map[w] };
		memset(&k->v, 0, sizeof(k->v)); /* they are the part's now */
		memset(&k->place, 0, sizeof(k->place));
		part->node = malloc((part->n_chains + 1) * sizeof(*part->node));
		part->site = malloc((part->n_sites + 1) * sizeof(*part->site));
		if (!part->node || !part->site)
			return err_nomem(err);
		for (size_t i = 0; i < part->n_sites; i++)
			part->site[i] = st->rank[st->p->site_map[w][i]];
		for (size_t i = 0; i < part->n_chains; i++)
			part->node[i] = (uint32_t)walk_chain_at(walk, i)->hi;
		for (size_t i = 0; i < part->n_places; i++)
			part->place[i].thread = st->thread[w][part->place[i].thread];
	}
	return 0;
}

static void merge_equal(struct profile_stacks *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_samples; i++) {
		if (n && !by_node(&s->sample[n - 1], &s->sample[i])) {
			s->sample[n - 1].n += s->sample[i].n;
			s->sample[n - 1].period += s->sample[i].period;
		} else {
			s->sample[n++] = s->sample[i];
		}
	}
	s->n_samples = n;
}

static int order_samples(struct stacking *st, struct err *err)
{
	struct profile_stacks *s = &st->p->stacks;
	bool merge = st->p->opts.stacks != STACKS_EACH;
	size_t n = 0;

	if (st->p->opts.stacks == STACKS_CELLS)
		return hand_out_cells(st, err);
	for (unsigned w = 0; w < st->sc->n_workers; w++)
		n += walk_kept(st->sc->worker[w].walk)->v.n;
	s->sample = malloc((n + 1) * sizeof(*s->sample));
	if (!s->sample)
		return err_nomem(err);
	for (unsigned w = 0; w < st->sc->n_workers; w++) {
		struct stack_keep *k = walk_kept(st->sc->worker[w].walk);

		vec_each (&k->v, const struct stack_kept *, o)
			s->sample[s->n_samples++] = (struct stack_sample){ o->time,
									   o->n,
									   o->period,
									   o->chain->event,
									   (uint32_t)o->chain->hi,
									   st->thread[w][o->party],
									   o->cpu };
		vec_free(&k->v);
	}
	if (!merge && n > 1)
		qsort(s->sample, n, sizeof(*s->sample), by_time);
	if (merge && sort_by_node(s, err))
		return -1;
	if (merge)
		merge_equal(s);
	return 0;
}

int make_stacks(struct profile *p, const struct scan *sc, struct err *err)
{
	struct stacking st = { .p = p, .sc = sc };
	int ret = number_sites(&st, err) || order_chains(&st, err) || make_tree(&st, err) ||
				  number_threads(&st, err) || order_samples(&st, err)
			  ? -1
			  : 0;

	for (unsigned w = 0; st.thread && w < sc->n_workers; w++)
		free(st.thread[w]);
	free(st.thread);
	free(st.rank);
	free(st.ref);
	return ret;
}

void stacks_free(struct profile *p)
{
	struct profile_stacks *s = &p->stacks;

	free(s->site);
	free(s->frame_id);
	free(s->node);
	free(s->thread);
	free(s->sample);
	for (size_t i = 0; i < s->n_parts; i++) {
		free(s->part[i].cell);
		free(s->part[i].place);
		free(s->part[i].node);
		free(s->part[i].site);
	}
	free(s->part);
}
