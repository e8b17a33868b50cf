/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass over samples: each one once, selected as one by one by hand, in the order promised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/pass.h"
#include "base/err.h"
#include "made.h"

#define WORKERS 5

struct state { /* of a worker */
	uint64_t selected, left_out, other;
	const uint8_t *last;
	size_t chunk, chunks;
	bool open;
};

struct visits {
	struct state worker[WORKERS];
	uint8_t *seen;	  /* by fact: how often */
	bool *selected;	  /* by fact: as the selection says */
	bool fail;	  /* at a sample of the middle */
	uint64_t threads; /* looked up; with one worker */
};

static const struct fact *fact_of(const struct pass_sample *s, size_t *i)
{
	/* facts are as many bytes as they have chains: found by walking, as nothing else knows */
	static const uint8_t **at;

	if (!at) {
		size_t n = 0;

		at = calloc(N_SAMPLES + 1, sizeof(*at));
		assert_non_null(at);
		for (size_t c = 0; c < N_CHUNKS; c++)
			for (struct pd_record r = { .p = NULL }; pd_next(&made_chunks[c], &r);)
				at[n++] = r.p;
	}
	for (size_t lo = 0, hi = N_SAMPLES; lo < hi;) {
		size_t mid = (lo + hi) / 2;

		if (at[mid] == s->r->p) {
			*i = mid;
			return &made_facts[mid];
		}
		if (at[mid] < s->r->p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static int begin(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	struct state *w = &((struct visits *)ctx)->worker[worker];

	(void)err;
	assert_false(w->open);
	assert_true(!w->chunks || chunk > w->chunk);
	w->open = true;
	w->chunk = chunk;
	w->chunks++;
	w->last = NULL;
	return 0;
}

static int end(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	struct state *w = &((struct visits *)ctx)->worker[worker];

	(void)err;
	assert_true(w->open && w->chunk == chunk);
	w->open = false;
	return 0;
}

static int visit(struct visits *v, const struct pass_sample *s, bool selected)
{
	struct state *w = &v->worker[s->worker];
	const struct fact *f;
	size_t i = 0;

	assert_true(w->open && w->chunk == s->chunk && s->r->p > w->last);
	w->last = s->r->p;
	f = fact_of(s, &i);
	assert_non_null(f);
	assert_int_equal(v->seen[i]++, 0);
	assert_int_equal(s->event, f->event);
	assert_int_equal(s->time, f->time);
	assert_int_equal(s->cpu, f->cpu);
	assert_int_equal(s->task, task_of(f->pid, f->tid));
	v->selected[i] = selected;
	*(selected ? &w->selected : &w->left_out) += 1;
	return 0;
}

static int sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct visits *v = ctx;

	if (v->fail && s->chunk == N_CHUNKS / 2)
		return err_set(err, ERR_LIMIT, "enough");
	return visit(v, s, true);
}

static int left_out(void *ctx, const struct pass_sample *s, struct err *err)
{
	(void)err;
	return visit(ctx, s, false);
}

static int thread(void *ctx, unsigned worker, struct pass_thread *t)
{
	(void)worker;
	assert_true(t->from < t->until);
	(void)__atomic_fetch_add(&((struct visits *)ctx)->threads, 1, __ATOMIC_RELAXED);
	return 0;
}

/* A pass with a selection; the caller frees what the visits hold. */
static int run(struct visits *v, const struct selection *sel, unsigned threads, unsigned wants,
	       struct pass_seen *sum, struct err *err)
{
	const struct pass_visitor visitor = { .wants = wants,
					      .sample = sample,
					      .left_out = left_out,
					      .begin = begin,
					      .end = end,
					      .thread = thread };
	const struct pass_opts o = { .threads = threads };
	struct pass *p;
	int ret;

	v->seen = calloc(N_SAMPLES, sizeof(*v->seen));
	v->selected = calloc(N_SAMPLES, sizeof(*v->selected));
	assert_true(v->seen && v->selected);
	assert_int_equal(pass_new(&p, NULL, NULL, sel, &o, err), 0);
	assert_int_equal(pass_workers(p), threads);
	ret = pass_each(p, &visitor, v, err);
	*sum = (struct pass_seen){ 0 };
	for (size_t e = 0; e < N_EVENTS; e++) {
		sum->selected += pass_seen(p)[e].selected;
		sum->left_out += pass_seen(p)[e].left_out;
		sum->bad += pass_seen(p)[e].bad;
	}
	pass_free(p);
	return ret;
}

static void done(struct visits *v)
{
	free(v->seen);
	free(v->selected);
	memset(v, 0, sizeof(*v));
}

static bool in(const uint32_t *v, size_t n, uint32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return !n;
}

/* The selection said in another way, for a sample as it was written. */
static bool plainly(const struct selection *s, const struct fact *f)
{
	const char *comm = made_comm_at(f->tid, f->time);

	return (!s->event || !strcmp(s->event, made_events[f->event].name)) &&
	       (!s->comm || (comm && !strcmp(comm, s->comm))) && in(s->pids, s->n_pids, f->pid) &&
	       in(s->tids, s->n_tids, f->tid) && in(s->cpus, s->n_cpus, f->cpu) &&
	       f->time >= s->time_from && (!s->time_to || f->time <= s->time_to);
}

static void each_once_and_as_selected(void **state)
{
	static const uint32_t pids[] = { 7, 9 }, tids[] = { 8 }, cpus[] = { 1, 3 };
	static const struct selection all[] = {
		{ 0 },
		{ .event = "cycles" },
		{ .comm = "make" },
		{ .pids = pids, .n_pids = 2 },
		{ .tids = tids, .n_tids = 1 },
		{ .cpus = cpus, .n_cpus = 2 },
		{ .time_from = 500, .time_to = 6000 },
		{ .time_from = 9999 },
		{ .comm = "cc", .cpus = cpus, .n_cpus = 2, .time_to = 7000, .event = "cycles" },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		for (unsigned threads = 1; threads <= WORKERS; threads += WORKERS - 1) {
			struct visits v = { .fail = false };
			struct err err = ERR_INIT;
			struct pass_seen sum;
			uint64_t want = 0;

			assert_int_equal(run(&v, &all[k], threads, 0, &sum, &err), 0);
			for (size_t i = 0; i < N_SAMPLES; i++) {
				assert_int_equal(v.seen[i], 1);
				assert_int_equal(v.selected[i], plainly(&all[k], &made_facts[i]));
				want += v.selected[i];
			}
			assert_true(want > 0);
			assert_int_equal(sum.selected, want);
			assert_int_equal(sum.left_out, N_SAMPLES - want);
			assert_int_equal(sum.bad, 0);
			done(&v);
		}
}

/* Threads are looked up less often than there are samples; not at all where nobody wants them. */
static void threads_when_wanted(void **state)
{
	struct visits v = { .fail = false };
	struct err err = ERR_INIT;
	struct pass_seen sum;

	(void)state;
	assert_int_equal(run(&v, NULL, 1, PASS_THREAD | PASS_COMM, &sum, &err), 0);
	assert_true(v.threads > 0 && v.threads < N_SAMPLES);
	done(&v);
	assert_int_equal(run(&v, NULL, 1, 0, &sum, &err), 0);
	assert_int_equal(v.threads, 0);
	done(&v);
}

/* One worker of several walks, and the visitor has what the selection leaves out, too. */
static void all_and_in_order(void **state)
{
	const struct selection sel = { .comm = "make", .time_from = 500 };
	struct visits v = { .fail = false };
	struct err err = ERR_INIT;
	struct pass_seen sum;

	(void)state;
	assert_int_equal(run(&v, &sel, WORKERS, PASS_ALL | PASS_ORDER, &sum, &err), 0);
	for (size_t i = 0; i < N_SAMPLES; i++)
		assert_true(v.seen[i] == 1 && v.selected[i]);
	assert_true(sum.left_out > 0);
	assert_int_equal(v.worker[0].chunks, N_CHUNKS);
	done(&v);
}

/* The counts of a walk are its own: results of the second one do not have those of the first. */
static void seen_in_the_last_walk(void **state)
{
	const struct pass_visitor visitor = {
		.sample = sample, .left_out = left_out, .begin = begin, .end = end
	};
	const struct pass_opts o = { .threads = 1 };
	struct err err = ERR_INIT;
	struct pass *p;

	(void)state;
	assert_int_equal(pass_new(&p, NULL, NULL, NULL, &o, &err), 0);
	for (unsigned walk = 0; walk < 2; walk++) {
		struct visits v = { .seen = calloc(N_SAMPLES, sizeof(*v.seen)),
				    .selected = calloc(N_SAMPLES, sizeof(*v.selected)) };
		uint64_t n = 0;

		assert_true(v.seen && v.selected);
		assert_int_equal(pass_each(p, &visitor, &v, &err), 0);
		for (size_t e = 0; e < N_EVENTS; e++)
			n += pass_seen(p)[e].selected;
		assert_int_equal(n, N_SAMPLES);
		done(&v);
	}
	pass_free(p);
}

static void an_error_ends_it(void **state)
{
	struct visits v = { .fail = true };
	struct err err = ERR_INIT;
	struct pass_seen sum;

	(void)state;
	assert_int_equal(run(&v, NULL, 1, 0, &sum, &err), -1);
	assert_string_equal(err.what, "enough");
	assert_int_equal(v.worker[0].chunks, N_CHUNKS / 2 + 1);
	done(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_once_and_as_selected),
		cmocka_unit_test(threads_when_wanted),
		cmocka_unit_test(all_and_in_order),
		cmocka_unit_test(seen_in_the_last_walk),
		cmocka_unit_test(an_error_ends_it),
	};

	return cmocka_run_group_tests(tests, made_set_up, made_tear_down);
}
