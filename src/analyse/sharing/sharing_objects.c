/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharing_objects - accesses added up by object.
 */
#include <stdlib.h>

#include "analyse/sharing/sharing_int.h"
#include "base/invariant.h"

/* Returns the key of the object: all allocations of a site are one. */
static uint32_t site_of(const struct data_place *p)
{
	return p->site ? p->site->id : UINT32_MAX;
}

/* By object, then line. An object without a place is one for each process. */
static int by_object(const void *a, const void *b)
{
	const struct sharing_access *x = *(struct sharing_access *const *)a;
	const struct sharing_access *y = *(struct sharing_access *const *)b;

#define BY(member)                  \
	if (x->member != y->member) \
	return x->member < y->member ? -1 : 1
	if (site_of(&x->data) != site_of(&y->data))
		return site_of(&x->data) < site_of(&y->data) ? -1 : 1;
	if (x->data.site) {
		BY(line);
		return 0;
	}
	BY(data.kind);
	BY(data.image);
	BY(data.start);
	if (x->data.kind != DATA_KERNEL)
		BY(pid);
	BY(line);
#undef BY
	return 0;
}

static bool same_object(const struct sharing_access *x, const struct sharing_access *y)
{
	if (x->data.site || y->data.site)
		return x->data.site == y->data.site;
	return x->data.kind == y->data.kind && x->data.image == y->data.image &&
	       x->data.start == y->data.start && (x->pid == y->pid || x->data.kind == DATA_KERNEL);
}

static int by_weight(const void *a, const void *b)
{
	const struct sharing_object *x = a, *y = b;
	uint64_t hx = x->n.hitm_local + x->n.hitm_remote, hy = y->n.hitm_local + y->n.hitm_remote;

	if (hx != hy)
		return hx > hy ? -1 : 1;
	if (x->n.samples != y->n.samples)
		return x->n.samples > y->n.samples ? -1 : 1;
	if (x->data.start != y->data.start)
		return x->data.start < y->data.start ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void add(struct sharing_counts *sum, const struct sharing_counts *n)
{
	sum->samples += n->samples;
	sum->loads += n->loads;
	sum->stores += n->stores;
	sum->locked += n->locked;
	sum->hitm_local += n->hitm_local;
	sum->hitm_remote += n->hitm_remote;
	sum->peer += n->peer;
	sum->timed += n->timed;
	sum->latency += n->latency;
}

int sharing_objects(struct sharing *s, struct err *err)
{
	const struct sharing_access **a = calloc(s->n_accesses + 1, sizeof(*a));

	s->object = calloc(s->n_accesses + 1, sizeof(*s->object));
	if (!a || !s->object) {
		free(a);
		return err_nomem(err);
	}
	for (size_t i = 0; i < s->n_accesses; i++)
		a[i] = &s->access[i];
	qsort(a, s->n_accesses, sizeof(*a), by_object);
	for (size_t i = 0; i < s->n_accesses; i++) {
		bool fresh = !i || !same_object(a[i], a[i - 1]);
		struct sharing_object *o = &s->object[s->n_objects - !fresh];

		if (fresh) {
			*o = (struct sharing_object){ .data = a[i]->data, .pid = a[i]->pid };
			s->n_objects++;
		}
		add(&o->n, &a[i]->n);
		if (fresh || a[i]->line != a[i - 1]->line) {
			o->lines++;
			o->padded += sharing_padded(s->line[a[i]->line].verdict);
		}
	}
	free(a);
	qsort(s->object, s->n_objects, sizeof(*s->object), by_weight);
	return 0;
}
