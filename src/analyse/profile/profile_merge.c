/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' tables into one. Only different sites and hits are touched, not samples.
 *
 * All slots of all workers are laid out by group, and so by image; then each image's are sorted by
 * address, images in parallel. Equal neighbours then are one site, or one hit. So sites come out in
 * the order of image and address, hits in the order of their sites.
 */
#include "analyse/profile/profile_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/sort.h"
#include "base/task.h"

#define AHEAD 16u /* sites of chains that are looked up together */

/* The slots of one image: sorted by address, and by group at the same address. */
struct run {
	size_t first, n;
	size_t n_sites, n_hits, first_site, first_hit;
};

struct merge {
	struct profile *p;
	struct scan *sc;
	struct count_group *group; /* of all workers, sorted */
	uint32_t *rank;		   /* of a worker's group: place in `group`; workers one by one */
	uint32_t *as;		   /* by place in `group`: index into profile.group */
	size_t n_groups;
	struct keyed *slot, *scratch; /* key: address, a: place in `group`, b: n */
	size_t *more;		      /* by worker: the begin of its weights in `weight` */
	size_t n_slots;
	struct weight *weight;
	struct run *run;
	size_t n_runs;
};

/* ---- groups ---- */

#define ORDER(x, y)                                \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

/* By image first. The period last: keys that differ only by that are one group. */
static int by_value(const struct count_group *a, const struct count_group *b, bool period)
{
	ORDER(a->image, b->image);
	ORDER(a->kind, b->kind);
	ORDER(a->event, b->event);
	ORDER(a->comm, b->comm);
	ORDER(a->pid, b->pid);
	ORDER(a->tid, b->tid);
	ORDER(a->cpu, b->cpu);
	ORDER(a->cgroup, b->cgroup);
	if (!period)
		return 0;
	ORDER(a->period, b->period);
	ORDER(a->varies, b->varies);
	return 0;
}

struct group_ref {
	const struct count_group *g;
	size_t at; /* in `rank` */
};

static int by_group(const void *va, const void *vb)
{
	const struct group_ref *a = va, *b = vb;

	return by_value(a->g, b->g, true);
}

static int sort_groups(struct merge *m, struct err *err)
{
	struct group_ref *ref;
	size_t n = 0;

	for (unsigned i = 0; i < m->sc->n_workers; i++)
		n += m->sc->worker[i].counts.group.n;
	ref = malloc((n + 1) * sizeof(*ref));
	m->group = malloc((n + 1) * sizeof(*m->group));
	m->rank = malloc((n + 1) * sizeof(*m->rank));
	m->as = malloc((n + 1) * sizeof(*m->as));
	m->p->group = malloc((n + 1) * sizeof(*m->p->group));
	if (!ref || !m->group || !m->rank || !m->as || !m->p->group) {
		free(ref);
		return err_nomem(err);
	}
	n = 0;
	for (unsigned i = 0; i < m->sc->n_workers; i++)
		vec_each (&m->sc->worker[i].counts.group, const struct count_group *, g) {
			ref[n] = (struct group_ref){ g, n };
			n++;
		}
	qsort(ref, n, sizeof(*ref), by_group);
	for (size_t i = 0; i < n; i++) {
		struct count_group *last = m->n_groups ? &m->group[m->n_groups - 1] : NULL;

		if (!last || by_value(last, ref[i].g, true)) {
			if (!last || by_value(last, ref[i].g, false))
				m->p->group[m->p->n_groups++] = *ref[i].g;
			m->as[m->n_groups] = (uint32_t)m->p->n_groups - 1;
			m->group[m->n_groups++] = *ref[i].g;
		}
		m->rank[ref[i].at] = (uint32_t)m->n_groups - 1;
	}
	free(ref);
	return 0;
}

/* ---- slots ---- */

