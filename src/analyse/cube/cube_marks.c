/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks on the time axis: records that are no samples, of which a picture shows that they came.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/cube/cube_int.h"
#include "analyse/pass.h"
#include "analyse/timeline.h"
#include "base/bytes.h"
#include "base/xalloc.h"

#define MARKS 3000u /* about; else they are summed over more bins */

struct seen_mark {
	uint64_t time, n;
	uint32_t kind, pid, tid;
	const char *comm; /* in the record; NULL: none */
};

struct cube_marks {
	const struct pd *rec;
	unsigned n_workers;
	struct marks_of {
		VEC(struct seen_mark) v;
		char pad[40]; /* another worker's is on another cache line */
	} * of;
};

static int see_nothing(void *ctx, const struct pass_sample *s, struct err *err)
{
	(void)ctx, (void)s, (void)err;
	return 0;
}

static bool read_mark(struct seen_mark *x, const struct pd_record *r)
{
	struct pd_task task;
	struct pd_comm comm;

	switch (r->type) {
	case PERF_RECORD_FORK:
		if (pd_task_get(r, &task))
			return false;
		*x = (struct seen_mark){ .kind = task.pid == task.ppid ? MARK_THREAD : MARK_FORK,
					 .n = 1,
					 .pid = task.pid,
					 .tid = task.tid };
		return true;
	case PERF_RECORD_COMM:
		if (pd_comm_get(r, &comm) || !comm.exec)
			return false;
		*x = (struct seen_mark){ .kind = MARK_EXEC,
					 .n = 1,
					 .pid = comm.pid,
					 .tid = comm.tid,
					 .comm = comm.comm };
		return true;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES: {
		size_t at = r->type == PERF_RECORD_LOST ? 16 : 8;

		if (r->size < at + 8)
			return false;
		*x = (struct seen_mark){
			.kind = MARK_LOST, .n = ld64(r->p + at), .pid = CUBE_NONE, .tid = CUBE_NONE
		};
		return true;
	}
	case PERF_RECORD_THROTTLE:
		*x = (struct seen_mark){
			.kind = MARK_THROTTLE, .n = 1, .pid = CUBE_NONE, .tid = CUBE_NONE
		};
		return true;
	default:
		return false;
	}
}

static int see_mark(void *ctx, unsigned worker, const struct pd_record *r, struct err *err)
{
	struct cube_marks *k = ctx;
	struct pd_sample_id id;
	struct seen_mark x;

	(void)err;
	if (!read_mark(&x, r))
		return 0;
	pd_sample_id_get(k->rec, r, &id);
	if (!(id.has & PERF_SAMPLE_TIME) || !id.time) /* of what was there before */
		return 0;
	x.time = id.time;
	vec_xpush(&k->of[worker].v, x);
	return 0;
}

struct cube_marks *cube_marks_begin(struct pass *pass, const struct pd *rec)
{
	const struct pass_visitor v = { .sample = see_nothing, .other = see_mark };
	struct cube_marks *k = xcalloc(1, sizeof(*k));

	k->rec = rec;
	k->n_workers = pass_workers(pass);
	k->of = xcalloc(k->n_workers, sizeof(*k->of));
	pass_add(pass, &v, k);
	return k;
}

void cube_marks_free(struct cube_marks *k)
{
	if (!k)
		return;
	for (unsigned w = 0; w < k->n_workers; w++)
		vec_free(&k->of[w].v);
	free(k->of);
	free(k);
}

/* Marks that compare equal may come in any order: their numbers are added up. */
static int by_mark(const void *va, const void *vb)
{
	const struct seen_mark *a = va, *b = vb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->comm && b->comm ? strcmp(a->comm, b->comm) : 0;
}

/* Returns how many marks there are in bins of `width`; `out`: NULL, or has room for them. */
static size_t sum_marks(struct timeline_mark *out, const struct seen_mark *v, size_t n,
			uint64_t from, uint64_t width)
{
	size_t k = 0, of[MARK_KINDS];
	uint32_t bin_of[MARK_KINDS];

	memset(bin_of, 0xff, sizeof(bin_of));
	for (size_t i = 0; i < n; i++) {
		uint32_t bin = (uint32_t)((v[i].time - from) / width), kind = v[i].kind;

		if (bin_of[kind] == bin) {
			if (out)
				out[of[kind]].n += v[i].n;
			continue;
		}
		bin_of[kind] = bin;
		of[kind] = k;
		if (out)
			out[k] = (struct timeline_mark){ bin,	   kind,   v[i].pid,
							 v[i].tid, v[i].n, v[i].comm };
		k++;
	}
	return k;
}

void timeline_marks(struct timeline *t, const struct making *m)
{
	VEC(struct seen_mark) all = VEC_INIT;
	unsigned level = 0;

	for (unsigned w = 0; m->marks && w < m->marks->n_workers; w++)
		vec_each (&m->marks->of[w].v, const struct seen_mark *, x)
			if (x->time >= t->from && (x->time - t->from) / t->width < t->n_bins)
				vec_xpush(&all, *x);
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_mark);
	while (sum_marks(NULL, all.v, all.n, t->from, t->width << level) > MARKS)
		level++;
	t->mark = xcalloc(all.n + 1, sizeof(*t->mark));
	t->n_marks = sum_marks(t->mark, all.v, all.n, t->from, t->width << level);
	for (size_t i = 0; i < t->n_marks; i++)
		t->mark[i].bin <<= level;
	vec_free(&all);
}
