/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake - a profile made of known numbers, behind the same accessors as the real one, which is not
 * linked in.
 */
#ifndef CYCLADE_TESTS_FAKE_H
#define CYCLADE_TESTS_FAKE_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/profile.h"
#include "analyse/runtimes.h"
#include "report/view.h"

#define FAKE_ROWS   64
#define FAKE_EVENTS 3

struct profile {
	struct profile_opts opts;
	struct strtab strings;
	struct profile_row row[FAKE_ROWS];
	uint64_t keys[FAKE_ROWS][KEY_COUNT];
	struct tally tally[FAKE_ROWS][FAKE_EVENTS];
	size_t n_rows, n_events;
	struct profile_sum sum[FAKE_EVENTS];
	struct profile_chains chains;
	struct profile_frame *frame;
	size_t cap_frames, cap_nodes;
	struct tally *self[FAKE_EVENTS], *total[FAKE_EVENTS];
	struct tally cut[CHAIN_CUTS][FAKE_EVENTS];
};

const struct profile_row *profile_rows(const struct profile *p, size_t *n)
{
	*n = p->n_rows;
	return p->row;
}

const struct profile_sum *profile_sums(const struct profile *p, size_t *n)
{
	*n = p->n_events;
	return p->sum;
}

size_t profile_runtimes(const struct profile *p, size_t event, const uint32_t *among,
			size_t n_among, struct runtime_found out[RUNTIMES_MAX])
{
	(void)p, (void)event, (void)among, (void)n_among, (void)out;
	return 0;
}

void runtime_put_line(struct buf *b, const struct runtime_found *f)
{
	(void)b, (void)f;
}

void runtime_put_how(struct buf *b, const struct runtime_found *f)
{
	(void)b, (void)f;
}

bool runtime_put_again(struct buf *b, const struct runtime_found *f, const struct pd_info *info,
		       const char *options, bool same)
{
	(void)b, (void)f, (void)info, (void)options, (void)same;
	return false;
}

bool profile_image_is_code(const struct profile *p, uint32_t image)
{
	(void)p, (void)image;
	return true;
}

const struct profile_chains *profile_chains(const struct profile *p)
{
	return p->opts.chains ? &p->chains : NULL;
}

const struct strtab *profile_strings(const struct profile *p)
{
	return &p->strings;
}

const char *profile_text(const struct profile *p, uint32_t id)
{
	return strtab_get(&p->strings, id);
}

int profile_row_order(const struct profile *p, const struct profile_row *a,
		      const struct profile_row *b)
{
	(void)p;
	return (a > b) - (a < b);
}

const struct profile_opts *profile_options(const struct profile *p)
{
	return &p->opts;
}

static inline uint32_t fake_string(struct profile *p, const char *s)
{
	uint32_t id = strtab_adds(&p->strings, s);

	assert(id != STR_NONE);
	return id;
}

static inline void fake_weigh(struct tally *t, uint64_t samples, uint64_t period)
{
	t->samples += samples;
	t->period += period;
	t->period_sq += samples ? (double)period * (double)period / (double)samples : 0;
}

static const struct symbol fake_symbol = { .name = "", .linkage = "" };

/* keys: comm, dso, sym */
static inline void fake_row(struct profile *p, const char *comm, const char *dso, const char *sym,
			    uint64_t samples, uint64_t period)
{
	struct profile_row *r = &p->row[p->n_rows];

	assert(p->n_rows < FAKE_ROWS);
	r->key = p->keys[p->n_rows];
	r->key[0] = fake_string(p, comm);
	r->key[1] = fake_string(p, dso);
	r->key[2] = fake_string(p, sym);
	r->tally = p->tally[p->n_rows++];
	r->image = IMAGE_NONE;
	r->symbol = strncmp(sym, "0x", 2) ? &fake_symbol : NULL;
	fake_weigh(&r->tally[0], samples, period);
	fake_weigh(&p->sum[0].selected, samples, period);
	if (!r->symbol)
		fake_weigh(&p->sum[0].no_symbol, samples, period);
}

