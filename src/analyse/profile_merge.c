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

static int merge_hits(struct profile *p, const struct worker *w, const uint32_t *map,
		      struct err *err)
{
	for (size_t i = 0; i < w->hits.n; i++) {
		struct hit h = w->hits.v[i];
		uint32_t at;

		h.site = map[h.site];
		at = hit_add(&p->hits, &h);
		if (at == ITAB_NONE)
			return err_nomem(err);
		weight_sum(&p->hits.v[at].w, &h.w);
	}
	return 0;
}

int merge_tables(struct profile *p, struct scan *sc, struct err *err)
{
	p->site_map = arena_alloc(&p->arena, sc->n_workers * sizeof(*p->site_map));
	if (!p->site_map)
		return err_nomem(err);
	for (unsigned i = 0; i < sc->n_workers; i++) {
		if (merge_sites(p, &sc->worker[i], &p->site_map[i], err) ||
		    merge_hits(p, &sc->worker[i], p->site_map[i], err))
			return -1;
		hit_table_free(&sc->worker[i].hits);
		site_table_free(&sc->worker[i].sites);
	}
	return 0;
}
