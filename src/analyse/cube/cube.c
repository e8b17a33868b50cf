/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/cube/cube_int.h"

#include <assert.h>
#include <stdlib.h>

#include "analyse/pass.h"
#include "analyse/timeline.h"
#include "base/invariant.h"
#include "base/xalloc.h"

#define FINER_HALVED 3 /* 2^3 is TIMELINE_FINER */
_Static_assert(1 << FINER_HALVED == TIMELINE_FINER, "fine bins nest");

void cube_free(struct cube *c)
{
	struct making *m = (struct making *)c; /* its first member */

	if (!m)
		return;
	chain_free(&m->tree);
	u64map_free(&m->by_name);
	free(m->frame_of);
	free(m->leaf_of);
	free(m->node_of);
	vec_free(&m->all);
	free(m->total);
	free(m->frame);
	free(m->node);
	free(m->to);
	vec_free(&m->cell);
	vec_free(&m->best);
	itab_free(&m->at);
	free(m->cpu);
	free(m->thread);
	free(m->number);
	for (unsigned i = 0; i < 2; i++) {
		free(m->moment[i].v);
		free(m->moment_track[i]);
	}
	cube_marks_free(m->marks);
	profile_free(m->p);
	free(m);
}

/* ---- when samples were taken ----------------------------------------------------------------- */

struct span {
	struct {
		uint64_t first, last;
		char pad[48]; /* another worker's is on another cache line */
	} * of;
};

static int see_time(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct span *x = ctx;

	(void)err;
	if (s->time < x->of[s->worker].first)
		x->of[s->worker].first = s->time;
	if (s->time > x->of[s->worker].last)
		x->of[s->worker].last = s->time;
	return 0;
}

static void set_axis(struct making *m, uint64_t first, uint64_t last)
{
	m->c.from = first;
	m->last = last;
	m->fine = (last - first) / (CUBE_BINS * TIMELINE_FINER) + 1;
	m->c.width = m->fine * TIMELINE_FINER;
	m->finer = FINER_HALVED;
}

static int find_span(struct making *m, const struct pd *rec, const struct spaces *sp,
		     const struct profile_opts *opts, struct err *err)
{
	const struct pass_visitor v = { .sample = see_time };
	const struct pass_opts po = { .threads = opts->threads };
	struct span x = { NULL };
	uint64_t first = UINT64_MAX, last = 0;
	struct pass *pass;
	int ret = -1;

	if (pass_new(&pass, rec, sp, &opts->select, &po, err))
		return -1;
	x.of = calloc(pass_workers(pass), sizeof(*x.of));
	if (!x.of) {
		(void)err_nomem(err);
		goto out;
	}
	for (unsigned w = 0; w < pass_workers(pass); w++)
		x.of[w].first = UINT64_MAX;
	if (pass_each(pass, &v, &x, err))
		goto out;
	for (unsigned w = 0; w < pass_workers(pass); w++) {
		first = x.of[w].first < first ? x.of[w].first : first;
		last = x.of[w].last > last ? x.of[w].last : last;
	}
	if (first <= last)
		set_axis(m, first, last);
	ret = 0;
out:
	free(x.of);
	pass_free(pass);
	return ret;
}

void cube_hand_out(struct making *m)
{
	struct cube *c = &m->c;

	c->thread = m->s->thread;
	c->n_threads = m->s->n_threads;
	c->cpu = m->cpu;
	c->n_chains = m->all.n - 1;
	c->cell = m->cell.v;
	c->n_cells = m->cell.n;
	for (size_t i = 0; i < c->n_cells; i++)
		if (c->cell[i].bin >= c->n_bins)
			c->n_bins = c->cell[i].bin + 1;
	assert(c->n_bins <= CUBE_BINS);
}

int cube_begin(struct cube **out, struct pass *pass, const struct pd *rec, struct spaces *sp,
	       const struct profile_opts *opts, size_t event, struct err *err)
{
	struct making *m = xcalloc(1, sizeof(*m));
	const struct selection *sel = &opts->select;
	struct profile_opts po = { .key = { KEY_COMM, KEY_PID, KEY_TID },
				   .n_keys = 3,
				   .chains = true,
				   .chain_inline = opts->chain_inline,
				   .stacks = STACKS_CELLS,
				   .max_stack = opts->max_stack,
				   .mux = opts->mux,
				   .reads = opts->reads,
				   .select = *sel,
				   .machine = opts->machine };
	uint64_t first, last;

	*out = NULL;
	m->c.event = (uint32_t)event;
	if (pd_has_time(rec) && selection_all(sel) && !sel->event &&
	    pd_time_span(rec, &first, &last))
		set_axis(m, first, last);
	else if (pd_has_time(rec) && find_span(m, rec, sp, opts, err))
		goto fail;
	po.bin = (struct profile_bin){ m->c.from, m->fine, m->c.event };
	if (profile_begin(&m->p, pass, rec, sp, &po, err))
		goto fail;
	if (m->fine)
		m->marks = cube_marks_begin(pass, rec);
	*out = &m->c;
	return 0;
fail:
	cube_free(&m->c);
	return -1;
}

int cube_end(struct cube *c, struct err *err)
{
	struct making *m = (struct making *)c; /* its first member */

	if (profile_end(m->p, err))
		return -1;
	m->s = profile_stacks(m->p);
	if (cube_make_tree(m, err) || cube_make_cells(m, err) || cube_make_nodes(m, err))
		return -1;
	if (m->fine)
		cube_find_moments(m);
	cube_hand_out(m);
	return 0;
}
