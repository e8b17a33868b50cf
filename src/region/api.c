/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of cyclade.h beyond opening and closing.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file_out.h"
#include "region/region_int.h"
#include "region/sums.h"

/* The header's inline functions, by name: for other languages, and pointers found by dlsym(). */
CYCLADE_API void region_begin_by_name(struct cyclade_region *region) __asm__("cyclade_begin");
CYCLADE_API void region_end_by_name(struct cyclade_region *region) __asm__("cyclade_end");

void region_begin_by_name(struct cyclade_region *region)
{
	region->begin(region);
}

void region_end_by_name(struct cyclade_region *region)
{
	region->end(region);
}

const char *cyclade_status(const struct cyclade_set *set)
{
	return set ? set->head->status : "not measured: there is no set";
}

unsigned long cyclade_number(const struct cyclade_set *set)
{
	return set ? set->number : 0;
}

/* ---- handles ---------------------------------------------------------------------------- */

static void do_nothing(struct cyclade_region *r)
{
	(void)r;
}

static struct cyclade_region nothing = { do_nothing, do_nothing };

struct cyclade_region *cyclade_handle(struct cyclade_set *set, const char *name)
{
	struct thread *t = set ? thread_mine(set) : NULL;
	struct region *r = t ? thread_region(t, name ? name : "") : NULL;

	if (r)
		return &r->pub;
	if (set)
		__atomic_add_fetch(&set->head->lost_regions, 1, __ATOMIC_RELAXED);
	return &nothing;
}

struct cyclade_region *cyclade_find(struct cyclade_here *here, struct cyclade_set *set,
				    const char *name)
{
	if (!here->region || here->set != cyclade_number(set)) {
		here->region = cyclade_handle(set, name);
		here->set = cyclade_number(set);
	}
	return here->region;
}

/* ---- reading ---------------------------------------------------------------------------- */

struct open_report { /* of a living set, under its lock */
	struct cyclade_set *set;
	const struct table_block **block;
	struct table_view view;
	struct report r;
};

static void end_report(struct open_report *o)
{
	report_close(&o->r);
	free(o->block);
	pthread_mutex_unlock(&o->set->lock);
}

static int begin_report(struct open_report *o, struct cyclade_set *s, struct err *err)
{
	size_t n = 0;

	memset(o, 0, sizeof(*o));
	o->set = s;
	pthread_mutex_lock(&s->lock);
	o->block = calloc(s->n_blocks + 1, sizeof(*o->block));
	if (!o->block) {
		pthread_mutex_unlock(&s->lock);
		return err_nomem(err);
	}
	for (const struct thread *t = s->threads; t && n < s->n_blocks; t = t->list)
		o->block[n++] = t->block;
	/* the first thread first */
	for (size_t i = 0; i < n / 2; i++) {
		const struct table_block *b = o->block[i];

		o->block[i] = o->block[n - 1 - i];
		o->block[n - 1 - i] = b;
	}
	o->view.head = *s->head;
	o->view.block = o->block;
	o->view.n_blocks = n;
	if (!report_open(&o->r, &o->view, s->model, err))
		return 0;
	free(o->block);
	pthread_mutex_unlock(&s->lock);
	return -1;
}

static const struct table_sums *region_sums_of(const struct report *r, const char *region,
					       long thread)
{
	for (size_t i = 0; thread < 0 && i < r->region.n; i++)
		if (!strncmp(r->region.v[i].s.name, region, TABLE_NAME - 1))
			return &r->region.v[i].s;
	for (size_t i = 0; thread >= 0 && i < r->thread.n; i++)
		if ((long)r->thread.v[i].tid == thread &&
		    !strncmp(r->thread.v[i].s.name, region, TABLE_NAME - 1))
			return &r->thread.v[i].s;
	return NULL;
}

static bool clock_value(const struct report *r, const struct table_sums *s, const char *metric,
			struct cyclade_value *v)
{
	static const char *const names[] = { "runs", "wall", "tsc" };
	const double zero[3] = { 0 };
	const double values[] = { s ? (double)s->runs : zero[0],
				  s ? s->tsc / r->v->head.tsc_hz : zero[1], s ? s->tsc : zero[2] };

	for (size_t i = 0; i < 3; i++) {
		if (strcasecmp(metric, names[i]))
			continue;
		v->value = values[i];
		v->error = 0;
		v->counted = 1;
		v->why = s && s->runs ? CYCLADE_OK : CYCLADE_NOT_RUN;
		return true;
	}
	return false;
}

