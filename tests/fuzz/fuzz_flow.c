/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a recording, whose branch records are made edges and spans. What flow.h promises is
 * held against what comes out, and one thread against several. No file that the recording names is
 * opened.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/flow.h"
#include "recording.h"

static int order(const struct flow_place *a, const struct flow_place *b)
{
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static uint64_t check_edges(const struct flow *f)
{
	size_t n, first;
	const struct flow_edge *e = flow_edges(f, &n);
	const uint32_t *into = flow_edges_into(f);
	uint64_t hits = 0;

	for (size_t i = 0; i < n; i++) {
		hits += e[i].w.hits;
		hold(e[i].w.hits && flow_sum(&e[i].w) >= 0);
		hold(e[i].tally.mispredicted <= e[i].w.hits && e[i].tally.timed <= e[i].w.hits);
		hold(into[i] < n);
		if (i) {
			hold(order(&e[i - 1].from, &e[i].from) <= 0);
			hold(order(&e[into[i - 1]].to, &e[into[i]].to) <= 0);
		}
		if (e[i].from.addr == UINT64_MAX)
			continue;
		hold(flow_edges_from(f, e[i].from.image, e[i].from.addr, e[i].from.addr + 1,
				     &first) > 0);
		hold(first <= i && !order(&e[first].from, &e[i].from));
	}
	return hits;
}

static uint64_t check_spans(const struct flow *f)
{
	size_t n, n_times;
	const struct flow_span *s = flow_spans(f, &n);
	const struct flow_times *t = flow_times(f, &n_times);
	uint64_t hits = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t timed = 0;

		hits += s[i].w.hits;
		hold(s[i].image != IMAGE_NONE && s[i].start <= s[i].end);
		hold(s[i].end - s[i].start <= FLOW_SPAN_MAX);
		hold((s[i].times == FLOW_NO_TIMES) == !s[i].timed);
		hold(s[i].timed <= s[i].w.hits && s[i].cycles >= s[i].timed);
		if (!s[i].timed)
			continue;
		hold(s[i].times < n_times);
		for (unsigned b = 0; b < FLOW_TIME_BUCKETS; b++)
			timed += t[s[i].times].n[b];
		hold(timed == s[i].timed);
	}
	return hits;
}

/* What ended in the kernel is a part of what changed between it and user space. */
static void check_stops(const struct flow *f)
{
	size_t n;
	const struct flow_span *s = flow_stops(f, &n);
	uint64_t hits = 0;

	for (size_t i = 0; i < n; i++) {
		hits += s[i].w.hits;
		hold(s[i].image != IMAGE_NONE && s[i].start < s[i].end);
		hold(s[i].end - s[i].start <= FLOW_SPAN_MAX && s[i].times == FLOW_NO_TIMES);
		if (i)
			hold(s[i - 1].image < s[i].image ||
			     (s[i - 1].image == s[i].image && s[i - 1].start <= s[i].start));
	}
	hold(hits <= flow_sums(f)->switched);
}

static void check(const struct flow *f)
{
	const struct flow_sums *s = flow_sums(f);
	uint64_t pairs = s->spans + s->backwards + s->crossing + s->far_apart + s->switched;

	check_stops(f);
	hold(s->samples == s->stacks + s->empty + s->left_out + s->bad);
	hold(check_edges(f) == s->edges && check_spans(f) == s->spans);
	hold(s->filter == FLOW_ANY ? pairs <= s->edges : !pairs);
	hold(s->edges >= s->stacks && s->edges <= s->stacks * s->depth);
}

static void same(const struct flow *a, const struct flow *b)
{
	size_t n, m;
	const struct flow_edge *e = flow_edges(a, &n), *g = flow_edges(b, &m);

	hold(n == m);
	for (size_t i = 0; i < n; i++)
		hold(!order(&e[i].from, &g[i].from) && !order(&e[i].to, &g[i].to) &&
		     !memcmp(&e[i].w, &g[i].w, sizeof(e[i].w)));
}

static void build(const struct pd *rec, struct spaces *sp)
{
	static const struct flow_opts one = { .threads = 1 }, some = { .threads = 3 };
	struct err err = ERR_INIT;
	struct flow *f, *again;

	if (flow_build(&f, rec, sp, &one, &err)) {
		hold(err.what[0]);
		return;
	}
	check(f);
	hold(!flow_build(&again, rec, sp, &some, &err));
	same(f, again);
	flow_free(again);
	flow_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_recording(data, size, build);
}
