/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * branches - how fast branch stacks come out of a recording: finds every entry, takes it apart and
 * counts it under (from, to), in a table per worker.
 *
 *	branches FILE [ROUNDS [THREADS]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyse/pass.h"

#define WORKERS_MAX 64u
#define AHEAD	    16u

struct pair {
	uint64_t from, to, n, mispred, predicted, cycles;
};

struct table {
	struct pair *v;
	size_t n, cap;
	uint64_t samples, stacks, branches;
};

static uint64_t mix(uint64_t from, uint64_t to)
{
	uint64_t h = (from ^ to * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return h ^ h >> 32;
}

static int grow(struct table *t)
{
	struct table more = { .cap = t->cap ? t->cap * 2 : 4096, .n = t->n };

	more.v = calloc(more.cap, sizeof(*more.v));
	if (!more.v)
		return -1;
	for (size_t i = 0; i < t->cap; i++) {
		size_t at = mix(t->v[i].from, t->v[i].to) & (more.cap - 1);

		if (!t->v[i].n)
			continue;
		while (more.v[at].n)
			at = (at + 1) & (more.cap - 1);
		more.v[at] = t->v[i];
	}
	free(t->v);
	*t = more;
	return 0;
}

static struct pair *find(struct table *t, uint64_t hash, uint64_t from, uint64_t to)
{
	size_t at = hash & (t->cap - 1);

	while (t->v[at].n && (t->v[at].from != from || t->v[at].to != to))
		at = (at + 1) & (t->cap - 1);
	return &t->v[at];
}

/* Some entries at a time, whose places in the table are asked for ahead. */
static int count(void *ctx, const struct pass_sample *x, struct err *err)
{
	struct table *t = &((struct table *)ctx)[x->worker];
	struct pd_branches stack;
	struct pd_branch b[AHEAD];
	uint64_t hash[AHEAD];

	t->samples++;
	if (!pd_branches_find(x->ev, x->r, &stack) || !stack.n)
		return 0;
	t->stacks++;
	t->branches += stack.n;
	for (uint64_t i = 0; i < stack.n; i += AHEAD) {
		size_t n = stack.n - i < AHEAD ? (size_t)(stack.n - i) : AHEAD;

		if ((t->n + n) * 2 >= t->cap && grow(t))
			return err_nomem(err);
		for (size_t k = 0; k < n; k++) {
			b[k] = pd_branch_decode(stack.entry + (i + k) * PD_BRANCH_SIZE);
			hash[k] = mix(b[k].from, b[k].to);
			__builtin_prefetch(&t->v[hash[k] & (t->cap - 1)], 1);
		}
		for (size_t k = 0; k < n; k++) {
			struct pair *p = find(t, hash[k], b[k].from, b[k].to);

			t->n += !p->n;
			p->from = b[k].from;
			p->to = b[k].to;
			p->n++;
			p->mispred += b[k].mispred;
			p->predicted += b[k].predicted;
			p->cycles += b[k].cycles;
		}
	}
	return 0;
}

static double now(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int once(const struct pd *rec, unsigned threads, struct err *err)
{
	static struct table table[WORKERS_MAX];
	const struct pass_visitor v = { .sample = count };
	const struct pass_opts po = { .threads = threads };
	struct table sum = { .n = 0 };
	struct pass *p;
	uint64_t mispred = 0, told = 0;
	size_t pairs = 0;
	double t = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	int ret = pass_new(&p, rec, NULL, NULL, &po, err) || pass_each(p, &v, table, err) ? -1 : 0;

	threads = ret ? 0 : pass_workers(p);
	pass_free(p);
	t = now(CLOCK_MONOTONIC) - t;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	for (unsigned i = 0; i < WORKERS_MAX; i++) {
		for (size_t k = 0; k < table[i].cap; k++) {
			mispred += table[i].v[k].mispred;
			told += table[i].v[k].mispred + table[i].v[k].predicted;
		}
		pairs += table[i].n;
		sum.samples += table[i].samples;
		sum.stacks += table[i].stacks;
		sum.branches += table[i].branches;
		free(table[i].v);
		table[i] = (struct table){ 0 };
	}
	if (ret)
		return -1;
	printf("%" PRIu64 " samples, %" PRIu64 " branches in %" PRIu64
	       " stacks, %zu pairs, %" PRIu64 " of %" PRIu64
	       " mispredicted, %.3f s, %.1f M branches/s, %.1f M per processor second, %u "
	       "threads\n",
	       sum.samples, sum.branches, sum.stacks, pairs, mispred, told, t,
	       (double)sum.branches / t / 1e6, (double)sum.branches / cpu / 1e6, threads);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
	unsigned threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	struct err err = ERR_INIT;
	struct pd *rec;

	if (argc < 2) {
		(void)fprintf(stderr, "usage: branches FILE [ROUNDS [THREADS]]\n");
		return 2;
	}
	if (pd_open(&rec, argv[1], &err)) {
		(void)fprintf(stderr, "branches: %s\n", err.what);
		return 2;
	}
	for (unsigned i = 0; i < rounds; i++)
		if (threads > WORKERS_MAX || once(rec, threads, &err)) {
			(void)fprintf(stderr, "branches: %s\n", err.what);
			pd_close(rec);
			return 1;
		}
	pd_close(rec);
	return 0;
}