/* A metric that the set evaluates, of the first kind of core that has it. */
static int counted_value(const struct report *r, const struct table_sums *s, const char *metric,
			 struct cyclade_value *out, struct err *err)
{
	struct region_values v;
	struct wish *w;
	struct arena a = ARENA_INIT;
	size_t n;
	int rc = -1;

	if (wishes_read(&w, &n, &a, metric, r->model, r->v->head.n_parts, err) ||
	    values_make(&v, r, s, err)) {
		arena_free(&a);
		return -1;
	}
	for (size_t part = 0; n == 1 && rc && part < r->v->head.n_parts; part++)
		if (w->kind == WISH_METRIC && w->metric[part] != MODEL_NONE && v.has_tree[part] &&
		    r->wanted[part][w->metric[part]]) {
			*out = metric_value(&v, part, w->metric[part]);
			rc = 0;
		}
	for (size_t e = 0; rc && e < r->v->head.n_events; e++)
		if (!strcasecmp(r->v->head.event[e].name, metric)) {
			*out = event_value(r, &v, s, e);
			rc = 0;
		}
	/* wanted, but not known to this machine */
	for (size_t i = 0; rc && i < r->n_wishes; i++)
		if (!strcasecmp(r->wish[i].name, metric) && r->wish[i].kind != WISH_TREE)
			rc = 0;
	values_free(&v);
	arena_free(&a);
	return rc;
}

int cyclade_read(struct cyclade_set *set, const char *region, const char *metric, long thread,
		 struct cyclade_value *value)
{
	struct cyclade_value v = { sizeof(v), NAN, NAN, NAN, CYCLADE_NOT_MEASURED };
	static const struct table_sums no_runs;
	const struct table_sums *s;
	struct err err = ERR_INIT;
	struct open_report o;
	size_t size = value->size;
	int rc = 0;

	if (!set)
		return -1;
	if (begin_report(&o, set, &err))
		return -1;
	s = region_sums_of(&o.r, region, thread);
	if (!clock_value(&o.r, s, metric, &v))
		rc = counted_value(&o.r, s ? s : &no_runs, metric, &v, &err);
	if (!rc && (!s || !s->runs))
		v.why = CYCLADE_NOT_RUN;
	end_report(&o);
	v.size = size;
	if (!rc)
		memcpy(value, &v, size < sizeof(v) ? size : sizeof(v));
	return rc;
}

/* ---- reset ------------------------------------------------------------------------------ */

static void zero_thread(struct cyclade_set *s, struct thread *t)
{
	struct table_slot *row = (struct table_slot *)(void *)(t->block + 1), copy;
	uint32_t n = __atomic_load_n(&t->n_regions, __ATOMIC_ACQUIRE);

	slot_seq(&t->block->zeros);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *to = (uint64_t *)(void *)(row + s->max_regions + i);
		const uint64_t *from = (const uint64_t *)(const void *)&copy;

		if (!table_copy(&copy, row + i))
			continue;
		for (size_t w = 0; w < sizeof(copy) / sizeof(*to); w++)
			__atomic_store_n(&to[w], from[w], __ATOMIC_RELAXED);
	}
	slot_seq(&t->block->zeros);
}

void cyclade_reset(struct cyclade_set *set)
{
	if (!set)
		return;
	pthread_mutex_lock(&set->lock);
	for (struct thread *t = set->threads; t; t = t->list)
		zero_thread(set, t);
	pthread_mutex_unlock(&set->lock);
}

/* ---- reports ---------------------------------------------------------------------------- */

int cyclade_report(struct cyclade_set *set, const struct cyclade_report_opts *opts)
{
	struct cyclade_report_opts how = { .size = sizeof(how) };
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	struct open_report o;
	struct document d;
	struct show show = { .separator = ',' };
	int rc;

	if (!set) {
		errno = EINVAL;
		return -1;
	}
	if (opts)
		memcpy(&how, opts, opts->size < sizeof(how) ? opts->size : sizeof(how));
	if (begin_report(&o, set, &err)) {
		errno = ENOMEM;
		return -1;
	}
	document_open(&d, &regions_document, NULL);
	rc = show_choose(&show, &regions_document, how.format ? how.format : "term", NULL, &err);
	if (!rc)
		rc = report_document(&d, &o.r, how.per_thread, &err);
	if (!rc)
		rc = document_write(&b, &d, &show, &err);
	document_close(&d);
	end_report(&o);
	if (rc)
		errno = err.code == ERR_USAGE ? EINVAL : ENOMEM;
	else
		rc = fd_write_all(how.fd ? how.fd : STDERR_FILENO, buf_str(&b), b.len, "report",
				  &err);
	buf_free(&b);
	return rc;
}
