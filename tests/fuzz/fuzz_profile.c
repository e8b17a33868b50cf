/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a recording, all the way to a profile: rows, the tree of chains and branches. What
 * profile.h promises is held against what comes out. No file that the recording names is opened.
 */
#include <stdint.h>
#include <stdlib.h>

#include "analyse/mux.h"
#include "analyse/profile.h"
#include "recording.h"

static void same(uint64_t a, uint64_t b)
{
	if (a != b)
		abort();
}

/* Every event's rows sum to what was selected of it. */
static void check_rows(const struct profile *p)
{
	size_t n_rows, n_events;
	const struct profile_row *row = profile_rows(p, &n_rows);
	const struct profile_sum *sum = profile_sums(p, &n_events);

	for (size_t e = 0; e < n_events; e++) {
		uint64_t n = 0;

		for (size_t i = 0; i < n_rows; i++)
			n += profile_tally(&row[i], e)->samples;
		same(n, sum[e].selected.samples);
	}
}

static void check_chains(const struct profile *p)
{
	const struct profile_chains *c = profile_chains(p);
	const struct chain_tree *t = &c->tree;
	size_t n_events, links = 0;
	const struct profile_sum *sum = profile_sums(p, &n_events);

	for (size_t i = 1; i < t->n; i++) {
		if (t->node[i].parent >= i || t->node[i].frame >= c->n_frames)
			abort();
		(void)strtab_get(profile_strings(p), c->frame[t->node[i].frame].name);
	}
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = t->node[i].child; k; k = t->node[k].sibling) {
			same(t->node[k].parent, i);
			links++;
		}
	same(links, t->n ? t->n - 1 : 0);
	for (size_t e = 0; e < n_events; e++) {
		uint64_t self = 0;

		for (size_t i = 0; i < t->n; i++)
			self += c->self[e][i].samples;
		same(self, sum[e].selected.samples);
		if (t->n)
			same(c->total[e][0].samples, self);
	}
}

static void build(const struct pd *rec, struct spaces *sp, struct profile_opts o)
{
	struct err err = ERR_INIT;
	struct profile *p;

	if (profile_build(&p, rec, sp, &o, &err)) {
		if (!err.what[0])
			abort();
		return;
	}
	check_rows(p);
	if (profile_chains(p))
		check_chains(p);
	profile_free(p);
}

/* The same samples, weighed by the time that their counters had. */
static void weighed(const struct pd *rec, struct spaces *sp, struct profile_opts o)
{
	struct err err = ERR_INIT;
	const struct mux_event *e;
	struct mux *m;
	size_t n;

	if (mux_build(&m, rec, 1, &err))
		abort(); /* memory alone can be short */
	e = mux_events(m, &n);
	for (size_t i = 0; i < n; i++)
		if (e[i].windows && (!(e[i].least >= 1) || !(e[i].most >= e[i].least)))
			abort();
	o.mux = m;
	build(rec, sp, o);
	mux_free(m);
}

static void every(const struct pd *rec, struct spaces *sp)
{
	static const struct profile_opts plain = { .key = { KEY_COMM, KEY_DSO, KEY_SYM },
						   .n_keys = 3,
						   .threads = 1 },
					 calls = { .key = { KEY_SYM },
						   .n_keys = 1,
						   .chains = true,
						   .chain_inline = true,
						   .threads = 1 },
					 branches = { .key = { KEY_COMM, KEY_DSO_FROM,
							       KEY_ADDR_FROM, KEY_DSO_TO,
							       KEY_SYM_TO },
						      .n_keys = 5,
						      .branches = true,
						      .threads = 1 };

	weighed(rec, sp, plain);
	build(rec, sp, plain);
	build(rec, sp, calls);
	build(rec, sp, branches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_recording(data, size, every);
}
