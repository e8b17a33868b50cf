/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of an interval: a profile of its records, rows of which are added up by function and by
 * process. A share's error is that of sampling; a change's is that of both shares.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/feed.h"
#include "monitor/top/top_int.h"

enum { BY_PID, BY_TID, BY_COMM, BY_DSO, BY_SYM, KEYS };

struct sum { /* of a function */
	const struct profile_row *first;
	const char *name, *dso, *comm;
	uint64_t samples;
	double period, most; /* most: of the thread's name */
	bool kernel;
};

struct work {
	struct top *t;
	struct profile *p;
	VEC(struct sum) sum;
	struct u64map by_function, by_pid; /* place + 1 */
	double W, W2;
};

/* Functions of the same name keep it: different names might need debug information. */
static const char *function_name_of(const struct profile *p, const struct profile_row *r)
{
	return r->symbol ? r->symbol->name
			 : strtab_get(profile_strings(p), (uint32_t)r->key[BY_SYM]);
}

static struct sum *sum_of_rows(struct work *w, const struct profile_row *r)
{
	uint64_t key = hash_pair(r->key[BY_DSO],
				 r->symbol ? (uint64_t)(uintptr_t)r->symbol : r->key[BY_SYM]);
	bool fresh;
	uint64_t *at = u64map_at(&w->by_function, key, &fresh);
	struct sum *s;

	if (!at)
		return NULL;
	if (!fresh)
		return &w->sum.v[*at - 1];
	s = vec_add(&w->sum);
	if (!s)
		return NULL;
	*at = w->sum.n;
	*s = (struct sum){ .first = r,
			   .name = function_name_of(w->p, r),
			   .dso = strtab_get(profile_strings(w->p), (uint32_t)r->key[BY_DSO]),
			   .kernel = r->space == SPACE_KERNEL };
	return s;
}

static struct top_ran *ran_process_of(struct work *w, uint32_t pid)
{
	bool fresh;
	uint64_t *at = u64map_at(&w->by_pid, pid, &fresh);
	struct top_ran *x;

	if (!at)
		return NULL;
	if (!fresh)
		return &w->t->ran.v[*at - 1];
	x = vec_add(&w->t->ran);
	if (!x)
		return NULL;
	*at = w->t->ran.n;
	*x = (struct top_ran){ .pid = pid };
	return x;
}

static int add_tid(struct top_ran *x, uint32_t tid)
{
	for (size_t i = x->tid.n; i--;)
		if (x->tid.v[i] == tid)
			return 0;
	return x->tid.n >= TOP_THREADS ? 0 : vec_push(&x->tid, tid);
}

static int add_function_row(struct work *w, struct arena *a, const struct profile_row *r,
			    struct err *err)
{
	double period = (double)r->all.period;
	const char *comm = strtab_get(profile_strings(w->p), (uint32_t)r->key[BY_COMM]);
	struct sum *s = sum_of_rows(w, r);
	struct top_ran *x = ran_process_of(w, (uint32_t)r->key[BY_PID]);

	if (!s || !x || add_tid(x, (uint32_t)r->key[BY_TID]))
		return err_nomem(err);
	w->W += period;
	w->W2 += r->all.period_sq;
	s->samples += r->all.samples;
	s->period += period;
	if (period > s->most) {
		s->most = period;
		s->comm = comm;
	}
	x->samples += r->all.samples;
	x->period += period;
	if (period > x->most) {
		x->most = period;
		x->function = arena_strdup(a, s->name);
		x->comm = arena_strdup(a, comm);
		if (!x->function || !x->comm)
			return err_nomem(err);
	}
	return 0;
}

static int by_function_period(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;
	int c = (y->period > x->period) - (y->period < x->period);

	c = c ? c : strcmp(x->name, y->name);
	return c ? c : strcmp(x->dso, y->dso);
}

/* A file's name is made longer as soon as there is another one of that name; its path stays. */
static uint64_t lasting_key(const struct top *t, const struct sum *s)
{
	const char *file =
		s->first->image == IMAGE_NONE ? s->dso : image_path(t->images, s->first->image);

	return hash_pair(hash_bytes(file, strlen(file)), hash_bytes(s->name, strlen(s->name)));
}

