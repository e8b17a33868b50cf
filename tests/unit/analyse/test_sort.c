/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains in order, against a comparison that goes frame by frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyse/profile/profile_int.h"

struct made {
	struct walk_chain *chain;
	struct chain_ref *ref;
	size_t n;
};

static size_t shared(const struct walk_chain *a, const struct walk_chain *b)
{
	size_t i = 0;

	while (i < a->n_at && i < b->n_at && a->at[i] == b->at[i])
		i++;
	return i;
}

/* < 0: a before b */
static int plain(const struct walk_chain *a, const struct walk_chain *b)
{
	size_t i = shared(a, b);

	if (i < a->n_at && i < b->n_at)
		return a->at[i] < b->at[i] ? -1 : 1;
	if (a->n_at != b->n_at)
		return a->n_at < b->n_at ? -1 : 1;
	return a->event < b->event ? -1 : a->event > b->event;
}

/* `most` frames each, of `kinds`; every third goes on where an earlier one ended. */
static struct made make(size_t n, uint32_t most, uint32_t kinds)
{
	struct made m = { calloc(n, sizeof(*m.chain)), calloc(n, sizeof(*m.ref)), n };

	assert_non_null(m.chain);
	assert_non_null(m.ref);
	for (size_t i = 0; i < n; i++) {
		struct walk_chain *c = &m.chain[i];
		const struct walk_chain *old = &m.chain[i ? (size_t)rand() % i : 0];
		uint32_t k = i % 3 == 2 ? old->n_at : 0;

		c->event = (uint32_t)rand() % 3;
		c->n_at = 1 + k + (uint32_t)rand() % most;
		if (c->n_at > 60)
			c->n_at = 60;
		c->at = malloc(c->n_at * sizeof(*c->at));
		assert_non_null(c->at);
		for (uint32_t j = 0; j < c->n_at; j++)
			c->at[j] = j < k ? old->at[j] : (uint32_t)rand() % kinds;
		c->lo = i;
		m.ref[i].c = c;
	}
	return m;
}

static void check(size_t n, uint32_t most, uint32_t kinds, unsigned threads)
{
	struct made m = make(n, most, kinds);
	uint8_t *seen = calloc(n, 1);

	assert_non_null(seen);
	assert_int_equal(chains_sort(m.ref, n, threads, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		const struct walk_chain *c = m.ref[i].c;

		assert_false(seen[c->lo]);
		seen[c->lo] = 1;
		assert_int_equal(m.ref[i].key, i ? shared(m.ref[i - 1].c, c) : 0);
		if (i)
			assert_true(plain(m.ref[i - 1].c, c) <= 0);
	}
	for (size_t i = 0; i < n; i++)
		free(m.chain[i].at);
	free(m.chain);
	free(m.ref);
	free(seen);
}

static void in_order(void **state)
{
	(void)state;
	for (size_t n = 0; n < 60; n++)
		check(n, 4, 3, 1);
	for (unsigned threads = 1; threads <= 8; threads++) {
		check(20000, 6, 2, threads); /* many equal */
		check(20000, 12, 50000, threads);
	}
}

/* A comb: each chain is the one before and a frame more; recursion would not survive it, nor would
 * time, were every comparison to begin at the outermost frame. */
static void long_common_beginnings(void **state)
{
	enum { DEPTH = 60000, N = 2000 };
	struct made m = { calloc(N, sizeof(*m.chain)), calloc(N, sizeof(*m.ref)), N };
	uint32_t *at = calloc(DEPTH + 2, sizeof(*at));

	(void)state;
	assert_non_null(m.chain);
	assert_non_null(m.ref);
	assert_non_null(at);
	for (size_t i = 0; i < N; i++) {
		m.chain[i].at = at;
		m.chain[i].n_at = (uint32_t)(1 + i * 719 % N * (DEPTH / N));
		m.ref[i].c = &m.chain[i];
	}
	assert_int_equal(chains_sort(m.ref, N, 2, NULL), 0);
	for (size_t i = 1; i < N; i++)
		assert_true(m.ref[i - 1].c->n_at < m.ref[i].c->n_at);
	free(m.chain);
	free(m.ref);
	free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(long_common_beginnings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