/* Weights of all workers behind one another. */
static int take_weights(struct merge *m, struct err *err)
{
	size_t n = 0;

	for (unsigned i = 0; i < m->sc->n_workers; i++)
		n += m->sc->worker[i].counts.more.n;
	if (n > UINT32_MAX - 1)
		return err_set(err, ERR_LIMIT, "more than 4 G different places and periods");
	m->more = malloc((m->sc->n_workers + 1) * sizeof(*m->more));
	m->weight = malloc((n + 1) * sizeof(*m->weight));
	if (!m->more || !m->weight)
		return err_nomem(err);
	n = 0;
	for (unsigned i = 0; i < m->sc->n_workers; i++) {
		const struct counts *c = &m->sc->worker[i].counts;

		m->more[i] = n;
		if (c->more.n)
			memcpy(m->weight + n, c->more.v, c->more.n * sizeof(*m->weight));
		n += c->more.n;
	}
	return 0;
}

/* Lays the slots out by group; at[]: the begin of each group's slots, and then their end. */
static void scatter(struct merge *m, size_t *at)
{
	size_t rank = 0;

	for (unsigned i = 0; i < m->sc->n_workers; i++) {
		struct counts *c = &m->sc->worker[i].counts;

		for (size_t k = 0; k < c->cap; k++) {
			const struct count_slot *o = &c->slot[k];
			uint32_t g;

			if (!o->n)
				continue;
			g = m->rank[rank + o->group];
			m->slot[at[g]++] = (struct keyed){
				o->addr, g, o->n + (m->group[g].varies ? (uint32_t)m->more[i] : 0)
			};
		}
		rank += c->group.n;
	}
}

static int gather(struct merge *m, struct err *err)
{
	size_t *at = calloc(m->n_groups + 1, sizeof(*at)), rank = 0, sum = 0;
	size_t n = 0;

	for (unsigned i = 0; i < m->sc->n_workers; i++)
		m->n_slots += m->sc->worker[i].counts.n;
	m->slot = malloc((m->n_slots + 1) * sizeof(*m->slot));
	m->scratch = malloc((m->n_slots + 1) * sizeof(*m->scratch));
	m->run = malloc((m->n_groups + 1) * sizeof(*m->run));
	if (!at || !m->slot || !m->scratch || !m->run) {
		free(at);
		return err_nomem(err);
	}
	for (unsigned i = 0; i < m->sc->n_workers; i++)
		vec_each (&m->sc->worker[i].counts.group, const struct count_group *, g)
			at[m->rank[rank++]] += g->slots;
	for (size_t g = 0; g < m->n_groups; g++) {
		size_t here = at[g];

		at[g] = sum;
		sum += here;
	}
	scatter(m, at);
	for (size_t g = 0; g < m->n_groups; g++) {
		if (!g || m->group[g].image != m->group[g - 1].image ||
		    m->group[g].kind != m->group[g - 1].kind)
			m->run[m->n_runs++] = (struct run){ .first = n };
		m->run[m->n_runs - 1].n += at[g] - n;
		n = at[g];
	}
	free(at);
	return 0;
}

/* ---- runs ---- */

static bool same_hit(const struct merge *m, const struct keyed *a, const struct keyed *b)
{
	return a->key == b->key && m->as[a->a] == m->as[b->a];
}

static int sort_run(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct merge *m = ctx;
	struct run *r = &m->run[i];
	struct keyed *v = m->slot + r->first;

	(void)worker, (void)err;
	keyed_sort(v, m->scratch + r->first, r->n);
	for (size_t k = 0; k < r->n; k++) {
		r->n_sites += !k || v[k].key != v[k - 1].key;
		r->n_hits += !k || !same_hit(m, &v[k], &v[k - 1]);
	}
	return 0;
}

static int fill_run(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct merge *m = ctx;
	const struct run *r = &m->run[i];
	const struct keyed *v = m->slot + r->first;
	size_t site = r->first_site;
	struct hit *h = m->p->hits + r->first_hit;

	(void)worker, (void)err;
	for (size_t k = 0; k < r->n; k++) {
		const struct count_group *g = &m->group[v[k].a];

		if (!k || v[k].key != v[k - 1].key)
			m->p->sites.v[site++] = (struct site){ v[k].key, g->image, g->kind, false };
		if (!k || !same_hit(m, &v[k], &v[k - 1]))
			*h++ = (struct hit){ .site = (uint32_t)site - 1, .group = m->as[v[k].a] };
		if (g->varies)
			weight_sum(&h[-1].w, &m->weight[v[k].b - COUNT_MORE]);
		else
			weight_add_n(&h[-1].w, v[k].b, g->period);
	}
	assert(site == r->first_site + r->n_sites && h == m->p->hits + r->first_hit + r->n_hits);
	return 0;
}