/* Copies that outlive the profile. */
static int keep_function(struct work *w, struct arena *a, struct err *err)
{
	struct top_interval *now = &w->t->now;
	size_t n = w->sum.n < TOP_FUNCTIONS ? w->sum.n : TOP_FUNCTIONS;
	struct top_function *f = arena_alloc(a, (n + 1) * sizeof(*f));

	vec_sort(&w->sum, by_function_period);
	for (size_t i = 0; f && i < n; i++) {
		const struct sum *s = &w->sum.v[i];
		struct error_bar e = error_bar_share(s->period, w->W, w->W2);

		f[i] = (struct top_function){ .function = arena_strdup(a, s->name),
					      .dso = arena_strdup(a, s->dso),
					      .comm = arena_strdup(a, s->comm ? s->comm : ""),
					      .kernel = s->kernel,
					      .samples = s->samples,
					      .share = { e.share, e.half, NULL },
					      .key = lasting_key(w->t, s) };
		if (!f[i].function || !f[i].dso || !f[i].comm)
			f = NULL;
	}
	if (!f)
		return err_nomem(err);
	now->function = f;
	now->n_functions = n;
	now->more_functions = w->sum.n - n;
	return top_changes(w->t, f, n, w->W, w->W2, err);
}

/* ---- changes --------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	const struct top_share *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static const struct top_share *find_before(const struct top *t, uint64_t key)
{
	const struct top_share want = { .key = key };

	return t->before.n ? bsearch(&want, t->before.v, t->before.n, sizeof(want), by_key) : NULL;
}

static void set_change(const struct top *t, struct top_function *f)
{
	const struct top_share *was = find_before(t, f->key);
	double share = was ? was->share : 0, half = was ? was->half : t->before_none;

	if (isnan(t->before_none)) {
		f->change = ESTIMATE_NONE("no interval before this one");
		return;
	}
	f->change = (struct estimate){ f->share.v - share, hypot(f->share.half, half), NULL };
	f->noise = fabs(f->change.v) <= f->change.half;
}

int top_changes(struct top *t, struct top_function *f, size_t n, double W, double W2,
		struct err *err)
{
	for (size_t i = 0; i < n; i++)
		set_change(t, &f[i]);
	t->before.n = 0;
	if (vec_reserve(&t->before, n + 1))
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		t->before.v[t->before.n++] =
			(struct top_share){ f[i].key, f[i].share.v, f[i].share.half };
	vec_sort(&t->before, by_key);
	t->before_none = error_bar_share(0, W, W2).half;
	return 0;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static const struct profile_opts options = {
	.key = { [BY_PID] = KEY_PID,
		 [BY_TID] = KEY_TID,
		 [BY_COMM] = KEY_COMM,
		 [BY_DSO] = KEY_DSO,
		 [BY_SYM] = KEY_SYM },
	.n_keys = KEYS,
	.threads = 1,
	.late_names = true,
};

/* Symbols are kept from one interval to the next, up to a number of files. */
static int open_images(struct top *t, struct err *err)
{
	if (t->images && images_count(t->images) > TOP_IMAGES) {
		images_free(t->images);
		t->images = NULL;
	}
	if (!t->images)
		t->images = images_new(t->opts.symbols, err);
	return t->images ? 0 : -1;
}

void top_ran_clear(struct top *t)
{
	vec_each (&t->ran, struct top_ran *, x)
		vec_free(&x->tid);
	t->ran.n = 0;
}

int top_functions(struct top *t, struct arena *a, struct err *err)
{
	struct work w = { .t = t };
	struct spaces *spaces = NULL;
	struct pd *rec = NULL;
	const struct profile_row *row;
	size_t n;
	int rc = -1;

	top_ran_clear(t);
	if (open_images(t, err) || top_records_join(&t->records, true, err) ||
	    pd_open_memory(&rec, t->records.whole.s, t->records.whole.len, err))
		goto out;
	spaces = feed_spaces(rec, t->images, err);
	if (!spaces || profile_build(&w.p, rec, spaces, &options, err))
		goto out;
	row = profile_rows(w.p, &n);
	for (size_t i = 0; i < n; i++)
		if (add_function_row(&w, a, &row[i], err))
			goto out;
	rc = keep_function(&w, a, err);
out:
	profile_free(w.p);
	spaces_free(spaces);
	pd_close(rec);
	vec_free(&w.sum);
	u64map_free(&w.by_function);
	u64map_free(&w.by_pid);
	return rc;
}
