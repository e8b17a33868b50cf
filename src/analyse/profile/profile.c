/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/profile/profile_int.h"

#include <stdlib.h>

static int finish_walks(struct scan *sc, struct err *err)
{
	for (unsigned i = 0; i < sc->n_workers; i++)
		if (sc->worker[i].walk && walk_done(sc->worker[i].walk, err))
			return -1;
	return 0;
}

static int read_all(struct profile *p, struct scan *sc, const struct pd *rec, struct err *err)
{
	return scan_init(sc, rec, p->sp, &p->opts, err) || scan_run(sc, err) ||
			       finish_walks(sc, err)
		       ? -1
		       : 0;
}

static int make_all(struct profile *p, struct scan *sc, struct beside *beside, struct err *err)
{
	int ret = merge_tables(p, sc, err);

	beside_load(beside);
	if (ret || name_sites(p, err))
		return -1;
	if (p->opts.branches)
		return make_branch_rows(p, sc, err);
	if (p->opts.stacks != STACKS_CELLS && make_rows(p, sc, err))
		return -1;
	if (!p->opts.chains)
		return 0;
	return p->opts.stacks != STACKS_NONE ? make_stacks(p, sc, err) : make_frames(p, sc, err);
}

static int build(struct profile *p, struct scan *sc, struct err *err)
{
	struct pd_drop *drop = p->opts.once ? pd_drop_new(sc->rec) : NULL;
	struct beside *beside = beside_start(p, sc, drop);
	int ret = make_all(p, sc, beside, err);

	pd_drop_do(drop); /* there is nothing else to do */
	beside_end(beside);
	pd_drop_free(drop);
	return ret;
}

void profile_drop_names(struct profile *p)
{
	free(p->hits);
	free(p->group);
	site_table_free(&p->sites);
	itab_free(&p->frame_at);
	p->hits = NULL;
	p->group = NULL;
	free(p->place);
	free(p->frame_ids);
	p->place = NULL;
	p->frame_ids = NULL;
}

int profile_build(struct profile **out, const struct pd *rec, struct spaces *sp,
		  const struct profile_opts *opts, struct err *err)
{
	struct profile *p = calloc(1, sizeof(*p));
	struct scan sc = { 0 };
	int ret;

	*out = NULL;
	if (!p)
		return err_nomem(err);
	p->opts = *opts;
	p->opts.chains &= !opts->branches;
	p->sp = sp;
	ret = read_all(p, &sc, rec, err);
	if (!ret)
		ret = build(p, &sc, err);
	scan_free(&sc);
	profile_drop_names(p);
	if (ret)
		profile_free(p);
	else
		*out = p;
	return ret;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t e = 0; e < p->n_events && p->chains.self; e++)
		if (p->chains.self[e] != p->zeros)
			free(p->chains.self[e]);
	for (size_t e = 0; e < p->n_events && p->chains.total; e++)
		if (p->chains.total[e] != p->zeros)
			free(p->chains.total[e]);
	profile_drop_names(p);
	stacks_free(p);
	chain_free(&p->chains.tree);
	free(p->zeros);
	free(p->frames);
	free(p->rows);
	free(p->row_keys);
	free(p->tallies);
	free(p->cell_events);
	free(p->branch_tallies);
	free(p->sums);
	strtab_free(&p->strings);
	u64map_free(&p->late);
	arena_free(&p->arena);
	free(p);
}

const struct profile_row *profile_rows(const struct profile *p, size_t *n)
{
	*n = p->n_rows;
	return p->rows;
}

const struct profile_sum *profile_sums(const struct profile *p, size_t *n_events)
{
	*n_events = p->n_events;
	return p->sums;
}

const struct profile_chains *profile_chains(const struct profile *p)
{
	return p->opts.chains && p->opts.stacks == STACKS_NONE ? &p->chains : NULL;
}

const struct strtab *profile_strings(const struct profile *p)
{
	return &p->strings;
}

const struct profile_opts *profile_options(const struct profile *p)
{
	return &p->opts;
}

const struct profile_stacks *profile_stacks(const struct profile *p)
{
	return p->opts.chains && p->opts.stacks != STACKS_NONE ? &p->stacks : NULL;
}