static int fill(struct merge *m, struct err *err)
{
	struct profile *p = m->p;
	size_t n_sites = 0;

	for (size_t i = 0; i < m->n_runs; i++) {
		m->run[i].first_site = n_sites;
		m->run[i].first_hit = p->n_hits;
		n_sites += m->run[i].n_sites;
		p->n_hits += m->run[i].n_hits;
	}
	if (n_sites >= ITAB_NONE - 1)
		return err_set(err, ERR_LIMIT, "samples at more than 4 G different places");
	p->hits = aligned_alloc(64, (p->n_hits * sizeof(*p->hits) + 64) & ~(size_t)63);
	if (!p->hits || vec_reserve(&p->sites, n_sites + 1))
		return err_nomem(err);
	p->sites.n = n_sites;
	return task_for(m->n_runs, p->opts.threads, fill_run, m, err);
}

static int merge_hits(struct merge *m, struct err *err)
{
	if (sort_groups(m, err) || take_weights(m, err) || gather(m, err))
		return -1;
	for (unsigned i = 0; i < m->sc->n_workers; i++)
		counts_free(&m->sc->worker[i].counts);
	if (task_for(m->n_runs, m->p->opts.threads, sort_run, m, err))
		return -1;
	return fill(m, err);
}

static void merge_free(struct merge *m)
{
	free(m->group);
	free(m->rank);
	free(m->as);
	free(m->slot);
	free(m->scratch);
	free(m->more);
	free(m->weight);
	free(m->run);
}

/* ---- sites of chains and branches ---- */

static int merge_sites(struct profile *p, const struct worker *w, uint32_t **map, struct err *err)
{
	*map = arena_alloc(&p->arena, (w->sites.n + 1) * sizeof(**map));
	if (!*map)
		return err_nomem(err);
	for (size_t i = 0; i < w->sites.n; i += AHEAD) {
		uint64_t hash[AHEAD];
		size_t n = w->sites.n - i < AHEAD ? w->sites.n - i : AHEAD;

		for (size_t k = 0; k < n; k++) {
			hash[k] = site_hash(&w->sites.v[i + k]);
			site_ahead(&p->sites, hash[k]);
		}
		for (size_t k = 0; k < n; k++)
			site_ahead_more(&p->sites, hash[k]);
		for (size_t k = 0; k < n; k++) {
			(*map)[i + k] = site_add(&p->sites, &w->sites.v[i + k], hash[k]);
			if ((*map)[i + k] == ITAB_NONE)
				return err_nomem(err);
		}
	}
	return 0;
}

static int merge_chains(struct profile *p, struct scan *sc, struct err *err)
{
	size_t n = p->sites.n;

	for (unsigned i = 0; i < sc->n_workers; i++)
		n += sc->worker[i].sites.n;
	/* many places are of one worker only */
	itab_reserve(&p->sites.at, n);
	if (site_table_index(&p->sites))
		return err_nomem(err);
	p->site_map = arena_alloc(&p->arena, sc->n_workers * sizeof(*p->site_map));
	p->n_site_map = arena_alloc(&p->arena, sc->n_workers * sizeof(*p->n_site_map));
	if (!p->site_map || !p->n_site_map)
		return err_nomem(err);
	for (unsigned i = 0; i < sc->n_workers; i++) {
		if (merge_sites(p, &sc->worker[i], &p->site_map[i], err))
			return -1;
		p->n_site_map[i] = sc->worker[i].sites.n;
		site_table_free(&sc->worker[i].sites);
	}
	return 0;
}

int merge_tables(struct profile *p, struct scan *sc, struct err *err)
{
	struct merge m = { .p = p, .sc = sc };
	int ret = merge_hits(&m, err);

	merge_free(&m);
	p->n_hit_sites = p->sites.n;
	return ret || !(p->opts.chains || p->opts.branches) ? ret : merge_chains(p, sc, err);
}
