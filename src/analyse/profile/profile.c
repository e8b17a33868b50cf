/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/profile/profile_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* Counts of the pass beside selected samples. */
static void sum_others(struct profile *p, const struct scan *sc)
{
	p->n_events = sc->n_events;
	p->sums = xcalloc(p->n_events + 1, sizeof(*p->sums));
	for (size_t e = 0; e < p->n_events; e++) {
		struct weight left = { 0, 0, 0 };

		for (unsigned i = 0; i < sc->n_workers; i++) {
			weight_sum(&left, &sc->worker[i].left_out[e]);
			p->sums[e].bad += sc->worker[i].bad[e];
		}
		p->sums[e].bad += pass_seen(sc->pass)[e].bad;
		profile_tally_add(p, &p->sums[e].left_out, &left);
	}
}

static int make_all(struct profile *p, struct scan *sc, struct beside *beside, struct err *err)
{
	int ret = merge_tables(p, sc, err);

	beside_load(beside);
	if (ret || name_sites(p, err))
		return -1;
	if (p->opts.branches)
		return make_branch_rows(p, sc, err);
	if (p->opts.stacks != STACKS_CELLS && make_rows(p, err))
		return -1;
	if (!p->opts.chains)
		return 0;
	return p->opts.stacks != STACKS_NONE ? make_stacks(p, sc, err) : make_frames(p, sc, err);
}

void profile_drop_names(struct profile *p)
{
	free(p->place);
	free(p->frame_ids);
	itab_free(&p->frame_at);
	p->place = NULL;
	p->frame_ids = NULL;
	itab_free(&p->sites.at);
	if (p->of || p->opts.also)
		return;
	free(p->hits);
	free(p->group);
	site_table_free(&p->sites);
	p->hits = NULL;
	p->group = NULL;
}

static void drop_scan(struct profile *p)
{
	if (p->scan)
		scan_free(p->scan);
	free(p->scan);
	p->scan = NULL;
}

int profile_begin(struct profile **out, struct pass *pass, const struct pd *rec, struct spaces *sp,
		  const struct profile_opts *opts, struct err *err)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	*out = NULL;
	p->opts = *opts;
	p->opts.chains &= !opts->branches;
	p->rec = rec;
	p->sp = sp;
	p->scan = xcalloc(1, sizeof(*p->scan));
	if (scan_begin(p->scan, pass, rec, sp, &p->opts, err)) {
		profile_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

int profile_end(struct profile *p, struct err *err)
{
	struct scan *sc = p->scan;
	struct pd_drop *drop = p->opts.once ? pd_drop_new(sc->rec) : NULL;
	struct beside *beside;
	int ret = 0;

	for (unsigned i = 0; i < sc->n_workers && !ret; i++)
		if (sc->worker[i].walk)
			ret = walk_done(sc->worker[i].walk, err);
	sum_others(p, sc);
	beside = beside_start(p, sc, drop);
	if (!ret)
		ret = make_all(p, sc, beside, err);
	pd_drop_do(drop); /* there is nothing else to do */
	beside_end(beside);
	pd_drop_free(drop);
	drop_scan(p);
	profile_drop_names(p);
	return ret;
}

int profile_build(struct profile **out, const struct pd *rec, struct spaces *sp,
		  const struct profile_opts *opts, struct err *err)
{
	const struct pass_opts po = { .threads = opts->threads,
				      .progress = opts->progress,
				      .progress_ctx = opts->progress_ctx };
	struct selection select = opts->select;
	struct profile *p = NULL;
	struct pass *pass;
	int ret;

	*out = NULL;
	select.event = NULL; /* members of a group are selected each for itself */
	if (pass_new(&pass, rec, sp, &select, &po, err))
		return -1;
	ret = profile_begin(&p, pass, rec, sp, opts, err) || pass_run(pass, err) ||
			      profile_end(p, err)
		      ? -1
		      : 0;
	pass_free(pass);
	if (ret)
		profile_free(p);
	else
		*out = p;
	return ret;
}

int profile_again(struct profile **out, const struct profile *of, const struct profile_opts *opts,
		  struct err *err)
{
	struct profile *p = xcalloc(1, sizeof(*p));
	int ret;

	*out = NULL;
	assert(of->opts.also && !opts->branches && !opts->chains);
	p->opts = *opts;
	p->opts.also = 0;
	p->rec = of->rec;
	p->sp = of->sp;
	p->of = of;
	p->sites.v = of->sites.v;
	p->sites.n = p->n_hit_sites = of->n_hit_sites;
	p->hits = of->hits;
	p->n_hits = of->n_hits;
	p->group = of->group;
	p->n_groups = of->n_groups;
	p->n_events = of->n_events;
	p->sums = xcalloc(p->n_events + 1, sizeof(*p->sums));
	for (size_t e = 0; e < p->n_events; e++)
		p->sums[e] = (struct profile_sum){ .left_out = of->sums[e].left_out,
						   .bad = of->sums[e].bad };
	ret = name_sites(p, err) || make_rows(p, err) ? -1 : 0;
	profile_drop_names(p);
	if (ret)
		profile_free(p);
	else
		*out = p;
	return ret;
}

/* Returns true for the same samples with the same weights. */
static bool counts_the_same(const struct profile_opts *a, const struct profile_opts *b)
{
	const struct mux *ma = a->mux && mux_told(a->mux) ? a->mux : NULL;
	const struct mux *mb = b->mux && mux_told(b->mux) ? b->mux : NULL;

	return ma == mb && a->branches == b->branches && a->stacks == b->stacks &&
	       selection_same_text(a->select.event, b->select.event) &&
	       selection_same(&a->select, &b->select);
}

bool profile_is(const struct profile *p, const struct profile_opts *opts)
{
	const struct profile_opts *o = &p->opts;

	if (!counts_the_same(o, opts) || o->late_names != opts->late_names ||
	    o->n_keys != opts->n_keys || memcmp(o->key, opts->key, o->n_keys * sizeof(o->key[0])))
		return false;
	return !opts->chains ||
	       (o->chains && o->chain_lines == opts->chain_lines &&
		o->chain_inline == opts->chain_inline && o->chain_comm == opts->chain_comm &&
		o->max_stack == opts->max_stack);
}

bool profile_has(const struct profile *p, const struct profile_opts *opts)
{
	if (!p->opts.also || opts->branches || opts->chains || !counts_the_same(&p->opts, opts))
		return false;
	for (size_t i = 0; i < opts->n_keys; i++)
		if (!key_counted(&p->opts, opts->key[i]))
			return false;
	return true;
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
	drop_scan(p);
	p->opts.also = 0; /* all of it */
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
