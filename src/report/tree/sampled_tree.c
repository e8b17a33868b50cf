/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sampled_tree.h"

#include <math.h>

#include "base/num.h"
#include "measure/drill_latency.h"
#include "report/drill_report.h"
#include "report/tree_saved.h"

static struct drill_report sampled_drill_report(struct sampled_tree *t)
{
	return (struct drill_report){ .d = &sampling_tree(t->r)->d,
				      .k = sampling_counting(t->r),
				      .a = &t->a,
				      .verbose = t->verbose,
				      .why = t->why };
}

int sampled_tree_plain(struct sampled_tree *t, const struct sampling_count of[2],
		       struct tree_report *r, struct err *err)
{
	char n[NUM_MAX], m[NUM_MAX];

	if (!of[0].known || !of[1].known || !(of[0].value > 0))
		return 0;
	r->cpu = arena_printf(
		&t->a, "%s cycles, %s instructions, IPC %.2f%s", num_count(n, of[0].value),
		num_count(m, of[1].value), of[1].value / of[0].value,
		fmin(of[0].share, of[1].share) < 0.9995 ? ", counted some of the time" : "");
	return r->cpu ? 0 : err_nomem(err);
}

/* Whatever was counted until now. */
static int make_sampled_report(struct sampled_tree *t, struct tree_report *r, struct err *err)
{
	struct drill_report part = sampled_drill_report(t);
	struct sampling_count of[2];

	if (sampling_tree(t->r)->plain)
		return sampling_tree_plain(t->r, of, err) || sampled_tree_plain(t, of, r, err) ? -1
											       : 0;
	if (!sampling_tree(t->r)->drilling)
		return 0;
	return drill_results(part.d, part.k, &t->a, 0, UINT64_MAX, err) ||
			       drill_report_make(&part, r, err)
		       ? -1
		       : 0;
}

int sampled_tree_report(struct sampled_tree *t, struct tree_report *r, struct err *err)
{
	if (!t->is_made && t->r && make_sampled_report(t, r, err))
		return -1;
	if (t->is_made)
		*r = t->made;
	return 0;
}

void sampled_tree_save(struct sampled_tree *t, struct buf *out)
{
	struct sampling_tree *s = sampling_tree(t->r);
	struct err why = ERR_INIT;

	if (!s->drilling)
		return;
	if (make_sampled_report(t, &t->made, &why)) {
		sampling_tree_give_up(s, &why);
		return;
	}
	t->is_made = true;
	tree_saved_write(out, &t->made);
}

int sampled_tree_so_far(struct sampled_tree *t, struct buf *out, const struct style *st,
			struct err *err)
{
	struct tree_report r = { 0 };
	int rc = 0;

	sampling_tree_read(t->r);
	if (sampling_tree(t->r)->drilling) {
		rc = make_sampled_report(t, &r, err);
		if (!rc)
			tree_put_views(out, &r, st);
	}
	arena_free(&t->a);
	return rc;
}

int sampled_tree_again(struct sampled_tree *t, struct tree_report *r, struct err *err)
{
	struct drill_report part = sampled_drill_report(t);

	*r = (struct tree_report){ 0 };
	return sampling_tree(t->r)->drilling ? drill_report_make(&part, r, err) : 0;
}

int sampled_tree_interval(struct sampled_tree *t, uint64_t from, uint64_t to, struct tree_report *r,
			  struct err *err)
{
	struct drill_report part;
	struct err why = ERR_INIT;

	*r = (struct tree_report){ .head = { .time = (double)to / 1e9,
					     .seconds = (double)(to - from) / 1e9 } };
	if (!t->r || !sampling_tree(t->r)->drilling)
		return 0;
	part = sampled_drill_report(t);
	arena_reset(&t->a);
	if (!drill_results(part.d, part.k, &t->a, from, to, &why) &&
	    !drill_report_interval(&part, r, &why)) {
		drill_latency_mark(part.d, to);
		return 0;
	}
	if (why.code == ERR_NOMEM) {
		*err = why;
		return -1;
	}
	sampling_tree_give_up(sampling_tree(t->r), &why);
	r->n_views = 0;
	return 0;
}

unsigned sampled_tree_deeper(const struct sampled_tree *t)
{
	const struct sampling_tree *s = sampling_tree(t->r);
	unsigned path = 0, deepest = 0;

	for (size_t i = 0; s->drilling && i < s->d.n_parts; i++) {
		const struct tree *x = &s->d.part[i].tree;
		uint32_t end = x->n ? tree_view_deepest(x) : MODEL_NONE;

		if (end != MODEL_NONE && x->model->metric[end].level > path)
			path = x->model->metric[end].level;
		for (size_t m = 0; m < x->n; m++)
			if (x->model->metric[m].level > deepest)
				deepest = x->model->metric[m].level;
	}
	if (!path || deepest < 2)
		return 0;
	return path < 2 ? 2 : path;
}

void sampled_tree_free(struct sampled_tree *t)
{
	arena_free(&t->a);
}