static inline void fake_init(struct profile *p)
{
	*p = (struct profile){ .strings = STRTAB_INIT, .n_events = 1 };
	p->opts.key[0] = KEY_COMM;
	p->opts.key[1] = KEY_DSO;
	p->opts.key[2] = KEY_SYM;
	p->opts.n_keys = 3;
	for (unsigned k = 0; k < CHAIN_CUTS; k++)
		p->chains.cut[k] = p->cut[k];
	(void)fake_string(p, "");
}

/* A chain "a;b;c", outermost first, of one event. */
static inline void fake_chain(struct profile *p, const char *chain, uint64_t samples,
			      uint64_t period)
{
	char *copy = strdup(chain), *save = NULL;
	uint32_t node = 0;

	p->opts.chains = true;
	for (char *w = strtok_r(copy, ";", &save); w; w = strtok_r(NULL, ";", &save)) {
		bool inl = *w == '+';
		uint32_t name = fake_string(p, w + inl);
		size_t f;

		for (f = 0; f < p->chains.n_frames; f++)
			if (p->frame[f].name == name && p->frame[f].inlined == inl)
				break;
		if (f == p->cap_frames) {
			p->cap_frames = f ? f * 2 : 16;
			p->frame = realloc(p->frame, p->cap_frames * sizeof(*p->frame));
			assert(p->frame);
		}
		if (f == p->chains.n_frames)
			p->frame[p->chains.n_frames++] = (struct profile_frame){
				.name = name,
				.dso = fake_string(p, "prog"),
				.image = IMAGE_NONE,
				.symbol = &fake_symbol,
				.inlined = inl,
			};
		node = chain_add(&p->chains.tree, node, f);
		assert(node != UINT32_MAX);
	}
	free(copy);
	if (p->chains.tree.n > p->cap_nodes) {
		size_t cap = p->chains.tree.n * 2;

		p->self[0] = realloc(p->self[0], cap * sizeof(struct tally));
		assert(p->self[0]);
		memset(p->self[0] + p->cap_nodes, 0, (cap - p->cap_nodes) * sizeof(struct tally));
		p->cap_nodes = cap;
	}
	fake_weigh(&p->self[0][node], samples, period);
	fake_weigh(&p->sum[0].selected, samples, period);
	p->chains.frame = p->frame;
	p->chains.self = p->self;
	p->chains.total = p->total;
}

/* What a profile knows of its tree, too: to be called when all chains are there. */
static inline void fake_total(struct profile *p)
{
	const struct chain_tree *t = &p->chains.tree;

	p->self[0] = realloc(p->self[0], (t->n + 1) * sizeof(struct tally));
	p->total[0] = realloc(p->total[0], (t->n + 1) * sizeof(struct tally));
	assert(p->self[0] && p->total[0]);
	if (!t->n)
		p->self[0][0] = (struct tally){ 0 };
	memcpy(p->total[0], p->self[0], (t->n ? t->n : 1) * sizeof(struct tally));
	for (size_t i = t->n; i-- > 1;) {
		struct tally *to = &p->total[0][t->node[i].parent];

		to->samples += p->total[0][i].samples;
		to->period += p->total[0][i].period;
		to->period_sq += p->total[0][i].period_sq;
	}
	p->cap_nodes = t->n;
	p->chains.self = p->self;
	p->chains.total = p->total;
}

static inline void fake_free(struct profile *p)
{
	free(p->total[0]);
	strtab_free(&p->strings);
	chain_free(&p->chains.tree);
	free(p->frame);
	free(p->self[0]);
}

static const char *const fake_command[] = { "perf", "record", "./join", "orders.tbl" };
static const struct pd_info fake_info = {
	.hostname = "build7", .arch = "x86_64", .cmdline = fake_command, .n_cmdline = 4
};
static const struct pd_event fake_events[FAKE_EVENTS] = {
	{ .name = "cycles", .samples = 1000 },
	{ .name = "instructions", .samples = 1000 },
	{ .name = "cache-misses", .samples = 1000 },
};
static const struct pd_losses fake_losses;

static inline struct view_source fake_source(const struct profile *p)
{
	return (struct view_source){ .info = &fake_info,
				     .event = fake_events,
				     .n_events = p->n_events,
				     .losses = &fake_losses,
				     .has_time = true,
				     .time_first = 1000000000,
				     .time_last = 4210000000,
				     .version = "0" };
}

#endif
