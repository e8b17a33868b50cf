/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' tables into one. Only different sites and hits are touched, not samples.
 */
#include "analyse/profile_int.h"

#include <stdlib.h>

static int merge_sites(struct profile *p, const struct worker *w, uint32_t **map, struct err *err)
{
	*map = arena_alloc(&p->arena, (w->sites.n + 1) * sizeof(**map));
	if (!*map)
		return err_nomem(err);
	for (size_t i = 0; i < w->sites.n; i++) {
		(*map)[i] = site_add(&p->sites, &w->sites.v[i]);
		if ((*map)[i] == ITAB_NONE)
			return err_nomem(err);
	}
	return 0;
}

static int merge_hits(struct profile *p, struct worker *w, struct err *err)
{
	for (size_t i = 0; i < w->cap_counts; i++) {
		const struct scan_count *o = &w->counts[i];
		struct site place = { o->addr, o->image, (uint8_t)o->event_kind, false };
		struct hit h = { .comm = o->comm,
				 .cgroup = o->cgroup,
				 .event = o->event_kind >> 8,
				 .pid = o->pid,
				 .tid = o->tid,
				 .cpu = o->cpu };
		struct weight sum;
		uint32_t at;

		if (!o->n)
			continue;
		h.site = site_add(&p->sites, &place);
		at = h.site == ITAB_NONE ? ITAB_NONE : hit_add(&p->hits, &h);
		if (at == ITAB_NONE)
			return err_nomem(err);
		sum = scan_weight(w, o);
		weight_sum(&p->hits.v[at].w, &sum);
	}
	return 0;
}

int merge_tables(struct profile *p, struct scan *sc, struct err *err)
{
	p->site_map = arena_alloc(&p->arena, sc->n_workers * sizeof(*p->site_map));
	p->n_site_map = arena_alloc(&p->arena, sc->n_workers * sizeof(*p->n_site_map));
	if (!p->site_map || !p->n_site_map)
		return err_nomem(err);
	for (unsigned i = 0; i < sc->n_workers; i++) {
		if (merge_sites(p, &sc->worker[i], &p->site_map[i], err) ||
		    merge_hits(p, &sc->worker[i], err))
			return -1;
		p->n_site_map[i] = sc->worker[i].sites.n;
		scan_counts_free(&sc->worker[i]);
		site_table_free(&sc->worker[i].sites);
	}
	return 0;
}
